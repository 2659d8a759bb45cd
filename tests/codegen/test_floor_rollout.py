"""A floor under simulated loops: what it carries, its friction, derivatives, and NumPy against C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.algebra.vec3 import HERE
from minertia.codegen.rollout.floor import CREEP, SOFT, FloorUnder
from minertia.codegen.rollout.kernel import LoopKernel
from minertia.codegen.rollout.task import LoopCommand, Rollout
from minertia.io.errors import InputError
from minertia.robot.robot import Frame
from tests.codegen.kernel_helpers import at_rest
from tests.codegen.test_rollout import ARM, AT, BODY, LINKS, MOVING, nudged, task, unknowns

TIP = 0.4  # m beyond the second joint
ROBOT = replace(ARM, frames={"tip": Frame(1, (HERE[0], (TIP, 0, 0)))})
LENGTH = float(ARM.numeric.joints[1].p[0])
UNDER = FloorUnder(("tip",))
KERNEL = LoopKernel(ROBOT, (0, 1), LINKS, floor=UNDER, effects=AT)


def with_floor(given: Rollout, height: float, stiffness: float = 5e3, friction: float = 0.4) -> Rollout:
    links = np.append(given.values.links, [height, stiffness, friction, given.h])
    return replace(given, values=replace(given.values, links=links))


def tip(q: np.ndarray) -> np.ndarray:
    """Height of the tip, which is along y."""
    return np.asarray(LENGTH * np.sin(q[:, 0]) + TIP * np.sin(q.sum(axis=1)))


def test_derivatives_hold_while_it_touches_slides_and_leaves() -> None:
    given = replace(with_floor(task(links=True, zero=0.0), height=-0.1), v0=MOVING)
    names = unknowns(len(LINKS) + 3)
    carried = KERNEL.run(replace(given, unknowns=names))
    assert carried is not None
    touching = tip(carried[0]) < -0.1 + SOFT
    assert touching.any() and not touching.all()
    for c, (kind, place) in enumerate(names):
        step = 1e-3 if (kind, place) == ("link", len(LINKS) + 1) else 1e-7  # N/m, of the stiffness
        ends = [KERNEL.run(nudged(given, kind, place, own)) for own in (step, -step)]
        assert ends[0] is not None and ends[1] is not None
        wanted = (ends[0][0] - ends[1][0]) / (2 * step)
        assert np.abs(wanted).max() > 1e-9, kind
        assert np.abs(carried[1][:, :, c] - wanted).max() < 1e-3 * np.abs(wanted).max(), (kind, place)


def test_without_a_compiler_the_motion_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    given = replace(with_floor(task(links=True, seconds=0.3), height=-0.02), unknowns=unknowns(len(LINKS) + 3))
    compiled = KERNEL.run(given)
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    kernel = LoopKernel(ROBOT, (0, 1), LINKS, floor=UNDER, effects=AT)
    plain = kernel.run(given)
    assert kernel.path == "numpy" and compiled is not None and plain is not None
    for mine, theirs in zip(plain, compiled, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-6, atol=1e-9)


def pressed(
    friction: float, u: tuple[float, float] = (-0.3, -0.2), stiffness: float = 5e4, seconds: float = 3.0
) -> tuple[np.ndarray, np.ndarray]:
    """The motion of an arm without weight that is told to be under the floor, and its gains."""
    kernel = LoopKernel(ROBOT, (0, 1), LINKS, floor=UNDER)
    two, h = np.ones(2), 2e-3
    body = BODY * np.array([1, 1, 0, 0, 0, 0])  # no first moments: no weight
    kp = np.array([100.0, 60.0])
    values = replace(at_rest(2, np.append(body, [-0.2, stiffness, friction, h])), kp=kp, kd=8 * two)
    told = np.tile(u, (round(seconds / h), 1))
    found = kernel.run(Rollout(values, LoopCommand(told, 0 * told), h, 1, 0 * two, 0 * two))
    assert found is not None
    return found[0], kp


def test_a_pressed_arm_rests_where_efforts_and_floor_balance() -> None:
    (q, kp), u = pressed(0.0), (-0.3, -0.2)
    end = q[-1]
    effort = kp * (np.array(u) - end)  # of the joints, against the floor's push at the tip
    x = LENGTH * np.cos(end[0]) + TIP * np.cos(end.sum())
    push = -effort / np.array([x, TIP * np.cos(end.sum())])  # one force, found from each joint
    assert push[0] > 1.0 and push[0] == pytest.approx(push[1], rel=1e-3)
    depth = -0.2 - tip(q[-1:])[0]
    assert push[0] == pytest.approx(5e4 / 2 * (depth + np.hypot(depth, SOFT)), rel=1e-6)
    assert np.abs(np.diff(q[-100:], axis=0)).max() < 1e-9


def test_friction_holds_the_tip_back_by_its_law_and_the_step_has_no_limit() -> None:
    u, friction = (-0.3, -0.8), 0.8
    q, kp = pressed(friction, u, seconds=1.0)
    end, rate = q[-2], (q[-1] - q[-3]) / 4e-3
    first, second = end[0], end.sum()
    J = np.array([[-LENGTH * np.sin(first) - TIP * np.sin(second), -TIP * np.sin(second)],
                  [LENGTH * np.cos(first) + TIP * np.cos(second), TIP * np.cos(second)]])  # fmt: skip
    force = np.linalg.solve(J.T, -(kp * (np.array(u) - end) - 8 * rate))  # of the floor; the arm hardly accelerates
    slip = float(J[0] @ rate)
    assert force[1] > 10.0 and abs(slip) > 1e-5
    assert force[0] / force[1] == pytest.approx(-friction * slip / np.hypot(slip, CREEP), rel=0.05)
    stiff = pressed(3.0, u, 1e7, seconds=0.3)[0]  # of a time constant far below the step
    assert tip(stiff).min() > -0.21 and np.abs(stiff).max() < 2.0


def test_a_robot_without_gravity_has_no_floor() -> None:
    with pytest.raises(InputError, match="the ground contact has no direction"):
        LoopKernel(replace(ROBOT, gravity=(0.0, 0.0, 0.0)), (0, 1), LINKS, floor=UNDER)
