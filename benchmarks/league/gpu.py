"""Speed on a GPU: what `python -m benchmarks.gpu` measured and kept, ours beside frax, GRiD and MJX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import results
from benchmarks.league.environments import Unavailable
from benchmarks.league.rows import OURS, Row

DEVICE = "h200"
SUBJECTS = (
    "inverse dynamics",
    "forward dynamics",
    "inverse dynamics derivatives",
    "forward dynamics derivatives",
    "base regressor",
)
PEERS = {"frax `rnea`": "inverse dynamics", "MJX `inverse`": "inverse dynamics", "MJX `forward`": "forward dynamics"}


def rows() -> Iterator[Row | Unavailable]:
    """Samples in a second, the faster layout of arrays for ours, the best batch for each peer."""
    kept = results.read(DEVICE)
    if kept is None:
        yield Unavailable(f"no results of {DEVICE} are kept here")
        return
    for precision in ("double", "float"):
        own = [row for row in kept["rows"] if row["precision"] == precision and "rate" in row]
        for subject in SUBJECTS:
            best = max((row for row in own if row["program"] == subject), key=lambda row: row["rate"])
            yield _row(
                subject,
                OURS,
                precision,
                best["rate"],
                f"{best['arrays']}, {100 * best['share']:.0f} % of a copy, {kept['date']}",
            )
            for row in own:
                program, _, note = row["program"].partition(", ")
                if program == f"GRiD {subject}" or PEERS.get(program) == subject:
                    yield _row(subject, _peer(program, kept), precision, row["rate"], note, best["rate"])


def _row(subject: str, who: str, precision: str, rate: float, note: str, ours: float | None = None) -> Row:
    figures: dict[str, Any] = {"time [ns]": 1e9 / rate, "rate [M/s]": rate / 1e6}
    if ours is not None:
        figures["times ours"] = ours / rate
    return Row(subject, who, f"Panda, {precision}", figures, note)


def _peer(program: str, kept: dict[str, Any]) -> str:
    """Name and version of a peer."""
    name = program.split()[0]
    return next((v for v in kept["versions"] if name.lower() in v.lower()), name)
