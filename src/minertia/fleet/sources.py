"""Logs of a fleet: discovery, robot and day of each, and hashing of their bytes while reading."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

from minertia.fleet.fleet_file import FleetFile
from minertia.fleet.outages import asked, told
from minertia.fleet.places import chunks, file_system, is_remote
from minertia.identification.logs.readers import FORMATS, is_folder
from minertia.io.errors import MinertiaError, RecordingError

PARTITION = re.compile(r"(?:^|/)(robot|day)=([^/]+)(?=/)")  # a folder, and no part of another word
DAY = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")


@dataclass(frozen=True, slots=True)
class LogSource:
    """Log as found: its URL, size in bytes, and a stamp that changes when the log changes."""

    url: str
    size: int
    stamp: str

    def robot(self, fleet: FleetFile) -> str | None:
        """Robot of the log: robot=R in its path, else a folder or the start of its name; None if unknown."""
        told = dict(PARTITION.findall(self.url)).get("robot")
        if told is not None:
            return told if fleet.robot(told) is not None else None
        parts = PurePosixPath(self.url.partition("://")[2] or self.url).parts
        folder = next((part for part in reversed(parts[:-1]) if fleet.robot(part) is not None), None)
        if folder is not None:
            return folder
        stem = parts[-1].split(".")[0]
        starts = [stem[:k] for k in range(len(stem), 0, -1) if k == len(stem) or stem[k] in "_-."]
        return next((start for start in starts if fleet.robot(start) is not None), None)

    @property
    def day(self) -> str | None:
        """Day in the log's path; None if there is no valid date."""
        told = dict(PARTITION.findall(self.url)).get("day")
        found = DAY.search(self.url.rpartition("/")[2]) if told is None else DAY.fullmatch(told)
        try:
            return date.fromisoformat(found[0]).isoformat() if found else None
        except ValueError:
            return None


def find_logs(named: Iterable[str | Path | LogSource]) -> list[LogSource]:
    """Find all logs in files, folders and URLs, without duplicates, sorted by name."""
    found: dict[str, LogSource] = {}
    for name in named:
        if isinstance(name, LogSource):
            found[name.url] = name
            continue
        some = list(_remote(str(name)) if is_remote(str(name)) else _local(Path(str(name).removeprefix("file://"))))
        if not some:
            raise MinertiaError(f"{name}: there is no log here; known file name extensions: {', '.join(FORMATS)}")
        found |= {log.url: log for log in some}
    return [found[url] for url in sorted(found)]


def _local(path: Path) -> Iterator[LogSource]:
    if is_folder(path) or path.is_file():
        yield _looked_at(path)
        return
    if not path.is_dir():
        raise RecordingError("there is no such file or folder", file=path)
    for folder, folders, names in os.walk(path, onerror=_refuse_folder):
        own = Path(folder)
        bags = [name for name in sorted(folders) if is_folder(own / name)]
        folders[:] = [name for name in sorted(folders) if name not in bags]
        for name in (*bags, *sorted(names)):
            if name in bags or (_is_log(name) and not name.startswith(".")):
                yield _listed(own / name)


def _refuse_folder(err: OSError) -> None:
    """Raise an error for a folder that cannot be listed, whose logs would otherwise be missing silently."""
    raise RecordingError(f"the folder cannot be listed ({err.strerror or err})", file=err.filename)


def _listed(path: Path) -> LogSource:
    """Log at a path; a vanished file or broken link is reported only when it is opened."""
    try:
        return _looked_at(path)
    except OSError:
        return LogSource(str(path), 0, "")


def _is_log(name: str) -> bool:
    return name.lower().endswith(tuple(FORMATS))


def _looked_at(path: Path) -> LogSource:
    parts = _files(path)
    known = [file.stat() for file in parts]
    return LogSource(str(path), sum(s.st_size for s in known), ",".join(str(s.st_mtime_ns) for s in known))


def _files(path: Path) -> list[Path]:
    """Files of a log: the file itself, or all files of a bag folder."""
    return sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]


def _remote(url: str) -> Iterator[LogSource]:
    fs, path = file_system(url)
    fs.invalidate_cache()
    try:
        found = asked(url, lambda: fs.glob(path, detail=True) if "*" in path else fs.find(path, detail=True))
    except FileNotFoundError:
        return
    for name, info in sorted(found.items()):
        if _is_log(name) and info.get("type", "file") == "file":
            stamp = next((str(info[k]) for k in ("ETag", "etag", "LastModified", "mtime", "created") if k in info), "")
            yield LogSource(fs.unstrip_protocol(name), int(info["size"]), stamp)


# ---------------------------------------------------------------------- content


@dataclass(frozen=True, slots=True)
class LogContent:
    """Content of a log in a local file: path, SHA-256 and length in bytes.

    starts: SHA-256 of each earlier, shorter version of the log that is a prefix of this content.
    """

    path: Path
    digest: str
    length: int
    starts: tuple[str, ...] = ()


@contextmanager
def opened(log: LogSource, earlier: Sequence[tuple[int, str]] = ()) -> Iterator[LogContent]:
    """Context manager that yields the content of a log; raises an error at exit if the log has changed.

    A remote log is first copied, so that the hashed bytes are the ones that are read.  earlier: length in bytes
    and SHA-256 of earlier versions of the log.
    """
    if is_remote(log.url):
        with _spooled(log, earlier) as content:
            yield content
        return
    path = Path(log.url)
    before = _looked_at(path)
    files = _files(path)
    digest, length, starts = _hashed((data for file in files for data in _read(file)), earlier)
    try:
        yield LogContent(path, digest, length, starts)
    except MinertiaError:
        _refuse_change(path, before, length)  # which may be what the reader stumbled over
        raise
    _refuse_change(path, before, length)


def _refuse_change(path: Path, before: LogSource, length: int) -> None:
    if length != before.size or _looked_at(path) != before:
        raise RecordingError("the log changed while it was read; add it again when it is complete", file=path)


def _read(file: Path) -> Iterator[bytes]:
    with open(file, "rb") as opened_file:
        yield from chunks(opened_file)


@contextmanager
def _spooled(log: LogSource, earlier: Sequence[tuple[int, str]]) -> Iterator[LogContent]:
    fs, path = file_system(log.url)
    folder = tempfile.mkdtemp(prefix="minertia-")
    copy = Path(folder) / PurePosixPath(path).name
    try:
        with (
            asked(log.url, lambda: fs.open(path, "rb")) as remote,
            tempfile.NamedTemporaryFile(dir=folder, delete=False) as local,
        ):

            def copied() -> Iterator[bytes]:
                for data in chunks(remote):
                    local.write(data)
                    yield data

            with told(log.url):
                digest, length, starts = _hashed(copied(), earlier)
        Path(local.name).rename(copy)
        yield LogContent(copy, digest, length, starts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _hashed(parts: Iterable[bytes], earlier: Sequence[tuple[int, str]]) -> tuple[str, int, tuple[str, ...]]:
    """SHA-256 of all bytes, their number, and the hashes of the earlier versions that are a prefix of them."""
    whole, length, starts = hashlib.sha256(), 0, []
    waiting = sorted((size, digest) for size, digest in earlier if size > 0)
    for data in parts:
        while waiting and length + len(data) >= waiting[0][0]:
            size, digest = waiting.pop(0)
            start = whole.copy()
            start.update(data[: size - length])
            if start.hexdigest() == digest:
                starts.append(digest)
        whole.update(data)
        length += len(data)
    own = whole.hexdigest()
    return own, length, tuple(digest for digest in starts if digest != own)
