"""A chosen frame against Pinocchio: its pose, its Jacobian, and a wrench that acts there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.base.numeric import random_states
from minertia.codegen.programs import build
from minertia.codegen.search import representative
from minertia.codegen.setting import Setting
from minertia.dynamics.options import AXES, ChosenFrame
from minertia.io.errors import InputError, ShapeError
from minertia.io.schema import OptionError
from minertia.robot.files import bundled_robots
from minertia.robot.robot import Frame
from tests.dynamics.test_oracles_on_robots import QUICK, close, planted
from tests.oracles import PinocchioOracle
from tests.random_robots import random_robot

POSE = (((0.36, 0.48, -0.8), (-0.8, 0.6, 0.0), (0.48, 0.64, 0.6)), (0.1, -0.2, 0.3))
PROGRAMS = ("inverse_dynamics_wrench", "forward_dynamics_wrench", "jacobian", "forward_kinematics")


def _with_tool(robot):
    """The robot with a frame on its last link and one in the middle, both turned and moved."""
    middle = (robot.n_joints - 1) // 2
    return replace(robot, frames={**robot.frames, "tool": Frame(robot.n_joints - 1, POSE), "mid": Frame(middle, POSE)})


class _Oracle(PinocchioOracle):
    """Pinocchio with the frames of a robot."""

    def frame(self, name):
        frame = self.robot.frames[name]
        placement = self.pin.SE3(*(np.array(part, float) for part in frame.pose))
        parent = self.ids[frame.joint]
        index = self.model.addFrame(self.pin.Frame(name, parent, 0, placement, self.pin.FrameType.OP_FRAME))
        self.data = self.model.createData()
        return index, parent

    def wrench_torques(self, q, qd, qdd, name, axes, wrench):
        index, parent = self.frame(name)
        pin = self.pin
        pin.framesForwardKinematics(self.model, self.data, q)
        place = self.data.oMf[index]
        turn = place.rotation.T if axes == "world" else np.eye(3)
        local = pin.Force(turn @ wrench[:3], turn @ wrench[3:])
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        forces[parent] = self.model.frames[index].placement.act(local)
        return pin.rnea(self.model, self.data, q, qd, qdd, forces).copy()


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in bundled_robots()]
)
def test_against_pinocchio(name, axes):
    robot = _with_tool(planted(name))
    rng = np.random.default_rng(1)
    for frame in ("tool", "mid"):
        oracle, chosen = _Oracle(robot), ChosenFrame(frame, axes)
        index, _ = oracle.frame(frame)
        setting = Setting(robot, frame=chosen)
        for q, qd, qdd in zip(*random_states(robot, 2, 5), strict=True):
            oracle.pin.framesForwardKinematics(oracle.model, oracle.data, q)
            place, kind = oracle.data.oMf[index], oracle.pin.ReferenceFrame
            R, p = mi.dynamics.forward_kinematics(robot, q, chosen)
            assert close(R, place.rotation) and np.allclose(p, place.translation, atol=1e-12)
            J = oracle.pin.computeFrameJacobian(
                oracle.model, oracle.data, q, index, kind.LOCAL_WORLD_ALIGNED if axes == "world" else kind.LOCAL
            )
            assert close(mi.dynamics.jacobian(robot, q, chosen), np.reshape(J, (6, -1)))
            wrench = rng.uniform(-30, 30, 6)
            tau = mi.inverse_dynamics(robot, q, qd, qdd, wrench=mi.dynamics.FrameWrench(wrench, chosen))
            assert close(tau, oracle.wrench_torques(q, qd, qdd, frame, axes, wrench))
            assert close(mi.forward_dynamics(robot, q, qd, tau, wrench=mi.dynamics.FrameWrench(wrench, chosen)), qdd)
            if frame == "mid":
                continue
            program = build(setting, PROGRAMS[0], representative(setting, PROGRAMS[0]), thorough=None)
            assert close(program.evaluate(q=q, qd=qd, qdd=qdd, wrench=wrench)["tau"], tau)


@pytest.mark.parametrize("axes", AXES)
def test_power_of_a_wrench_on_trees_and_floating_bases(axes):
    """What the wrench does at its frame is what the joints save, whatever the tree."""
    for seed in range(4):
        robot = _with_tool(random_robot(seed, tree=True, mimic=True, floating=seed % 2 == 0))
        (q, qd, qdd), chosen = random_states(robot, 3, seed), ChosenFrame("tool", axes)
        wrench = np.random.default_rng(seed).uniform(-5, 5, (3, 6))
        saved = mi.inverse_dynamics(robot, q, qd, qdd) - mi.inverse_dynamics(
            robot, q, qd, qdd, wrench=mi.dynamics.FrameWrench(wrench, chosen)
        )
        motion = np.einsum("kij,kj->ki", mi.dynamics.jacobian(robot, q, chosen), qd)
        assert np.allclose((saved * qd).sum(1), (wrench * motion).sum(1))


def test_a_wrench_of_the_ground_does_nothing():
    robot = planted("puma560")
    q, qd, qdd = (part[0] for part in random_states(robot, 1, 0))
    free = mi.inverse_dynamics(robot, q, qd, qdd)
    assert np.allclose(mi.inverse_dynamics(robot, q, qd, qdd, wrench=mi.dynamics.FrameWrench(np.ones(6), "base")), free)
    assert not np.any(mi.dynamics.jacobian(robot, q, "base"))


def test_wrong_frames_are_one_sentence():
    robot = planted("puma560")
    q = np.zeros(6)
    with pytest.raises(
        InputError, match=r"'PUMA 560' has no frame called 'tol0'; its frames are base, j1, j2, j3, j4, j5, j6, flange$"
    ):
        mi.dynamics.jacobian(robot, q, "tol0")
    with pytest.raises(InputError, match="its frames are base, j1"):
        mi.generate(robot, None, programs=("jacobian",), model=mi.options.CodeModel(frame=ChosenFrame("j9")))
    with pytest.raises(OptionError, match="axes of ChosenFrame must be"):
        ChosenFrame("j6", "body")
    with pytest.raises(ShapeError, match=r"wrench has shape \(3,\)"):
        mi.inverse_dynamics(robot, q, q, q, wrench=np.zeros(3))
    with pytest.raises(InputError, match="must be the name of a frame"):
        mi.dynamics.jacobian(robot, q, 6)
