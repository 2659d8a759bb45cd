"""The page of an identification without efforts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import minertia
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.command import Command
from minertia.identification.commanded import LoopIdentification
from minertia.report.commanded_page import commanded_page
from minertia.report.folders import write_identification
from tests.identification.test_commands import ARM, GAINS, recorded


def test_the_page_says_scale_loops_residuals_and_what_cannot_be_seen(tmp_path: Path) -> None:
    planted = Campaign(ARM, command=Command(**GAINS), links="physical")
    logs = [recorded(planted, seed=seed) for seed in (0, 1)]
    asked = replace(planted, command=Command(reference="none"), train=logs[:1], validate=logs[1:])
    result = minertia.identify(asked)
    assert isinstance(result, LoopIdentification)
    text = commanded_page(result, result.model())
    for part in (
        "Nothing fixes the scale: values are ratios, in units of kp",
        "<h2>Position loops</h2>",
        "kd holds viscous friction, too: ",
        "IA/KP",
        "<h2>Residuals of positions</h2>",
        "(not fitted)</h2>",
        "distance from the command",
        "<h2>Parameters</h2>",
        "<h2>What was not excited</h2>",
    ):
        assert part in text, part
    assert text.count('<figure class="chart">') == 4  # two joints in two logs
    write_identification(tmp_path / "out", result)
    written = (tmp_path / "out" / "report.html").read_text()
    assert written.startswith(text[:200]) and "Residuals of positions" in written
