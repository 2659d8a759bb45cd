"""Regrouping rules beyond force/torque sensors (theory, "Force/torque sensors").

Row operations remove everything beyond a sensor from the joint efforts before it.  So the regressor is block
diagonal: one block for the tree on the ground, which ends at the sensors, and one per sensor, with its six rows and
the joints beyond it.  The rules of the first links do not hold beyond a sensor; the ones here replace them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from minertia.algebra.polynomial import evaluate
from minertia.algebra.quotient import quotient
from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg, sub
from minertia.algebra.vec3 import ZERO, Pose, Vec, apply, cross, dot, scale, transpose, vadd, vsub
from minertia.base.geometry import Axes
from minertia.dynamics.kinematics import structural_gravity
from minertia.robot.parameters import BIAS_SYMBOLS, LINK_SYMBOLS
from minertia.robot.robot import Robot
from minertia.robot.sensor import Sensor

Forms = dict[str, Scalar]  # symbol -> Linear over full names, 0 where nothing is left
MOMENTS = ("MX", "MY", "MZ")
INERTIA = (("XX", "XY", "XZ"), ("XY", "YY", "YZ"), ("XZ", "YZ", "ZZ"))
TENSOR = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")
SMALLEST_DIVISOR = 1e-3  # component of a unit vector that others are divided by


def is_beyond(robot: Robot, j: int) -> bool:
    """Whether a joint is beyond a force/torque sensor."""
    return any(robot.sensor_before(k) is not None for k in robot.ancestors(j))


def unexcited_beyond(robot: Robot, axes: Axes, j: int) -> tuple[str, ...]:
    """Further parameters of a joint beyond a sensor that are regrouped with its parent: MZ of some slides.

    These are slides without a rotation before them, or with all rotations before them about their own axis.
    """
    axis = axes.axis[j]
    if robot.joints[j].kind != "prismatic" or axis.beyond:
        return ()
    return ("MZ",) if axis.r1 is None or axis.parallel else ()


def clear_beyond(robot: Robot, axes: Axes, j: int, x: Forms) -> None:
    """Eliminate XX (by now XX - YY) and XY of hinges beyond a sensor while all axes up to them are parallel."""
    if robot.joints[j].kind == "revolute" and not axes.axis[j].beyond:
        x |= {"XX": 0, "XY": 0}


def clear_far(robot: Robot, axes: Axes, sensor: Sensor, x: Forms) -> None:
    """Eliminate the parameters of a far part that have no effect, or regroup them with its others."""
    joint = sensor.joint
    if robot.is_floating or (joint is not None and axes.axis[joint].beyond):
        return
    u = None if joint is None else axes.axis[joint].u
    if joint is None or u is None:
        _clear_sliding(robot, axes, joint, x)
        if joint is None and BIAS_SYMBOLS[0] in x:
            _move_to_bias(sensor.pose, axes.robot.gravity, x)
        return
    _keep_along(x, u, robot.symbol_values)
    if _turns_about_gravity(robot, axes, joint):
        _drop_moment(x, u, _offset(robot, joint, u), robot.symbol_values)


def _clear_sliding(robot: Robot, axes: Axes, joint: int | None, x: Forms) -> None:
    """Far part that never turns: no inertia, and without acceleration across one direction not all first moments."""
    x |= dict.fromkeys(TENSOR, 0)
    path = () if joint is None else robot.ancestors(joint)
    g = np.array(axes.robot.gravity, float)
    ways = [axes.z(k) for k in path] + ([g / np.linalg.norm(g)] if np.any(g) else [])
    if not ways:
        x |= dict.fromkeys((*MOMENTS, "M"), 0)
    elif all(float(np.linalg.norm(np.cross(ways[0], w))) < axes.tolerance for w in ways):
        u: Vec = (0, 0, 1) if path else tuple(_whole(v) for v in ways[0])  # type: ignore[assignment]
        eliminate_along(x, u, robot.symbol_values)


def _move_to_bias(pose: Pose, gravity: tuple[float, ...], x: Forms) -> None:
    """Weight of a far part at rest, which is a part of the bias."""
    R, p = pose
    a: Vec = tuple(neg(v) for v in structural_gravity(gravity))  # type: ignore[assignment]
    force = scale(a, x["M"])
    moment = vsub(cross((x["MX"], x["MY"], x["MZ"]), a), cross(p, force))
    for symbol, value in zip(BIAS_SYMBOLS, (*apply(transpose(R), force), *apply(transpose(R), moment)), strict=True):
        x[symbol] = add(x[symbol], value)
    x |= dict.fromkeys(LINK_SYMBOLS, 0)


def eliminate_along(x: Forms, u: Vec, values: Mapping[str, float]) -> tuple[Scalar, int]:
    """Eliminate the first moment along u; return the amount that was eliminated, s = s' + amount u, and its index.

    The eliminated moment is the last one whose component of u is large enough to divide by.
    """
    gone = divisor(u, values)
    amount = mul(ratio(1, u[gone]), x[MOMENTS[gone]])
    for k in range(3):
        if k != gone and not is_zero(u[k]):
            x[MOMENTS[k]] = sub(x[MOMENTS[k]], mul(ratio(u[k], u[gone]), x[MOMENTS[gone]]))
    x[MOMENTS[gone]] = 0
    return amount, gone


def _keep_along(x: Forms, u: Vec, values: Mapping[str, float]) -> None:
    """Rotation about u alone shows J u: express it by the three entries of one row of J."""
    k = divisor(u, values)
    v = _times(x, u)
    x |= dict.fromkeys(TENSOR, 0)
    _add_row(x, u, k, v)


def _times(x: Forms, u: Vec) -> list[Scalar]:
    """J u."""
    return [add(add(mul(u[0], x[row[0]]), mul(u[1], x[row[1]])), mul(u[2], x[row[2]])) for row in INERTIA]


def _add_row(x: Forms, u: Vec, k: int, v: list[Scalar]) -> None:
    """Change row k of J so that J u changes by v."""
    own = v[k]
    for i in range(3):
        if i != k:
            change = mul(ratio(1, u[k]), v[i])
            x[INERTIA[k][i]] = add(x[INERTIA[k][i]], change)
            own = sub(own, mul(u[i], change))
    x[INERTIA[k][k]] = add(x[INERTIA[k][k]], mul(ratio(1, u[k]), own))


def _drop_moment(x: Forms, u: Vec, offset: Vec, values: Mapping[str, float]) -> None:
    """Regroup the first moment along an axis along gravity; offset: of the frame's origin from that axis."""
    amount, k = eliminate_along(x, u, values)
    _add_row(x, u, k, [neg(mul(c, amount)) for c in offset])


def _turns_about_gravity(robot: Robot, axes: Axes, joint: int) -> bool:
    """Whether all rotations up to a joint are about one line along gravity, and all slides along it."""
    path, r1 = robot.ancestors(joint), axes.axis[joint].r1
    assert r1 is not None
    hinges = [k for k in path if robot.joints[k].kind == "revolute"]
    return (
        axes.is_upright(r1)
        and all(axes.are_parallel(r1, k) for k in path)
        and all(axes.on_one_line(r1, k) for k in hinges)
    )


def _offset(robot: Robot, joint: int, u: Vec) -> Vec:
    """Place of a joint's origin across u, from the last hinge before it, in the joint's frame."""
    path = robot.ancestors(joint)
    last = max(k for k, j in enumerate(path) if robot.joints[j].kind == "revolute")
    place: Vec = ZERO
    for j in path[last + 1 :]:
        place = apply(transpose(robot.joints[j].R), vadd(place, robot.joints[j].p))
    return vadd(place, scale(u, neg(dot(u, place))))


def divisor(u: Vec, values: Mapping[str, float]) -> int:
    """Index of the last component of u that is large enough to divide by, also at the values of the symbols."""
    sizes = [abs(float(evaluate(s, values))) for s in u]
    return max(k for k in range(3) if not is_zero(u[k]) and sizes[k] >= SMALLEST_DIVISOR)


def ratio(a: Scalar, b: Scalar) -> Scalar:
    """Quotient, a structural int where it is 1 or -1."""
    found: Scalar = quotient(a, b)
    return int(found) if found in (1, -1) else found


def _whole(value: float) -> Scalar:
    return round(value) if abs(value - round(value)) < 1e-12 else float(value)
