"""Closed-loop output-error fit: parameters that minimise the error of the simulated motion.

Each Gauss-Newton step is a linear problem: rows S with e + S theta on the right enter the same triangular factors,
weights and intervals as every fit, and fitted links the semidefinite program for physical consistency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.closed_loop.bodies import Bodies
from minertia.identification.closed_loop.contact import pushed
from minertia.identification.closed_loop.found import LoopFit, contact_notes
from minertia.identification.closed_loop.ground import deepest_floor, with_floor
from minertia.identification.closed_loop.law import independent_columns, law_fit, observation_of
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel, floor_name
from minertia.identification.closed_loop.simulate import GroupSlopes, Simulated, each_simulated, with_start
from minertia.identification.closed_loop.springs import with_springs
from minertia.identification.evidence.intervals import STRETCHES, Spread, left_out_spread, spread
from minertia.identification.problem.marginal import LASTS, autocorrelation_time
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse
from minertia.identification.problem.triangles import triangle
from minertia.io.errors import MinertiaError
from minertia.io.resources import one_thread
from minertia.io.steps import WorkStep

Array = NDArray[np.float64]
COARSEST = 2e-3  # s, of the first steps
SLOPE_STEP = 4e-3  # s, of derivatives, which need not be as exact as residuals while values still move
FINEST = 1e-4  # s: with exact encoders twice that still moves values by half a deviation
DAMPING = 1e-4  # Levenberg-Marquardt's, of columns of length 1
MOST_DAMPING = 1e8
SMALL_STEP = 1e-3  # deviations
SMALL_FALL = 1e-6  # of the sum of squares
SMALL_MOVE = 0.1  # deviations of correlated residuals by which a last step may move each value: less than MOVED
LIKELY = 0.5  # part of a promised fall that a step kept from which the next one is likely to be better
MOVED = 0.3  # deviations by which half the step may change a value
WIDEST = 10.0  # times that: such changes are too large however correlated residuals widen the deviations
ITERATIONS = 40
SOFTER = 0.1  # of a compliance that is left at least by one step: at a rigid joint nothing shows that it was none
HUBER = 1.345  # deviations up to which Huber's loss is a square: 95 % as efficient for normal residuals
NORMAL_MEDIAN = 0.6745  # of the absolute value of a normal variable
NARROWER = 0.9  # of the widths of Huber's loss: what is left of them by another fit
FEW = 10  # iterations from each of several starts, or from values of nearly the same logs
LOOKS = 5  # for stretches in which something else pushed the robot
TOGETHER = 1e-6  # of a column's length: what is left of it beside the others
GUESSES = {"IA": 0.01, "FV": 0.1, "FC": 0.2, "kp": 20.0, "kd": 1.0, "link": 0.0, "speed": 5.0, "share": 0.5}


@dataclass
class _Rolled:
    """Parameter values, followed by the initial states of all logs, and residuals of the simulated motion there."""

    theta: Array
    rest: list[Array]  # of each log, (N, n); zero where something else pushed the robot
    rms: Array
    motions: list[Simulated] = field(repr=False)
    steep: list[Simulated] = field(repr=False)  # the motions with derivatives, of longer steps
    off: Array  # residuals of prior knowledge, weighted
    slopes: list[list[GroupSlopes]] = field(default_factory=list)  # of each log
    R: Array | None = None  # triangle of all unknowns
    independent: list[int] | None = None  # unknowns whose columns of it are linearly independent

    @property
    def cost(self) -> float:
        return float(2 * np.mean(np.log(self.rms)) + np.sum(self.off**2) / sum(e.size for e in self.rest))


def output_error(
    model: ServoModel,
    logs: Sequence[LoopLog],
    start: Array | None = None,
    *,
    steps: Sequence[int] | None = None,
    halve: bool = False,
    iterate: bool = True,
    most: int = ITERATIONS,
    close: float = SMALL_MOVE,
    fall: float = SMALL_FALL,
    deviations: bool = True,
    tell: Tell = silent,
) -> LoopFit:
    """Fit the unknowns to logs, from initial values or the control law's least squares.

    Simulation steps are halved while that changes the result; given ones only with `halve`.  iterate: whether the
    values may change; else only standard deviations and residuals are computed.  most: iterations of each
    minimisation.  close: deviations by which its last step may move each value.  fall: part of the sum of squares
    that its last step may save.  deviations: whether those of correlated residuals are computed.  tell: called at each
    iteration.
    """
    with one_thread():
        if steps is None and model.command.step is not None:
            steps = [max(1, round(log.period / model.command.step)) for log in logs]
        first = coarse_steps(logs) if steps is None else tuple(steps)
        fit = _OutputError(model, logs, tell)
        fit.most, fit.close, fit.fall = most, close, fall
        is_fixed = steps is not None and not halve
        return fit.run(first, start, is_fixed=is_fixed, iterate=iterate, deviations=deviations)


def coarse_steps(logs: Sequence[LoopLog], longest: float = COARSEST) -> tuple[int, ...]:
    """Steps between rows of each log of the first simulations."""
    return tuple(max(1, int(np.ceil(log.period / longest))) for log in logs)


class _OutputError:
    """State of one output-error fit."""

    def __init__(self, model: ServoModel, logs: Sequence[LoopLog], tell: Tell = silent) -> None:
        self.model, self.logs = model, [replace(log, first=0) for log in logs]  # the start is an unknown, too
        n, p = model.layout.size, model.count
        self.starts = [range(p + 2 * n * k, p + 2 * n * (k + 1)) for k in range(len(logs))]
        self.total = p + 2 * n * len(logs)
        start = [x for log in logs for x in (np.full(n, np.inf), log.fastest_start(model.layout))]
        self.lower = np.concatenate([model.lower, *(-x for x in start)])
        self.upper = np.concatenate([model.upper, *start])
        ends = [f"{what}{j + 1} of {log.name}" for log in logs for what in ("q0 ", "v0 ") for j in range(n)]
        self.names = (*model.names, *ends)
        self.compliant = np.array([name.startswith("CJ") for name in self.names])
        self.bodies = None if model.keeps_links else Bodies(model, self.names)
        self.counted = [np.ones(log.q.shape, bool) if log.pushed is None else ~log.pushed for log in logs]
        self.looks = model.command.leave_out_contact and all(log.pushed is None for log in logs)
        self.tell, self.settlings = tell, 0
        self.is_stiff = bool(model.layout.elastic or model.floor.touches)  # coarse derivatives can miss the optimum
        # settlings: the first, two without contact, one with finer steps, and one with finer derivatives
        self.expected = (4 if self.looks else 2) + self.is_stiff
        self.iterations, self.promised = 0, 1.0  # promised: part of the sum of squares that the last step should save
        self.notes: list[str] = []
        self.held: set[int] = set()  # unknowns that do not move yet
        self.most, self.close, self.fall, self.slope_step = ITERATIONS, SMALL_MOVE, SMALL_FALL, SLOPE_STEP
        self.is_robust = model.command.loss == "huber"
        self.widths: Array | None = None  # residuals beyond these count less
        self.memory = 1.0  # rows that count as one beside prior knowledge

    def run(
        self, steps: tuple[int, ...], start: Array | None, *, is_fixed: bool, iterate: bool, deviations: bool
    ) -> LoopFit:
        point, wider, is_settled = self._start(steps, start), None, self.is_robust
        first = point.theta if start is None else None
        if self.is_robust and iterate:
            point = self._narrowed(point, steps)
        close, self.close = self.close, self.close if is_fixed else max(self.close, MOVED)  # finer steps come after
        while iterate:
            point = point if is_settled else self._settled(point, steps)
            is_settled = False
            if self.looks:
                point = self._without_contact(point, first, steps)
            finer = tuple(2 * k for k in steps)
            is_finest = any(log.period / k < FINEST for log, k in zip(self.logs, finer, strict=True))
            if is_fixed or is_finest:
                self.close = close
                point = self._settled(point, steps) if is_finest and not is_fixed else point
                break
            self._tell("fitting, halving the step of the simulation")
            again = self._refined(point, steps, finer)
            if again is None:
                break
            step, deviation = self._proposed(again, 0.0)
            moved = (self._shifted(point, again) / deviation)[: self.model.count]
            if wider is None and MOVED < np.nanmax(moved, initial=0.0) < WIDEST * MOVED:
                wider = self._inflation(point)
            moved = moved if wider is None else moved / wider[: self.model.count]
            is_moved = bool(np.nanmax(moved, initial=0.0) > MOVED)
            better, steps = self.at(step, finer, slopes=is_moved or self.is_robust), finer  # the latter settle again
            point = better if better is not None and better.cost <= again.cost else again
            if not is_moved:
                break
        if self.is_robust and iterate and not is_fixed:  # runs that stand and slide: one step is not the optimum
            point = self._settled(point, steps)
        coarse, self.slope_step = self._coarse(steps), COARSEST
        last = self.at(point.theta, steps, motions=point.motions) or point
        if iterate and self.is_stiff and self._coarse(steps) != coarse:
            last = self._settled(last, steps)
        self._tell("computing standard deviations")
        return self._finished(last, steps, deviations=deviations)

    def _refined(self, point: _Rolled, steps: tuple[int, ...], finer: tuple[int, ...]) -> _Rolled | None:
        """Simulated motion of a point at finer steps, with its derivatives where their own steps stay the same."""
        if self.is_robust or self._coarse(steps) != self._coarse(finer):
            return self.at(point.theta, finer)
        again = self.at(point.theta, finer, slopes=False)
        return None if again is None else replace(again, slopes=point.slopes)

    def _shifted(self, point: _Rolled, finer: _Rolled) -> Array:
        """Distance by which the residuals of finer steps, and nothing else, move the values of a point."""
        rest = [b - a for a, b in zip(point.rest, finer.rest, strict=True)]
        still, nothing = np.zeros(self.total), np.zeros(len(point.off))
        only = replace(point, theta=still, rest=rest, off=nothing, R=None, independent=None)
        R, kept = self._triangle(only), self._independent(only)
        found = np.zeros(self.total)
        found[kept] = np.abs(np.linalg.lstsq(R[:, kept], R[:, -1], rcond=None)[0])
        return found

    def at(
        self, theta: Array, steps: Sequence[int], *, slopes: bool = True, motions: list[Simulated] | None = None
    ) -> _Rolled | None:
        """Simulated motion at the parameter values theta; None if it diverges.  motions: known ones, without slopes."""
        coarse = self._coarse(steps) if slopes else tuple(steps)
        if motions is None or coarse == tuple(steps):
            motions = self._motions(theta, steps, slopes=slopes and coarse == tuple(steps))
        steep = motions
        if motions is not None and coarse != tuple(steps):  # a stiff contact may diverge at coarse steps
            steep = self._motions(theta, coarse, slopes=True) or self._motions(theta, steps, slopes=True)
        return None if motions is None or steep is None else self._weighed(theta, motions, steep)

    def _weighed(self, theta: Array, motions: list[Simulated], steep: list[Simulated]) -> _Rolled | None:
        """Residuals of simulated motions in the rows that count, and their derivatives; None if not finite."""
        each = list(zip(self.logs, motions, self.counted, strict=True))
        rest = [np.where(counts, log.q - m.q, 0.0) for log, m, counts in each]
        shares = [counts * np.ones(1) for counts in self.counted]
        if self.is_robust:
            if self.widths is None:
                self.widths = _huber_widths(rest, self.counted)
            bent = [_bent(e, self.widths) for e in rest]
            rest, shares = [e for e, _ in bent], [w * counts for (_, w), counts in zip(bent, shares, strict=True)]
        rows = np.maximum(sum(counts.sum(axis=0) for counts in self.counted), 1)
        rms = np.sqrt(np.maximum(sum(np.sum(e**2, axis=0) for e in rest) / rows, 1e-24))
        slopes_of = [[part.weighted(own) for part in m.slopes] for m, own in zip(steep, shares, strict=True)]
        off = self._off(theta)
        return _Rolled(theta, rest, rms, motions, steep, off, slopes_of) if np.isfinite(rms).all() else None

    def _coarse(self, steps: Sequence[int]) -> tuple[int, ...]:
        """Steps of derivatives: those of a step of Gauss and Newton need not be as exact as its residuals."""
        command = self.model.command
        if command.step is not None or command.integrator == "euler" or command.law == "servo":
            return tuple(steps)
        return tuple(min(k, usual) for k, usual in zip(steps, coarse_steps(self.logs, self.slope_step), strict=True))

    def _narrowed(self, point: _Rolled, steps: tuple[int, ...]) -> _Rolled:
        """Fit with the widths of Huber's loss from the residuals of the last one, until they no longer shrink."""
        while True:
            before, self.widths = self.widths, None
            again = self.at(point.theta, steps)
            assert again is not None and before is not None  # the point was made with these values
            assert self.widths is not None
            if np.all(self.widths > NARROWER * before) and self.settlings:
                self.widths = before
                return point
            point = self._settled(again, steps)

    def _motions(self, theta: Array, steps: Sequence[int], *, slopes: bool) -> list[Simulated] | None:
        n, p = self.model.layout.size, self.model.count
        ends = [theta[own] for own in self.starts]
        placed = [replace(log, q0=end[:n], v0=end[n:]) for log, end in zip(self.logs, ends, strict=True)]
        motions = []
        for found in each_simulated(self.model, theta[:p], placed, steps, slopes=slopes):
            if found is None or not found.is_steady:
                return None
            motions.append(found)
        return motions

    def _without_contact(self, point: _Rolled, first: Array | None, steps: tuple[int, ...]) -> _Rolled:
        """Refit without rows of external contact, repeated because further contact appears after each exclusion.

        first: initial values of the fit, from which it begins once again; None where they were given.
        """
        self.looks = False
        for look in range(LOOKS):
            if not self._exclude_contact(point):
                break
            self.expected = max(self.expected, self.settlings + 3)
            begins = [self._weighed(point.theta, point.motions, point.steep)]
            if first is not None and not look:  # what fitted a push may be a trap
                begins.append(self.at(first, steps))
            point = min((self._settled(b, steps) for b in begins if b is not None), key=lambda found: found.cost)
        return point

    def _exclude_contact(self, point: _Rolled) -> bool:
        """Exclude the rows in which something else pushes the robot; return whether these are others than before."""
        found = pushed(self.model, self.logs, [log.q - m.q for log, m in zip(self.logs, point.motions, strict=True)])
        before, self.counted = self.counted, [~rows for rows in found]
        return not all(np.array_equal(a, b) for a, b in zip(before, self.counted, strict=True))

    def _start(self, steps: tuple[int, ...], given: Array | None) -> _Rolled:
        tried = [given] if given is not None else [self._guess(), law_fit(self.model, self.logs)]
        if given is None:
            tried = [with_floor(self.model, self.logs, theta) for theta in tried if theta is not None]
        tried = [t for theta in tried if theta is not None for t in with_springs(self.model, self.logs, theta)]
        if floor_name("height") in self.names:
            self.lower[self.names.index(floor_name("height"))] = deepest_floor(self.model, self.logs, tried[0])
        ends = [x for log in self.logs for x in (*log.q0, *log.v0)]
        first = [np.clip(np.concatenate([theta, ends]), self.lower, self.upper) for theta in tried]
        if len(first) == 2:  # derivatives, which cost most, are wanted of the better one
            seen = [point for theta in first if (point := self.at(theta, steps, slopes=False)) is not None]
            first = [point.theta for point in sorted(seen, key=lambda point: point.cost)]
        made = (self.at(theta, steps) for theta in first)
        steady = (point for point in made if point is not None)
        usable = list(islice(steady, 1)) if len(first) == 2 else list(steady)
        if not usable:
            raise MinertiaError(
                "the fit cannot start: the simulated motion diverges with the given gains; check that control "
                "law, gains and robot are those of the log"
            )
        if len(usable) > 2:  # of elastic joints with one encoder: the right resonance shows after some steps
            self.held = {k for k, name in enumerate(self.names) if name.startswith("DJ")}
            usable = [self._settled(point, steps, FEW) for point in usable]
            self.held = set()
        return min(usable, key=lambda point: point.cost)

    def _guess(self) -> Array:
        """Default initial values, which suit small robots; links as in the robot file."""
        model = self.model
        wanted = np.array([GUESSES.get(atom.kind, 0.0) for atom in model.atoms])
        if model.gauges:  # everything is told in units of a gain
            wanted /= GUESSES["kp"]
        if not model.keeps_links and model.robot.has_parameters:
            own = dict(zip(model.linear.names, model.linear.nominal().tolist(), strict=True))
            return np.array([own.get(name, float(g @ wanted / max(g @ g, 1e-300)))
                             for name, g in zip(model.names, model.G.T, strict=True)])  # fmt: skip
        return np.asarray(np.linalg.lstsq(model.G, wanted - model.constant * model.G.any(axis=1), rcond=None)[0])

    def _places(self, k: int, part: GroupSlopes) -> list[int]:
        """Indices of the unknowns of a group's columns in a log, including its initial state."""
        p, own = self.model.count, self.starts[k]
        return [c if c < p else own[c - p] for c in part.columns]

    def _triangle(self, point: _Rolled) -> Array:
        """Triangular factor of [S | e + S theta], weighted by each position's noise, by groups of joints."""
        if point.R is None:
            parts = []
            for k, e in enumerate(point.rest):
                for part in point.slopes[k]:
                    own, S, places = part.outputs, part.values, self._places(k, part)
                    rows = np.concatenate([S, (e[:, own] + S @ point.theta[places])[:, :, None]], axis=2)
                    R = triangle((rows / point.rms[own][:, None]).reshape(-1, rows.shape[2]))
                    wide = np.zeros((len(R), self.total + 1))
                    wide[:, [*places, self.total]] = R
                    parts.append(wide)
            point.R = triangle(np.concatenate([*parts, self._prior(point)]))
        return point.R

    def _prior(self, point: _Rolled) -> Array:
        """Weighted equations of prior knowledge, the right-hand side last."""
        found = np.zeros((len(self.model.known), self.total + 1))
        for row, off, (k, _, deviation) in zip(found, point.off, self.model.known, strict=True):
            row[k], row[-1] = np.sqrt(self.memory) / deviation, off + np.sqrt(self.memory) * point.theta[k] / deviation
        return found

    def _off(self, theta: Array) -> Array:
        """Weighted residuals of prior knowledge: it counts as much more as residuals are remembered."""
        return np.array([np.sqrt(self.memory) * (mean - theta[k]) / dev for k, mean, dev in self.model.known])

    def _independent(self, point: _Rolled) -> list[int]:
        """Unknowns that the motion of a point distinguishes from those before them; steps that fail ask again.

        Gains kp come last: where only ratios to one are distinguished, it is the one that is not.
        """
        if point.independent is None:
            standing = self._standing(point)
            moving = [k for k in range(self.total) if k not in standing]
            moving.sort(key=lambda k: self.names[k].startswith("KP"))
            found = independent_columns(self._triangle(point)[:-1, :-1][:, moving], TOGETHER)
            point.independent = sorted(moving[k] for k in found)
        return point.independent

    def _standing(self, point: _Rolled) -> set[int]:
        """Starting velocities that are none: of joints at rest in the first rows, which friction holds.

        They would stop within the first step, whatever its length: an unknown that fits the first row's noise.
        """
        n = self.model.layout.size
        found: set[int] = set()
        if n != point.motions[0].q.shape[1]:  # motors behind springs may move while the links stand
            return found
        for own, motion in zip(self.starts, point.motions, strict=True):
            places = np.array(own[n:])
            is_held = (point.theta[places] == 0) & (motion.q[1] == motion.q[0])
            found |= set(places[is_held].tolist())
        return found

    def _whole(self, point: _Rolled) -> Observation:
        """Gauss-Newton step at a point as an ordinary linear problem: rows S with right-hand side e + S theta."""
        pairs = []
        for k, e in enumerate(point.rest):
            Y = np.zeros((*e.shape, self.total))
            for part in point.slopes[k]:
                Y[np.ix_(range(len(e)), part.outputs, self._places(k, part))] = part.values
            pairs.append((Y, e + Y @ point.theta))
        return observation_of(self.model, self.names, [log.name for log in self.logs], pairs)

    def _proposed(self, point: _Rolled, damping: float) -> tuple[Array, Array]:
        """Parameter values after the next step, and their standard deviations for white residuals."""
        whole = self._triangle(point)
        kept = [k for k in self._independent(point) if k not in self.held]
        others = [k for k in range(self.total) if k not in kept]
        columns = [whole[:, kept], (whole[:, -1] - whole[:, others] @ point.theta[others])[:, None]]
        R = triangle(np.concatenate(columns, axis=1))
        A, b = R[:-1, :-1], R[:-1, -1]
        lengths = np.linalg.norm(A, axis=0)
        softest = np.where(self.compliant, SOFTER * point.theta, -np.inf)
        own, lower = point.theta[kept], np.maximum(self.lower, softest)[kept]
        scaled = np.concatenate([A / lengths, np.sqrt(damping) * np.eye(len(kept))])
        right = np.concatenate([b, np.sqrt(damping) * lengths * own])
        found = lsq_linear(scaled, right, (lower * lengths, self.upper[kept] * lengths), method="bvls").x / lengths
        before, after = (float(np.sum((A @ x - b) ** 2) + R[-1, -1] ** 2) for x in (own, found))
        self.promised = 1 - after / before if before > 0 else 0.0  # nothing is left where no row counts
        theta = point.theta.copy()
        theta[kept] = found
        if self.bodies is not None:
            rows = sum(e.size for e in point.rest)
            every = np.linalg.norm(whole[:, :-1], axis=0) * np.sqrt(damping)
            damped = np.concatenate([whole, np.column_stack([np.diag(every), every * point.theta])])
            theta = self.bodies.held(theta, triangle(damped), rows)
        deviation = np.full(len(theta), np.inf)
        deviation[kept] = np.linalg.norm(inverse(A), axis=1)
        return theta, deviation

    def _settled(self, point: _Rolled, steps: Sequence[int], most: int | None = None) -> _Rolled:
        """Damped Gauss-Newton iteration until convergence."""
        most = self.most if most is None else most
        damping = DAMPING
        is_likely = True  # that the next step is better: then its derivatives, which cost most, are wanted, too
        has_failed = False  # the step before, from the same point
        self.settlings += 1
        if self.model.known:
            count = sum(e.size for e in point.rest)
            self.memory = max(1.0, LASTS * count / float(_rows_apart(point.rest).sum()))
            point = replace(point, off=self._off(point.theta), R=None, independent=None)
        for k in range(most):
            self.iterations += 1
            theta, deviation = self._proposed(point, damping)
            self._tell_iteration(k / most)
            enough = max(self.fall, self._small_fall(point))
            if self.promised < enough:
                break
            step = float(np.max(np.abs(theta - point.theta) / deviation, initial=0.0))
            tried = self.at(theta, steps, slopes=is_likely)
            if tried is None or tried.cost > point.cost:
                damping, is_likely, has_failed = 10 * max(damping, 1e-8), False, True
                if damping > MOST_DAMPING or step < SMALL_STEP:
                    break
                continue
            fall = 1 - float(np.exp(tried.cost - point.cost))
            point = tried if is_likely else self.at(theta, steps, motions=tried.motions) or point
            kept = 1.0 if self.is_robust else fall / self.promised  # what Huber's loss promises says little
            damping *= max(0.1, 1 - (2 * kept - 1) ** 3)  # Nielsen 1999: a step that kept half may be as long again
            is_likely, has_failed = kept > LIKELY and not has_failed, False
            if step < SMALL_STEP or fall < enough:
                break
        return point

    def _small_fall(self, point: _Rolled) -> float:
        """Fall of the sum of squares that moves each value by less than `close` deviations; 0 of Huber's loss."""
        if self.is_robust:
            return 0.0
        return self.close**2 * self.model.count / float(_rows_apart(point.rest).sum())

    def _tell_iteration(self, part: float) -> None:
        """Report an iteration; part: of the iterations at most, beside how far the promised gain has fallen."""
        gain = max(self.promised, SMALL_FALL)
        converged = max(part, float(np.log(min(gain, 1.0)) / np.log(SMALL_FALL)))
        self._tell(f"fitting, iteration {self.iterations}", converged)

    def _tell(self, what: str, part: float = 1.0) -> None:
        """Report what is done next; part: of the current minimisation that is done."""
        done = (self.settlings - 1 + part) / max(self.expected, self.settlings)
        self.tell(WorkStep(what, max(done, 0.0)))

    def _finished(self, point: _Rolled, steps: tuple[int, ...], *, deviations: bool) -> LoopFit:
        whole, kept = self._whole(point), self._independent(point)
        p = self.model.count
        at_bound = [k for k in kept if k < p and point.theta[k] <= self.lower[k]]
        known = point.theta.copy()
        known[kept] = 0.0
        part = whole.reduced(kept, known)
        own = point.theta[kept]
        prior = self._prior(point)[:, [*kept, -1]]
        R = triangle(np.concatenate([part.triangle(point.rms), prior]))[:-1, :-1]
        used = np.sum((part.totals[:, :, :-1] / point.rms[:, None, None] @ inverse(R)) ** 2, axis=(1, 2))
        sigma = point.rms * np.sqrt(part.samples / np.maximum(part.samples - used, 1.0))
        hidden = self._hidden(kept, point)
        notes = [_bound_note(self.model, k, self.lower[k]) for k in at_bound]
        notes += contact_notes(self.logs, [~counts for counts in self.counted])
        return LoopFit(
            self.model, point.theta[:p], sigma, part, tuple(kept), hidden, steps, self.iterations,
            self._spread(part, own, sigma, point.rest, prior) if deviations else None, (*self.notes, *notes),
            tuple(~counts for counts in self.counted), self.memory,
        )  # fmt: skip

    def _spread(self, part: Observation, own: Array, sigma: Array, rest: Sequence[Array], prior: Array) -> Spread:
        """Standard deviations: from the spectra of a few logs; of many logs from their scores, each about the others.

        Many short runs stand, slide and fall: their residuals have no common spectrum.
        """
        shown = sum(name in self.model.names for name in part.names)  # not those of initial states
        steep = 1.0
        if self.widths is not None:  # Huber's loss bends less than the squares that Gauss-Newton puts in its place
            far = np.abs(np.concatenate(rest)) / self.widths
            steep = float(np.mean(np.where(far > 1, 1 / np.maximum(far, 1), 1.0) ** 2) / np.mean(far <= 1))
        prior = np.sqrt(steep) * prior  # which bends as much as its squares
        if len(self.logs) > STRETCHES:
            found = left_out_spread(part, sigma, prior)
        else:
            found = spread(part, own, sigma, prior[:, :-1] if len(prior) else None, shown)
        by_prior = np.sum((found.white @ prior[:, : len(found.white)].T) ** 2, axis=1) / np.diag(found.white)
        variance = (steep * found.inflation) ** 2 - (steep**2 - steep * self.memory) * by_prior
        return _not_narrower(replace(found, inflation=np.sqrt(variance)))

    def _inflation(self, point: _Rolled) -> Array:
        """Ratio of standard deviations to those for white residuals, by joint groups; 1 for initial states."""
        found = np.ones(self.total)
        kept = set(self._independent(point))
        for g, group in enumerate(self.model.groups):
            own = self.model.layout.outputs_of(group.joints)
            seen = sorted({c for k, parts in enumerate(point.slopes) for c in self._places(k, parts[g])} & kept)
            pairs = []
            for k, parts in enumerate(point.slopes):
                places = self._places(k, parts[g])
                mine = [c for c in places if c in kept]
                Y = np.zeros((len(parts[g].values), len(own), len(seen)))
                Y[:, :, [seen.index(c) for c in mine]] = parts[g].values[:, :, [places.index(c) for c in mine]]
                pairs.append((Y, point.rest[k][:, own] + Y @ point.theta[seen]))
            part = observation_of(self.model, [self.names[c] for c in seen], [log.name for log in self.logs], pairs)
            shown = [c for c in seen if c < self.model.count]
            widths = _not_narrower(spread(part, point.theta[seen], point.rms[own], values=len(shown))).inflation
            found[shown] = np.maximum(found[shown], widths)
        return found

    def _hidden(self, kept: Sequence[int], point: _Rolled) -> dict[str, str]:
        """Messages on unidentifiable unknowns, by name."""
        R = self._triangle(point)[:-1, :-1]
        lengths = np.linalg.norm(R, axis=0)
        found = {}
        for k, name in enumerate(self.model.names):
            if k in kept:
                continue
            if lengths[k] <= 1e-12 * lengths.max():
                found[name] = f"{name} was not excited: it has no effect on the positions in this motion"
                continue
            basis, *_ = np.linalg.lstsq(R[:, list(kept)] / lengths[list(kept)], R[:, k] / lengths[k], rcond=None)
            order = [c for c in np.argsort(-np.abs(basis)) if abs(basis[c]) > 1e-4][:4]
            others = ", ".join(self.names[kept[c]] for c in order)
            found[name] = f"{name} is not identifiable alone: in this motion it acts only in combination with {others}"
        return found


def _rows_apart(rest: Sequence[Array]) -> Array:
    """Number of rows of each position over the time that its residuals are correlated for."""
    return np.array(
        [sum(len(x) / autocorrelation_time(x) for x in own) for own in zip(*(e.T for e in rest), strict=True)]
    )


def _huber_widths(rest: Sequence[Array], counted: Sequence[NDArray[np.bool_]]) -> Array:
    """Residuals of each position beyond which Huber's loss grows linearly, from the median of all."""
    every, counts = np.concatenate(rest), np.concatenate(counted)
    medians = [np.median(np.abs(e[own])) if own.any() else 1.0 for e, own in zip(every.T, counts.T, strict=True)]
    return np.asarray(np.maximum(HUBER / NORMAL_MEDIAN * np.array(medians), 1e-12))


def _bent(e: Array, widths: Array) -> tuple[Array, Array]:
    """Residuals whose squares are twice Huber's loss, and their derivatives by the residuals."""
    far = np.abs(e) > widths
    bent = np.where(far, np.sign(e) * np.sqrt(np.maximum(widths * (2 * np.abs(e) - widths), 0.0)), e)
    return bent, np.where(far, widths / np.where(far, np.abs(bent), 1.0), 1.0)


def _bound_note(model: ServoModel, k: int, bound: float) -> str:
    name = model.names[k]
    if name.startswith("CJ"):
        return (
            f"joint {model.robot.coordinate_names[int(name[2:]) - 1]} moves like a rigid joint: it need not be elastic"
        )
    return f"{name} is at its bound {bound:g}"


def moved(
    model: ServoModel,
    logs: Sequence[LoopLog],
    theta: Array,
    steps: Sequence[int],
    most: int = ITERATIONS,
    *,
    close: float = SMALL_MOVE,
    tell: Tell = silent,
) -> _Rolled:
    """Values after at most some iterations from theta, without standard deviations."""
    with one_thread():
        fit = _OutputError(model, logs, tell)
        fit.most, fit.close, fit.expected = most, close, 1
        return fit._settled(fit._start(tuple(steps), theta), steps)


@dataclass(frozen=True)
class Reached:
    """Values that a short fit reached, with their standard deviations under correlated residuals (NaN if not computed).

    rest: residuals of each log (N, n); rms: of each position.  apart (n,): number of rows of each position that count
    as independent.
    """

    theta: Array
    deviation: Array
    rest: list[Array]
    rms: Array
    apart: Array


def reached(
    model: ServoModel,
    logs: Sequence[LoopLog],
    theta: Array | None,
    steps: Sequence[int],
    tell: Tell = silent,
    *,
    deviations: bool = True,
) -> Reached:
    """Values near the best ones, from theta or from the control law's: no value should move by more than `MOVED`.

    Where another unknown stops it before, as the start of a joint that sticks, deviations include the rest of the way.
    """
    with one_thread():
        fit = _OutputError(model, logs, tell)
        fit.close, fit.expected = MOVED, 1
        point = fit._settled(fit._start(tuple(steps), theta), steps)
        deviation = np.full(fit.total, np.nan)
        if deviations:
            step, white = fit._proposed(point, 0.0)
            deviation = np.hypot(white * fit._inflation(point), step - point.theta)
        own = slice(model.count)
        return Reached(point.theta[own], deviation[own], point.rest, point.rms, _rows_apart(point.rest) / LASTS)


def probed(
    model: ServoModel, logs: Sequence[LoopLog], theta: Array, steps: Sequence[int]
) -> tuple[Array, Array, Array] | None:
    """First step of a fit: its values, standard deviations, and the fraction of each residual that it removes.

    Standard deviations are valid under correlated residuals.  None if the simulation diverges.
    """
    with one_thread():
        fit = _OutputError(model, logs)
        ends = [x for log in fit.logs for x in (*log.q0, *log.v0)]
        point = fit.at(np.clip(np.concatenate([theta, ends]), fit.lower, fit.upper), steps)
        if point is None:
            return None
        for _ in range(2):  # first the starts of the logs, of which nothing is to be learnt here
            fit.held = set(range(model.count))
            moved = fit.at(fit._proposed(point, 0.0)[0], steps)
            point = moved if moved is not None and moved.cost < point.cost else point
        fit.held = set()
        step, deviation = fit._proposed(point, 0.0)
        before, after = (np.zeros(len(point.rms)) for _ in range(2))
        for k, e in enumerate(point.rest):
            before += np.sum(e**2, axis=0)
            for part in point.slopes[k]:
                told = part.values @ (step - point.theta)[fit._places(k, part)]
                after[part.outputs] += np.sum((e[:, part.outputs] - told) ** 2, axis=0)
        ratio = np.divide(after, before, out=np.ones_like(after), where=before > 0)  # joints that stand leave nothing
        left = np.sqrt(np.mean(ratio))  # deviations are those of what the step leaves
        return step, left * fit._inflation(point) * deviation, 1 - ratio


def triangle_at(model: ServoModel, logs: Sequence[LoopLog], theta: Array, steps: Sequence[int]) -> tuple[Array, float]:
    """Triangular factor of [S | e + S theta] at given values, and the number of correlated rows that count as one.

    Its columns are those of the unknowns and of the initial states of all logs.  Raises an error if the simulation
    diverges.
    """
    with one_thread():
        started = [with_start(model, theta, log, count) for log, count in zip(logs, steps, strict=True)]
        fit = _OutputError(model, started)
        point = fit.at(np.concatenate([theta, *(x for log in started for x in (log.q0, log.v0))]), steps)
        if point is None:
            raise MinertiaError("the simulated motion diverges")
        rows = sum(e.size for e in point.rest)
        return fit._triangle(point), max(1.0, LASTS * rows / float(_rows_apart(point.rest).sum()))


def _not_narrower(widths: Spread) -> Spread:
    """Standard deviations bounded below by those for white residuals.

    Encoder noise is white, while model errors are slow.
    """
    return replace(widths, inflation=np.maximum(widths.inflation, 1.0))
