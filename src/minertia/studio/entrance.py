"""Token of a studio, in a folder that only its user can read: for tools, restarts, and opening a browser.

`.studio/address.json` holds the address and the token of the studio that runs, or last ran, on the folder;
the next one there reuses the token, so that open tabs keep working.  If the file system has no permissions,
or another user created the folder, nothing is written and the token is new each time.
"""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minertia.io.documents import json_document

FOLDER, ADDRESS, PAGE = ".studio", "address.json", "open.html"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,64}")


def kept_token(folder: str | Path) -> str | None:
    """Token of the last studio on a folder, where only this user can have read it."""
    return _kept(folder).get("token")


def running_entrance(folder: str | Path) -> str | None:
    """Address, with its token, of the studio that runs on a folder; None if none does."""
    kept = _kept(folder)
    try:
        os.kill(int(kept["pid"]), 0)
    except (KeyError, OSError, TypeError, ValueError):
        return None
    return f"{kept['address']}?token={kept['token']}" if _is_here(kept.get("address")) else None


def _is_here(address: object) -> bool:
    """Whether an address is of this machine, and takes a token."""
    return isinstance(address, str) and re.fullmatch(r"http://(127\.0\.0\.1|\[::1\]):\d+/", address) is not None


def _kept(folder: str | Path) -> dict[str, Any]:
    """Address, token and process of the last studio on a folder; empty where others can have read or written it."""
    place = Path(folder) / FOLDER
    try:
        found = json_document(_private_text(place / ADDRESS)) if _is_private(place) else None
    except (OSError, ValueError):
        return {}
    token = found.get("token") if isinstance(found, dict) else None
    return found if isinstance(found, dict) and isinstance(token, str) and _TOKEN.fullmatch(token) else {}


@contextmanager
def announced(folder: str | Path, address: str, token: str | None) -> Iterator[Path | None]:
    """Write address and token for this user alone; yields a page to open in a browser, None where there is none."""
    page = None
    if token is not None:
        with contextlib.suppress(OSError):
            page = _announce(Path(folder).resolve() / FOLDER, address, token)
    try:
        yield page
    finally:
        if page is not None:
            with contextlib.suppress(OSError):
                page.unlink()


def _announce(place: Path, address: str, token: str) -> Path | None:
    place.mkdir(mode=0o700, exist_ok=True)
    if not _is_private(place):
        return None
    _write_private(place / ".gitignore", "*\n")
    _write_private(place / ADDRESS, json.dumps({"address": address, "token": token, "pid": os.getpid()}) + "\n")
    goal = html.escape(f"{address}?token={token}")
    head = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={goal}">'
    _write_private(place / PAGE, f'<!doctype html>{head}<p><a href="{goal}">minertia studio</a></p>\n')
    return place / PAGE


def _write_private(path: Path, text: str) -> None:
    """Create a new file instead of overwriting: an older one may be open in another process, or be a link."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _private_text(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not _is_ours(os.fstat(descriptor)):
            raise OSError("the file must be owned and readable by this user only")
        return file.read(10_000)


def _is_private(folder: Path) -> bool:
    """Whether this is a folder, not a link to one, that only this user can access."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and _is_ours(found)


def _is_ours(found: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and found.st_uid == os.geteuid() and not found.st_mode & 0o077
