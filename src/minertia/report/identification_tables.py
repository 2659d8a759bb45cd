"""Identifications as tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minertia.report.tables import Table

if TYPE_CHECKING:
    from minertia.identification.audits.findings import Finding
    from minertia.identification.evidence.residuals import Residuals
    from minertia.identification.evidence.significance import Significance
    from minertia.identification.identify import Identification
    from minertia.identification.kind import Section
    from minertia.robot.robot import Note

DEVIATIONS = "standard deviations and intervals are valid under correlated residuals"
LONGEST_TITLE = 40
AT_ZERO = 1e3  # relative deviation of a value that is zero but for the solver's tolerance, such as one at its bound


def parameter_table(result: Identification) -> Table:
    """One row per identified parameter."""
    rows = tuple(
        (
            p.name,
            f"{p.value:.5g}",
            f"{p.deviation:.2g}",
            "" if p.kind == "fixed" else "at zero" if p.relative_deviation > AT_ZERO else percent(p.relative_deviation),
            p.kind,
        )
        for p in result.parameters
    )
    return Table(("parameter", "value", "deviation", "relative", "class"), rows, right=(1, 2, 3))


def residual_table(judged: Mapping[str, Residuals], each: str = "joint") -> Table:
    """Relative residuals, one row for all and one per joint, one column per log and model; each: word for a joint."""
    joints = next(iter(judged.values())).joints if judged else ()
    columns = [(percent(r.relative), *map(percent, r.joint_relative)) for r in judged.values()]
    rows = tuple(zip(("all", *joints), *columns, strict=True))
    return Table((each, *judged), rows, right=tuple(range(1, len(judged) + 1)))


def section_table(section: Section) -> Table:
    """Table of a report section that is specific to the kind of problem."""
    rows = tuple(tuple(cell if isinstance(cell, str) else f"{cell:.4g}" for cell in row) for row in section.rows)
    return Table(section.headers, rows, right=tuple(range(1, len(section.headers))))


def result_rows(result: Identification, name_of: Callable[[str], str] = str) -> dict[str, Residuals]:
    """Residuals on the training and validation logs, and those of reference models; name_of: formats a log name."""
    rows = {"training": result.training}
    rows |= {unique(rows, name_of(r.log)): r for r in result.validation}
    for name, judged in result.evidence.rivals.items():
        for r in judged:
            log = f", {name_of(r.log)}" if len(judged) > 1 else ""
            rows[unique(rows, f"{name.removeprefix('the ')}{log}")] = r
    return rows


def short(text: str) -> str:
    """Name shortened for a header; the end of a file name is kept."""
    return text if len(text) <= LONGEST_TITLE else f"{text[:12]}...{text[-(LONGEST_TITLE - 15) :]}"


def unique(taken: Mapping[str, Any], name: str) -> str:
    """Unique name, numbered where it is taken."""
    return (
        name if name not in taken else next(f"{name} ({k})" for k in range(2, 10_000) if f"{name} ({k})" not in taken)
    )


def percent(x: float) -> str:
    """Fraction as per cent."""
    return f"{100 * x:.3g} %" if np.isfinite(x) else "none"


def verdict_sentence(result: Identification) -> str:
    """Verdict in one line."""
    word = result.verdict.word
    return f"the model is {word.replace('not', 'NOT')}:"


def physical_sentence(physical: Mapping[str, Any]) -> str:
    """Message of a physical fit on its consistency; empty for other estimators."""
    return str(physical.get("sentence") or "")


def finding_notes(log: str, findings: Iterable[Finding], levels: Sequence[str] = ("warning", "error")) -> list[Note]:
    """Audit findings as notes."""
    from minertia.robot.robot import Note

    return [
        Note(f.level, ", ".join(p for p in (log, f.channel, "" if f.row is None else f"row {f.row}") if p), f.text)
        for f in findings
        if f.level in levels
    ]


def essential_table(found: Significance) -> Table:
    """Parameters retained by a significance rule."""
    deviations = np.sqrt(np.diag(found.covariance))
    shares = dict(zip(found.names, found.contributions.max(axis=1), strict=True))
    rows = tuple(
        (name, f"{value:.5g}", f"{d:.2g}", percent(float(shares[name])))
        for name, value, d in zip(found.essential, found.beta, deviations, strict=True)
    )
    return Table(("parameter", "value", "deviation", "largest contribution"), rows, right=(1, 2, 3))


def curve_table(found: Significance) -> Table:
    """Residuals and, at some points, operation counts of the inverse dynamics against the number of parameters."""
    rows = tuple(
        (
            str(point["count"]),
            *("" if point[key] is None else percent(float(point[key])) for key in ("training", "left_out")),
            *(str(point.get(key, "")) for key in ("multiplications", "additions")),
            point["dropped"] or "",
        )
        for point in found.curve
    )
    head = ("values", "training", "left out", "multiplications", "additions", "dropped last")
    return Table(head, rows, right=(0, 1, 2, 3, 4))
