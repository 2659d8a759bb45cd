"""Code shared by all readers of descriptions: options, text of a file, and referenced files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from minertia.io.errors import DescriptionError, expect_kinds
from minertia.io.files import reading
from minertia.robot.formats.snap import ANGLE_TOLERANCE

MAX_BYTES = 20_000_000
MODEL = "identified model"  # kind of a TOML file that holds a robot with identified values


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading a file.

    base: "fixed" or "floating", None for what the file says.  snap: tolerance [rad] on angles rounded in the
    file, 0 to take them as written.  letters: whether lengths stay symbolic.  loops: text and name of the file of
    closed chains beside a description (arm.loops.toml beside arm.urdf), None if there is none.  target: name of
    the export format (`targets`) for which a model is read; a model may have other parameters for it.
    prim: path of the robot in a USD stage of several robots.  single: whether a USD file is read as other programs
    do: only the standard attributes, in single precision.
    """

    base: str | None = None
    snap: float = ANGLE_TOLERANCE
    letters: bool = True
    loops: tuple[str, str] | None = None
    target: str = ""
    prim: str = ""
    single: bool = False

    def __post_init__(self) -> None:
        expect_kinds(self)


def read_text(path: Path) -> str:
    """Read the text of a file; an error when it is too large or not text."""
    reading(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)  # its size may be said wrongly, or grow
        text = data.decode("utf-8-sig", errors="strict" if len(data) <= MAX_BYTES else "replace")
        size = max(path.stat().st_size, len(data))
    except (UnicodeDecodeError, OSError) as err:
        raise DescriptionError(f"the file cannot be read as text ({err.__class__.__name__})", file=path) from None
    if size > MAX_BYTES:
        raise DescriptionError(
            f"the file has {size / 1e6:.0f} MB; a robot description has at most {MAX_BYTES // 1_000_000} MB", file=path
        )
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def is_model_text(text: str) -> bool:
    """Whether a TOML text is an identified model, according to its first lines."""
    return f'kind = "{MODEL}"' in text[:400]


# -------------------------------------------------------------------------------------------- files that a file names


_FILE = re.compile(r"""\b(?:file|filename)\s*=\s*["']([^"'<>\0]{1,1000})["']""")
_FOLDER = re.compile(r"""\b(?:meshdir|texturedir|assetdir)\s*=\s*["']([^"'<>\0]{1,1000})["']""")
MOST = 2000  # references that are looked at
ABOVE = 8  # folders above the file in which a ROS package may lie


def referenced(path: Path, text: str) -> Iterator[Path]:
    """Possible paths of the files that a URDF or MJCF refers to; not all of them exist."""
    beside = path.absolute().parent
    folders = [beside, *(beside / match[1] for match, _ in zip(_FOLDER.finditer(text), range(10), strict=False))]
    names = dict.fromkeys(match[1] for match, _ in zip(_FILE.finditer(text), range(MOST), strict=False))
    for name in names:
        scheme, sign, rest = name.partition("://")
        if sign and scheme in ("package", "model"):
            yield from _in_package(beside, unquote(rest))
        else:
            yield from (folder / (rest if sign else name) for folder in folders)


def _in_package(beside: Path, name: str) -> Iterator[Path]:
    """Possible locations of a file in a ROS package: any folder above the file may be or contain the package."""
    _, _, inside = name.partition("/")
    for folder in (beside, *list(beside.parents)[:ABOVE]):
        yield folder / name
        if inside:
            yield folder / inside
