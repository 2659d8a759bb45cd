"""The tables [columns] and [drive] of TOML files, in a campaign or in a small file beside the log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minertia.errors import CampaignError, MinertiaError
from minertia.files import is_file
from minertia.identification.logs.campaign_table import CampaignTable
from minertia.identification.logs.columns import ColumnMap
from minertia.identification.logs.drive import Drive
from minertia.tables import load_toml

FORMAT = 1
COLUMN_KEYS = (
    "t", "rate_hz", "time_unit", "q", "qd", "qdd", "effort", "temperature", "command", "command_velocity",
    "command_when", "motor", "program", "load", "angle", "length", "effort_unit", "header", "delimiter", "decimal",
    "topic", "command_topic", "episode", "drop_torn",
)  # fmt: skip
DRIVE_KEYS = (
    "position", "effort", "ratios", "coupling", "gains", "gain_deviations", "signs", "effort_signs", "offsets",
    "offsets_deg", "delay",
)  # fmt: skip
BESIDE = ("columns.toml", "log.toml")
DEGREE = 0.017453292519943295


def read_columns(path: str | Path) -> ColumnMap:
    """The mapping in a file with the tables [columns] and [drive]; other tables of a campaign file are left alone."""
    top = load_toml(path, CampaignTable)
    return parse_columns(top.table("columns"), top.table("drive"))


def columns_beside(log: str | Path) -> ColumnMap:
    """The mapping in the TOML file beside a log: <log>.toml, columns.toml or log.toml; empty where there is none.

    A file without the tables [columns] and [drive], such as that of a robot, is none.
    """
    path = Path(log)
    stem = path.name.split(".")[0]
    for name in (f"{stem}.toml", *BESIDE):
        file = path.parent / name
        if is_file(file):
            top = load_toml(file, CampaignTable)
            if "columns" in top or "drive" in top:
                return replace(parse_columns(top.table("columns"), top.table("drive")), found=str(file))
    return ColumnMap()


def parse_columns(columns: CampaignTable, drive: CampaignTable) -> ColumnMap:
    """The mapping of the two tables."""
    columns.only(COLUMN_KEYS)
    try:
        return ColumnMap(
            t=columns.text("t"),
            rate_hz=columns.positive("rate_hz"),
            time_unit=columns.text("time_unit") or "s",
            q=columns.names("q"),
            qd=columns.names("qd"),
            qdd=columns.names("qdd"),
            effort=columns.names("effort"),
            temperature=columns.names("temperature"),
            command=columns.names("command"),
            command_velocity=columns.names("command_velocity"),
            command_when=columns.text("command_when"),
            motor=columns.names("motor"),
            program=columns.text("program"),
            load=columns.text("load"),
            angle=columns.text("angle") or "rad",
            length=columns.text("length") or "m",
            effort_unit=columns.text("effort_unit"),
            header=columns.texts("header") or (),
            delimiter=columns.text("delimiter"),
            decimal=columns.text("decimal") or ".",
            topic=columns.text("topic"),
            command_topic=columns.text("command_topic"),
            episode=columns.whole("episode", at_least=0),
            drop_torn=columns.flag("drop_torn", False),
            drive=parse_drive(drive),
        )
    except CampaignError:
        raise
    except MinertiaError as err:
        raise CampaignError(str(err), file=columns.source, field="columns") from None


def parse_drive(drive: CampaignTable) -> Drive:
    """The drive of a table [drive]."""
    drive.only(DRIVE_KEYS)
    if "offsets" in drive and "offsets_deg" in drive:
        raise drive.fail("offsets and offsets_deg cannot stand side by side", "offsets_deg")
    degrees = drive.numbers("offsets_deg")
    offsets = drive.numbers("offsets") if degrees is None else tuple(v * DEGREE for v in degrees)
    try:
        return Drive(
            position=drive.text("position"),
            effort=drive.text("effort"),
            ratios=drive.numbers("ratios"),
            coupling=drive.matrix("coupling"),
            gains=drive.numbers("gains"),
            gain_deviations=drive.numbers("gain_deviations"),
            signs=drive.numbers("signs"),
            effort_signs=drive.numbers("effort_signs"),
            offsets=offsets,
            delay=drive.number("delay") or 0.0,
        )
    except CampaignError:
        raise
    except MinertiaError as err:
        raise CampaignError(str(err), file=drive.source, field="drive") from None
