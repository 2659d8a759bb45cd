"""Cache of compiled libraries, in folders that no other user can write to.

A library is code that this process runs, so files that another user could have written are never used.  A folder is
trusted if it and every folder above it belong to this user or to the superuser and are writable by nobody else; a
sticky folder (/tmp) may be above it, as others cannot rename our files in it.  Every path component is checked from
the root down, including links and their targets, so that it cannot be exchanged afterwards.

The name of a library contains a hash of its bytes and the key of its sources, and it is moved into place atomically.
So a truncated or changed file is never loaded, two processes that compile the same program at once do not interfere,
and no locks are needed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from minertia.io.errors import MinertiaError

VARIABLE = "MINERTIA_CACHE"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
MOST_LINKS = 40  # on the way to a folder
OWN = "minertia-kernels-"  # folders among temporary files; those of a process: and its number
STALE = 86400.0  # s after which the folder of a process that has ended is removed


class NoFolder(MinertiaError):
    """There is no folder in which a compiled library is safe from other users."""


def cache_folder() -> tuple[Path, str]:
    """Cache folder, and the reason if it is not the default one."""
    named = os.environ.get(VARIABLE)
    try:
        folder = Path(named) if named else _user_cache() / "minertia" / "kernels"
    except RuntimeError:
        return _second_folder(), "this user has no home"
    why = exposed(folder)
    return (_second_folder(), why) if why else (folder, "")


def find(key: str) -> Path | None:
    """Library of a key, from the cache or compiled earlier by this process; None if there is none."""
    folders = [cache_folder()[0]]
    if own_folder.cache_info().currsize:
        folders.append(own_folder())
    return next((path for folder in folders if (path := _whole(folder / key, key)) is not None), None)


def put(made: Path, key: str) -> Path:
    """Move a new library into the cache atomically, or into a folder of this process if the cache is not writable."""
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
    """Temporary folder of this process, removed at exit."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{OWN}{os.getpid()}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    why = exposed(folder)
    if why:
        raise NoFolder(f"no folder protects compiled code from other users: {why}")
    return folder


def _sweep() -> None:
    """Remove folders that processes of this user left behind because they were killed."""
    if not hasattr(os, "getuid"):
        return  # on Windows the signal below would end the process
    for place in Path(tempfile.gettempdir()).glob(f"{OWN}*-*"):
        with suppress(OSError, ValueError, OverflowError):
            about = place.lstat()
            is_ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
            if is_ours and time.time() - about.st_mtime > STALE and not _runs(int(place.name.split("-")[2])):
                shutil.rmtree(place, ignore_errors=True)


def _runs(process: int) -> bool:
    """Whether a process with this number exists, of whatever user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def exposed(folder: Path) -> str:
    """Reason why others could change the contents of a folder, "" if they cannot.

    Missing folders count as safe, as this user will create them.
    """
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
        return f"'{folder}' cannot be inspected ({getattr(err, 'strerror', None) or err})"
    return ""


def _steps(folder: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """Folders and links on the path to a folder, from the root; whether each is the folder itself."""
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
    """Fallback cache: a folder of this user among temporary files, else one of this process."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"{OWN}{user}"
    return own_folder() if exposed(folder) else folder


def _folders() -> Iterator[Path]:
    yield cache_folder()[0]
    yield own_folder()


def _make(folder: Path) -> None:
    """Create a folder and its missing parents with access for this user only."""
    for place in (*reversed(folder.parents), folder):
        with suppress(FileExistsError):
            if not place.exists():
                place.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(folder)


def _whole(folder: Path, key: str) -> Path | None:
    """Intact library in a folder of the cache; damaged files are removed."""
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
    """Contents of a file; None if it is not a regular file or if other users could have written it."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        is_ours = not hasattr(os, "getuid") or (about.st_uid in (os.getuid(), 0) and not about.st_mode & OTHERS_WRITE)
        return file.read() if is_ours and stat.S_ISREG(about.st_mode) else None


def _name(key: str, content: bytes) -> str:
    return hashlib.sha256(key.encode() + content).hexdigest()[:32] + ".so"
