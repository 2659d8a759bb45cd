"""Base parameters of robots with force/torque sensors: counts in closed form, symbols, and the regressor itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.algebra.vec3 import HERE, X, Y, Z
from minertia.base.derive import base_parameters
from minertia.base.geometry import Axes
from minertia.base.grouping import matrix_of
from minertia.base.numeric import random_states, rank_and_gap, regressor_at, triangle
from minertia.dynamics.model import torque_regressor
from minertia.io.errors import InputError, UnknownName
from minertia.robot.divided import with_sensor, with_sensors
from minertia.robot.files import read_robot
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot
from minertia.robot.sensor import AXES
from tests.random_robots import random_robot

AXIS = {"fx": X, "fy": Y, "fz": Z, "mx": X, "my": Y, "mz": Z}


def sensed(seed: int) -> Robot:
    """A random chain, tree or floating robot with a plate, or with one or two sensors."""
    rng = np.random.default_rng((7, seed))
    robot = random_robot(seed, tree=seed % 3 == 1, floating=seed % 7 == 5)
    if seed % 4 == 0 and not robot.is_floating:
        return with_sensor(robot, "plate")
    if seed % 5 == 2:
        return with_sensor(robot, robot.joints[int(rng.integers(robot.n_joints))].name, "s")
    first, second = (int(k) for k in rng.integers(robot.n_joints, size=2))
    robot = with_sensor(robot, f"link{first + 1}", "a")
    return robot if first == second else with_sensor(robot, f"link{second + 1}", "b")


def ground_island(robot: Robot) -> Robot:
    """The tree without everything beyond the sensors."""
    gone = {j for j in range(robot.n_joints) if any(robot.sensor_before(k) is not None for k in robot.ancestors(j))}
    kept = [j for j in range(robot.n_joints) if j not in gone]
    place = {j: k for k, j in enumerate(kept)}
    joints = [replace(robot.joints[j], parent=place.get(robot.joints[j].parent)) for j in kept]
    return replace(robot, joints=tuple(joints), links=(), effects=(), constants=(), sensors=())


def island_count(robot: Robot, s: int, *, bias: bool) -> int:
    """Count of one sensor's island under gravity: its root, then its joints; directions from the ground on."""
    axes, sensor = Axes(robot), robot.sensors[s]
    count = root_count(robot, axes, sensor.joint)
    if sensor.joint is None and not robot.is_floating and bias:
        count = 6
    for j in range(robot.n_joints):
        before = [robot.sensor_before(k) for k in robot.ancestors(j)]
        if (inner := [k for k in before if k is not None]) and inner[-1] == s:
            axis = axes.axis[j]
            if robot.joints[j].kind == "revolute":
                count += 7 if axis.beyond else 5
            else:
                count += 4 if axis.beyond or (axis.r1 is not None and not axis.parallel) else 3
    return count


def root_count(robot: Robot, axes: Axes, joint: int | None) -> int:
    """Values of the body beyond a sensor, without a bias: 10, 7, 6, 4 or 3."""
    if robot.is_floating or (joint is not None and axes.axis[joint].beyond):
        return 10
    path = () if joint is None else robot.ancestors(joint)
    hinges = [k for k in path if robot.joints[k].kind == "revolute"]
    g = np.array(robot.gravity) / np.linalg.norm(robot.gravity)
    along = all(np.linalg.norm(np.cross(axes.z(k), g)) < 1e-9 for k in path)
    if hinges:
        one_line = all(np.linalg.norm(np.cross(g, axes.p[k] - axes.p[hinges[0]])) < 1e-9 for k in hinges)
        return 6 if along and one_line else 7
    return 3 if along else 4


def check(seed: int) -> None:
    robot = sensed(seed)
    found = base_parameters(robot, rotors=seed % 2 == 1)
    assert found.method == "closed-form"
    assert found.certificate.is_clear
    assert found.certificate.error < 1e-9
    second = regressor_at(robot, found.columns, *random_states(robot, 60, seed + 99))
    mixed = second[:, found.kept_indices] @ np.linalg.inv(found.K[:, found.kept_indices])
    assert np.abs(second - mixed @ found.K).max() < 1e-9 * np.abs(second).max()
    assert rank_and_gap(triangle(second))[0] == found.count
    if seed % 4 != 3 and seed % 2 == 0:  # the closed form needs gravity
        ground = base_parameters(ground_island(robot)) if ground_island(robot).joints or robot.is_floating else None
        islands = sum(island_count(robot, s, bias=False) for s in range(len(robot.sensors)))
        assert found.count == (0 if ground is None else ground.count) + islands, seed


def test_counts_of_some_random_robots():
    for seed in range(0, 40, 3):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 600, 50))
def test_counts_of_six_hundred_random_robots(start):
    for seed in range(start, start + 50):
        check(seed)


def test_wrench_rows_are_those_of_six_locked_joints():
    """Rows and columns of a sensor equal those of three slides and three hinges at rest in its place."""
    for seed in (2, 7, 9, 12):
        plain = random_robot(seed, tree=seed % 2 == 1, n=4)
        at = 1 + seed % 2
        robot = with_sensor(plain, f"link{at + 1}", "s")
        joints = list(plain.joints[: at + 1])
        turn = {"x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)), "y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)), "z": HERE[0]}
        back = {k: tuple(zip(*R, strict=True)) for k, R in turn.items()}
        parent, before = at, None
        for axis in AXES:
            R = turn[axis[1]] if before is None else tuple(
                tuple(sum(back[before][i][k] * turn[axis[1]][k][j] for k in range(3)) for j in range(3))
                for i in range(3)
            )  # fmt: skip
            kind = "prismatic" if axis[0] == "f" else "revolute"
            joints.append(Joint(axis, kind, parent, R, (0, 0, 0)))
            parent, before = len(joints) - 1, axis[1]
        far = parent
        for j in range(at + 1, 4):
            joint = plain.joints[j]
            up = joint.parent
            new = far if up == at else up if up < at else up + 6
            joints.append(replace(joint, parent=new))
        last = Robot("locked", tuple(joints), gravity=plain.gravity)
        q, qd, qdd = (np.asarray(a) for a in random_states(plain, 5, seed))
        gap = np.zeros((5, 6))
        wide = [np.concatenate([a[:, : at + 1], gap, a[:, at + 1 :]], axis=1) for a in (q, qd, qdd)]
        Y = torque_regressor(last, *wide)
        own = torque_regressor(robot, q, qd, qdd)
        rows = [*range(at + 1), *range(at + 7, 10), *range(at + 1, at + 7)]
        links = [*range(at + 1), *range(at + 7, 10), far]
        columns = [10 * k + i for k in links for i in range(10)]
        # the last locked joint turns about z with its own axes as the link's
        assert np.allclose(own, Y[:, rows][:, :, columns], atol=1e-12), seed


def test_known_counts():
    puma = read_robot("puma560")
    assert base_parameters(with_sensor(puma, "plate")).count == 43
    assert base_parameters(with_sensor(puma, puma.joints[-1].name)).count == 36 + 10
    biased = base_parameters(with_sensor(puma, "plate"), friction=True)
    assert biased.count == 40 + 18 + 6
    assert not any(biased.is_numeric)


def test_symbols_hold_at_a_second_draw():
    for name in ("puma560", "scara", "stanford"):
        robot = read_robot(name)
        for place in ("plate", robot.joints[-1].name, robot.joints[1].name):
            found = base_parameters(with_sensor(robot, place))
            assert not any(found.is_numeric), (name, place)
            if found.robot.has_letters:
                assert found.certificate.redrawn is not None
                values = found.robot.other_values(5)
                Y = regressor_at(found.robot.at(values), found.columns, *random_states(robot, 40, 3))
                K = matrix_of(found.relations, found.columns, values)
                mixed = Y[:, found.kept_indices] @ np.linalg.inv(K[:, found.kept_indices])
                assert np.abs(Y - mixed @ K).max() < 1e-9 * np.abs(Y).max()


def test_wrong_places_are_refused():
    robot = read_robot("puma560")
    with pytest.raises(UnknownName, match="frame"):
        with_sensor(robot, "nowhere")
    with pytest.raises(InputError, match="divide the same link"):
        with_sensors(robot, ["plate", robot.joints[0].name])
