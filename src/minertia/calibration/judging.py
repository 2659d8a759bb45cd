"""The verdict on a calibration: errors at postures never fitted, beside those without any correction."""

from __future__ import annotations

from collections.abc import Sequence

from minertia.calibration.choice import WORTH, LevelChoice
from minertia.calibration.measures import told
from minertia.calibration.result import GeometricValue, ReadingErrors
from minertia.calibration.setups import OtherReading
from minertia.identification.evidence.verdict import Grade, Verdict

# each figure with its reason
WORSE = 1.5  # times what is left where it was fitted: more says that the corrections belong to these postures
WORSE_LEFT_OUT = 3.0  # the same for regions left out: the fits that are judged there lack the region's postures
COARSE = 0.01  # of the reach: more is another robot or another reading, not a calibration
LIKELY = {"zeros": 0.35, "lengths": 0.02, "angles": 0.1}  # rad, m: beyond these a file is of another robot, not inexact
KNOWN = 0.5  # deviation over value: larger, and a value is hardly known


def judged(
    errors: Sequence[ReadingErrors],
    training: ReadingErrors,
    choice: LevelChoice,
    values: Sequence[GeometricValue],
    others: Sequence[OtherReading],
    reach: float,
    *,
    is_unseen: bool,
) -> Verdict:
    """Good, usable with limits or not good, with reasons; errors: of the files to judge on, or of regions left out."""
    rms = max(e.rms for e in errors)
    nominal = max(e.nominal_rms for e in errors)
    where = "postures never fitted" if is_unseen else "regions left out in turn"
    unit = training.unit
    reasons = [f"{told(rms, unit)} are left at {where}; base and tool alone leave {told(nominal, unit)}"]
    faults = [other.sentence for other in others]
    if not choice.levels:
        faults.append("no correction is supported: each made regions that were left out worse, or hardly better")
    elif rms > WORTH * nominal:
        faults.append(f"the corrections take away less than a fifth of what base and tool alone leave at {where}")
    worse = WORSE if is_unseen else WORSE_LEFT_OUT
    if rms > worse * training.rms and choice.levels:
        faults.append(f"at {where} {rms / training.rms:.1f} times as much is left as where it was fitted")
    if unit == "m" and rms > COARSE * reach:
        faults.append(
            f"{told(rms, unit)} are more than {100 * COARSE:g} % of the reach: another robot, or columns misread"
        )
    faults += [_large(v) for v in values if abs(v.value) > LIKELY.get(v.group, float("inf"))]
    poor = [v.name for v in values if v.decided_by_prior]
    knows = f"knows values: {len(values) - len(poor)} of {len(values)} by the readings"
    knows += f", {', '.join(poor[:6])}{' ...' if len(poor) > 6 else ''} by the prior" if poor else ""
    not_judged = (
        () if is_unseen else ("no posture was kept back, so that regions were left out instead; give --validate",)
    )
    grade: Grade = "not good" if faults else "good"
    predicts = f"predicts readings: {told(rms, unit)} at {where}"
    return Verdict(grade, (*faults, *reasons), (), predicts, knows, (), not_judged)


def _large(value: GeometricValue) -> str:
    if value.group == "zeros":
        return (
            f"the zero {value.name} is off by {value.value:.3g} {value.unit}: another convention for that joint's zero?"
        )
    return f"{value.name} = {value.value:.3g} {value.unit} is more than a file is off: another robot?"
