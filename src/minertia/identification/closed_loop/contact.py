"""Detection of external contact in log segments: a table, a person, a cable.

The robot's parameters cannot explain such positions, and a fit would mistake the contact for friction or
gravity. A contact segment has a far larger residual than other motion, at the joints that are inertially
coupled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.evidence import thresholds as at

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
STRETCH = 0.5  # s


@dataclass(frozen=True)
class UsualRest:
    """Typical (median) residuals of segments with motion.

    joints (n,): residual of each joint [rad or m].  groups: residual of each joint group, after division of
    each joint's residual by its typical value.
    """

    joints: Array
    groups: Array


def usual_rest(model: ServoModel, logs: Sequence[LoopLog], rest: Sequence[Array]) -> UsualRest | None:
    """Median residuals over the segments of logs in which the command moves; None if there are none."""
    moving = [_rms(e, log)[_moves(log)] for log, e in zip(logs, rest, strict=True)]
    levels = np.concatenate(moving)
    if not len(levels):
        return None
    joints = np.maximum(np.median(levels, axis=0), 1e-12)
    return UsualRest(joints, np.median(_of_groups(model, levels / joints), axis=0))


def pushed_rows(model: ServoModel, log: LoopLog, rest: Array, usual: UsualRest) -> Mask:
    """Mask (N, n) of positions in contact segments and adjacent transients; the joints of a group share it."""
    found = _are_pushed(model, log, rest, usual)
    grown = found.copy()
    grown[1:] |= found[:-1]
    grown[:-1] |= found[1:]
    swings = _of_groups(model, _rms(rest, log) / usual.joints) > at.PUSHED_AFTER * usual.groups
    for before, after, swinging in zip(grown, grown[1:], swings[1:], strict=False):
        after |= before & swinging
    rows = np.zeros(rest.shape, bool)
    for k, group in enumerate(model.groups):
        for s in np.flatnonzero(grown[:, k]):
            rows[_stretches(log)[s], model.layout.outputs_of(group.joints)] = True
    return rows


def pushed(model: ServoModel, logs: Sequence[LoopLog], rest: Sequence[Array]) -> list[Mask]:
    """Mask (N, n) of contact in each training log; all False if too many positions are affected."""
    usual = usual_rest(model, logs, rest)
    each = list(zip(logs, rest, strict=True))
    if usual is None or np.concatenate([_are_pushed(model, log, e, usual) for log, e in each]).mean() > at.PUSHED_MOST:
        return [np.zeros(e.shape, bool) for e in rest]
    return [pushed_rows(model, log, e, usual) for log, e in each]


def _are_pushed(model: ServoModel, log: LoopLog, rest: Array, usual: UsualRest) -> Mask:
    """Mask (segments, groups) of far larger residuals than typical, and large relative to the tracking error."""
    levels, lag = _rms(rest, log), np.maximum(_of_groups(model, _rms(log.lag, log)), 1e-12)
    far = _of_groups(model, levels / usual.joints) > at.PUSHED * usual.groups
    return np.asarray(far & (_of_groups(model, levels) > at.PUSHED_LEFT * lag))


def told_times(log: LoopLog, rows: Mask) -> str:
    """Text with the times of contact in a log [s]; empty if there are none."""
    any_joint = np.concatenate([[False], rows.any(axis=1), [False]])
    edges = np.flatnonzero(np.diff(any_joint.astype(int)))
    spans = [
        f"{a * log.period:.3g} to {(b - 1) * log.period:.3g} s" for a, b in zip(edges[::2], edges[1::2], strict=True)
    ]
    return ", ".join(spans[:4]) + (" ..." if len(spans) > 4 else "")


def _stretches(log: LoopLog) -> list[slice]:
    """Divide the rows of a log into segments; the last one takes the remainder."""
    size, count = max(1, round(STRETCH / log.period)), len(log.q)
    starts = list(range(0, max(count - size // 2, 1), size))
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True)]


def _moves(log: LoopLog) -> Mask:
    """Mask of segments in which a command moves."""
    return np.array([bool(np.ptp(log.u[s], axis=0).any()) for s in _stretches(log)])


def _rms(x: Array, log: LoopLog) -> Array:
    """Root mean square of each segment and joint."""
    return np.array([np.sqrt(np.mean(x[s] ** 2, axis=0)) for s in _stretches(log)])


def _of_groups(model: ServoModel, levels: Array) -> Array:
    """Root mean square over the measured joints of each group, (segments, groups)."""
    outputs = [model.layout.outputs_of(group.joints) for group in model.groups]
    return np.stack([np.sqrt(np.mean(levels[:, own] ** 2, axis=1)) for own in outputs], axis=1)
