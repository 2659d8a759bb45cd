"""Text and tables about a calibration."""

from __future__ import annotations

from minertia.calibration.measures import SHOWN, told
from minertia.calibration.result import Calibration, GeometricValue, ReadingErrors
from minertia.report.tables import Table


def calibration_text(found: Calibration) -> str:
    """What was found in some lines: verdict, counts, noise."""
    shown, noise = found.shown, found.spread
    readings = ", ".join(told(size, unit) for unit, size in noise.rows.items())
    levels = ", ".join(found.choice.levels) or "none"
    lines = [
        f"{found.chain.robot.name}, {len(found.chain.joints)} joints to {found.chain.tip}: {found.verdict.word}",
        *found.verdict.lines,
        f"corrections: {levels}; {shown.count} values can be seen, these postures show {shown.here}",
        f"noise: readings {readings}, joints {told(noise.joints, 'rad')}",
        *(f"- {reason}" for reason in found.verdict.reasons),
        *(f"- {note}" for note in (*found.notes, *found.verdict.not_judged)),
    ]
    if shown.weak:
        lines.append(f"- hardly shown by these postures: {'; '.join(shown.weak[:5])}")
    if corrections := found.joint_corrections():
        lines.append(
            f"- {len(corrections)} corrections of joint positions are in calibration.json; no robot file holds them"
        )
    return "\n".join(lines)


def error_table(found: Calibration) -> Table:
    """Errors of each file, in mm, mrad or pixels, beside base and tool alone, and zeros alone."""
    headers = ("readings", "number", "rms", "median", "95 %", "largest", "base and tool", "zeros")
    rows = tuple(_error_row(e) for e in (found.training, *found.validation))
    return Table(headers, rows, right=tuple(range(1, len(headers))))


def _error_row(e: ReadingErrors) -> tuple[str, ...]:
    _, factor = SHOWN[e.unit]
    figures = (e.rms, e.median, e.p95, e.max, e.nominal_rms, e.zeros_rms)
    return (e.file, str(e.count), *("" if f is None else f"{factor * f:.3g}" for f in figures))


def value_table(found: Calibration) -> Table:
    """Corrections with their deviations, in mm and mrad."""
    headers = ("name", "value", "deviation", "unit", "by", "stands for")
    return Table(headers, tuple(_value_row(v) for v in found.values), right=(1, 2))


def _value_row(v: GeometricValue) -> tuple[str, ...]:
    unit, factor = SHOWN[v.unit]
    by = "prior" if v.decided_by_prior else "readings"
    return v.name, f"{factor * v.value:.4g}", f"{factor * v.deviation:.2g}", unit, by, v.stands_for
