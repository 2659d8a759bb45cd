"""Efforts of a trajectory from the regressor already computed: tau = W beta, plus effects without columns in W."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from minertia.base.grouping import BaseParameters
from minertia.dynamics.effects import UnitEffects, effect_torques
from minertia.dynamics.kinematics import State
from minertia.excitation.model import SlopedModel
from minertia.io.arrays import Array
from minertia.robot.effects import BY_SYMBOL, MOTOR_SYMBOLS, STANDARD_SYMBOLS, STANDARD_TWINS
from minertia.robot.parameters import full_name
from minertia.robot.robot import Robot

Values = Sequence[Mapping[str, float]]


class EffortModel:
    """Nominal efforts of all effects, except those discontinuous at velocity reversal, which have no derivative.

    beta: values of the base parameters; viscous, rotors (n, n) and offset (n,): effects without a column in W; others:
    springs and other nonlinear effects, as a function.  Discontinuous effects count with their bound: coulomb (n,) is
    the largest Coulomb friction, and load-dependent friction multiplies every effort by `gain` (n,).
    """

    def __init__(self, base: BaseParameters) -> None:
        robot, own = _drives(base.robot.numeric)
        chi = robot.parameters()
        table = {full_name(s, j + 1): v for j, x in enumerate(chi) for s, v in x.items()}
        self.beta = base.values([0.0 if _is_bounded(name) else table[name] for name in base.columns])
        known = set(base.columns)
        linear = [
            {s: v for s, v in x.items() if s in STANDARD and not BY_SYMBOL[s].is_bounded} for x in _left(chi, known)
        ]
        n = robot.n
        zero = np.zeros(n)
        cut = np.ix_(own, own)

        def effects(qd: Array, qdd: Array) -> Array:
            state = State(list(zero), list(qd), list(qdd))
            return np.array(effect_torques(robot, linear, state, zero.tolist()), np.float64)

        offset = effects(zero, zero)
        self.offset = offset[own]
        self.viscous = np.column_stack([effects(e, zero) - offset for e in np.eye(n)])[cut]
        self.rotors = np.column_stack([effects(zero, e) - offset for e in np.eye(n)])[cut]
        self.coulomb = _bounded_sizes(robot, chi)[own]
        self.gain = 1 + _load_shares(robot, chi)[own]
        sloped = [{s: v for s, v in x.items() if v and s in SLOPED} for x in chi]
        self.others = SlopedModel(base.robot.numeric, sloped) if any(sloped) else None

    def efforts(self, W: Array, q: Array, qd: Array, qdd: Array) -> Array:
        """Nominal efforts (N, n) [N m or N], without effects that are discontinuous at velocity reversal."""
        return self.with_effects((W @ self.beta).reshape(qd.shape), q, qd, qdd)

    def with_effects(self, smooth: Array, q: Array, qd: Array, qdd: Array) -> Array:
        """Efforts (N, n): those of the columns of W (`smooth`) plus those of the other differentiable effects."""
        tau = smooth + qd @ self.viscous.T + qdd @ self.rotors.T + self.offset
        return np.asarray(tau if self.others is None else tau + self.others.value(q, qd))

    def sizes(self, tau: Array) -> Array:
        """Magnitude of every effort (N, n), with load-dependent and discontinuous friction at their largest."""
        return np.asarray(np.abs(tau) * self.gain + self.coulomb)

    def largest(self, tau: Array) -> Array:
        """Largest magnitude (n,) of efforts (N, n), including discontinuous friction."""
        return np.asarray(self.sizes(tau).max(axis=0))

    def add_slopes(self, by_effort: Array, state: Array, slopes: Array) -> None:
        """Add the contribution of effects without a column in W to a gradient (3, N, n).

        slopes: gradient with respect to q, qd and qdd, changed in place.  by_effort: gradient (N, n) with
        respect to the efforts.
        """
        slopes[1] += by_effort @ self.viscous
        slopes[2] += by_effort @ self.rotors
        if self.others is not None:
            for own, more in zip(slopes, self.others.vjp(state[0], state[1], by_effort), strict=False):
                own += more


def _drives(robot: Robot) -> tuple[Robot, list[int]]:
    """Robot on whose joints the drives act (spanning tree if it has loops), and indices of the coordinates in it."""
    if not robot.open_cuts:
        return robot, list(range(robot.n))
    return robot.opened, [robot.opened.independent.index(j) for j in robot.independent]


STANDARD = (*STANDARD_SYMBOLS, *STANDARD_TWINS)
SLOPED = frozenset(s for s, e in BY_SYMBOL.items() if s not in STANDARD and not e.is_bounded and "load" not in e.inputs)


def _is_bounded(name: str) -> bool:
    symbol = name.rstrip("0123456789")
    return symbol in BY_SYMBOL and BY_SYMBOL[symbol].is_bounded


def _left(chi: Values, known: set[str]) -> list[dict[str, float]]:
    """Parameter values without those that have a column in W."""
    return [
        {s: v for s, v in x.items() if full_name(s, j + 1) not in known and s in BY_SYMBOL} for j, x in enumerate(chi)
    ]


def _bounded_sizes(robot: Robot, chi: Values) -> Array:
    """Largest effort on each coordinate of all bounded effects."""
    rate = np.linspace(1.0, 2.0, robot.n).tolist()  # no combination of these vanishes by accident
    unit = UnitEffects(robot, State([0.0] * robot.n, rate, rate))
    total = np.zeros(robot.n)
    for j, x in enumerate(chi):
        for symbol, value in x.items():
            if symbol in BY_SYMBOL and BY_SYMBOL[symbol].is_bounded:
                for c, effort in unit.of(j, "FCM" if symbol in MOTOR_SYMBOLS else "FC").items():
                    total[c] += abs(value * float(effort))
    return total


def _load_shares(robot: Robot, chi: Values) -> Array:
    """Ratio of load-dependent friction to the load on each coordinate, while motors drive their loads.

    When loads drive their motors the effort is smaller by the friction.
    """
    ones = [1.0] * robot.n
    unit, total = UnitEffects(robot, State(ones, ones, ones), ones), np.zeros(robot.n)
    for j, x in enumerate(chi):
        for symbol, value in x.items():
            if value and symbol in BY_SYMBOL and "load" in BY_SYMBOL[symbol].inputs:
                for c, effort in unit.of(j, symbol).items():
                    total[c] += abs(value * float(effort))
    return total


def parameter_sizes(base: BaseParameters, floor: float = 0.1) -> Array:
    """Scale of each base parameter for relative standard deviations; nan if the file has no value of its kind.

    The nominal value, but at least a fraction `floor` of the root mean square of its kind over the robot, so that a
    parameter that happens to be zero does not require infinite precision.
    """
    values = base.values()
    kinds = [_kind(name) for name in base.names]
    scale: Mapping[str, float] = {
        kind: float(np.sqrt(np.mean([v**2 for v, k in zip(values, kinds, strict=True) if k == kind])))
        for kind in set(kinds)
    }
    sizes = [max(abs(v), floor * scale[k]) for v, k in zip(values, kinds, strict=True)]
    return np.array([s if s > 0 else np.nan for s in sizes])


def _kind(name: str) -> str:
    symbol = name.rstrip("0123456789").removesuffix("R").rstrip("0123456789_")
    if symbol in BY_SYMBOL:
        return symbol
    return "inertia" if len(symbol) == 2 and symbol[0] != "M" else symbol[:1]
