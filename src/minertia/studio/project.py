"""A project: a folder of plain files that the command line reads and writes, too.

Robots, logs and models are found by their endings and known to requests by short keys; a request never names a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any, BinaryIO

import tomli_w

from minertia.documents import DocumentError, json_document, toml_document
from minertia.drafts import one_at_a_time
from minertia.errors import DescriptionError, InputError, MinertiaError, visible
from minertia.files import make_folder, new_file, write_file
from minertia.robot.read import bundled_robots, is_model_text
from minertia.robot.xml_input import parse_xml
from minertia.seals import is_ours
from minertia.version import __version__

FORMAT = 1
STATE, CAMPAIGN, BEFORE, RUNS, UPLOADS = "studio.json", "campaign.toml", "campaign.before.toml", "runs", "uploads"
STORE = "store.toml"  # what a store of a fleet's records is known by
USES = ("train", "validate")
TABLES = ("columns", "drive", "filter", "model", "estimator", "evaluation")  # of a campaign, in the format's own keys
KEPT = ("name", "gravity", "joints", "hold")  # of a campaign that stands there already
ROBOT_ENDINGS = (".urdf", ".xml", ".mjcf", ".par", ".toml")
LOG_ENDINGS = (".csv.gz", ".csv", ".txt", ".tsv", ".dat", ".parquet", ".npz", ".mat", ".mcap")
MESH_ENDINGS = (".stl", ".obj", ".dae")  # what can be read of them; with a description that was dropped
ENDINGS = {"robot": ROBOT_ENDINGS, "log": LOG_ENDINGS, "mesh": MESH_ENDINGS}
NOT_LOGS = re.compile(r"(motion|excitation|trajectory)[^/]*\.csv$|readme|requirements|cmakelists", re.IGNORECASE)
NO_ROBOTS = (CAMPAIGN, BEFORE, "columns.toml", "log.toml", "limits.toml", "excitation-limits.toml", "pyproject.toml")
DEPTH, MOST = 3, 2000  # folders below the project that are looked into, and files that are looked at
LONGEST_TITLE = 120
NEAR = 400  # characters from the start of a TOML file that say what it is


@dataclass(frozen=True)
class ProjectFile:
    """A file of the project.  key: what requests call it.  kind: "robot", "log" or "model".  title: for people."""

    key: str
    kind: str
    path: Path
    title: str
    size: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the page."""
        return {"key": self.key, "kind": self.kind, "title": self.title, "size": self.size}


class Project:
    """A folder with a robot, logs, a campaign and the runs of jobs."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = make_folder(folder).resolve()
        self._lock = threading.Lock()
        make_folder(self.folder / RUNS)

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.name or str(self.folder)

    # ------------------------------------------------------------------ files

    def files(self) -> list[ProjectFile]:
        """Robots, logs and models in the folder and a few levels below, by title."""
        titles = self._state().get("titles", {})
        found = []
        for path in _walk(self.folder):
            kind = _kind(path)
            if kind is not None:
                name = path.relative_to(self.folder).as_posix()
                title = visible(str(titles.get(name, name)))
                found.append(ProjectFile(_key(name), kind, path, title, path.stat().st_size))
        return sorted(found, key=lambda file: (file.title.lower(), file.key))  # names of uploads are in no order

    def file(self, key: str, *kinds: str) -> ProjectFile:
        """The file that a request means; kinds: what it may be."""
        for file in self.files():
            if file.key == key and file.kind in kinds:
                return file
        raise InputError(f"there is no {' or '.join(kinds)} of this key in the folder any more; load the page again")

    def stores(self) -> list[ProjectFile]:
        """Stores of fleets in the folder, as folders with a key; size: 0."""
        found = []
        for place, folders, names in os.walk(self.folder, followlinks=False):
            here = Path(place)
            name = here.relative_to(self.folder).as_posix()
            is_store = STORE in names and here != self.folder
            if is_store:
                found.append(ProjectFile(_key(name), "store", here, visible(name), 0))
            deep = is_store or len(here.relative_to(self.folder).parts) >= DEPTH or here.name == RUNS
            folders[:] = [] if deep else sorted(f for f in folders if not f.startswith((".", "__")))
        return found

    def store(self, key: str) -> ProjectFile:
        """The store that a request means."""
        for found in self.stores():
            if found.key == key:
                return found
        raise InputError("there is no store of a fleet of this key in the folder any more; load the page again")

    def upload(self, kind: str, title: str, meshes: Sequence[str] = ()) -> Upload:
        """A place for an uploaded file of a kind of `ENDINGS`, under a random name with the ending it claims.

        meshes: keys of those that were uploaded for a robot, which its file then names as they are called here.
        """
        endings = ENDINGS[kind]
        ending = next((e for e in endings if title.lower().endswith(e)), None)
        if ending is None:
            shown = visible(title[-LONGEST_TITLE:])
            raise InputError(f"'{shown}' is not a {kind} that is known by its ending; known: {', '.join(endings)}")
        make_folder(self.folder / UPLOADS)
        place = self.folder / UPLOADS / f"{kind}-{secrets.token_hex(6)}{ending}"
        own = [self.file(key, "mesh") for key in meshes]
        return Upload(self, kind, place, _shown(title), {file.title.lower(): file.path.name for file in own})

    def add(self, upload: Upload) -> ProjectFile:
        """An uploaded file that is complete, with its title."""
        name = upload.path.relative_to(self.folder).as_posix()
        self._remember(lambda state: {**state, "titles": {**state.get("titles", {}), name: upload.title}})
        return self.file(_key(name), upload.kind, *(("model",) if upload.kind == "robot" else ()))

    # ------------------------------------------------------------------ the robot

    @property
    def robot(self) -> dict[str, str] | None:
        """The robot that was chosen: {"bundled": name} or {"file": key}; that of the campaign else.

        With a title for people, and a version that changes with the content.
        """
        chosen = self._state().get("robot") or self._campaign_robot()
        if chosen is None:
            return None
        if "bundled" in chosen:
            name = chosen["bundled"]
            return {"bundled": name, "title": name, "version": f"{name} of {__version__}"}
        found = next((file for file in self.files() if file.key == _key(chosen["name"])), None)
        return None if found is None else {"file": found.key, "title": found.title, "version": _version(found.path)}

    def choose_robot(self, *, bundled: str | None = None, file: str | None = None) -> dict[str, str]:
        """Take a bundled robot or a file of the project."""
        if bundled is not None:
            if bundled not in bundled_robots():
                raise InputError("there is no bundled robot of this name; `minertia robots` lists them")
            chosen = {"bundled": bundled}
        else:
            path = self.file(file or "", "robot", "model").path
            chosen = {"name": path.relative_to(self.folder).as_posix()}
        self._remember(lambda state: {**state, "robot": chosen})
        found = self.robot
        assert found is not None
        return found

    def robot_name(self) -> str:
        """How the robot that was chosen is read: a bundled name, or a path."""
        chosen = self.robot
        if chosen is None:
            raise InputError("no robot is chosen yet; choose one in the step Robot")
        return chosen["bundled"] if "bundled" in chosen else str(self.file(chosen["file"], "robot", "model").path)

    def _campaign_robot(self) -> dict[str, str] | None:
        try:
            name = (self.campaign() or {}).get("robot")
        except MinertiaError:
            return None
        if not isinstance(name, str):
            return None
        return {"bundled": name} if name in bundled_robots() else {"name": name}

    # ------------------------------------------------------------------ the campaign

    def campaign(self) -> dict[str, Any] | None:
        """The campaign file as plain data, logs by their keys; None where there is none."""
        path = self.folder / CAMPAIGN
        if not path.is_file():
            return None
        found = _document(path)
        logs = found.get("logs")
        if isinstance(logs, dict):
            found["logs"] = {**logs, **{use: [_key(n) for n in _names(logs.get(use))] for use in USES}}
        return found

    def write_campaign(self, asked: Mapping[str, Any]) -> None:
        """Write the campaign: the robot that was chosen, logs by key, and tables as the format has them."""
        chosen = self.robot
        if chosen is None:
            raise InputError("no robot is chosen yet; choose one in the step Robot")
        robot = chosen["bundled"] if "bundled" in chosen else self._relative(chosen["file"], "robot", "model")
        path = self.folder / CAMPAIGN
        before = _document(path) if path.is_file() else {}
        named = _entries(before.get("logs"))  # with parts and loads, which the page does not show
        logs: dict[str, Any] = {k: v for k, v in (before.get("logs") or {}).items() if k not in USES}
        logs |= {use: [named.get(key) or self._relative(key, "log") for key in asked.get(use, ())] for use in USES}
        kept = {key: value for key, value in before.items() if key in KEPT}
        document = {"format": FORMAT, **kept, "robot": robot, "logs": {k: v for k, v in logs.items() if v != []}}
        if asked.get("gravity"):
            document["gravity"] = list(asked["gravity"])
        tables = {name: _stated(asked.get(name) or {}) for name in TABLES}
        document |= {name: table for name, table in tables.items() if table}
        if path.is_file() and not is_ours(path):  # written by hand: with comments, which would be lost
            write_file(self.folder / BEFORE, path.read_bytes(), force=True, seal=False)
        write_file(path, tomli_w.dumps(document), force=True)

    def _relative(self, key: str, *kinds: str) -> str:
        return self.file(key, *kinds).path.relative_to(self.folder).as_posix()

    def digest(self) -> str:
        """Of the campaign, its robot and its logs: what a check was made of, and is void without."""
        known = hashlib.sha256()
        path = self.folder / CAMPAIGN
        known.update(path.read_bytes() if path.is_file() else b"")
        names = sorted(str(file.path) for file in self.files() if file.kind != "model")
        for name in names:
            stat = os.stat(name)
            known.update(f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
        return known.hexdigest()

    # ------------------------------------------------------------------ what the studio remembers

    def _state(self) -> dict[str, Any]:
        try:
            found = json_document((self.folder / STATE).read_text(encoding="utf-8"))
        except (OSError, DocumentError, UnicodeDecodeError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _remember(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change what is remembered; jobs in their processes and other servers of the folder wait their turn."""
        with self._lock, one_at_a_time(self.folder):
            state = {"format": FORMAT, **change(self._state())}
            write_file(self.folder / STATE, json.dumps(state, indent=1) + "\n", force=True)


@dataclass(frozen=True)
class Upload:
    """A file that is being uploaded: it appears whole, under a name that nobody chose."""

    project: Project
    kind: str
    path: Path
    title: str
    meshes: Mapping[str, str] = field(default_factory=dict)  # titles in small letters -> names in the folder

    def open(self) -> AbstractContextManager[BinaryIO]:
        """The file to write into."""
        return new_file(self.path)

    def close(self) -> ProjectFile:
        """Take the file into the project, or refuse it and leave nothing."""
        try:
            if self.kind == "robot":
                if self.meshes:
                    write_file(self.path, with_meshes(self.path.read_bytes(), self.meshes), force=True, seal=False)
                refuse_references(self.path)
            return self.project.add(self)
        except MinertiaError:
            self.path.unlink(missing_ok=True)
            raise


_XACRO = re.compile(r"<\s*xacro:|xmlns:xacro|\$\{|\$\(")
_INCLUDE = re.compile(r"<\s*(include|!DOCTYPE|!ENTITY|plugin|extension)\b", re.IGNORECASE)
_PLACES = ("file", "filename", "meshdir", "texturedir", "assetdir")
_FILE = re.compile(rf"""\b(?:{"|".join(_PLACES)})\s*=\s*["']([^"']*)["']""")
_OUTSIDE = re.compile(r"^\s*(/|\\|[A-Za-z]:|~|file:)|(^|[/\\])\.\.([/\\]|$)|%2e%2e|%2f", re.IGNORECASE)


def with_meshes(content: bytes, names: Mapping[str, str]) -> bytes:
    """A description in which meshes that came with it are called by the names that they have here."""

    def called(found: re.Match[str]) -> str:
        own = names.get(re.split(r"[/\\]", found[1])[-1].lower())
        return found[0] if own is None else found[0].replace(found[1], own)

    text = content.decode("utf-8", errors="surrogateescape")
    return _FILE.sub(called, text).encode("utf-8", errors="surrogateescape")


def refuse_references(path: Path) -> None:
    """Refuse an uploaded description that other files belong to, wherever on this machine they may lie."""
    text = path.read_bytes()[:30_000_000].decode("utf-8", errors="replace")
    if path.suffix in (".toml", ".par"):
        return
    if _XACRO.search(text):
        raise InputError("this is a xacro file; expand it first (xacro arm.xacro > arm.urdf) and drop the URDF")
    found = _INCLUDE.search(text)
    if found:
        raise InputError(f"the file has <{found[1]}>, which uploads must not have; drop one file that holds everything")
    outside = next((name for name in _named_files(text) if _OUTSIDE.search(name)), None)
    if outside is not None:
        shown = visible(outside[:80])
        raise InputError(f"the file names '{shown}', outside of the project; write package://... or a name beside it")


def _named_files(text: str) -> list[str]:
    """Files that a description names, as its reader understands them: &#47; is a slash."""
    try:
        elements = list(parse_xml(text, None).walk())
    except DescriptionError:  # which its reader refuses, too
        return [unescape(found[1]) for found in _FILE.finditer(text)]
    return [value for element in elements for name, value in element.attributes.items() if name in _PLACES]


def _walk(folder: Path) -> Iterator[Path]:
    """Plain files below a folder, hidden ones and links aside; the folder of runs counts for its models."""
    seen = 0
    for place, folders, names in os.walk(folder, followlinks=False):
        here = Path(place)
        if STORE in names and here != folder:  # records of a fleet, which are no logs
            folders[:] = []
            continue
        depth = len(here.relative_to(folder).parts)
        folders[:] = (
            sorted(f for f in folders if not f.startswith((".", "__")) and f != "code") if depth < DEPTH else []
        )
        for name in sorted(names):
            path = here / name
            seen += 1
            if seen > MOST:
                return
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    in_runs = RUNS in path.parts
    if name.endswith(".toml"):
        return _toml_kind(path, in_runs)
    if in_runs:
        return None
    if name.endswith(ROBOT_ENDINGS):
        return "robot"
    if name.endswith(MESH_ENDINGS):
        return "mesh" if path.parent.name == UPLOADS else None
    return "log" if name.endswith(LOG_ENDINGS) and not NOT_LOGS.search(name) else None


def _toml_kind(path: Path, in_runs: bool) -> str | None:
    if path.name in NO_ROBOTS:
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            start = file.read(20 * NEAR)
    except OSError:
        return None
    if is_model_text(start):
        return "model"
    return "robot" if not in_runs and re.search(r"^\s*\[\[(joint|link)\]\]", start, re.MULTILINE) else None


def _version(path: Path) -> str:
    stat = path.stat()
    return _key(f"{path} {stat.st_size} {stat.st_mtime_ns}")


def _key(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:12]


def _document(path: Path) -> dict[str, Any]:
    try:
        return toml_document(path.read_text(encoding="utf-8"))
    except (DocumentError, OSError, UnicodeDecodeError) as err:
        raise InputError(f"{path.name} cannot be read: {err}") from None


def _names(logs: Any) -> list[str]:
    """Names of the files of logs that a campaign lists."""
    return list(_listed(logs).keys())


def _entries(logs: Any) -> dict[str, Any]:
    """Logs of a campaign as they are listed there, by key."""
    found = {name: item for use in USES for name, item in _listed((logs or {}).get(use)).items()}
    return {_key(name): item for name, item in found.items()}


def _listed(logs: Any) -> dict[str, Any]:
    items = logs if isinstance(logs, list) else [] if logs is None else [logs]
    named = [(item.get("file") if isinstance(item, dict) else item, item) for item in items]
    return {name: item for name, item in named if isinstance(name, str)}


def _shown(title: str) -> str:
    """A title without a path in it."""
    return visible(re.split(r"[/\\]", title)[-1])[-LONGEST_TITLE:]


def _stated(value: Any) -> Any:
    """Data that TOML can hold: without what is not stated."""
    if isinstance(value, Mapping):
        kept = {str(key): _stated(v) for key, v in value.items() if v is not None}
        return {key: v for key, v in kept.items() if v != {}}
    return [_stated(v) for v in value] if isinstance(value, list | tuple) else value
