"""Elastic joints: planted stiffness and damping come back from two encoders and from one, and files hold them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia
from minertia import read_robot
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command, ElasticJoints
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.logs import made_log
from minertia.identification.closed_loop.problem import CommandProblem
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.closed_loop.springs import with_springs
from minertia.identification.logs.recording import Recording
from minertia.io.errors import MinertiaError
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.joint import Elastic
from tests.identification.sprung import one_side, sprung_log
from tests.identification.test_commands import ARM, BODIES, GAINS, TRUE

ROBOT = ARM.with_parameters(BODIES)
PLANTED = {name: value for name, value in TRUE.items() if name != "delay"} | {
    "CJ1": 1 / 1500, "CJ2": 1 / 600, "DJ1": 2.0, "DJ2": 1.0, "RJ1": 0.0, "RJ2": 0.0,
}  # fmt: skip
CAMPAIGN = Campaign(ROBOT, command=Command(**GAINS, delay=0.0), elastic=ElasticJoints(joints=(1, 2)))


def fitted(campaign: Campaign, log: Recording) -> LoopFit:
    return output_error(loop_model(campaign, 0.004), [made_log(campaign, "log", log)])


def stiffness(fit: LoopFit) -> dict[str, float]:
    found = dict(zip(fit.model.names, fit.theta, strict=True))
    return {name: 1 / value for name, value in found.items() if name.startswith("CJ")}


SIDES = [
    pytest.param(encoder, feedback, marks=[] if encoder == feedback == "motor" else pytest.mark.slow)
    for encoder in ("both", "motor", "link")
    for feedback in ("motor", "link")
]


@pytest.mark.parametrize(("encoder", "feedback"), SIDES)
def test_planted_stiffness_comes_back(encoder: str, feedback: str) -> None:
    campaign = replace(CAMPAIGN, elastic=ElasticJoints(joints=(1, 2), encoder=encoder, feedback=feedback))
    log = sprung_log(campaign, PLANTED)
    fit = fitted(campaign, log if encoder == "both" else one_side(log, encoder))
    found = stiffness(fit)
    assert found["CJ1"] == pytest.approx(1500, rel=0.01) and found["CJ2"] == pytest.approx(600, rel=0.01)
    for name, value, deviation in zip(fit.model.names, fit.theta, fit.deviation, strict=True):
        assert abs(value - PLANTED[name]) < 6 * deviation + 0.02 * abs(PLANTED[name]), name
    assert np.all(fit.sigma < 2.5e-4)  # of 1e-4; one side alone leaves friction that sticks a little wrong


def test_coarse_derivatives_do_not_end_a_fit_before_the_optimum() -> None:
    campaign = replace(CAMPAIGN, elastic=replace(CAMPAIGN.elastic, encoder="both", feedback="link"))
    assert np.all(fitted(campaign, sprung_log(campaign, PLANTED, seed=3)).sigma < 1.1e-4)  # of 1e-4


def test_zeros_of_two_encoders_may_differ() -> None:
    log = sprung_log(CAMPAIGN, PLANTED | {"RJ1": 0.003, "RJ2": -0.02})
    fit = fitted(replace(CAMPAIGN, elastic=replace(CAMPAIGN.elastic, encoder="both")), log)
    found = dict(zip(fit.model.names, fit.theta, strict=True))
    assert found["RJ1"] == pytest.approx(0.003, abs=2e-4) and found["RJ2"] == pytest.approx(-0.02, abs=2e-4)
    assert stiffness(fit)["CJ1"] == pytest.approx(1500, rel=0.01)


def test_links_rotors_and_springs_are_found_together(tmp_path: Path) -> None:
    planted = replace(CAMPAIGN, robot=ARM, links="physical")
    logs = [sprung_log(planted, PLANTED, seed=seed) for seed in (0, 1)]
    result = minertia.identify(replace(planted, train=logs[:1], validate=logs[1:]))
    assert isinstance(result.problem, CommandProblem) and result.verdict.is_good, result.verdict.reasons
    found = {p.name: p for p in result.parameters}
    wanted = PLANTED | {"KJ1": 1500.0, "KJ2": 600.0}
    for name, p in found.items():
        assert abs(p.value - wanted[name]) < 6 * p.deviation + 0.01 * abs(wanted[name]), name
    assert found["KJ1"].interval[0] < found["KJ1"].value < found["KJ1"].interval[1]
    assert found["IA1"].value == pytest.approx(0.2, rel=0.05)  # a rigid joint's is one with its link
    model = result.model()
    assert model.robot.elastic[1].stiffness == pytest.approx(600, rel=0.01)
    model.save(tmp_path / "model.toml")
    again = minertia.validate(tmp_path / "model.toml", logs[1])
    assert again[0].relative == pytest.approx(result.validation[0].relative, rel=0.2)


def test_a_known_stiffness_is_held() -> None:
    campaign = replace(CAMPAIGN, fix={"KJ1": 1500.0, "DJ1": 2.0}, elastic=replace(CAMPAIGN.elastic, encoder="both"))
    model = loop_model(campaign, 0.004)
    assert "CJ1" not in model.names and "CJ2" in model.names
    assert model.atom_values(np.zeros(model.count))[model.index("cj", 0)] == pytest.approx(1 / 1500)


def test_a_robot_file_says_which_joints_are_elastic(tmp_path: Path) -> None:
    joints = list(ROBOT.joints)
    joints[1] = replace(joints[1], elastic=Elastic(800.0))
    robot = replace(ROBOT, joints=tuple(joints))
    text = toml_text(robot)
    assert text.startswith("format = 4") and 'damping = "?"' in text
    file = tmp_path / "arm.toml"
    file.write_text(text)
    again = read_robot(file)
    assert again.elastic == {1: Elastic(800.0, None)} and again.joints[0].elastic is None
    assert toml_text(ROBOT).startswith("format = 1")
    for wrong in ("stiffness = 0", "stiffness = -1", "damping = -1", "elasticity = 1", 'stiffness = "soft"'):
        file.write_text(text.replace("stiffness = 800.0", wrong))
        with pytest.raises(MinertiaError):
            read_robot(file)


def test_a_campaign_file_reads_two_encoders_and_gear_ratios(tmp_path: Path) -> None:
    log = sprung_log(CAMPAIGN, PLANTED)
    table = np.column_stack([log.t, log.q, log.channels["motor"] * [50.0, -80.0], log.channels["command"]])
    header = "t,q1,q2,theta1,theta2,q_cmd1,q_cmd2"
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=header, comments="")
    (tmp_path / "arm.toml").write_text(toml_text(ROBOT))
    (tmp_path / "campaign.toml").write_text(
        'format = 1\nrobot = "arm.toml"\n[logs]\ntrain = ["run.csv"]\n[drive]\nratios = [50, -80]\n'
        '[command]\nkp = [150, 80]\nkd = [8, 4]\ndelay = 0\n[elastic]\njoints = ["j1", "j2"]\nstiffness = [1000, "?"]\n'
    )
    campaign = read_campaign(tmp_path / "campaign.toml")
    assert campaign.elastic == ElasticJoints(("j1", "j2"), (1000, "?"))
    result = minertia.identify(campaign)
    found = {p.name: p.value for p in result.parameters}
    assert found["KJ1"] == pytest.approx(1500, rel=0.02) and found["KJ2"] == pytest.approx(600, rel=0.02)
    campaign.save(tmp_path / "again.toml")
    assert read_campaign(tmp_path / "again.toml").elastic == campaign.elastic


@pytest.mark.parametrize(
    ("elastic", "said"),
    [
        (ElasticJoints(joints=(1, 2)), "for the side on which it was measured"),
        (ElasticJoints(joints=(3,), encoder="motor"), "3"),
        (ElasticJoints(joints=("j1", 1), encoder="motor"), "each once"),
        (ElasticJoints(joints=(1, 2), stiffness=(100.0,), encoder="motor"), "2 joints are elastic"),
    ],
)
def test_what_is_missing_is_said(elastic: ElasticJoints, said: str) -> None:
    log = one_side(
        Recording(t=np.arange(200) / 100, q=np.zeros((200, 2)), channels={"command": np.zeros((200, 2))}), "link"
    )
    with pytest.raises(MinertiaError, match=said):
        minertia.identify(replace(CAMPAIGN, train=(log,), elastic=elastic))


def test_two_encoders_are_asked_for_where_the_log_has_one() -> None:
    log = Recording(t=np.arange(200) / 100, q=np.zeros((200, 2)), channels={"command": np.zeros((200, 2))})
    campaign = replace(CAMPAIGN, elastic=replace(CAMPAIGN.elastic, encoder="both"))
    with pytest.raises(MinertiaError, match="one encoder per joint, but two"):
        made_log(campaign, "log", log)


@pytest.mark.parametrize("wrong", [{"stiffness": 0.0}, {"stiffness": "soft"}, {"damping": -1.0}, {"encoder": "none"},
                                   {"feedback": "both"}, {"stiffness": True}])  # fmt: skip
def test_elastic_joints_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(MinertiaError):
        ElasticJoints(**wrong)  # type: ignore[arg-type]


def test_friction_by_load_is_refused_at_an_elastic_joint() -> None:
    campaign = replace(
        CAMPAIGN, effects=("rotor", "viscous", "load_coulomb"), elastic=replace(CAMPAIGN.elastic, encoder="both")
    )
    with pytest.raises(MinertiaError, match="load_coulomb"):
        loop_model(campaign, 0.004)


def test_a_rigid_robot_is_read_as_before() -> None:
    assert (
        read_robot("puma560").elastic == {}
        and loop_model(replace(CAMPAIGN, elastic=ElasticJoints()), 0.01).layout.size == 2
    )


def held_by_intervals(encoder: str, seeds: range) -> np.ndarray:
    """Whether 95 % intervals hold planted stiffness and damping, over logs of one arm."""
    campaign = replace(CAMPAIGN, elastic=replace(CAMPAIGN.elastic, encoder=encoder))
    held = []
    for seed in seeds:
        log = sprung_log(campaign, PLANTED, seed=seed, noise=3e-4)
        fit = fitted(campaign, log if encoder == "both" else one_side(log, encoder))
        for name, value, deviation in zip(fit.model.names, fit.theta, fit.deviation, strict=True):
            if name[:2] in ("CJ", "DJ"):
                held.append(abs(value - PLANTED[name]) < 1.96 * deviation)
    return np.array(held)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["both", "motor"])
def test_intervals_hold_planted_stiffness_and_damping(encoder: str) -> None:
    """Of 40 values at most 4 outside; right intervals of 95 % have more in one of twenty such samples."""
    assert 0.88 <= held_by_intervals(encoder, range(10)).mean() <= 1.0


def test_intervals_hold_a_first_sample() -> None:
    assert held_by_intervals("both", range(2)).sum() >= 6


def test_heavy_rotors_behind_a_late_effort_have_a_start() -> None:
    command = Command(**GAINS, delay=0.02, delay_of="effort")
    campaign = replace(CAMPAIGN, command=command, elastic=replace(CAMPAIGN.elastic, encoder="both"))
    log = sprung_log(campaign, PLANTED | {"IA1": 0.6, "IA2": 1.5}, seconds=4.0)
    model, made = loop_model(campaign, 0.004), made_log(campaign, "log", log)
    begin = with_springs(model, [made], np.full(model.count, 1e-3))[0]  # rotors far too light to be held
    assert simulated(model, begin, made, 2, slopes=False) is not None
    fit = output_error(model, [made], steps=[4])
    found = dict(zip(fit.model.names, fit.theta, strict=True))
    assert 1 / found["CJ1"] == pytest.approx(1500, rel=0.05) and 1 / found["CJ2"] == pytest.approx(600, rel=0.05)
    assert found["IA2"] == pytest.approx(1.5, rel=0.05)
