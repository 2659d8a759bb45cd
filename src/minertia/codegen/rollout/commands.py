"""Commands in each step of a simulation: held between the rows of a log, or followed by a target of limited speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.io.arrays import Array

SAME = 1e-9  # s between times that are the same


class HeldCommand:
    """Command held, or interpolated, between the times at which it is given, and its integral; constant beyond them.

    u (rows, n), t (rows,): commands, and when they are given [s].
    """

    def __init__(self, u: Array, t: Array, linear: bool) -> None:
        self.u, self.t, self.linear = u, t, linear
        self.widths = np.diff(t, append=t[-1] + 1.0)[:, None]
        area = self.widths[:-1] * (0.5 * (u[:-1] + u[1:]) if linear else u[:-1])
        self.area = np.concatenate([np.zeros((1, u.shape[1])), np.cumsum(area, axis=0)])

    def at(self, t: Array) -> Array:
        """Command at the given times [s]."""
        return self._told(t)[0]

    def _told(self, t: Array) -> tuple[Array, Array]:
        """Command at times, and its integral from the first row on."""
        k = row_before(self.t, t)
        past = (t - self.t[k])[:, None]
        own = self.u[k]
        integral = self.area[k] + own * past
        if not self.linear:
            return own, integral
        more, gone = self.u[np.minimum(k + 1, len(self.u) - 1)] - own, np.clip(past / self.widths[k], 0.0, 1.0)
        return own + gone * more, integral + 0.5 * more * self.widths[k] * gone**2

    def means(self, edges: Array) -> tuple[Array, Array]:
        """Mean command between neighbouring edges, and its derivative with respect to a common delay."""
        widths = np.diff(edges)[:, None]
        told, integral = self._told(edges)
        return np.diff(integral, axis=0) / widths, -np.diff(told, axis=0) / widths


def row_before(t: Array, times: Array) -> NDArray[np.intp]:
    """Row that was given last before each time, or at it, robust to rounding; the first one before all of them."""
    return np.maximum(np.searchsorted(t, times + SAME, side="right") - 1, 0)


class Followed(NamedTuple):
    """Mean targets of steps, and their derivatives by a common delay, by the speed and by the lapse, (steps, n)."""

    means: Array
    by_delay: Array
    by_speed: Array
    by_lapse: Array


# commands (rows, n), their times (rows,), speeds of targets and lapses (n,), first edge, step, number of steps
Follow = Callable[[Array, Array, Array, Array, float, float, int], Followed]


class TargetCommand:
    """Target that follows held commands at a limited speed, from the first one on; straight between events.

    u (rows, n), t (rows,): commands, and when they are given [s].  speeds (n,): [rad/s, m/s]; 0: the target is the
    command.  lapses (n,): part of the speed that it loses while the command held is another than the one before.
    """

    def __init__(self, u: Array, t: Array, speeds: Array, lapses: Array | None = None) -> None:
        self.u, self.t = u, t
        lost = np.zeros(u.shape[1]) if lapses is None else lapses
        is_new = np.abs(np.diff(u, axis=0, prepend=u[:1])) > SAME
        widths, limits = np.diff(t), np.asarray(speeds, float)
        # derivatives of the speed in each row by that without lapse, and by the lapse
        self.by = np.stack([1 - lost * is_new, -limits * is_new])
        self.speeds = limits * self.by[0]
        self.start, self.slope = u.copy(), np.zeros_like(self.by)  # target at each row, and its derivatives
        for j in np.flatnonzero(limits > 0):
            self.start[:, j], self.slope[:, :, j] = _at_rows(
                u[:, j].tolist(), self.speeds[:, j].tolist(), self.by[:, :, j].T, widths.tolist()
            )
        self.way = np.sign(u - self.start)
        fastest = np.where(self.speeds > 0, self.speeds, 1.0)
        self.takes = np.abs(u - self.start) / fastest  # s until the target is where it is told to be
        _, areas, slopes = self._within(widths[:, None], slice(-1))
        none = np.zeros((1, u.shape[1]))
        self.area = np.concatenate([none, np.cumsum(areas, axis=0)])
        self.area_slope = np.stack([np.concatenate([none, np.cumsum(x, axis=0)]) for x in slopes])

    def _within(self, past: Array, k: slice | NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Target some time after rows, its integral since, and those of its derivatives (2, ...)."""
        start, way = self.start[k], self.way[k]
        moving = np.clip(past, 0.0, self.takes[k])
        gone = way * self.speeds[k] * moving
        target = start + gone
        integral = start * past + gone * (past - 0.5 * moving)
        return target, integral, self.slope[:, k] * moving + 0.5 * way * self.by[:, k] * moving**2

    def followed(self, edges: Array) -> Followed:
        """Mean target between neighbouring edges [s], and its derivatives."""
        k = row_before(self.t, edges)
        target, integral, slopes = self._within((edges - self.t[k])[:, None], k)
        widths = np.diff(edges)[:, None]
        means, rates = (np.diff(x, axis=0) / widths for x in (self.area[k] + integral, target))
        by_speed, by_lapse = np.diff(self.area_slope[:, k] + slopes, axis=1) / widths
        return Followed(means, -rates, by_speed, by_lapse)


def _at_rows(u: list[float], speeds: list[float], by: Array, widths: list[float]) -> tuple[list[float], Array]:
    """Target at each row that follows commands at the speeds of rows, and its derivatives (2, rows).

    by (rows, 2): derivatives of these speeds.
    """
    target, slope = u[0], np.zeros(2)
    targets, slopes = [target], [slope]
    for told, speed, own, width in zip(u, speeds, by, widths, strict=False):
        gap = told - target
        if abs(gap) > speed * width:
            way = np.copysign(width, gap)
            target, slope = target + float(way) * speed, slope + way * own
        else:
            target, slope = told, np.zeros(2)
        targets.append(target)
        slopes.append(slope)
    return targets, np.array(slopes).T


def followed(u: Array, t: Array, speeds: Array, lapses: Array, first: float, h: float, steps: int) -> Followed:
    """Mean targets of steps of h [s] from a time on, and their derivatives."""
    return TargetCommand(u, t, speeds, lapses).followed(np.asarray(first + h * np.arange(steps + 1), float))
