"""The user's own file, in which a writer changes parameters: its text, and the way back to its bytes."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from minertia.io.errors import DescriptionError
from minertia.io.files import reading
from minertia.robot.reading import MAX_BYTES

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
