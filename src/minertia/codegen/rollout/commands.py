"""Commands in each step of a simulation: held between the rows of a log, or followed by a target of limited speed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from minertia.io.arrays import Array

SAME = 1e-9  # s between times that are the same
# commands (rows, n), their times (rows,), speeds of targets (n,), first edge, step, number of steps: see `followed`
Follow = Callable[[Array, Array, Array, float, float, int], tuple[Array, Array, Array]]


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


class TargetCommand:
    """Target that follows held commands at a limited speed, from the first one on; straight between events.

    u (rows, n), t (rows,): commands, and when they are given [s].  speeds (n,): [rad/s, m/s]; 0: the target is the
    command.
    """

    def __init__(self, u: Array, t: Array, speeds: Array) -> None:
        self.u, self.t, self.speeds = u, t, np.asarray(speeds, float)
        widths = np.diff(t)
        self.start, self.slope = u.copy(), np.zeros_like(u)  # target at each row, and its derivative by the speed
        for j in np.flatnonzero(self.speeds > 0):
            self.start[:, j], self.slope[:, j] = _at_rows(u[:, j].tolist(), float(self.speeds[j]), widths.tolist())
        self.way = np.sign(u - self.start)
        fastest = np.where(self.speeds > 0, self.speeds, 1.0)
        self.takes = np.abs(u - self.start) / fastest  # s until the target is where it is told to be
        _, areas, slopes = self._within(widths[:, None], slice(-1))
        none = np.zeros((1, u.shape[1]))
        self.area, self.area_slope = (np.concatenate([none, np.cumsum(x, axis=0)]) for x in (areas, slopes))

    def _within(self, past: Array, k: slice | NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Target some time after rows, its integral since, and that of its derivative by the speed."""
        start, way, slope = self.start[k], self.way[k], self.slope[k]
        moving = np.clip(past, 0.0, self.takes[k])
        gone = way * self.speeds * moving
        target = start + gone
        integral = start * past + gone * (past - 0.5 * moving)
        return target, integral, slope * moving + 0.5 * way * moving**2

    def followed(self, edges: Array) -> tuple[Array, Array, Array]:
        """Mean target between neighbouring edges [s], and its derivatives by a common delay and by its speed."""
        k = row_before(self.t, edges)
        target, integral, slope = self._within((edges - self.t[k])[:, None], k)
        widths = np.diff(edges)[:, None]
        means, rates, slopes = (np.diff(x, axis=0) / widths for x in (
            self.area[k] + integral, target, self.area_slope[k] + slope
        ))  # fmt: skip
        return means, -rates, slopes


def _at_rows(u: list[float], speed: float, widths: list[float]) -> tuple[list[float], list[float]]:
    """Target at each row that follows commands at a speed, and its derivative by the speed [s]."""
    target, slope = u[0], 0.0
    targets, slopes = [target], [slope]
    for told, width in zip(u, widths, strict=False):
        if told - target > speed * width:
            target, slope = target + speed * width, slope + width
        elif target - told > speed * width:
            target, slope = target - speed * width, slope - width
        else:
            target, slope = told, 0.0
        targets.append(target)
        slopes.append(slope)
    return targets, slopes


def followed(u: Array, t: Array, speeds: Array, first: float, h: float, steps: int) -> tuple[Array, Array, Array]:
    """Mean targets of steps of h [s] from a time on, and their derivatives by a delay and by the speed, (steps, n)."""
    return TargetCommand(u, t, speeds).followed(np.asarray(first + h * np.arange(steps + 1), float))
