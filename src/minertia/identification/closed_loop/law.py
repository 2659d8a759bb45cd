"""Least squares on the control law's efforts: initial values of the output-error fit, quick fit, and DIDIM.

The same zero-phase filter is applied to commands and positions, on a grid fine enough that a
zero-order-held command is not shifted by half a sample.  Each simulation parameter (`Atom`) has its own
regressor column, so that known gains move to the right-hand side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.optimize import lsq_linear

from minertia.codegen.kernels.kernel import BatchKernel, regressor_program, torque_program
from minertia.codegen.rollout.commands import HeldCommand, TargetCommand
from minertia.identification.closed_loop.logs import LEAST_TRAVEL, LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.identification.problem.observation import LogTriangles, Observation, Rows
from minertia.identification.problem.rows import Change
from minertia.identification.problem.solve import weighted_solution
from minertia.identification.problem.triangles import Accumulator
from minertia.identification.signals.filtering import low_pass, rate_of_change
from minertia.identification.signals.spectrum import chosen_cutoff
from minertia.robot.effect import JointState
from minertia.robot.effects import BY_SYMBOL

Array = NDArray[np.float64]
FINE = 1000.0  # Hz of the grid
PER_CUTOFF = 5.0  # rate after decimation over the cut-off
TRIM = 1.5  # periods of the cut-off at each end that filters spoil
DELAYS = np.array([0.0, 0.002, 0.005, 0.01, 0.02, 0.04])  # s that are tried for an unknown one
ROUNDS = 3  # of simulated states
STEP = 1e-3  # s, of their simulation
STILL = 0.02  # of a joint's highest speed: slower motion does not tell the sign of friction


@dataclass(frozen=True)
class LawRows:
    """Regression equations of one log: Y (N, n, unknowns) and tau (N, n), with Y theta = tau."""

    Y: Array
    tau: Array


class LawEquations:
    """Regression equations of one log, of which everything that does not depend on the delay is computed once.

    states (N, n): positions from which the robot's own regressor columns are computed.
    """

    def __init__(self, model: ServoModel, log: LoopLog, states: Array | None = None) -> None:
        self.model, self.log = model, log
        self.rate, self.factor, self.cutoff = _rates(log)
        measured = _signals(log.q, log.period, self.factor, self.cutoff, self.rate)
        own = measured if states is None else _signals(states, log.period, self.factor, self.cutoff, self.rate)
        self.grid = np.asarray(np.arange(len(measured[0])) / self.rate)
        step = max(1, int(self.rate / (PER_CUTOFF * self.cutoff)))
        self.smooth = min(0.4 * self.rate / step, 0.45 * self.rate)
        ends = int(TRIM / self.cutoff * self.rate)
        self.kept = slice(ends + round(log.first * self.factor), len(self.grid) - ends, step)
        motors = list(model.layout.motor_outputs)
        seen = motors if model.layout.feedback == "motor" else list(range(model.robot.n))
        self.position, self.speed, self.own = measured[0][:, seen], measured[1][:, seen], own[0][:, : model.robot.n]
        columns, known = _robot_columns(model, own)
        count = len(range(*self.kept.indices(len(self.grid))))
        self.robot = LawRows(np.zeros((count, model.robot.n, model.count)), -self._thinned(known))
        self._add(self.robot, columns)

    def rows(self, delay: float) -> LawRows:
        """Filtered regression equations of the control law's efforts at a delay [s]."""
        log, edges = self.log, np.concatenate([self.grid - 0.5 / self.rate, self.grid[-1:] + 0.5 / self.rate])
        u = _mean_command(self.model, log, edges - delay + log.lead)
        error = low_pass(u, self.cutoff, self.rate) - self.position
        columns = _law_columns(self.model, self.own, error, self.speed, self.rate)
        if log.supply is not None:
            row = np.minimum(np.arange(len(self.grid)) // self.factor, len(log.q) - 1)
            gain, room, on = (x[row] for x in (log.supply.gain, log.supply.room, log.supply.on))
            columns["kp"] = -np.clip(gain * error, -room, room)
            columns["kd"] = on * columns["kd"]
        found = LawRows(self.robot.Y.copy(), self.robot.tau.copy())
        self._add(found, columns)
        return found

    def _add(self, rows: LawRows, columns: dict[str, Array]) -> None:
        """Add columns to equations, and those of known parameters to their right-hand side."""
        model, constant = self.model, self.model.with_carried(self.model.constant, self.log.carried)
        for kind, values in columns.items():
            series, places = self._thinned(values), model.places[kind]
            if kind == "link":
                rows.Y[:] += series @ model.G[places]
                rows.tau[:] -= series @ constant[places]
            else:
                joints = [model.atoms[k].place for k in places]
                rows.Y[:, joints] += series[:, :, None] * model.G[places]
                rows.tau[:, joints] -= series * constant[places]

    def _thinned(self, x: Array) -> Array:
        """Filter a column with the common filter and decimate it to the retained rows."""
        smooth = low_pass(x.reshape(len(x), -1), self.smooth, self.rate)
        return np.asarray(smooth[self.kept]).reshape(-1, *x.shape[1:])


def filtered_signals(log: LoopLog) -> tuple[Array, Array, Array]:
    """Filtered measured positions, velocities and accelerations (M, outputs), without filter transients."""
    rate, factor, cutoff = _rates(log)
    ends = int(TRIM / cutoff * rate)
    found = _signals(log.q, log.period, factor, cutoff, rate)
    q, qd, qdd = (x[ends : len(x) - ends] for x in found)
    return q, qd, qdd


def _rates(log: LoopLog) -> tuple[float, int, float]:
    """Sampling rate of the fine grid [Hz], its rows per row of the log, and the cut-off [Hz]."""
    factor = max(1, int(np.ceil(FINE * log.period)))
    return factor / log.period, factor, chosen_cutoff(log.q, 1 / log.period)


def _signals(q: Array, period: float, factor: int, cutoff: float, rate: float) -> tuple[Array, Array, Array]:
    """Filtered position, velocity and acceleration on the fine grid."""
    t = period * np.arange(len(q))
    grid = np.arange((len(q) - 1) * factor + 1) / rate
    fine = q if factor == 1 else make_interp_spline(t, q, k=3)(np.minimum(grid, t[-1]))
    smooth = low_pass(np.asarray(fine), cutoff, rate)
    speed = rate_of_change(smooth, rate)
    return smooth, speed, rate_of_change(speed, rate)


def _mean_command(model: ServoModel, log: LoopLog, edges: Array) -> Array:
    told = log.given
    if log.supply is not None:
        return TargetCommand(told.u, told.t, first_speeds(model, [log])).followed(edges).means
    return HeldCommand(told.u, told.t, model.command.hold == "linear").means(edges)[0]


def first_speeds(model: ServoModel, logs: Sequence[LoopLog]) -> Array:
    """Speeds of targets: known ones, and for unknown ones the highest speed of the joints in the logs."""
    known = model.of_kind("speed", model.constant)
    unknown = model.G[model.places["speed"]].any(axis=1)
    fastest = np.max([np.abs(filtered_signals(log)[1]).max(axis=0) for log in logs], axis=0)[: model.robot.n]
    return np.asarray(np.where(unknown, fastest, known))


def _robot_columns(model: ServoModel, own: tuple[Array, Array, Array]) -> tuple[dict[str, Array], Array]:
    """Regressor columns of the robot's parameters by kind, and the known efforts (N, n), those of the robot file.

    Columns are (N, joints) for each kind of joint parameter, and (N, n, links) for link parameters.
    Load-dependent friction has no column: the load is not known yet.
    """
    q, qd, qdd = (x[:, : model.robot.n] for x in own)
    at_motor = list(model.layout.motor_outputs)  # what the motors of elastic joints turn with
    rates, accelerations = own[1][:, at_motor], own[2][:, at_motor]
    known, columns = np.zeros_like(q), {}
    if model.keeps_links and not model.links:
        robot = model.robot.without_effects(tuple(model.robot.effect_values))
        known = BatchKernel(torque_program(robot), compiling=False)(q, qd, qdd)
    elif model.links:
        columns["link"] = BatchKernel(regressor_program(model.robot, model.links), compiling=False)(q, qd, qdd)
    sign = np.where(np.abs(rates) > STILL * np.abs(rates).max(axis=0), np.sign(rates), 0.0)
    states = [JointState(q[:, j], rates[:, j], accelerations[:, j], sliding=sign[:, j]) for j in range(model.robot.n)]
    for kind, places in model.places.items():
        if kind in BY_SYMBOL and "load" not in BY_SYMBOL[kind].inputs:
            atoms = [model.atoms[k] for k in places]
            shapes = [np.broadcast_to(model.shape(atom, states[atom.place]), len(q)) for atom in atoms]
            columns[kind] = np.stack(shapes, axis=1).astype(float)
    return columns, np.asarray(known)


def _law_columns(model: ServoModel, q: Array, error: Array, speed: Array, rate: float) -> dict[str, Array]:
    """Regressor columns (N, joints) of the gains by kind."""
    area = np.cumsum(error, axis=0) / rate
    reference = np.gradient(error + q, 1 / rate, axis=0) if model.command.velocity_reference else 0.0
    return {"kp": -error, "ki": -area, "kd": speed - reference}


def observation_of(
    model: ServoModel, names: Sequence[str], titles: Sequence[str], rows: Sequence[tuple[Array, Array]]
) -> Observation:
    """Regression equations (Y, tau) of logs as an `Observation`, with its R factors, weights and intervals.

    Each log is one block, since this problem needs no cross-validation over parts of a log.
    """
    logs = []
    for title, (Y, tau) in zip(titles, rows, strict=True):
        store = Accumulator(Y.shape[1], Y.shape[2] + 1, len(Y), 1, "qr")
        store.add(Y, tau)
        triangles, counts = store.finish()
        logs.append(LogTriangles(title, triangles, counts, store.largest, (), np.zeros((3, Y.shape[1]))))

    def stream(change: Change | None = None) -> Iterator[Rows]:
        for k, (Y, tau) in enumerate(rows):
            yield Rows(k, Y, tau)

    def rest(theta: Array) -> Iterator[tuple[int, Array]]:
        for k, (Y, tau) in enumerate(rows):
            yield k, tau - Y @ theta

    count = len(names)
    return Observation(
        model.linear, tuple(names), tuple(logs), stream, rest, tuple(range(count)), np.zeros(max(count, 1))[:count]
    )


def independent_columns(R: Array, tolerance: float = 1e-7) -> list[int]:
    """Indices of linearly independent columns of an R factor, found by Gram-Schmidt on unit-norm columns."""
    lengths = np.linalg.norm(R, axis=0)
    largest = float(lengths.max(initial=0.0))
    kept: list[int] = []
    Q = np.zeros((len(R), 0))
    for c in range(R.shape[1]):
        if lengths[c] <= 1e-12 * largest:
            continue
        v = R[:, c] / lengths[c]
        for _ in range(2):
            v = v - Q @ (Q.T @ v)
        size = float(np.linalg.norm(v))
        if size > tolerance:
            Q = np.column_stack([Q, v / size])
            kept.append(c)
    return kept


def law_fit(model: ServoModel, logs: Sequence[LoopLog], states: Sequence[Array] | None = None) -> Array | None:
    """Least-squares estimate from the efforts of the control law; an unknown delay by a refined grid search."""
    delays, place = DELAYS, None
    if "delay" in model.names:
        place = model.names.index("delay")
        if model.lower[place] < 0:
            delays = np.concatenate([[model.lower[place]], DELAYS])
    else:
        delays = np.array([model.constant[model.places["delay"][0]]])
    made = [LawEquations(model, log, None if states is None else states[k]) for k, log in enumerate(logs)]
    tried = [_fit_at(model, made, float(d)) for d in delays]
    costs = np.array([np.inf if found is None else found[1] for found in tried])
    best = int(np.argmin(costs))
    chosen = tried[best]
    if chosen is None:
        return None
    theta = chosen[0]
    if place is not None:
        theta[place] = _valley(delays, costs, best)
    return theta


def _valley(x: Array, y: Array, k: int) -> float:
    """Abscissa of the minimum of a parabola through point k of a curve and its two neighbours."""
    if not 0 < k < len(x) - 1 or not np.isfinite(y[k - 1 : k + 2]).all():
        return float(x[k])
    a, b, _ = np.polyfit(x[k - 1 : k + 2], y[k - 1 : k + 2], 2)
    return float(np.clip(-b / (2 * a), x[k - 1], x[k + 1])) if a > 0 else float(x[k])


def _fit_at(model: ServoModel, made: Sequence[LawEquations], delay: float) -> tuple[Array, float] | None:
    """Least-squares estimate and cost at one delay."""
    logs = [own.log for own in made]
    found = [own.rows(delay) for own in made]
    rows = [(one.Y, one.tau) for one in found]
    whole = observation_of(model, model.names, [log.name for log in logs], rows)
    keep = independent_columns(whole.triangle()[:-1, :-1])
    if not keep:
        return None
    part = whole.reduced(keep)
    try:
        if any(isinstance(v, str) for v in model.command.each("kp", model.robot.n)):
            # zero would explain the efforts of a joint whose gain is unknown, too: noise must not set its weight
            lag = np.sqrt(np.mean(np.concatenate([log.lag[:, : model.robot.n] for log in logs]) ** 2, axis=0))
            R = part.triangle(np.where(lag > LEAST_TRAVEL, lag, np.inf))  # without lag, its servo shows nothing
        else:
            _, R, _ = weighted_solution(part)
    except np.linalg.LinAlgError:
        return None
    x, shown = np.zeros(len(keep)), independent_columns(R[:-1, :-1])  # fewer where rows were left out
    bounds = [own[keep][shown] for own in (model.lower, model.upper)]
    x[shown] = lsq_linear(R[:-1, shown], R[:-1, -1], bounds).x
    theta = np.zeros(model.count)
    theta[keep] = x
    return theta, float(np.log(max(float(np.linalg.norm(R[:, :-1] @ x - R[:, -1])), 1e-300)))


def didim(model: ServoModel, logs: Sequence[LoopLog]) -> Array | None:
    """DIDIM: least squares on the control law's efforts, with the regressor evaluated at simulated states.

    Method of Gautier, Janot and Vandanjon.
    """
    theta = law_fit(model, logs)
    for _ in range(ROUNDS):
        if theta is None:
            break
        states = []
        for log in logs:
            count = max(1, int(np.ceil(log.period / STEP)))
            found = simulated(model, theta, with_start(model, theta, log, count), count, slopes=False)
            if found is None:
                return theta
            states.append(found.q)
        theta = law_fit(model, logs, states)
    return theta
