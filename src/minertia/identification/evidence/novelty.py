"""Prediction uncertainty of a fit on other motion, relative to the fitted motion.

With the covariance s2 P of a fit on rows Y, the prediction variance of the fitted rows is s2 tr(Y P Y'), that
of other rows X is s2 tr(X P X').  The other motion combines the same joint motions differently: the
positions, velocities and accelerations of each joint in another order.  If all joints move in the same way,
its uncertainty is many times as large; cross-validation on the fitted motion, which has the same correlation,
cannot detect this.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import torque_regressor
from minertia.identification.evidence.remainders import without
from minertia.identification.evidence.trial import Trial
from minertia.identification.problem.rows import STILL

Array = NDArray[np.float64]
RIDGE = 1e-6  # of the power of a column, below which nothing was excited
MANY = 4  # joints whose motion has no reason to stay in a plane
NOTHING = 1e-6  # of a column, below which what is left of it is rounding


def other_combinations(trial: Trial) -> float:
    """Prediction uncertainty for the same joint motions in other combinations, relative to the fitted motion."""
    if np.sum(np.ptp(trial.q, axis=0) > STILL) < 2:
        return 1.0
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(trial.q)) for _ in range(trial.q.shape[1])]
    mixed = tuple(np.column_stack([a[o, j] for j, o in enumerate(orders)]) for a in (trial.q, trial.qd, trial.qdd))
    return _ratio(trial, _power(trial, mixed))


def alike(trials: Sequence[Trial]) -> float:
    """Fraction of the normalised variance of all moving joints along their first principal component.

    For four joints and more, it is that in the plane of the first two components, which contains all joints on
    one sine whatever their phases.
    """
    q = np.concatenate([trial.q for trial in trials])
    moving = np.flatnonzero(np.ptp(q, axis=0) > STILL)
    if len(moving) < 2:
        return 0.0
    shares = np.linalg.eigvalsh(np.corrcoef(q[:, moving].T)) / len(moving)
    return float(shares[-1:].sum() if len(moving) < MANY else shares[-2:].sum())


def of_motion(trial: Trial, other: Trial) -> float:
    """Prediction uncertainty of another motion, relative to that of the fitted motion."""
    return _ratio(trial, _power(trial, (other.q, other.qd, other.qdd)))


def _power(trial: Trial, state: tuple[Array, ...]) -> Array:
    """Mean products of the link regressor columns, after projecting out the joint effects."""
    q, qd, qdd = state
    Y, sizes = torque_regressor(trial.bare, q, qd, qdd), trial.sizes
    total = np.zeros((Y.shape[2], Y.shape[2]))
    for j in trial.joints:
        part = without(trial.effects(j, q, qd, qdd), Y[:, j]) / max(sizes[j], 1e-300)
        is_left = np.linalg.norm(part, axis=0) > NOTHING * np.linalg.norm(Y[:, j], axis=0) / max(sizes[j], 1e-300)
        part = part * (is_left & (sizes[j] > 0))  # a column that a rotor explains is rounding now
        total += part.T @ part / len(q)
    return total


def _ratio(trial: Trial, other: Array) -> float:
    own = _power(trial, (trial.q, trial.qd, trial.qdd))
    size = np.sqrt(np.diag(other))
    kept = np.flatnonzero(size > 1e-9 * size.max(initial=0.0))
    if not len(kept):
        return 1.0
    scale = np.outer(size[kept], size[kept])
    own, other = own[np.ix_(kept, kept)] / scale, other[np.ix_(kept, kept)] / scale
    P = np.linalg.inv(own + RIDGE * np.eye(len(kept)))
    return float(np.sqrt(np.sum(other * P) / max(float(np.sum(own * P)), 1e-300)))
