"""Writing files so that they appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from minertia.errors import MinertiaError


class FileError(MinertiaError):
    """A file or folder that cannot be written."""

    def __init__(self, path: object, why: str) -> None:
        self.path = path
        super().__init__(f"{path}: {why}")


def is_file(path: str | Path) -> bool:
    """Whether there is such a file; False for a name that no file can have and for a folder that is not ours to see."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def why_no_file(path: str | Path) -> str:
    """Why there is no file of this name, as the rest of a sentence."""
    return "this is a folder; give the name of a file" if os.path.isdir(path) else "there is no such file"


def write_text_atomic(path: str | Path, text: str) -> None:
    """`write_bytes_atomic` on text, as UTF-8."""
    write_bytes_atomic(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes_atomic(path: str | Path, data: bytes) -> None:
    """Write beside the file, then put it in its place; what was there stays until the new file is complete.

    A file that is replaced keeps its permissions, and a link keeps pointing to it.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError(path, why_no_file(target))
        if not target.parent.is_dir():
            folder = Path(path).parent
            raise FileError(path, f"the file cannot be written: the folder '{folder}' does not exist; create it first")
        _write_beside(target, data)
    except (OSError, ValueError) as err:  # ValueError: a name that no file can have
        raise FileError(path, f"the file cannot be written ({getattr(err, 'strerror', None) or err})") from None


def make_folder(path: str | Path) -> Path:
    """The folder, made with its parents where it is missing."""
    folder = Path(path)
    try:
        if folder.is_file():
            raise FileError(path, "this is a file; give the name of a folder")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise FileError(path, f"the folder cannot be made ({err.strerror or err})") from None
    return folder


@contextmanager
def folder_at_once(path: str | Path) -> Iterator[Path]:
    """A draft folder whose files appear in `path` together when all of them are written, and else not at all.

    Other files in the folder stay.
    """
    folder = Path(path)
    try:
        missing = [p for p in (folder, *folder.parents) if not p.exists()]
        if folder.exists() and not folder.is_dir():
            raise FileError(path, "this is a file; give the name of a folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = folder.parent / f".minertia-{uuid4().hex}.tmp"
        draft.mkdir()
    except OSError as err:
        raise FileError(path, f"the folder cannot be made ({err.strerror or err})") from None
    done = False
    try:
        yield draft
        _put_in_place(draft, folder)
        done = True
    except OSError as err:
        raise FileError(path, f"the folder cannot be written ({err.strerror or err})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        for made in () if done else missing[1:]:
            made.rmdir()


def _put_in_place(draft: Path, folder: Path) -> None:
    if not folder.exists():
        os.rename(draft, folder)
        return
    files = sorted(draft.iterdir())
    for file in files:
        if (folder / file.name).is_dir():
            raise FileError(folder / file.name, "a folder stands where a file is to be written")
    for file in files:
        os.replace(file, folder / file.name)


def _write_beside(target: Path, data: bytes) -> None:
    draft = target.with_name(f".minertia-{uuid4().hex}.tmp")
    try:
        with open(draft, "xb") as file:
            if target.exists():
                shutil.copymode(target, draft)  # before the content, which may be private
            file.write(data)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
