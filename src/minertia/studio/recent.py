"""Recent projects of this user, and the studios that are opened on them from a start page."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from minertia.io.documents import json_document
from minertia.io.errors import InputError, MinertiaError
from minertia.io.files import make_folder, write_file
from minertia.studio.entrance import running_entrance
from minertia.studio.project import CAMPAIGN, RUNS, Project

MOST = 8  # projects that are listed
FILE = Path("minertia") / "recent.json"


def recent_file() -> Path:
    """File of this user with the folders of recent projects, the newest first."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / FILE
    named = os.environ.get("XDG_STATE_HOME", "")
    return (Path(named) if os.path.isabs(named) else Path.home() / ".local" / "state") / FILE


def remember(folder: str | Path) -> None:
    """Put a folder first among the recent projects; without a word where that cannot be written."""
    own = str(Path(folder).resolve())
    with contextlib.suppress(OSError, RuntimeError, MinertiaError):  # no home, or a disk that is full
        make_folder(recent_file().parent)
        names = [own, *(name for name in _folders() if name != own)][: 2 * MOST]
        write_file(recent_file(), json.dumps(names) + "\n", force=True, seal=False)


def _folders() -> list[str]:
    try:
        found = json_document(recent_file().read_text(encoding="utf-8"))
    except (OSError, RuntimeError, ValueError):
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def recent_projects(here: Path) -> list[dict[str, Any]]:
    """Recent projects that still exist, but for the one that is open here: key, name, folder, robot, runs."""
    found = []
    for name in _folders():
        folder = Path(name)
        if folder == here or not ((folder / CAMPAIGN).is_file() or (folder / RUNS).is_dir()):
            continue
        robot, runs = Project(folder).robot, sum(1 for _ in (folder / RUNS).iterdir())
        row = {"key": _key(name), "name": folder.name, "folder": name, "runs": runs}
        found.append({**row, "robot": None if robot is None else robot["title"]})
    return found[:MOST]


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def _answers(address: str, child: subprocess.Popen[str]) -> bool:
    """Wait until a studio listens at its address; False if it ended before."""
    found = urlsplit(address)
    while child.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((found.hostname or "", found.port or 0), 1.0):
            return True
        time.sleep(0.05)
    return False


class OpenedStudios:
    """Studios on other projects, each in a process of its own, that end with this one."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[str]] = {}
        self._lock = threading.Lock()

    def open(self, key: str) -> str:
        """Address, with its token, of a studio on a recent project; it is started unless it runs."""
        folder = next((name for name in _folders() if _key(name) == key), None)
        if folder is None or not Path(folder).is_dir():
            raise InputError("this project no longer exists; reload the page")
        with self._lock:
            return running_entrance(folder) or self._started(folder)

    def _started(self, folder: str) -> str:
        command = [sys.executable, "-m", "minertia", "studio", folder, "--no-open", "--port", "0"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._children[folder] = child
        assert child.stdout is not None
        words = child.stdout.readline().split()  # "minertia studio on ADDRESS", or nothing where it cannot start
        if not words or not _answers(words[-1], child):
            raise InputError(f"no studio can be started on '{folder}'; is it still readable?")
        return words[-1]

    def close(self) -> None:
        """End the studios."""
        for child in self._children.values():
            with child:  # waits for its end
                child.terminate()
