"""The seal: one line in a file that minertia wrote, by which it knows the file again as long as nobody changes it.

The line holds the SHA-256 of everything else in the file.  It stands in a comment at the end of the file, in the
comment that a CSV of ours begins with, or in the archive comment of an FMU.  Files that hold no byte of ours (JSON,
logs, the user's own robot file with other numbers) have the SHA-256 in an extended attribute, where the file system
has these, and in the seal of a file that was written together with them, which vouches for them.
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
    **dict.fromkeys((".toml", ".py", ".yaml", ".script", "Makefile", "CMakeLists.txt"), _HASH),
    **dict.fromkeys((".c", ".h", ".cpp", ".hpp"), _C),
    ".m": "% {}",
}


def sealed(name: str, data: bytes, with_it: Mapping[str, str] | None = None) -> bytes:
    """The content of a file with its seal; as it is where the kind of file (by name) has no place for one.

    with_it: names and digests of files beside it that it vouches for.  A seal that is there already is replaced.
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
    """The content with the seal that stands in it brought up to date; as it is where there is none."""
    found = list(_SEAL.finditer(data))
    if not found:
        return data
    last = found[-1]
    return data[: last.start(1)] + _digest_without(data, last).encode() + data[last.end(1) :]


def has_seal(data: bytes) -> bool:
    """Whether the content carries a seal and nothing was changed since."""
    return _good_seal(data) is not None


def is_ours(path: Path) -> bool:
    """Whether minertia wrote this file and nobody changed it since, as far as the file itself says."""
    known = _attribute(path)
    return _seal_of(path) is not None or (known is not None and known == digest(path))


def mark(path: Path) -> None:
    """Note in an attribute that a file without a seal is ours; nothing where there are no attributes."""
    with contextlib.suppress(OSError, AttributeError):  # not all file systems, and not all systems, have them
        os.setxattr(path, ATTRIBUTE, digest(path).encode())


def vouched(folder: Path) -> dict[str, set[str]]:
    """Names in a folder and below, with the digests that unchanged files of ours right in the folder vouch for."""
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
    """Which of these files (paths in a folder) is to vouch for the others: the first right in the folder that can."""
    return min((name for name in names if "/" not in name and _can_vouch(name)), default=None)


def digest(path: Path) -> str:
    """SHA-256 of a file, whichever way its lines end."""
    return _digest(path.read_bytes())


# ---------------------------------------------------------------------- inside


def _comment(name: str) -> str | None:
    """How a comment is written in a file of this name."""
    path = PurePosixPath(name)
    return _COMMENTS.get(path.name) or _COMMENTS.get(path.suffix.lower())


def _can_vouch(name: str) -> bool:
    return _comment(name) is not None or name.lower().endswith(".fmu")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _digest_without(data: bytes, seal: re.Match[bytes]) -> str:
    """SHA-256 of the content without the digits of a seal."""
    return _digest(data[: seal.start(1)] + data[seal.end(1) :])


def _good_seal(data: bytes) -> re.Match[bytes] | None:
    seals = (match for match in _SEAL.finditer(data) if match[1].decode() == _digest_without(data, match))
    return next(seals, None)


def _seal_of(path: Path) -> re.Match[bytes] | None:
    """The good seal of a file; one without a seal is not read to its end."""
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
    """A text with a line at its end, instead of an old seal that stands there."""
    body = data if data.endswith(b"\n") or not data else data + b"\n"
    *rest, last = body[:-1].split(b"\n") if body else [b""]
    if _SEAL.search(last):
        body = b"".join(part + b"\n" for part in rest)
    return body + line.encode() + b"\n"


def _listed(digests: Mapping[str, str]) -> str:
    """Names and digests on one line that is safe in any comment."""
    text = json.dumps(dict(sorted(digests.items())))
    return text.replace("-", "\\u002d").replace("*/", "*\\/").replace(">", "\\u003e")
