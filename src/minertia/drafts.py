"""Files that appear whole or not at all: written as drafts on the file system of their place, then renamed into it.

A draft is locked while its process lives.  One that can be locked belongs to a process that was killed, and the next
that writes into the same folder clears it away.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from minertia.exchange import can_exchange, exchange, fill, rescue

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows: drafts of killed processes stay)
    fcntl = None  # type: ignore[assignment]

_DRAFT = re.compile(r"\.minertia-[0-9a-f]{32}\.tmp")
TRIES = 5  # to make a draft that another process does not take for abandoned before it is locked
_HELD_BACK = ("SIGINT", "SIGTERM", "SIGHUP")  # while finished files are put in their places


def write_whole(target: Path, data: bytes) -> None:
    """Write beside the target, then rename over it; it keeps its permissions, and is as it was if anything fails."""
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
    """A file to write into, beside the target, which it becomes at the end unless something fails."""
    with _draft(target.parent, _new_file) as draft:
        with open(draft, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)


def draft_folder(parent: Path) -> AbstractContextManager[Path]:
    """A new folder of a hidden name, gone at the end unless it was renamed."""
    return _draft(parent, Path.mkdir)


def put_in_place(draft: Path, names: Sequence[str], folder: Path) -> None:
    """Move finished files from a draft in a folder into that folder; if one cannot be moved, all is as it was.

    Files of one result never stand beside those of another, even after a kill: the folder is replaced as a whole where
    that can be, and else loses the old files before it gets the new ones.  A file of that name keeps its permissions,
    and a link keeps pointing to it.  Interrupts wait meanwhile.
    """
    with undisturbed():
        if len(names) < 2 or not _put_at_once(draft, names, folder):
            _put_one_by_one(draft, names, folder)


def _put_at_once(draft: Path, names: Sequence[str], folder: Path) -> bool:
    """Whether the folder could be replaced as a whole; nothing has changed where it could not."""
    if not can_exchange(folder, names, draft) or _is_claimed(folder):
        return False
    moved: list[str] = []
    try:
        with draft_folder(folder.parent) as new:
            known = fill(new, folder, names, draft)
            try:
                for name in names:
                    (new / name).parent.mkdir(parents=True, exist_ok=True)
                    if (folder / name).exists():
                        _copy_mode(folder / name, draft / name)
                    os.replace(draft / name, new / name)
                    moved.append(name)
                exchange(new, folder)  # `new` is the old folder from here on, and goes as a draft
            except BaseException:
                for name in moved:
                    os.replace(new / name, draft / name)
                raise
            with contextlib.suppress(OSError):
                rescue(new, folder, known, draft.name)
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
    """Clear away drafts of processes that were killed."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for name in [name for name in os.listdir(folder) if _DRAFT.fullmatch(name)]:
            with contextlib.suppress(OSError):  # in work, somebody else's, or just gone
                _remove_if_abandoned(folder / name)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that end the program wait until the block is done; only the main thread can hold them back."""
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
    """Blocks of other processes and threads on the same folder wait until this one is done.

    Where the system or the file system knows no locks they do not wait.
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
    """Take a folder for one owner alone; what comes back gives it back, as the end of the process does.

    Raises BlockingIOError where somebody has it.  Where the system or the file system knows no locks nobody is refused.
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
    """Whether somebody holds the folder, who would go on holding one that is gone."""
    try:
        claimed(folder)()
    except BlockingIOError:
        return True
    return False


# ---------------------------------------------------------------------- drafts and their locks


@contextmanager
def _draft(parent: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A draft, locked as long as it is in work."""
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
    raise OSError(errno.EBUSY, "no draft can be made there")


def _new_file(path: Path) -> None:
    open(path, "xb").close()


def _remove(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _locked(draft: Path) -> int | None:
    """The descriptor that holds the lock of a new draft; None where another process has just cleared the draft away."""
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
    """Make the folder of a place; those that were missing, from above to below."""
    missing = [path for path in place.parents if not path.exists()]
    place.parent.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def _kept(target: Path, copy: Path) -> Path | None:
    """A second name, or where that cannot be a copy, of what stands in a place; None for nothing."""
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
