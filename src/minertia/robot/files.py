"""Robots from description files or by bundled name, and back: tables of readers and writers by file extension."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from minertia.algebra.vec3 import HERE
from minertia.io.errors import DescriptionError, InputError, UnknownName, expect_path, expected
from minertia.io.files import is_file, reading, why_no_file
from minertia.robot.formats.reading import ReadOptions, is_model_text, read_text, referenced
from minertia.robot.formats.snap import ANGLE_TOLERANCE
from minertia.robot.options import BASES
from minertia.robot.robot import Note, Robot
from minertia.robot.targets import STAGES, target_of

MODEL_FILE = "model.toml"  # in a folder that identify wrote
LOOPS_SUFFIX = ".loops.toml"  # of the file of loops beside a description


# suffix -> "module:function"; a reader takes (text, source, options) and returns a Robot
READERS = {
    ".toml": "minertia.robot.formats.dh.read:parse_toml",
    ".par": "minertia.robot.formats.symoro.read:parse_par",
    ".urdf": "minertia.robot.formats.urdf.read:parse_urdf",
    ".mjcf": "minertia.robot.formats.mjcf.read:parse_mjcf",
    **dict.fromkeys(STAGES, "minertia.robot.formats.usd.read:parse_usd"),
}
MODEL_READER = "minertia.robot.identified:parse_identified"


def bundled_robots() -> tuple[str, ...]:
    """Names of the robots that come with the package."""
    folder = files("minertia.robot") / "library"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


@lru_cache(maxsize=64)
def bundled_title(name: str) -> str:
    """Name of a bundled robot for display."""
    return read_robot(name, letters=False).name


def read_robot(
    name_or_path: str | Path,
    *,
    base: str | None = None,
    gravity: Sequence[float] | None = None,
    snap: float = ANGLE_TOLERANCE,
    letters: bool = True,
    target: str = "",
    prim: str = "",
) -> Robot:
    """Read a robot from a TOML, URDF, MJCF, USD or SYMORO file, an identified model, or a bundled robot by name.

    base: "fixed" or "floating", None for what the file says.  gravity [m/s2] in the base frame, None for the
    file's.  snap: tolerance [rad] within which angles rounded in the file are taken as right angles; 0 takes them
    as written.  letters: whether lengths stay symbolic (their values are in `Robot.symbols`).  target: "urdf",
    "mjcf" or "usd" for the best robot that such a file can represent, if an identified model has one.  prim: path of
    the robot in a USD stage of several robots.
    """
    if base not in (None, *BASES):
        raise UnknownName("kind of base", base, BASES)
    expect_path(name_or_path, "a robot")
    text, source, suffix = _load(name_or_path)
    reader = _reader(suffix, text, source)
    if prim and suffix not in STAGES:
        raise InputError(f"a prim applies to USD stages only, but '{name_or_path}' has another file name extension")
    robot: Robot = reader(text, source, ReadOptions(base, snap, letters, _beside(Path(source), suffix), target, prim))
    return robot if gravity is None else robot.with_gravity(gravity)


def parse_robot(text: str, source: str) -> Robot:
    """Parse a robot from the text of a TOML file, lengths as numbers; source: origin of the text, for messages."""
    robot: Robot = _reader(".toml", text, source)(text, source, ReadOptions(None, ANGLE_TOLERANCE, False, None))
    return robot


def _load(name_or_path: str | Path) -> tuple[str, str, str]:
    path = model_in(name_or_path)
    if is_file(path):
        if path.suffix.lower() == ".usdz":
            raise DescriptionError("it is a zip archive; unpack it and give the USD layer inside", file=name_or_path)
        text = read_text(path) if path.suffix.lower() not in STAGES else ""
        reading(path, *referenced(path, text))
        return text, str(name_or_path if path == Path(name_or_path) else path), path.suffix.lower()
    name = str(name_or_path)
    if name in bundled_robots():
        text = (files("minertia.robot") / "library" / f"{name}.toml").read_text(encoding="utf-8")
        return text, f"{name}.toml", ".toml"
    if path.suffix or path.parent != Path() or os.path.isdir(path):
        raise DescriptionError(why_no_file(path), file=name_or_path)
    raise UnknownName("robot file or bundled robot", name, bundled_robots())


def model_in(path: str | Path) -> Path:
    """Path of the model in a folder that identify wrote; any other path as it is."""
    file = Path(path) / MODEL_FILE
    return file if is_file(file) else Path(path)


def _beside(path: Path, suffix: str) -> tuple[str, str] | None:
    """Text and path of the file of closed chains (`arm.loops.toml`) beside a description; None if there is none."""
    other = path.with_name(f"{path.stem}{LOOPS_SUFFIX}")
    return (read_text(other), str(other)) if suffix != ".toml" and is_file(other) else None


def _reader(suffix: str, text: str, source: str):  # type: ignore[no-untyped-def]
    if suffix in (".xml", ""):
        suffix = ".mjcf" if "<mujoco" in text[:100_000] else ".urdf"
    if suffix not in READERS:
        raise DescriptionError(
            f"files ending in '{suffix}' are not robot descriptions; known: {', '.join(READERS)}, .xml", file=source
        )
    reader = MODEL_READER if suffix == ".toml" and is_model_text(text) else READERS[suffix]
    module, function = reader.split(":")
    return getattr(importlib.import_module(module), function)


# ------------------------------------------------------------------------------------------ robots as users give them


@runtime_checkable
class HasRobot(Protocol):
    """Object with an identified robot: a model."""

    def to_robot(self, target: str = "") -> Robot:
        """Robot with the identified parameters; target: format for which it is exported."""


RobotLike: TypeAlias = "Robot | str | Path | HasRobot"


def as_robot(given: RobotLike, target: str = "") -> Robot:
    """Robot from a robot, its path or bundled name, or a model (with its identified parameters).

    target: format for which it is exported.
    """
    if isinstance(given, str | Path):
        return read_robot(given, target=target)
    robot: Any = given.to_robot(target) if not isinstance(given, Robot) and isinstance(given, HasRobot) else given
    expected(robot, Robot, "the robot", "read_robot")
    assert isinstance(robot, Robot)
    return robot


# ------------------------------------------------------------------------------------------------------------ writing


# suffix -> "module:function"; a writer takes (robot, path, force=) and, if it can fill in a user's file, template=
WRITERS = {
    ".toml": "minertia.robot.formats.dh.write:write_toml",
    ".urdf": "minertia.robot.formats.urdf.write:write_urdf",
    ".mjcf": "minertia.robot.formats.mjcf.write:write_mjcf",
    ".xml": "minertia.robot.formats.mjcf.write:write_mjcf",
    **dict.fromkeys(STAGES, "minertia.robot.formats.usd.write:write_usd"),
}
WITH_TEMPLATE = (".urdf", ".mjcf", ".xml", *STAGES)


def write_robot(
    robot: RobotLike, path: str | Path, template: str | Path | None = None, *, force: bool = False, prim: str = ""
) -> tuple[Note, ...]:
    """Write a robot as TOML, URDF, MJCF or USD; the notes list what the format cannot represent.

    template: URDF or MJCF file of the same robot, of which everything but the parameters is kept, or a USD stage,
    which the new layer overrides; it is never overwritten.  force: replace a file that minertia did not write, or
    that was edited since.  prim: path of the robot in a template that is a USD stage of several robots.
    """
    expect_path(path, "a robot to write")
    suffix = Path(path).suffix.lower()
    target = target_of(path)
    robot = as_robot(robot, "" if target is None else target.name)
    if suffix not in WRITERS:
        known = ", ".join(WRITERS)
        raise DescriptionError(f"robots are not written to files ending in '{suffix}'; known: {known}", file=path)
    if template is not None and suffix not in WITH_TEMPLATE:
        raise DescriptionError(
            f"a '{suffix}' file is always written from scratch and takes no template; omit the template", file=path
        )
    options: dict[str, Any] = {"force": force} | ({} if template is None else {"template": template})
    options |= {"prim": prim} if prim and template is not None and suffix in STAGES else {}
    notes = _writer(suffix)(robot, path, **options)
    return (*(notes or ()), *(() if template is not None else _turned_frames(robot)))


def _turned_frames(robot: Robot) -> tuple[Note, ...]:
    """Note on links of a floating base that are written in other axes than those of the robot's file."""
    links = [joint.link for joint in robot.joints if joint.link in robot.frames]
    turned = [name for name in links if robot.frames[name].pose != HERE]
    if not robot.is_floating or not turned:
        return ()
    text = (
        f"{len(turned)} links, such as '{turned[0]}', are written in the frames of their joints, z along the joint: "
        "points in their former frames, such as `at` of a [[contact]], differ; a template keeps the frames"
    )
    return (Note("info", "frames", text),)


def _writer(suffix: str) -> Any:
    module, function = WRITERS[suffix].split(":")
    return getattr(importlib.import_module(module), function)
