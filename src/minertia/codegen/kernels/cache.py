"""Where compiled libraries are kept: in folders that nobody else can change.

A library is code that this process runs, so what another user could have put there is never looked at.  A folder
counts as ours if it and every folder above it belong to us or to the superuser and can be written by nobody else; a
sticky folder (/tmp) may stand above, for others cannot rename what is ours in it.  Each step is checked from the root
down, links where they stand and where they lead, so that what was checked cannot be exchanged afterwards.

A library is named by its own bytes together with the key of what it was made from, and is moved into place in one
step.  So a file that is cut off or changed is never loaded, two processes that compile the same program at once do not
disturb one another, and nothing is ever locked.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from minertia.io.errors import MinertiaError

VARIABLE = "MINERTIA_CACHE"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
MOST_LINKS = 40  # on the way to a folder


class NoFolder(MinertiaError):
    """There is no folder in which a compiled library would be safe from others."""


def cache_folder() -> tuple[Path, str]:
    """Where libraries are kept, and why not in the usual place if so."""
    named = os.environ.get(VARIABLE)
    try:
        folder = Path(named) if named else _user_cache() / "minertia" / "kernels"
    except RuntimeError:
        return _second_folder(), "this user has no home"
    why = exposed(folder)
    return (_second_folder(), why) if why else (folder, "")


def find(key: str) -> Path | None:
    """The library of a key, from the cache or made by this process before; None where there is none."""
    folders = [cache_folder()[0]]
    if own_folder.cache_info().currsize:
        folders.append(own_folder())
    return next((path for folder in folders if (path := _whole(folder / key, key)) is not None), None)


def put(made: Path, key: str) -> Path:
    """Move a new library to its place in one step; to a folder of this process if the cache cannot be written."""
    content = made.read_bytes()
    for folder in _folders():
        place = folder / key
        try:
            _make(place)
            if exposed(place):
                continue
            handle, beside = tempfile.mkstemp(dir=place, suffix=".part")  # on the same file system as its target
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(beside, place / _name(key, content))
        except OSError:
            continue
        return place / _name(key, content)
    raise NoFolder("neither the cache nor the temporary folder can be written")


@cache
def own_folder() -> Path:
    """A folder of this process, removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="minertia-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    why = exposed(folder)
    if why:
        raise NoFolder(f"compiled code is safe from other users in no folder here: {why}")
    return folder


def exposed(folder: Path) -> str:
    """Why others could change what is in a folder, "" if they cannot; what is missing yet will be ours."""
    if not hasattr(os, "getuid"):
        return ""  # on Windows the folders of a user are private as they are
    try:
        for place, about, is_last in _steps(folder):
            if about.st_uid not in (os.getuid(), 0):
                return f"'{place}' belongs to another user"
            is_guarded = about.st_mode & stat.S_ISVTX and not is_last
            if not stat.S_ISLNK(about.st_mode) and about.st_mode & OTHERS_WRITE and not is_guarded:
                return f"'{place}' can be changed by others; chmod go-w '{place}' to keep libraries there"
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as err:
        return f"'{folder}' cannot be looked at ({getattr(err, 'strerror', None) or err})"
    return ""


def _steps(folder: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """Every folder and link on the way to a folder, from the root; whether it is the folder itself."""
    left = list(reversed(Path(os.path.abspath(folder)).parts))
    place, links = Path(left[-1]), 0
    while left:
        part = left.pop()
        place = place.parent if part == ".." else place / part
        about = os.lstat(place)
        yield place, about, not left and not stat.S_ISLNK(about.st_mode)
        if stat.S_ISLNK(about.st_mode):
            links += 1
            if links > MOST_LINKS:
                raise ValueError("too many links")
            left.extend(reversed(Path(os.readlink(place)).parts))
            place = place.parent


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".cache"


def _second_folder() -> Path:
    """A folder of this user among temporary files, else one of this process."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"minertia-kernels-{user}"
    return own_folder() if exposed(folder) else folder


def _folders() -> Iterator[Path]:
    yield cache_folder()[0]
    yield own_folder()


def _make(folder: Path) -> None:
    """Make a folder and those above it that are missing, for us alone."""
    for place in (*reversed(folder.parents), folder):
        with suppress(FileExistsError):
            if not place.exists():
                place.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(folder)


def _whole(folder: Path, key: str) -> Path | None:
    """A whole library in a folder of the cache; what is broken is removed."""
    if exposed(folder):
        return None
    try:
        candidates = sorted(folder.iterdir())
    except OSError:
        return None
    for path in candidates:
        if path.suffix != ".so":
            continue
        with suppress(OSError):
            content = _our_bytes(path)
            if content is not None and _name(key, content) == path.name:
                return path
            path.unlink()
    return None


def _our_bytes(path: Path) -> bytes | None:
    """The bytes of a file, None where it is no plain file or not one that we alone could write."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        is_ours = not hasattr(os, "getuid") or (about.st_uid in (os.getuid(), 0) and not about.st_mode & OTHERS_WRITE)
        return file.read() if is_ours and stat.S_ISREG(about.st_mode) else None


def _name(key: str, content: bytes) -> str:
    return hashlib.sha256(key.encode() + content).hexdigest()[:32] + ".so"
