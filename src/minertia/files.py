"""Writing files so that they appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from minertia.errors import MinertiaError


class FileError(MinertiaError):
    """A file or folder that cannot be written."""

    def __init__(self, path: object, why: str) -> None:
        self.path = path
        super().__init__(f"{path}: {why}")


def write_text_atomic(path: str | Path, text: str) -> None:
    """`write_bytes_atomic` on text, as UTF-8."""
    write_bytes_atomic(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes_atomic(path: str | Path, data: bytes) -> None:
    """Write beside the file, then put it in its place; what was there stays until the new file is complete."""
    target = Path(path)
    if target.is_dir():
        raise FileError(path, "this is a folder; give the name of a file")
    if not target.parent.is_dir():
        raise FileError(path, f"the folder '{target.parent}' does not exist; create it first")
    try:
        _write_beside(target, data)
    except OSError as err:
        raise FileError(path, f"the file cannot be written ({err.strerror or err})") from None


def make_folder(path: str | Path) -> Path:
    """The folder, made with its parents where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise FileError(path, f"the folder cannot be made ({err.strerror or err})") from None
    return folder


def _write_beside(target: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".minertia-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced; of a new one, what the user's mask leaves."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
