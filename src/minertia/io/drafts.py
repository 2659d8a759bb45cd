"""Atomic file writing: temporary files on the target's file system, renamed when complete.

A temporary file is locked while its process lives.  One that can be locked belongs to a process that was killed, and
the next process that writes into the same folder removes it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from uuid import uuid4

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows: drafts of killed processes stay)
    fcntl = None  # type: ignore[assignment]

_DRAFT = re.compile(r"\.minertia-[0-9a-f]{32}\.tmp")
TRIES = 5  # to make a draft that another process does not take for abandoned before it is locked
_MOST = 1000  # entries of a folder that are given second names; a larger one has its files moved one by one
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
_HELD_BACK = ("SIGINT", "SIGTERM", "SIGHUP")  # while finished files are put in their places


def write_whole(target: Path, data: bytes) -> None:
    """Write a temporary file and rename it over the target; permissions are kept, failure changes nothing."""
    with _draft(target.parent, _new_file) as draft:
        if target.exists():
            _copy_mode(target, draft)  # before the content, which may be private
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # some file systems say only now that they are full
        os.replace(draft, target)


@contextmanager
def draft_of(target: Path) -> Iterator[BinaryIO]:
    """Temporary file beside the target, renamed to it at the end unless an error occurs."""
    with _draft(target.parent, _new_file) as draft:
        with open(draft, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)


def draft_folder(parent: Path) -> AbstractContextManager[Path]:
    """Temporary folder with a hidden name, removed at the end unless it was renamed."""
    return _draft(parent, Path.mkdir)


def put_in_place(draft: Path, names: Sequence[str], folder: Path) -> None:
    """Move finished files from a temporary folder into its parent folder; undone if one cannot be moved.

    Files of different results are never mixed, even after a kill: the folder is replaced as a whole where possible,
    else the old files are removed before the new ones are moved in.  A file of that name keeps its permissions, and a
    link keeps pointing to it.  Interrupts are deferred meanwhile.
    """
    with undisturbed():
        if len(names) < 2 or not _put_at_once(draft, names, folder):
            _put_one_by_one(draft, names, folder)


def _put_at_once(draft: Path, names: Sequence[str], folder: Path) -> bool:
    """Replace the folder as a whole; False, without a change, where that is not possible."""
    if not _can_exchange(folder, names, draft) or _is_claimed(folder):
        return False
    moved: list[str] = []
    try:
        with draft_folder(folder.parent) as new:
            known = _fill(new, folder, names, draft)
            try:
                for name in names:
                    (new / name).parent.mkdir(parents=True, exist_ok=True)
                    if (folder / name).exists():
                        _copy_mode(folder / name, draft / name)
                    os.replace(draft / name, new / name)
                    moved.append(name)
                _exchange(new, folder)  # `new` is the old folder from here on, and goes as a draft
            except BaseException:
                for name in moved:
                    os.replace(new / name, draft / name)
                raise
            with contextlib.suppress(OSError):
                _rescue(new, folder, known, draft.name)
            return True
    except OSError:
        return False


def _put_one_by_one(draft: Path, names: Sequence[str], folder: Path) -> None:
    with draft_folder(folder) as kept:
        undo: list[tuple[Path, Path | None]] = []  # where a file is to be put, and what was there
        made: list[Path] = []
        try:
            for number, name in enumerate(names):
                target = Path(os.path.realpath(folder / name))
                undo.append((target, _kept(target, kept / str(number))))
            for (target, old), name in zip(undo, names, strict=True):
                if old is not None:
                    _copy_mode(target, draft / name)
                    target.unlink()
            for (target, _), name in zip(undo, names, strict=True):
                made += _made(folder / name)
                _move(draft / name, target)
        except BaseException:
            for target, old in reversed(undo):
                _restore(target, old)
            for made_folder in reversed(made):
                made_folder.rmdir()
            raise


def sweep(folder: Path) -> None:
    """Remove temporary files of processes that were killed."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for name in [name for name in os.listdir(folder) if _DRAFT.fullmatch(name)]:
            with contextlib.suppress(OSError):  # in work, somebody else's, or just gone
                _remove_if_abandoned(folder / name)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Defer termination signals until the block is done; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    known = [getattr(signal, name) for name in _HELD_BACK if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in known}
    try:
        for number in before:
            signal.signal(number, lambda n, _: caught.append(n))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if caught:
            signal.raise_signal(caught[0])


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Lock that serialises blocks of other processes and threads on the same folder.

    Without effect where the system or the file system has no locks.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def claimed(folder: Path) -> Callable[[], None]:
    """Lock a folder exclusively; returns a function that releases it (the end of the process does so, too).

    Raises BlockingIOError if it is locked already.  Never raises where the system or the file system has no
    locks.
    """
    if fcntl is None:
        return lambda: None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        pass
    return partial(os.close, descriptor)


def _is_claimed(folder: Path) -> bool:
    """Whether the folder is locked by a process, which must keep it."""
    try:
        claimed(folder)()
    except BlockingIOError:
        return True
    return False


# ---------------------------------------------------------------------- drafts and their locks


@contextmanager
def _draft(parent: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """Temporary file or folder, locked while in use."""
    sweep(parent)
    draft, lock = None, None
    try:
        with undisturbed():
            draft, lock = _made_and_locked(parent, make)
        yield draft
    finally:
        with undisturbed():
            if draft is not None:
                _remove(draft)
            if lock is not None:
                os.close(lock)


def _made_and_locked(parent: Path, make: Callable[[Path], None]) -> tuple[Path, int | None]:
    for _ in range(TRIES):
        draft = parent / f".minertia-{uuid4().hex}.tmp"
        make(draft)
        lock = _locked(draft)
        if lock is not None or fcntl is None:
            return draft, lock
        _remove(draft)
    raise OSError(errno.EBUSY, "no temporary file can be created there")


def _new_file(path: Path) -> None:
    open(path, "xb").close()


def _remove(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _locked(draft: Path) -> int | None:
    """Descriptor that holds the lock of a new temporary file; None where another process has just removed it."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(draft, os.O_RDONLY)
    except OSError:
        return None
    with contextlib.suppress(OSError):  # a file system without locks: nobody can lock there, so drafts are left alone
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    if draft.exists():
        return descriptor
    os.close(descriptor)
    return None


def _remove_if_abandoned(draft: Path) -> None:
    assert fcntl is not None
    descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(draft)
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------------- moving, and taking it back


def _made(place: Path) -> list[Path]:
    """Create the parent folders of a path; returns those that were missing, topmost first."""
    missing = [path for path in place.parents if not path.exists()]
    place.parent.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def _kept(target: Path, copy: Path) -> Path | None:
    """Hard link to the existing target, or else a copy of it; None if there is no target."""
    if not target.exists():
        return None
    try:
        os.link(target, copy)
    except OSError:
        shutil.copy2(target, copy)
    return copy


def _move(new: Path, target: Path) -> None:
    if target.exists():
        _copy_mode(target, new)
    try:
        os.replace(new, target)
    except OSError as err:
        if err.errno != errno.EXDEV:
            raise
        write_whole(target, new.read_bytes())  # a link, or a folder, that leads to another file system


def _copy_mode(old: Path, new: Path) -> None:
    with contextlib.suppress(PermissionError):  # a file system without permissions
        shutil.copymode(old, new)


def _restore(target: Path, old: Path | None) -> None:
    with contextlib.suppress(OSError):
        if old is None:
            target.unlink(missing_ok=True)
        else:
            _move(old, target)


# ---------------------------------------------------------------------- a folder in the place of another
# several files cannot be renamed at once; a folder can (Linux): the new one holds the new files and second names of
# everything else that stood in the old one, so that nothing but the new files changes


def _can_exchange(folder: Path, names: Iterable[str], leave_out: Path) -> bool:
    """Whether a folder can be replaced as a whole: same owner, no links to it, no process working in it.

    names: of the new files; a subfolder without any of them may be anything, and is left unchanged.
    """
    if not sys.platform.startswith("linux") or os.path.ismount(folder):
        return False
    try:
        own, found = os.stat(folder), _entries(folder, leave_out)
        places = {place.as_posix() for name in names for place in PurePosixPath(name).parents}
        plain = (stat.S_ISREG(s.st_mode) or (stat.S_ISDIR(s.st_mode) and name in places) for name, s in found.items())
        is_ours = own.st_uid == os.geteuid() and own.st_dev == os.stat(folder.parent).st_dev
        same = all(s.st_dev == own.st_dev and s.st_uid == own.st_uid for s in found.values())
        return is_ours and len(found) < _MOST and same and all(plain) and not _somebody_is_in(folder)
    except OSError:
        return False


def _fill(new: Path, folder: Path, names: Iterable[str], leave_out: Path) -> dict[str, os.stat_result]:
    """Hard-link everything in a folder but the files of these names into the new one; returns the entries."""
    found, taken = _entries(folder, leave_out), set(names)
    shutil.copystat(folder, new)
    for name, entry in found.items():
        if stat.S_ISDIR(entry.st_mode):
            (new / name).mkdir(exist_ok=True)
            shutil.copystat(folder / name, new / name)
        elif name not in taken:
            os.link(folder / name, new / name)
    return found


def _exchange(new: Path, folder: Path) -> None:
    """Swap two folders of one file system atomically; OSError where that is not supported."""
    swap = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if swap is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if swap(_HERE, os.fsencode(new), _HERE, os.fsencode(folder), _EXCHANGE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _rescue(old: Path, folder: Path, known: dict[str, os.stat_result], leave_out: str) -> None:
    """Move files that others wrote into the old folder just before its replacement into the new one."""
    for name, entry in _entries(old, old / leave_out).items():
        before = known.get(name)
        is_known = before is not None and before.st_ino == entry.st_ino
        if not is_known and not (folder / name).exists():
            with contextlib.suppress(OSError):
                os.rename(old / name, folder / name)


def _entries(folder: Path, leave_out: Path) -> dict[str, os.stat_result]:
    """Everything below a folder by relative path, each folder before its contents; stops beyond _MOST entries."""
    found: dict[str, os.stat_result] = {}
    left = [folder]
    while left and len(found) < _MOST:
        place = left.pop()
        for path in place.iterdir():
            if path == leave_out:
                continue
            found[path.relative_to(folder).as_posix()] = path.lstat()
            if path.is_dir() and not path.is_symlink():
                left.append(path)
    return found


def _somebody_is_in(folder: Path) -> bool:
    """Whether a process has its working directory in this folder or below."""
    here = f"{folder}/"
    for process in os.scandir("/proc"):
        if process.name.isdigit():
            with contextlib.suppress(OSError):  # gone, or another user's
                if f"{os.readlink(f'/proc/{process.name}/cwd')}/".startswith(here):
                    return True
    return False
