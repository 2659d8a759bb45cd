"""Inputs of a result: robot, campaign and files, and why it is not current for the project."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from minertia.io.errors import InputError
from minertia.io.provenance import file_digest, stamp
from minertia.studio.project import CAMPAIGN, RUNS, STATE, Project, ProjectFile

OF_NO_ROBOT = ("propose", "fleet")  # kinds of jobs: headers of logs, records of a store
OF_CAMPAIGN = ("check", "identify")
UNKNOWN = "computed by an earlier version, which did not record its robot and files"
MOST_NAMED = 3  # files in a sentence


class ProjectNow:
    """Snapshot of a project, against which any number of results are compared."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._changed: dict[tuple[str, str, str], bool | None] = {}

    @cached_property
    def robot(self) -> dict[str, str] | None:
        """Name, title and version of the robot."""
        found = self.project.robot
        return None if found is None else {key: found[key] for key in ("name", "title", "version")}

    @cached_property
    def campaign(self) -> str:
        """Digest of the campaign's content."""
        return self.project.campaign_digest()

    @cached_property
    def titles(self) -> dict[Path, str]:
        """Titles of files by their paths."""
        return {file.path: file.title for file in self.project.files()}

    @cached_property
    def models(self) -> dict[Path, ProjectFile]:
        """Models of the folder by their paths."""
        return {file.path: file for file in self.project.files() if file.kind == "model"}

    def made_of(self, kind: str) -> dict[str, Any]:
        """Robot and campaign that a job of a kind uses."""
        robot = {"robot": self.robot} if kind not in OF_NO_ROBOT and self.robot is not None else {}
        return {**robot, **({"campaign": self.campaign} if kind in OF_CAMPAIGN else {})}

    def is_changed(self, file: Mapping[str, str]) -> bool | None:
        """Whether a file has changed; None if it no longer exists."""
        key = (file["name"], file["stamp"], file["sha256"])
        if key not in self._changed:
            path = self.project.folder / file["name"]
            try:
                self._changed[key] = stamp(path) != file["stamp"] and file_digest(path) != file["sha256"]
            except OSError:
                self._changed[key] = None
        return self._changed[key]


def files_read(names: Iterable[str], folder: Path, out: Path) -> list[dict[str, str]]:
    """Files that a job read, relative to the project's folder, without its own files and the campaign.

    The campaign is identified by its content, so that comments do not matter.
    """
    own = (folder / CAMPAIGN, folder / STATE)
    found = []
    for name in sorted(names):
        path = Path(name)
        if path in own or path.is_relative_to(out):
            continue
        with contextlib.suppress(OSError):  # a draft that is gone
            known = {"stamp": stamp(path), "sha256": file_digest(path)}
            found.append({"name": _from(folder, path), **known})
    return found


def refuse_changed(project: Project, made_of: Mapping[str, Any]) -> None:
    """Raise an error where the campaign has changed since a job was requested; its robot is given by name."""
    if "campaign" in made_of and made_of["campaign"] != project.campaign_digest():
        raise InputError("the campaign was changed before this job began; start it again")


def bound(files: Sequence[Mapping[str, str]], started: float) -> dict[str, Any]:
    """Additional inputs of a result: the files that were read, and whether one changed during the computation."""
    return {"files": list(files), "changed": any(_changed_at(file["stamp"]) > started for file in files)}


def reasons(
    now: ProjectNow, kind: str, made_of: Mapping[str, Any], of_run: Callable[[str], Sequence[str]]
) -> list[str]:
    """Reasons why a result is not current for the project, a few words each; empty if it is current.

    of_run: function that returns the reasons of another run, whose model was used.
    """
    files = made_of.get("files")
    if files is None:
        return [UNKNOWN]
    wanted = now.made_of(kind)
    found = _of_robot(made_of.get("robot"), wanted.get("robot"))
    if made_of.get("campaign") != wanted.get("campaign") and not found:
        found.append("computed before the campaign changed")
    if made_of.get("changed"):
        found.append("computed while one of its input files changed")
    found += [why for why in _of_files(now, files) if why not in found]
    found += [f"computed from the model {title}, {why}" for title, why in _of_models(now, files)]
    for run in dict.fromkeys(name for file in files if (name := _run_of(file["name"]))):
        found += [f"computed from the model of {run}, {why}" for why in of_run(run)[:1]]
    return found


def _of_robot(then: Mapping[str, str] | None, now: Mapping[str, str] | None) -> list[str]:
    if then is None or (now is not None and then.get("version") == now["version"]):
        return []
    title = then.get("title", "another robot")
    if now is not None and now["title"] == title:
        return [f"computed before {title} changed"]
    return [f"computed for the robot {title}"]


def _of_files(now: ProjectNow, files: Sequence[Mapping[str, str]]) -> list[str]:
    changed = {file["name"]: now.is_changed(file) for file in files}
    titles = {name: now.titles.get(now.project.folder / name, name) for name in changed}
    other = [titles[name] for name, is_other in changed.items() if is_other]
    gone = [titles[name] for name, is_other in changed.items() if is_other is None]
    found = [f"computed before {_listed(other)} changed"] if other else []
    return [*found, f"computed from {_listed(gone)}, which no longer exists"] if gone else found


def _of_models(now: ProjectNow, files: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """(Title, reason) of each out-of-date model that does not belong to a run."""
    titles = {path: (file.title, file.stale) for path, file in now.models.items()}
    found = [titles.get(now.project.folder / file["name"], ("", ())) for file in files]
    return [(title, stale[0]) for title, stale in found if stale]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _run_of(name: str) -> str | None:
    parts = name.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == RUNS else None


def _from(folder: Path, path: Path) -> str:
    real = Path(os.path.realpath(folder))
    return path.relative_to(real).as_posix() if path.is_relative_to(real) else str(path)


def _changed_at(stamp_of: str) -> float:
    """Latest modification time of a file [s] from its stamp."""
    return max(int(part.split()[1]) for part in stamp_of.split(";")) / 1e9
