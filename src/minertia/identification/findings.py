"""What an audit says."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about a recording.

    level: "info", "warning" (the result may suffer) or "error" (the recording cannot be used as it is).
    check: short name of what was looked at.  channel: name of the column, "" for the whole log.  row: from 1.
    """

    level: str
    check: str
    text: str
    channel: str = ""
    row: int | None = None

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.channel, f"row {self.row}" if self.row is not None else "") if part)
        return f"{self.level}: {where + ': ' if where else ''}{self.text}"
