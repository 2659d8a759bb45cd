"""Robots as plain data: for JSON, as the page draws them (bodies, centres of mass, frames), with base parameters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.show import text
from minertia.algebra.vec3 import Pose
from minertia.base.derive import base_parameters
from minertia.base.grouping import FORMAT, BaseParameters
from minertia.excitation.capsules import robot_body
from minertia.excitation.poses import link_poses
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, UnknownName
from minertia.report.tables import CLASS_WORDS, certificate_sentences, class_counts, moving_mass, parent_name, unit_of
from minertia.robot.check import check_robot
from minertia.robot.effects import ROTOR_SYMBOLS, STANDARD_SYMBOLS
from minertia.robot.joint import Cut, Joint
from minertia.robot.loops.closure import cut_joints
from minertia.robot.loops.forms import loop_forms
from minertia.robot.parameters import split_name
from minertia.robot.robot import Note, Robot, find_frame
from minertia.robot.shapes import UNREAD, Piece, file_pieces
from minertia.version import __version__

# ------------------------------------------------------------------------------------------------------------ as JSON


ROBOT_FORMAT = 1


def robot_data(robot: Robot) -> dict[str, Any]:
    """Structure, symbolic and numeric placements, limits, drives, symbols and notes."""
    return {
        "format": ROBOT_FORMAT,
        "robot": robot.name,
        "source": robot.source,
        "base": robot.base,
        "gravity": list(robot.gravity),
        "coordinates": list(robot.coordinate_names),
        "moving_mass": moving_mass(robot),
        "missing_links": list(robot.missing_links),
        "joints": [_joint(robot, j) for j in range(robot.n_joints)],
        "loops": [_loop(robot, cut, form) for cut, form in zip(robot.cuts, loop_forms(robot), strict=True)],
        "drive_coupling": None if robot.coupling is None else [list(row) for row in robot.coupling],
        "symbols": dict(robot.symbols),
        "notes": [asdict(note) for note in robot.notes],
    }


def _joint(robot: Robot, j: int) -> dict[str, Any]:
    joint, numeric = robot.joints[j], robot.numeric.joints[j]
    link, motor = robot.links[j], robot.coupled_motors.get(j)
    return {
        "number": j + 1,
        "name": joint.name,
        "kind": joint.kind,
        "parent": None if joint.parent is None else joint.parent + 1,
        "carried_by": parent_name(robot, joint),
        "link": joint.link,
        **_placement((joint.R, joint.p), (numeric.R, numeric.p)),
        "limits": asdict(joint.limits),
        "follows": _follows(robot, joint),
        "passive": joint.is_passive,
        "motor": joint.has_motor or j in robot.independent,
        "elastic": None if joint.elastic is None else asdict(joint.elastic),
        "parameters": None if link is None else [float(v) for v in link],
        "effects": dict(robot.effects[j]),
        "motor_effects": dict(robot.motor_effects[motor]) if motor is not None and robot.motor_effects else {},
        "constants": {symbol: dict(numbers) for symbol, numbers in robot.constants[j].items()},
    }


def _loop(robot: Robot, cut: Cut, form: str) -> dict[str, Any]:
    """Loop closure of the robot file as plain data.

    joint: name of the tree joint that represents a cut joint with effects; None for a cut joint without
    effects.
    """
    pin, seen = robot.pin(cut), robot.uncut(cut)
    numeric = seen.at(robot.symbol_values)
    inside = sorted(cut_joints(robot, cut))
    return {
        "name": cut.name,
        "kind": seen.kind,
        "form": form,
        "joint": None if pin is None else robot.joints[pin].name,
        "first": _end(robot, seen.first, seen.first_pose, numeric.first_pose),
        "second": _end(robot, seen.second, seen.second_pose, numeric.second_pose),
        "seed": {} if robot.seed is None else {robot.joints[j].name: robot.seed[j] for j in inside},
    }


def _end(robot: Robot, j: int | None, pose: Pose, numeric: Pose) -> dict[str, Any]:
    return {"joint": None if j is None else robot.joints[j].name, **_placement(pose, numeric)}


def _placement(pose: Pose, numeric: Pose) -> dict[str, Any]:
    """Pose in symbolic and numeric form."""
    return {
        "position": [text(s) for s in pose[1]],
        "rotation": [[text(s) for s in row] for row in pose[0]],
        "position_value": [float(s) for s in numeric[1]],
        "rotation_value": [[float(s) for s in row] for row in numeric[0]],
    }


def _follows(robot: Robot, joint: Joint) -> dict[str, Any] | None:
    if joint.follows is None:
        return None
    leaders = [robot.joints[k].name for k in joint.follows.joints]
    found = {"joints": leaders, "ratios": list(joint.follows.ratios), "offset": joint.follows.offset}
    return found | ({"joint": leaders[0], "ratio": joint.follows.ratios[0]} if len(leaders) == 1 else {})


# ----------------------------------------------------------------------------------------------------- as it is drawn


HULL = 400  # points of a mesh that are drawn, as their convex hull


def drawn_robot(robot: Robot) -> dict[str, Any]:
    """Bodies, collision capsules, centres of mass and named frames of a robot as plain data [m].

    All are given in joint frames; joint: index from 0, None for the ground.
    """
    robot = robot.numeric
    return {
        "bodies": _bodies(robot),
        "capsules": _capsules(robot),
        "masses": [_mass(ten) for ten in robot.links],
        "frames": [
            {
                "name": name,
                "joint": f.joint,
                "position": _listed(f.pose[1]),
                "rotation": [_listed(r) for r in f.pose[0]],
            }
            for name, f in robot.frames.items()
        ],
        "has_loops": bool(robot.cuts),
        "start": _start(robot),
    }


def frames_at(robot: Robot, q: list[float]) -> list[dict[str, Any]]:
    """Pose of every joint frame in the base frame at a posture; loop closure is solved."""
    poses = link_poses(robot, np.array([q], float))
    return [{"R": np.round(pose.R[0], 6).tolist(), "p": np.round(pose.p[0], 6).tolist()} for pose in poses]


SEEN_FROM = np.array([0.75, -1.0, 0.42])  # where the viewer of an outline is, seen from the robot's base


def outline(robot: Robot) -> list[list[float]]:
    """Strokes of a small picture of a robot, the farthest first: two ends (x to the right, y up) and a width [m]."""
    drawing = drawn_robot(robot)
    poses = link_poses(robot.numeric, np.array([drawing["start"] if robot.cuts else _bent(robot)], float))
    depth = SEEN_FROM / np.linalg.norm(SEEN_FROM)
    right = np.cross([0.0, 0.0, 1.0], depth)
    right /= np.linalg.norm(right)
    axes = np.array([right, np.cross(depth, right), depth])

    def seen(point: dict[str, Any]) -> Array:
        p, j = np.array(point["p"], float), point["joint"]
        placed = p if j is None else poses[j].R[0] @ p + poses[j].p[0]
        return np.asarray(axes @ placed, float)

    strokes = []
    for capsule in drawing["capsules"]:
        a, b = seen(capsule["a"]), seen(capsule["b"])
        strokes.append((a[2] + b[2], [*a[:2], *b[:2], 2 * capsule["radius"]]))
    return [[round(float(v), 4) for v in stroke] for _, stroke in sorted(strokes, key=lambda own: own[0])]


def _bent(robot: Robot) -> list[float]:
    """Initial positions of a tree with its joints a little bent [0.45 rad, 0.3 m], where their limits allow it."""
    found = []
    for k, (value, j) in enumerate(zip(_start(robot), robot.independent, strict=True)):
        joint = robot.joints[j]
        lower, upper = joint.limits.lower, joint.limits.upper
        value += 0.3 if joint.kind == "prismatic" else 0.45 * (-1) ** k
        value = value if lower is None else max(value, lower)
        found.append(value if upper is None else min(value, upper))
    return found


def _start(robot: Robot) -> list[float]:
    """Initial positions of the independent joints: the seed configuration, else zero, clipped to the limits."""
    found = []
    for j in robot.independent:
        limits = robot.joints[j].limits
        value = 0.0 if robot.seed is None else float(robot.seed[j])
        lower, upper = limits.lower, limits.upper
        value = value if lower is None else max(value, lower)
        found.append(round(value if upper is None else min(value, upper), 6))
    return found


def _bodies(robot: Robot) -> list[dict[str, Any]]:
    found = []
    for piece in file_pieces(robot):
        try:
            frame = find_frame(robot, piece.link)
        except UnknownName:
            continue
        if piece.kind != UNREAD:
            R, p = np.array(frame.pose[0], float), np.array(frame.pose[1], float)
            found.append({"joint": frame.joint, **_placed(piece, R, p)})
    return found


def _placed(piece: Piece, R: Array, p: Array) -> dict[str, Any]:
    """Body in the frame of the joint that carries it."""
    if piece.points is not None:
        points = piece.points @ R.T + p
        chosen = np.unique(np.linspace(0, len(points) - 1, HULL).astype(int))
        chosen = np.union1d(chosen, _extremes(points))
        return {"kind": "hull", "points": np.round(points[chosen], 5).tolist()}
    assert piece.R is not None and piece.p is not None
    turn, centre = R @ piece.R, p + R @ piece.p
    return {"kind": piece.kind, "size": list(piece.size), "R": turn.round(6).tolist(), "p": centre.round(6).tolist()}


def _extremes(points: Array) -> NDArray[np.intp]:
    """Indices of the extreme points along the axes and the diagonals."""
    steps = (-1.0, 0.0, 1.0)
    ways = np.array([(x, y, z) for x in steps for y in steps for z in steps if (x, y, z) != (0, 0, 0)])
    return np.unique((points @ ways.T).argmax(axis=0))


def _capsules(robot: Robot) -> list[dict[str, Any]]:
    """Capsules of the collision model, which are drawn if the file has no shapes."""
    try:
        body = robot_body(robot)
    except MinertiaError:
        return []
    return [
        {
            "joint": c.joint,
            "a": {"joint": c.a.joint, "p": _listed(c.a.p)},
            "b": {"joint": c.b.joint, "p": _listed(c.b.p)},
            "radius": round(c.radius, 5),
            "by_frames": c.by_frames,
        }
        for c in body.capsules
    ]


def _mass(ten: Any) -> dict[str, Any] | None:
    if ten is None or not ten[9] > 0:
        return None
    return {"mass": float(ten[9]), "centre": [round(float(v) / float(ten[9]), 5) for v in ten[6:9]]}


def _listed(v: Any) -> list[float]:
    return [round(float(x), 6) for x in v]


# ----------------------------------------------------------------------------------------------- with base parameters


def robot_view(robot: Robot, *, rotors: bool, friction: bool) -> dict[str, Any]:
    """Structure, drawing, warnings on the file, and base parameters where they can be derived."""
    return {
        "robot": robot_data(robot),
        "drawing": drawn_robot(robot),
        "notes": [_note(robot, note) for note in check_robot(robot)],
        "base": _base(robot, rotors, friction),
    }


def _note(robot: Robot, note: Note) -> dict[str, Any]:
    """Note with the joint (from 0) whose link it names, if any."""
    words = note.where.replace("'", " ").split()
    named = [j for j, joint in enumerate(robot.joints) if {joint.name, joint.link or joint.name} & set(words)]
    return {**asdict(note), "joint": named[0] if named else None}


def _base(robot: Robot, rotors: bool, friction: bool) -> dict[str, Any]:
    try:
        return base_view(base_parameters(robot, rotors=rotors, friction=friction))
    except MinertiaError as err:
        return {"error": str(err)}


def base_view(base: BaseParameters, frames: str = "joint") -> dict[str, Any]:
    """Each base parameter with its relation, the links (from 1) in it, its unit and its nominal value.

    frames: "joint" or "file", in which the classes are given.
    """
    values = base.values().tolist() if base.robot.has_parameters else [None] * base.count
    texts, latex = base.relation_texts(), base.relation_latex()
    parameters = [
        {
            "name": name,
            "text": texts[name],
            "latex": latex[name],
            "links": sorted({split_name(base.columns[c])[1] for c in np.flatnonzero(base.K[k])}),
            "columns": [base.columns[c] for c in np.flatnonzero(base.K[k])],
            "unit": unit_of(base.robot, name),
            "nominal": values[k],
            "is_numeric": bool(base.is_numeric[k]),
        }
        for k, name in enumerate(base.names)
    ]
    return {
        "count": base.count,
        "method": base.method,
        "parameters": parameters,
        "columns": list(base.columns),
        "classes": base.classes(frames),
        "class_words": dict(CLASS_WORDS),
        "class_counts": dict(class_counts(base, frames)),
        "certificate": list(certificate_sentences(base)),
    }


def base_facts(base: BaseParameters, frames: str) -> dict[str, object]:
    """Method and figures of the base parameter derivation."""
    symbols = {split_name(name)[0] for name in base.columns}
    pairs: dict[str, object] = {
        "minertia": __version__,
        "page format": FORMAT,
        "method": base.method,
        "rotor inertias": "yes" if "IA" in symbols else "no",
        "friction and offsets": "yes" if symbols & set(STANDARD_SYMBOLS) - set(ROTOR_SYMBOLS) else "no",
        "gravity [m/s\u00b2]": "(" + ", ".join(f"{g:g}" for g in base.robot.gravity) + ")",
        "classes in": f"{frames} frames",
        "random states": f"{base.certificate.states}, seed {base.certificate.seed}",
    }
    if base.robot.source:
        pairs["robot file"] = base.robot.source
    return pairs
