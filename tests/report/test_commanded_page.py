"""The page of an identification without efforts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.command import Command
from minertia.identification.commanded import LoopIdentification
from minertia.identification.logs.recording import Recording
from minertia.identification.model import IdentifiedModel
from minertia.identification.validate import simulate_logs
from minertia.report.blocks import CellTable, Chart
from minertia.report.commanded_page import commanded_page
from minertia.report.commanded_validation import commanded_validation
from minertia.report.folders import write_identification
from minertia.report.identification_tables import percent
from tests.identification.test_commands import ARM, GAINS, recorded
from tests.pages import page_data, page_text


def test_the_page_says_scale_loops_residuals_and_what_cannot_be_seen(tmp_path: Path) -> None:
    planted = Campaign(ARM, command=Command(**GAINS), links="physical")
    logs = [recorded(planted, seed=seed, seconds=3.0) for seed in (0, 1)]
    asked = replace(planted, command=Command(reference="none"), train=logs[:1], validate=logs[1:])
    result = minertia.identify(asked)
    assert isinstance(result, LoopIdentification)
    page = commanded_page(result, result.model())
    text = page_text(page.written())
    for part in (
        "Nothing fixes the scale: values are ratios, in units of kp",
        "Position loops",
        "kd holds viscous friction, too: ",
        "IA/KP",
        "Residuals of positions",
        "(not fitted)",
        "Distance from the command",
        "Parameters",
        "What was not excited",
    ):
        assert part in text, part
    charts = [block for part in page.parts for block in part.blocks if isinstance(block, Chart)]
    assert len(charts) == 4 and page.verdict == result.to_dict()["verdict"]  # two joints in two logs
    validated(result.model(), logs[1])
    write_identification(tmp_path / "out", result)
    written = (tmp_path / "out" / "report.html").read_text()
    assert page_data(written)["kind"] == "document" and page_text(written) == text


def validated(model: IdentifiedModel, log: Recording) -> None:
    """A log that the model never saw has a page of its own, with the residuals that validate tells."""
    (one,) = simulate_logs(model, [log])
    (wanted,) = minertia.validate(model, [log])
    page = commanded_validation(model, "model.toml", [one])
    residuals, curves, loops = page.parts
    table = residuals.blocks[1]
    assert isinstance(table, CellTable) and table.rows[0][1:] == [
        percent(wanted.relative),
        *(percent(v) for v in wanted.joint_relative),
    ]
    charts = [block for block in curves.blocks if isinstance(block, Chart)]
    assert [chart.title.partition(",")[0] for chart in charts] == list(ARM.coordinate_names)
    for chart, rmse in zip(charts, wanted.joint_rmse, strict=True):
        left = chart.lines["measured"] - chart.lines["simulated"]
        assert np.sqrt(np.mean(left**2)) == pytest.approx(1e3 * rmse, rel=1e-6)
    assert isinstance(loops.blocks[0], CellTable) and len(loops.blocks[0].rows) == 2
    assert "Residuals of positions" in page_text(page.written())
