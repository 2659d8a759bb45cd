"""What writers of descriptions share: the user's own file, whose parameters change, and what a format cannot hold."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from minertia.io.errors import DescriptionError
from minertia.io.files import reading
from minertia.robot.effects import BY_SYMBOL, Effect
from minertia.robot.formats.reading import MAX_BYTES
from minertia.robot.robot import Note, Robot

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DECLARED = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z][\w.-]*)""", re.ASCII)


@dataclass(frozen=True, slots=True)
class Original:
    """A text (newlines as they are, no byte-order mark), its name, and what is needed to give back its bytes.

    files: the file it was read from, where it is one.
    """

    text: str
    source: str | None
    mark: bytes = b""
    encoding: str = "utf-8"
    files: tuple[Path, ...] = ()

    def encoded(self, text: str) -> bytes:
        """Another text as the bytes of this file would be."""
        return self.mark + text.encode(self.encoding)


def load_original(template: str | Path, source: str | None = None) -> Original:
    """A template given as a path or as its text; source: the name of one given as text."""
    if isinstance(template, str) and "<" in template:
        mark = codecs.BOM_UTF8 if template.startswith("\ufeff") else b""
        return Original(template.removeprefix("\ufeff"), source, mark)
    path = Path(template)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DescriptionError(f"a template has at most {MAX_BYTES // 1_000_000} MB", file=path)
        reading(path)
        data = path.read_bytes()
    except OSError as err:
        raise DescriptionError(f"the template cannot be read ({err.strerror})", file=path) from None
    mark = next((m for m in _MARKS if data.startswith(m)), b"")
    for encoding in _encodings(data, mark):
        try:
            return Original(data[len(mark) :].decode(encoding), str(path), mark, encoding, (path,))
        except (UnicodeError, LookupError):
            continue
    raise DescriptionError("the template cannot be read as text; save it as UTF-8", file=path)


def _encodings(data: bytes, mark: bytes) -> list[str]:
    declared = _DECLARED.match(data)
    return [_MARKS[mark]] if mark else ["utf-8", *([declared[1].decode("ascii")] if declared else [])]


# ------------------------------------------------------------------------------------- what a format has no place for


def unheld_effects(robot: Robot, held: Collection[str], where: str) -> list[Note]:
    """A note for each joint with effects that a format cannot hold; held: symbols it can, where: its name."""
    notes = []
    for j, (joint, effects) in enumerate(zip(robot.joints, robot.effects, strict=True)):
        lost = [f"{_noun(BY_SYMBOL[s])} ({s}{j + 1} = {v:.4g})" for s, v in effects.items() if v and s not in held]
        if lost:
            text = f"{where} has no place for the {', the '.join(lost)}: left out, so that efforts differ by it"
            notes.append(Note("warning", f"joint '{joint.name}'", text))
        if joint.elastic is not None:
            text = f"{where} has no place for its elasticity: written as a rigid joint"
            notes.append(Note("warning", f"joint '{joint.name}'", text))
    return notes


def unheld_motors(robot: Robot, held: Collection[str], where: str) -> list[Note]:
    """The same for motors that turn with several joints."""
    notes = []
    for j, row in robot.coupled_motors.items() if robot.motor_effects else ():
        lost = [f"{s}{j + 1} = {v:.4g}" for s, v in robot.motor_effects[row].items() if v and s not in held]
        if lost:
            text = f"{where} has no place for its {', '.join(lost)}: left out, so that efforts differ by it"
            notes.append(Note("warning", f"motor of joint '{robot.joints[j].name}'", text))
    return notes


def _noun(effect: Effect) -> str:
    """What an effect is, without what its meaning adds after a comma, colon or semicolon."""
    return re.split("[,:;]", effect.meaning)[0]
