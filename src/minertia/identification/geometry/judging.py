"""Evaluation of a calibration: errors at held-out postures, compared with those without any correction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.intervals import NORMAL
from minertia.identification.evidence.left_out import NOTHING_LEFT_OUT, LeftOut
from minertia.identification.evidence.measure import GEOMETRY
from minertia.identification.evidence.parameters import PRIOR, ParameterEvidence
from minertia.identification.geometry.chain import moved
from minertia.identification.geometry.choice import thinned
from minertia.identification.geometry.errors import ReadingResiduals, reading_residuals
from minertia.identification.geometry.fit import FREE, rms
from minertia.identification.geometry.folds import GeometryRows, RegionsLeftOut, left_out, regions
from minertia.identification.geometry.measures import told
from minertia.identification.geometry.setups import other_joints, other_readings, turns_of
from minertia.identification.geometry.solve import GeometryEstimate

ZEROS = "zeros alone"


def geometry_evidence(
    rows: GeometryRows, unseen: Sequence[tuple[str, GeometryRows]], estimate: GeometryEstimate
) -> Evidence:
    """Evidence for a calibration: residuals of fitted, validation and held-out readings, and messages on faults."""
    training = residuals_at("training", rows, estimate)
    judged = tuple(residuals_at(name, own, estimate) for name, own in unseen)
    folds = None if judged and not estimate.choice.tried else _folds(rows, estimate)
    reach = _reach(rows)
    values = geometric_values(estimate)
    left = judged or (() if folds is None else (_left_residuals(rows, *folds),))
    return Evidence(
        training,
        (training,),
        values,
        NOTHING_LEFT_OUT if folds is None else _left(*folds),
        judged,
        {ZEROS: tuple(zeros_at(name, own, estimate) for name, own in unseen)} if estimate.choice.levels else {},
        suspicions=(*other_readings(rows, reach), *other_joints(rows, estimate.choice.groups)),
        faults=_faults(estimate, values, training, left, reach, is_unseen=bool(judged)),
        remarks=_remarks(estimate, left, is_unseen=bool(judged)),
        not_judged=() if judged else (_not_judged(has_folds=folds is not None),),
        measure=GEOMETRY,
    )


def _not_judged(*, has_folds: bool) -> str:
    if has_folds:
        return "no validation posture was given, so regions of postures were held out; give --validate"
    return "no validation posture was given, and postures are too few to hold regions out; give --validate"


def residuals_at(name: str, rows: GeometryRows, estimate: GeometryEstimate) -> ReadingResiduals:
    """Residuals of some readings: as fitted, with base and tool alone, and with zeros alone."""
    fits = (estimate.geometry, estimate.nominal, estimate.zeros)
    return reading_residuals(name, rows.postures.measures, *(rows.misses(found) for found in fits))


def zeros_at(name: str, rows: GeometryRows, estimate: GeometryEstimate) -> ReadingResiduals:
    """Residuals of some readings with joint zeros as the only corrections."""
    left, nominal = (rows.misses(found) for found in (estimate.zeros, estimate.nominal))
    return reading_residuals(name, rows.postures.measures, left, nominal)


def geometric_values(estimate: GeometryEstimate) -> tuple[ParameterEvidence, ...]:
    """Estimates of all corrections, without those of base and tool.

    Relative standard deviations refer to the larger of a value and the standard deviation of its group, as a
    correction may well be zero.
    """
    fit, found = estimate.geometry, []
    shares = np.diag(fit.S) * fit.prior
    for k, (name, group) in enumerate(zip(fit.names, fit.groups, strict=True)):
        if group in FREE:
            continue
        value, deviation = float(estimate.beta[k]), float(estimate.deviation[k])
        relative = deviation / max(abs(value), fit.sizes.groups[str(group)])
        half = NORMAL * deviation
        kind = PRIOR if shares[k] > at.BY_PRIOR else estimate.classes[k]
        found.append(ParameterEvidence(name, value, deviation, relative, (value - half, value + half), kind))
    return tuple(found)


def _reach(rows: GeometryRows) -> float:
    """Largest extent of the tool positions [m]."""
    chain = rows.chain
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(rows.postures.q)).tool
    return max(float(np.ptp(tool[:, :3, 3], axis=0).max()), 0.1)


# ------------------------------------------------------------------ regions left out


def _folds(rows: GeometryRows, estimate: GeometryEstimate) -> tuple[RegionsLeftOut, RegionsLeftOut] | None:
    """Cross-validation errors by regions, with and without the corrections; None if there is only one region."""
    choice, some = estimate.choice, thinned(rows)
    tried = dict(choice.tried)
    if choice.levels not in tried:
        region = regions(some)
        if len(np.unique(region)) < 2:
            return None
        nothing = left_out(some, (), region, estimate.nominal)
        tried = {(): nothing, choice.levels: left_out(some, choice.groups, region, nothing)}
    return tried[choice.levels], tried[()]


def _left(best: RegionsLeftOut, nothing: RegionsLeftOut) -> LeftOut:
    rest, whole = (np.sqrt(np.nansum(one.misses**2, axis=0)) for one in (best, nothing))
    return LeftOut(rest, whole, len(best.misses))


def _left_residuals(rows: GeometryRows, best: RegionsLeftOut, nothing: RegionsLeftOut) -> ReadingResiduals:
    return reading_residuals("held-out regions", rows.postures.measures, best.misses, nothing.misses)


# ------------------------------------------------------------------ what speaks against it


def _where(is_unseen: bool) -> str:
    return "validation postures" if is_unseen else "held-out regions"


def _remarks(estimate: GeometryEstimate, left: Sequence[ReadingResiduals], *, is_unseen: bool) -> tuple[str, ...]:
    found = []
    if left:
        size, nominal = (told(max(getattr(e, key) for e in left), left[0].unit) for key in ("rms", "nominal_rms"))
        found.append(f"the error is {size} at {_where(is_unseen)}; with base and tool alone {nominal}")
    if estimate.shown.weak:
        found.append(f"poorly determined by these postures: {'; '.join(estimate.shown.weak[:5])}")
    return tuple(found)


def _faults(
    estimate: GeometryEstimate,
    values: Sequence[ParameterEvidence],
    training: ReadingResiduals,
    left: Sequence[ReadingResiduals],
    reach: float,
    *,
    is_unseen: bool,
) -> tuple[str, ...]:
    """Messages on faults, each of which alone makes a calibration not good; left: errors at held-out postures."""
    found, levels, unit = [], estimate.choice.levels, training.unit
    size, where = max((e.rms for e in left), default=training.rms), _where(is_unseen)
    if not levels:
        found.append("no correction is supported: each increased the error in held-out regions, or hardly reduced it")
    worse = at.WORSE_POSTURES if is_unseen else at.WORSE_REGIONS
    if levels and size > worse * training.rms:
        found.append(f"the error at {where} is {size / training.rms:.1f} times that of the fitted postures")
    if unit == "m" and size > at.COARSE * reach:
        found.append(
            f"an error of {told(size, unit)} is more than {100 * at.COARSE:g} % of the reach: another robot, or "
            "misread columns"
        )
    turned = rms(turns_of(estimate.geometry))
    if turned > at.TURNED_AWAY:
        found.append(f"rotations of poses differ by {told(turned, 'rad')} from those that fit; check their convention")
    fit = estimate.geometry
    groups, units = dict(zip(fit.names, fit.groups.tolist(), strict=True)), fit.layout.units
    large = [v for v in values if abs(v.value) > at.LIKELY.get(groups[v.name], np.inf)]
    return (*found, *(_large(v, groups[v.name], units[v.name]) for v in large))


def _large(value: ParameterEvidence, group: str, unit: str) -> str:
    size = f"{value.value:.3g} {unit}"
    if group == "zeros":
        return f"the zero {value.name} is off by {size}; check the convention for that joint's zero"
    return f"{value.name} = {size} is larger than errors of a robot file; check that it is the right robot"
