"""Evidence for an identified tool on a sensor: residuals at held-out and validation poses, and diagnoses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.left_out import NOTHING_LEFT_OUT, LeftOut
from minertia.identification.evidence.measure import WRENCH
from minertia.identification.evidence.parameters import PRIOR, ParameterEvidence
from minertia.identification.wrench.choice import PosesLeftOut
from minertia.identification.wrench.fit import USUAL_REACH, WrenchFit, fit_wrench
from minertia.identification.wrench.load import CHANNELS, INERTIA, LOAD, TILT
from minertia.identification.wrench.residuals import WrenchResiduals, residuals_from, wrench_residuals
from minertia.identification.wrench.samples import SensorPoses
from minertia.identification.wrench.setups import FEWEST, OtherWrench, WrenchReading, not_shown
from minertia.identification.wrench.solve import WrenchEstimate
from minertia.io.arrays import Array

LEVEL = 0.975  # of two-sided 95 % intervals
NO_SCALE = "the scale of the forces is not checked: hang a known mass on the sensor to check it"


def wrench_evidence(
    estimate: WrenchEstimate, reading: WrenchReading, unseen: Sequence[tuple[str, SensorPoses]]
) -> Evidence:
    """Evidence for an estimate: residuals of fitted, held-out and validation poses, and diagnoses.

    unseen: name and poses of each validation file.
    """
    fit = estimate.wrench
    training = wrench_residuals("training", fit.carried, fit.poses)
    judged = tuple(wrench_residuals(name, fit.carried, poses) for name, poses in unseen)
    folds = estimate.choice.tried.get(estimate.choice.bias)
    left = judged or (() if folds is None else (residuals_from("held-out poses", folds.left, folds.load),))
    changed = [found for pair in unseen if (found := _changed(fit, reading, *pair))]
    return Evidence(
        training,
        (training,),
        wrench_values(fit),
        NOTHING_LEFT_OUT if folds is None else _left(folds),
        judged,
        suspicions=(*reading.others, *_far_centre(fit)),
        faults=(*changed, *_faults(fit, left)),
        remarks=(*_remarks(estimate, left), *reading.notes),
        not_judged=(NO_SCALE,),
        measure=WRENCH,
        drifts=fit.walks,
    )


def _left(folds: PosesLeftOut) -> LeftOut:
    rest, whole = (np.linalg.norm(x, axis=0) for x in (folds.left, folds.load))
    return LeftOut(rest, whole, len(folds.left))


# ------------------------------------------------------------------ values


def quantile(fit: WrenchFit) -> float:
    """Half-width of a 95 % confidence interval in standard deviations.

    It is a quantile of Student's t, as the noise is estimated from the poses as well.  White noise is common to three
    channels, each without the columns of its trend and one and a half for load and mount (nine unknowns over six
    channels).  Walks of these channels are alike but not equal: they count as two, with which intervals of 4 to 20
    planted poses hold 93 to 98 %.
    """
    from scipy.special import stdtrit  # here: it takes long to load

    free = (2 if fit.walks else 3) * (len(fit.poses) - fit.trend.shape[1] - 1.5)
    return float(stdtrit(max(free, 1), LEVEL))


def wrench_values(fit: WrenchFit) -> tuple[ParameterEvidence, ...]:
    """Estimate, standard deviation and confidence interval of every unknown.

    Relative standard deviations refer to the larger of the estimate and the typical magnitude of its kind
    (`_size`).
    """
    half, found = quantile(fit), []
    prior = dict(zip((*TILT, *fit.mount.lean_names), fit.angle_prior.tolist(), strict=True))
    prior |= dict.fromkeys(INERTIA, abs(float(fit.load[0])) * USUAL_REACH**2)
    for k, name in enumerate(fit.names):
        value, deviation = float(fit.values[k]), float(np.sqrt(fit.covariance[k, k]))
        usual = prior.get(name, np.inf)
        kind = PRIOR if (deviation / usual) ** 2 > at.BY_PRIOR else "alone"
        relative = deviation / max(abs(value), _size(fit, name), 1e-300)
        interval = (value - half * deviation, value + half * deviation)
        found.append(ParameterEvidence(name, value, deviation, relative, interval, kind))
    return tuple(found)


def _size(fit: WrenchFit, name: str) -> float:
    """Typical magnitude of an unknown: of the load, of its wrench, or the smallest prior standard deviation."""
    g, moment = float(np.linalg.norm(fit.mount.up)), float(np.linalg.norm(fit.load[1:4]))
    if name in INERTIA:
        return float(np.linalg.norm(fit.load[4:]))
    if name in LOAD:
        return abs(float(fit.load[0])) if name == "M" else moment
    channel = name.rpartition("_")[2]
    if channel in CHANNELS:
        return g * (abs(float(fit.load[0])) if channel[0] == "f" else moment)
    return float(np.min(fit.usual))


def value_unit(name: str) -> str:
    """Unit of an unknown; slopes are per step of the recording order."""
    if name in (*LOAD, *INERTIA):
        return "kg m^2" if name in INERTIA else "kg" if name == "M" else "kg m"
    channel = name.rpartition("_")[2]
    if channel not in CHANNELS:
        return "rad"
    return "N" if channel[0] == "f" else "N m"


def centre(fit: WrenchFit) -> tuple[Array, Array]:
    """Centre of mass (3,) in the sensor's axes, and its standard deviations (3,) [m]."""
    M, c = fit.load[0], fit.load[1:4] / fit.load[0]
    J = np.concatenate([-c[:, None], np.eye(3)], axis=1) / M
    return c, np.sqrt(np.diag(J @ fit.covariance[:4, :4] @ J.T))


# ------------------------------------------------------------------ what speaks against it


def _far_centre(fit: WrenchFit) -> tuple[OtherWrench, ...]:
    """Diagnosis that moments are in another unit, where the centre of mass is implausibly far from the sensor."""
    far = float(np.linalg.norm(fit.load[1:4] / fit.load[0]))
    if far < at.WRENCH_FAR:
        return ()
    what = f"the centre of mass would be {far:.3g} m from the sensor: moments seem to be in N mm"
    return (OtherWrench("moment", what, 'set moment = "N mm"', far, float("nan")),)


def _faults(fit: WrenchFit, left: Sequence[WrenchResiduals]) -> tuple[str, ...]:
    found, M = [], float(fit.load[0])
    if M <= 0:
        found.append(f"the mass is {M:.3g} kg, which is implausible: sign or axes of the wrench are misread")
    weight = abs(M) * float(np.linalg.norm(fit.mount.up))
    moment = max((r.moment_rms for r in left), default=0.0)
    if moment > at.WRENCH_ARM * weight:
        found.append(
            f"moments are off by {1000.0 * moment:.3g} mN m, which corresponds to the weight acting "
            f"{1000.0 * moment / weight:.2g} mm away: check order, sign and unit of the moments, and that the "
            "tool is rigid"
        )
    return tuple(found)


def _changed(fit: WrenchFit, reading: WrenchReading, name: str, poses: SensorPoses) -> str | None:
    """Message where the poses of a file, fitted alone, give another mass or bias; else None."""
    if len(poses) <= FEWEST or not_shown(poses, reading.mount) is not None:
        return None
    own = fit_wrench(poses, reading.mount, reading.usual, "constant")
    apart = abs(own.load[0] - fit.load[0])
    sure = np.hypot(*(np.sqrt(one.covariance[0, 0]) for one in (own, fit)))
    if apart > max(at.WRENCH_SURE * sure, at.WRENCH_MASS * abs(fit.load[0])):
        return (
            f"{name} alone has a mass of {own.load[0]:.4g} kg, not {fit.load[0]:.4g} kg: another tool, or a part of it"
        )
    weight = abs(fit.load[0]) * float(np.linalg.norm(fit.mount.up))
    shift = float(np.abs(own.bias - fit.carried.bias_at(poses).mean(axis=0))[:3].max())
    if shift > at.WRENCH_MOST * weight:
        return f"the bias of {name} differs by {shift:.3g} N: the sensor was tared in between; fit its bias again"
    return None


def _remarks(estimate: WrenchEstimate, left: Sequence[WrenchResiduals]) -> tuple[str, ...]:
    fit, found = estimate.wrench, []
    for r in left:
        found.append(f"{r.log}: residual {r.force_rms:.3g} N and {1000.0 * r.moment_rms:.3g} mN m, per component")
    if estimate.choice.bias != "constant":
        drift = np.ptp(fit.curve.values, axis=0)
        k = int(np.argmax(drift[:3]))
        found.append(
            f"the bias is not constant ({estimate.choice.bias}): that of {CHANNELS[k]} drifts by {drift[k]:.3g} N"
        )
    angles, deviations = np.degrees(fit.angles), np.degrees(fit.angle_deviations)
    for words, own in (
        ("the sensor is tilted", slice(0, 3)),
        ("gravity deviates from the given direction", slice(3, 5)),
    ):
        size, sure = np.linalg.norm(angles[own]), np.linalg.norm(deviations[own])
        if size > 3 * sure and size > np.degrees(at.WRENCH_TILT):
            found.append(f"{words} by {size:.2g} +- {sure:.1g} degrees")
    return tuple(found)
