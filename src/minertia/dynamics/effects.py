"""Rotor inertia, friction and offsets of joints and of coupled motors: the rows of the effects table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from minertia.algebra.scalar import Scalar, add, mul, total
from minertia.dynamics.kinematics import State, joint_positions, joint_rates
from minertia.robot.parameters import EFFECTS
from minertia.robot.robot import Robot


class EffectColumn(NamedTuple):
    """One effect parameter: its link (from 0), symbol, and its effort on each coordinate for a unit parameter."""

    joint: int
    symbol: str
    efforts: Mapping[int, Scalar]


def effect_columns(robot: Robot, state: State) -> Iterator[EffectColumn]:
    """The columns of all effects, joint side, then motor side where a motor turns with several coordinates."""
    q, qd, qdd = joint_positions(robot, state.q), joint_rates(robot, state.qd), joint_rates(robot, state.qdd)
    for j, joint in enumerate(robot.joints):
        c = robot.coordinate_of(j)
        for effect in EFFECTS:
            yield EffectColumn(j, effect.name, {c: joint.rate(effect.shape(q[j], qd[j], qdd[j]))})
        if j in robot.coupled_motors:
            yield from _motor_columns(robot, j, state)


def _motor_columns(robot: Robot, j: int, state: State) -> Iterator[EffectColumn]:
    """tau = G' effect(G q, G qd, G qdd): what one motor does to its coordinates (theory, eq. 10)."""
    assert robot.coupling is not None
    row = {c: g for c, g in enumerate(robot.coupling[robot.coupled_motors[j]]) if g != 0}
    first_q, first_v = 7 * robot.is_floating, 6 * robot.is_floating
    q, qd, qdd = (
        total(*(mul(g, values[first + c]) for c, g in row.items()))
        for values, first in ((state.q, first_q), (state.qd, first_v), (state.qdd, first_v))
    )
    for effect in EFFECTS:
        shape = effect.shape(q, qd, qdd)
        yield EffectColumn(j, f"{effect.name}M", {c: mul(g, shape) for c, g in row.items()})


def effect_torques(robot: Robot, chi: Sequence[Mapping[str, Scalar]], state: State) -> list[Scalar]:
    """Efforts of all effects on the coordinates [N m or N]; a floating base's six come first and are 0."""
    first, chi_first = 6 * robot.is_floating, int(robot.is_floating)
    taus: list[Scalar] = [0] * robot.n_velocity
    for column in effect_columns(robot, state):
        value = chi[chi_first + column.joint].get(column.symbol, 0)
        for c, effort in column.efforts.items():
            taus[first + c] = add(taus[first + c], mul(value, effort))
    return taus
