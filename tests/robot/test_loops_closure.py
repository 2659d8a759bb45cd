"""Closing of loops on numbers: equations of each kind of cut, their derivative, Newton's steps."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.algebra.vec3 import HERE
from minertia.robot.joint import CUT_KINDS, Cut, Follows, Joint
from minertia.robot.loops.closure import CLOSED, close, equation_count, jacobian, residual
from minertia.robot.robot import Robot
from tests.random_robots import random_robot


def four_bar(**cut: object) -> Robot:
    """Crank 0.2, coupler 0.5, rocker 0.4 on pins 0.45 apart, axes z; cut between coupler and rocker."""
    joints = (
        Joint("crank", "revolute", None, HERE[0], (0, 0, 0), "crank_link"),
        Joint("coupler", "revolute", 0, HERE[0], (0.2, 0, 0), "coupler_link", is_passive=True),
        Joint("rocker", "revolute", None, HERE[0], (0.45, 0, 0), "rocker_link", is_passive=True),
    )
    given = {"first_pose": (HERE[0], (0.5, 0, 0)), "second_pose": (HERE[0], (0.4, 0, 0)), **cut}
    return Robot("four_bar", joints, cuts=(Cut("pin", "revolute", 1, 2, **given),))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", CUT_KINDS)
def test_jacobian_is_the_derivative_of_the_residual(kind: str) -> None:
    tree = random_robot(3, n=6)
    pose = tree.joints[1].R, (0.1, -0.2, 0.3)
    cuts = (Cut("a", kind, 3, 5, pose, HERE), Cut("b", kind, None, 4, HERE, pose))
    q = np.random.default_rng(1).uniform(-1, 1, (4, tree.n_joints))
    assert residual(tree, q, cuts).shape == (4, 2 * equation_count(cuts[0]))
    A = jacobian(tree, q, cuts)
    for j in range(tree.n_joints):
        h = 1e-6 * np.eye(tree.n_joints)[j]
        slope = (residual(tree, q + h, cuts) - residual(tree, q - h, cuts)) / 2e-6
        np.testing.assert_allclose(A[..., j], slope, rtol=0, atol=1e-8)
    np.testing.assert_allclose(A[2], jacobian(tree, q[2], cuts), rtol=0, atol=1e-14)


def test_newton_closes_and_holds_what_is_held() -> None:
    robot = four_bar()
    q, left = close(robot, [0.7, 0.3, 1.5], held=(0,))
    assert left < CLOSED and q[0] == 0.7
    tip = 0.2 * np.exp(0.7j) + 0.5 * np.exp(1j * (0.7 + q[1]))
    assert abs(tip - 0.45 - 0.4 * np.exp(1j * q[2])) < 1e-12


def test_newton_says_how_far_a_loop_that_cannot_close_stays_open() -> None:
    robot = four_bar(second_pose=(HERE[0], (3.0, 0, 0)))
    _, left = close(robot, [0.7, 0.3, 1.5])
    assert left > 0.1


def test_followers_move_with_their_leaders() -> None:
    robot = four_bar()
    third = Joint("second_crank", "revolute", None, HERE[0], (0, 1, 0), "other", follows=Follows((0,), (2.0,), 0.1))
    q, left = close(Robot("r", (*robot.joints, third), cuts=robot.cuts), [0.7, 0.3, 1.5, 0.0])
    assert left < CLOSED
    assert q[3] == pytest.approx(2 * q[0] + 0.1)
