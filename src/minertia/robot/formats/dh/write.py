"""Writer of the TOML format for any robot: link frames are joint frames, other named frames are fixed rows.

A placement is written as a row gamma, b, alpha, d, theta, r where that reproduces the same numbers, the same
exact zeros and the same symbols; else as a rotation matrix and a position.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from minertia.algebra.polynomial import Number, Poly, letter, turn
from minertia.algebra.quotient import Quotient, quotient
from minertia.algebra.scalar import div, mul, neg, sub
from minertia.algebra.vec3 import HERE, Mat, Pose, Vec, dot
from minertia.io.errors import DescriptionError
from minertia.io.files import write_file
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.formats.dh.placement import Entry, khalil_pose
from minertia.robot.formats.dh.read import FORMAT, UNKNOWN
from minertia.robot.formats.expression import expression_text
from minertia.robot.formats.snap import snap_angle
from minertia.robot.inertia import Ten
from minertia.robot.joint import Cut, Elastic, Joint, Limits, partial_pose
from minertia.robot.loops.closure import cut_joints
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

PARALLEL = 1e-9  # sine of the angle between two axes that count as parallel when a row is looked for
SAME = 1e-15  # largest difference between an entry and what its row gives back


def write_toml(robot: Robot, path: str | Path, *, force: bool = False) -> None:
    """Write a robot atomically.  force: as in `write_robot`."""
    write_file(path, toml_text(robot, frames=True), force=force)


def toml_text(robot: Robot, *, frames: bool = False) -> str:
    """TOML description of a robot; frames: include frames that are not link frames, such as the flange."""
    document: dict[str, Any] = {
        "format": _format(robot),
        "name": robot.name or "robot",
        "exact": True,
        "base": robot.base,
        "gravity": [float(g) for g in robot.gravity],
    }
    if robot.coupling is not None:
        document["drive_coupling"] = [[float(g) for g in row] for row in robot.coupling]
    if robot.symbols:
        document["symbols"] = {name: UNKNOWN if v is None else float(v) for name, v in robot.symbols.items()}
    if robot.base_link is not None:
        document["base_link"] = _link(robot.base_link, "the base")
    document["joint"] = [_joint(robot, j) for j in range(robot.n_joints)]
    document["joint"] += _frames(robot) if frames else []
    if robot.cuts:
        document["loop"] = [_loop(robot, cut) for cut in robot.cuts]
    return tomli_w.dumps(document)


def _format(robot: Robot) -> int:
    """Lowest version of the format that can represent the robot."""
    several = any(joint.follows is not None and len(joint.follows.joints) > 1 for joint in robot.joints)
    if any(joint.elastic is not None for joint in robot.joints):
        return FORMAT
    if robot.cuts or several:
        return 3
    return 2 if robot.other_effects else 1


def _loop(robot: Robot, cut: Cut) -> dict[str, Any]:
    table: dict[str, Any] = {"name": cut.name, "kind": cut.kind}
    for end, joint, (R, p) in (("first", cut.first, cut.first_pose), ("second", cut.second, cut.second_pose)):
        table[end] = 0 if joint is None else robot.joints[joint].name
        if any(type(s) is not int or s for s in p):
            table[f"{end}_position"] = [_plain(s) for s in p]
        if HERE[0] != R:
            table[f"{end}_rotation"] = [[_plain(s) for s in row] for row in R]
    if robot.seed is not None:
        inside = sorted(cut_joints(robot, cut))
        table["seed"] = {robot.joints[j].name: float(robot.seed[j]) for j in inside}
    return table


def _joint(robot: Robot, j: int) -> dict[str, Any]:
    joint, ten = robot.joints[j], robot.links[j]
    parent = 0 if joint.parent is None else robot.joints[joint.parent].name
    table: dict[str, Any] = {"name": joint.name, "kind": joint.kind, "parent": parent, **_placement(joint)}
    link = ({"name": joint.link} if joint.link else {}) | ({} if ten is None else _link(ten, f"joint '{joint.name}'"))
    parts = {
        "link": link,
        "effects": _effects(robot, j),
        "elastic": {} if joint.elastic is None else _elastic(joint.elastic),
        "limits": _limits(joint.limits),
        "follows": _follows(robot, joint),
    }
    passive = ({"passive": True} | ({"motor": True} if joint.has_motor else {})) if joint.is_passive else {}
    return table | passive | {key: part for key, part in parts.items() if part}


def _frames(robot: Robot) -> list[dict[str, Any]]:
    """Rows of the frames that belong to no joint: fixed and massless; the base frame is omitted."""
    taken = {joint.name for joint in robot.joints}
    linked = {joint.link for joint in robot.joints}
    rows = []
    for name, frame in robot.frames.items():
        if name in linked or (frame.joint is None and name == "base" and frame.pose == HERE):
            continue
        row_name = name
        while row_name in taken:
            row_name += "_fixed"
        taken.add(row_name)
        parent = 0 if frame.joint is None else robot.joints[frame.joint].name
        row = {"name": row_name, "kind": "fixed", "parent": parent, **_placed(_known_pose(robot, frame.pose))}
        rows.append(row if row_name == name else row | {"link": {"name": name}})
    return rows


def _known_pose(robot: Robot, pose: Pose) -> Pose:
    """Numeric pose where all of its symbols have values: frames are read without symbols."""
    known = {name: value for name, value in robot.symbols.items() if value is not None}
    return partial_pose(pose, known)


def _link(ten: Ten, where: str) -> dict[str, float]:
    if ten[9] < 0:
        raise DescriptionError(f"{where} has the negative mass {ten[9]:g} kg, which a robot file cannot represent")
    return {symbol: float(value) for symbol, value in zip(LINK_SYMBOLS, ten, strict=True)}


def _effects(robot: Robot, j: int) -> dict[str, Any]:
    """Effects of a joint: those with constants as tables of value and constants, others as numbers."""
    values = dict(robot.effects[j])
    if j in robot.coupled_motors and robot.motor_effects:
        values |= robot.motor_effects[robot.coupled_motors[j]]
    found: dict[str, Any] = {}
    for symbol, value in values.items():
        effect = BY_SYMBOL[symbol]
        if value or effect.is_standard:
            numbers = robot.effect_constants(j, symbol) if effect.constants else {}
            found[symbol] = {"value": float(value), **numbers} if numbers else float(value)
    return found


def _elastic(elastic: Elastic) -> dict[str, Any]:
    values = {"stiffness": elastic.stiffness, "damping": elastic.damping}
    return {key: "?" if value is None else float(value) for key, value in values.items()}


def _limits(limits: Limits) -> dict[str, Any]:
    rates = {"velocity": limits.velocity, "acceleration": limits.acceleration, "effort": limits.effort}
    table: dict[str, Any] = {key: float(v) for key, v in rates.items() if v is not None and math.isfinite(v)}
    if limits.lower is not None and limits.upper is not None and math.isfinite(limits.upper - limits.lower):
        table["position"] = [float(limits.lower), float(limits.upper)]
    return table


def _follows(robot: Robot, joint: Joint) -> dict[str, Any]:
    follows = joint.follows
    if follows is None:
        return {}
    leaders, ratios = [robot.joints[k].name for k in follows.joints], [float(ratio) for ratio in follows.ratios]
    if len(leaders) > 1:
        return {"joints": leaders, "ratios": ratios, "offset": float(follows.offset)}
    return {"joint": leaders[0], "ratio": ratios[0], "offset": float(follows.offset)}


# ---------------------------------------------------------------------- placements


def _placement(joint: Joint) -> dict[str, Any]:
    return _placed((joint.R, joint.p))


def _placed(pose: Pose) -> dict[str, Any]:
    row = khalil_row(pose)
    if row is not None:
        return {key: _plain(value) for key, value in row.items() if type(value) is not int}
    return {
        "convention": "placement",
        "rotation": [[_plain(s) for s in r] for r in pose[0]],
        "position": [_plain(s) for s in pose[1]],
    }


def _plain(value: Entry) -> Number | str:
    if isinstance(value, Poly):
        return expression_text(value)
    return value if type(value) is int else float(value)


def khalil_row(pose: Pose) -> dict[str, Entry] | None:
    """gamma, b, alpha, d, theta, r of a placement (zeros as the int 0), None where they are not exact."""
    R, p = pose
    lettered = any(isinstance(s, Poly) for s in _flat(R))
    angles = _lettered_angles(R) if lettered else _angles(np.array(R, float), p)
    row = None if angles is None else _lengths(p, *angles)
    if row is None or not all(_is_simple(row[key]) for key in ("b", "d", "r")):
        return None
    found_R, found_p = khalil_pose(row)
    entries = zip((*_flat(R), *p), (*_flat(found_R), *found_p), strict=True)
    return row if all(_same(a, b) for a, b in entries) else None


def _angles(A: np.ndarray[Any, Any], p: Vec) -> tuple[Number, Number, Number]:
    """gamma, alpha, theta of Rot(z, gamma) Rot(x, alpha) Rot(z, theta), with the smallest gamma."""
    x, y, z = (float(s) for s in A[:, 2])
    if math.hypot(x, y) < PARALLEL:  # only gamma + theta or gamma - theta counts: let x point along p
        gamma, alpha = _direction(p), 0.0 if z > 0 else math.pi
    elif abs(x) < SAME:
        gamma, alpha = 0.0, math.atan2(-y, z)
    else:
        gamma, alpha = math.atan2(x, -y), math.atan2(math.hypot(x, y), z)
        if abs(gamma) > math.pi / 2 + SAME:
            gamma, alpha = gamma - math.copysign(math.pi, gamma), -alpha
    gamma, alpha = snap_angle(gamma, 0.0), snap_angle(alpha, 0.0)
    turned = np.array(khalil_pose({"gamma": gamma, "alpha": alpha})[0], float).T @ A
    return _zero(gamma), _zero(alpha), _zero(snap_angle(math.atan2(turned[1, 0], turned[0, 0]), 0.0))


def _lettered_angles(R: Mat) -> tuple[Entry, Entry, Entry] | None:
    """gamma, alpha, theta of a symbolic rotation, None where they cannot be recognised."""
    (xx, xy, xz), (_, _, yz), (zx, zy, zz) = R
    gamma: Entry | None = 0
    if type(xz) is int and xz == 0:
        alpha, theta = angle_of(zz, neg(yz)), angle_of(xx, neg(xy))
    elif isinstance(zz, Poly):
        return None
    else:
        twist = math.acos(float(zz))
        gamma, alpha, theta = _over(neg(yz), xz, twist), twist, _over(zy, zx, twist)
    return None if gamma is None or alpha is None or theta is None else (gamma, alpha, theta)


def _over(c: Entry, s: Entry, alpha: float) -> Entry | None:
    """Angle whose cosine and sine, times the sine of alpha, are c and s."""
    sine = turn(alpha)[1]
    return angle_of(div(c, sine), div(s, sine))


def angle_of(c: Entry, s: Entry) -> Entry | None:
    """Angle from its cosine and sine: a number, a number plus or minus a symbol, or None."""
    if not isinstance(c, Poly) and not isinstance(s, Poly):
        return _zero(snap_angle(math.atan2(s, c), 0.0))
    names = {name for value in (c, s) if isinstance(value, Poly) for name in value.letters}
    if len(names) != 1:
        return None
    cosine = ((f"cos({next(iter(names))})", 1),)
    parts = [float(value.terms.get(cosine, 0)) if isinstance(value, Poly) else 0.0 for value in (c, s)]
    offset = _zero(snap_angle(math.atan2(parts[1], parts[0]), 0.0))
    for sign in (1, -1):
        angle = sign * letter(next(iter(names))) + offset
        if all(_same(a, b) for a, b in zip(turn(angle), (c, s), strict=True)):
            return angle
    return None


def _direction(p: Vec) -> float:
    x, y, _ = p
    if type(y) is int:
        return 0.0
    if type(x) is int or isinstance(x, Poly) or isinstance(y, Poly):
        return math.pi / 2
    return math.atan2(y, x)


def _lengths(p: Vec, gamma: Entry, alpha: Entry, theta: Entry) -> dict[str, Entry] | None:
    """Row lengths from p = b z + d x' + r a with x' = Rot(z, gamma) x and a the joint axis."""
    c, s = turn(gamma)
    ca, sa = turn(alpha)
    d, across = dot((c, s, 0), p), dot((neg(s), c, 0), p)
    if type(sa) is int and sa == 0:
        b, r = (0, p[2]) if ca == 1 else (p[2], 0)
    elif isinstance(across, Poly) and type(sa) is float:
        return None
    else:
        r = neg(quotient(across, sa))
        b = sub(p[2], mul(ca, r))
    if isinstance(r, Quotient):
        return None
    return {"gamma": gamma, "b": b, "alpha": alpha, "d": d, "theta": theta, "r": r}


def _zero(angle: float) -> Number:
    return 0 if angle == 0 else angle


def _is_simple(value: Entry) -> bool:
    """Whether a value is a number, a symbol or a negated symbol."""
    if not isinstance(value, Poly):
        return True
    monomial, number = next(iter(value.terms.items()))
    return len(value.terms) == 1 and abs(number) == 1 and len(monomial) == 1 and monomial[0][1] == 1


def _flat(R: Mat) -> list[Entry]:
    return [s for row in R for s in row]


def _same(a: Entry, b: Entry) -> bool:
    if isinstance(a, Poly) or isinstance(b, Poly):
        return isinstance(a, Poly) and a == b
    if type(a) is int or type(b) is int:
        return type(a) is type(b) and a == b
    return abs(a - b) <= SAME * max(1.0, abs(a))
