"""Identification without efforts: planted loops, what cannot be seen, and the sentences of what cannot be done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia
from minertia import read_robot
from minertia.codegen.rollout.commands import HeldCommand
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.options import Command
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error, probed
from minertia.identification.closed_loop.groups import tied_groups
from minertia.identification.closed_loop.hidden import hidden_directions
from minertia.identification.closed_loop.judge import FILE, FRICTION, evidence_beside, ratios
from minertia.identification.closed_loop.law import didim, law_fit
from minertia.identification.closed_loop.layout import SprungLayout
from minertia.identification.closed_loop.logs import LoopLog, loop_log, made_log
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.problem import CommandProblem
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.identification.loads.load import Load
from minertia.identification.logs.recording import Recording
from minertia.io.errors import MinertiaError
from minertia.robot.check import check_robot
from tests.shared import SHARED, needs_shared

ARM = replace(read_robot("planar2r"), gravity=(0.0, -9.81, 0.0))  # in a vertical plane
ARM_LENGTH = float(ARM.numeric.joints[1].p[0])
GAINS = {"kp": (150.0, 80.0), "kd": (8.0, 4.0)}
TRUE = {
    "ZZR1": 0.9, "MXR1": 1.0, "MY1": 0.1, "ZZ2": 0.3, "MX2": 0.5, "MY2": 0.05, "IA1": 0.2, "IA2": 0.1,
    "FV1": 1.0, "FV2": 0.5, "FC1": 2.0, "FC2": 1.0, "OFF1": 0.4, "OFF2": -0.3, "KP1": 150.0, "KP2": 80.0,
    "KD1+FV1": 9.0, "KD2+FV2": 4.5, "delay": 0.0075,
}  # fmt: skip
BODIES = {
    "M1": 2.0, "MX1": 0.5, "MY1": 0.1, "XX1": 0.2, "YY1": 0.3, "ZZ1": 0.4, "M2": 1.0, "MX2": 0.5, "MY2": 0.05,
    "XX2": 0.03, "YY2": 0.28, "ZZ2": 0.3, "XY1": -0.025, "XY2": -0.025,
}  # fmt: skip


def commands(t: np.ndarray, seed: int) -> np.ndarray:
    """Sums of sines that begin at rest."""
    rng = np.random.default_rng(seed)
    f, phase = rng.uniform(0.2, 3.0, (6, 2)), rng.uniform(0, 2 * np.pi, (6, 2))
    waves = np.sin(2 * np.pi * f[:, None] * t[:, None] + phase[:, None]) / f[:, None] ** 0.7
    return np.asarray(0.25 * waves.sum(axis=0) * np.minimum(t / 0.5, 1.0)[:, None] ** 2)


def theta_of(model: ServoModel) -> np.ndarray:
    return np.array([TRUE[name] for name in model.names])


def recorded(
    campaign: Campaign, *, rate: float = 200.0, seconds: float = 3.5, seed: int = 0, noise: float = 1e-4
) -> Recording:
    """A log of a planted robot, simulated with steps far shorter than a fit takes."""
    t = np.arange(round(seconds * rate)) / rate
    u, zeros = commands(t, seed), np.zeros((len(t), 2))
    model = loop_model(campaign, 1 / rate)
    plain = LoopLog("plant", None, 1 / rate, zeros, u, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
    found = simulated(model, theta_of(model), plain, round(8000 / rate), slopes=False)
    assert found is not None
    q = found.q + noise * np.random.default_rng(seed + 100).normal(size=found.q.shape)
    return Recording(t=t, q=q, channels={"command": u})


def test_unknown_directions_are_those_that_were_counted() -> None:
    robots = {name: read_robot(name) for name in ("planar2r", "scara", "gantry", "puma560", "ur10e")}
    wanted = {"planar2r": (3, 1, 0, 0), "scara": (7, 3, 2, 1), "gantry": (7, 4, 3, 1), "puma560": (7, 1, 0, 0),
              "ur10e": (7, 1, 0, 0)}  # fmt: skip
    for name, robot in robots.items():
        found = (
            hidden_directions(robot),
            hidden_directions(robot, friction=False),
            hidden_directions(robot, friction=False, known=(0,)),
            hidden_directions(robot, friction=False, known=range(robot.n)),
        )
        assert found == wanted[name], name


@needs_shared
def test_a_quadruped_on_a_stand_has_a_scale_for_each_leg() -> None:
    robot = read_robot(SHARED / "robots" / "go2.mjcf.xml", base="fixed")
    assert tied_groups(robot) == ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))
    assert hidden_directions(robot) == 16
    assert hidden_directions(robot, friction=False, known=(0,)) == 3


def test_planted_values_come_back_within_their_intervals(tmp_path: Path) -> None:
    planted = Campaign(ARM, command=Command(**GAINS), links="physical")
    logs = [recorded(planted, seed=seed) for seed in (0, 1)]
    result = minertia.identify(replace(planted, train=logs[:1], validate=logs[1:]))
    assert isinstance(result.problem, CommandProblem) and result.verdict.is_good, result.verdict.reasons
    assert result.validation[0].rmse < 1.3e-4 and "your gains" in " ".join(result.verdict.reasons)
    for p in result.parameters:
        assert abs(p.value - TRUE[p.name]) < 5 * p.deviation, p
    size = np.median([abs(p.value / TRUE[p.name] - 1) for p in result.parameters])
    assert size < 0.005
    model = result.model()
    assert model.is_physical
    model.save(tmp_path / "model.toml")
    again = minertia.validate(tmp_path / "model.toml", logs[1])
    assert again[0].relative == pytest.approx(result.validation[0].relative, rel=0.05)


def test_positions_are_nearer_than_efforts_of_the_law() -> None:
    campaign = Campaign(ARM, command=Command(**GAINS, delay=0.0075), links="physical")
    model = loop_model(campaign, 0.005)
    log = made_log(campaign, "log", recorded(campaign))
    found = [law_fit(model, [log]), didim(model, [log]), output_error(model, [log]).theta]
    errors = [float(np.median(np.abs(theta / theta_of(model) - 1))) for theta in found if theta is not None]
    assert len(errors) == 3 and errors[2] < 0.2 * min(errors[:2]) and max(errors) < 0.1 and errors[2] < 0.005


@pytest.mark.slow
def test_without_a_reference_ratios_are_found() -> None:
    planted = Campaign(ARM, command=Command(**GAINS, delay=0.0075), links="physical")
    log = recorded(planted)
    asked = replace(planted, command=Command(delay=0.0075, reference="none"))
    result = minertia.identify(replace(asked, train=(log,)))
    assert isinstance(result.problem, CommandProblem)
    assert "the scale is not identifiable" in " ".join(result.verdict.reasons)
    found = {(r["joint"], r["ratio"]): r for r in ratios(result.estimate.servo)}
    for j, joint in enumerate(ARM.coordinate_names):
        damping, friction = found[joint, "(FV+KD)/KP"], found[joint, "FC/KP"]
        wanted = TRUE[f"KD{j + 1}+FV{j + 1}"] / GAINS["kp"][j]
        assert damping["value"] == pytest.approx(wanted, rel=0.03)
        assert friction["value"] == pytest.approx(TRUE[f"FC{j + 1}"] / GAINS["kp"][j], rel=0.05)


def test_ratios_have_the_units_of_their_joints() -> None:
    robot = read_robot("gantry")
    campaign = Campaign(robot, command=Command(kp=400.0, kd=20.0, delay=0.0), links="physical", effects=("coulomb",))
    model = loop_model(campaign, 0.01)
    t = np.arange(100) / 100
    u = 0.1 * np.sin(4 * t[:, None] + np.arange(robot.n))
    log = made_log(campaign, "log", Recording(t=t, q=u, channels={"command": u}))
    guess = np.ones(model.count)
    units = {r["unit"] for r in ratios(output_error(model, [log], guess, iterate=False)) if r["ratio"] == "FC/KP"}
    assert units == {"m"}


def test_a_fit_does_not_start_faster_than_the_robot_moves() -> None:
    """A first row that is off could else be explained by a start of any speed that friction stops at once."""
    campaign = Campaign(ARM, command=Command(**GAINS), links="physical")
    log = made_log(campaign, "log", recorded(campaign))
    q = log.q.copy()
    q[0] += [0.05, -0.05]
    wrong = replace(log, q=q, v0=np.zeros(2))
    fastest = wrong.fastest_start(SprungLayout(2))
    assert fastest == pytest.approx(2 * np.abs(np.diff(q, axis=0)).max(axis=0) / log.period)
    model = loop_model(campaign, log.period)
    started = with_start(model, theta_of(model), wrong, 10)
    assert np.all(np.abs(started.v0) <= fastest)


def test_masses_of_the_file_fix_the_gains() -> None:
    robot = ARM.with_parameters(BODIES)
    planted = Campaign(robot, command=Command(**GAINS, delay=0.0075))
    log = recorded(planted)
    model = loop_model(replace(planted, command=Command(kp="?", kd="?", delay=0.0075)), 0.005)
    assert "KD1+FV1" in model.names and "FV1" not in model.names
    fit = output_error(model, [made_log(planted, "log", log)])
    for name, value, deviation in zip(model.names, fit.theta, fit.deviation, strict=True):
        assert abs(value - TRUE[name]) < 5 * deviation, name
    assert fit.theta[model.names.index("KP1")] == pytest.approx(150.0, rel=0.05)


def test_deviations_are_not_below_those_of_white_residuals() -> None:
    robot = ARM.with_parameters(BODIES)
    planted = Campaign(robot, command=Command(**GAINS, delay=0.0075))
    clean = recorded(planted, noise=0.0)
    q = clean.q + 1e-4 * (-1.0) ** np.arange(len(clean.q))[:, None]  # the kindest noise there is
    fit = output_error(loop_model(planted, 0.005), [made_log(planted, "log", replace(clean, q=q))])
    assert fit.widths is not None and fit.widths.inflation.min() >= 1


def test_a_delay_between_two_rows_is_found() -> None:
    robot = ARM.with_parameters(BODIES)
    planted = Campaign(robot, command=Command(**GAINS))
    fit = output_error(loop_model(planted, 0.005), [made_log(planted, "log", recorded(planted))])
    k = fit.model.names.index("delay")
    assert fit.theta[k] == pytest.approx(0.0075, abs=max(4 * fit.deviation[k], 1e-4)) and fit.deviation[k] < 3e-4


def test_commands_act_at_their_own_stamps() -> None:
    """Stamps of 50 Hz that scatter by a tenth of a row: the log is resampled, its commands are not."""
    planted, rng = Campaign(ARM.with_parameters(BODIES), command=Command(**GAINS)), np.random.default_rng(3)
    rows = 20 * np.arange(150) + rng.integers(-2, 3, 150)  # ms
    rows -= rows[0]
    u = commands(rows / 1000, 1)
    held = u[np.searchsorted(rows, np.arange(rows[-1] + 1), side="right") - 1]
    plain = LoopLog("plant", None, 1e-3, 0 * held, held, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
    model = loop_model(planted, 0.02)
    motion = simulated(model, theta_of(model), plain, 4, slopes=False)
    assert motion is not None
    log = loop_log(planted, Log(Recording(t=rows / 1000, q=motion.q[rows], channels={"command": u})))
    assert len({round(step, 6) for step in np.diff(log.recording.t)}) == 1 and log.logged is not None
    fit = output_error(model, [log])
    assert fit.theta[model.names.index("delay")] == pytest.approx(0.0075, abs=1e-4)
    later, first = log.part(40, 150), 40 * log.period
    assert later.given.u[0] == pytest.approx(u[np.searchsorted(rows / 1000, first, side="right") - 1])


@pytest.mark.parametrize("linear", [False, True])
def test_means_of_commands_are_those_between_their_stamps(linear: bool) -> None:
    t, u = np.array([0.0, 0.9, 2.3, 2.4, 4.0]), np.array([[1.0], [3.0], [-1.0], [2.0], [0.5]])
    held, edges = HeldCommand(u, t, linear), np.array([-0.5, 0.4, 1.1, 2.35, 3.2, 4.7])
    mean, slope = held.means(edges)
    fine = np.linspace(edges[:-1], edges[1:], 20001).T
    last = np.clip(np.searchsorted(t, fine, side="right") - 1, 0, None)
    wanted = np.interp(fine, t, u[:, 0]) if linear else u[last, 0]
    assert mean[:, 0] == pytest.approx(wanted.mean(axis=1), abs=1e-3)
    later = [held.means(edges - way)[0] for way in (1e-6, -1e-6)]
    assert slope == pytest.approx((later[0] - later[1]) / 2e-6, abs=1e-5)


def test_a_negative_delay_says_what_to_set() -> None:
    """Positions that were read after the command of their row, and are taken as read before."""
    robot = ARM.with_parameters(BODIES)
    log = recorded(Campaign(robot, command=Command(**GAINS, delay=0.0)), rate=100.0)
    late = replace(log, t=log.t[:-1], q=log.q[1:], channels={"command": log.channels["command"][:-1]})
    asked = Campaign(robot, train=(late,), command=Command(**GAINS), effects=("rotor", "viscous", "coulomb"))
    result = minertia.identify(asked)
    (told,) = [reason for reason in result.verdict.reasons if "the fitted delay is" in reason]
    assert "is -10 +- " in told and "command_when in [columns]" in told
    assert "the command acts 10 ms before its row" in result.problem.sections(result.estimate)[1].sentences[0]


def test_a_value_that_cannot_be_negative_has_no_interval_below_zero() -> None:
    robot = ARM.with_parameters(BODIES)
    log = recorded(Campaign(robot, command=Command(**GAINS, delay=0.0)), rate=100.0)
    effects = ("rotor", "viscous", "coulomb", "load_coulomb", "offset")  # no friction by load was planted
    found = minertia.identify(Campaign(robot, train=(log,), command=Command(**GAINS, delay=0.0), effects=effects))
    for p in found.parameters:
        assert p.name.startswith("OFF") or p.interval[0] >= 0.0
        assert p.interval[1] - p.value == pytest.approx(1.96 * p.deviation, rel=1e-3)
    assert any(p.interval[0] == 0.0 < p.value + p.deviation for p in found.parameters)


@pytest.mark.parametrize("ripple", [0.0, 1e-12])
def test_a_joint_that_stands_where_it_was_told_has_no_rows_in_the_law(ripple: float) -> None:
    """Its servo has no error to act on: divided by it, or by rounding errors, its rows would be all that counts."""
    known = Campaign(ARM.with_parameters(BODIES), command=Command(**GAINS, delay=0.0075))
    log, campaign, still = recorded(known), replace(known, command=Command()), np.full(700, 0.3)
    q = np.stack([log.q[:, 0], still + ripple * np.random.default_rng(0).normal(size=700)], axis=1)
    u = np.stack([log.channels["command"][:, 0], still], axis=1)
    model = loop_model(campaign, 0.005)
    found = law_fit(model, [made_log(campaign, "log", replace(log, q=q, channels={"command": u}))])
    assert found is not None  # and numpy has warned of nothing
    values = dict(zip(model.names, found, strict=True))
    assert values["KP1"] > 0 and all(value == 0 for name, value in values.items() if name.endswith("2"))


def test_a_first_step_removes_nothing_of_a_joint_whose_rows_are_left_out() -> None:
    campaign = Campaign(ARM.with_parameters(BODIES), command=Command(**GAINS, delay=0.0075))
    log = made_log(campaign, "log", recorded(campaign))
    log = replace(log, pushed=np.stack([np.zeros(len(log.q), bool), np.ones(len(log.q), bool)], axis=1))
    model = loop_model(campaign, 0.005)
    found = probed(model, [log], 1.1 * theta_of(model), [5])
    assert found is not None  # and numpy has warned of nothing
    assert found[2][1] == 0.0 < found[2][0] and np.isfinite(found[1][model.names.index("FV1")])


def test_what_check_says_of_links_is_a_reason_of_the_verdict_on_commands() -> None:
    far = {**BODIES, "MX2": 100.0, "YY2": 10000.28, "ZZ2": 10000.3}
    campaign = Campaign(ARM.with_parameters(far), command=Command(**GAINS, delay=0.0075), effects=("coulomb",))
    told = {f"{note.where}: {note.text}" for note in check_robot(campaign.robot)}
    log = made_log(campaign, "log", recorded(replace(campaign, robot=ARM.with_parameters(BODIES), effects=None)))
    fit = output_error(loop_model(campaign, 0.005), [log], steps=[5], iterate=False)
    assert told and told <= set(evidence_beside(fit, [log], [], None, {}).remarks)


def test_a_constant_command_shows_no_delay() -> None:
    robot = ARM.with_parameters(BODIES)
    campaign = Campaign(robot, command=Command(**GAINS), effects=("coulomb",), fix={"FC1": 2.0, "FC2": 1.0})
    t = np.arange(400) / 200
    u = np.full((400, 2), 0.3)
    model = loop_model(replace(campaign, effects=("viscous",), fix={}), 0.005)
    zeros = np.zeros((400, 2))
    plain = LoopLog("plant", None, 0.005, zeros, u, None, zeros[0], zeros[0], 0.0, 0)  # type: ignore[arg-type]
    found = simulated(model, np.array([1.0, 0.5, 0.0]), plain, 40, slopes=False)
    assert found is not None
    log = made_log(campaign, "log", Recording(t=t, q=found.q, channels={"command": u}))
    fit = output_error(model, [log])
    assert "delay" in fit.hidden and np.isinf(fit.deviation[model.names.index("delay")])
    assert fit.theta[:2] == pytest.approx([1.0, 0.5], rel=0.01)


def test_a_copy_of_a_log_of_commands_counts_once() -> None:
    """As of logs of efforts: a copy would narrow the intervals, or validate a fit on what it was fitted to."""
    t, campaign = np.arange(200) / 100, Campaign(ARM, command=Command(**GAINS), links="physical")
    log = Recording(t=t, q=commands(t - 0.02, 0), channels={"command": commands(t, 0)})
    copy, other = (Log(replace(log, source=name, q=log.q + more)) for name, more in (("copy", 0.0), ("other", 1e-4)))
    first = Log(log)
    for two, what in (((first, copy), ()), "fit a log once"), (((first,), (copy,)), "cannot validate the fit"):
        with pytest.raises(MinertiaError, match=f"same samples as .*{what}"):
            CommandProblem.build(replace(campaign, train=two[0], validate=two[1]), lambda told: None)
    assert len(CommandProblem.build(replace(campaign, train=(first, other)), lambda told: None).logs) == 2


def test_a_command_that_is_not_a_number_is_named(tmp_path: Path) -> None:
    t = np.arange(200) / 100
    table = np.hstack([t[:, None], commands(t - 0.02, 0), commands(t, 0)])
    table[50, 4] = np.nan
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header="t,q1,q2,q_cmd1,q_cmd2", comments="")
    campaign = Campaign(ARM, tmp_path / "run.csv", command=Command(**GAINS), links="physical")
    with pytest.raises(MinertiaError, match=r"run.csv, column 'q_cmd2', row 51: this is not a number"):
        CommandProblem.build(campaign, lambda told: None)


def test_a_campaign_file_takes_the_path_by_itself(tmp_path: Path) -> None:
    planted = Campaign(ARM, command=Command(**GAINS), links="physical")
    log = recorded(planted)
    table = np.column_stack([log.t, log.q, log.channels["command"]])
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header="t,q1,q2,q_ref1,q_ref2", comments="")
    (tmp_path / "campaign.toml").write_text(
        'format = 1\nrobot = "planar2r"\ngravity = [0, -9.81, 0]\n[logs]\ntrain = ["run.csv"]\n'
        '[command]\nkp = [150, 80]\nkd = [8, 4]\ndelay = "?"\n[model]\nlinks = "physical"\n'
    )
    result = minertia.identify(read_campaign(tmp_path / "campaign.toml"))
    assert isinstance(result.problem, CommandProblem) and "commands and no efforts" in " ".join(result.estimate.notes)
    assert result.estimate.value("MX2") == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("template", ["target_q_{j0}", "q{j}_cmd", "q{j0}_des"])
def test_a_new_campaign_is_one_of_commands_where_there_are_no_efforts(tmp_path: Path, template: str) -> None:
    log = recorded(Campaign(ARM, command=Command(**GAINS), links="physical"), seconds=1.0)
    table = np.column_stack([log.t, log.q, log.channels["command"]])
    header = ",".join(["t", "q1", "q2", *(template.format(j=j + 1, j0=j) for j in range(2))])
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=header, comments="")
    text = minertia.draft_campaign("planar2r", [tmp_path / "run.csv"])
    (tmp_path / "campaign.toml").write_text(text)
    campaign = read_campaign(tmp_path / "campaign.toml")
    assert campaign.command == Command() and campaign.links == "physical"
    assert campaign.map.command == template and "[filter]" not in text


@pytest.mark.parametrize(
    ("command", "links", "said"),
    [
        (Command(kp="?", reference="gains"), "physical", "give a gain"),
        (Command(kp="?", reference="links"), "physical", 'links = "robot"'),
        (Command(**GAINS), "robot", "no masses to keep"),
        (Command(kp=(1.0, 2.0, 3.0)), "physical", "3 values"),
    ],
)
def test_what_cannot_be_fitted_is_said(command: Command, links: str, said: str) -> None:
    with pytest.raises(MinertiaError, match=said):
        loop_model(Campaign(ARM, command=command, links=links), 0.005)


def test_what_would_have_no_effect_is_refused() -> None:
    log = Recording(t=np.arange(100) / 100, q=np.zeros((100, 2)), channels={"command": np.zeros((100, 2))})
    campaign = Campaign(ARM, (log,), command=Command(**GAINS), links="physical")
    with pytest.raises(MinertiaError, match="does not fit commands"):
        minertia.identify(replace(campaign, estimator="ridge"))
    with pytest.raises(MinertiaError, match="cannot validate the fit"):
        minertia.identify(replace(campaign, validate=(log,)))


def test_positions_that_cannot_be_radians_are_refused() -> None:
    t = np.arange(400) / 100
    u = 80 * np.sin(t[:, None] + [0.0, 1.0])
    campaign = Campaign(
        ARM, (Recording(t=t, q=u, channels={"command": u}),), command=Command(**GAINS), links="physical"
    )
    with pytest.raises(MinertiaError, match=r'turns; check whether they are in degrees \(if so, set angle = "deg"'):
        minertia.identify(campaign)


@pytest.mark.parametrize(
    "wrong",
    [{"law": "pdf"}, {"kp": 0.0}, {"kp": "high"}, {"kd": -1.0}, {"delay": 5.0}, {"ki": 1.0}, {"hold": "cubic"},
     {"law": "p", "kd": 1.0}, {"limit": "?"}, {"delay": -0.1, "delay_of": "effort"}],
)  # fmt: skip
def test_commands_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(MinertiaError):
        Command(**wrong)  # type: ignore[arg-type]


def test_an_audit_says_what_the_commands_are_like() -> None:
    t = np.arange(2000) / 200
    u = np.column_stack([np.repeat(np.sin(np.arange(400) / 20), 5), np.full(2000, 0.3)])
    q = np.vstack([np.repeat(u[:1], 10, axis=0), u[:-10]])
    told = {f.check: f for f in minertia.audit(Recording(t=t, q=q, channels={"command": u}))}
    assert told["held command"].channel == "command1" and "5.0 rows" in told["held command"].text
    assert told["constant command"].channel == "command2"
    assert "50 ms" in told["lag"].text


def test_wrong_zeros_are_found_where_gravity_shows_them() -> None:
    robot = ARM.with_parameters(BODIES)
    planted = Campaign(robot, command=Command(**GAINS, delay=0.0075, zeros=(0.1, -0.2)))
    asked = replace(planted, effects=("rotor", "viscous", "coulomb"), command=Command(**GAINS, delay=0.0075, zeros="?"))
    truth = replace(planted, effects=asked.effects)
    fit = output_error(loop_model(asked, 0.005), [made_log(asked, "log", recorded(truth))])
    found = dict(zip(fit.model.names, fit.theta, strict=True))
    assert found["ZERO1"] == pytest.approx(0.1, abs=0.01) and found["ZERO2"] == pytest.approx(-0.2, abs=0.01)


@pytest.mark.slow
@needs_shared
def test_a_real_quadruped_is_explained_and_predicted() -> None:
    robot = read_robot(SHARED / "robots" / "go2.mjcf.xml", base="fixed")
    file = SHARED / "data" / "go2_iit" / "go2_middle.csv.gz"
    campaign = Campaign(robot, f"{file}[:14]", f"{file}[14:]", command=Command(kp=20.0, kd=1.5))
    result = minertia.identify(campaign)
    assert result.verdict.is_good and result.training.relative < 0.065 and result.validation[0].relative < 0.056


@pytest.mark.slow
def test_friction_alone_is_a_rival_on_unseen_logs() -> None:
    """A file whose masses are right and that has no rotors: what fits friction alone leaves the rotors' part."""
    robot = ARM.with_parameters({name: value for name, value in BODIES.items()})
    planted = Campaign(robot, command=Command(**GAINS, delay=0.0075), links="robot")
    logs = [recorded(planted, seed=seed) for seed in (0, 1)]
    result = minertia.identify(replace(planted, train=logs[:1], validate=logs[1:]))
    assert isinstance(result.problem, CommandProblem) and result.verdict.is_good, result.verdict.reasons
    own, friction = result.validation[0].relative, result.evidence.rivals[FRICTION][0].relative
    file = result.evidence.rivals[FILE][0].relative
    assert own < 0.2 * friction < 0.2 * file
    assert any(f"better than {FRICTION}" in reason for reason in result.verdict.reasons)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [4.0, 8.0])
def test_a_known_load_in_one_log_fixes_the_scale(seconds: float) -> None:
    """Gains and masses unknown: with 1.2 kg on the hand in one of two logs all of them come back."""
    load = Load(1.2, com=(0.3, 0.0, 0.0), inertia=(0.01, 0.0, 0.0, 0.02, 0.0, 0.02))
    planted = Campaign(ARM, command=Command(**GAINS, delay=0.0075), links="physical")
    base = {name: TRUE[name] for name in ("ZZR1", "MXR1", "ZZ2", "MX2")}
    more = {"ZZ2": 1.2 * 0.09 + 0.02, "MX2": 1.2 * 0.3, "MXR1": 1.2 * ARM_LENGTH, "ZZR1": 1.2 * ARM_LENGTH**2}
    empty = recorded(planted, seed=0, seconds=seconds)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in more.items():
            patch.setitem(TRUE, name, base[name] + value)
        loaded = recorded(planted, seed=1, seconds=seconds)
    asked = Command(kp="?", kd="?", delay=0.0075, reference="load")
    campaign = replace(planted, command=asked, train=(Log(empty), Log(loaded, load=load)))
    result = minertia.identify(campaign)
    assert isinstance(result.problem, CommandProblem)
    assert any("the payload that you gave" in reason for reason in result.verdict.reasons)
    for name in ("KP1", "KP2", "MX2", "MXR1", "FC2"):
        assert result.estimate.value(name) == pytest.approx(TRUE[name], rel=0.01), name


def test_a_load_as_reference_is_refused_where_it_fixes_nothing() -> None:
    log = recorded(Campaign(ARM, command=Command(**GAINS), links="physical"), seconds=1.0)
    campaign = Campaign(ARM, (log,), command=Command(kp="?", reference="load"), links="physical")
    with pytest.raises(MinertiaError, match="needs a training log with a known"):
        minertia.identify(campaign)
    robot = ARM.with_parameters(BODIES)
    with pytest.raises(MinertiaError, match='links = "physical"'):
        minertia.identify(replace(campaign, robot=robot, links="robot", train=(Log(log, load=Load(1.0)),)))


def test_what_is_left_open_is_listed_with_all_that_was_tried() -> None:
    """Gains, offsets and effects that nobody gave: each option with its gain, or why it was not fitted."""
    robot = ARM.with_parameters(BODIES)
    log = recorded(Campaign(robot, command=Command(**GAINS, delay=0.0075)), rate=100.0)
    result = minertia.identify(Campaign(robot, train=(log,), command=Command(delay=0.0075)))
    choices = result.to_dict()["choices"]
    assert [(c["choice"], c["option"].split(" at ")[0]) for c in choices] == [
        ("gains and offsets", "one kp for all servos"), ("gains and offsets", "no offsets"), ("ground contact", "j2"),
        ("effects", "position_coulomb"), ("effects", "load_coulomb"),
    ]  # fmt: skip
    assert all(c["selected"] or c["reason"] for c in choices)
    section = result.problem.sections(result.estimate)[-1]
    assert section.title == "Automatic choices" and section.is_detail and len(section.rows) == len(choices)
