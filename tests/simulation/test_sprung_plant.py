"""Elastic joints planted in MuJoCo: springs come back, and a rigid fit says that they are missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia
from minertia import Robot, read_robot
from minertia.excitation.limits import motion_limits
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command, ElasticJoints
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording
from minertia.robot.joint import Elastic
from minertia.simulation.options import RehearsalOptions
from minertia.simulation.rehearsal import rehearse
from minertia.simulation.sprung_plant import SprungPlant, loop_gains, planted, rehearse_springs
from tests.identification.sprung import waves
from tests.identification.test_elastic import ROBOT

pytest.importorskip("mujoco")
EFFECTS = {"IA1": 0.2, "IA2": 0.1, "FV1": 1.0, "FV2": 0.5, "FC1": 1.0, "FC2": 0.5, "OFF1": 0.4, "OFF2": -0.3}


def sprung(robot: Robot, springs: dict[int, Elastic]) -> Robot:
    joints = [replace(joint, elastic=springs.get(j)) for j, joint in enumerate(robot.joints)]
    return replace(robot, joints=tuple(joints))


ARM = sprung(ROBOT.with_parameters(EFFECTS), {0: Elastic(3000.0, 3.0), 1: Elastic(800.0, 1.0)})


def test_both_engines_move_an_elastic_arm_alike() -> None:
    kp, kd = loop_gains(ARM)
    t = np.arange(0.0, 1.5, 0.004)
    u = waves(t, 2, 3)
    frictionless = ARM.with_parameters({"FC1": 0.0, "FC2": 0.0})
    q, motor = SprungPlant(frictionless, kp, kd).run(u)
    command = Command(kp=tuple(kp), kd=tuple(kd), delay=0.0)
    campaign = Campaign(frictionless, command=command, elastic=ElasticJoints(encoder="both"))
    model = loop_model(campaign, 0.004)
    values = dict(frictionless.effect_values) | {"CJ1": 1 / 3000, "CJ2": 1 / 800, "DJ1": 3.0, "DJ2": 1.0}
    theta = np.array([values.get(name, 0.0) for name in model.names])
    start = np.tile(u[0], 2)
    log = LoopLog("plant", None, 0.004, np.zeros((len(t), 4)), u, None, start, 0 * start, 0.0, 0, layout=model.layout)  # type: ignore[arg-type]
    found = simulated(model, theta, log, 80, slopes=False)
    assert found is not None and np.abs(q - motor).max() > 3e-3
    assert np.abs(found.q - np.hstack([q, motor])).max() < 2e-5


def test_two_springs_come_back_and_a_rigid_fit_misses_them() -> None:
    t = np.arange(0.0, 4.0, 0.004)
    found = rehearse_springs(ARM, [waves(t, 2, seed) for seed in (0, 1)], 0.004, np.full(2, 1e-4))
    assert found.is_good and all(abs(s.error) < 0.02 for s in found.springs)
    assert all(abs(s.found - s.stiffness) < 6 * s.deviation for s in found.springs)
    assert len(found.rigid) == 2 and "elastic" in found.rigid[0]


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2, 3))])
def test_a_rigid_arm_is_not_called_elastic(seed: int) -> None:
    rigid = ROBOT.with_parameters(EFFECTS)
    kp, kd = loop_gains(rigid)
    t, rng = np.arange(0.0, 4.0, 0.004), np.random.default_rng(seed)
    u = waves(t, 2, seed)
    q, motor = (x + rng.uniform(-5e-5, 5e-5, x.shape) for x in SprungPlant(rigid, kp, kd).run(u))
    command = Command(kp=tuple(kp), kd=tuple(kd), delay=0.0)
    for channels in ({"command": u, "motor": motor}, {"command": u}):
        found = minertia.identify(Campaign(rigid, Recording(t=t, q=q, channels=channels), command=command))
        assert not any("elastic" in reason for reason in found.verdict.reasons), found.verdict.reasons


def test_what_a_file_leaves_open_is_planted_all_the_same() -> None:
    found = planted(sprung(ROBOT, {1: Elastic()})).elastic[1]
    assert found.stiffness is not None and found.stiffness > 1 and found.damping is not None and found.damping > 0


@pytest.mark.slow
def test_a_rehearsal_plants_two_elastic_joints(tmp_path: Path) -> None:
    puma = sprung(read_robot("puma560_physical"), {1: Elastic(20000.0, 40.0), 2: Elastic(5000.0)})
    limits = motion_limits(puma, velocity=1.5, acceleration=4.0)
    options = RehearsalOptions(duration=8.0, rate=500.0)
    found = rehearse(puma, options, limits=limits, out=tmp_path / "out", with_control=False)
    assert found.springs is not None and all(abs(s.error) < 0.05 for s in found.springs.springs)
    assert len(found.springs.rigid) == 2 and found.to_dict()["springs"]["good"]
    assert any(step.name == "elastic joints" for step in found.steps)
