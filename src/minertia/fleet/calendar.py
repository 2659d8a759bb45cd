"""Calendar tree: evidence of many days, merged in an order determined only by the dates.

Node (level, n) covers the days whose number >> level is n, days counted from the first of year 1.  So
the rounding errors of a merge depend neither on the order in which logs arrive nor on workers and
restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from minertia.fleet.evidence import FleetEvidence
from minertia.io.errors import MinertiaError
from minertia.io.resources import one_thread


@dataclass(frozen=True)
class DayLog:
    """Evidence of one log of a day; the stamp of its first sample [s] and its content hash define the order."""

    stamp: float
    content: str
    evidence: FleetEvidence


def day_evidence(logs: Iterable[DayLog]) -> FleetEvidence:
    """Merged evidence of all logs of one day: sorted by first stamp and content, merged in pairs."""
    level = [log.evidence for log in sorted(logs, key=lambda log: (log.stamp, log.content))]
    if not level:
        raise MinertiaError("there is no log of this day to merge; add one first")
    with one_thread():
        while len(level) > 1:
            pairs = [level[k].merged(level[k + 1]) for k in range(0, len(level) - 1, 2)]
            level = pairs + level[2 * len(pairs) :]
    return level[0]


def day_number(day: date | str) -> int:
    """Number of days since the first of year 1, of a date or of YYYY-MM-DD."""
    if isinstance(day, date):
        return day.toordinal()
    try:
        return date.fromisoformat(day).toordinal()
    except ValueError:
        raise MinertiaError(f"'{day}' is not a date; write it as YYYY-MM-DD") from None


def day_name(number: int) -> str:
    """YYYY-MM-DD of a day number."""
    return date.fromordinal(number).isoformat()


@dataclass(frozen=True)
class CalendarTree:
    """Evidence of one robot by day; merged nodes are cached.

    days: evidence by day number.  Blocks of different days are not pooled.
    """

    days: Mapping[int, FleetEvidence]
    _nodes: dict[tuple[int, int], FleetEvidence | None] = field(default_factory=dict, repr=False, compare=False)

    def node(self, level: int, n: int) -> FleetEvidence | None:
        """Evidence of the days whose number >> level is n; None if there is none."""
        if level == 0:
            own = self.days.get(n)
            return None if own is None else own.without_stretches()
        if (level, n) not in self._nodes:
            self._nodes[level, n] = _both(self.node(level - 1, 2 * n), self.node(level - 1, 2 * n + 1))
        return self._nodes[level, n]

    def window(self, first: int, last: int) -> FleetEvidence | None:
        """Evidence of the days from first to last, both included: a few nodes, merged from left to right."""
        found: FleetEvidence | None = None
        with one_thread():
            for level, n in cover(first, last):
                found = _both(found, self.node(level, n))
        return found

    def total(self) -> FleetEvidence | None:
        """Evidence of all days."""
        return self.window(min(self.days), max(self.days)) if self.days else None

    def with_days(self, days: Mapping[int, FleetEvidence]) -> CalendarTree:
        """Tree with days added or replaced; only the paths above them are recomputed."""
        stale = {(level, number >> level) for number in days for level, _ in self._nodes}
        kept = {key: value for key, value in self._nodes.items() if key not in stale}
        return CalendarTree({**self.days, **days}, kept)


def cover(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Minimal set of nodes that covers the days from first to last, in the order of days."""
    while first <= last:
        level = 0
        while first % (2 << level) == 0 and first + (2 << level) - 1 <= last:
            level += 1
        yield level, first >> level
        first += 1 << level


def _both(one: FleetEvidence | None, other: FleetEvidence | None) -> FleetEvidence | None:
    """Merge the evidence of two nodes; if one is missing, return the other."""
    if one is None or other is None:
        return one if other is None else other
    return one.merged(other)
