"""Writing of a campaign as a file for `read_campaign`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from minertia.identification.campaigns.options import FORMAT
from minertia.identification.campaigns.record import campaign_record, further_fields
from minertia.identification.logs.readers import log_files
from minertia.io.errors import CampaignError, MinertiaError
from minertia.io.files import check_file, folder_at_once, write_file
from minertia.io.schema import option_of, stated
from minertia.robot.files import bundled_robots, read_robot
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.robot import Robot


def write_campaign(campaign: Any, path: str | Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write a `Campaign`, and beside it the robot if no existing file describes it exactly.

    Such robots were made in Python or have locked joints.  force: replace files that minertia did not write, or
    that were edited since.  Returns the files that were written.
    """
    file = Path(path)
    robot, extra = _robot(campaign.robot, file)
    text = campaign_text(campaign, file.parent, robot)
    logs = [log.file for log in (*campaign.train, *campaign.validate) if log.file is not None]
    inputs = [Path(campaign.robot.source or ""), *(found for log in logs for found in log_files(log))]
    check_file(file, force=force, inputs=inputs)
    if extra:  # together: a campaign names its robot
        with folder_at_once(file.parent, force=force, inputs=inputs) as draft:
            for name, content in {**extra, file.name: text}.items():
                write_file(draft / name, content)
    else:
        write_file(file, text, force=force, inputs=inputs)
    return (*(file.parent / name for name in extra), file)


def campaign_text(campaign: Any, folder: Path, robot: str) -> str:
    """TOML text of a campaign with log paths relative to a folder; robot: name or path of the robot."""
    record = campaign_record(campaign)
    if record["estimator"]["name"] != campaign.estimator:
        raise CampaignError("an estimator object of Python cannot be written to a file; give its name and options")
    if isinstance(campaign.prior, Robot | Mapping):
        raise CampaignError(
            "a prior object of Python cannot be written to a file; write it as a robot file and name that file"
        )
    logs = {key: [_log(log, folder) for log in getattr(campaign, key)] for key in ("train", "validate")}
    document: dict[str, Any] = {
        "format": FORMAT,
        "name": campaign.name,
        "robot": robot,
        "gravity": list(campaign.robot.gravity),
        **({"base": "floating"} if campaign.robot.is_floating else {}),
        "joints": record["joints"] or None,
        "logs": {key: value for key, value in logs.items() if value} | record["repairs"],
        "columns": record["columns"],
        "drive": record["drive"],
        "filter": record["filter"],
        "model": {"effects": record["effects"], "fix": record["fix"], "prior": _prior(record["prior"], folder)},
        "estimator": record["estimator"],
        "evaluation": record["evaluation"],
    }
    document = _without_none(document)
    for name, value in further_fields(campaign).items():  # where the reader looks for it
        one = option_of(type(campaign), name)
        if one.kind.own_table is not None:
            document[str(one.table)] = value
        else:
            (document.setdefault(one.table, {}) if one.table else document)[one.key] = value
    return tomli_w.dumps(document)


def _robot(robot: Robot, file: Path) -> tuple[str, dict[str, str]]:
    """Name of the robot in a campaign file, and the robot file to write if no existing file reads back the same."""
    source = robot.source or ""
    for name in (Path(source).stem, source):
        if name in bundled_robots() or os.path.isfile(name):
            try:
                again = read_robot(name, gravity=robot.gravity)
            except MinertiaError:
                continue
            if (again.joints, again.links) == (robot.joints, robot.links):
                return (name if name in bundled_robots() else _from(Path(name), file.parent)), {}
    beside = f"{file.stem}-robot.toml"
    return beside, {beside: toml_text(robot)}


def _log(log: Any, folder: Path) -> Any:
    if log.file is None:
        raise CampaignError(f"{log.name} is a recording in memory; save it to a file and name the file in the campaign")
    own = {**stated(log), "file": _from(log.file, folder)}
    return own if len(own) > 1 else own["file"]


def _prior(prior: str | None, folder: Path) -> str | None:
    return prior if prior in (None, "robot") else _from(Path(str(prior)), folder)


def _from(path: Path, folder: Path) -> str:
    """Path relative to the campaign's folder; absolute on different drives."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:
        return path.resolve().as_posix()


def _without_none(value: Any) -> Any:
    """Data without None, for TOML."""
    if isinstance(value, Mapping):
        kept = {str(key): _without_none(v) for key, v in value.items() if v is not None}
        return {key: v for key, v in kept.items() if v != {}}
    return [_without_none(v) for v in value] if isinstance(value, list | tuple) else value
