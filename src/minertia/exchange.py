"""One folder in the place of another at one moment, which no kill can come between (Linux).

Several files cannot be renamed at once; a folder can.  The new one holds the new files and second names of everything
else that stood in the old one, so that nothing but the new files changes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

MOST = 1000  # entries of a folder that are given second names; a larger one has its files moved one by one
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE


def can_exchange(folder: Path, names: Iterable[str], leave_out: Path) -> bool:
    """Whether a folder can be replaced as a whole without anybody losing it: its owner, links, whoever works in it.

    names: of the new files; a folder below that gets none of them may be anything, and stays what it is.
    """
    if not sys.platform.startswith("linux") or os.path.ismount(folder):
        return False
    try:
        own, found = os.stat(folder), _entries(folder, leave_out)
        places = {place.as_posix() for name in names for place in PurePosixPath(name).parents}
        plain = (stat.S_ISREG(s.st_mode) or (stat.S_ISDIR(s.st_mode) and name in places) for name, s in found.items())
        is_ours = own.st_uid == os.geteuid() and own.st_dev == os.stat(folder.parent).st_dev
        same = all(s.st_dev == own.st_dev and s.st_uid == own.st_uid for s in found.values())
        return is_ours and len(found) < MOST and same and all(plain) and not _somebody_is_in(folder)
    except OSError:
        return False


def fill(new: Path, folder: Path, names: Iterable[str], leave_out: Path) -> dict[str, os.stat_result]:
    """Give everything in a folder but the files of these names a second name in the new one; what was there."""
    found, taken = _entries(folder, leave_out), set(names)
    shutil.copystat(folder, new)
    for name, entry in found.items():
        if stat.S_ISDIR(entry.st_mode):
            (new / name).mkdir(exist_ok=True)
            shutil.copystat(folder / name, new / name)
        elif name not in taken:
            os.link(folder / name, new / name)
    return found


def exchange(new: Path, folder: Path) -> None:
    """Swap two folders of one file system; OSError where system or file system cannot."""
    swap = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if swap is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if swap(_HERE, os.fsencode(new), _HERE, os.fsencode(folder), _EXCHANGE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def rescue(old: Path, folder: Path, known: dict[str, os.stat_result], leave_out: str) -> None:
    """Bring what others put into the old folder in the moment before it was replaced into the new one."""
    for name, entry in _entries(old, old / leave_out).items():
        before = known.get(name)
        is_known = before is not None and before.st_ino == entry.st_ino
        if not is_known and not (folder / name).exists():
            with contextlib.suppress(OSError):
                os.rename(old / name, folder / name)


def _entries(folder: Path, leave_out: Path) -> dict[str, os.stat_result]:
    """Everything below a folder by its name there, folders first; MOST entries at most."""
    found: dict[str, os.stat_result] = {}
    left = [folder]
    while left and len(found) < MOST:
        place = left.pop()
        for path in place.iterdir():
            if path == leave_out:
                continue
            found[path.relative_to(folder).as_posix()] = path.lstat()
            if path.is_dir() and not path.is_symlink():
                left.append(path)
    return found


def _somebody_is_in(folder: Path) -> bool:
    """Whether a process stands in the folder or below: its shell would stay in one that is gone."""
    here = f"{folder}/"
    for process in os.scandir("/proc"):
        if process.name.isdigit():
            with contextlib.suppress(OSError):  # gone, or another user's
                if f"{os.readlink(f'/proc/{process.name}/cwd')}/".startswith(here):
                    return True
    return False
