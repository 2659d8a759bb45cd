"""Files of a calibration: the corrected robot, and the kinematics file for drivers of Universal Robots."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from minertia.algebra.vec3 import Mat
from minertia.io.files import write_file
from minertia.robot.files import write_robot
from minertia.robot.formats.urdf.new import exact_rpy
from minertia.robot.formats.urdf.pose import written_origin
from minertia.robot.formats.xml import parse_xml
from minertia.robot.identified import taken_notes
from minertia.robot.robot import Note, Robot

UNIVERSAL = {  # joints of Universal Robots' descriptions -> names in the file of their driver
    "shoulder_pan_joint": "shoulder",
    "shoulder_lift_joint": "upper_arm",
    "elbow_joint": "forearm",
    "wrist_1_joint": "wrist_1",
    "wrist_2_joint": "wrist_2",
    "wrist_3_joint": "wrist_3",
}
DIGITS = 18  # of the number that stands for a calibration
OWN, URDF, MJCF, DRIVER = "robot.toml", "robot.urdf", "robot.xml", "kinematics.yaml"
ZEROS = "zeros.csv"  # of joints, to be added to encoder readings by the controller


def corrected_files(robot: Robot) -> tuple[str, ...]:
    """Names of the files of a corrected robot.

    robot.toml, and robot.urdf or robot.xml if it was read from a URDF or MJCF; for a Universal Robot also
    kinematics.yaml, which its driver and description take as `kinematics_params_file`.
    """
    if _template(robot) is None:
        return (OWN, MJCF) if Path(robot.source or "").suffix.lower() in (".xml", ".mjcf") else (OWN,)
    is_universal = set(UNIVERSAL) <= {joint.name for joint in robot.joints}
    return (OWN, URDF, DRIVER) if is_universal else (OWN, URDF)


def write_corrected(described: Robot, robot: Robot, folder: Path) -> tuple[Note, ...]:
    """Write the files of a corrected robot; returns notes on properties that the files cannot represent.

    described: the robot before correction.
    """
    names = corrected_files(described)
    notes = (*taken_notes(robot), *write_robot(robot, folder / OWN))
    if URDF in names:
        notes += tuple(write_robot(robot, folder / URDF, template=_template(described)))
    if MJCF in names:  # whole: its own elements have the frames as they were
        notes += tuple(write_robot(robot, folder / MJCF))
    if DRIVER in names:
        write_file(folder / DRIVER, universal_kinematics((folder / URDF).read_text("utf-8")))
    return tuple(note for note in notes if note.level != "info")


def zeros_table(robot: Robot, zeros: Mapping[str, float]) -> str:
    """CSV text of joint zeros with their units, to be added to encoder readings."""
    units = {joint.name: "rad" if joint.kind == "revolute" else "m" for joint in robot.joints}
    rows = [f"{name},{zero!r},{units[name]}" for name, zero in zeros.items()]
    return "\n".join(["joint,add_to_reading,unit", *rows]) + "\n"


def _template(robot: Robot) -> str | None:
    source = robot.source or ""
    return source if source.lower().endswith(".urdf") and Path(source).is_file() else None


def universal_kinematics(urdf: str) -> str:
    """Placements of a Universal Robot's six joints in its driver's format, from the text of a URDF."""
    tree = parse_xml(urdf, "robot.urdf")
    joints = {element.attributes.get("name", ""): element for element in tree.all("joint")}
    lines = []
    for joint, name in UNIVERSAL.items():
        R, xyz = written_origin(joints[joint], joint)
        angles = exact_rpy(_matrix(R))
        keys = zip(("x", "y", "z", "roll", "pitch", "yaw"), (*xyz, *angles), strict=True)
        lines += [f"  {name}:", *(f"    {key}: {float(value)!r}" for key, value in keys)]
    number = int(hashlib.sha256("\n".join(lines).encode()).hexdigest(), 16) % 10**DIGITS
    return "\n".join(["kinematics:", *lines, f"  hash: calib_{number}", ""])


def _matrix(R: object) -> Mat:
    return tuple(tuple(float(s) for s in row) for row in R)  # type: ignore[attr-defined, return-value]
