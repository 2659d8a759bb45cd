"""Shifts of frames along their joint axes: efforts do not change, but geometric constants may become zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minertia.algebra.scalar import Scalar, sub
from minertia.algebra.vec3 import IDENTITY, Vec, scale, vadd
from minertia.codegen.formulation import parallel_joints
from minertia.io.arrays import Array
from minertia.robot.inertia import transport_ten
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

NEGLIGIBLE = 1e-14  # [m]


def shifted(robot: Robot, shifts: Sequence[float]) -> Robot:
    """Shift the frame of joint j by shifts[j] [m] along its axis; link parameters are copied unchanged."""
    if not any(shifts):
        return robot
    joints = []
    for joint, shift in zip(robot.joints, shifts, strict=True):
        p = vadd(joint.p, scale(joint.axis, _length(shift)))
        if joint.parent is not None:
            p = (p[0], p[1], sub(p[2], _length(shifts[joint.parent])))
        joints.append(replace(joint, p=_cleared(p)))
    return replace(robot, joints=tuple(joints))


def parameters_back(robot: Robot, columns: Sequence[str], shifts: Sequence[float]) -> Array:
    """Matrix from standard parameters in the shifted frames to those in the original frames of the robot."""
    where = {name: k for k, name in enumerate(columns)}
    T = np.eye(len(columns))
    for j, shift in enumerate(shifts):
        if shift == 0:
            continue
        block = [where[full_name(symbol, j + 1)] for symbol in LINK_SYMBOLS]
        for k, c in enumerate(block):
            unit = [0.0] * 10
            unit[k] = 1.0
            T[block, c] = transport_ten(unit, (IDENTITY, (0.0, 0.0, shift)))
    return T


def useful_shifts(robot: Robot) -> list[tuple[float, ...]]:
    """Candidate frame shifts [m] that make constants zero: for the last frames and for groups of parallel axes.

    Frames of revolute end links are shifted along their axis so that their offset along it is zero.
    Offsets along a group of parallel axes are collected in its first or last joint; for a group on a fixed
    base they vanish.
    """
    none = (0.0,) * robot.n_joints
    tips = _tips(robot)
    groups = _parallel_groups(robot)
    first = [_gathered(robot, tips, group, 0) for group in groups]
    last = [_gathered(robot, tips, group, len(group) - 1) for group in groups]
    return list(dict.fromkeys([none, tips, *first, *last]))


def _tips(robot: Robot) -> tuple[float, ...]:
    parents = {joint.parent for joint in robot.joints}
    return tuple(
        -_along(robot, j) if j not in parents and robot.joints[j].kind == "revolute" else 0.0
        for j in range(robot.n_joints)
    )


def _gathered(robot: Robot, start: Sequence[float], group: Sequence[int], keep: int) -> tuple[float, ...]:
    """Shifts that collect all offsets along the axes of a group in its member with index `keep`."""
    shifts = list(start)
    if robot.joints[group[0]].parent is None and not robot.is_floating:
        keep = -1  # what stands between the ground and the first axis has no effect
    total = sum(_along(robot, j) for j in group)
    before = 0.0
    for k, j in enumerate(group[:-1]):
        before += _along(robot, j)
        shifts[j] = (0.0 if k < keep else total) - before
    if keep == -1:
        shifts[group[0]] = 0.0
        for a, b in zip(group[:-1], group[1:], strict=True):
            shifts[b] = shifts[a] - _along(robot, b)
    return tuple(shifts)


def _parallel_groups(robot: Robot) -> list[tuple[int, ...]]:
    """Sequences of joints with parallel axes, each the parent of the next."""
    groups: list[list[int]] = []
    for j in parallel_joints(robot):
        p = robot.joints[j].parent
        assert p is not None
        if robot.joints[j].R[2][2] != 1:
            continue
        run = next((g for g in groups if g[-1] == p), None)
        if run is None:
            groups.append([p, j])
        else:
            run.append(j)
    return [tuple(g) for g in groups]


def _along(robot: Robot, j: int) -> float:
    joint = robot.joints[j]
    return float(sum(float(a) * float(b) for a, b in zip(joint.axis, joint.p, strict=True)))


def _length(value: float) -> Scalar:
    return 0 if abs(value) < NEGLIGIBLE else float(value)


def _cleared(p: Vec) -> Vec:
    x, y, z = (cleared_length(s) for s in p)
    return x, y, z


def cleared_length(s: Scalar) -> Scalar:
    """Length [m], the structural 0 if it is only rounding error."""
    return s if isinstance(s, int) else _length(float(s))
