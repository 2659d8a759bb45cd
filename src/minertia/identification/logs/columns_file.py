"""The tables [columns] and [drive] of TOML files, in a campaign or in a small file beside the log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minertia.identification.logs.campaign_table import CampaignTable
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.io.files import is_file
from minertia.io.schema import read
from minertia.io.tables import load_toml

FORMAT = 1
BESIDE = ("columns.toml", "log.toml")


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
    return read(columns, ColumnMap, drive=read(drive, Drive))
