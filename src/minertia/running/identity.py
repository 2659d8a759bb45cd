"""Check that the connected robot is the one of the robot file: reported identity, and ROS `robot_description`.

The axes of the joints are compared as lines in space at several postures, because commands act on them.
Their angles, distances and mutual moments (reciprocal products) do not depend on frames, so a
Denavit-Hartenberg table can be compared with a URDF; the placement of the base and the zero of the first
joint have no influence.
"""

from __future__ import annotations

import re

import numpy as np

from minertia.excitation.claims import listed
from minertia.excitation.limits import MotionLimits
from minertia.excitation.poses import link_poses
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, MinertiaError
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.urdf.read import parse_urdf
from minertia.robot.robot import Robot
from minertia.running.driver import Driver, RobotIdentity

# ---------------------------------------------------------------------- the description that the robot's system holds


POSTURES, WIDE = 5, 1.5  # at which axes are compared, and how far from 0 [rad or m]
APART = 0.005  # m between axes, or of their moment, that calibrations and rounded lengths explain
TURNED = 0.02  # rad between directions of axes that they explain
PARALLEL = 0.05  # sine of the angle below which two axes have no common normal to speak of
WIDER = 0.01  # part of a limit by which it is not said to be wider than another


def check_description(text: str, robot: Robot, limits: MotionLimits | None = None) -> str:
    """Raise an error for a description of another robot, or one with narrower limits.

    Returns the reason why it was not compared, "" where it was.  text: URDF.  limits: those against which the
    trajectory was checked.
    """
    try:
        told = parse_urdf(text, "robot_description", ReadOptions(letters=False))
    except MinertiaError as err:
        return f"it cannot be read: {err}"
    _check_kinds(robot, told)
    if limits is not None:
        _check_limits(robot, told, limits)
    if robot.cuts or told.cuts:
        return "closed loops are not compared"
    _check_axes(robot, told)
    return ""


def _check_kinds(robot: Robot, told: Robot) -> None:
    kinds = {told.joints[j].name: told.joints[j].kind for j in told.independent}
    for joint in (robot.joints[j] for j in robot.independent):
        if joint.name not in kinds:
            raise Infeasible(
                f"the robot's own description '{told.name}' has no actuated joint '{joint.name}', but "
                f"'{robot.name}' has: this is another robot"
            )
        if kinds[joint.name] != joint.kind:
            raise Infeasible(
                f"joint '{joint.name}' is {kinds[joint.name]} in the robot's own description '{told.name}' and "
                f"{joint.kind} in the file of '{robot.name}': this is another robot"
            )


def _check_limits(robot: Robot, told: Robot, limits: MotionLimits) -> None:
    """Raise an error for limits that are wider than those of the robot's own description."""
    theirs = {told.joints[j].name: told.joints[j].limits for j in told.independent}
    for k, name in enumerate(robot.coordinate_names):
        own = theirs[name]
        room = WIDER * float(limits.half[k])
        fastest = own.velocity or np.inf  # a zero is what nobody knows
        if own.lower is not None and own.upper is not None and own.lower < own.upper:
            is_wider = limits.lower[k] < own.lower - room or limits.upper[k] > own.upper + room
        else:
            is_wider = False
        if is_wider:
            raise Infeasible(
                f"the robot's own description '{told.name}' allows joint '{name}' {own.lower:.4g} to "
                f"{own.upper:.4g}, less than the position limits that the trajectory was checked against; give "
                "these limits with --limits"
            )
        if limits.velocity[k] > fastest * (1 + WIDER):
            raise Infeasible(
                f"the robot's own description '{told.name}' allows joint '{name}' a velocity of {fastest:.4g}, "
                f"less than the limit of {limits.velocity[k]:.4g} that the trajectory was checked against; give "
                "the lower limit with --limits"
            )


def _check_axes(robot: Robot, told: Robot) -> None:
    """Raise an error where the relative placement of the axes differs from the robot file."""
    names = robot.coordinate_names
    q = _postures(robot)
    ours, theirs = (_axes(own, names, q) for own in (robot, told))
    slides = [robot.joints[j].kind == "prismatic" for j in robot.independent]
    for b in range(len(names)):
        for a in range(b):
            off = _difference(ours, theirs, a, b, slides[a] or slides[b])
            if off:
                raise Infeasible(
                    f"joints '{names[a]}' and '{names[b]}' have {off} in the robot's own description "
                    f"'{told.name}' and in the file of '{robot.name}': this is another robot, or its zeros or "
                    "directions differ"
                )


def _postures(robot: Robot) -> Array:
    """Postures (N, n) within the joint ranges and near 0; the first is 0, or the nearest posture in range."""
    ends = [(j.limits.lower, j.limits.upper) for j in (robot.joints[k] for k in robot.independent)]
    low = np.array([-WIDE if a is None else min(max(a, -WIDE), WIDE) for a, _ in ends])
    high = np.array([WIDE if b is None else max(min(b, WIDE), -WIDE) for _, b in ends])
    q = np.random.default_rng(0).uniform(np.minimum(low, high), np.maximum(low, high), (POSTURES, robot.n))
    q[0] = np.clip(0.0, low, high)
    return np.asarray(q)


def _axes(robot: Robot, names: tuple[str, ...], q: Array) -> tuple[Array, Array]:
    """Directions and points (n, N, 3) of the axes of the named joints; other joints are at 0."""
    every = np.zeros((len(q), robot.n))
    places = [robot.coordinate_names.index(name) for name in names]
    every[:, places] = q
    poses = link_poses(robot, every)
    chosen = [poses[robot.independent[k]] for k in places]
    return np.array([pose.R[:, :, 2] for pose in chosen]), np.array([pose.p for pose in chosen])


def _difference(ours: tuple[Array, Array], theirs: tuple[Array, Array], a: int, b: int, slides: bool) -> str:
    """Difference between two axes as text, "" if none; slides: prismatic, so only directions are compared."""
    angles = [np.sum(d[a] * d[b], axis=1) for d, _ in (ours, theirs)]
    if np.abs(angles[0] - angles[1]).max() > TURNED:
        return "a different angle between their axes"
    if slides:
        return ""
    moments = [np.sum((p[b] - p[a]) * np.cross(d[a], d[b]), axis=1) for d, p in (ours, theirs)]
    if np.abs(moments[0] - moments[1]).max() > APART:
        return "a different distance between their axes"
    is_parallel = np.linalg.norm(np.cross(ours[0][a], ours[0][b]), axis=1) < PARALLEL
    apart = [np.linalg.norm(np.cross(d[a], p[b] - p[a]), axis=1)[is_parallel] for d, p in (ours, theirs)]
    return "a different distance between their axes" if np.abs(apart[0] - apart[1]).max(initial=0.0) > APART else ""


# ----------------------------------------------------------------------------------------------------------- identity


UNIVERSAL = re.compile(r"(?<![a-z])ur[\s_-]*(\d{1,2})(?!\d)", re.IGNORECASE)


def check_identity(driver: Driver, robot: Robot, limits: MotionLimits | None = None) -> str:
    """Raise an error if the connected robot is another one; returns a message on what was identified.

    limits: those against which the trajectory was checked; none may be wider than the robot's own system allows.
    """
    found = driver.identity()
    _check_joints(found, robot)
    _check_model(found, robot)
    unsure = "" if found.description is None else check_description(found.description, robot, limits)
    return _sentence(found, robot, unsure)


def _check_joints(found: RobotIdentity, robot: Robot) -> None:
    own = robot.coordinate_names
    missing = [name for name in own if found.joints is not None and name not in found.joints]
    if missing:
        raise Infeasible(
            f"the robot reports joints {listed(list(found.joints or ()))}, but not {listed(missing)} of "
            f"'{robot.name}': this is another robot, or the robot file uses other names"
        )
    if found.order is not None and found.order != own:
        raise Infeasible(
            f"the robot's controller takes joints in the order {', '.join(found.order)}, but '{robot.name}' has "
            f"{', '.join(own)}: commands would go to the wrong joints"
        )


def _check_model(found: RobotIdentity, robot: Robot) -> None:
    """Compare the sizes of Universal Robots, where both names give one; dashboards report UR10 for a UR10e."""
    theirs = UNIVERSAL.search(found.model or "")
    ours = UNIVERSAL.search(robot.name)
    if theirs is not None and ours is not None and theirs[1] != ours[1]:
        raise Infeasible(f"the robot is a {found.model}, but its file describes '{robot.name}': this is another robot")


def _sentence(found: RobotIdentity, robot: Robot, undescribed: str) -> str:
    told = [f"model {found.model}"] * (found.model is not None)
    told += [f"serial number {found.serial}"] * (found.serial is not None)
    told += [f"joints {listed(list(found.joints or ()))}"] * (found.joints is not None)
    told += ["the order of commands"] * (found.order is not None)
    told += ["but not the order of commands"] * (found.joints is not None and found.order is None)
    if found.description is not None:
        same = (
            f"a description that was not compared ({undescribed})" if undescribed else "a description of the same axes"
        )
        told.append(same)
    if not told:
        return f"this driver cannot identify the robot that it moves; make sure that it is '{robot.name}'"
    unsure = "" if found.joints is not None or _is_known(found, robot) else (f"; make sure that it is '{robot.name}'")
    return f"the robot reports {', '.join(told)}{unsure}"


def _is_known(found: RobotIdentity, robot: Robot) -> bool:
    return UNIVERSAL.search(found.model or "") is not None and UNIVERSAL.search(robot.name) is not None
