"""Stamps that tell no times of measurement: bursts, equal ones, coarse clocks; and channels that are no numbers."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from minertia import identify, read_robot
from minertia.identification.audits.audit import audit
from minertia.identification.campaigns import recorded
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.logs.recording import Passes, Recording, joined
from minertia.identification.logs.repair import overview, repaired, repaired_blocks
from minertia.identification.logs.stamps import bursts_of, usual_step
from minertia.io.errors import RecordingError
from tests.conftest import Run

ROWS = 5000
EVEN = np.arange(ROWS) / 125.0


def smooth(t: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(1.3 * t) + 0.2 * np.sin(5 * t), np.cos(0.7 * t)])


def recording(t: np.ndarray, at: np.ndarray = EVEN, **more: object) -> Recording:
    """Stamps t of a motion that was measured at other times."""
    return Recording(t, smooth(at), smooth(at), **more)


def in_bursts(size: int = 25, period: float = 0.2, inside: float = 1e-5, jitter: float = 0.0) -> np.ndarray:
    """Stamps of arrival: rows in groups, each group late by some time."""
    rng = np.random.default_rng(0)
    k = np.arange(ROWS)
    late = rng.uniform(0, jitter, ROWS // size + 1)
    return (k // size) * period + late[k // size] + (k % size) * inside


@pytest.mark.parametrize(
    ("size", "period", "inside", "jitter"),
    [(25, 0.2, 1e-5, 0.0), (25, 0.2, 0.0, 0.0), (25, 0.2, 1e-5, 0.03), (8, 0.064, 1e-4, 0.002), (125, 1.0, 0.0, 0.0)],
)
def test_bursts_are_spread_evenly(size: int, period: float, inside: float, jitter: float) -> None:
    found = recording(in_bursts(size, period, inside, jitter))
    assert usual_step(found.t) == pytest.approx(1 / 125, rel=0.01) and found.rate_hz == pytest.approx(125, rel=0.01)
    tracemalloc.start()
    even = repaired(found, standstill=False)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20e6 and len(even) == ROWS
    assert np.ptp(np.diff(even.t)) < 1e-9 and np.abs(even.t - EVEN - even.t[0]).max() < 0.05
    assert any("bursts" in note and "uniformly spaced" in note for note in even.notes)
    assert [(f.level, f.check) for f in audit(found) if f.check in ("bursts", "gaps", "repeated stamps", "jitter")] == [
        ("info", "bursts")
    ]


@pytest.mark.parametrize(
    "t",
    [
        in_bursts(jitter=0.0)[np.r_[0:1000, 1600:ROWS]],  # rows were lost
        np.cumsum(np.where(np.random.default_rng(2).random(ROWS) < 0.05, 0.16, 1e-5)),  # bursts of any size
    ],
)
def test_bursts_that_cannot_be_spread_are_refused(t: np.ndarray) -> None:
    with pytest.raises(RecordingError, match=r"come in bursts.*rate_hz = ") as told:
        repaired(recording(t, EVEN[: len(t)]))
    assert "column 't'" in str(told.value)


def test_samples_that_were_truly_taken_in_bursts_are_refused() -> None:
    t = in_bursts()
    with pytest.raises(RecordingError, match="come in bursts"):
        repaired(recording(t, t))


@pytest.mark.parametrize("seed", range(5))
def test_other_stamps_are_no_bursts(seed: int) -> None:
    """Jitter, repeats, lost rows, and one log of several parts."""
    rng = np.random.default_rng(seed)
    jittery = EVEN + rng.uniform(-0.003, 0.003, ROWS)
    repeats = np.where(rng.random(ROWS) < 0.3, np.roll(EVEN, 1), EVEN)
    lost = EVEN[np.sort(rng.choice(ROWS, ROWS // 2, replace=False))]
    parts = EVEN + 60.0 * (np.arange(ROWS) // 500)
    for t in (EVEN, jittery, np.maximum.accumulate(repeats), lost, parts):
        assert bursts_of(t) is None


def test_equal_stamps_get_a_sentence() -> None:
    with pytest.raises(RecordingError, match=r"all 5000 time stamps are equal \(12.5 s\).*rate_hz"):
        repaired(recording(np.full(ROWS, 12.5)))
    with pytest.raises(RecordingError, match=r"only 14 different time stamps, 3 s apart.*rate_hz"):
        repaired(recording(np.floor(EVEN / 3.0) * 3.0))
    assert [f.check for f in audit(recording(np.zeros(ROWS))) if f.level == "error"] == ["clock"]


def test_few_stamps_over_a_long_time_make_no_large_log() -> None:
    rng = np.random.default_rng(1)
    steps = np.where(rng.random(ROWS) < 0.5, 1e-5, 0.02 * (1 + rng.random(ROWS)))  # every other row at once
    with pytest.raises(RecordingError, match="rate_hz"):
        repaired(recording(np.cumsum(steps)))


def test_the_command_says_it_in_one_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, t in (("equal", np.zeros(ROWS)), ("lost", in_bursts(jitter=0.0)[np.r_[0:1000, 1600:ROWS]])):
        q = smooth(EVEN[: len(t)])
        rows = np.column_stack([t, q, q])
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="", fmt="%.9g")
        for long in (False, True):
            monkeypatch.setattr(recorded, "LONG_BYTES", 0 if long else 10**9)
            code, said, err = run("identify", "planar2r", tmp_path / f"{name}.csv")
            assert code == 2 and said == "" and err.splitlines()[-1].startswith("minertia: ") and "rate_hz" in err
            assert "samples, which is too few" not in err


@pytest.mark.parametrize("rows", [slice(None), slice(10, 12)])
@pytest.mark.parametrize("t", [EVEN, EVEN + 0.002 * np.sin(np.arange(ROWS))])
def test_a_motor_column_of_no_numbers_is_named(t: np.ndarray, rows: slice) -> None:
    motor = smooth(EVEN)
    motor[rows, 1] = np.nan
    found = recording(t, channels={"motor": motor}, columns={"motor2": "theta_b"})
    for ask in (lambda: repaired(found), lambda: identify(Campaign(read_robot("planar2r"), [found]))):
        with pytest.raises(RecordingError, match=r'values are not numbers.*motor = ""') as told:
            ask()
        assert "theta_b" in str(told.value)


def test_temperatures_of_no_numbers_are_left_out() -> None:
    warm = np.full((ROWS, 2), 30.0)
    warm[5, 0] = np.nan
    found = repaired(recording(EVEN + 0.002 * np.sin(np.arange(ROWS)), channels={"temperature": warm}))
    assert not found.channels and any("temperatures are ignored" in note for note in found.notes)


JITTERED = EVEN + 0.002 * np.sin(np.arange(ROWS))
STAMPS = {
    "even": EVEN,
    "uneven": JITTERED,
    "repeated": np.where(np.arange(ROWS) % 701 == 700, np.roll(EVEN, 1), EVEN),
    "bursts": in_bursts(),
}


@pytest.mark.parametrize("name", STAMPS)
@pytest.mark.parametrize("gap", [False, True])
def test_blocks_are_repaired_as_the_whole(name: str, gap: bool) -> None:
    """Also where the robot rests before and after, and a temperature is missing somewhere."""
    warm = smooth(EVEN)
    warm[4000 if gap else slice(0, 0), 1] = np.nan
    log = recording(STAMPS[name], np.clip(EVEN, 3.0, 37.0), channels={"temperature": warm})
    whole = repaired(log)
    passes = Passes(lambda: (log.select(slice(k, k + 700)) for k in range(0, ROWS, 700)))
    blocks, told = repaired_blocks(passes, overview(passes))
    again = joined(blocks)
    assert len(list(blocks)) > 5 and told.notes == whole.notes and set(again.channels) == set(whole.channels)
    assert len(whole.notes) == {"even": 1, "repeated": 3}.get(name, 2) + gap and np.array_equal(told.t, whole.t)
    for own, other in ((again.t, whole.t), (again.q, whole.q), (again.efforts(), whole.efforts())):
        np.testing.assert_allclose(own, other, atol=1e-12)
