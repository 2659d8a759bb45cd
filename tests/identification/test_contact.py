"""Stretches in which something else pushed the robot: found, told, and no part of a fit of commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.contact import pushed, pushed_rows, told_times, usual_rest
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.logs import LoopLog, loop_log, made_log
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording
from minertia.options import Floor
from tests.identification.test_commands import ARM, BODIES, GAINS, TRUE, commands, theta_of
from tests.shared import SHARED, needs_shared

ROBOT = ARM.with_parameters(BODIES)
CAMPAIGN = Campaign(ROBOT, command=Command(**GAINS, delay=0.0075))
RATE = 200.0


def recorded(push: tuple[float, float] | None, seed: int = 0, seconds: float = 9.0) -> Recording:
    """A log of the planted arm; between two times something holds it up."""
    t = np.arange(round(seconds * RATE)) / RATE
    u, zeros = commands(t, seed), np.zeros((len(t), 2))
    force = np.zeros_like(u)
    if push is not None:
        force[(t >= push[0]) & (t < push[1])] = (-60.0, -25.0)
    model = loop_model(CAMPAIGN, 1 / RATE)
    told = u + force / np.array(GAINS["kp"])  # what the loop makes of it is that force
    plain = LoopLog("plant", None, 1 / RATE, zeros, told, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
    found = simulated(model, theta_of(model), plain, 20, slopes=False)
    assert found is not None
    return Recording(t=t, q=found.q + 1e-4 * np.random.default_rng(seed).normal(size=u.shape), channels={"command": u})


def fit_of(campaign: Campaign, log: Recording) -> LoopFit:
    return output_error(loop_model(campaign, 1 / RATE), [made_log(campaign, "log", log)])


def errors(fit: LoopFit) -> np.ndarray:
    return np.asarray(np.abs(fit.theta - theta_of(fit.model)) / np.abs(theta_of(fit.model)))


def test_a_push_is_found_and_spoils_no_value() -> None:
    log = recorded((3.0, 4.0))
    fit = fit_of(CAMPAIGN, log)
    rows = fit.pushed[0].any(axis=1)
    assert rows[600:800].all() and rows.mean() < 0.6 and not rows[:450].any()
    assert "excluded from the fit" in " ".join(fit.notes) and "of log" in " ".join(fit.notes)
    spoilt = fit_of(replace(CAMPAIGN, command=replace(CAMPAIGN.command, leave_out_contact=False)), log)
    assert not spoilt.pushed[0].any()
    assert np.median(errors(fit)) < 0.01 < 0.1 < np.median(errors(spoilt))
    assert np.all(np.abs(fit.theta - theta_of(fit.model)) < 5 * fit.deviation)


def test_nothing_is_left_out_of_a_free_motion_or_for_a_poor_model() -> None:
    log = recorded(None)
    fit = fit_of(CAMPAIGN, log)
    assert not fit.pushed[0].any() and not any("left out" in note for note in fit.notes)
    poor = fit_of(replace(CAMPAIGN, effects=("rotor", "viscous")), log)  # no Coulomb friction, no offset
    assert not poor.pushed[0].any()


def test_too_many_pushes_are_a_fault_of_the_model() -> None:
    log = made_log(CAMPAIGN, "log", recorded(None))
    model = loop_model(CAMPAIGN, 1 / RATE)
    rest = np.full(log.q.shape, 1e-4)
    rest[200:300] = 1.0
    assert pushed(model, [log], [rest])[0].any()
    rest[200:600] = 1.0
    assert not pushed(model, [log], [rest])[0].any()


def test_what_the_loop_explains_is_no_push() -> None:
    log = made_log(CAMPAIGN, "log", recorded(None))
    model = loop_model(CAMPAIGN, 1 / RATE)
    rest = 0.02 * (log.q - log.u)
    usual = usual_rest(model, [log], [rest])
    assert usual is not None
    rest[200:300] = 0.3 * (log.q - log.u)[200:300]  # 15 times the rest's, and less than a third of the lag
    assert not pushed_rows(model, log, rest, usual).any()
    rest[200:300] = 0.5 * (log.q - log.u)[200:300]
    rows = pushed_rows(model, log, rest, usual)
    assert rows[200:300].all() and told_times(log, rows) == "0.5 to 1.99 s"


@pytest.mark.slow
def test_a_push_in_an_unseen_log_is_told_with_what_is_left_of_the_rest() -> None:
    campaign = replace(CAMPAIGN, train=(recorded(None),), validate=(recorded((3.0, 4.0), seed=1),))
    told = " ".join(minertia.identify(campaign).verdict.reasons)
    assert "seems to contain external contact" in told and "residual of the other rows" in told


@pytest.mark.slow
def test_offsets_give_way_where_they_stand_for_the_weights() -> None:
    planted = replace(CAMPAIGN, effects=("rotor", "viscous", "coulomb"), command=replace(CAMPAIGN.command, kp=100.0))
    model = loop_model(planted, 1 / RATE)
    t = np.arange(-800, 800) / RATE  # at rest before the log begins: where it falls from its start, it shows its weight
    u = 0.05 * np.sin(2 * np.pi * np.outer(t, (0.2, 0.3))) * (t > 0)[:, None]  # slow, about one posture
    start = np.zeros(2)
    plain = LoopLog("plant", None, 1 / RATE, np.zeros_like(u), u, None, start, 0 * start, 0.0, 0)  # type: ignore[arg-type]
    theta = np.array([0.05 * TRUE[name] if name.startswith("FC") else TRUE[name] for name in model.names])
    found = simulated(model, theta, plain, 20, slopes=False)
    assert found is not None
    q = found.q + 1e-2 * np.random.default_rng(0).normal(size=u.shape)
    log = Recording(t=t[800:], q=q[800:], channels={"command": u[800:]})
    asked = replace(CAMPAIGN, train=(log,), command=Command(kp="same", kd="?", delay=0.0075))
    result = minertia.identify(asked)
    names = [p.name for p in result.parameters]
    assert "offsets were assumed to be zero" in " ".join(result.verdict.reasons)
    assert not any(name.startswith("OFF") for name in names)
    (gain,) = (p for p in result.parameters if p.name == "KP")
    assert abs(gain.value - 100.0) < 3 * gain.deviation < 3.0


@pytest.mark.slow
@needs_shared
def test_a_real_arm_presses_on_its_table_in_two_of_eight_motions() -> None:
    file = Path(__file__).parents[2] / "benchmarks" / "so101.toml"
    campaign = replace(read_campaign(file, SHARED / "data" / "so101_sage"), floor=Floor())  # as if none were known
    logs = [loop_log(campaign, replace(log, stop=14.0)) for log in campaign.train]
    fit = output_error(loop_model(campaign, logs[0].period), logs, steps=[5] * len(logs))
    found = {log.name.split(".")[0] for log, rows in zip(logs, fit.pushed, strict=True) if rows.any()}
    assert found == {"so101_random_waypoints", "so101_figure_eight"}
    assert 10 < fit.theta[fit.model.names.index("KP")] < 15
