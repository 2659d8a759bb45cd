"""The page of an identification without efforts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command
from minertia.identification.logs.recording import Recording
from minertia.identification.model import IdentifiedModel
from minertia.identification.validate import predict_logs
from minertia.report.fit_views import validation_view
from minertia.report.folders import write_identification
from minertia.report.pages import fit_page
from tests.identification.test_commands import ARM, GAINS, recorded
from tests.pages import page_data, page_text


def test_the_page_says_scale_loops_residuals_and_what_cannot_be_seen(tmp_path: Path) -> None:
    planted = Campaign(ARM, command=Command(**GAINS), links="physical")
    logs = [recorded(planted, seed=seed, seconds=3.0) for seed in (0, 1)]
    asked = replace(planted, command=Command(reference="none"), train=logs[:1], validate=logs[1:])
    result = minertia.identify(asked)
    written = fit_page(result, result.model())
    text = page_text(written)
    for part in (
        "the scale is not identifiable: values are ratios, in units of kp",
        "Position loops",
        "kd includes viscous friction: ",
        "IA/KP",
        "100 % corresponds to a joint that follows its command immediately.",
        "Tracking error",
        "mrad",
        "steps of the simulation between rows",
    ):
        assert part in text, part
    view = page_data(written)["view"]
    assert view["result"]["verdict"] == result.to_dict()["verdict"] and view["measure"]["word"] == "lag"
    assert [(log["is_fitted"], len(log["curves"]["predicted"])) for log in view["logs"]] == [(False, 2), (True, 2)]
    validated(result.model(), logs[1])
    write_identification(tmp_path / "out", result)
    assert page_data((tmp_path / "out" / "report.html").read_text())["kind"] == "fit"


def validated(model: IdentifiedModel, log: Recording) -> None:
    """A log that the model never saw has a page of its own, with the residuals that validate tells."""
    (one,) = predict_logs(model, [log])
    (wanted,) = minertia.validate(model, [log])
    view = validation_view(model, [one], points=10_000)
    (judged,) = view["logs"]
    assert view["result"]["validation"] == [wanted.to_dict()] and judged["residual"]["rmse"] == wanted.rmse
    assert view["joints"] == list(ARM.coordinate_names) and judged["units"] == ["mrad", "mrad"]
    curves = one.curves()
    assert curves is not None and len(judged["t"]) == len(curves.t)
    left = np.sqrt(np.mean((curves.measured - curves.predicted) ** 2, axis=0))
    assert left == pytest.approx([1e3 * rmse for rmse in wanted.joint_rmse], rel=1e-6)
    assert judged["curves"]["predicted"][1] == pytest.approx(curves.predicted[:, 1].tolist(), rel=1e-3, abs=1e-3)
    (loops,) = view["sections"]
    assert loops["title"] == "Position loops" and len(loops["rows"]) == 2
