"""Friction that changes with the position, under commands: taken where it predicts better, kept by saved models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minertia
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.logs import LoopLog, made_log
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording
from minertia.io.errors import CampaignError
from tests.identification.test_commands import ARM, BODIES, GAINS, TRUE, commands
from tests.shared import SHARED, needs_shared

ROBOT = ARM.with_parameters(BODIES)
USUAL = ("rotor", "viscous", "coulomb", "offset")
PLACED = {"kind": "position_coulomb", "joints": [1], "middle": 0.1}
LOADED = {"kind": "load_coulomb"}
SLOW = {"kind": "stribeck", "joints": [2], "velocity": 0.2}
CAMPAIGN = Campaign(ROBOT, command=Command(**GAINS, delay=0.0075, leave_out_contact=False))
STATED = replace(CAMPAIGN, effects=(*USUAL, PLACED, SLOW))
PLANTED = TRUE | {"FCQ1": 2.5, "FS2": 0.8}
RATE = 100.0


def recorded(seed: int, campaign: Campaign = STATED, **changed: float) -> Recording:
    """A log of an arm, simulated with other steps than a fit's."""
    t = np.arange(round(5 * RATE)) / RATE
    u, zeros = commands(t, seed), np.zeros((len(t), 2))
    model, values = loop_model(campaign, 1 / RATE), PLANTED | changed
    plain = LoopLog("plant", None, 1 / RATE, zeros, u, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
    found = simulated(model, np.array([values[name] for name in model.names]), plain, 80, slopes=False)
    assert found is not None
    return Recording(t=t, q=found.q + 2e-4 * np.random.default_rng(seed).normal(size=u.shape), channels={"command": u})


def test_planted_friction_of_place_and_speed_is_found() -> None:
    fit = output_error(loop_model(STATED, 1 / RATE), [made_log(STATED, "log", recorded(0))])
    found = dict(zip(fit.model.names, fit.theta, strict=True))
    assert found["FCQ1"] == pytest.approx(2.5, rel=0.1) and found["FS2"] == pytest.approx(0.8, rel=0.25)
    assert found["FC1"] == pytest.approx(TRUE["FC1"], rel=0.1)


def test_it_is_added_where_the_log_asks_for_it_and_a_saved_model_has_it(tmp_path: Path) -> None:
    found = minertia.identify(replace(CAMPAIGN, train=(recorded(0, FS2=0.0),), validate=(recorded(1, FS2=0.0),)))
    values = {p.name: p.value for p in found.parameters}
    assert values["FCQ1"] == pytest.approx(2.5, rel=0.1) and "FCQ2" not in values
    assert "position_coulomb" in " ".join(found.verdict.reasons)
    found.model().save(tmp_path / "model.toml")
    again = minertia.validate(tmp_path / "model.toml", recorded(1, FS2=0.0))[0].relative
    assert again == pytest.approx(found.validation[0].relative, rel=0.05) and again < 0.01


@pytest.mark.parametrize("planted", [(0.1, 0.05), (0.0, 0.0)])
def test_friction_of_the_load_is_found_where_there_is_some(planted: tuple[float, float]) -> None:
    campaign = replace(CAMPAIGN, effects=(*USUAL, LOADED))
    log = recorded(0, campaign, FCL1=planted[0], FCL2=planted[1])
    found = minertia.solve(minertia.build_problem(replace(CAMPAIGN, train=(log,))))
    values = [v for name, v in zip(found.names, found.beta, strict=True) if name.startswith("FCL")]
    assert values == (pytest.approx(planted, rel=0.1) if any(planted) else [])


@pytest.mark.parametrize(("term", "planted"), [(PLACED, {"FCQ1": 2.5}), (LOADED, {"FCL1": 0.1, "FCL2": 0.05})])
def test_code_of_a_saved_fit_has_friction_of_place_and_load(
    term: dict[str, object], planted: dict[str, float], tmp_path: Path
) -> None:
    """Fitted, saved, read, validated, generated: half of what turning the velocity changes is friction there."""
    campaign = replace(CAMPAIGN, effects=(*USUAL, term), command=replace(CAMPAIGN.command, step=2.5e-3))
    log = recorded(0, campaign, **planted)
    minertia.identify(replace(campaign, train=(log,))).model().save(tmp_path / "model.toml")
    assert minertia.validate(tmp_path / "model.toml", recorded(1, campaign, **planted))[0].relative < 0.01
    robot = minertia.read_robot(tmp_path / "model.toml")
    made = minertia.generate(robot, tmp_path / "code", programs=("inverse_dynamics",), target="numpy")
    values = {name: made.effects[name] for name in planted}
    assert values == pytest.approx(planted, rel=0.1)
    code: dict[str, Any] = {}
    exec((tmp_path / "code" / "planar_2r.py").read_text(encoding="utf-8"), code)
    q, speed = np.array([0.5, 0.3]), np.array([0.7, 0.4])
    forth, back = (code["inverse_dynamics"](q, sign * speed, np.zeros(2)) for sign in (1, -1))
    bare = robot.without_effects(list(robot.effect_values))
    carried = np.abs(minertia.inverse_dynamics(bare, q, speed, np.zeros(2)))  # the same both ways
    e = made.effects
    coulomb = np.array([e[f"FC{j}"] + e.get(f"FCL{j}", 0.0) * carried[j - 1] for j in (1, 2)])
    coulomb[0] += e.get("FCQ1", 0.0) * (q[0] - 0.1)
    assert (forth - back) / 2 == pytest.approx(coulomb + [e["FV1"], e["FV2"]] * speed, rel=1e-6)


@pytest.mark.slow
def test_it_is_not_added_elsewhere() -> None:
    found = minertia.identify(replace(CAMPAIGN, train=(recorded(0, FS2=0.0, FCQ1=0.0),)))
    assert "position_coulomb" not in " ".join(found.verdict.reasons)
    assert not any(p.name.startswith("FCQ") for p in found.parameters)


def test_a_velocity_of_stribeck_friction_must_be_stated() -> None:
    with pytest.raises(CampaignError, match="velocity of FS1.* cannot be estimated in fits of commands; give it"):
        loop_model(replace(CAMPAIGN, effects=(*USUAL, "stribeck")), 1 / RATE)


@pytest.mark.slow
@needs_shared
def test_knees_of_a_real_quadruped_rub_more_as_they_bend() -> None:
    robot = minertia.read_robot(SHARED / "robots" / "go2.mjcf.xml", base="fixed")
    log = SHARED / "data" / "go2_iit" / "go2_middle.csv.gz"
    found = minertia.identify(Campaign(robot, log, command=Command(kp=20.0, kd=1.5)))
    values = {p.name: p.value for p in found.parameters}
    assert found.training.relative < 0.03 and {"FCQ3", "FCQ9", "FCQ12"} <= set(values)
    assert values["FCQ9"] < -0.8
