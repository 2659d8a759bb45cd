"""A floor that a commanded robot touches: found with its height, part of the model, and refused where it cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia
from minertia.algebra.vec3 import HERE
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.closed_loop import search
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.ground import heights, tied_by_floor, touching_rows
from minertia.identification.closed_loop.judge import position_residuals
from minertia.identification.closed_loop.logs import LoopLog, loop_log, made_log
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording
from minertia.io.errors import CampaignError, InputError, MinertiaError
from minertia.options import Floor
from minertia.robot.robot import Frame
from tests.identification.test_commands import ARM, BODIES, GAINS, TRUE, commands
from tests.shared import SHARED, needs_shared

ROBOT = replace(ARM.with_parameters(BODIES), frames={"tip": Frame(1, (HERE[0], (0.4, 0, 0)))})
LAID = Floor(("tip",), height="?", friction="?", stiffness=5e4)
CAMPAIGN = Campaign(ROBOT, command=Command(**GAINS, delay=0.0075), floor=LAID)
PLANTED = TRUE | {"floor_height": -0.12, "floor_friction": 0.4}
RATE = 200.0


def recorded(seed: int, campaign: Campaign = CAMPAIGN, raised: float = 0.0, **changed: float) -> Recording:
    """A log of an arm that presses on a floor now and then, simulated with other steps than a fit's.

    raised: time for which it moves far above the floor before [s].
    """
    t = np.arange(round((3 + raised) * RATE)) / RATE
    u = commands(t, seed) + np.outer(np.clip(3 * (raised - t), 0.0, 1.0), [1.0, 0.3])
    model, zeros = loop_model(campaign, 1 / RATE), np.zeros((len(t), 2))
    plain = LoopLog("plant", None, 1 / RATE, zeros, u, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
    found = simulated(model, np.array([(PLANTED | changed)[name] for name in model.names]), plain, 40, slopes=False)
    assert found is not None
    return Recording(t=t, q=found.q + 1e-4 * np.random.default_rng(seed).normal(size=u.shape), channels={"command": u})


def test_the_floor_is_found_with_the_values_of_the_joints() -> None:
    log = recorded(0)
    low = heights(ROBOT, LAID, log.q)[:, 0]
    assert 0.05 < np.mean(low < -0.119) < 0.7  # it presses, and it moves freely
    fit = output_error(loop_model(CAMPAIGN, 1 / RATE), [made_log(CAMPAIGN, "log", log)], steps=[10])
    found = dict(zip(fit.model.names, fit.theta, strict=True))
    assert found["floor_height"] == pytest.approx(-0.12, abs=1e-3)
    assert found["floor_friction"] == pytest.approx(0.4, rel=0.15)
    for name in ("IA1", "FV1", "FC1", "FC2"):
        assert found[name] == pytest.approx(PLANTED[name], rel=0.1), name
    assert fit.sigma.max() < 5e-4 and not fit.pushed[0].any()


def test_a_floor_that_nothing_touches_is_found_again() -> None:
    """From a height at which no position changes with it, a fit would not come back."""
    model = loop_model(CAMPAIGN, 1 / RATE)
    lost = np.array([{**PLANTED, "floor_height": -5.0}[name] for name in model.names])
    fit = output_error(model, [made_log(CAMPAIGN, "log", recorded(0))], lost, steps=[10])
    assert dict(zip(model.names, fit.theta, strict=True))["floor_height"] == pytest.approx(-0.12, abs=1e-3)


def test_a_floor_that_is_not_told_spoils_the_fit() -> None:
    campaign = replace(CAMPAIGN, floor=Floor(), command=replace(CAMPAIGN.command, leave_out_contact=False))
    fit = output_error(loop_model(campaign, 1 / RATE), [made_log(campaign, "log", recorded(0))], steps=[5])
    assert fit.sigma.min() > 1e-3


@pytest.mark.parametrize(("height", "touches"), [(-0.12, ("tip",)), (-5.0, ())])
def test_a_floor_that_is_not_told_is_found_where_there_is_one(height: float, touches: tuple[str, ...]) -> None:
    campaign = replace(CAMPAIGN, floor=Floor(), train=(recorded(0, floor_height=height),))
    found = minertia.solve(minertia.build_problem(campaign))
    assert found.campaign.floor.touches == touches  # type: ignore[attr-defined]
    if touches:
        assert found.beta[found.names.index("floor_height")] == pytest.approx(height, abs=5e-3)


@pytest.mark.parametrize("seed", [2, 5])
def test_a_short_log_shows_no_floor(seed: int) -> None:
    """The first fit ends in a worse minimum: any further unknown leads out of it, and so do the others alone."""
    whole = recorded(seed, floor_height=-5.0)
    own = slice(round(0.6 * RATE))
    log = Recording(t=whole.t[own], q=whole.q[own], channels={"command": whole.channels["command"][own]})
    campaign = replace(CAMPAIGN, floor=Floor(), train=(log,))
    logs = [loop_log(campaign, one) for one in campaign.train]
    made = search.chosen(campaign, loop_model(campaign, 1 / RATE), logs, lambda step: None)
    assert not made.campaign.floor.touches and not made.notes
    assert {one.option: one.is_selected for one in made.tried}["tip"] is False


def test_logs_in_which_nothing_moves_are_refused() -> None:
    still = np.ones((200, 2))
    log = Recording(t=np.arange(200) / RATE, q=still, channels={"command": still})
    with pytest.raises(MinertiaError, match="no joint moves in these logs"):
        minertia.build_problem(replace(CAMPAIGN, floor=Floor(), train=(log,)))


def test_a_floor_that_is_touched_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choices are made on a part of the log: that in which the tip comes down, not its first rows."""
    campaign = replace(CAMPAIGN, floor=Floor(), train=(recorded(0, raised=4.0),))
    (log,) = (loop_log(campaign, own) for own in campaign.train)
    first = heights(ROBOT, LAID, log.q[: round(3 * RATE)])[:, 0]
    assert first.min() > -0.1  # nothing touches there
    monkeypatch.setattr(search, "SEARCHED", 3.0)
    found = minertia.solve(minertia.build_problem(campaign))
    assert found.campaign.floor.touches == ("tip",)  # type: ignore[attr-defined]
    assert found.beta[found.names.index("floor_height")] == pytest.approx(-0.12, abs=5e-3)


def test_parts_of_logs_begin_with_them_unless_something_is_shown_later() -> None:
    log = made_log(CAMPAIGN, "log", recorded(0))
    rows = round(1.5 * RATE)
    shown = [np.zeros(len(log.q), bool) for _ in range(3)]
    shown[1][300] = shown[2][-1] = True
    starts = [np.flatnonzero(log.q[:, 0] == own.q[0, 0])[0] for own in search.shortened([log] * 3, 4.5, shown)]
    assert starts == [0, 300 - rows // 2, len(log.q) - rows]
    assert [len(own.q) for own in search.shortened([log], 1.5)] == [rows]


def test_a_floor_that_nothing_touched_is_told_as_not_seen() -> None:
    fit = output_error(
        loop_model(CAMPAIGN, 1 / RATE), [made_log(CAMPAIGN, "log", recorded(0, floor_height=-5.0))], steps=[5]
    )
    deviation = dict(zip(fit.model.names, fit.deviation, strict=True))
    assert "floor_friction" in fit.hidden or deviation["floor_friction"] > 0.3
    found = dict(zip(fit.model.names, fit.theta, strict=True))
    assert found["FC1"] == pytest.approx(PLANTED["FC1"], rel=0.05)


def test_rows_on_the_ground_are_those_of_the_lowest_heights() -> None:
    model, log = loop_model(CAMPAIGN, 1 / RATE), recorded(0)
    theta = np.array([PLANTED[name] for name in model.names])
    found = touching_rows(model, theta, log.q)
    assert found is not None and 0.05 < found.mean() < 0.7
    assert heights(ROBOT, LAID, log.q)[found, 0].max() < -0.119 < -0.12 + 2e-3 < heights(ROBOT, LAID, log.q)[:, 0].max()
    bare = replace(CAMPAIGN, floor=Floor())
    assert touching_rows(loop_model(bare, 1 / RATE), theta, log.q) is None


@pytest.mark.slow
def test_a_saved_model_predicts_on_its_floor(tmp_path: Path) -> None:
    campaign = replace(CAMPAIGN, train=(recorded(0),), validate=(recorded(1),))
    found = minertia.identify(campaign)
    unseen = found.validation[0].relative
    assert found.verdict.is_good and unseen < 0.02
    found.model().save(tmp_path / "model.toml")
    again = minertia.validate(tmp_path / "model.toml", recorded(1))[0].relative
    assert again == pytest.approx(unseen, abs=3e-3)


def test_files_state_a_floor(tmp_path: Path) -> None:
    file, log = tmp_path / "c.toml", tmp_path / "a.csv"
    log.write_text("t,q1,q2,q_cmd1,q_cmd2\n0,0,0,0,0\n0.01,0,0,0,0\n")
    floor = '[floor]\ntouches = "tip"\nheight = -0.02\nfriction = "?"\nstiffness = 5000\n'
    text = f'format = 1\nrobot = "planar2r"\n[logs]\ntrain = ["a.csv"]\n{floor}'
    file.write_text(text)
    assert read_campaign(file).floor == Floor(("tip",), -0.02, "?", 5000)
    file.write_text(text.replace("5000", "-1"))
    with pytest.raises(MinertiaError, match="floor.stiffness.: this must be a number from 100"):
        read_campaign(file)


def test_what_cannot_be_a_floor_is_refused() -> None:
    with pytest.raises(InputError, match="no frame called 'nose'"):
        loop_model(replace(CAMPAIGN, floor=Floor(("nose",))), 1 / RATE)
    with pytest.raises(CampaignError, match="midpoint rule only"):
        loop_model(replace(CAMPAIGN, command=Command(**GAINS, integrator="euler", step=0.001)), 1 / RATE)
    with pytest.raises(MinertiaError, match="touches of Floor must be a list of strings"):
        Floor(3)  # type: ignore[arg-type]


def test_a_floor_ties_joints_that_inertia_does_not() -> None:
    apart = ((0,), (1,))
    assert tied_by_floor(ROBOT, LAID, apart) == ((0, 1),)
    assert tied_by_floor(ROBOT, Floor(), apart) == apart
    assert tied_by_floor(ROBOT, Floor((ROBOT.joints[0].name,)), apart) == apart


@needs_shared
def test_derivatives_stay_bounded_where_friction_bears_a_load_and_gains_are_stiff() -> None:
    """A wrist without rotor inertia creeps: the midpoint rule swings about its velocity, where it does not stop."""
    campaign = read_campaign(Path(__file__).parents[2] / "benchmarks" / "so101.toml", SHARED / "data" / "so101_sage")
    log = loop_log(campaign, next(log for log in campaign.train if "step_response" in log.name))
    model = loop_model(campaign, log.period)
    values = {"floor_height": -0.045, "floor_friction": 0.12, "KP": 12.0, "delay": -0.008}
    each = {
        "IA": (0.022, 0.035, 0.01, 0, 0),
        "FC": (0.127, 0.15, 0.26, 0.14, 0.11),
        "FCL": (0.03, 0.46, 0.62, 0.26, 0.9),
    }
    values |= {f"{name}{j + 1}": value for name, own in each.items() for j, value in enumerate(own)}
    values |= {f"KD{j + 1}+FV{j + 1}": value for j, value in enumerate((0.86, 0.62, 0.66, 0.76, 0.82))}
    found = simulated(model, np.array([values[name] for name in model.names]), log, 6)
    assert found is not None and max(np.abs(part.values).max() for part in found.slopes) < 100


@pytest.mark.slow
@needs_shared
def test_a_real_arm_on_a_table_is_predicted_by_a_fit_of_other_motions() -> None:
    data = SHARED / "data" / "so101_sage"
    campaign = read_campaign(Path(__file__).parents[2] / "benchmarks" / "so101.toml", data)
    names = ("multisine", "chirp_sweep", "step_response", "figure_eight", "random_waypoints")
    chosen = {name: next(log for log in campaign.train if name in log.name) for name in names}
    logs = [loop_log(campaign, replace(log, stop=14.0)) for log in chosen.values()]
    left = []
    for floor in (campaign.floor, Floor()):
        model = loop_model(replace(campaign, floor=floor), logs[0].period)
        fit = output_error(model, logs[:-1], steps=[10] * 4)
        left.append(position_residuals(model, fit.theta, logs[-1], 2e-3).relative)
    assert left[0] < 0.33 and left[1] > 0.45
