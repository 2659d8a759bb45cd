"""Atomic file writing that never overwrites the user's own files.

A file that minertia did not write, or that was edited since, is replaced only where the caller says `force`; an input
file of the result is never replaced.  `seals` implements the ownership marker, `drafts` the atomic writing.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from minertia.io.drafts import draft_folder, draft_of, put_in_place, sweep, write_whole
from minertia.io.errors import MinertiaError
from minertia.io.seals import digest, has_seal, is_ours, mark, resealed, sealed, vouched, voucher

AnyPath = str | Path


class FileError(MinertiaError):
    """A file or folder that cannot be written."""

    def __init__(self, path: object, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path}: {why}")


def is_file(path: AnyPath) -> bool:
    """Whether a file exists; False for an invalid name and for a folder without permission."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def why_no_file(path: AnyPath) -> str:
    """Reason why there is no file of this name, as the end of a message."""
    return "this is a folder; give the name of a file" if os.path.isdir(path) else "there is no such file"


# ---------------------------------------------------------------------- what is read


class _Inputs:
    """Input files, identified across links, other spellings of the path and hard links.

    written: files that the command has written so far; None where it may write the same file twice.
    """

    def __init__(self, paths: Iterable[AnyPath] = (), written: set[str] | None = None) -> None:
        self.names: set[str] = set()
        self.numbers: set[tuple[int, int]] = set()
        self.written = written
        for path in paths:
            self.add(path)

    def add(self, path: AnyPath) -> None:
        with contextlib.suppress(OSError, ValueError):
            found = os.stat(path)
            self.names.add(os.path.realpath(path))
            self.numbers.add((found.st_dev, found.st_ino))

    def __contains__(self, path: Path) -> bool:
        found = os.stat(path)
        return os.path.realpath(path) in self.names or (found.st_dev, found.st_ino) in self.numbers


_commands: list[_Inputs] = []  # of the command that runs; a list, as commands are also called in one process


@contextmanager
def inputs_protected(*, once: bool = False) -> Iterator[set[str]]:
    """Context in which every file that a reader opens (`reading`) is protected against replacement.

    once: files written within the context are protected as well.  Yields their names.
    """
    _commands.append(_Inputs(written=set() if once else None))
    try:
        yield _commands[-1].names
    finally:
        _commands.pop()


def reading(*paths: AnyPath) -> None:
    """Register files that are read, or given to a command; it has an effect within `inputs_protected` only."""
    for path in paths if _commands else ():
        _commands[-1].add(path)


def files_read() -> list[str]:
    """Files that the running command has read so far; none outside of `inputs_protected`."""
    return sorted(_commands[-1].names) if _commands else []


def files_below(folder: AnyPath, most: int = 20_000) -> list[str]:
    """Paths of all files in a folder that is read as one input, including subfolders; at most `most` paths.

    Links to folders are not followed.
    """
    found = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    return list(itertools.islice(found, most))


def _wrote(*targets: Path) -> None:
    """Register written files, so that the command cannot overwrite them with another result of the same name."""
    known = _commands[-1].written if _commands else None
    if known is not None:
        known.update(os.path.realpath(target) for target in targets)


# ---------------------------------------------------------------------- one file


def write_file(
    path: AnyPath, content: str | bytes, *, force: bool = False, inputs: Iterable[AnyPath] = (), seal: bool = True
) -> None:
    """Write a file with an ownership marker; the old file stays until the new one is complete.

    A file that minertia did not write, or that was edited since, raises an error unless `force`; one of the
    `inputs` always does.  seal: False for a file without an ownership marker, such as the user's own robot file
    with other values.  A replaced file keeps its permissions, a link keeps pointing to it, and pipes and devices
    are written into.
    """
    data = content if isinstance(content, bytes) else content.encode("utf-8", errors="backslashreplace")
    data = sealed(Path(path).name, data) if seal else resealed(data)
    with _as_sentence(path, "the file cannot be written"):
        target = Path(os.path.realpath(path))
        check_file(path, force=force, inputs=inputs, same=data)
        if _is_special(path):
            with open(path, "wb") as file:
                file.write(data)
        elif not _holds(target, data):  # a file that is the same already stays whose it is
            write_whole(target, data)
            if not has_seal(data):
                mark(target)
        _wrote(target)


def check_file(
    path: AnyPath, *, force: bool = False, inputs: Iterable[AnyPath] = (), same: bytes | None = None
) -> None:
    """Raise an error where `write_file` could not write.

    same: content with which an existing file is accepted even if it has no ownership marker.
    """
    with _as_sentence(path, "the file cannot be written"):
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError(path, why_no_file(target))
        if not target.parent.is_dir() and not _is_special(path):
            folder = target.parent if os.path.islink(path) else Path(path).parent
            raise FileError(path, f"the file cannot be written: the folder '{folder}' does not exist; create it first")
        if target.is_file():
            _refuse_input(path, target, inputs, same)
            if not (force or (same is not None and _holds(target, same)) or is_ours(target)):
                raise _taken(path)


def edit_file(path: AnyPath, text: str) -> None:
    """Overwrite a file at its owner's request, atomically and without an ownership marker."""
    with _as_sentence(path, "the file cannot be written"):
        write_whole(Path(os.path.realpath(path)), text.encode("utf-8"))


@contextmanager
def new_file(path: AnyPath) -> Iterator[BinaryIO]:
    """New file to write into, created atomically at the end; an error where one exists."""
    with _as_sentence(path, "the file cannot be written"):
        if os.path.lexists(path):
            raise _taken(path)
        with draft_of(Path(path)) as file:
            yield file


# ---------------------------------------------------------------------- a folder


def make_folder(path: AnyPath) -> Path:
    """Create a folder with its parents where it is missing, and return it."""
    folder = Path(path)
    with _as_sentence(path, "the folder cannot be created"):
        if folder.is_file():
            raise FileError(path, "this is a file; give the name of a folder")
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def folder_at_once(path: AnyPath, *, force: bool = False, inputs: Iterable[AnyPath] = ()) -> Iterator[Path]:
    """Temporary folder whose files are moved to `path` together when all of them are written, else not at all.

    Other files in the folder stay; those of the same names are replaced as `write_file` would.
    """
    given = tuple(inputs)
    with ExitStack() as stack:
        with _as_sentence(path, "the folder cannot be created"):
            folder = Path(os.path.realpath(path))
            missing = _missing(path, folder)
            sweep(folder.parent)
            draft = stack.enter_context(draft_folder(folder if missing is None else missing.parent))
            place = draft if missing is None else draft / folder.relative_to(missing)
            place.mkdir(parents=True, exist_ok=True)
        with _named_after(place, Path(path)):
            yield place
        with _as_sentence(path, "the folder cannot be written"):
            files = sorted(file for file in place.rglob("*") if file.is_file())
            names = [file.relative_to(place).as_posix() for file in files]
            _check_names(Path(path), names, force, given, place)
            names = [name for name in names if not _holds(folder / name, (place / name).read_bytes())]
            _vouch(place, names, folder)
            if missing is None:
                put_in_place(place, names, folder)
            else:
                os.rename(draft, missing)
            _wrote(*(folder / file.relative_to(place) for file in files))


def check_folder(path: AnyPath, names: Iterable[str], *, force: bool = False, inputs: Iterable[AnyPath] = ()) -> None:
    """Raise an error early for a folder into which `folder_at_once` could not move files of these names."""
    with _as_sentence(path, "the folder cannot be created"):
        folder = Path(os.path.realpath(path))
        missing = _missing(path, folder)
        place = folder if missing is None else missing.parent
        if not os.access(place, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise FileError(path, f"files cannot be created in '{place}'; choose another folder")
        _check_names(Path(path), names, force, tuple(inputs))


def _missing(path: AnyPath, folder: Path) -> Path | None:
    """Topmost folder that has to be created; None where all exist."""
    if folder.exists() and not folder.is_dir():
        raise FileError(path, "this is a file; give the name of a folder")
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in folder.parents:
        if part.exists() and not part.is_dir():
            raise FileError(path, f"the folder cannot be created: '{part}' is a file")
    return missing[-1] if missing else None


def _check_names(
    folder: Path, names: Iterable[str], force: bool, inputs: tuple[AnyPath, ...], new: Path | None = None
) -> None:
    """Raise an error if a file must not be replaced; new: folder of the new files."""
    for name in names:
        place = folder / name
        target = Path(os.path.realpath(place))
        if target.exists() and not target.is_file():
            raise FileError(
                place, "a folder or a special file already has the name of the file to be written; choose another name"
            )
        if target.exists() and not (new is not None and _holds(target, (new / name).read_bytes())):
            _refuse_input(place, target, inputs)
            if not (force or is_ours(target) or _is_vouched(folder, name)):
                raise _taken(place)


def left_over(folder: AnyPath, draft: AnyPath, names: Iterable[str]) -> tuple[str, ...]:
    """Which of these files and folders minertia wrote into a folder for another result than the one in a draft.

    names: what a result may have; nothing else is looked at, as the folder may hold other work.  Of folders that both
    results have, the single files are listed.
    """
    here, there = Path(folder), Path(draft)
    found = []
    for top in dict.fromkeys(name.partition("/")[0] for name in names):
        files = [here / top] if is_file(here / top) else sorted(filter(is_file, (here / top).glob("*")))
        own = [path.relative_to(here).as_posix() for path in files if not (there / path.relative_to(here)).exists()]
        own = [name for name in own if is_ours(here / name) or _is_vouched(here, name)]
        found += own if (there / top).exists() else [top] * bool(own)
    return tuple(found)


def _is_vouched(folder: Path, name: str) -> bool:
    known = vouched(folder).get(name)
    return known is not None and digest(folder / name) in known


def _vouch(place: Path, names: Iterable[str], folder: Path) -> None:
    """List files that have no ownership marker, with their digests, in the marker of another file of the result.

    Files of earlier results in the folder that were listed before are included.
    """
    by = voucher(names)
    if by is None:
        return
    others = {name: digest(place / name) for name in names if not has_seal((place / name).read_bytes())}
    for name in vouched(folder):
        if name not in names and is_file(folder / name) and _is_vouched(folder, name):
            others[name] = digest(folder / name)
    if others:
        write_whole(place / by, sealed(by, (place / by).read_bytes(), others))


# ---------------------------------------------------------------------- refusals


def _refuse_input(path: AnyPath, target: Path, inputs: Iterable[AnyPath], same: bytes | None = None) -> None:
    """Raise an error for an input, and for another result of this command; same: content that may be written twice."""
    if any(str(target) in (command.written or ()) for command in _commands):
        if same is not None and _holds(target, same):
            return
        raise FileError(
            path, "this command has already written another result with this name; give each result its own name"
        )
    if target in _Inputs(inputs) or any(target in command for command in _commands):
        raise FileError(
            path,
            "this file is an input of this command, and an input is never overwritten, not even with --force; "
            "choose another name, and move the new file over this one afterwards if needed",
        )


def _taken(path: AnyPath) -> FileError:
    return FileError(
        path,
        "a file of this name already exists that minertia did not write, or that was changed since; choose "
        "another name, or add --force (in Python force=True) to replace it",
    )


def _is_special(path: AnyPath) -> bool:
    """Whether a path is a pipe or a device, which can be written into but not replaced."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


@contextmanager
def _as_sentence(path: AnyPath, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as err:  # ValueError: a name that no file can have
        raise FileError(path, f"{what} ({getattr(err, 'strerror', None) or err})") from None


@contextmanager
def _named_after(draft: Path, folder: Path) -> Iterator[None]:
    """Context that renames temporary paths in errors to the final paths."""
    try:
        yield
    except FileError as err:
        file = Path(str(err.path))
        if not file.is_relative_to(draft):
            raise
        raise FileError(folder / file.relative_to(draft), err.why) from None
