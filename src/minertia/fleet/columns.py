"""Superset of regressor columns of a robot type, fixed once for all later fits.

Inertial columns are those of the base parameters with rotors; a payload is a linear combination of them
and needs no column.  Each coordinate has its own columns of friction, temperature, load and stiffness:
the rows of the table of effects with `fleet` set.  Direction-dependent Coulomb friction needs none: FC
and OFF together represent it wherever the joint moves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.base import numeric
from minertia.codegen.kernels import build
from minertia.fleet.evidence import EvidenceLayout
from minertia.fleet.options import TypeEntries
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.regressor import MANY
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, MissingParameters
from minertia.io.notebook import clipped, plural
from minertia.io.resources import one_thread
from minertia.robot.effect import Effect, JointState
from minertia.robot.effects import TABLE
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.parameters import BIAS_SYMBOLS, full_name
from minertia.robot.robot import Robot

UNSEEN = 1e-12  # of a column's largest entry: less than that an effort does not see


# rows of the table of effects; first those that are free on each day, so that what triangles have below them is what
# days share
FLEET: Mapping[str, Effect] = {e.name: e for level in ("day", "robot") for e in TABLE if e.fleet == level}
USUAL = TypeEntries("")
DAY = tuple(symbol for symbol, effect in FLEET.items() if effect.fleet == "day")
ROBOT = tuple(symbol for symbol, effect in FLEET.items() if effect.fleet == "robot")


@dataclass(frozen=True)
class OwnColumn:
    """Regressor column that every coordinate has: an effect with its constants.

    tag: suffix that distinguishes several columns of one effect.
    """

    symbol: str
    tag: str
    constants: Mapping[str, float]

    @property
    def effect(self) -> Effect:
        """Effect of the column."""
        return FLEET[self.symbol]


def own_columns(temperature: float = USUAL.temperature) -> tuple[OwnColumn, ...]:
    """Columns of every coordinate; an effect with an unknown constant has one for each candidate value."""
    found = []
    for symbol, effect in FLEET.items():
        values, missing = effect.filled({"reference": temperature} if "reference" in effect.constants else {})
        if missing:
            found += [OwnColumn(symbol, f"@{v:g}", {**values, missing[0]: v}) for v in effect.scan]
        else:
            found.append(OwnColumn(symbol, "", values))
    return tuple(found)


@dataclass(frozen=True)
class ColumnSet:
    """Superset of columns of a robot type.

    model: linear model of the inertial unknowns.  reference: their fixed values, from which FCL takes the
    load of each joint.  temperature [degC]: reference temperature of friction.  rest [rad/s or m/s]: speed
    below which a joint counts as at rest, and its effort is not used.  own: effect columns of every
    coordinate.  seen: for each effort, indices of the inertial unknowns that act on it.  origin: text of
    the robot that the reference values are from.
    """

    model: LinearModel
    reference: Array
    temperature: float
    rest: float
    own: tuple[OwnColumn, ...]
    seen: tuple[tuple[int, ...], ...]
    origin: str

    def __repr__(self) -> str:
        return (
            f"<ColumnSet of '{clipped(self.robot.name, 40)}': {plural(len(self.layout.names), 'column')}, "
            f"{plural(len(self.seen), 'effort')}>"
        )

    @property
    def robot(self) -> Robot:
        """Robot of the columns."""
        return self.model.robot

    @cached_property
    def layout(self) -> EvidenceLayout:
        """Names of all columns, and the columns of each effort: its effects or bias, then inertial columns."""
        numbers = [j + 1 for j in self.robot.independent]
        mine = [[f"{column.symbol}{j}{column.tag}" for column in self.own] for j in numbers]
        mine += [[name] for name in bias_names(self.robot)]
        names, seen = [name for own in mine for name in own], []
        for own, inertial in zip(mine, self.seen, strict=True):
            seen.append((*(names.index(name) for name in own), *(len(names) + k for k in inertial)))
        return EvidenceLayout((*names, *self.model.names), self.model.row_names, tuple(seen))

    @cached_property
    def digest(self) -> str:
        """Hash of everything that the columns depend on."""
        return digest_of(
            {
                "names": list(self.layout.names),
                "constants": [[c.symbol, c.tag, sorted(c.constants.items())] for c in self.own],
                "reference": self.origin,
                "temperature": self.temperature,
                "rest": self.rest,
            }
        )

    @property
    def kernels(self) -> str:
        """Execution path of the column kernels, the same for all records."""
        return "numpy" if self.robot.open_cuts else build.choose(compiling=False)[0]

    def rows(
        self,
        state: tuple[Array, Array, Array],
        tau: Array,
        temperature: Array | None,
        direction: Array | None = None,
    ) -> tuple[list[Array], NDArray[np.bool_]]:
        """Rows [columns | effort] of each effort, (N, k_i), and a mask (N, efforts) of the nonzero ones.

        Rows of joints are zero where the joint is at rest.  state: q, qd, qdd (N, n).  temperature (N, n): joint
        temperatures [degC], None if not logged; their columns are then zero.  direction (N, n): direction of
        motion, filtered like the efforts (`Motion.direction`); None: the sign of qd.
        """
        q, qd, qdd = state
        Y = self.model.columns(q, qd, qdd, samples=MANY)
        n, width = self.robot.n, len(self.own)
        joints = JointState(q, qd, qdd, Y[:, :n] @ self.reference, temperature, direction)
        moves = np.ones((len(q), len(self.seen)), bool)
        moves[:, :n] = np.abs(qd) >= self.rest
        widths = [width] * n + [1] * (len(self.seen) - n)
        found = [np.ones((len(q), k + len(own) + 1)) for k, own in zip(widths, self.seen, strict=True)]
        for k, column in enumerate(self.own):
            values = np.broadcast_to(np.asarray(column.effect.shape(joints, column.constants), float), q.shape)
            for i, rows in enumerate(found[:n]):
                rows[:, k] = values[:, i]
        for i, (rows, inertial) in enumerate(zip(found, self.seen, strict=True)):
            rows[:, widths[i] : -1] = Y[:, i, list(inertial)]
            rows[:, -1] = tau[:, i]
            if not moves[:, i].all():
                rows[~moves[:, i]] = 0.0
        return found, moves


def column_set(
    robot: Robot, reference: Robot | None = None, *, temperature: float = USUAL.temperature, rest: float = USUAL.rest
) -> ColumnSet:
    """Superset of columns of a robot; reference: robot with the inertial values for load-dependent friction.

    If neither has values, the column FCL is zero, and such friction cannot be estimated later.
    """
    if robot.is_floating:
        raise MinertiaError(
            f"'{robot.name}' has a floating base, whose efforts are not contained in joint logs; "
            "read the robot with a fixed base"
        )
    model, origin = _without_biases(linear_model(robot, ("IA",))), reference or robot
    try:
        values = replace(model, robot=origin).nominal()
    except MissingParameters:
        values = np.zeros(model.count)
    return ColumnSet(
        model, values, temperature, rest, own_columns(temperature), _seen(model), toml_text(origin.without_sensors)
    )


def bias_names(robot: Robot) -> tuple[str, ...]:
    """Names of the biases of all efforts of sensors."""
    return tuple(
        full_name(symbol, robot.n_joints + 1 + k) for k in range(len(robot.sensors)) for symbol in BIAS_SYMBOLS
    )


def _without_biases(model: LinearModel) -> LinearModel:
    """Model of the inertial unknowns; biases of sensors are columns of their own efforts."""
    keep = [k for k, name in enumerate(model.names) if name not in bias_names(model.robot)]
    if len(keep) == model.count:
        return model
    return replace(
        model,
        names=tuple(model.names[k] for k in keep),
        K=model.K[keep],
        kept=tuple(model.kept[k] for k in keep),
        reference=model.reference[keep],
    )


def _seen(model: LinearModel) -> tuple[tuple[int, ...], ...]:
    """Indices of the inertial unknowns that act on each effort in some state."""
    with one_thread():
        state = numeric.random_states(model.robot, numeric.enough_states(model.robot, 2 * model.count), 0)
        q, qd, qdd = (np.asarray(a) for a in state)
        size = np.abs(model.columns(q, qd, qdd, samples=1)).max(axis=0)
    shown = size > UNSEEN * np.maximum(size.max(axis=0), 1e-300)
    return tuple(tuple(int(k) for k in np.flatnonzero(row)) for row in shown)


def kinematics_text(robot: Robot) -> str:
    """Text of the robot without its parameters and names: joints, placements, gravity, coupling."""
    bare = replace(
        robot, name="robot", links=(), base_link=None, effects=(), motor_effects=(), constants=(), notes=(), source=None
    )
    return toml_text(bare)


def digest_of(value: Any) -> str:
    """SHA-256 of plain data in a canonical form."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
