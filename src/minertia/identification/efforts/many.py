"""Estimates from many sets of efforts on one motion: the regressor is computed and factorised once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.build import EffortRows
from minertia.identification.estimators import named_estimator
from minertia.identification.estimators.estimate import EstimateSet
from minertia.identification.problem.observation import LogTriangles, Observation
from minertia.identification.problem.rows import POWER, equations_of
from minertia.identification.signals.filtering import decimated, filtered_efforts
from minertia.io.arrays import Array
from minertia.io.errors import InputError, ShapeError
from minertia.io.resources import one_thread

ESTIMATORS = ("wls", "ols")  # those that need one R factor of each effort, and no rows


def solve_many_efforts(problem: EffortRows, efforts: Array | Sequence[Array], estimator: str) -> EstimateSet:
    """Estimate the unknowns from each of K sets of efforts; see `identify.solve_many`."""
    if estimator not in ESTIMATORS:
        raise InputError(f"many efforts are solved with {' or '.join(ESTIMATORS)}; call solve for '{estimator}'")
    part, chosen = problem.free.reduced(problem.excitation.independent), named_estimator(estimator)
    with one_thread():
        is_single = len(problem.logs) == 1 and not isinstance(efforts, list | tuple)
        totals, counts = _factors(problem, part, [np.asarray(efforts)] if is_single else list(efforts))
        fits = [chosen.fit(_with(part, total, counts)) for total in totals]
    return EstimateSet(
        problem.names,
        np.stack([part.expand(fit.beta) for fit in fits]),
        np.stack([part.expand_covariance(fit.covariance) for fit in fits]),
        np.stack([fit.sigma for fit in fits]),
    )


def _factors(problem: EffortRows, part: Observation, given: Sequence[Array]) -> tuple[Array, int]:
    """R factors of [Y tau] (K, joints, k, k) of all logs together, and the number of samples."""
    if len(given) != len(problem.logs):
        raise ShapeError(f"there are efforts for {len(given)} logs; the problem has {len(problem.logs)}")
    rows = list(part.stream())
    changed = [_rows_of(problem, log, np.asarray(own, float)) for log, own in zip(problem.logs, given, strict=True)]
    if len({len(own) for own in changed}) > 1:
        raise ShapeError("every log must have the same number of sets of efforts")
    Y, tau = np.concatenate([r.Y for r in rows]), np.concatenate([r.tau for r in rows])
    # known parameters and payloads are on the right-hand side: the same for every set
    first, own = (np.concatenate([sets[k] for sets in changed], axis=-2) for k in (0, slice(1, None)))
    own = own + (tau - first)
    k = Y.shape[2] + 1
    totals = np.zeros((len(own), Y.shape[1], k, k))
    for j in range(Y.shape[1]):
        Q, R = np.linalg.qr(Y[:, j])
        c = np.einsum("kn,np->kp", own[:, :, j], Q, optimize=True)
        totals[:, j, :-1, :-1] = R
        totals[:, j, :-1, -1] = c
        totals[:, j, -1, -1] = np.linalg.norm(own[:, :, j] - c @ Q.T, axis=1)
    return totals, len(tau)


def _rows_of(problem: EffortRows, log: EffortLog, efforts: Array) -> Array:
    """Logged efforts, then the given sets, filtered and decimated: (1 + K, rows, joints)."""
    if not isinstance(log.blocks, list) and log.recorded is not None:
        raise InputError(f"'{log.name}' is read in blocks; many efforts need a log that fits in memory")
    (motion,) = log
    if equations_of(motion) == POWER:
        raise InputError("many efforts need equations of torque or momentum, not of power")
    logged = motion.tau if log.recording is None else log.recording.efforts()
    if efforts.ndim != 3 or efforts.shape[1:] != logged.shape or not np.isfinite(efforts).all():
        raise ShapeError(
            f"the efforts have shape {efforts.shape}; '{log.name}' needs finite numbers in the shape (K, "
            f"{logged.shape[0]}, {logged.shape[1]}): sets, samples, joints"
        )
    every = np.concatenate([logged[None], efforts])
    flat = every.transpose(1, 0, 2).reshape(len(logged), -1)
    if log.recording is not None and log.filter is not None:
        flat = filtered_efforts(log.recording, log.filter, flat)
    (kept,) = decimated(motion, flat)
    return kept.reshape(len(kept), *every.shape[::2]).transpose(1, 0, 2)[:, :, list(problem.linear.rows)]


def _with(part: Observation, totals: Array, samples: int) -> Observation:
    """Linear problem of one set of efforts."""
    one = part.logs[0]
    log = LogTriangles(one.name, totals[None], np.array([samples]), one.largest, one.still, one.reach)
    return replace(part, logs=(log,))
