"""Commands about log files: the audit behind `check LOG`, and `campaign new`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.campaigns import Columns, read_map
from minertia.cli.options import Force, complete_robot
from minertia.cli.terminal import PROBLEMS, diagnose, problem_count, say, say_json, say_notes
from minertia.identification.logs.options import ColumnMap
from minertia.io.schema import overridden
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.robot.robot import Robot

FORMAT = 1
OF_JOINTS = ("degrees", "limits")  # checks that mean nothing for motors whose ratios are not known
campaign = typer.Typer(name="campaign", help="Create campaign files: everything an identification needs.")


def is_log(path: str) -> bool:
    """Whether a path is a log file, by its suffix, or a folder that is a log."""
    from minertia.identification.logs.readers import FORMATS, is_folder

    return path.lower().endswith(tuple(FORMATS)) or is_folder(path)


def check_log(
    path: str,
    robot: Robot | None,
    columns: Path | None,
    reading: ColumnMap,
    *,
    as_json: bool,
    campaign: Campaign | None = None,
) -> None:
    """Print the audit of a log; exit code 1 if it has faults.

    columns: file of the column mapping.  campaign: takes precedence over it, and adds checks of a floating base.
    """
    from minertia.identification.audits.audit import audit
    from minertia.identification.logs.columns_file import columns_beside
    from minertia.identification.logs.header import MOTOR_SIDE, UNIT_UNKNOWN, read_to_audit
    from minertia.report.identification_tables import finding_notes

    own = campaign.map if campaign is not None else columns_beside(path) if columns is None else read_map(columns)
    found = overridden(own, reading)
    recording = read_to_audit(path, robot, found, drop_torn=found.drop_torn)
    findings = [f for f in audit(recording, robot) if MOTOR_SIDE not in recording.notes or f.check not in OF_JOINTS]
    if campaign is not None and campaign.robot.is_floating:
        from minertia.identification.efforts.floating_setups import floating_findings

        findings += floating_findings(campaign, Path(path))
    problems = sum(f.level in PROBLEMS for f in findings)
    if as_json:
        say_json(
            {
                "format": FORMAT,
                "file": path,
                "robot": None if robot is None else robot.name,
                "joints": list(recording.joints),
                "samples": len(recording),
                "seconds": recording.duration,
                "rate_hz": recording.rate_hz if recording.rate_hz == recording.rate_hz else None,
                "ok": not problems,
                "problems": problems,
                "assumed": list(recording.notes),
                "findings": [
                    {"level": f.level, "check": f.check, "column": f.channel, "row": f.row, "text": f.text}
                    for f in findings
                ],
            }
        )
    else:
        for note in recording.notes:
            say(f"assumed: {note}")
        say_notes(finding_notes(Path(path).name, findings, ("info", *PROBLEMS)))
        unit = "an unknown unit" if UNIT_UNKNOWN in recording.notes else recording.effort_unit
        say(f"{recording.summary(unit)}: {problem_count(problems)}")
        if UNIT_UNKNOWN in recording.notes:
            say("identify needs the unit: give effort_unit (Nm, N or A) in [columns] of the campaign or column file")
    if problems:
        raise typer.Exit(1)


def new(
    robot: Annotated[
        str,
        typer.Argument(metavar="ROBOT", help="A robot file or bundled robot.", autocompletion=complete_robot,
                       show_default=False),
    ],
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help="Logs of the robot.", show_default=False)],
    reading: ColumnMap,
    how: RobotOptions,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Output file; default: standard output.", show_default=False),
    ] = None,
    columns: Columns = None,
    force: Force = False,
) -> None:  # fmt: skip
    """Write a first campaign file from the headers of logs; values that cannot be inferred are marked "?".

    The last of several logs is held out for validation.
    """
    from minertia.identification.campaigns.new import new_campaign
    from minertia.io.files import write_file

    stated = None if columns is None else read_map(columns)
    if out is None:
        say(new_campaign(robot, logs, stated, reading=reading, how=how).rstrip("\n"), wrap=False)
        return
    if Path(out).resolve().parent != Path.cwd():  # names in the file are looked up beside it
        robot, *logs = (str(Path(name).resolve()) if Path(name).exists() else name for name in (robot, *logs))
    text = new_campaign(robot, logs, stated, reading=reading, how=how)
    write_file(out, text, force=force)
    open_questions = sum(line.count('"?"') for line in text.splitlines() if not line.startswith("#"))
    todo = f"; open questions, marked with ?: {open_questions}" if open_questions else ""
    diagnose(f"wrote {out}{todo}")


__all__ = ["campaign", "check_log", "is_log", "new"]
