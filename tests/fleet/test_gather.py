"""One pass over a log: the rows that identification makes, however the log is cut, with gaps and uneven stamps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia.fleet import gather
from minertia.fleet.gather import Gathered, gathered
from minertia.fleet.record import record_of, records_of, rows_table
from minertia.fleet.robot_type import RobotType
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.identification.signals.filtering import low_pass, prepared
from minertia.identification.signals.options import Filter
from minertia.io.errors import RecordingError
from minertia.robot.files import read_robot
from tests.arm import ARM, simulated


@pytest.fixture(scope="module")
def kind(tmp_path_factory: pytest.TempPathFactory) -> RobotType:
    file = tmp_path_factory.mktemp("arm") / "arm.urdf"
    file.write_text(ARM.format(name="arm"), encoding="utf-8")
    return RobotType("arm", read_robot(file, letters=False), ColumnMap(), Filter(cutoff_hz=5.0), rest=0.0)


def recording(
    kind: RobotType, seconds: float = 30.0, phase: float = 0.3, start: float = 0.0, **options: Any
) -> Recording:
    found = simulated(kind.robot.with_parameters({"FV1": 0.6, "FC1": 0.4}), phase, seconds, rate=100.0)
    return Recording(found["t"] + start, found["q"], found["tau"], **options)


def cut(log: Recording, sizes: Iterable[int]) -> Callable[[], list[Recording]]:
    """The log in blocks of these sizes, in turns."""
    blocks, done, left = [], 0, list(sizes)
    while done < len(log):
        left.append(left.pop(0))
        blocks.append(log.select(slice(done, done + left[-1])))
        done += left[-1]
    return lambda: blocks


def evidence(kind: RobotType, log: Recording, sizes: Iterable[int] = (10_000,), coarse: bool = False) -> Gathered:
    return gathered(cut(log, sizes), kind.column_set, kind.filter, coarse=coarse)


def test_rows_are_those_of_identification_with_dry_friction_filtered_as_efforts_are(kind: RobotType) -> None:
    """Columns of Coulomb friction pass, at the rate of the log, the low-pass of the efforts."""
    log = recording(kind)
    model = linear_model(kind.robot, ("IA", "FV", "FC", "OFF"))
    problem = observe(model, [prepared(log, kind.filter)])
    own = evidence(kind, log).evidence.columns(model.names).total
    wanted = problem.triangle()
    dry = [k for k, name in enumerate(model.names) if name.startswith("FC")]
    rest = [k for k in range(own.shape[1]) if k not in dry]
    gram, theirs = own.T @ own, wanted.T @ wanted
    room = {"rtol": 1e-6, "atol": 1e-6 * np.abs(wanted).max()}
    np.testing.assert_allclose(gram[np.ix_(rest, rest)], theirs[np.ix_(rest, rest)], **room)
    assert kind.filter.cutoff_hz is not None
    q = low_pass(log.q, kind.filter.cutoff_hz, 100.0)
    signs = low_pass(np.sign(np.gradient(q, 0.01, axis=0)), kind.filter.cutoff_hz, 100.0)
    motion = prepared(log, kind.filter)
    kept = signs[np.searchsorted(log.t, motion.t - 1e-9)]
    for k, name in enumerate(model.names[j] for j in dry):
        j = int(name[2:]) - 1
        np.testing.assert_allclose(gram[dry[k], dry[k]], kept[:, j] @ kept[:, j], rtol=1e-6)
        np.testing.assert_allclose(
            gram[dry[k], model.names.index(f"FV{j + 1}")], kept[:, j] @ motion.qd[:, j], rtol=1e-6
        )
        assert gram[dry[k], dry[k]] < 0.95 * theirs[dry[k], dry[k]], "reversals are smooth now"


def test_bits_do_not_depend_on_how_the_log_comes(kind: RobotType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "BLOCK", 512)  # so that a short log has many
    log = recording(kind)
    whole = evidence(kind, log).evidence
    for sizes in ((1,) * 1 + (700,), (512,), (100, 999, 3)):
        other = evidence(kind, log, sizes).evidence
        assert np.array_equal(whole.packed(), other.packed()), sizes
        assert all(np.array_equal(a, b) for a, b in zip(whole.stretches.scores, other.stretches.scores, strict=True))


def test_blocks_are_filtered_as_the_whole_log(kind: RobotType, monkeypatch: pytest.MonkeyPatch) -> None:
    log = recording(kind)
    whole = evidence(kind, log).evidence.total
    monkeypatch.setattr(gather, "BLOCK", 512)
    parts = evidence(kind, log).evidence.total
    np.testing.assert_allclose(parts.T @ parts, whole.T @ whole, rtol=1e-6, atol=1e-6 * np.abs(whole).max())


def test_stretches_add_up_to_the_day(kind: RobotType, monkeypatch: pytest.MonkeyPatch) -> None:
    log = recording(kind, 40.0)
    plain = evidence(kind, log)
    monkeypatch.setattr(gather, "FINE", 16)  # so that neighbours are merged on the way, and
    monkeypatch.setattr(gather, "STRETCHES", 6)  # put together in the end
    few = evidence(kind, log, coarse=True)
    assert len(plain.evidence.stretches.counts) == 20 and len(few.evidence.stretches.counts) == 6
    for found in (plain, few):
        own, stretches = found.evidence, found.evidence.stretches
        for R, diagonals, scores in zip(own.triangles, stretches.diagonals, stretches.scores, strict=True):
            total = np.sum(R[:, :-1] ** 2, axis=0)
            np.testing.assert_allclose(diagonals.sum(axis=0), total, rtol=1e-5)
            assert np.isfinite(scores).all()
        assert stretches.counts.sum() == own.samples.max()
    a, b = (own.evidence.total.T @ own.evidence.total for own in (few, plain))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())
    assert few.coarse is not None and plain.coarse is None
    for R, parts in zip(few.evidence.triangles, few.coarse.triangles, strict=True):
        squares = sum(part.T @ part for part in parts)
        np.testing.assert_allclose(squares, R.T @ R, rtol=1e-9, atol=1e-9 * np.abs(squares).max())


def test_scores_are_those_of_the_rows(kind: RobotType) -> None:
    """At the superset fit the weighted scores of all efforts and stretches sum to nothing."""
    own = evidence(kind, recording(kind, 40.0)).evidence
    weights = own.samples / own.stretches.rest
    total, scale = np.zeros(len(own.layout.names)), np.zeros(len(own.layout.names))
    for scores, seen, weight in zip(own.stretches.scores, own.layout.seen, weights, strict=True):
        total[list(seen)] += weight * scores.sum(axis=0)
        scale[list(seen)] += weight * np.abs(scores).sum(axis=0)
    assert np.all(np.abs(total) <= 0.05 * scale + 1e-3)


def test_both_sides_of_a_gap_count(kind: RobotType) -> None:
    log = recording(kind, 40.0)
    keep = (log.t < 15.0) | (log.t >= 25.0)
    found = evidence(kind, log.select(keep), (700,))
    assert found.told.gaps == 1 and found.samples == keep.sum()
    parts = [evidence(kind, log.select(rows)).evidence.total for rows in (log.t < 15.0, log.t >= 25.0)]
    both = sum(R.T @ R for R in parts)
    own = found.evidence.total
    np.testing.assert_allclose(own.T @ own, both, rtol=1e-8, atol=1e-8 * np.abs(both).max())


def test_uneven_stamps_are_resampled(kind: RobotType) -> None:
    log = recording(kind, 30.0)
    rng = np.random.default_rng(2)
    late = log.select(rng.uniform(size=len(log)) > 0.03)  # packets that were lost
    found, whole = evidence(kind, late), evidence(kind, log)
    assert found.told.resampled and not whole.told.resampled
    a, b = (own.evidence.columns(["FV1", "FC1", "OFF1"]).total for own in (found, whole))
    np.testing.assert_allclose(a, b, atol=0.02 * np.abs(b).max())
    again = evidence(kind, late, (333,))
    assert np.array_equal(found.evidence.packed(), again.evidence.packed())


def test_repeated_stamps_are_dropped_and_two_logs_refused(kind: RobotType) -> None:
    log = recording(kind, 20.0)
    rows = np.sort(np.concatenate([np.arange(len(log)), [500, 900]]))
    twice = Recording(log.t[rows], log.q[rows], log.tau[rows])
    found = evidence(kind, twice, (501,))
    assert found.told.repeated == 2 and found.samples == len(log)
    assert np.array_equal(found.evidence.packed(), evidence(kind, log).evidence.packed())
    order = np.concatenate([np.arange(1000, 2000), np.arange(1000)])
    with pytest.raises(RecordingError, match="two logs"):
        evidence(kind, Recording(log.t[order], log.q[order], log.tau[order]), (300,))


def test_a_log_that_is_too_short_is_refused(kind: RobotType) -> None:
    with pytest.raises(RecordingError, match="no sample remains"):
        evidence(kind, recording(kind, 0.5))


def test_histograms_and_temperatures(kind: RobotType) -> None:
    log = recording(kind, 20.0)
    warmth = np.column_stack([np.full(len(log), 31.0), np.full(len(log), 47.0)])
    marks = {"program": np.where(log.t < 5.0, 3.0, 8.0), "load": np.linspace(1.0, 2.0, len(log))}
    found = evidence(kind, Recording(log.t, log.q, log.tau, channels={"temperature": warmth}, marks=marks), (450,))
    counts = found.evidence.samples.max()
    assert found.histograms.positions.sum(axis=1).tolist() == [counts, counts]
    assert np.flatnonzero(found.histograms.temperatures[0]).tolist() == [6]  # 30 to 35 degC
    assert np.flatnonzero(found.histograms.temperatures[1]).tolist() == [9]
    record = record_of(found, kind, "A1", content="0" * 64, length=1, key="k", day="2026-03-02")
    np.testing.assert_allclose(record.temperature, [31.0, 47.0], rtol=1e-9)
    assert record.programs == {3: 500, 8: 1500}
    np.testing.assert_allclose(record.load, [1.5, 1.0, 2.0])


def test_a_temperature_that_is_no_number_is_refused(kind: RobotType) -> None:
    log = recording(kind, 10.0)
    warmth = np.full(log.q.shape, 30.0)
    warmth[707, 1] = np.nan
    with pytest.raises(RecordingError, match=r"temperature2.*row 708: the temperature is not a number"):
        evidence(kind, Recording(log.t, log.q, log.tau, channels={"temperature": warmth}), (300,))


def test_a_record_reads_back_as_it_was(kind: RobotType) -> None:
    found = evidence(kind, recording(kind, 20.0), coarse=True)
    record = record_of(found, kind, "A1", content="ab" * 32, length=7, key=kind.key(), day="2026-03-02")
    (again,) = records_of(rows_table([record.row()]), kind.column_set.layout)
    assert again.to_bytes() == record.to_bytes()
    assert np.array_equal(again.evidence.packed(), record.evidence.packed())
    assert again.row().keys() == record.row().keys() and len(again.stretch_R_samples) == 10
    one, other = (own.evidence.columns(["FV1", "FC1", "OFF1", "FV2"]).spread() for own in (again, record))
    assert np.array_equal(one.stated, other.stated)


def test_a_record_of_six_joints_is_small() -> None:
    robot = read_robot("puma560_physical", letters=False)
    kind = RobotType("puma", robot, ColumnMap(), Filter(cutoff_hz=5.0))
    rng = np.random.default_rng(0)
    t = np.arange(14_000) / 100.0
    q = sum(np.sin(w * t[:, None] + rng.uniform(0, 6, 6)) for w in (0.7, 1.9, 3.3))
    log = Recording(t, q, rng.normal(size=q.shape), channels={"temperature": 30.0 + q})  # noise packs worst
    found = evidence(kind, log)
    assert len(found.evidence.stretches.counts) == 64
    record = record_of(found, kind, "A1", content="ab" * 32, length=7, key=kind.key(), day="2026-03-02")
    assert len(record.to_bytes()) <= 170_000


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    """Below 500 MiB for a quarter of an hour and for an hour and a half, six joints at 1 kHz with temperatures.

    The longer one alone would take 800 MiB.
    """
    import subprocess
    import sys

    from benchmarks.fleet_scale import worker_memory, write_day  # noqa: F401

    for hours in (0.25, 1.5):
        write_day(tmp_path / "day.parquet", round(hours * 3600 * 1000))
        run = [sys.executable, "-m", "benchmarks.fleet_scale", str(tmp_path / "day.parquet")]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        assert float(done.stdout.split()[-1]) < 500.0, hours
