"""Checks of the motion: units, limits, logged derivatives, standstill at the ends, delayed efforts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import torque_regressor
from minertia.identification.audits.findings import Finding
from minertia.identification.logs.recording import Recording
from minertia.identification.logs.repair import STILL_AT_LEAST, moving_range, repaired
from minertia.identification.problem.solve import normal_products, normal_solution
from minertia.identification.signals.filtering import low_pass
from minertia.identification.signals.spectrum import chosen_cutoff
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.robot.robot import Robot

AGREE, MOST = 0.3, 0.6  # part of the delay within which this part of the joints must agree
EXPLAINED = 1e-9  # part of the power that counts as nothing left
DEGREES = 180 / math.pi
FULL_TURNS = 4 * math.pi  # rad: travel of a revolute joint that asks for a second look
DIFFERS = 0.1  # relative difference of a logged derivative that is told
LAGS_S = 0.5  # s: longest delay looked for
COARSE = 50  # steps to either side of a first search, which a second one refines
FOLDS = 5  # stretches of the log, each predicted by a fit of the others
HARDLY = 1e-3  # singular value over the largest one below which a direction is not fitted
BETTER = 0.9  # what a delay must leave of the residual of left-out stretches to be advised
SAMPLES = 1000  # on which the delay is estimated
GAIN = 0.1  # part of the residual power, mean over the joints, that a delay must take away to be believed
UNUSED = {  # what becomes of a logged rate
    "qd": 'a fit differentiates the positions unless derivative = "logged" requests this signal',
    "qdd": "no fit uses it: accelerations are differentiated from positions",
}


def degrees(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for revolute positions in degrees."""
    for j in _revolute(recording, robot):
        x = recording.q[:, j]
        largest, limit = float(np.abs(x).max(initial=0.0)), _limit(robot, j)
        beyond = largest > 1.5 * limit if limit is not None else float(np.ptp(x)) > FULL_TURNS
        if beyond and largest / DEGREES <= (limit or 2 * math.pi) * 1.05 and largest > 10:
            turns = largest / (2 * math.pi)
            text = (
                f"positions reach {largest:.4g} rad, which would be {turns:.1f} turns; check whether they are "
                "in degrees"
            )
            yield Finding("error", "degrees", text, recording.column(f"q{j + 1}"))


def limits(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for positions outside the robot's limits."""
    for j, joint in enumerate(robot.joints[k] for k in robot.independent) if robot is not None else ():
        lower, upper = joint.limits.lower, joint.limits.upper
        if lower is None or upper is None or not lower < upper or j >= recording.n:
            continue
        x, slack = recording.q[:, j], 0.02 * (upper - lower)
        outside = np.flatnonzero((x < lower - slack) | (x > upper + slack))
        if len(outside):
            worst = x[outside[np.argmax(np.abs(x[outside] - (lower + upper) / 2))]]
            text = f"{len(outside)} samples are outside the limits {lower:.4g} to {upper:.4g}, such as {worst:.4g}"
            yield Finding(
                "warning", "limits", text, recording.column(f"q{j + 1}"), recording.first_row + int(outside[0])
            )


def velocities(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for logged velocities that are not the derivative of the positions."""
    if recording.qd is not None:
        yield from _compared(recording, "qd", "positions")


def accelerations(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for logged accelerations that are not the derivative of the velocities."""
    if recording.qdd is not None:
        yield from _compared(recording, "qdd", "velocities" if recording.qd is not None else "positions")


def _compared(recording: Recording, name: str, of: str) -> Iterator[Finding]:
    even = _even(recording)
    if even is None:
        return
    rate = even.rate_hz
    wider = 3.0 if name == "qdd" else 1.0  # what is wrong with accelerations often shows above the motion's band
    cutoff = min(wider * chosen_cutoff(even.q, rate), 0.35 * rate)
    source = {"positions": even.q, "velocities": even.qd}[of]
    assert source is not None
    derived = low_pass(np.gradient(source, 1 / rate, axis=0), cutoff, rate)
    if name == "qdd" and of == "positions":
        derived = np.gradient(derived, 1 / rate, axis=0)
    logged = low_pass(getattr(even, name), cutoff, rate)
    edge = min(math.ceil(rate / cutoff), len(even) // 4)
    for j in range(even.n):
        a, b = logged[edge : len(even) - edge, j], derived[edge : len(even) - edge, j]
        size = float(np.linalg.norm(b))
        if size == 0 or np.ptp(even.q[:, j]) < 1e-3:
            continue
        off = float(np.linalg.norm(a - b)) / size
        if off > DIFFERS:
            scale = float(a @ b) / size**2
            fits = scale > 0 and float(np.linalg.norm(a - scale * b)) < 0.3 * abs(scale) * size
            hint = f"; it is about {scale:.3g} times that" if fits and abs(scale - 1) > 0.05 else ""
            hint += ": one of the two is in degrees" if fits and _near(scale, (DEGREES, 1 / DEGREES)) else ""
            text = f"differs by {off:.0%} from the derivative of the {of}{hint}; {UNUSED[name]}"
            yield Finding("warning", f"{name} inconsistent", text, recording.column(f"{name}{j + 1}"))


def standstill(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for standstill at both ends of the log, where friction is not defined."""
    if len(recording) < 4 or recording.has_gaps_in_values:
        return
    first, last = moving_range(recording)
    t = recording.t
    before, after = float(t[first] - t[0]), float(t[-1] - t[last])
    if max(before, after) >= STILL_AT_LEAST:
        still = f"{before:.3g} s at the start and {after:.3g} s at the end"
        text = f"the robot stands still for {still}; identify removes these parts"
        yield Finding("info", "standstill", text, "", recording.first_row + first)


def delay(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for a delay of the efforts behind the positions: the shift at which the robot's regressor fits best."""
    if robot is None or recording.tau is None:
        return
    even = _even(recording)
    if even is None or len(even) < 200:
        return
    found = estimated_delay(even, robot)
    if found is not None and abs(found) > max(0.5 / even.rate_hz, 1e-3):
        word = "lag" if found > 0 else "lead"
        longest = longest_delay(len(even), even.rate_hz)
        if abs(found) >= 0.99 * longest:
            text = f"the efforts {word} the positions by {longest * 1000.0:.0f} ms or more, the longest delay tried"
        else:
            text = (
                f"the efforts {word} the positions by about {abs(found) * 1e3:.1f} ms; correct it with delay = "
                f"{found:.4f}"
            )
        yield Finding("warning", "delay", text)


def longest_delay(samples: int, rate_hz: float) -> float:
    """Longest delay considered for a log [s]."""
    return min(LAGS_S, samples / rate_hz / 10)


def estimated_delay(recording: Recording, robot: Robot) -> float | None:
    """Estimate the delay [s] of efforts behind positions, from a uniformly sampled recording; None if not clear.

    For every shift, the efforts of each joint are fitted with its rows of the regressor.  The cost of a shift is
    the sum of the logarithms of the joints' residual powers, so that the joints explained best count most.  Its
    minimum, refined by a parabola, is the delay, if most joints agree with it and one fit of all joints predicts
    held-out segments of the log better with the delay than without.
    """
    rate = recording.rate_hz
    cutoff = min(chosen_cutoff(recording.q, rate), 0.2 * rate)
    q = low_pass(recording.q, cutoff, rate)
    qd = np.gradient(q, 1 / rate, axis=0)
    qdd = np.gradient(qd, 1 / rate, axis=0)
    tau = low_pass(recording.efforts(), cutoff, rate)
    largest = max(1, round(longest_delay(len(q), rate) * rate))
    edge = largest + math.ceil(rate / cutoff)
    rows = np.arange(edge, len(q) - edge, max(1, (len(q) - 2 * edge) // SAMPLES))
    if len(rows) < 20 * recording.n:
        return None
    Y = torque_regressor(robot, q[rows], qd[rows], qdd[rows], columns=robot.columns(True, True))
    found = _searched(Y, tau, rows, largest, rate)
    return found if found is not None and _predicts_better(Y, tau, rows, round(found * rate)) else None


def _searched(Y: Array, tau: Array, rows: NDArray[np.int64], largest: int, rate: float) -> float | None:
    """Shift [s] that the joints agree on: a search in coarse steps, refined between neighbours of the best one."""
    unit = max(1, largest // COARSE)
    bases = [_basis(Y[:, j, :]) for j in range(tau.shape[1])]
    coarse = np.arange(-(largest // unit) * unit, largest + 1, unit)
    costs = _costs(bases, tau, rows, coarse)
    shown = np.isfinite(costs).all(axis=1)
    if not shown.any():
        return None
    k = int(np.argmin(np.mean(costs[shown], axis=0)))
    around = coarse[max(k - 1, 0) : k + 2]
    fine = np.unique(np.linspace(around[0], around[-1], 21).round().astype(int))
    more = np.setdiff1d([*fine, 0], coarse)
    order = np.argsort([*coarse, *more])
    shifts = np.concatenate([coarse, more])[order]
    costs = np.concatenate([costs, _costs(bases, tau, rows, more)], axis=1)[:, order]
    costs = costs[np.isfinite(costs).all(axis=1)]
    mean = np.mean(costs, axis=0)
    k, zero = int(np.argmin(mean)), int(np.searchsorted(shifts, 0))
    best = shifts[[int(np.argmin(cost)) for cost in costs]] / rate
    near = max(AGREE * abs(shifts[k]) / rate, 1.5 * unit / rate)
    if mean[zero] - mean[k] < GAIN or np.mean(np.abs(best - shifts[k] / rate) <= near) < MOST:
        return None
    return _minimum(shifts / rate, mean)


def _costs(bases: list[Array], tau: Array, rows: NDArray[np.int64], shifts: NDArray[np.int64]) -> Array:
    """Logarithm of the residual fraction of each joint's power (joints, shifts), NaN without power or a basis."""
    costs = np.full((len(bases), len(shifts)), np.nan)
    for j, basis in enumerate(bases):
        shifted = np.ascontiguousarray(tau[:, j])[shifts[:, None] + rows].T
        shifted = shifted - shifted.mean(axis=0)
        size = (shifted**2).sum(axis=0)
        if basis.shape[1] and np.all(size > 0):
            unexplained = 1 - ((basis.T @ shifted) ** 2).sum(axis=0) / size
            costs[j] = np.log(np.maximum(unexplained, EXPLAINED))
    return costs


def _predicts_better(Y: Array, tau: Array, rows: NDArray[np.int64], shift: int) -> bool:
    """Whether one set of parameters predicts held-out segments better with a shift (cross-validation).

    Efforts are compared unscaled, as in the evaluation of residuals, and nearly every segment must improve: a
    joint with little effort, or a single segment, may prefer any shift.
    """
    size = np.maximum(np.std(tau[rows], axis=0), 1e-300)
    sides, columns = np.stack([tau[rows], tau[rows + shift]], axis=2) / size[:, None], Y / size[:, None]
    folds = np.array_split(np.arange(len(rows)), FOLDS)
    products = [normal_products(columns[fold], sides[fold]) for fold in folds]
    whole, left = np.sum(products, axis=0), []
    for fold, own in zip(folds, products, strict=True):
        x = normal_solution(whole - own, HARDLY)
        left.append(np.sum(((sides[fold] - columns[fold] @ x) * size[:, None]) ** 2, axis=(0, 1)))
    before, after = np.array(left).T
    return bool(after.sum() < BETTER**2 * before.sum() and np.sum(after < before) >= FOLDS - 1)


def _basis(Y: Array) -> Array:
    """Orthonormal basis of the mean-free regressor columns of one joint."""
    Y = Y - Y.mean(axis=0)
    sizes = np.linalg.norm(Y, axis=0)
    Y = Y[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]
    if not Y.shape[1]:
        return Y
    Y = Y / np.linalg.norm(Y, axis=0)
    squares, V = np.linalg.eigh(Y.T @ Y)  # an SVD of such columns does not always converge
    kept = squares > 1e-6 * squares[-1]
    return np.asarray(Y @ V[:, kept] / np.sqrt(squares[kept]))


def _minimum(x: Array, cost: Array) -> float:
    """Abscissa of a cost's minimum, by a parabola through its neighbours, which need not be equidistant."""
    k = int(np.argmin(cost))
    if k in (0, len(x) - 1):
        return float(x[k])
    (before, after), (a, b, c) = np.diff(x[k - 1 : k + 2]), cost[k - 1 : k + 2]
    falls, rises = (a - b) / before, (c - b) / after
    lowest = 0.5 * (falls * after - rises * before) / max(falls + rises, 1e-300)
    return float(x[k] + min(max(lowest, -before), after))


def _even(recording: Recording) -> Recording | None:
    """Recording resampled to a uniform rate; None if that is not possible."""
    try:
        even = repaired(recording, standstill=False)
    except MinertiaError:
        return None
    return even if len(even) >= 50 and math.isfinite(even.rate_hz) else None


def _revolute(recording: Recording, robot: Robot | None) -> Iterator[int]:
    for j in range(recording.n):
        if robot is None or robot.joints[robot.independent[j]].kind == "revolute":
            yield j


def _limit(robot: Robot | None, j: int) -> float | None:
    if robot is None:
        return None
    limits = robot.joints[robot.independent[j]].limits
    known = [abs(v) for v in (limits.lower, limits.upper) if v is not None]
    return max(known) if len(known) == 2 and max(known) > 0 else None


def _near(value: float, targets: tuple[float, ...]) -> bool:
    return any(abs(value / target - 1) < 0.1 for target in targets)
