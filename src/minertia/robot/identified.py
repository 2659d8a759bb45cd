"""The robot of an identified model: its description with the identified values in place of the nominal ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import tomli_w

from minertia.algebra.vec3 import HERE, Pose, compose, invert
from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import DescriptionError
from minertia.robot.corrections import JointCorrection, JointCorrections, carried_loads, described_joints
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.formats.dh.read import parse_toml
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.parameters import full_name
from minertia.robot.robot import Frame, Note, Robot

FORMAT = 1
LOOP = "position loops"
GEOMETRY = "geometry"  # table of a model of corrected frames
WRENCH = "wrench"  # table of a model of a tool on a sensor
ALONE = "sensor"  # robot and joint of such a model if its files contain the sensor's orientation
CALIBRATED = "calibrated"  # table of a model of a robot that was calibrated before
TOOL = "calibrated_tool"  # name of the tool's frame in the corrected robot
TAKEN = ("effects", "parameters", LOOP, GEOMETRY)  # where the notes below say they are of


def taken_notes(robot: Robot) -> list[Note]:
    """Notes of a robot on the values taken from an identified model."""
    return [note for note in robot.notes if note.where in TAKEN]


def parse_identified(text: str, source: str, options: ReadOptions) -> Robot:
    """Robot of a model file, with all identified values."""
    try:
        document = toml_document(text)
        check_format(document, source)
        if GEOMETRY in document:
            return corrected_robot(nominal_robot(document, source, options), document[GEOMETRY])
        if WRENCH in document:
            return _sensing_robot(nominal_robot(document, source, options), source)
        evidence = document.get("evidence", {})
        robot, exports = nominal_robot(document, source, options), document.get("exports", {})
        export = export_values(exports, options.target)
        if export is not None:
            return exported_robot(robot, export)
        return identified_robot(
            robot,
            document["standard"],
            document["effects"]["terms"],
            is_physical=bool(document["physical"]),
            excess=float(evidence.get("standard_excess", 0.0)),
            loop=evidence.get("loop", {}),
        )
    except DocumentError as err:
        raise DescriptionError(str(err), file=source, line=err.line) from None
    except KeyError as err:
        raise DescriptionError(f"the model file is incomplete: {err} is missing", file=source) from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as err:
        raise DescriptionError(f"the model file is damaged: a value is invalid ({err})", file=source) from None


def _sensing_robot(robot: Robot, source: str) -> Robot:
    """Robot of a model of a tool on a sensor; raises an error if it has none."""
    if robot.name == ALONE and [joint.name for joint in robot.joints] == [ALONE]:
        raise DescriptionError(
            "this model of a tool on a force/torque sensor has no robot; name a robot file (the C code of the tool, "
            "tool_wrench.c, is beside the model)",
            file=source,
        )
    return robot


def check_format(document: Mapping[str, Any], source: str) -> None:
    """Raise an error for a model file of another format version."""
    if document.get("format") != FORMAT:
        found = document.get("format")
        raise DescriptionError(
            f"the model file has format {found}; this version of minertia reads format {FORMAT}", file=source
        )


def nominal_robot(document: Mapping[str, Any], source: str, options: ReadOptions) -> Robot:
    """Robot of a model file before identification."""
    robot = parse_toml(tomli_w.dumps(document["robot"]), source, options)
    framed = with_frames(robot, document.get("frames", {}))
    return framed if CALIBRATED not in document else _calibrated(framed, document[CALIBRATED])


def identified_robot(
    robot: Robot,
    standard: Mapping[str, float],
    terms: Sequence[Mapping[str, Any]],
    *,
    is_physical: bool,
    excess: float,
    loop: Mapping[str, Any] | None = None,
) -> Robot:
    """Robot with identified values only: parameters that were not identified are 0.

    standard: values by full name.  terms: effects besides the standard ones, as listed in a model file: kind,
    joints, tag, and constants.  excess: relative increase of the sum of squares over the unconstrained fit.
    loop: position servos of a model that was fitted to commands, which are not part of the robot's efforts.
    """
    own = set(robot.columns(True, True)) - robot.massless_columns  # no effort shows them, so a fit gives them anything
    values = {name: float(v) for name, v in standard.items() if name in own}
    values |= {name: 0.0 for name in (*own, *robot.effect_values) if name not in values}
    constants: dict[str, Mapping[str, float]] = {}
    lost = []
    for term in terms:
        name = full_name(str(term["kind"]), int(term["joints"][0]))
        found = name + str(term.get("tag", ""))
        if name in constants:
            lost.append(found)  # one of a kind on each joint
            continue
        values[name] = float(standard[found])
        constants[name] = {k: float(v) for k, v in term.items() if k in BY_SYMBOL[str(term["kind"])].constants}
    changed = robot.with_parameters(values, constants)
    return changed.with_notes([*_notes(changed, lost, is_physical, excess), *_loop_notes(loop or {})])


def export_values(exports: Mapping[str, Any], target: str) -> Mapping[str, Any] | None:
    """Entry with the values fitted for an export target; None if it takes those of the model itself.

    An entry may refer to another target with the same values (`values = "mjcf"`).
    """
    export = exports.get(target, {})
    export = exports.get(export.get("values", ""), export)
    return export if "standard" in export else None


def exported_robot(robot: Robot, export: Mapping[str, Any]) -> Robot:
    """Robot with the parameters that a model file holds for an export format."""
    return identified_robot(robot, export["standard"], export["effects"]["terms"], is_physical=True, excess=0.0)


def corrected_robot(robot: Robot, geometry: Mapping[str, Any]) -> Robot:
    """Robot with the calibrated frames.

    geometry: `joints`, tables of a joint number and its pose in the parent frame; `frames`, tables of a name, the
    number of the joint that carries the frame, and its pose; `corrections` of joint positions, which no frame can
    represent.
    """
    found = robot.numeric
    joints, frames = list(found.joints), dict(found.frames)
    for one in geometry["joints"]:
        R, p = _pose(one["pose"])
        joints[int(one["joint"]) - 1] = replace(joints[int(one["joint"]) - 1], R=R, p=p)
    for one in geometry["frames"]:
        frames[str(one["name"])] = Frame(int(one["joint"]) - 1, _pose(one["pose"]))
    moved = replace(found, joints=tuple(joints), frames=frames, corrections=_corrections(found, geometry))
    notes = [Note("info", GEOMETRY, f"frames of {len(geometry['joints'])} joints are taken from the calibration")]
    if lost := len(geometry["corrections"]):
        text = (
            f"{lost} corrections of joint positions (compliance, sag, gear, eccentricity, coupling) cannot be "
            "represented by frames and are not applied"
        )
        notes.append(Note("warning", GEOMETRY, text))
    return moved.with_notes(notes)


def _corrections(robot: Robot, geometry: Mapping[str, Any]) -> JointCorrections:
    """Corrections of joint positions from a calibration; robot: the robot before the calibration."""
    tip, root = robot.payload_frame(geometry["tip"]), geometry.get("root")
    start = Frame(None, HERE) if root is None else robot.payload_frame(root)
    path = [j for j in robot.ancestors(tip.joint) if start.joint is None or j > start.joint]  # type: ignore[arg-type]
    first = compose(invert(start.pose), (robot.joints[path[0]].R, robot.joints[path[0]].p))
    terms = tuple(
        JointCorrection(str(c["name"]), str(c["group"]), int(c["joint"]) - 1, float(c["value"]) / float(c["size"]))
        for c in geometry["corrections"]
    )
    tool = TOOL if any(one["name"] == TOOL for one in geometry["frames"]) else str(geometry["tip"])
    joints = described_joints([robot.joints[j] for j in path], first, robot.symbol_values)
    return JointCorrections(
        tuple(path), joints, robot.gravity, terms, tool, carried_loads(robot.joints, robot.links, path)
    )


def calibration_table(robot: Robot) -> dict[str, Any]:
    """Table of a model file of a calibrated robot: its frames before, and corrections of joint positions; else none."""
    own = robot.corrections
    if own is None:
        return {}
    table = {
        "joints": [j + 1 for j in own.indices],
        "before": [[float(x) for x in (*(x for row in joint.R for x in row), *joint.p)] for joint in own.joints],  # type: ignore[arg-type]
        "gravity": list(own.gravity),
        "frame": own.frame,
        "loads": [list(load) for load in own.loads],
        "terms": [{"name": t.name, "group": t.group, "joint": t.joint + 1, "factor": t.factor} for t in own.terms],
    }
    return {CALIBRATED: table}


def _calibrated(robot: Robot, table: Mapping[str, Any]) -> Robot:
    """Robot with the corrections of a `calibration_table`; its frames are the corrected ones already."""
    indices = tuple(int(j) - 1 for j in table["joints"])
    poses = [_pose(pose) for pose in table["before"]]
    own = JointCorrections(
        indices,
        tuple(replace(robot.joints[j], R=R, p=p) for j, (R, p) in zip(indices, poses, strict=True)),
        (float(table["gravity"][0]), float(table["gravity"][1]), float(table["gravity"][2])),
        tuple(
            JointCorrection(str(t["name"]), str(t["group"]), int(t["joint"]) - 1, float(t["factor"]))
            for t in table["terms"]
        ),
        str(table["frame"]),
        tuple(tuple(float(x) for x in load) for load in table["loads"]),
    )
    return replace(robot, corrections=own)


def _notes(robot: Robot, lost: Sequence[str], is_physical: bool, excess: float) -> list[Note]:
    taken = ", ".join(f"{name} = {value:.4g}" for name, value in robot.effect_values.items())
    notes = [Note("info", "effects", f"taken from the model: {taken or 'none'}")]
    if lost:
        text = f"a joint can have one effect of each kind; {', '.join(lost)} are omitted"
        notes.append(Note("warning", "effects", text))
    if not is_physical:
        text = "these values predict the efforts but are not physically consistent"
        notes.append(Note("warning", "parameters", text))
    if excess > 0:
        text = (
            "masses and inertias are those of the best physically consistent fit; the unconstrained fit has a "
            f"residual sum of squares lower by {100 * excess:.2g} %"
        )
        notes.append(Note("info", "parameters", text))
    return notes


def _loop_notes(loop: Mapping[str, Any]) -> list[Note]:
    """Notes on results of a fit to commands that the robot's efforts do not include."""
    found = []
    if loop.get("gauges"):
        found.append(
            "the scale of the efforts is not identifiable: they are in units of kp of "
            f"{', '.join(loop['gauges'])}, which was set to 1"
        )
    hidden = [j for j, is_one in enumerate(loop.get("damping_is_one", ())) if is_one]
    if hidden:
        names = ", ".join(loop["joints"][j] for j in hidden)
        sums = ", ".join(f"{loop['kd'][j]:.4g}" for j in hidden)
        found.append(
            f"viscous friction of {names} was not distinguishable from the servo's damping and is not included in "
            f"the efforts; the sum of both is {sums} N m s/rad (N s/m)"
        )
    if any(loop.get("zeros", ())):
        shifts = ", ".join(f"{zero:.4g}" for zero in loop["zeros"])
        found.append(f"joint positions of the model are those of the logs plus {shifts}")
    if "floor" in loop:
        found.append(
            f"the ground contact at {loop['floor']['height']:.4g} m is not part of the robot and is not "
            "included in the efforts"
        )
    return [Note("warning", LOOP, text) for text in found]


def with_frames(robot: Robot, frames: Mapping[str, Any]) -> Robot:
    """Robot with the frames of its original file, for payloads; robots in TOML have only joint frames."""
    own = frames.get("links", ())
    joints = tuple(replace(j, file_frame=_pose(v)) for j, v in zip(robot.joints, own, strict=False))
    named = {
        f["name"]: Frame(f["joint"] - 1 if f["joint"] else None, _pose(f["pose"])) for f in frames.get("named", ())
    }
    if len(joints) != robot.n_joints:
        return robot
    return replace(robot, joints=joints, frames=named or robot.frames)


def _pose(v: Sequence[float]) -> Pose:
    """Pose from twelve numbers: the rotation matrix by rows, then the position."""
    x = [float(value) for value in v]
    return ((x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8])), (x[9], x[10], x[11])
