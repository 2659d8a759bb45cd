"""A log read in blocks gives what the whole log gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.errors import MinertiaError
from minertia.identification import Filter, identified_model
from minertia.identification import long_logs as module
from minertia.identification.campaigns.campaign import Campaign, LogEntry
from minertia.identification.campaigns.given import given_campaign
from minertia.identification.identify import Identification
from minertia.identification.run import identify_campaign, prepare_campaign
from minertia.report.identification_page import identification_page
from minertia.robot.read import read_robot
from tests.identification.logs import table
from tests.identification.motions import fourier_motion

ROBOT = read_robot("puma560", letters=False)
FILTERS = (Filter(cutoff_hz=8.0), Filter(cutoff_hz=8.0, on="signals"), Filter(cutoff_hz=8.0, rate_hz=200.0))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two noisy runs of 20 s at 200 Hz, at rest before and after."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder, paths = tmp_path_factory.mktemp("logs"), []
    for seed in (0, 1):
        m, rng = fourier_motion(ROBOT, 4000, seed, duration=20.0), np.random.default_rng(seed)
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


def campaign(logs: list[Path], filter: Filter = FILTERS[0]) -> Campaign:
    return replace(given_campaign(ROBOT, logs[:1]).with_validation(logs[1:]), filter=filter)


def both(asked: Campaign, monkeypatch: pytest.MonkeyPatch) -> tuple[Identification, Identification]:
    """Fitted whole, and in blocks."""
    asked = replace(asked, evaluation=module.Evaluation(8.0, 40.0, 0.5))
    whole = prepare_campaign(asked)
    monkeypatch.setattr(module, "LONG_BYTES", 0)
    parts = prepare_campaign(asked)
    assert all(isinstance(log.motion, module.MotionBlocks) for log in (*parts.train, *parts.validate))
    assert [log.motion.kept for log in whole.train] == [log.motion.kept for log in parts.train]
    return identify_campaign(whole), identify_campaign(parts)


def assert_same(whole: Identification, parts: Identification) -> None:
    assert parts.model.names == whole.model.names
    np.testing.assert_allclose(parts.beta, whole.beta, atol=1e-6 * np.abs(whole.beta).max())
    for a, b in zip((parts.training, *parts.validation), (whole.training, *whole.validation), strict=True):
        np.testing.assert_allclose((a.relative, *a.joint_rmse), (b.relative, *b.joint_rmse), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.usefixtures("in_blocks")
def test_blocks_give_what_the_whole_gives(logs: list[Path], filter: Filter, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same(*both(campaign(logs, filter), monkeypatch))


@pytest.mark.usefixtures("in_blocks")
def test_parts_of_a_log(logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = campaign(logs)
    entries = (LogEntry(logs[0], stop=15.0), LogEntry(logs[1], start=2.0, stop=18.0))
    assert_same(*both(replace(asked, train=entries, validate=(LogEntry(logs[0], start=15.0),)), monkeypatch))


@pytest.mark.usefixtures("in_blocks")
def test_page_and_notes(logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG_BYTES", 0)
    ready = prepare_campaign(campaign(logs))
    notes = ready.train[0].recording.notes
    assert any("standstill cut off" in note for note in notes) and any("read in blocks" in note for note in notes)
    result = identify_campaign(ready)
    assert "read in blocks" in identification_page(result, identified_model(result), ready)


@pytest.mark.usefixtures("in_blocks")
def test_training_is_no_validation(logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG_BYTES", 0)
    with pytest.raises(MinertiaError, match="was used to fit"):
        identify_campaign(campaign([logs[0], logs[0]]))
