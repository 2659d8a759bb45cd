"""The folder of files that a calibration leaves."""

from __future__ import annotations

import hashlib
from pathlib import Path

from minertia.algebra.vec3 import Mat
from minertia.calibration.result import Calibration
from minertia.io.files import write_file
from minertia.robot.files import write_robot
from minertia.robot.formats.urdf.new import exact_rpy
from minertia.robot.formats.urdf.pose import written_origin
from minertia.robot.formats.xml import parse_xml

UNIVERSAL = {  # joints of Universal Robots' descriptions -> names in the file of their driver
    "shoulder_pan_joint": "shoulder",
    "shoulder_lift_joint": "upper_arm",
    "elbow_joint": "forearm",
    "wrist_1_joint": "wrist_1",
    "wrist_2_joint": "wrist_2",
    "wrist_3_joint": "wrist_3",
}
DIGITS = 18  # of the number that stands for a calibration


def save_calibration(found: Calibration, folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write calibration.json and the corrected robot.

    The robot is robot.toml, and robot.urdf where it was read from a URDF; of a Universal Robot also kinematics.yaml,
    which its driver and description take as `kinematics_params_file`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / "calibration.json", folder / "robot.toml"]
    write_file(made[0], found.to_json(), force=force)
    write_robot(found.robot, made[1], force=force)
    source = found.chain.robot.source
    if source is not None and Path(source).suffix.lower() == ".urdf":
        made.append(folder / "robot.urdf")
        write_robot(found.robot, made[-1], template=source, force=force)
        if set(UNIVERSAL) <= set(found.chain.names):
            made.append(folder / "kinematics.yaml")
            write_file(made[-1], universal_kinematics(made[-2].read_text("utf-8")), force=force)
    return tuple(made)


def universal_kinematics(urdf: str) -> str:
    """The placements of a Universal Robot's six joints as its driver reads them, from the text of a URDF."""
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
