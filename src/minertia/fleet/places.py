"""Storage of fleet stores and logs: a local folder, or any fsspec file system (s3://, memory://).

Writes are atomic: in a folder by a temporary file that is synchronised and renamed; object stores write
atomically by themselves.
"""

from __future__ import annotations

import abc
import contextlib
import itertools
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from minertia.fleet.outages import Outage, StoreError, ToldFile, asked, told
from minertia.io.drafts import write_whole
from minertia.io.extras import load

CHUNK = 1 << 20  # bytes copied or hashed at a time
__all__ = [
    "LocalPlace",
    "Outage",
    "RemotePlace",
    "StoreError",
    "StorePlace",
    "chunks",
    "file_system",
    "is_remote",
    "place",
]


class StorePlace(abc.ABC):
    """Abstract storage: files below one root, with names separated by slashes."""

    url: str

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """Contents of a file; raises FileNotFoundError if there is none."""

    @abc.abstractmethod
    def opened(self, name: str) -> AbstractContextManager[Any]:
        """Context with a file for partial reads; raises FileNotFoundError if there is none."""

    @abc.abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Write or overwrite a file atomically."""

    @abc.abstractmethod
    def exists(self, name: str) -> bool:
        """Whether the file exists."""

    @abc.abstractmethod
    def remove(self, name: str) -> None:
        """Delete a file; does nothing if there is none."""

    @abc.abstractmethod
    def names(self, below: str = "") -> list[str]:
        """Sorted names of all files below a folder; empty if it does not exist."""

    @abc.abstractmethod
    def changed(self, names: Collection[str]) -> dict[str, float]:
        """Modification times of these files [s since 1970]; missing files are omitted."""


class LocalPlace(StorePlace):
    """Local folder."""

    def __init__(self, url: str) -> None:
        self.root = Path(url.removeprefix("file://")).absolute()
        self.url = str(self.root)

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return (self.root / name).read_bytes()

    def opened(self, name: str) -> AbstractContextManager[Any]:
        """Context with the open file."""
        return open(self.root / name, "rb")

    def write(self, name: str, data: bytes) -> None:
        """Write a temporary file and rename it."""
        target = self.root / name
        for left in (True, False):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                return write_whole(target, data)
            except FileNotFoundError:  # somebody took the last file out of the folder, and the folder with it
                if not left:
                    raise

    def exists(self, name: str) -> bool:
        """Whether the file exists."""
        return (self.root / name).is_file()

    def remove(self, name: str) -> None:
        """Delete a file, and folders that become empty."""
        target = self.root / name
        target.unlink(missing_ok=True)
        for folder in itertools.takewhile(lambda parent: parent != self.root, target.parents):
            try:
                folder.rmdir()
            except OSError:  # not empty, or gone: others write and tidy up at the same time
                return

    def names(self, below: str = "") -> list[str]:
        """Names of all files below a folder, without temporary files."""
        found = (Path(folder) / name for folder, _, names in os.walk(self.root / below) for name in names)
        return sorted(path.relative_to(self.root).as_posix() for path in found if not path.name.startswith("."))

    def changed(self, names: Collection[str]) -> dict[str, float]:
        """Modification times of files."""
        found = {}
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                found[name] = (self.root / name).stat().st_mtime
        return found


class RemotePlace(StorePlace):
    """Any fsspec file system."""

    def __init__(self, url: str) -> None:
        self.fs, root = file_system(url)
        self.root, self.url = root.rstrip("/"), url.rstrip("/")

    def read(self, name: str) -> bytes:
        """The content of an object."""
        return asked(self.url, lambda: bytes(self.fs.cat_file(f"{self.root}/{name}")))

    def opened(self, name: str) -> AbstractContextManager[Any]:
        """Context with the object as a file that is read by byte ranges."""
        return ToldFile(self.url, asked(self.url, lambda: self.fs.open(f"{self.root}/{name}", "rb")))

    def write(self, name: str, data: bytes) -> None:
        """Write an object."""
        asked(self.url, lambda: self.fs.pipe_file(f"{self.root}/{name}", data))

    def exists(self, name: str) -> bool:
        """Whether the object exists, bypassing the listing cache."""
        self.fs.invalidate_cache()
        return asked(self.url, lambda: bool(self.fs.exists(f"{self.root}/{name}")))

    def remove(self, name: str) -> None:
        """Delete an object."""
        if self.exists(name):
            with contextlib.suppress(FileNotFoundError), told(self.url):  # others tidy up, too
                self.fs.rm_file(f"{self.root}/{name}")

    def names(self, below: str = "") -> list[str]:
        """Names of all objects below a prefix."""
        return sorted(self._listed(below))

    def changed(self, names: Collection[str]) -> dict[str, float]:
        """Modification times of objects; a whole folder is listed at once."""
        found: dict[str, float] = {}
        for folder in sorted({name.partition("/")[0] for name in names}):
            listed = self._listed(folder)
            found |= {name: _written(listed[name]) for name in names if name in listed}
        return found

    def _listed(self, below: str) -> dict[str, Any]:
        """List all objects below a prefix, or the object of exactly that name."""
        self.fs.invalidate_cache()
        start = f"{self.root}/{below}".rstrip("/")
        try:
            found = asked(self.url, lambda: self.fs.find(start, detail=True))
        except FileNotFoundError:
            return {}
        cut = len(self.fs._strip_protocol(self.root)) + 1
        return {path[cut:]: info for path, info in found.items()}


def _written(info: Mapping[str, Any]) -> float:
    """Modification time of an object from its listing [s since 1970]; infinite if missing."""
    when = next((info[key] for key in ("LastModified", "last_modified", "mtime", "created") if info.get(key)), None)
    if isinstance(when, datetime):
        return when.timestamp()
    return float(when) if isinstance(when, int | float) else float("inf")


def is_remote(url: str) -> bool:
    """Whether a name is a remote URL."""
    return "://" in url and not url.startswith("file://")


def file_system(url: str) -> tuple[Any, str]:
    """File system and path of a URL."""
    fsspec = load("fsspec", "cluster")
    protocol = url.partition("://")[0]
    try:
        fs, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError, KeyError) as err:
        raise StoreError(f"{url}: the protocol '{protocol}://' is not available ({str(err)[:200]})") from None
    return fs, str(path)


def place(url: str) -> StorePlace:
    """Storage at a URL or in a local folder."""
    return RemotePlace(url) if is_remote(url) else LocalPlace(url)


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Bytes of an open file in chunks."""
    while data := file.read(CHUNK):
        yield data
