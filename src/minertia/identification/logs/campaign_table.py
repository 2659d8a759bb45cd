"""Tables of campaign files and of the small files beside logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from minertia.io.errors import CampaignError
from minertia.io.tables import CheckedTable

UNANSWERED = "?"  # what the writer of a campaign could not know


@dataclass(frozen=True)
class CampaignTable(CheckedTable):
    """One table of a campaign; errors name the dotted key."""

    largest: ClassVar[float] = 1e300  # what is too large, each value says itself

    def fail(self, message: str, key: str | None = None) -> CampaignError:
        """An error of this table, to be raised."""
        field = ".".join(part for part in (self.where, key) if part) or None
        return CampaignError(message, file=self.source, line=self.line(key), field=field)

    def it(self, key: str, what: str = "") -> str:
        """The dotted key stands before the sentence."""
        return f"this {what}" if what else "this"

    def inner_name(self, key: str) -> str:
        """The dotted name."""
        return f"{self.where}.{key}" if self.where else key

    def get(self, key: str, default: object = None) -> Any:
        """The entry as it stands; a question mark left by the writer is refused."""
        value = self.entries.get(key, default)
        if value == UNANSWERED or (isinstance(value, list) and UNANSWERED in value):
            raise self.fail('this is still "?": fill in what the log does not tell', key)
        return value
