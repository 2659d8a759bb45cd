"""Tables of campaign files, and the small files beside logs with [columns] and [drive]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from minertia.identification.logs.options import ColumnMap, Drive
from minertia.io.errors import CampaignError
from minertia.io.files import is_file
from minertia.io.schema import read
from minertia.io.tables import CheckedTable, load_toml

UNANSWERED = "?"  # what the writer of a campaign could not know


@dataclass(frozen=True)
class CampaignTable(CheckedTable):
    """One table of a campaign; errors name the dotted key."""

    largest: ClassVar[float] = 1e300  # what is too large, each value says itself

    def fail(self, message: str, key: str | None = None) -> CampaignError:
        """Return an error of this table, to be raised."""
        field = ".".join(part for part in (self.where, key) if part) or None
        return CampaignError(message, file=self.source, line=self.line(key), field=field)

    def it(self, key: str, what: str = "") -> str:
        """Subject of an error message: "this" with a description, since the dotted key precedes the message."""
        return f"this {what}" if what else "this"

    def inner_name(self, key: str) -> str:
        """Dotted name of an inner table."""
        return f"{self.where}.{key}" if self.where else key

    def get(self, key: str, default: object = None) -> Any:
        """Entry without validation; raises an error for a question mark that was left to be filled in."""
        value = self.entries.get(key, default)
        if value == UNANSWERED or (isinstance(value, list) and UNANSWERED in value):
            raise self.fail('this is still "?"; replace it by the value, which the log does not contain', key)
        return value


FORMAT = 1
BESIDE = ("columns.toml", "log.toml")


def read_columns(path: str | Path) -> ColumnMap:
    """Read the mapping from the tables [columns] and [drive] of a file; other tables are ignored."""
    top = load_toml(path, CampaignTable)
    return parse_columns(top.table("columns"), top.table("drive"))


def columns_beside(log: str | Path) -> ColumnMap:
    """Mapping from the TOML file beside a log: <log>.toml, columns.toml or log.toml; empty if there is none.

    A file without the tables [columns] and [drive], such as that of a robot, is ignored.
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
    """Parse the mapping from the two tables."""
    return read(columns, ColumnMap, drive=read(drive, Drive))
