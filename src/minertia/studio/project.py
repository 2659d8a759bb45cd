"""Project: a folder of plain files that the command line reads and writes as well.

Robots, logs and models are found by their file extensions and identified in requests by short keys; a request never
names a path.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any, BinaryIO

import tomli_w

from minertia.fleet.places import is_remote
from minertia.identification.logs.readers import FORMATS, is_folder, is_there
from minertia.io.documents import DocumentError, json_document, toml_document
from minertia.io.drafts import one_at_a_time
from minertia.io.errors import DescriptionError, InputError, MinertiaError, visible
from minertia.io.files import edit_file, make_folder, new_file, write_file
from minertia.io.provenance import MadeOf, bundled_digest, file_digest, is_changed, read_made_of, stamp
from minertia.io.seals import is_ours
from minertia.robot.files import bundled_robots, bundled_title
from minertia.robot.formats.reading import is_model_text
from minertia.robot.formats.xml import parse_xml
from minertia.studio.toml_edit import edited

FORMAT = 1
STATE, CAMPAIGN, BEFORE, RUNS, UPLOADS = "studio.json", "campaign.toml", "campaign.before.toml", "runs", "uploads"
STORE = "store.toml"  # what a store of a fleet's records is known by
USES = ("train", "validate")
# keys of [columns] that headers tell; the others say how a file is to be read, which its headers cannot
MAPPED = ("t", "rate_hz", "time_unit", "q", "qd", "qdd", "effort", "command", "command_velocity", "motor", "angle",
          "length", "effort_unit")  # fmt: skip
ROBOT_ENDINGS = (".urdf", ".xml", ".mjcf", ".par", ".toml")
LOG_ENDINGS = tuple(FORMATS)  # of all logs that a command reads
MESH_ENDINGS = (".stl", ".obj", ".dae")  # what can be read of them; with a description that was dropped
ENDINGS = {"robot": ROBOT_ENDINGS, "log": LOG_ENDINGS, "mesh": MESH_ENDINGS}
NOT_LOGS = re.compile(r"(motion|excitation|trajectory)[^/]*\.csv$|readme|requirements|cmakelists", re.IGNORECASE)
NO_ROBOTS = (CAMPAIGN, BEFORE, "columns.toml", "log.toml", "limits.toml", "excitation-limits.toml", "pyproject.toml")
DEPTH, MOST = 3, 2000  # folders below the project that are looked into, and files that are looked at
LONGEST_TITLE = 120
NEAR = 400  # characters from the start of a TOML file that say what it is


class Outdated(InputError):
    """Conflict error: the project was changed elsewhere in the meantime.  revision: its current revision."""

    def __init__(self, revision: str) -> None:
        self.revision = revision
        super().__init__(
            "campaign.toml or the robot was changed elsewhere (in another tab, or by an editor) since this page "
            "read it; reload the page to see the change, or keep your version"
        )


@dataclass(frozen=True)
class ProjectFile:
    """File of the project.  key: its name in requests.  kind: "robot", "log" or "model".  title: for display.

    robot: name of the robot of a model.  stale: reasons why a model is not current for its input files.  url: location
    of a fleet store that is not a folder.  tags: given by the user.
    """

    key: str
    kind: str
    path: Path
    title: str
    size: int
    robot: str | None = None
    stale: tuple[str, ...] = ()
    url: str = ""
    tags: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for the page; the title of a model says why it is not current."""
        named = {} if self.robot is None else {"robot": self.robot, "stale": list(self.stale)}
        title = f"{self.title} ({self.stale[0]})" if self.stale else self.title
        return {"key": self.key, "kind": self.kind, "title": title, "size": self.size, "tags": list(self.tags), **named}


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
        """Robots, logs and models in the folder and a few levels below, and logs of the campaign anywhere; by title."""
        state = self._state()
        titles, tags, hidden = (state.get(key, {}) for key in ("titles", "tags", "hidden"))
        found: dict[str, ProjectFile] = {}
        for path in _walk(self.folder):
            kind = "log" if path.is_dir() else _kind(path)
            name = path.relative_to(self.folder).as_posix()
            if kind is not None and name not in hidden:
                file = _project_file(name, kind, path, visible(str(titles.get(name, name))))
                found[name] = replace(file, tags=tuple(tags.get(name, ())))
        for name in self._campaign_logs():
            if name not in found and is_there(self.folder / name):
                found[name] = _project_file(name, "log", self.folder / name, visible(name))
        return sorted(found.values(), key=lambda file: (file.title.lower(), file.key))  # uploads are in no order

    def _campaign_logs(self) -> list[str]:
        logs = self._document_or_none().get("logs")
        return [name for use in USES for name in _names(logs.get(use))] if isinstance(logs, dict) else []

    def file(self, key: str, *kinds: str) -> ProjectFile:
        """File by its key in a request; kinds: allowed kinds."""
        for file in self.files():
            if file.key == key and file.kind in kinds:
                return file
        raise InputError(f"the folder no longer contains this {' or '.join(kinds)}; reload the page")

    def stores(self) -> list[ProjectFile]:
        """Fleet stores in the folder, and stores at URLs that its fleet files name; each has a key, and size 0."""
        found = []
        for path in sorted(self.folder.glob("*.toml")):
            with contextlib.suppress(OSError):
                stat = path.stat()
                url = _store_url(str(path), stat.st_size, stat.st_mtime_ns)
                if url:
                    found.append(ProjectFile(_key(url), "store", path, visible(url), 0, url=url))
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
        """Fleet store by its key in a request."""
        for found in self.stores():
            if found.key == key:
                return found
        raise InputError("the folder no longer contains this fleet store; reload the page")

    def upload(self, kind: str, title: str, meshes: Sequence[str] = ()) -> Upload:
        """Target of an uploaded file of a kind in `ENDINGS`, under a random name with its given extension.

        meshes: keys of meshes uploaded for a robot, whose file then refers to them by their new names.
        """
        endings = ENDINGS[kind]
        ending = next((e for e in endings if title.lower().endswith(e)), None)
        if ending is None:
            shown = visible(title[-LONGEST_TITLE:])
            raise InputError(
                f"'{shown}' does not have the file name extension of a {kind}; known extensions: {', '.join(endings)}"
            )
        make_folder(self.folder / UPLOADS)
        place = self.folder / UPLOADS / f"{kind}-{secrets.token_hex(6)}{ending}"
        own = [self.file(key, "mesh") for key in meshes]
        named = {file.title.lower(): file for file in own}
        twice = next((f for f in own if file_digest(f.path) != file_digest(named[f.title.lower()].path)), None)
        if twice is not None:
            raise InputError(f"two meshes are called '{twice.title}'; {OWN_NAMES}")
        return Upload(self, kind, place, _shown(title), {name: file.path.name for name, file in named.items()})

    def add(self, upload: Upload) -> ProjectFile:
        """Register a completed upload with its title."""
        name = upload.path.relative_to(self.folder).as_posix()
        self._remember(lambda state: {**state, "titles": {**state.get("titles", {}), name: upload.title}})
        return self.file(_key(name), upload.kind, *(("model",) if upload.kind == "robot" else ()))

    def label(self, key: str, title: str, tags: Sequence[str]) -> ProjectFile:
        """Name a log, and tag it; an empty title restores the name of its file."""
        name = self._named(key, "log")

        def labelled(state: dict[str, Any]) -> dict[str, Any]:
            titles = {k: v for k, v in state.get("titles", {}).items() if k != name}
            own = {k: v for k, v in state.get("tags", {}).items() if k != name}
            titles |= {name: _shown(title)} if title else {}
            return {**state, "titles": titles, "tags": own | ({name: list(tags)} if tags else {})}

        self._remember(labelled)
        return self.file(key, "log")

    def remove(self, key: str) -> None:
        """Delete an uploaded log, or hide one that was not uploaded; the campaign no longer uses it."""
        name, path = self._named(key, "log"), self.file(key, "log").path
        used = (self.campaign() or {}).get("logs") or {}
        left = {use: [one for one in used.get(use, ()) if one != key] for use in USES}
        if any(left[use] != used.get(use, []) for use in USES):
            self.write_campaign(left)
        if path.parent == self.folder / UPLOADS and path.is_file():
            path.unlink(missing_ok=True)
        else:
            self._remember(lambda state: {**state, "hidden": {**state.get("hidden", {}), name: True}})

    @property
    def hidden(self) -> int:
        """Number of hidden logs."""
        return len(self._state().get("hidden", {}))

    def show_hidden(self) -> None:
        """Show hidden logs again."""
        self._remember(lambda state: {**state, "hidden": {}})

    # ------------------------------------------------------------------ the robot

    @property
    def robot(self) -> dict[str, str] | None:
        """Robot of the campaign, or the chosen robot if there is no campaign yet.

        {"bundled": name} or {"file": key}, with a title for display, and a version that changes with the content;
        name: the entry for the robot in a campaign.
        """
        name = self._robot_entry()
        if name is None:
            return None
        if name in bundled_robots():
            return {"bundled": name, "name": name, "title": bundled_title(name), "version": bundled_digest(name)}
        found = next((file for file in self.files() if file.key == _key(name)), None)
        if found is None and self._is_robot(name):
            found = _project_file(name, "robot", self.folder / name, visible(name))
        if found is None:
            return None
        return {"file": found.key, "name": name, "title": found.title, "version": file_digest(found.path)}

    def _robot_entry(self) -> str | None:
        """Robot entry of a campaign: a bundled name, or a path relative to the folder."""
        name = self._document_or_none().get("robot")
        if isinstance(name, str) and (name in bundled_robots() or self._is_robot(name)):
            return name
        chosen = self._state().get("robot") or {}
        name = chosen.get("bundled") or chosen.get("name")
        return name if isinstance(name, str) else None

    def _is_robot(self, name: str) -> bool:
        path = self.folder / name
        return path.is_file() and path.name.lower().endswith(ROBOT_ENDINGS)

    def choose_robot(
        self, *, bundled: str | None = None, file: str | None = None, revision: str | None = None
    ) -> dict[str, str]:
        """Choose a bundled robot or a file of the project; an existing campaign is updated.

        revision: project revision that the caller has seen; None skips the check.
        """
        if bundled is not None:
            if bundled not in bundled_robots():
                raise InputError("there is no bundled robot of this name; `minertia robots` lists them")
            chosen, name = {"bundled": bundled}, bundled
        else:
            name = self._named(file or "", "robot", "model")
            chosen = {"name": name}
        with self._changing(revision):
            if self._document_or_none():
                self._edit({"robot": name})
            self._remember_now(lambda state: {**state, "robot": chosen})
        found = self.robot
        assert found is not None
        return found

    def robot_name(self) -> str:
        """Bundled name or path of the robot."""
        if (chosen := self.robot) is None:
            raise InputError("no robot is chosen yet; choose one in the step Robot")
        return self.robot_place(chosen["name"])

    def robot_place(self, name: str) -> str:
        """Bundled name or path of a robot from its campaign entry."""
        return name if name in bundled_robots() else str(self.folder / name)

    # ------------------------------------------------------------------ the campaign

    @property
    def revision(self) -> str:
        """Revision of the campaign's text and the chosen robot: writes based on an older one are rejected."""
        path = self.folder / CAMPAIGN
        text = path.read_bytes() if path.is_file() else b""
        return hashlib.sha256(repr((text, self._state().get("robot"))).encode()).hexdigest()[:16]

    def campaign(self) -> dict[str, Any] | None:
        """Campaign file as plain data, with logs by key; None if there is no campaign."""
        path = self.folder / CAMPAIGN
        if not path.is_file():
            return None
        found = _document(path)
        logs = found.get("logs")
        if isinstance(logs, dict):
            found["logs"] = {**logs, **{use: [_key(n) for n in _names(logs.get(use))] for use in USES}}
        return dict(_shown_data(found))

    def write_campaign(self, asked: Mapping[str, Any], revision: str | None = None) -> None:
        """Change the campaign: logs by key, and values of its tables.

        None removes a value; values that are not named are unchanged.  revision: project revision that the caller
        has seen; None skips the check.
        """
        with self._changing(revision):
            before = self._before()
            changes = {name: value for name, value in asked.items() if name not in USES and value != {}}
            logs = {use: self._entries(before, use, asked[use]) for use in USES if use in asked}
            logs |= changes.pop("logs", {})
            self._edit({**self._start(before), **({"logs": logs} if logs else {}), **changes})

    def take_campaign(self, text: str, revision: str | None = None, *, is_proposal: bool = False) -> None:
        """Adopt the campaign of an earlier run unchanged, or a proposal for missing entries.

        A proposal gives logs, columns and the sides of the drives; all other given entries are unchanged.
        """
        with self._changing(revision):
            before = self._before()
            if not is_proposal:
                self._put(text)
            elif before:
                self._edit(_proposed(before, self._relative_names(_parsed(text))))
            else:
                self._put(edited(text, {**self._relative_names(_parsed(text)), **self._start({})}))

    def _relative_names(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Proposal with log names relative to the folder."""
        logs = document.get("logs") or {}
        found = {use: [self._from_folder(name) for name in _names(logs.get(use))] for use in USES}
        return {**document, "logs": {use: names for use, names in found.items() if names}}

    def _from_folder(self, name: str) -> str:
        path = Path(name)
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else name

    def _start(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Initial entries of a campaign, or the update of one that names another robot."""
        name = self._robot_entry()
        if name is None or self.robot is None:
            raise InputError("no robot is chosen yet; choose one in the step Robot")
        return {**({} if "format" in before else {"format": FORMAT}), "robot": name}

    def _entries(self, before: Mapping[str, Any], use: str, keys: Sequence[str]) -> list[Any]:
        """Log entries of the campaign for these keys, with parts and payloads kept; new logs are added by name."""
        logs = before.get("logs")
        now = logs.get(use) if isinstance(logs, dict) else None
        listed = {**_entries(logs, *USES), **_entries(logs, use)}  # of two parts of a log one may have another use
        in_tables = isinstance(now, list) and bool(now) and all(isinstance(item, dict) for item in now)
        own = [(listed[key] if key in listed else [self._named(key, "log")]) for key in keys]
        return [{"file": item} if in_tables and isinstance(item, str) else item for items in own for item in items]

    def _before(self) -> dict[str, Any]:
        path = self.folder / CAMPAIGN
        return _document(path) if path.is_file() else {}

    def _document_or_none(self) -> dict[str, Any]:
        """Campaign document, empty where there is none or it cannot be read."""
        try:
            return self._before()
        except MinertiaError:
            return {}

    def _edit(self, changes: Mapping[str, Any]) -> None:
        path = self.folder / CAMPAIGN
        text = _text(path) if path.is_file() else ""
        self._put(edited(text, changes))

    def _put(self, text: str) -> None:
        """Write the campaign; a hand-written one is edited in place, after a backup."""
        path = self.folder / CAMPAIGN
        if not path.is_file() or is_ours(path):
            write_file(path, text, force=True)
            return
        before = path.read_bytes()
        if hashlib.sha256(before).hexdigest() != self._state().get("wrote"):
            write_file(self.folder / BEFORE, before, force=True, seal=False)
        edit_file(path, text)
        self._remember_now(lambda state: {**state, "wrote": hashlib.sha256(path.read_bytes()).hexdigest()})

    def _named(self, key: str, *kinds: str) -> str:
        """Name of a project file as written in a campaign."""
        path = self.file(key, *kinds).path
        return (
            path.relative_to(self.folder).as_posix()
            if path.is_relative_to(self.folder)
            else os.path.relpath(path, self.folder)
        )

    def digest(self) -> str:
        """Digest of the campaign, its robot and its logs: jobs with the same digest have the same inputs."""
        known = hashlib.sha256(self.campaign_digest().encode())
        known.update(str((self.robot or {}).get("version")).encode())
        for file in self.files():
            if file.kind == "log":
                known.update(f"{file.path}\0{stamp(file.path)}\0".encode())
        return known.hexdigest()

    def campaign_digest(self) -> str:
        """Digest of the campaign's content, without comments and spaces."""
        path = self.folder / CAMPAIGN
        try:
            content = tomli_w.dumps(_sorted(self._before()))
        except MinertiaError:
            content = repr(path.read_bytes())
        return hashlib.sha256(content.encode()).hexdigest()

    def pulse(self) -> str:
        """Digest of everything that a page shows of the folder, without jobs."""
        known = hashlib.sha256(self.revision.encode())
        for file in self.files():
            known.update(f"{file.key}\0{file.title}\0{file.tags}\0{stamp(file.path)}\0".encode())
        known.update("".join(store.key for store in self.stores()).encode())
        return known.hexdigest()[:16]

    # ------------------------------------------------------------------ what the studio remembers

    def _state(self) -> dict[str, Any]:
        try:
            found = json_document((self.folder / STATE).read_text(encoding="utf-8"))
        except (OSError, DocumentError, UnicodeDecodeError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @contextmanager
    def _changing(self, revision: str | None = None) -> Iterator[None]:
        """Lock against jobs and other servers of the folder; raises `Outdated` for an older revision."""
        with self._lock, one_at_a_time(self.folder):
            if revision is not None and revision != self.revision:
                raise Outdated(self.revision)
            yield

    def _remember(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        with self._changing():
            self._remember_now(change)

    def _remember_now(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        state = {"format": FORMAT, **change(self._state())}
        write_file(self.folder / STATE, json.dumps(state, indent=1) + "\n", force=True)


@dataclass(frozen=True)
class Upload:
    """File during its upload, created atomically under a random name."""

    project: Project
    kind: str
    path: Path
    title: str
    meshes: Mapping[str, str] = field(default_factory=dict)  # titles in small letters -> names in the folder

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the file for writing."""
        return new_file(self.path)

    def close(self) -> ProjectFile:
        """Register the file in the project, or reject it and remove it."""
        try:
            if self.kind == "robot":
                if self.meshes:
                    write_file(self.path, with_meshes(self.path.read_bytes(), self.meshes), force=True, seal=False)
                refuse_references(self.path)
            return self.project.add(self)
        except MinertiaError:
            self.path.unlink(missing_ok=True)
            raise


OWN_NAMES = "give the meshes unique names, or put the robot with its folders into the project's folder"
_XACRO = re.compile(r"<\s*xacro:|xmlns:xacro|\$\{|\$\(")
_INCLUDE = re.compile(r"<\s*(include|!DOCTYPE|!ENTITY|plugin|extension)\b", re.IGNORECASE)
_PLACES = ("file", "filename", "meshdir", "texturedir", "assetdir")
_FILE = re.compile(rf"""\b(?:{"|".join(_PLACES)})\s*=\s*["']([^"']*)["']""")
_OUTSIDE = re.compile(r"^\s*(/|\\|[A-Za-z]:|~|file:)|(^|[/\\])\.\.([/\\]|$)|%2e%2e|%2f", re.IGNORECASE)


def with_meshes(content: bytes, names: Mapping[str, str]) -> bytes:
    """Description in which uploaded meshes are referred to by their new names.

    Uploads have no folders: files with the same name in different folders cannot be distinguished, and raise an
    error.
    """

    def last(path: str) -> str:
        return re.split(r"[/\\]", path)[-1].lower()

    def called(found: re.Match[str]) -> str:
        own = names.get(last(found[1]))
        return found[0] if own is None else found[0].replace(found[1], own)

    text = content.decode("utf-8", errors="surrogateescape")
    known: dict[str, str] = {}
    for found in _FILE.finditer(text):
        path = found[1]
        if last(path) in names and known.setdefault(last(path), path) != path:
            first, second = (visible(own[-80:]) for own in (known[last(path)], path))
            raise InputError(
                f"the file refers to both '{first}' and '{second}', but only one file of that name "
                f"was uploaded; {OWN_NAMES}"
            )
    return _FILE.sub(called, text).encode("utf-8", errors="surrogateescape")


def refuse_references(path: Path) -> None:
    """Raise an error for an uploaded description that refers to other files on this machine."""
    text = path.read_bytes()[:30_000_000].decode("utf-8", errors="replace")
    if path.suffix in (".toml", ".par"):
        return
    if _XACRO.search(text):
        raise InputError("this is a xacro file; expand it first (xacro arm.xacro > arm.urdf) and upload the URDF")
    found = _INCLUDE.search(text)
    if found:
        raise InputError(
            f"the file contains <{found[1]}>, which is not allowed in uploads; upload one file that contains everything"
        )
    outside = next((name for name in _named_files(text) if _OUTSIDE.search(name)), None)
    if outside is not None:
        shown = visible(outside[:80])
        raise InputError(
            f"the file refers to '{shown}', outside of the project; write package://... or a name relative to the file"
        )


def _named_files(text: str) -> list[str]:
    """Files that a description refers to, decoded as by its reader (&#47; is a slash)."""
    try:
        elements = list(parse_xml(text, None).walk())
    except DescriptionError:  # which its reader refuses, too
        return [unescape(found[1]) for found in _FILE.finditer(text)]
    return [value for element in elements for name, value in element.attributes.items() if name in _PLACES]


def _walk(folder: Path) -> Iterator[Path]:
    """Files below a folder, down to `DEPTH` levels, without hidden files, links and fleet records.

    A folder that is one log, such as a ROS 2 bag, is yielded as a whole.  Folders named `code` or starting
    with a dot or two underscores are skipped; the search ends after `MOST` files.
    """
    seen = 0
    for place, folders, names in os.walk(folder, followlinks=False):
        here = Path(place)
        if STORE in names and here != folder:  # records of a fleet, which are no logs
            folders[:] = []
            continue
        if here != folder and is_folder(here):  # one log: a ROS 2 bag, or one of SAGE
            folders[:] = []
            yield here
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


def _project_file(name: str, kind: str, path: Path, title: str) -> ProjectFile:
    stat = path.stat()
    if kind != "model":
        return ProjectFile(_key(name), kind, path, title, stat.st_size)
    robot, _ = _facts_of(str(path), stat.st_size, stat.st_mtime_ns)
    stale = () if name.startswith(f"{RUNS}/") else tuple(model_reasons(path))  # runs are known by what they record
    return ProjectFile(_key(name), kind, path, title, stat.st_size, robot, stale)


def model_reasons(path: Path) -> list[str]:
    """Reasons why a model is not current for its input files, a few words each; empty if it is, or lists none."""
    stat = path.stat()
    _, files = _facts_of(str(path), stat.st_size, stat.st_mtime_ns)
    changed = {name: is_changed(path, file) for name, file in ((visible(Path(f["name"]).name), f) for f in files)}
    other = ", ".join(name for name, is_other in changed.items() if is_other)
    gone = ", ".join(name for name, is_other in changed.items() if is_other is None)
    found = [f"computed before {other} changed"] if other else []
    return [*found, f"computed from {gone}, which no longer exists"] if gone else found


@lru_cache(maxsize=512)
def _facts_of(path: str, size: int, changed: int) -> tuple[str | None, tuple[MadeOf, ...]]:
    """Name of the robot of a model's file, and its input files."""
    try:
        document = toml_document(Path(path).read_text(encoding="utf-8"))
    except (DocumentError, OSError, UnicodeDecodeError):
        return None, ()
    robot = document.get("robot")
    name = robot.get("name") if isinstance(robot, dict) else None
    return visible(name) if isinstance(name, str) else None, read_made_of(document)


@lru_cache(maxsize=64)
def _store_url(path: str, size: int, changed: int) -> str:
    """URL of the store that a fleet file names; "" if the file is not one, or its store is a folder."""
    try:
        document = toml_document(Path(path).read_text(encoding="utf-8"))
    except (DocumentError, OSError, UnicodeDecodeError):
        return ""
    store = document.get("store")
    return store if "types" in document and isinstance(store, str) and is_remote(store) else ""


def _key(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:12]


def _document(path: Path) -> dict[str, Any]:
    return _parsed(_text(path), path.name)


def _text(path: Path) -> str:
    """Text of a campaign with its original line endings, which are kept by edits."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(f"{path.name} cannot be read: {err}") from None


def _parsed(text: str, name: str = CAMPAIGN) -> dict[str, Any]:
    try:
        return toml_document(text)
    except DocumentError as err:
        line = "" if err.line is None else f", line {err.line}"
        raise InputError(f"{name} cannot be read{line}: {err}") from None


def _proposed(before: Mapping[str, Any], proposal: Mapping[str, Any]) -> dict[str, Any]:
    """Changes of a proposal to a campaign: logs and columns are replaced, only missing other entries added."""
    columns, drive = before.get("columns") or {}, before.get("drive") or {}
    new, sides = proposal.get("columns") or {}, proposal.get("drive") or {}
    found = {**dict.fromkeys(MAPPED), **{key: _answered(columns.get(key), value) for key, value in new.items()}}
    changes: dict[str, Any] = {
        "logs": proposal["logs"],
        "columns": {k: v for k, v in found.items() if v or k in columns},
    }
    for key, value in proposal.items():
        stated = before.get(key)
        if key in ("format", "robot", "logs", "columns"):
            continue
        if isinstance(value, Mapping) and isinstance(stated, Mapping):
            changes[key] = {k: v for k, v in value.items() if k not in stated}
        elif stated is None:
            changes[key] = value
    if drive:
        changes["drive"] |= {k: v for k, v in sides.items() if k in ("position", "effort")}
    return changes


def _answered(old: Any, value: Any) -> Any:
    """Value of a proposal, or the value of the campaign where the proposal has "?"."""
    return old if old is not None and "?" in str(value) else value


def _names(logs: Any) -> list[str]:
    """Unique names of the log files in a campaign."""
    return list(dict.fromkeys(name for name, _ in _listed(logs)))


def _entries(logs: Any, *uses: str) -> dict[str, list[Any]]:
    """Log entries of a campaign, by key: several parts of one file have one key."""
    found: dict[str, list[Any]] = {}
    for use in uses if isinstance(logs, Mapping) else ():
        for name, item in _listed(logs.get(use)):
            found.setdefault(_key(name), []).append(item)
    return found


def _listed(logs: Any) -> list[tuple[str, Any]]:
    items = logs if isinstance(logs, list) else [] if logs is None else [logs]
    named = [(item.get("file") if isinstance(item, dict) else item, item) for item in items]
    return [(name, item) for name, item in named if isinstance(name, str)]


def _sorted(value: Any) -> Any:
    """Data with sorted keys, without empty tables."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value) if value[key] != {}}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _shown_data(value: Any) -> Any:
    """Data that JSON can represent: dates and non-finite numbers as text."""
    if isinstance(value, Mapping):
        return {str(key): _shown_data(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_shown_data(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else str(value)


def _shown(title: str) -> str:
    """Title without a path."""
    return visible(re.split(r"[/\\]", title)[-1])[-LONGEST_TITLE:]
