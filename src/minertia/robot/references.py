"""Files that a robot file names: meshes, textures and included files, which belong to the user as it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

_FILE = re.compile(r"""\b(?:file|filename)\s*=\s*["']([^"'<>\0]{1,1000})["']""")
_FOLDER = re.compile(r"""\b(?:meshdir|texturedir|assetdir)\s*=\s*["']([^"'<>\0]{1,1000})["']""")
MOST = 2000  # references that are looked at
ABOVE = 8  # folders above the file in which a ROS package may lie


def referenced(path: Path, text: str) -> Iterator[Path]:
    """Where the files may lie that a URDF or MJCF names; not all of these paths exist."""
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
    """A package may be any folder above the file, or lie in one."""
    _, _, inside = name.partition("/")
    for folder in (beside, *list(beside.parents)[:ABOVE]):
        yield folder / name
        if inside:
            yield folder / inside
