"""`write_robot`: a `Robot` to a description file, by the file's suffix."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from minertia.io.errors import DescriptionError, expect_path
from minertia.robot.given import RobotLike, as_robot
from minertia.robot.robot import Note

# suffix -> "module:function"; a writer takes (robot, path, force=) and, if it can fill in a user's file, template=
WRITERS = {
    ".toml": "minertia.robot.dh.write:write_toml",
    ".urdf": "minertia.robot.urdf.write:write_urdf",
    ".mjcf": "minertia.robot.mjcf.write:write_mjcf",
    ".xml": "minertia.robot.mjcf.write:write_mjcf",
}
WITH_TEMPLATE = (".urdf", ".mjcf", ".xml")


def write_robot(
    robot: RobotLike, path: str | Path, template: str | Path | None = None, *, force: bool = False
) -> tuple[Note, ...]:
    """Write a robot as TOML, URDF or MJCF; the notes say what the format cannot hold.

    template: a URDF or MJCF file of the same robot, of which everything but the parameters is kept as it stands; it is
    never written over.  force: replace a file that minertia did not write, or that was edited since.
    """
    robot = as_robot(robot)
    expect_path(path, "a robot to write")
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        known = ", ".join(WRITERS)
        raise DescriptionError(f"robots are not written to files ending in '{suffix}'; known: {known}", file=path)
    if template is not None and suffix not in WITH_TEMPLATE:
        raise DescriptionError(f"a '{suffix}' file is written whole and takes no template", file=path)
    options: dict[str, Any] = {"force": force} | ({} if template is None else {"template": template})
    notes = _writer(suffix)(robot, path, **options)
    return tuple(notes or ())


def _writer(suffix: str) -> Any:
    module, function = WRITERS[suffix].split(":")
    return getattr(importlib.import_module(module), function)
