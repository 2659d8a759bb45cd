"""Ownership marker: one line in a file that minertia wrote, by which it recognises the file while it is unchanged.

The line holds the SHA-256 of everything else in the file.  It is in a comment at the end of the file, in the comment at
the beginning of a CSV, or in the archive comment of an FMU.  Files that cannot hold a marker (JSON, logs, the user's
own robot file with other values) have the SHA-256 in an extended attribute, where the file system supports these, and
in the marker of a file that was written together with them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from minertia.io.documents import DocumentError, json_document

NEAR = 16384  # bytes from either end of a file within which its seal stands
ATTRIBUTE = "user.minertia.sha256"
_WORDS, _WITH = "minertia wrote this file; sha256 ", "; with it "
_SEAL = re.compile(_WORDS.encode() + rb"([0-9a-f]{64})(?:" + _WITH.encode() + rb"(\{[^\n]*\}))?")
_END_OF_ARCHIVE = b"PK\x05\x06"  # its record is 22 bytes long and ends with the length of the comment after it
_XML, _HASH, _C = "<!-- {} -->", "# {}", "/* {} */"
_COMMENTS = {
    **dict.fromkeys((".html", ".urdf", ".mjcf", ".xml", ".md"), _XML),
    **dict.fromkeys((".toml", ".usda", ".py", ".yaml", ".script", "Makefile", "CMakeLists.txt"), _HASH),
    **dict.fromkeys((".c", ".h", ".cpp", ".hpp"), _C),
    ".m": "% {}",
}


def sealed(name: str, data: bytes, with_it: Mapping[str, str] | None = None) -> bytes:
    """Content of a file with its ownership marker; unchanged if the file type (by name) cannot hold one.

    with_it: names and digests of other files that the marker lists.  An existing marker is replaced.
    """
    suffix, comment = PurePosixPath(name).suffix.lower(), _comment(name)
    text = f"{_WORDS}{'0' * 64}" + (f"{_WITH}{_listed(with_it)}" if with_it else "")
    if comment is not None:
        return resealed(_with_last_line(data, comment.format(text)))
    if suffix == ".csv" and data.startswith(b"#"):
        first, _, rest = data.partition(b"\n")
        return resealed(first.split(b"; " + _WORDS.encode())[0] + f"; {text}\n".encode() + rest)
    end = data.rfind(_END_OF_ARCHIVE)
    if suffix == ".fmu" and end >= 0:
        return resealed(data[: end + 20] + len(text).to_bytes(2, "little") + text.encode())
    return data


def resealed(data: bytes) -> bytes:
    """Content with its ownership marker updated; unchanged where there is none."""
    found = list(_SEAL.finditer(data))
    if not found:
        return data
    last = found[-1]
    return data[: last.start(1)] + _digest_without(data, last).encode() + data[last.end(1) :]


def has_seal(data: bytes) -> bool:
    """Whether the content has a valid ownership marker."""
    return _good_seal(data) is not None


def is_ours(path: Path) -> bool:
    """Whether minertia wrote this file and it is unchanged, according to the file itself."""
    known = _attribute(path)
    return _seal_of(path) is not None or (known is not None and known == digest(path))


def mark(path: Path) -> None:
    """Mark a file that cannot hold an ownership marker by an extended attribute, where these are supported."""
    with contextlib.suppress(OSError, AttributeError):  # not all file systems, and not all systems, have them
        os.setxattr(path, ATTRIBUTE, digest(path).encode())


def vouched(folder: Path) -> dict[str, set[str]]:
    """Digests by file name, in a folder and below, from the valid ownership markers of its files."""
    found: dict[str, set[str]] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        seal = _seal_of(path) if _can_vouch(path.name) and path.is_file() else None
        with contextlib.suppress(DocumentError, AttributeError):
            for name, value in (
                json_document(seal[2].decode("utf-8", "replace")).items() if seal is not None and seal[2] else ()
            ):
                found.setdefault(name, set()).add(value)
    return found


def voucher(names: Iterable[str]) -> str | None:
    """File name whose ownership marker is to list the other files: the first in the folder that can hold one."""
    return min((name for name in names if "/" not in name and _can_vouch(name)), default=None)


def digest(path: Path) -> str:
    """SHA-256 of a file, independent of its line endings."""
    return _digest(path.read_bytes())


# ---------------------------------------------------------------------- inside


def _comment(name: str) -> str | None:
    """Comment syntax of a file with this name."""
    path = PurePosixPath(name)
    return _COMMENTS.get(path.name) or _COMMENTS.get(path.suffix.lower())


def _can_vouch(name: str) -> bool:
    return _comment(name) is not None or name.lower().endswith(".fmu")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _digest_without(data: bytes, seal: re.Match[bytes]) -> str:
    """SHA-256 of the content, excluding the digest in its ownership marker."""
    return _digest(data[: seal.start(1)] + data[seal.end(1) :])


def _good_seal(data: bytes) -> re.Match[bytes] | None:
    seals = (match for match in _SEAL.finditer(data) if match[1].decode() == _digest_without(data, match))
    return next(seals, None)


def _seal_of(path: Path) -> re.Match[bytes] | None:
    """Valid ownership marker of a file; a file without one is not read to its end."""
    try:
        with open(path, "rb") as file:
            ends = file.read(NEAR)
            file.seek(max(0, file.seek(0, os.SEEK_END) - NEAR))
            if not _SEAL.search(ends + b"\n" + file.read()):
                return None
            file.seek(0)
            return _good_seal(file.read())
    except OSError:
        return None


def _attribute(path: Path) -> str | None:
    try:
        return os.getxattr(path, ATTRIBUTE).decode("ascii", "replace")
    except (OSError, AttributeError):
        return None


def _with_last_line(data: bytes, line: str) -> bytes:
    """Text with a line at its end, in place of an old marker."""
    body = data if data.endswith(b"\n") or not data else data + b"\n"
    *rest, last = body[:-1].split(b"\n") if body else [b""]
    if _SEAL.search(last):
        body = b"".join(part + b"\n" for part in rest)
    return body + line.encode() + b"\n"


def _listed(digests: Mapping[str, str]) -> str:
    """Names and digests on one line, escaped for use in any comment."""
    text = json.dumps(dict(sorted(digests.items())))
    return text.replace("-", "\\u002d").replace("*/", "*\\/").replace(">", "\\u003e")
