"""A rigid fit says which joints are elastic, from two encoders or from one, and says it of no rigid joint."""

from __future__ import annotations

from dataclasses import replace

import pytest

import minertia
from minertia import read_robot
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command, ElasticJoints
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.elasticity import elasticity_notes
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.logs import made_log
from minertia.identification.logs.recording import Recording
from tests.identification.sprung import one_side, sprung_log
from tests.identification.test_elastic import CAMPAIGN, PLANTED

FEW_AND_MORE = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
RIGID = replace(CAMPAIGN, elastic=ElasticJoints())


def said(campaign: Campaign, log: Recording) -> tuple[str, ...]:
    """What a rigid fit says of elastic joints."""
    rigid = replace(campaign, elastic=ElasticJoints())
    made = made_log(rigid, "log", log)
    fit = output_error(loop_model(rigid, made.period), [made])
    return elasticity_notes(rigid, fit, [made])


def named(notes: tuple[str, ...]) -> list[str]:
    return [note.split("joint ")[1].split(" ")[0].strip(":") for note in notes]


NAMED = [
    pytest.param(side, joint, marks=() if (k + joint) % 2 else pytest.mark.slow)
    for k, side in enumerate(("motor", "link", "both"))
    for joint in (2, 1)
]


@pytest.mark.parametrize(("side", "joint"), NAMED)
def test_the_joint_that_is_elastic_is_named(side: str, joint: int) -> None:
    campaign = replace(CAMPAIGN, elastic=ElasticJoints(joints=(joint,)))
    log = sprung_log(campaign, PLANTED, seed=joint)
    notes = said(campaign, log if side == "both" else one_side(log, side))
    assert named(notes) == [f"j{joint}"]
    assert "spring between motor proportional to the effort" in notes[0] or "proportional to the effort" in notes[0]


def test_the_verdict_of_a_rigid_fit_says_that_something_is_missing() -> None:
    logs = [sprung_log(CAMPAIGN, PLANTED, seed=seed, seconds=3.0) for seed in (0, 1)]
    rigid = minertia.identify(replace(RIGID, train=logs[:1], validate=logs[1:]))
    assert "a rigid fit does not model" in " ".join(rigid.verdict.reasons)


@pytest.mark.parametrize("seed", FEW_AND_MORE)
def test_a_rigid_robot_is_not_called_elastic(seed: int) -> None:
    log = sprung_log(RIGID, PLANTED, seed=seed)
    assert said(RIGID, log) == () and said(RIGID, one_side(log, "motor")) == ()


OTHERWISE = {
    "no Coulomb friction": replace(RIGID, effects=("rotor", "viscous", "offset")),
    "gains and delay": replace(RIGID, command=replace(RIGID.command, kp=(140.0, 85.0), delay=0.004)),
    "gains": replace(RIGID, command=replace(RIGID.command, kp=(135.0, 72.0))),
    "delay": replace(RIGID, command=replace(RIGID.command, delay=0.003)),
}
BOTH = ("no Coulomb friction", "gains and delay")  # a fault of the model, and the two of the law at once


@pytest.mark.parametrize(
    "wrong",
    [pytest.param(wrong, id=name, marks=() if name in BOTH else pytest.mark.slow) for name, wrong in OTHERWISE.items()],
)
@pytest.mark.parametrize("seed", FEW_AND_MORE)
def test_other_faults_of_a_rigid_fit_are_no_springs(wrong: Campaign, seed: int) -> None:
    assert said(wrong, one_side(sprung_log(RIGID, PLANTED, seed=seed), "motor")) == ()


def puma(joints: tuple[int, ...] = (2, 3)) -> tuple[Campaign, dict[str, float]]:
    """A PUMA 560 with usual drives and two elastic joints."""
    robot = read_robot("puma560")
    gains = {"kp": (2000.0, 2500.0, 1200.0, 150.0, 150.0, 100.0), "kd": (150.0, 200.0, 80.0, 6.0, 6.0, 4.0)}
    campaign = Campaign(robot, command=Command(**gains, delay=0.0), elastic=ElasticJoints(joints=joints))
    usual = {"IA": (1.2, 3.0, 0.9, 0.2, 0.18, 0.19), "FV": (5.0, 6.0, 3.0, 0.5, 0.5, 0.4),
             "FC": (6.0, 8.0, 4.0, 0.6, 0.6, 0.5)}  # fmt: skip
    planted = {f"{symbol}{j + 1}": value for symbol, row in usual.items() for j, value in enumerate(row)}
    return campaign, planted | {"CJ2": 1 / 20000, "CJ3": 1 / 5000, "DJ2": 40.0, "DJ3": 10.0}


@pytest.mark.slow
@pytest.mark.parametrize(("side", "seed"), [("motor", 0), ("link", 1), ("both", 0)])
def test_two_elastic_joints_of_a_puma_are_named_and_found(side: str, seed: int) -> None:
    campaign, planted = puma()
    log = sprung_log(campaign, planted, seed=seed, seconds=6.0, noise=5e-5)
    log = log if side == "both" else one_side(log, side)
    assert named(said(campaign, log)) == ["j2", "j3"]
    asked = replace(campaign, elastic=replace(campaign.elastic, encoder=side))
    fit = output_error(loop_model(asked, 0.004), [made_log(asked, "log", log)])
    found = dict(zip(fit.model.names, fit.theta, strict=True))
    assert found["CJ2"] == pytest.approx(1 / 20000, rel=0.02) and found["CJ3"] == pytest.approx(1 / 5000, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_rigid_puma_is_not_called_elastic(seed: int) -> None:
    campaign, planted = puma()
    rigid = replace(campaign, elastic=ElasticJoints())
    log = sprung_log(rigid, planted, seed=seed, seconds=6.0, noise=5e-5)
    assert said(rigid, log) == () and said(rigid, one_side(log, "motor")) == ()
