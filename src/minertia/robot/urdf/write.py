"""`write_urdf`: a robot's parameters into the user's own URDF, or the whole robot as a new one."""

from __future__ import annotations

import codecs
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from minertia.errors import DescriptionError
from minertia.robot.read import MAX_BYTES
from minertia.robot.robot import EARTH, Note, Robot
from minertia.robot.urdf.new import new_urdf
from minertia.robot.urdf.template import edited_urdf

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DECLARED = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z][\w.-]*)""", re.ASCII)


def write_urdf(robot: Robot, path: str | Path, template: str | Path | None = None) -> tuple[Note, ...]:
    """Write a URDF and say what it cannot hold.

    template: the URDF the robot was read from, as a path or as its text; only <inertial> and <dynamics> elements whose
    values changed are replaced in it and every other byte is kept.  Without one, a complete URDF 1.0 is written whose
    link frames are the joint frames.
    """
    if template is None:
        text, notes = new_urdf(robot)
        data = text.encode("utf-8")
    else:
        original = _load(template)
        text, notes = edited_urdf(robot, original.text, original.source)
        data = original.encoded(text)
    _write_atomically(Path(path), data)
    return (*notes, *_not_carried(robot, whole=template is None))


@dataclass(frozen=True, slots=True)
class _Template:
    """A text and what is needed to give back its bytes."""

    text: str
    source: str
    mark: bytes = b""
    encoding: str = "utf-8"

    def encoded(self, text: str) -> bytes:
        return self.mark + text.encode(self.encoding)


def _load(template: str | Path) -> _Template:
    if isinstance(template, str) and "<" in template:
        mark = codecs.BOM_UTF8 if template.startswith("\ufeff") else b""
        return _Template(template.removeprefix("\ufeff"), "template", mark)
    path = Path(template)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DescriptionError(f"a template has at most {MAX_BYTES // 1_000_000} MB", file=path)
        data = path.read_bytes()
    except OSError as err:
        raise DescriptionError(f"the template cannot be read ({err.strerror})", file=path) from None
    mark = next((m for m in _MARKS if data.startswith(m)), b"")
    for encoding in _encodings(data, mark):
        try:
            return _Template(data[len(mark) :].decode(encoding), str(path), mark, encoding)
        except (UnicodeError, LookupError):
            continue
    raise DescriptionError("the template cannot be read as text; save it as UTF-8", file=path)


def _encodings(data: bytes, mark: bytes) -> list[str]:
    declared = _DECLARED.match(data)
    return [_MARKS[mark]] if mark else ["utf-8", *([declared[1].decode("ascii")] if declared else [])]


def _write_atomically(path: Path, data: bytes) -> None:
    """Readers of the path see the old file or the new one, never half of it."""
    path = path.resolve()
    draft = path.with_name(f".{uuid4().hex}.tmp")
    try:
        try:
            with open(draft, "xb") as file:
                file.write(data)
            if path.exists():
                shutil.copymode(path, draft)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as err:
        raise DescriptionError(f"the file cannot be written ({err.strerror})", file=path) from None


def _not_carried(robot: Robot, whole: bool) -> list[Note]:
    """Notes on what URDF has no place for; whole: the geometry is written too."""
    notes = []
    for joint, effects in zip(robot.joints, robot.effects, strict=True):
        own = [what for symbol, what in (("IA", "rotor inertia"), ("OFF", "offset")) if effects.get(symbol)]
        if own:
            text = f"its {' and '.join(own)} stand in our own element <minertia>, which other programs ignore"
            notes.append(Note("warning", f"joint '{joint.name}'", text))
    if robot.coupling is not None or any(any(e.values()) for e in robot.motor_effects):
        text = "coupled drives and motor-side friction and inertia cannot be written in a URDF and are left out"
        notes.append(Note("warning", "robot", text))
    if tuple(robot.gravity) != EARTH:
        notes.append(Note("info", "robot", "a URDF holds no gravity; give it again when you read the file"))
    if whole and robot.has_letters:
        unknown = sorted(name for name, value in robot.symbols.items() if value is None)
        text = "lengths and angles that are letters are written as numbers"
        drawn = f"; {', '.join(unknown)} had no value, so one was drawn for each" if unknown else ""
        notes.append(Note("warning" if unknown else "info", "robot", text + drawn))
    return notes
