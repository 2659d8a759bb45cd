"""A log read in blocks gives what the whole log gives."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia.identification.campaigns.recorded as module
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.prepare import prepare_campaign
from minertia.identification.identify import Identification, identify
from minertia.identification.logs import repair
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.recording import Passes
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import MinertiaError
from minertia.report.fit_views import audit_lines
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from tests.identification.fits import USUAL
from tests.identification.logs import table
from tests.identification.motions import fourier_motion
from tests.random_robots import random_robot

SMALL, LARGE = random_robot(5, n=3), read_robot("puma560", letters=False)
FILTERS = (Filter(cutoff_hz=8.0), Filter(cutoff_hz=8.0, on="signals"), Filter(cutoff_hz=8.0, rate_hz=200.0))
SOME = [FILTERS[1], *(pytest.param(filter, marks=pytest.mark.slow) for filter in FILTERS[::2])]


@pytest.fixture(scope="module", params=[SMALL, pytest.param(LARGE, marks=pytest.mark.slow)], ids=["small", "large"])
def robot(request: pytest.FixtureRequest) -> Robot:
    return request.param


@pytest.fixture(scope="module")
def logs(robot: Robot, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two noisy runs of 20 s at 200 Hz, at rest before and after."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder, paths = tmp_path_factory.mktemp("logs"), []
    for seed in (0, 1):
        m, rng = fourier_motion(robot, 4000, seed, duration=20.0), np.random.default_rng(seed)
        rest = {"q": np.r_[np.repeat(m.q[:1], 150, 0), m.q, np.repeat(m.q[-1:], 190, 0)]}
        rest["tau"] = np.r_[np.repeat(m.tau[:1], 150, 0), m.tau, np.repeat(m.tau[-1:], 190, 0)]
        rest = {name: x + 1e-6 * np.abs(x).max() * rng.normal(size=x.shape) for name, x in rest.items()}
        columns = table(rest | {"t": np.arange(len(rest["q"])) / 200.0}, q="q", tau="tau")
        paths.append(folder / f"run{seed}.parquet")
        parquet.write_table(arrow.table(columns), paths[-1])
    return paths


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 900)


def campaign(robot: Robot, logs: list[Path], filter: Filter = FILTERS[0], estimator: str = "wls") -> Campaign:
    return Campaign(robot, logs[:1], logs[1:], effects=USUAL, filter=filter, estimator=estimator)


def both(asked: Campaign, monkeypatch: pytest.MonkeyPatch) -> tuple[Identification, Identification]:
    """Fitted whole, and in blocks."""
    asked = replace(asked, evaluation=Evaluation(8.0, 40.0, 0.5))
    whole = prepare_campaign(asked)
    monkeypatch.setattr(module, "LONG_BYTES", 0)
    parts = prepare_campaign(asked)
    assert all(len(list(log)) == 1 for log in (*whole.train, *whole.validate))
    assert all(isinstance(log.blocks, Passes) for log in (*parts.train, *parts.validate))
    assert all(len(list(log)) > 2 for log in parts.train)
    assert [log.kept for log in whole.train] == [log.kept for log in parts.train]
    return identify(whole), identify(parts)


def assert_same(whole: Identification, parts: Identification) -> None:
    assert parts.linear.names == whole.linear.names
    np.testing.assert_allclose(parts.beta, whole.beta, atol=1e-6 * np.abs(whole.beta).max())
    for a, b in zip((parts.training, *parts.validation), (whole.training, *whole.validation), strict=True):
        np.testing.assert_allclose((a.relative, *a.joint_rmse), (b.relative, *b.joint_rmse), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("filter", SOME)
@pytest.mark.usefixtures("in_blocks")
def test_blocks_give_what_the_whole_gives(
    robot: Robot, logs: list[Path], filter: Filter, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same(*both(campaign(robot, logs, filter, "auto"), monkeypatch))


@pytest.mark.slow
@pytest.mark.usefixtures("in_blocks")
def test_parts_of_a_log(robot: Robot, logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = campaign(robot, logs)
    entries = (Log(logs[0], stop=15.0), Log(logs[1], start=2.0, stop=18.0))
    assert_same(*both(replace(asked, train=entries, validate=(Log(logs[0], start=15.0),)), monkeypatch))


def rewritten(log: Path, name: str, t: np.ndarray, rows: np.ndarray | None = None) -> Path:
    """A log with other stamps, or with some rows of it."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(log).to_pydict() | {"t": t}
    path = log.with_name(f"{name}_{log.name}")
    rows = np.arange(len(t)) if rows is None else rows
    pyarrow.parquet.write_table(pyarrow.table({c: np.asarray(a)[rows] for c, a in table.items()}), path)
    return path


def stamps(count: int = 4340) -> np.ndarray:
    """200 Hz with jitter of a fifth of a step and some samples lost."""
    rng = np.random.default_rng(5)
    lost = np.cumsum(rng.random(count) < 0.01)
    return (np.arange(count) + lost + 0.2 * rng.uniform(-1, 1, count)) / 200.0


@pytest.mark.parametrize("filter", SOME)
@pytest.mark.usefixtures("in_blocks")
def test_uneven_stamps(robot: Robot, logs: list[Path], filter: Filter, monkeypatch: pytest.MonkeyPatch) -> None:
    uneven = [rewritten(log, "uneven", stamps()) for log in logs]
    asked = campaign(robot, uneven, filter)
    assert_same(*both(asked, monkeypatch))
    recording = prepare_campaign(asked).train[0].recording
    assert any("resampled from non-uniform steps" in note for note in recording.notes)
    assert any("standstill removed" in note for note in recording.notes)


@pytest.mark.slow
@pytest.mark.usefixtures("in_blocks")
def test_repeated_stamps(robot: Robot, logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.sort(np.concatenate([np.arange(4340), [0, 5, 899, 900, 901, 2000, 4339]]))
    for name, t in (("even", np.arange(4340) / 200.0), ("uneven", stamps())):
        repeated = [rewritten(log, f"repeated_{name}", t, rows) for log in logs]
        with monkeypatch.context() as patch:
            assert_same(*both(campaign(robot, repeated), patch))
            notes = prepare_campaign(campaign(robot, repeated)).train[0].recording.notes
        assert any("7 samples with a repeated" in note for note in notes)
        assert any("resampled" in note for note in notes) == (name == "uneven")


@pytest.mark.parametrize("delay", [pytest.param(delay, marks=pytest.mark.slow) for delay in (0.013, -0.013)])
@pytest.mark.usefixtures("in_blocks")
def test_delay(robot: Robot, logs: list[Path], delay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = campaign(robot, logs)
    columns = replace(asked.columns, drive=replace(asked.columns.drive, delay=delay))
    assert_same(*both(replace(asked, columns=columns), monkeypatch))
    uneven = [rewritten(log, "uneven", stamps()) for log in logs]
    monkeypatch.setattr(module, "LONG_BYTES", 10**9)
    assert_same(*both(replace(campaign(robot, uneven), columns=columns), monkeypatch))


@pytest.mark.usefixtures("in_blocks")
def test_what_cannot_be_repaired_is_refused_alike(
    robot: Robot, logs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    gap = np.arange(4340) / 200.0 + (np.arange(4340) > 3000) * 2.0
    back = np.arange(4340) / 200.0 - (np.arange(4340) > 3000) * 2.0
    for t, said in ((gap, "a gap of 2"), (back, "time goes back")):
        broken = campaign(robot, [rewritten(logs[0], "broken", t)])
        texts = []
        for size in (10**9, 0):
            monkeypatch.setattr(module, "LONG_BYTES", size)
            with pytest.raises(MinertiaError, match=said) as caught:
                prepare_campaign(broken)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]


@pytest.mark.usefixtures("in_blocks")
def test_page_and_notes(robot: Robot, logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG_BYTES", 0)
    ready = prepare_campaign(campaign(robot, logs))
    notes = ready.train[0].recording.notes
    assert any("standstill removed" in note for note in notes) and any("read in blocks" in note for note in notes)
    result = identify(ready)
    assert "read in blocks" in "\n".join(audit_lines(result))


@pytest.mark.usefixtures("in_blocks")
def test_training_is_no_validation(robot: Robot, logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG_BYTES", 0)
    with pytest.raises(MinertiaError, match="was used for fitting"):
        identify(campaign(robot, [logs[0], logs[0]]))


def test_a_log_is_long_by_its_numbers_not_by_its_file(tmp_path: Path) -> None:
    """A compressed file of a few kilobytes may hold more than can be held at once."""
    m = fourier_motion(LARGE, 400, 0, duration=2.0)
    columns = table({"q": m.q, "tau": m.tau, "t": np.arange(400) / 200.0}, q="q", tau="tau")
    size = 8 * 13 * 400
    text = "\n".join([",".join(columns), *(",".join(["0"] * 13) for _ in range(400))]) + "\n"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode()))
    np.savez_compressed(tmp_path / "c.npz", **columns)
    for path in tmp_path.iterdir():
        weight = module.open_log(path, ColumnMap()).weight()
        assert abs(weight - size) < 0.05 * size and path.stat().st_size < size, path


@pytest.mark.usefixtures("in_blocks")
def test_more_stamps_than_memory_allows(robot: Robot, logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG_BYTES", 0)
    monkeypatch.setattr(repair, "room", lambda: 20_000)
    with pytest.raises(MinertiaError, match="more than 1250 samples, whose times alone take .* MINERTIA_MEMORY=8GB"):
        prepare_campaign(campaign(robot, logs))
