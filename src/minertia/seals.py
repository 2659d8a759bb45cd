"""The seal: one line in a file that minertia wrote, by which it knows the file again as long as nobody changes it.

The line holds the SHA-256 of everything else in the file.  It stands in a comment where the format has comments, in a
key `seal` of JSON, in the first line of a CSV that begins with a comment, and in the archive comment of an FMU.  Files
that must not hold a byte of ours have the same number in an extended attribute, where the file system has these, and
in the JSON document of the result they belong to.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORDS = "minertia wrote this file; sha256 "
DIGITS = 64
NEAR = 8192  # bytes from either end of a file within which its seal stands
ATTRIBUTE = "user.minertia.sha256"
COMPANIONS = "sealed_with_it"  # key of JSON: files of the same folder that can hold no seal, with their SHA-256
_SEAL = re.compile(WORDS.encode() + rb"([0-9a-f]{64})")
_END_OF_ARCHIVE = b"PK\x05\x06"  # its record is 22 bytes long and ends with the length of the comment
_XML, _HASH, _C = "<!-- {} -->", "# {}", "/* {} */"
_COMMENTS = {
    **dict.fromkeys((".html", ".urdf", ".mjcf", ".xml", ".md"), _XML),
    **dict.fromkeys((".toml", ".py", "Makefile", "CMakeLists.txt"), _HASH),
    **dict.fromkeys((".c", ".h", ".cpp", ".hpp"), _C),
    ".m": "% {}",
}


def sealed(name: str, data: bytes) -> bytes:
    """The content of a file with its seal; as it is where the kind of file (by name) has no place for one."""
    suffix, mark = Path(name).suffix.lower(), WORDS + "0" * DIGITS
    comment = _COMMENTS.get(name) or _COMMENTS.get(suffix)
    if comment is not None:
        data = data + (b"" if data.endswith(b"\n") else b"\n") + f"{comment.format(mark)}\n".encode()
    elif suffix == ".json" and data.rstrip().endswith(b"}"):
        data = _with_key(data, "seal", mark)
    elif suffix == ".csv" and data.startswith(b"#"):
        first, _, rest = data.partition(b"\n")
        data = first + f"; {mark}\n".encode() + rest
    elif suffix == ".fmu" and data[-22:-18] == _END_OF_ARCHIVE:
        data = data[:-2] + len(mark).to_bytes(2, "little") + mark.encode()
    else:
        return data
    return resealed(data)


def resealed(data: bytes) -> bytes:
    """The content with the seal that stands in it brought up to date; as it is where there is none."""
    found = list(_SEAL.finditer(data))
    if not found:
        return data
    last = found[-1]
    return data[: last.start(1)] + _digest_without(data, last).encode() + data[last.end(1) :]


def has_good_seal(data: bytes) -> bool:
    """Whether the content carries a seal and nothing was changed since."""
    return any(match[1].decode() == _digest_without(data, match) for match in _SEAL.finditer(data))


def is_ours(path: Path) -> bool:
    """Whether minertia wrote this file and nobody changed it since."""
    known = _attribute(path)
    return is_sealed(path) or (known is not None and known == digest(path))


def mark(path: Path) -> None:
    """Note in an attribute that a file without a seal is ours; nothing where there are no attributes."""
    with contextlib.suppress(OSError, AttributeError):  # not all file systems, and not all systems, have them
        os.setxattr(path, ATTRIBUTE, digest(path).encode())


def is_sealed(path: Path) -> bool:
    """Whether a file carries a seal and nothing was changed since; one without a seal is not read to its end."""
    with open(path, "rb") as file:
        ends = file.read(NEAR)
        size = file.seek(0, 2)
        file.seek(max(0, size - NEAR))
        ends += b"\n" + file.read()
        if not _SEAL.search(ends):
            return False
        file.seek(0)
        return has_good_seal(file.read())


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_companions(data: bytes, digests: Mapping[str, str]) -> bytes:
    """A sealed JSON document that also vouches for files beside it which can hold no seal."""
    document = json.loads(data)
    document.pop("seal", None)
    text = json.dumps({**document, COMPANIONS: dict(digests)}, indent=1) + "\n"
    return sealed(".json", text.encode())


def companions(path: Path) -> dict[str, Any]:
    """The digests of files without a seal that a sealed JSON document vouches for, by name; {} where it is not ours."""
    try:
        if not is_sealed(path):
            return {}
        found = json.loads(path.read_bytes()).get(COMPANIONS, {})
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _attribute(path: Path) -> str | None:
    try:
        return os.getxattr(path, ATTRIBUTE).decode("ascii", "replace")
    except (OSError, AttributeError):
        return None


def _with_key(data: bytes, key: str, value: str) -> bytes:
    """A JSON object with one more key at its end, the rest of its text as it is."""
    body = data.rstrip()[:-1].rstrip()
    comma = b"" if body.endswith(b"{") else b","
    return body + comma + f'\n "{key}": {json.dumps(value)}\n}}\n'.encode()


def _digest_without(data: bytes, seal: re.Match[bytes]) -> str:
    """SHA-256 of the content without the digits of a seal, whichever way lines end."""
    rest = data[: seal.start(1)] + data[seal.end(1) :]
    return hashlib.sha256(rest.replace(b"\r\n", b"\n")).hexdigest()
