"""Joints that follow several others: everything is the tree's, projected by the matrix of ratios."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.codegen.kernels.build import native
from minertia.robot.joint import Follows
from minertia.robot.loops.closure import follower_map
from minertia.robot.robot import Robot
from tests.random_robots import random_robot

CASES = [(seed, floating) for seed in (1, 2, 6) for floating in (False, True)]


def robots(seed: int, floating: bool) -> tuple[Robot, Robot]:
    """A tree of seven joints, free and with two joints that follow several, one of which comes before its leaders."""
    free = random_robot(seed, tree=True, floating=floating, n=7)
    joints = list(free.joints)
    joints[6] = replace(joints[6], follows=Follows((0, 2), (1.0, -1.0), 0.3))
    joints[1] = replace(joints[1], follows=Follows((2, 3, 5), (0.5, -2.0, 1.0), -0.1))
    return free, replace(free, joints=tuple(joints))


def states(robot: Robot, seed: int) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Of the follower's coordinates, the same of the free tree, and the matrix between velocities."""
    S, c = follower_map(robot)
    first = 6 * robot.is_floating
    J = np.eye(first + robot.n_joints, first + robot.n)
    J[first:, first:] = S
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1, 1, (3, 4, robot.n))
    base_v = rng.normal(size=(2, 4, first))
    quaternion = rng.normal(size=(4, 4))
    base_q = np.hstack([rng.normal(size=(4, 3)), quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)])
    base_q = base_q[:, : 7 * robot.is_floating]
    own = [np.hstack([base_q, q]), np.hstack([base_v[0], qd]), np.hstack([base_v[1], qdd])]
    all_joints = [np.hstack([base_q, q @ S.T + c]), own[1] @ J.T, own[2] @ J.T]
    return own, all_joints, J


@pytest.mark.parametrize(("seed", "floating"), CASES)
def test_dynamics_are_those_of_the_tree_projected(seed: int, floating: bool) -> None:
    free, robot = robots(seed, floating)
    own, whole, J = states(robot, seed)
    close = dict(rtol=0, atol=1e-10)
    np.testing.assert_allclose(mi.inverse_dynamics(robot, *own), mi.inverse_dynamics(free, *whole) @ J, **close)
    D = mi.dynamics.mass_matrix(robot, own[0])
    np.testing.assert_allclose(D, J.T @ mi.dynamics.mass_matrix(free, whole[0]) @ J, **close)
    np.testing.assert_array_equal(D, np.swapaxes(D, 1, 2))
    tau = mi.inverse_dynamics(robot, *own)
    np.testing.assert_allclose(mi.forward_dynamics(robot, own[0], own[1], tau), own[2], rtol=0, atol=1e-7)
    Y, Y_free = (
        mi.dynamics.torque_regressor(r, *s, columns=free.columns(True, True)) for r, s in ((robot, own), (free, whole))
    )
    np.testing.assert_allclose(Y, np.einsum("sik,ij->sjk", Y_free, J), **close)
    np.testing.assert_allclose(mi.dynamics.jacobian(robot, own[0]), mi.dynamics.jacobian(free, whole[0]) @ J, **close)


@pytest.mark.parametrize("seed", [1, 2, 6])
def test_matrices_and_momentum_are_those_of_the_tree_projected(seed: int) -> None:
    free, robot = robots(seed, False)
    (q, qd, qdd), (q_free, qd_free, _), J = states(robot, seed)
    C = mi.dynamics.coriolis_matrix(robot, q, qd)
    np.testing.assert_allclose(C, J.T @ mi.dynamics.coriolis_matrix(free, q_free, qd_free) @ J, rtol=0, atol=1e-10)
    columns = free.columns(True, False)
    for ours, theirs in zip(
        mi.dynamics.momentum_regressor(robot, q, qd, columns=columns),
        mi.dynamics.momentum_regressor(free, q_free, qd_free, columns=columns),
        strict=True,
    ):
        np.testing.assert_allclose(ours, np.einsum("sik,ij->sjk", theirs, J), rtol=0, atol=1e-10)
    smooth = robot.without_effects(["friction"])
    slopes = mi.dynamics.inverse_dynamics_derivatives(smooth, q, qd, qdd)
    for place, slope in enumerate(slopes):
        for k in range(robot.n):
            h = np.zeros((3, 1, robot.n))
            h[place, 0, k] = 1e-6
            plus, minus = (mi.inverse_dynamics(smooth, *(np.array([q, qd, qdd]) + sign * h)) for sign in (1, -1))
            np.testing.assert_allclose(slope[..., k], (plus - minus) / 2e-6, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_generated_programs_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")  # the same steps, not compiled
    _, robot = robots(seed, False)
    (q, qd, qdd), _, _ = states(robot, seed)
    torques = mi.compile(mi.codegen.build_program(robot, "inverse_dynamics"))
    np.testing.assert_allclose(torques(q, qd, qdd), mi.inverse_dynamics(robot, q, qd, qdd), rtol=0, atol=1e-9)
    matrix = mi.compile(mi.codegen.build_program(robot, "mass_matrix"))(q)
    np.testing.assert_allclose(
        np.reshape(matrix, (4, robot.n, robot.n)), mi.dynamics.mass_matrix(robot, q), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("seed", [1, 6])
def test_base_parameters_are_certified(seed: int) -> None:
    _, robot = robots(seed, False)
    base = mi.base_parameters(robot)
    q, qd, qdd = states(robot, seed)[0]
    Y = mi.dynamics.torque_regressor(robot, q, qd, qdd, columns=robot.columns())
    bare = robot.without_effects(["rotors", "friction"])
    np.testing.assert_allclose(Y @ robot.parameter_vector(), mi.inverse_dynamics(bare, q, qd, qdd), rtol=0, atol=1e-9)
    assert base.count <= len(robot.columns())
