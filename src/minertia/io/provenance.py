"""Provenance: files identified by their SHA-256, and the input files of a model.

A file is hashed once, and again only where its stamp changed. A model carries names and digests of the files that the
command had read, so that a reader can check whether it is current.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from minertia.io.files import files_read

MadeOf: TypeAlias = Mapping[str, Any]  # name, from the folder of the model on; size [bytes]; sha256
MOST = 1000  # files that are named
KEYS = {"name": str, "size": int, "sha256": str}
PIECE = 1 << 20  # bytes read at once


def stamp(path: Path) -> str:
    """Sizes, times and inodes of a file, or of all files of a log that is a folder, as text.

    Equal stamps mean that nothing has changed.
    """
    found = [path.stat()] + ([one.stat() for one in sorted(path.rglob("*"))] if path.is_dir() else [])
    return ";".join(f"{s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino}" for s in found)


def file_digest(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder."""
    return _digest_at(str(path), stamp(path))


@lru_cache(maxsize=4096)
def _digest_at(name: str, changed: str) -> str:
    path, known = Path(name), hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if path.is_dir():
            known.update(f"{os.path.relpath(file, path)}\0{file.is_dir()}\0".encode(errors="surrogateescape"))
        if file.is_file():
            with open(file, "rb") as opened:
                while piece := opened.read(PIECE):
                    known.update(piece)
    return known.hexdigest()


@lru_cache(maxsize=256)
def bundled_digest(name: str) -> str:
    """Name and SHA-256 of a bundled robot."""
    content = (files("minertia.robot") / "library" / f"{name}.toml").read_bytes()
    return f"{name} {hashlib.sha256(content).hexdigest()}"


def made_of(folder: Path) -> tuple[MadeOf, ...]:
    """Files that the running command has read so far; folder: where its result is written."""
    here = os.path.realpath(folder)
    found = []
    for name in files_read()[:MOST]:
        with contextlib.suppress(OSError):  # a draft that is gone
            size, known = os.stat(name).st_size, file_digest(Path(name))
            found.append({"name": Path(os.path.relpath(name, here)).as_posix(), "size": size, "sha256": known})
    return tuple(found)


def read_made_of(document: Mapping[str, Any]) -> tuple[MadeOf, ...]:
    """Input files named in a model's document; none where the entry is missing or malformed."""
    rows = document.get("made_of")
    rows = rows if isinstance(rows, list) else []
    return tuple(
        row for row in rows if isinstance(row, dict) and all(isinstance(row.get(k), kind) for k, kind in KEYS.items())
    )


def is_changed(model: Path, file: MadeOf) -> bool | None:
    """Whether a file has changed since the model was computed; None if it no longer exists.

    A file of unchanged size that is older than the model is not read again.
    """
    path = Path(os.path.realpath(model)).parent / file["name"]
    try:
        own, theirs = os.stat(model), os.stat(path)
        if theirs.st_size != file["size"]:
            return True
        is_older = max(theirs.st_mtime_ns, theirs.st_ctime_ns) < min(own.st_mtime_ns, own.st_ctime_ns)
        return not is_older and file_digest(path) != file["sha256"]
    except OSError:
        return None
