"""The closed loop on NumPy: what runs where there is no compiler, and what the compiled one is held against.

The same steps as closed_loop.c, whose head has the equation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from minertia.codegen.rollout.task import OF_SPRINGS, Array, Rollout

SWEEPS = 4000
SETTLED = 1e-13  # of the largest friction: what Gauss-Seidel may still change
FARTHEST = 1e6  # rad or m; a robot that is there has run away
Terms = Callable[[Array, Array], tuple[Array, Array]]  # q, qd -> D, b
Slopes = Callable[[Array, Array, Array], tuple[Array, Array, Array]]  # q, qd, qdd -> dq, dqd, Y


class Diverged(Exception):
    """A simulation that has no next step."""


@dataclass
class _Friction:
    """Friction of one step after the other: which joints stick, and in which direction the others slide."""

    slide: NDArray[np.int64]  # 0 stuck, else the sign of the velocity after the step
    f: Array
    dv: Array = field(default_factory=lambda: np.zeros(0))

    def step(self, A: Array, r: Array, v: Array, F: Array, h: float) -> None:
        """Find f and dv with A dv = r + h f: the sets of the step before, else projected Gauss-Seidel."""
        none = np.where(v < 0, -1, 1)  # how joints without friction slide
        self.slide[~(F > 0)] = none[~(F > 0)]
        if self._attempt(A, r, v, F, h):
            return
        W = h * np.linalg.inv(A)
        f = np.clip(self.f, -F, F)
        w = v + np.linalg.solve(A, r + h * f)
        for sweep in range(SWEEPS):
            moved = 0.0
            for j in range(len(v)):
                own = min(max(f[j] - w[j] / W[j, j], -F[j]), F[j])
                w += W[:, j] * (own - f[j])
                moved, f[j] = max(moved, abs(own - f[j])), own
            is_done = not moved > SETTLED * F.max()
            if is_done or sweep % 8 == 7:
                self.slide[:] = np.where(F > 0, np.where(np.abs(f) < F, 0, np.where(f > 0, -1, 1)), none)
                if self._attempt(A, r, v, F, h) or is_done:
                    return

    def _attempt(self, A: Array, r: Array, v: Array, F: Array, h: float) -> bool:
        """The step with these joints stuck; whether it is the solution."""
        free, stuck = self.slide != 0, self.slide == 0
        self.dv = -v
        self.f = np.where(free, -F * self.slide, 0.0)
        try:
            known = (r + h * self.f - A[:, stuck] @ self.dv[stuck])[free]
            self.dv[free] = cho_solve(cho_factor(A[np.ix_(free, free)]), known) if free.any() else known
        except (LinAlgError, ValueError):
            raise Diverged from None
        if not np.isfinite(self.dv).all():
            raise Diverged
        self.f[stuck] = ((A @ self.dv - r) / h)[stuck]
        turned = free & (F > 0) & ((v + self.dv) * self.slide < 0)
        return not turned.any() and bool(np.all(np.abs(self.f[stuck]) <= F[stuck] * (1 + 1e-12)))


class PlainLoop:
    """One simulation on NumPy."""

    def __init__(self, task: Rollout, terms: Terms, slopes: Slopes) -> None:
        self.task, self.terms, self.slopes = task, terms, slopes
        is_euler = task.values.is_euler  # as closed_loop.c has it
        self.mid, self.quarter, self.end = (0.0, 0.0, 1.0) if is_euler else (0.5, 0.25, 0.5)
        n, p = len(task.q0), len(task.unknowns)
        self.q, self.v = np.array(task.q0, float), np.array(task.v0, float)
        self.dvp, self.z, self.load = np.zeros(n), np.zeros(n), np.zeros(n)
        self.Sq, self.Sv, self.Sd, self.Sz, self.Sl = (np.zeros((n, p)) for _ in range(5))
        self.friction = _Friction(np.sign(self.v).astype(np.int64), np.zeros(n))
        x, self.ring, self.seen = task.values, task.ring, task.values.seen
        self.is_far = self.seen != np.arange(n)  # laws that read another coordinate, as foreseen for the step's middle
        self.pairs = np.zeros((len(x.springs.link), n))  # motor less link of each elastic joint
        for row, i, j in zip(self.pairs, x.springs.link, x.springs.motor, strict=True):
            row[i], row[j] = -1.0, 1.0
        self.stiff = 1.0 / x.springs.compliance
        first, slope = self._first_effort()
        self.past, self.St = np.tile(first, (max(self.ring, 1), 1)), np.tile(slope, (max(self.ring, 1), 1, 1))
        later = (x.effort_delay or 0.0) / task.h
        self.whole, self.w = int(later), later - int(later)
        self.share = 1.0 if not self.ring else 0.0 if self.whole else 1.0 - self.w  # of the effort that acts at once
        for c, (kind, place) in enumerate(task.unknowns):
            if kind in ("q0", "v0"):
                (self.Sq if kind == "q0" else self.Sv)[place, c] = 1.0

    def _first_effort(self) -> tuple[Array, Array]:
        """The effort of the start, which is also that before it, and its derivatives."""
        x, seen = self.task.values, self.seen
        error = self.task.command.u[0] - self.q[seen]
        full = x.kp * error - x.kd * self.v[seen]
        slope = np.zeros((len(full), len(self.task.unknowns)))
        for c, (kind, j) in enumerate(self.task.unknowns):
            own = {"q0": -x.kp, "v0": -x.kd, "kp": error, "kd": -self.v[seen]}.get(kind)
            if own is not None:
                acts = seen == j if kind in ("q0", "v0") else np.arange(len(full)) == j
                slope[:, c] = np.where(acts & (np.abs(full) < x.limit), own, 0.0)
        return np.clip(full, -x.limit, x.limit), slope

    def run(self) -> tuple[Array, Array]:
        """Positions (rows, n) and their derivatives (rows, n, unknowns)."""
        rows, derivatives = [self.q.copy()], [self.Sq.copy()]
        for k in range(self.task.steps):
            self._step(k)
            if not np.all(np.abs(self.q) < FARTHEST):
                raise Diverged
            if (k + 1) % self.task.every == 0:
                rows.append(self.q.copy())
                derivatives.append(self.Sq.copy())
        return np.array(rows), np.array(derivatives)

    def _step(self, k: int) -> None:
        x, h, s = self.task.values, self.task.h, self.share
        u = self.task.command.u[k]
        rate = np.zeros(len(u)) if self.task.command.ud is None else self.task.command.ud[k]
        self.qm, vm = self.q + self.mid * h * self.v, self.v + self.mid * self.dvp
        D, b = self.terms(self.qm + x.zero, vm)
        kp = x.kp + self.mid * h * x.ki
        by_place = kp * (u - self.qm[self.seen]) + x.ki * self.z
        limited = by_place + (0.0 if x.is_voltage else x.kd * (rate - vm[self.seen]))
        sat = np.where(limited > x.limit, 1, np.where(limited < -x.limit, -1, 0))
        gp, gd = np.where(sat, 0.0, kp), np.where((sat != 0) & (not x.is_voltage), 0.0, x.kd)
        held = np.where(sat, sat * np.where(np.isinf(x.limit), 0.0, x.limit), by_place) + gd * rate
        self.far = np.where(self.is_far, gp, 0.0), np.where(self.is_far, gd, 0.0)
        held -= self.far[1] * vm[self.seen]
        gp, gd = gp - self.far[0], gd - self.far[1]
        r = h * (s * (held - gd * self.v) + self._old(self.past, k) - x.fv * self.v - x.off)
        r -= h * (x.ks * (self.qm - x.rest) + b)
        A = D + np.diag(x.ia + h * (self.end * x.fv + self.mid * s * gd) + self.quarter * h * h * (s * gp + x.ks))
        S, damp = self.pairs, x.springs.damping
        r -= h * S.T @ (self.stiff * (S @ self.qm - x.springs.rest) + damp * (S @ self.v))
        A += S.T @ ((h * self.end * damp + self.quarter * h * h * self.stiff)[:, None] * S)
        self.slow = np.exp(-((self.v / x.vs) ** 2))
        F = x.fc + x.fcl * np.abs(self.load) + x.fs * self.slow + x.fcq * (self.qm - x.middle)
        self.rubs = F >= 0
        self.friction.step(A, r, self.v, np.maximum(F, 0.0), h)
        dv = self.friction.dv
        a, slope = dv / h, self.v + self.mid * dv
        tau = held - gp * self.quarter * h * dv - gd * slope
        if self.task.unknowns:
            self._carry(k, A, (vm, a, slope, tau), (sat, gp, gd), D)
        if self.ring:
            self.past[k % self.ring] = tau
        self.load = b + x.ia * a + D @ a
        self.z = self.z + np.where(sat, 0.0, h * (u - (self.qm + self.quarter * h * dv)[self.seen]))
        self.q = self.q + h * (self.v + self.end * dv)
        self.v = np.where(self.friction.slide, self.v + dv, 0.0)
        self.dvp = dv

    def _old(self, kept: Array, k: int) -> Array:
        """What acts now of efforts of steps before, or of their derivatives."""
        if not self.ring:
            return np.zeros_like(kept[0])
        before = kept[(k - self.whole - 1) % self.ring]
        recent = kept[(k - self.whole) % self.ring] if self.whole else 0.0
        return np.asarray(self.w * before + (1 - self.w) * recent)

    def _carry(self, k: int, A: Array, motion: tuple[Array, ...], law: tuple[Array, ...], D: Array) -> None:
        """Derivatives of the step."""
        x, h, s = self.task.values, self.task.h, self.share
        vm, a, _, _ = motion
        sat, gp, gd = law
        slide = self.friction.slide
        T1 = self.Sq + self.mid * h * self.Sv
        links = self._by_links(vm, a, T1)
        against = slide * self.rubs
        sign = against * x.fcl * np.sign(self.load)
        by_place = s * gp + x.ks + against * x.fcq
        by_rate = s * gd + x.fv - against * x.fs * self.slow * 2 * self.v / x.vs**2
        g3 = np.where(sat, 0.0, s * x.ki)
        R = by_place[:, None] * T1 + by_rate[:, None] * self.Sv - g3[:, None] * self.Sz
        R = h * (self._old(self.St, k) - links - R - sign[:, None] * self.Sl + s * self._by_far(T1))
        R += h * self._by_springs(T1)
        effort = np.zeros_like(R)  # of the law itself
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind == "delay":
                R[:, c] += h * self._by_delay(k, motion[3], gp, gd)
            elif kind not in ("link", "q0", "v0", "zero", *OF_SPRINGS):
                own_effort, rest = self._by_value(k, kind, place, motion, law)
                effort[place, c] = own_effort
                R[place, c] += h * (s * own_effort + rest)
        stuck, free = slide == 0, slide != 0
        R[stuck] = -self.Sv[stuck]
        if free.any():
            R[free] = cho_solve(cho_factor(A[np.ix_(free, free)]), R[free] - A[np.ix_(free, stuck)] @ R[stuck])
        self.Sl = links + (D + np.diag(x.ia)) @ R / h
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind == "ia":
                self.Sl[place, c] += a[place]
        if self.ring:
            self.St[k % self.ring] = (
                effort
                + self._by_far(T1)
                - gp[:, None] * (T1 + self.quarter * h * R)
                - gd[:, None] * (self.Sv + self.mid * R)
                + np.where(sat, 0.0, x.ki)[:, None] * self.Sz
            )
        opened = np.where(sat, 0.0, h)[:, None]
        self.Sz = self.Sz - opened * (T1 + self.quarter * h * R)[self.seen]
        for c, (kind, _) in enumerate(self.task.unknowns):
            if kind == "delay" and not self.ring:
                self.Sz[:, c] += opened[:, 0] * self.task.command.u_d[k]
        self.Sq = self.Sq + h * (self.Sv + self.end * R)
        self.Sv, self.Sd = self.Sv + R, R

    def _by_links(self, vm: Array, a: Array, T1: Array) -> Array:
        """Derivatives of what the links need, by what has moved them and by their own values."""
        Q, V, Y = self.slopes(self.qm + self.task.values.zero, vm, a)
        links = np.asarray(Q @ T1 + V @ (self.Sv + self.mid * self.Sd))
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind in ("link", "zero"):
                links[:, c] += (Y if kind == "link" else Q)[:, place]
        return links

    def _by_delay(self, k: int, tau: Array, gp: Array, gd: Array) -> Array:
        if self.ring:
            now = self.past[(k - self.whole) % self.ring] if self.whole else tau
            return np.asarray((self.past[(k - self.whole - 1) % self.ring] - now) / self.task.h)
        command = self.task.command
        gp, gd = gp + self.far[0], gd + self.far[1]
        return np.asarray(gp * command.u_d[k] + (0.0 if command.ud_d is None else gd * command.ud_d[k]))

    def _by_far(self, T1: Array) -> Array:
        """Derivatives of what laws make of the motion of another coordinate."""
        by_place, by_rate = self.far
        rates = self.Sv + self.mid * self.Sd
        return np.asarray(-by_place[:, None] * T1[self.seen] - by_rate[:, None] * rates[self.seen])

    def _by_springs(self, T1: Array) -> Array:
        """Derivatives of the efforts of elastic joints, by what has moved them and by their own values."""
        S, springs, dv = self.pairs, self.task.values.springs, self.friction.dv
        found = -S.T @ (self.stiff[:, None] * (S @ T1) + springs.damping[:, None] * (S @ self.Sv))
        wound = S @ (self.qm + self.quarter * self.task.h * dv) - springs.rest
        own = {"cj": self.stiff**2 * wound, "dj": -(S @ (self.v + self.end * dv)), "rj": self.stiff}
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind in own:
                found[:, c] += S[place] * own[kind][place]
        return np.asarray(found)

    def _by_value(
        self, k: int, kind: str, j: int, motion: tuple[Array, ...], law: tuple[Array, ...]
    ) -> tuple[float, float]:
        """Derivatives of the law's effort and of the other efforts by a value at joint j."""
        x, h, command = self.task.values, self.task.h, self.task.command
        vm, a, slope, _ = motion
        sat, seen = law[0], self.seen[j]
        middle = self.qm[j] + self.quarter * h * self.friction.dv[j]
        error = 0.0 if sat[j] else command.u[k, j] - (self.qm[seen] if self.is_far[j] else middle)
        damped = vm[seen] if self.is_far[j] else slope[j]
        slide = float(self.friction.slide[j] * self.rubs[j])
        rate = 0.0 if command.ud is None else command.ud[k, j]
        found = {
            "ia": (0.0, -a[j]),
            "fv": (0.0, -(self.v[j] + self.end * self.friction.dv[j])),
            "fc": (0.0, -slide),
            "off": (0.0, -1.0),
            "fcl": (0.0, -slide * abs(self.load[j])),
            "ks": (0.0, -(middle - x.rest[j])),
            "fs": (0.0, -slide * self.slow[j]),
            "fcq": (0.0, -slide * (self.qm[j] - x.middle[j])),
            "kp": (error, 0.0),
            "ki": (0.0 if sat[j] else self.mid * h * error + self.z[j], 0.0),
            "kd": (0.0 if sat[j] and not x.is_voltage else rate - damped, 0.0),
        }
        return found[kind]
