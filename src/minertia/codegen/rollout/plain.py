"""Position-servo simulation on NumPy: the fallback without a compiler, and the reference of the compiled one.

The same steps as servo.c, whose header has the equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor

from minertia.codegen.rollout.effects import GroupEffects
from minertia.codegen.rollout.task import OF_TARGET, Rollout
from minertia.io.arrays import Array

SWEEPS = 4000
TURNS = 8  # of the sets of joints that stick and slide: most steps that change them change one
PASSES = 50  # of efforts that are not linear in the motion
SETTLED = 1e-13  # of the largest friction or of velocities: what Gauss-Seidel or a pass may still change
APART = 1e-9  # of the velocities, from which two passes tell a slope
SHORTEST = 1e-9  # of a step: its rest after a stop
NEAR = 2e-3  # rad or m: position error up to which the duty that starts a motor grows
FARTHEST = 1e6  # rad or m; a robot that is there has run away
Terms = Callable[[Array, Array, Array], tuple[Array, Array]]  # q, qd, x -> D, b
Slopes = Callable[[Array, Array, Array, Array], tuple[Array, Array, Array]]  # q, qd, qdd, x -> dq, dqd, Y
Effects = Callable[..., tuple[Array, ...]]  # as `EffectPrograms` has them


class Diverged(Exception):
    """The simulation diverged."""


@dataclass(frozen=True)
class _Bounds:
    """Largest friction against forward and backward motion at a load, and its derivatives with respect to the load.

    M, b: the load is b + M dv / h.
    """

    up: Array
    down: Array
    by_up: Array
    by_down: Array
    load: Array
    M: Array
    b: Array

    def by_load(self, slide: NDArray[np.int64]) -> Array:
        """Derivatives of the friction efforts of sliding joints with respect to their loads."""
        return np.where(slide > 0, self.by_up, np.where(slide < 0, -self.by_down, 0.0))

    def at(self, load: Array) -> tuple[Array, Array]:
        """Bounds at another load, as foreseen by their derivatives."""
        return self.up + self.by_up * (load - self.load), self.down + self.by_down * (load - self.load)


@dataclass
class _Friction:
    """Dry friction over successive steps: stuck joints, and sliding directions of the others."""

    slide: NDArray[np.int64]  # 0 stuck, else the sign of the velocity after the step
    f: Array
    dv: Array = field(default_factory=lambda: np.zeros(0))

    def step(self, A: Array, r: Array, v: Array, bounds: _Bounds, h: float) -> None:
        """Solve A dv = r + h f for f and dv.

        With the active set of the previous step, else with those it turns to, else by projected Gauss-Seidel.
        """
        up, down = bounds.up, bounds.down
        rubs, none = (up > 0) | (down > 0), np.where(v < 0, -1, 1)  # none: how joints without friction slide
        self.slide[~rubs] = none[~rubs]
        for _ in range(TURNS):
            turns = self._attempt(A, r, v, bounds, h)
            if np.array_equal(turns, self.slide):
                return
            self.slide[:] = turns
        W = h * np.linalg.inv(A)
        f = np.clip(self.f, -up, down)
        w = v + np.linalg.solve(A, r + h * f)
        for sweep in range(SWEEPS):
            moved = 0.0
            for j in range(len(v)):
                own = min(max(f[j] - w[j] / W[j, j], -up[j]), down[j])
                w += W[:, j] * (own - f[j])
                moved, f[j] = max(moved, abs(own - f[j])), own
            is_done = not moved > SETTLED * max(up.max(), down.max())
            if is_done or sweep % 8 == 7:
                stuck = (-up < f) & (f < down)
                self.slide[:] = np.where(rubs, np.where(stuck, 0, np.where(f >= down, -1, 1)), none)
                if np.array_equal(self._attempt(A, r, v, bounds, h), self.slide) or is_done:
                    return

    def slide_on(self, A: Array, r: Array, v: Array, bounds: _Bounds, h: float) -> None:
        """Solve the step with the sets as they are."""
        self._attempt(A, r, v, bounds, h)

    def _attempt(self, A: Array, r: Array, v: Array, bounds: _Bounds, h: float) -> NDArray[np.int64]:
        """Solve the step with these joints stuck; return what each joint does then: the same, where it is right."""
        free, stuck, by = self.slide != 0, self.slide == 0, bounds.by_load(self.slide)
        P = A + by[:, None] * bounds.M
        self.dv = -v
        self.f = np.where(self.slide > 0, -bounds.up, np.where(free, bounds.down, 0.0)) - by * (bounds.b - bounds.load)
        try:
            cho_factor(A)  # of a mass matrix alone
            known = (r + h * self.f - P[:, stuck] @ self.dv[stuck])[free]
            self.dv[free] = np.linalg.solve(P[np.ix_(free, free)], known) if free.any() else known
        except (LinAlgError, ValueError):
            raise Diverged from None
        if not np.isfinite(self.dv).all():
            raise Diverged
        self.f[stuck] = ((A @ self.dv - r) / h)[stuck]
        up, down = bounds.at(bounds.b + bounds.M @ self.dv / h)
        turned = ((bounds.up > 0) | (bounds.down > 0)) & ((v + self.dv) * self.slide < 0)
        breaks = np.where(self.f < -up * (1 + 1e-12), 1, np.where(self.f > down * (1 + 1e-12), -1, 0))
        return np.where(stuck, breaks, np.where(turned, 0, self.slide))


class _Effects:
    """Effects of a group: their functions, and their values at the last evaluation, each (n,).

    effort, by_q, by_qd: smooth efforts at the midpoint of the step and their derivatives; inertia; bounds of friction
    forwards and backwards, whether there is any, and derivatives of the bounds with respect to the load.
    """

    def __init__(self, of: GroupEffects, values: Array, functions: Sequence[Effects]) -> None:
        self.of, self.functions = of, functions
        constants = of.constants
        self.given = (values, constants) if len(constants) else (values,)
        self.is_linear = of.programs.is_linear
        self.effort, self.by_q, self.by_qd, self.inertia, self.up, self.down = (np.zeros(of.n) for _ in range(6))
        self.by_up, self.by_down = np.zeros(of.n), np.zeros(of.n)
        self.rubs = np.ones(of.n, bool), np.ones(of.n, bool)

    def at(self, start: tuple[Array, Array, Array], place: Array, rate: Array) -> None:
        """Evaluate at the start of a step (position, velocity, load) and at the midpoint (position, velocity)."""
        if not self.of.all:
            return
        found = self.functions[0](*start, place, rate, *self.given)
        self.effort, self.by_q, self.by_qd, self.inertia, up, down, by_up, by_down = found
        self.rubs = up >= 0, down >= 0  # friction that falls below zero, with the position, is none there
        self.by_up, self.by_down = by_up * self.rubs[0], by_down * self.rubs[1]
        self.up, self.down = np.maximum(up, 0.0), np.maximum(down, 0.0)

    def carried(self, *inputs: Array) -> tuple[Array, Array, Array, Array]:
        """Derivatives of friction with respect to position, velocity and load at the start; efforts with value 1."""
        if not self.of.all:
            o = np.zeros(self.of.n)
            return o, o, o, np.zeros(0)
        by_q, by_qd, by_load, shapes = self.functions[1](*inputs, *self.given)
        return by_q, by_qd, by_load, shapes


class PlainLoop:
    """One servo simulation on NumPy."""

    def __init__(
        self,
        task: Rollout,
        terms: Terms,
        slopes: Slopes,
        effects: GroupEffects,
        functions: Sequence[Effects],
        on_floor: bool,
    ) -> None:
        self.task, self.terms, self.slopes, self.on_floor = task, terms, slopes, on_floor
        is_euler = task.values.is_euler  # as servo.c has it
        self.mid, self.quarter, self.end = (0.0, 0.0, 1.0) if is_euler else (0.5, 0.25, 0.5)
        n, p = len(task.q0), len(task.unknowns)
        self.h, self.Sh = task.h, np.zeros(p)  # length of the step, or of what is left of it after a stop
        self.stops = 0  # that may still divide the step
        self.effects = _Effects(effects, task.values.effects, functions)
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
        self.y, self.Sy = self.q.copy(), self.Sq.copy()  # shafts behind the play of gears
        self.side, self.stays = np.zeros(n), np.zeros(n, bool)  # end of the play at which a shaft is moved; none

    def _first_effort(self) -> tuple[Array, Array]:
        """Initial effort, also used before the start, and its derivatives."""
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
            self.h, self.Sh = self.task.h, np.zeros(len(self.task.unknowns))
            self.stops = 0 if self.task.values.is_euler else len(self.q)
            while self.h > SHORTEST * self.task.h:
                self._step(k)
                self._move_shafts()
            if not np.all(np.abs(self.q) < FARTHEST):
                raise Diverged
            if (k + 1) % self.task.every == 0:
                rows.append(self.y.copy())
                derivatives.append(self.Sy.copy())
        return np.array(rows), np.array(derivatives)

    def _step(self, k: int) -> None:
        """Take a step, up to the first joint that stops within it: what is left is another one."""
        x, h, s = self.task.values, self.h, self.share
        u = self.task.command.u[k]
        rate = np.zeros(len(u)) if self.task.command.ud is None else self.task.command.ud[k]
        self.qm, vm = self.q + self.mid * h * self.v, self.v + self.mid * self.dvp
        D, b = self.terms(self.qm + x.zero, vm, self._links(h))
        gain, room, on, full, self.warmth = self._supply(k)
        self.seen_at = self._see()
        error = u - self.seen_at
        self.steep_kick, self.kick = np.where(np.abs(error) < NEAR, full / NEAR, 0.0), full * _started(error)
        self._sag(k, error)
        per = self.warmth * x.kp
        kp, kd = per * gain + self.mid * h * x.ki, self.warmth * x.kd * on
        limit = x.limit if room is None else per * room
        by_place = kp * error + per * self.kick + x.ki * self.z
        limited = by_place + (0.0 if x.is_voltage else kd * (rate - vm[self.seen]))
        sat = np.where(limited > limit, 1, np.where(limited < -limit, -1, 0))
        gp = np.where(sat, 0.0, kp + per * self.steep_kick)
        gd = np.where((sat != 0) & (not x.is_voltage), 0.0, kd)
        held = np.where(sat, sat * np.where(np.isinf(limit), 0.0, limit), by_place) + gd * rate
        self.far = np.where(self.is_far | self.stays, gp, 0.0), np.where(self.is_far, gd, 0.0)
        held -= self.far[1] * vm[self.seen]
        gp, gd = gp - self.far[0], gd - self.far[1]
        r = h * (s * (held - gd * self.v) + self._old(self.past, k) - b)
        A = D + np.diag(h * self.mid * s * gd + self.quarter * h * h * s * gp)
        S, damp = self.pairs, x.springs.damping
        r -= h * S.T @ (self.stiff * (S @ self.qm - x.springs.rest) + damp * (S @ self.v))
        A += S.T @ ((h * self.end * damp + self.quarter * h * h * self.stiff)[:, None] * S)
        self._foresee(held, gd, b)
        A, stopping = self._solved(A, r, D, b, vm)
        dv = self.friction.dv
        a, slope = dv / h, self.v + self.mid * dv
        tau = held - gp * self.quarter * h * dv - gd * slope
        taken = h if stopping is None else float(-self.v[stopping] / a[stopping])
        if self.task.unknowns:
            self._carry(k, A, (vm, a, slope, tau), (sat, gp, gd), (D, b), taken, stopping)
        if self.ring:
            self.past[k % self.ring] = tau
        self.load = b + self.effects.inertia * a + D @ a
        middle = self.q + taken * (self.mid * self.v + self.quarter * taken * a)
        self.z = self.z + np.where(sat, 0.0, taken * (u - middle[self.seen]))
        self.q = self.q + taken * (self.v + self.end * taken * a)
        self.v = np.where(self.friction.slide, self.v + taken * a, 0.0)
        self.dvp, self.h = a * self.task.h, h - taken
        if stopping is not None:
            self.v[stopping], self.dvp = 0.0, 0 * a
            self.stops -= 1

    def _links(self, h: float) -> Array:
        """Link parameters that are inputs of the group; the springs of a floor depend on the step, too."""
        x = self.task.values
        return np.append(x.links[:-1], h) if self.on_floor else x.links

    def _is_stiff(self, A: Array, D: Array, vm: Array) -> NDArray[np.bool_]:
        """Whether gains and springs are stiffer than the inertia of each coordinate in the step."""
        if self.on_floor:  # the mass matrix of the links, without the springs of a floor
            D = self.terms(self.qm + self.task.values.zero, vm, self._links(0.0))[0]
        return np.asarray(np.diag(A) > 2 * (np.diag(D) + self.effects.inertia))

    def _solved(self, A: Array, r: Array, D: Array, b: Array, vm: Array) -> tuple[Array, int | None]:
        """Matrix of the step, and the joint that stops first within it, if any: it is solved as if joints slid on."""
        whole, v = self._solve(A, r, D, b), self.v
        rubs = (self.bounds.up > 0) | (self.bounds.down > 0)
        turns = rubs & (v != 0) & (v * self.friction.slide <= 0)
        if not (self.stops and turns.any()) or (turns & self._is_stiff(whole, D, vm)).any():
            return whole, None
        self.friction.slide[:] = np.where(rubs, np.sign(v), np.where(v < 0, -1, 1))
        whole, dv = self._solve(A, r, D, b, slides_on=True), self.friction.dv
        stops = np.flatnonzero(rubs & (v * (v + dv) < 0))
        if len(stops) and not self._is_stiff(whole, D, vm)[stops].any():
            return whole, int(stops[np.argmin(-v[stops] / dv[stops])])
        return self._solve(A, r, D, b), None

    def _see(self) -> Array:
        """Position that each law reads, as foreseen for the midpoint: behind play that of the shaft."""
        play = self.task.values.play
        if play is None:
            return np.asarray(self.qm[self.seen])
        self.side = np.where(self.qm - play / 2 > self.y, 1.0, np.where(self.qm + play / 2 < self.y, -1.0, 0.0))
        self.stays = self.side == 0
        return np.where(self.stays, self.y, self.qm - self.side * play / 2)

    def _by_seen(self, T1: Array) -> Array:
        """Derivatives of the positions that laws read."""
        if self.task.values.play is None:
            return np.asarray(T1[self.seen])
        return np.where(self.stays[:, None], self.Sy, T1) - self._by_play(self.side)

    def _by_play(self, side: Array) -> Array:
        """Derivatives by the play of how far shafts are behind their gears, at these ends of it."""
        found = np.zeros_like(self.Sq)
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind == "play":
                found[place, c] = side[place] / 2
        return found

    def _move_shafts(self) -> None:
        """Move shafts behind the play of gears as far as these push them; without play they are the gears'."""
        play = self.task.values.play
        if play is None:
            self.y, self.Sy = self.q, self.Sq
            return
        side = np.where(self.q - play / 2 > self.y, 1.0, np.where(self.q + play / 2 < self.y, -1.0, 0.0))
        self.y = np.where(side == 0, self.y, self.q - side * play / 2)
        self.Sy = np.where((side == 0)[:, None], self.Sy, self.Sq - self._by_play(side))

    def _supply(self, k: int) -> tuple[Array, Array | None, Array, Array, Array]:
        """Volts of a position error, highest voltage (None: efforts are limited), and whether motors are on.

        Then the volts that start a motor, and the factor of its temperature.
        """
        own, one, x = self.task.command.supply, np.ones(len(self.q)), self.task.values
        if own is None:
            return one, None, one, 0 * one, one
        assert x.start is not None and x.warm is not None  # servos driven by their duty have both
        row = k // self.task.every
        return own.gain[row], own.room[row], own.on[row], x.start * own.volts[row], 1 + x.warm * own.heat[row]

    def _sag(self, k: int, error: Array) -> None:
        """Divide the factor of the temperature by that of the supply, which falls with the motor's effort.

        Keeps the part of an effort that is lost, and its derivatives by sag, kp, duty cycle and position error.
        """
        own, x, nothing = self.task.command.supply, self.task.values, np.zeros(len(error))
        self.lost, self.lost_by = nothing, {key: nothing for key in ("sag", "kp", "start", "error")}
        if own is None:
            return
        assert x.sag is not None  # of servos driven by their duty
        row = k // self.task.every
        volts, asked = np.where(own.on[row] > 0, own.volts[row], 1.0), own.gain[row] * error + self.kick
        duty = np.clip(asked, -own.room[row], own.room[row]) / volts
        self.warmth = self.warmth / (1 + x.sag * self.warmth * x.kp * duty**2)
        one = self.warmth * duty**2
        steep = 2 * self.warmth * x.sag * x.kp * duty
        by_error = np.where(np.abs(asked) < own.room[row], steep * (own.gain[row] + self.steep_kick) / volts, 0.0)
        self.lost = x.sag * x.kp * one
        self.lost_by = {"sag": x.kp * one, "kp": x.sag * one, "start": steep * _started(error), "error": by_error}

    def _foresee(self, held: Array, gd: Array, b: Array) -> None:
        """Velocity that friction reads, and of servos driven by their duty its load: as foreseen for the midpoint."""
        is_driven = self.task.values.share is not None
        self.ahead = np.where((self.friction.slide != 0) & is_driven, self.mid, 0.0)  # a joint that stands stays
        self.rate = self.v + self.ahead * self.dvp
        self.motor = held - gd * self.rate
        if is_driven:
            self.load = self._gear(self.motor, b)[0]

    def _solve(self, A: Array, r: Array, D: Array, b: Array, slides_on: bool = False) -> Array:
        """Solve the linear system of one implicit step; A includes derivatives of the effects at the step's end.

        slides_on: friction keeps its direction, even where that of the motion changes.
        """
        e, h = self.effects, self.h
        reads_load = bool(e.of.read_load.any()) and self.task.values.share is None
        x, last = np.zeros_like(self.v), (np.zeros_like(self.v), np.zeros_like(self.v))
        for tried in range(PASSES + 1):
            e.at((self.qm, self.rate, self.load), *self._middle(x))
            if tried and e.is_linear and not self._is_bent():
                break
            steep, moves = self._steep(), np.abs(x - last[0]) > APART * (1 + np.abs(self.v))
            if tried and not e.is_linear and moves.any():  # efforts that bend: never beyond
                chord = (e.effort - last[1]) / np.where(moves, x - last[0], 1.0)
                steep = np.where(moves, np.maximum(steep, chord), steep)
            whole, last = A + np.diag(e.inertia + h * steep), (x, e.effort)
            by_up, by_down = e.by_up * reads_load, e.by_down * reads_load
            self.bounds = _Bounds(e.up, e.down, by_up, by_down, self.load, D + np.diag(e.inertia), b)
            solve = self.friction.slide_on if slides_on else self.friction.step
            solve(whole, r - h * (e.effort - steep * x), self.v, self.bounds, h)
            moved, x = np.abs(self.friction.dv - x).max(), self.friction.dv
            if reads_load:
                self.load = b + self.bounds.M @ x / h
            is_known = e.is_linear and not reads_load
            if is_known or moved <= SETTLED * (1 + (np.abs(self.v) + np.abs(x)).max()):
                break
        if e.is_linear:
            return whole
        e.at((self.qm, self.rate, self.load), *self._middle(x))
        return np.asarray(A + np.diag(e.inertia + h * self._steep()))

    def _is_bent(self) -> bool:
        """Whether the bounds of friction at the load of the last pass are others than that pass foresaw."""
        up, down = self.bounds.at(self.load)
        least = SETTLED * (1 + np.abs(self.load))
        return bool(np.any((np.abs(self.effects.up - up) > least) | (np.abs(self.effects.down - down) > least)))

    def _middle(self, dv: Array) -> tuple[Array, Array]:
        """Position and velocity at which smooth effects are evaluated in a step."""
        return self.qm + self.quarter * self.h * dv, self.v + self.end * dv

    def _steep(self) -> Array:
        """Derivatives of smooth efforts with respect to the change of velocity in the step."""
        return np.asarray(self.end * self.effects.by_qd + self.quarter * self.h * self.effects.by_q)

    def _old(self, kept: Array, k: int) -> Array:
        """Delayed effort that acts now, or its derivatives."""
        if not self.ring:
            return np.zeros_like(kept[0])
        before = kept[(k - self.whole - 1) % self.ring]
        recent = kept[(k - self.whole) % self.ring] if self.whole else 0.0
        return np.asarray(self.w * before + (1 - self.w) * recent)

    def _carry(
        self, k: int, A: Array, motion: tuple[Array, ...], law: tuple[Array, ...], rigid: tuple[Array, Array],
        taken: float, stopping: int | None,
    ) -> None:  # fmt: skip
        """Propagate the sensitivities through the step.

        rigid: mass matrix and bias of the links; taken: time until a joint stops, or of all of the step.
        """
        (vm, a, _, tau), h, slide = motion, self.h, self.friction.slide
        e, dv = self.effects, self.friction.dv
        sliding = np.where(slide > 0, e.rubs[0], np.where(slide < 0, -1.0 * e.rubs[1], 0.0))
        *rubbing, shapes = e.carried(self.qm, self.rate, self.load, *self._middle(dv), a, sliding)
        by_place, by_rate, by_load = (x[:, None] for x in rubbing)
        T1 = self.Sq + self.mid * (h * self.Sv + np.outer(self.v, self.Sh))
        rates = self.Sv + self.ahead[:, None] * self.Sd
        links = self._by_links(vm, a, T1)
        if self.task.values.share is not None:
            still = self._by_links(vm, np.zeros_like(a), T1)
            self.Sl = self._by_gear(k, law, rates, still, rigid[1], T1)
        else:  # friction of the load of the step itself
            A = A + np.diagflat(by_load) @ (rigid[0] + np.diag(e.inertia))
            self.Sl = links + self._by_effects(shapes * e.of.are_inertia)
        smooth = e.by_q[:, None] * T1 + e.by_qd[:, None] * self.Sv + self._by_effects(shapes)
        rubbed = by_place * T1 + by_rate * rates + by_load * self.Sl
        acting = self._by_law(k, T1, motion, law)
        R = h * (self.share * acting + self._by_past(k, tau) + self._by_springs(T1) - links - smooth - rubbed)
        R = self._by_change(A, R + self._by_length(A, a, law[1], law[2]))
        Sa, taken_by = (R - np.outer(a, self.Sh)) / h, self.Sh
        if stopping is not None:
            taken_by = -(self.Sv[stopping] + taken * Sa[stopping]) / a[stopping]
        if self.ring:
            gp, gd, turned = law[1][:, None], law[2][:, None], self.quarter * (h * R + np.outer(dv, self.Sh))
            self.St[k % self.ring] = acting - gp * turned - gd * self.mid * R
        self._carry_errors(k, a, Sa, law[0], taken, taken_by)
        moved = np.outer(self.v + 2 * self.end * taken * a, taken_by)
        self.Sq = self.Sq + moved + taken * (self.Sv + self.end * taken * Sa)
        self.Sv, self.Sd = self.Sv + taken * Sa + np.outer(a, taken_by), Sa * self.task.h
        self.Sh = self.Sh - taken_by
        if stopping is not None:
            self.Sv[stopping], self.Sd = 0.0, 0 * Sa

    def _by_law(self, k: int, T1: Array, motion: tuple[Array, ...], law: tuple[Array, ...]) -> Array:
        """Derivatives of the control efforts, without those through the change of velocity in the step."""
        (vm, _, slope, tau), (sat, gp, gd), h = motion, law, self.h
        turned = self.quarter * h * self.friction.dv
        damped = np.where(self.is_far, vm[self.seen], slope)
        found = self._by_far(T1) + (tau * self.lost_by["error"] - gp)[:, None] * self._by_seen(T1)
        ki = np.where(sat, 0.0, self.task.values.ki)
        found += ki[:, None] * self.Sz - gd[:, None] * self.Sv
        found += np.outer(ki * self.mid * (self.task.command.u[k] - self.seen_at - turned), self.Sh)
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind == "delay" and not self.ring:
                found[:, c] += self._by_delay(k, tau, gp, gd)
            elif kind in ("kp", "ki", "kd", *OF_TARGET, "start", "warm", "sag"):
                found[place, c] += self._by_gain(k, kind, place, (damped, tau), law, float(turned[place]))
        return found

    def _by_change(self, A: Array, R: Array) -> Array:
        """Derivatives of the change of velocity; R: of the right-hand side."""
        R, stuck, free = R.copy(), self.friction.slide == 0, self.friction.slide != 0
        R[stuck] = -self.Sv[stuck]
        if free.any():
            R[free] = np.linalg.solve(A[np.ix_(free, free)], R[free] - A[np.ix_(free, stuck)] @ R[stuck])
        return R

    def _carry_errors(self, k: int, a: Array, Sa: Array, sat: Array, taken: float, taken_by: Array) -> None:
        """Propagate the sensitivities of the integrals of position errors."""
        middle = self.q + taken * (self.mid * self.v + self.quarter * taken * a)
        by_middle = self.Sq + taken * (self.mid * self.Sv + self.quarter * taken * Sa)
        by_middle += np.outer(self.mid * self.v + 2 * self.quarter * taken * a, taken_by)
        by_error = -taken * by_middle[self.seen] + np.outer(self.task.command.u[k] - middle[self.seen], taken_by)
        for c, (kind, _) in enumerate(self.task.unknowns):
            if kind == "delay" and not self.ring:
                by_error[:, c] += taken * self.task.command.u_d[k]
        self.Sz = self.Sz + np.where(sat, 0.0, 1.0)[:, None] * by_error

    def _by_length(self, A: Array, a: Array, gp: Array, gd: Array) -> Array:
        """Derivatives of what is left of a step, solved for the change of velocity, by its length."""
        S, e, s, more = self.pairs, self.effects, self.share, 2 * self.quarter * self.h
        dv, springs = self.friction.dv, self.task.values.springs
        by_h = (self.mid * s * gd + self.end * e.by_qd + more * (s * gp + e.by_q)) * dv
        by_h += S.T @ ((self.end * springs.damping + more * self.stiff) * (S @ dv))
        return np.outer(A @ a - by_h, self.Sh)

    def _gear(self, motor: Array, links: Array) -> tuple[Array, Array, Array]:
        """Load of gears between these efforts, its derivative by the plain load, and by the curve."""
        x = self.task.values
        assert x.share is not None and x.curve is not None  # servos driven by their duty have both
        plain = x.share * motor + (1 - x.share) * links
        size = np.abs(plain)
        return plain * (1 + x.curve * size), 1 + 2 * x.curve * size, plain * size

    def _by_gear(self, k: int, law: tuple[Array, ...], rates: Array, links: Array, b: Array, T1: Array) -> Array:
        """Derivatives of the load of gears, from those of the links' static effort b and of the motor's."""
        share, foreseen = self.task.values.share, (self.rate, self.motor)
        assert share is not None
        steep = law[1] + np.where(self.stays, self.far[0], 0.0) - self.motor * self.lost_by["error"]
        motor = -steep[:, None] * self._by_seen(T1) - law[2][:, None] * rates
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind == "delay":
                motor[:, c] += steep * self.task.command.u_d[k]
            elif kind in ("kp", "kd", *OF_TARGET, "start", "warm", "sag"):
                motor[place, c] += self._by_gain(k, kind, place, foreseen, law, 0.0)
        found = np.asarray(share[:, None] * motor + (1 - share[:, None]) * links)
        _, bent, by_curve = self._gear(self.motor, b)
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind == "share":
                found[place, c] += self.motor[place] - b[place]
        found *= bent[:, None]
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind == "curve":
                found[place, c] += by_curve[place]
        return found

    def _by_links(self, vm: Array, a: Array, T1: Array) -> Array:
        """Derivatives of the rigid-body efforts with respect to the unknowns.

        Through the motion for all, and directly for link parameters and joint zeros.
        """
        Q, V, Y = self.slopes(self.qm + self.task.values.zero, vm, a, self._links(self.h))
        links = np.asarray(Q @ T1 + V @ (self.Sv + self.mid * self.Sd))
        if self.on_floor:
            links += np.outer(Y[:, -1], self.Sh)
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind in ("link", "zero"):
                links[:, c] += (Y if kind == "link" else Q)[:, place]
        return links

    def _by_past(self, k: int, tau: Array) -> Array:
        """Derivatives of the delayed effort that acts now."""
        found = self._old(self.St, k)
        for c, (kind, _) in enumerate(self.task.unknowns):
            if kind == "delay" and self.ring:
                now = self.past[(k - self.whole) % self.ring] if self.whole else tau
                found[:, c] += (self.past[(k - self.whole - 1) % self.ring] - now) / self.task.h
        return found

    def _by_delay(self, k: int, tau: Array, gp: Array, gd: Array) -> Array:
        """Derivatives of the control efforts with respect to the delay of the command."""
        command = self.task.command
        gp, gd = gp + self.far[0] - tau * self.lost_by["error"], gd + self.far[1]
        return np.asarray(gp * command.u_d[k] + (0.0 if command.ud_d is None else gd * command.ud_d[k]))

    def _by_far(self, T1: Array) -> Array:
        """Derivatives of the control law with respect to the motion of the coordinate that it measures."""
        by_place, by_rate = self.far
        rates = self.Sv + self.mid * self.Sd
        return np.asarray(-by_place[:, None] * self._by_seen(T1) - by_rate[:, None] * rates[self.seen])

    def _by_effects(self, shapes: Array) -> Array:
        """Derivatives of the efforts with respect to the unknown effect values: efforts of effects with value 1."""
        found = np.zeros_like(self.Sq)
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind == "effect":
                found[self.effects.of.all[place].place, c] = shapes[place]
        return found

    def _by_springs(self, T1: Array) -> Array:
        """Derivatives of elastic-joint efforts with respect to the unknowns.

        Through the motion for all unknowns, and directly for compliance, damping and rest position of the
        springs.
        """
        S, springs, dv = self.pairs, self.task.values.springs, self.friction.dv
        found = -S.T @ (self.stiff[:, None] * (S @ T1) + springs.damping[:, None] * (S @ self.Sv))
        wound = S @ (self.qm + self.quarter * self.h * dv) - springs.rest
        own = {"cj": self.stiff**2 * wound, "dj": -(S @ (self.v + self.end * dv)), "rj": self.stiff}
        for c, (kind, place) in enumerate(self.task.unknowns):
            if kind in own:
                found[:, c] += S[place] * own[kind][place]
        return np.asarray(found)

    def _by_gain(
        self, k: int, kind: str, j: int, motion: tuple[Array, Array], law: tuple[Array, ...], turned: float
    ) -> float:
        """Derivative of the control effort with respect to a gain of joint j.

        motion: velocities and efforts.  turned: change of the joint's position beyond its midpoint.
        """
        x, h, command = self.task.values, self.h, self.task.command
        sat = law[0][j]
        foreseen = command.u[k, j] - self.seen_at[j]
        error = foreseen - (0.0 if self.is_far[j] or self.stays[j] else turned)
        rate = 0.0 if command.ud is None else command.ud[k, j]
        (gain, room, on, _, warm), warmth = self._supply(k), self.warmth
        lost, effort = {key: float(by[j]) for key, by in self.lost_by.items()}, float(motion[1][j])
        held = 0.0 if room is None else sat * room[j]
        own, row = command.supply, k // self.task.every
        volts, heat = (0.0, 0.0) if own is None else (own.volts[row, j], own.heat[row, j])
        part = _started(foreseen) + (error - foreseen) / NEAR * (abs(foreseen) < NEAR)
        kicked = self.kick[j] + self.steep_kick[j] * (error - foreseen)
        by_target = law[1][j] + self.far[0][j] - effort * lost["error"]
        found = {
            "kp": warmth[j] * (held if sat else gain[j] * error + kicked) - effort * lost["kp"],
            "ki": 0.0 if sat else self.mid * h * error + self.z[j],
            "kd": 0.0 if sat and not x.is_voltage else warmth[j] * on[j] * (rate - motion[0][j]),
            "speed": by_target * (0.0 if command.u_s is None else command.u_s[k, j]),
            "lapse": by_target * (0.0 if command.u_l is None else command.u_l[k, j]),
            "start": 0.0 if sat else warmth[j] * x.kp[j] * volts * part - effort * lost["start"],
            "warm": heat / warm[j] * (1 - self.lost[j]) * effort,
            "sag": -effort * lost["sag"],
        }
        return float(found[kind])


def _started(error: Array | float) -> Array:
    """Part of the duty that starts a motor, of its position error."""
    return np.clip(error / NEAR, -1.0, 1.0)
