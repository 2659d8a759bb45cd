"""Efforts of a motion from the regressor already computed: tau = W beta, plus the effects W leaves out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from minertia.base.grouping import BaseParameters
from minertia.dynamics.effects import effect_columns, effect_torques
from minertia.dynamics.kinematics import State
from minertia.robot.parameters import EFFECT_SYMBOLS, MOTOR_SYMBOLS, full_name

Array = NDArray[np.float64]
COULOMB = ("FC", "FCM")


class EffortModel:
    """Nominal efforts without Coulomb friction (its jumps have no derivative; `coulomb` holds its size per joint).

    beta: values of the base parameters; viscous, rotors (n, n) and offset (n,): effects that have no column in W.
    """

    def __init__(self, base: BaseParameters) -> None:
        robot = base.robot
        chi = robot.parameters()
        table = {full_name(s, j + 1): v for j, x in enumerate(chi) for s, v in x.items()}
        self.beta = base.values([0.0 if name.startswith("FC") else table[name] for name in base.columns])
        known = set(base.columns)
        left = [
            {s: 0.0 if s in COULOMB or full_name(s, j + 1) in known else x.get(s, 0.0) for s in x}
            for j, x in enumerate(chi)
        ]
        n = robot.n
        zero = np.zeros(n)

        def effects(qd: Array, qdd: Array) -> Array:
            return np.array(effect_torques(robot, left, State(list(zero), list(qd), list(qdd))), np.float64)

        self.offset = effects(zero, zero)
        self.viscous = np.column_stack([effects(e, zero) - self.offset for e in np.eye(n)])
        self.rotors = np.column_stack([effects(zero, e) - self.offset for e in np.eye(n)])
        self.coulomb = _coulomb(base, chi)

    def efforts(self, W: Array, qd: Array, qdd: Array) -> Array:
        """Efforts (N, n)."""
        return self.with_effects((W @ self.beta).reshape(qd.shape), qd, qdd)

    def with_effects(self, smooth: Array, qd: Array, qdd: Array) -> Array:
        """Efforts (N, n) from those of the columns of W."""
        return np.asarray(smooth + qd @ self.viscous.T + qdd @ self.rotors.T + self.offset)


def _coulomb(base: BaseParameters, chi: list[dict[str, float]]) -> Array:
    """Largest effort of Coulomb friction on each coordinate."""
    robot = base.robot
    rate = np.linspace(1.0, 2.0, robot.n).tolist()  # no combination of these vanishes by accident
    total = np.zeros(robot.n)
    for column in effect_columns(robot, State([0.0] * robot.n, rate, rate)):
        if column.symbol in COULOMB:
            value = chi[column.joint].get(column.symbol, 0.0)
            for c, effort in column.efforts.items():
                total[c] += abs(value * float(effort))
    return total


def parameter_sizes(base: BaseParameters, floor: float = 0.1) -> Array:
    """Size of each base parameter to compare its deviation with; nan where the file has no value of its kind at all.

    The nominal value, but at least a part `floor` of the root mean square of its kind over the robot, so that a
    parameter that happens to be zero does not ask for infinite precision.
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
    if symbol in (*EFFECT_SYMBOLS, *MOTOR_SYMBOLS):
        return symbol
    return "inertia" if len(symbol) == 2 and symbol[0] != "M" else symbol[:1]
