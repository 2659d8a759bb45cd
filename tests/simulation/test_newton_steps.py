"""Newton steps the USD stages that were written (extra `newton`), as MuJoCo steps the MJCF of the same robot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.robot.formats.mjcf.write import to_mjcf
from minertia.robot.formats.usd.actuators import NewtonActuator
from minertia.robot.formats.usd.write import write_usd
from minertia.robot.joint import Limits

STEP, STEPS = 1e-3, 300
SINGLE = 3e-6  # rad, of positions that Newton computes with 32 bits
KP, KD = 800.0, 60.0  # of servos
DRIVES = {
    "rotors": {"IA": 0.2},
    "viscous friction": {"IA": 0.2, "FV": 1.5},
    "dry friction": {"IA": 0.2, "FV": 1.5, "FC": 0.5},
    "offsets": {"IA": 0.2, "OFF": 0.7},
    "servos": {"IA": 0.2, "FV": 0.5, "OFF": 0.7},
}


def robot_of(drives: str) -> mi.Robot:
    """Arm without limits, whose softness differs between programs."""
    arm = mi.read_robot("puma560_physical").numeric
    joints = tuple(replace(joint, limits=Limits()) for joint in arm.joints)
    return replace(arm, joints=joints, effects=(DRIVES[drives],) * 6)


def in_mujoco(robot: mi.Robot, q: np.ndarray, qd: np.ndarray, kp: float, kd: float) -> np.ndarray:
    """Positions after every step; servos hold the origin, kd with their damping at each step's beginning."""
    import mujoco

    arm = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    arm.opt.timestep, arm.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_EULER
    data, found = mujoco.MjData(arm), []
    data.qpos[:], data.qvel[:] = q, qd
    for _ in range(STEPS):
        data.qfrc_applied[:] = -kp * data.qpos - kd * data.qvel
        mujoco.mj_step(arm, data)
        found.append(data.qpos.copy())
    return np.array(found)


def in_newton(stage: Path, names: list[str], q: np.ndarray, qd: np.ndarray, solver: str) -> np.ndarray:
    """Positions after every step, of the joints of these names."""
    import newton

    builder = newton.ModelBuilder()
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)  # how soft dry friction is
    builder.add_usd(str(stage))
    model = builder.finalize(device="cpu")
    steps = getattr(newton.solvers, solver)(model)
    labels = [label.rpartition("/")[2] for label in model.joint_label]
    joints = [labels.index(name) for name in names]
    places, dofs = (start.numpy()[joints] for start in (model.joint_q_start, model.joint_qd_start))
    state, following, control = model.state(), model.state(), model.control()
    for array, values, own in ((state.joint_q, q, places), (state.joint_qd, qd, dofs)):
        every = array.numpy()
        every[own] = values
        array.assign(every)
    newton.eval_fk(model, state.joint_q, state.joint_qd, state)
    found = []
    for _ in range(STEPS):
        state.clear_forces()
        control.joint_f.zero_()
        for actuator in model.actuators:
            actuator.step(state, control, dt=STEP)
        steps.step(state, following, control, None, STEP)
        state, following = following, state
        found.append(state.joint_q.numpy()[places])
    return np.array(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Newton and Warp, on versions and on processors without CUDA
@pytest.mark.parametrize("drives", DRIVES)
def test_newton_steps_a_stage_as_mujoco_steps_the_mjcf(tmp_path: Path, drives: str) -> None:
    pytest.importorskip("newton", reason="newton is not installed")
    robot = robot_of(drives)
    names, rng = [joint.name for joint in robot.joints], np.random.default_rng(0)
    q, qd = rng.uniform(-0.4, 0.4, robot.n), rng.uniform(-0.5, 0.5, robot.n)
    kp, kd = (KP, KD) if drives == "servos" else (0.0, 0.0)
    actuators = [NewtonActuator(name, -robot.effects[0].get("OFF", 0.0), kp, kd) for name in names]
    write_usd(robot, tmp_path / "arm.usda", actuators=actuators if "OFF" in DRIVES[drives] else ())
    expected = in_mujoco(robot, q, qd, kp, kd)
    assert np.ptp(expected, axis=0).min() > 0.01
    assert in_newton(tmp_path / "arm.usda", names, q, qd, "SolverMuJoCo") == pytest.approx(expected, abs=SINGLE)
    if drives == "rotors":  # friction of other solvers is another one
        assert in_newton(tmp_path / "arm.usda", names, q, qd, "SolverFeatherstone") == pytest.approx(expected, abs=1e-5)
