"""Files known again by what they hold: hashed once, and again only where their stamp changed."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

PIECE = 1 << 20  # bytes read at once


def stamp(path: Path) -> str:
    """Size and times of a file, or of all files of a folder that is one log; a file of the same stamp is the same."""
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
