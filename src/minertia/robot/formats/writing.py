"""Code shared by writers of descriptions: edits of the user's own file, and notes on unsupported effects."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from minertia.io.errors import DescriptionError
from minertia.io.files import reading
from minertia.robot.effect import Effect
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.formats.reading import MAX_BYTES
from minertia.robot.formats.snap import is_changed_by_snapping
from minertia.robot.formats.xml import INDENT, Element, attributes_text, element_lines, quoted, start_tag_end
from minertia.robot.joint import numeric_pose
from minertia.robot.robot import Note, Robot

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DECLARED = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z][\w.-]*)""", re.ASCII)
COORDINATE = re.compile("[xyz][1-9][0-9]*")  # symbols that readers give to positions of joints
_ATTRIBUTE = re.compile(r"""\s+([^\s=/>"']+)\s*=\s*("[^"]*"|'[^']*')""")


@dataclass(frozen=True, slots=True)
class Original:
    """Original text of a file (newlines kept, no byte-order mark), its name, and its encoding.

    mark: byte-order mark of the file.  files: path of the file from which the text was read; empty for a
    plain text.
    """

    text: str
    source: str | None
    mark: bytes = b""
    encoding: str = "utf-8"
    files: tuple[Path, ...] = ()

    def encoded(self, text: str) -> bytes:
        """Text in the encoding of this file."""
        return self.mark + text.encode(self.encoding)


def load_original(template: str | Path, source: str | None = None) -> Original:
    """Load a template given as a path or as its text; source: name for messages of a template given as text."""
    if isinstance(template, str) and "<" in template:
        mark = codecs.BOM_UTF8 if template.startswith("\ufeff") else b""
        return Original(template.removeprefix("\ufeff"), source, mark)
    path = Path(template)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DescriptionError(f"the template is larger than the limit of {MAX_BYTES // 1000000} MB", file=path)
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


class XmlEdit:
    """Edits of the user's own XML text; all other characters are kept."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._newline = next((nl for nl in ("\r\n", "\n", "\r") if nl in text), "\n")
        self._spans: list[tuple[int, int, str]] = []  # start, end and new text of spans that do not overlap

    def result(self) -> str:
        """Text with all edits applied."""
        pieces, last = [], 0
        for start, end, new in sorted(self._spans, key=lambda span: span[:2]):
            pieces += [self.text[last:start], new]
            last = end
        return "".join([*pieces, self.text[last:]])

    def put(self, place: int, new: str) -> None:
        """Insert text before the character at offset `place`."""
        self._spans.append((place, place, new))

    def attributes(self, element: Element, values: Mapping[str, str | None]) -> None:
        """Set attributes of a start tag, existing ones in place; None removes an attribute."""
        stop = start_tag_end(self.text, element)
        left = dict(values)

        def change(found: re.Match[str]) -> str:
            if found[1] not in left:
                return found[0]
            value = left.pop(found[1])
            return "" if value is None else found[0][: found.start(2) - found.start()] + quoted(value)

        tag = _ATTRIBUTE.sub(change, self.text[element.start : stop])
        close = re.search(r"\s*/?>$", tag)
        place = close.start() if close else len(tag)
        more = attributes_text({name: value for name, value in left.items() if value is not None})
        self._spans.append((element.start, stop, tag[:place] + more + tag[place:]))

    def replace(self, old: Element, new: Element) -> None:
        """Replace an element."""
        self._spans.append((old.start, old.end, self._block(new, self._indent(old))))

    def insert(self, parent: Element, child: Element, last: bool = False) -> None:
        """Insert a child into an element: as the first one, or before its end tag (last)."""
        outer = self._indent(parent)
        inner = None if outer is None else outer + INDENT
        if parent.children:
            inner = self._indent(parent.children[0])
        lead = "" if inner is None else self._newline + inner
        new = lead + self._block(child, inner)
        stop = start_tag_end(self.text, parent)
        if self.text[stop - 2] == "/":  # <link name="x"/> has to be opened
            tail = "" if outer is None else self._newline + outer
            self._spans.append((stop - 2, stop, f">{new}{tail}</{parent.tag}>"))
            return
        place = parent.children[-1].end if last else stop
        self._spans.append((place, place, new))

    def remove(self, old: Element) -> None:
        """Remove an element, and its line if nothing else is on it."""
        start, end = old.start, old.end
        indent = self._indent(old)
        if indent is not None:
            rest = self.text[end:].lstrip(" \t")[:1]
            start -= len(indent)
            if rest in ("\r", "\n"):
                start -= 2 if self.text[start - 2 : start] == "\r\n" else 1
        self._spans.append((start, end, ""))

    def _indent(self, element: Element) -> str | None:
        """White space before an element that begins its line; None in the middle of a line."""
        before = self.text[: element.start]
        line = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
        return line if not line.strip(" \t") and len(line) < len(before) else None

    def _block(self, element: Element, indent: str | None) -> str:
        lines = element_lines(element)
        if indent is None:
            return "".join(line.strip() for line in lines)
        return (self._newline + indent).join(lines)


# ------------------------------------------------------------------------------------- what a format has no place for


def unheld_effects(robot: Robot, held: Collection[str], where: str) -> list[Note]:
    """Note for each joint with effects that a format cannot represent; held: supported symbols, where: its name."""
    notes = []
    for j, (joint, effects) in enumerate(zip(robot.joints, robot.effects, strict=True)):
        lost = [f"{_noun(BY_SYMBOL[s])} ({s}{j + 1} = {v:.4g})" for s, v in effects.items() if v and s not in held]
        if lost:
            text = (
                f"{where} cannot represent the {', the '.join(lost)}: omitted, so efforts computed from the "
                "file lack this contribution"
            )
            notes.append(Note("warning", f"joint '{joint.name}'", text))
        if joint.elastic is not None:
            text = f"{where} cannot represent joint elasticity: written as a rigid joint"
            notes.append(Note("warning", f"joint '{joint.name}'", text))
    return notes


def unheld_motors(robot: Robot, held: Collection[str], where: str) -> list[Note]:
    """Note for each coupled motor with effects that a format cannot represent."""
    notes = []
    for j, row in robot.coupled_motors.items() if robot.motor_effects else ():
        lost = [f"{s}{j + 1} = {v:.4g}" for s, v in robot.motor_effects[row].items() if v and s not in held]
        if lost:
            text = (
                f"{where} cannot represent its {', '.join(lost)}: omitted, so efforts computed from the file "
                "lack this contribution"
            )
            notes.append(Note("warning", f"motor of joint '{robot.joints[j].name}'", text))
    return notes


def _noun(effect: Effect) -> str:
    """Short name of an effect: its meaning up to a comma, colon or semicolon."""
    return re.split("[,:;]", effect.meaning)[0]


def own_symbols(robot: Robot) -> list[str]:
    """Symbols of lengths and angles that a user named; readers name the coordinates of joints x3, y3, z3."""
    named = (name for name in robot.symbols if not COORDINATE.fullmatch(name) or robot.symbols[name] is None)
    return sorted(named) if robot.has_letters else []


def has_exact_angles(robot: Robot) -> bool:
    """Whether the snapping of angles by readers would change the robot, such as a calibrated one."""
    values = robot.symbol_values
    poses = [(joint.R, joint.p) for joint in robot.joints] + [frame.pose for frame in robot.frames.values()]
    return any(is_changed_by_snapping(numeric_pose(pose, values)) for pose in poses)
