"""Joint effects at the coordinates of a simulated group, generated from the table of effects (`robot.effects`).

Smooth effects are efforts integrated implicitly, at the midpoint of a step; dry friction gives bounds, evaluated at
its start with the load of the step itself; an effect of the acceleration adds to the mass matrix.  Values and
constants are inputs, so that groups with the same effects at the same coordinates share one compiled function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.derivative import reverse
from minertia.algebra.expr import Expr, Graph
from minertia.algebra.scalar import Scalar, add, mul, neg
from minertia.codegen.program import Port, Program
from minertia.io.arrays import Array
from minertia.robot.effect import Effect, JointState
from minertia.robot.effects import BY_SYMBOL, EFFECTS

# simulations have no temperatures and no memory of the path
SIMULATED = tuple(e.name for e in EFFECTS if not {"temperature", "presliding"} & {*e.inputs})


class EffectAt(NamedTuple):
    """An effect at one coordinate of a group (from 0), with its constants."""

    symbol: str
    place: int
    constants: Mapping[str, float]

    @property
    def row(self) -> Effect:
        """Row of the table of effects."""
        return BY_SYMBOL[self.symbol]


@dataclass(frozen=True)
class GroupEffects:
    """All effects of a group of n coordinates."""

    n: int
    all: tuple[EffectAt, ...] = ()

    @cached_property
    def programs(self) -> EffectPrograms:
        """Generated programs; shared by all groups with the same effects at the same coordinates."""
        return effect_programs(self.n, tuple((effect.symbol, effect.place) for effect in self.all))

    @property
    def constants(self) -> Array:
        """Constants of all effects, concatenated in the order of the programs."""
        return np.array([e.constants[name] for e in self.all for name in e.row.constants], float)

    @property
    def places(self) -> NDArray[np.int32]:
        """Coordinate of each effect."""
        return np.array([effect.place for effect in self.all], np.int32)

    @property
    def are_inertia(self) -> NDArray[np.int32]:
        """Whether each effect adds to the mass matrix."""
        return np.array([_is_inertia(effect.row) for effect in self.all], np.int32)

    @property
    def read_load(self) -> NDArray[np.int32]:
        """Whether each coordinate has friction that depends on its load."""
        found = np.zeros(self.n, np.int32)
        found[[effect.place for effect in self.all if "load" in effect.row.inputs]] = 1
        return found


@dataclass(frozen=True)
class EffectPrograms:
    """Programs of a group's effects.

    efforts: program for the efforts of smooth effects with their derivatives with respect to position and
    velocity, for additions to the mass matrix, for friction bounds forwards and backwards, and for their
    derivatives with respect to the load, n each.  Its inputs are q and qd at the start of a step, its load
    (n each), at and rate at its midpoint, values e and constants c.  slopes: program for the derivatives of
    friction with respect to q, qd and load (n each), and for the effort of each effect with value 1; its
    inputs are the same, accelerations and directions of sliding.  is_linear: whether all smooth efforts are
    linear in the motion.
    """

    efforts: Program
    slopes: Program
    is_linear: bool


@cache
def effect_programs(n: int, effects: tuple[tuple[str, int], ...]) -> EffectPrograms:
    """The programs of effects (symbol, coordinate) at n coordinates."""
    smooth = _EffectProgram(n, effects, ("q", "qd", "load", "at", "rate"))
    totals = [smooth.total(j, smooth.smooth) for j in range(n)]
    by = [smooth.slopes(total, (smooth.at[j], smooth.rate[j])) for j, total in enumerate(totals)]
    inertia = [smooth.total(j, smooth.inertia) for j in range(n)]
    bounds = [[smooth.total(j, smooth.dry(way)) for j in range(n)] for way in (1, -1)]
    bounds[1] = [neg(bound) for bound in bounds[1]]
    by_load = [smooth.slopes(bound, [smooth.load[j]])[0] for way in bounds for j, bound in enumerate(way)]
    outputs = [*totals, *(b[0] for b in by), *(b[1] for b in by), *inertia, *bounds[0], *bounds[1], *by_load]
    names = ("effort", "by_q", "by_qd", "inertia", "up", "down", "up_by_load", "down_by_load")
    efforts = smooth.program("loop_effects", [Port(name, (n,)) for name in names], outputs)
    curves = [smooth.slopes(s, (smooth.at[j], smooth.rate[j])) for j, pair in enumerate(by) for s in pair]
    is_linear = not any(isinstance(c, Expr) and c.value != 0 for curve in curves for c in curve)
    return EffectPrograms(efforts, _slopes_program(n, effects), is_linear)


def _slopes_program(n: int, effects: tuple[tuple[str, int], ...]) -> Program:
    g = _EffectProgram(n, effects, ("q", "qd", "load", "at", "rate", "acceleration", "sliding"))
    rubbing = [g.total(j, g.dry(g.sliding[j])) for j in range(n)]
    by = [g.slopes(total, (g.q[j], g.qd[j], g.load[j])) for j, total in enumerate(rubbing)]
    shapes = [g.unit(k) for k in range(len(effects))]
    ports = [*(Port(name, (n,)) for name in ("by_q", "by_qd", "by_load")), Port("shapes", (len(effects),))]
    return g.program("loop_effect_slopes", ports, [*(b[k] for k in range(3) for b in by), *shapes])


class _EffectProgram:
    """Expressions of one effects program."""

    def __init__(self, n: int, effects: Sequence[tuple[str, int]], inputs: Sequence[str]) -> None:
        self.graph, self.effects = Graph(), effects
        self.ports = [Port(name, (n,)) for name in inputs]
        read = {name: self.graph.variables(name, n) for name in inputs}
        self.q, self.qd, self.load, self.at, self.rate = (read[name] for name in ("q", "qd", "load", "at", "rate"))
        self.acceleration, self.sliding = (read.get(name, []) for name in ("acceleration", "sliding"))
        rows = [BY_SYMBOL[symbol] for symbol, _ in effects]
        count = sum(len(row.constants) for row in rows)
        self.ports += [Port("e", (len(effects),)), *([Port("c", (count,))] if count else [])]
        self.values = self.graph.variables("e", len(effects))
        numbers = iter(self.graph.variables("c", count))
        self.constants = [{name: next(numbers) for name in row.constants} for row in rows]

    def total(self, j: int, unit: Mapping[int, Scalar]) -> Scalar:
        """Total effort at a coordinate, given the efforts of its effects with value 1."""
        found: Scalar = 0
        for k, shape in unit.items():
            if self.effects[k][1] == j:
                found = add(found, mul(self.values[k], shape))
        return found

    @property
    def smooth(self) -> dict[int, Scalar]:
        """Efforts of smooth effects with value 1, at the midpoint of the step."""
        return {k: self.unit(k) for k, row in self._rows() if not row.is_dry and not _is_inertia(row)}

    @property
    def inertia(self) -> dict[int, Scalar]:
        """Efforts of inertial effects at unit acceleration."""
        state = JointState(0, 0, 1)
        return {k: row.shape(state, self.constants[k]) for k, row in self._rows() if _is_inertia(row)}

    def dry(self, sliding: Scalar) -> dict[int, Scalar]:
        """Efforts of dry friction with value 1 for a sliding direction of its coordinate."""
        return {k: self._dry(k, sliding) for k, row in self._rows() if row.is_dry}

    def _dry(self, k: int, sliding: Scalar) -> Scalar:
        symbol, j = self.effects[k]
        state = JointState(self.q[j], self.qd[j], 0, self.load[j], None, sliding)
        return BY_SYMBOL[symbol].shape(state, self.constants[k])

    def unit(self, k: int) -> Scalar:
        """Effort of one effect with value 1."""
        symbol, j = self.effects[k]
        if BY_SYMBOL[symbol].is_dry:
            return self._dry(k, self.sliding[j])
        acceleration = self.acceleration[j] if self.acceleration else 0
        return BY_SYMBOL[symbol].shape(JointState(self.at[j], self.rate[j], acceleration), self.constants[k])

    def _rows(self) -> list[tuple[int, Effect]]:
        return [(k, BY_SYMBOL[symbol]) for k, (symbol, _) in enumerate(self.effects)]

    def slopes(self, effort: Scalar, inputs: Sequence[Expr]) -> list[Scalar]:
        """Derivatives of an effort with respect to inputs."""
        found = reverse(self.graph, [effort], [self.graph.constant(1.0)]) if isinstance(effort, Expr) else {}
        return [found.get(x.id, 0) for x in inputs]

    def program(self, name: str, ports: Sequence[Port], outputs: Sequence[Scalar]) -> Program:
        flat = tuple(o if isinstance(o, Expr) else float(o) for o in outputs)
        return Program(name, self.graph, tuple(self.ports), tuple(ports), flat).simplified(thorough=False)


def _is_inertia(row: Effect) -> bool:
    return "qdd" in row.inputs
