"""Programs of elastic joints: mixed with rigid ones, against the simulated loop, and compiled with their self-test."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia import Robot, generate, read_robot
from minertia.codegen.programs import build
from minertia.codegen.rollout.kernel import LoopKernel
from minertia.codegen.rollout.task import LoopCommand, Rollout, Springs
from minertia.codegen.setting import Setting
from minertia.codegen.targets.selftest import reference
from minertia.io.errors import MinertiaError
from minertia.options import CodeModel
from minertia.robot.joint import Elastic
from tests.codegen.compiled import COMPILERS
from tests.codegen.kernel_helpers import at_rest
from tests.codegen.test_rollout import effects_at
from tests.identification.test_elastic import ROBOT

NAMES = ("elastic_forward_dynamics", "elastic_inverse_dynamics")


def sprung(robot: Robot, *joints: int) -> Robot:
    own = [replace(x, elastic=Elastic(1000.0, 1.0) if j in joints else None) for j, x in enumerate(robot.joints)]
    return replace(robot, joints=tuple(own))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("parameters", ["baked", "base"])
def test_elastic_and_rigid_joints_side_by_side(name: str, parameters: str) -> None:
    setting = Setting(sprung(read_robot("puma560_physical"), 0, 2), parameters, rotors=False)
    program = build(setting, name)
    inputs, wanted = reference(setting, program, seed=2)
    found = program.evaluate(**inputs)
    for port in program.ports:
        size = max(1.0, float(np.abs(wanted[port.name]).max()))
        assert np.abs(found[port.name] - wanted[port.name]).max() < 1e-8 * size, port.name


def test_rotors_behind_springs_are_no_part_of_the_links() -> None:
    with pytest.raises(MinertiaError, match="--no-rotors"):
        build(Setting(sprung(read_robot("puma560"), 1), rotors=True), NAMES[0])


def test_a_small_step_of_the_simulated_loop_has_these_accelerations() -> None:
    robot = sprung(ROBOT, 0, 1)
    setting = Setting(robot, "baked", rotors=False, friction=False)
    program = build(setting, NAMES[0])
    rng = np.random.default_rng(4)
    q0, v0, u = rng.uniform(-0.5, 0.5, 4), rng.uniform(-1, 1, 4), rng.uniform(-0.5, 0.5, 4)
    q0[2:] = q0[:2] + rng.uniform(-0.01, 0.01, 2)
    rotor, kp, stiffness, damping = np.array([0.2, 0.1]), np.array([90.0, 50.0]), np.array([900.0, 400.0]), np.ones(2)
    values = replace(
        at_rest(4), effects=rotor, kp=np.append([0.0, 0.0], kp),
        springs=Springs((0, 1), (2, 3), 1 / stiffness, damping, np.zeros(2)),
    )  # fmt: skip
    h = 1e-5
    task = Rollout(values, LoopCommand(np.tile(u, (2, 1)), np.zeros((2, 4))), h, 1, q0, v0)
    moved = LoopKernel(robot, (0, 1), motors=2, effects=effects_at(("IA",), (2, 3))).run(task)
    assert moved is not None
    change = (moved[0][2] - 2 * moved[0][1] + moved[0][0]) / h**2
    given = {"q": q0[:2], "qd": v0[:2], "motor": q0[2:], "motor_rate": v0[2:], "tau": kp * (u - q0)[2:],
             "stiffness": stiffness, "damping": damping, "rotor": rotor}  # fmt: skip
    found = program.evaluate(**{port.name: given[port.name][None] for port in program.inputs})
    wanted = np.append(found["qdd"][0], found["motor_acceleration"][0])
    assert np.abs(change - wanted).max() < 2e-3 * np.abs(wanted).max()


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_the_written_code_passes_its_own_test(tmp_path: Path) -> None:
    generate(sprung(ROBOT, 0, 1), tmp_path / "code", programs=NAMES, model=CodeModel("baked", rotors=False))
    done = subprocess.run(["make", "-s", "test"], cwd=tmp_path / "code", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
