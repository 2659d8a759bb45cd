"""Joint effects: rotor inertia, friction, springs and offsets of joints and of coupled motors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from minertia.algebra.scalar import Scalar, add, div, is_zero, mul, sign, total
from minertia.dynamics.kinematics import Scalars, State, joint_positions, joint_rates
from minertia.io.errors import InputError
from minertia.robot.effect import JointState
from minertia.robot.effects import BY_SYMBOL, EFFECT_SYMBOLS, MOTOR_SYMBOLS, ROTOR_SYMBOLS
from minertia.robot.parameters import full_name
from minertia.robot.robot import Robot

Chi = Sequence[Mapping[str, Scalar]]


class EffectColumn(NamedTuple):
    """One effect parameter: its link (from 0), symbol, and its effort on each coordinate for a unit parameter."""

    joint: int
    symbol: str
    efforts: Mapping[int, Scalar]


class UnitEffects:
    """Efforts of effects with a unit parameter at one state.

    load: rigid-body and rotor effort of each coordinate [N m or N].  temperature: temperature of each
    coordinate [degC], None for the reference temperature of every effect.  Both exclude the coordinates of
    a floating base.
    """

    def __init__(
        self, robot: Robot, state: State, load: Scalars | None = None, temperature: Scalars | None = None
    ) -> None:
        self.robot, self.state, self.load, self.temperature = robot, state, load, temperature
        self.q = joint_positions(robot, state.q)
        self.qd, self.qdd = joint_rates(robot, state.qd), joint_rates(robot, state.qdd)

    def of(
        self, j: int, symbol: str, constants: Mapping[str, float] | None = None, presliding: Scalar | None = None
    ) -> dict[int, Scalar]:
        """{coordinate: effort} of an effect of joint j or of its motor; constants: default: those of the robot.

        presliding: see `JointState`.
        """
        given = self.robot.effect_constants(j, symbol) if constants is None else constants
        if symbol in MOTOR_SYMBOLS:
            return self._of_motor(j, symbol, given)
        c = self._one_coordinate(j, symbol)
        load = 0 if self.load is None else self.load[c]
        warmth = None if self.temperature is None else self.temperature[c]
        state = JointState(self.q[j], self.qd[j], self.qdd[j], load, warmth, presliding=presliding)
        effort = BY_SYMBOL[symbol].shape(state, given)
        return {c: mul(ratio, effort) for c, ratio in self.robot.shares(j)}

    def _one_coordinate(self, j: int, symbol: str) -> int:
        """Coordinate whose load and temperature apply to joint j."""
        inputs = BY_SYMBOL[symbol].inputs
        given = self.load is not None and "load" in inputs, self.temperature is not None and "temperature" in inputs
        if len(self.robot.shares(j)) > 1 and any(given):
            raise InputError(
                f"the effect {full_name(symbol, j + 1)} depends on load or temperature, which are not defined for "
                "a joint that depends on several others; give that joint an effect without these inputs"
            )
        return self.robot.coordinate_of(j)

    def _of_motor(self, j: int, symbol: str, constants: Mapping[str, float]) -> dict[int, Scalar]:
        """tau = G' effect(G q, G qd, G qdd): efforts of one motor on its coordinates (theory, eq. 10)."""
        assert self.robot.coupling is not None
        row = {c: g for c, g in enumerate(self.robot.coupling[self.robot.coupled_motors[j]]) if g != 0}
        first_q, first_v = 7 * self.robot.is_floating, 6 * self.robot.is_floating
        q, qd, qdd = (
            total(*(mul(g, values[first + c]) for c, g in row.items()))
            for values, first in ((self.state.q, first_q), (self.state.qd, first_v), (self.state.qdd, first_v))
        )
        shape = BY_SYMBOL[symbol].shape(JointState(q, qd, qdd), constants)
        return {c: mul(g, shape) for c, g in row.items()}


def effect_columns(
    robot: Robot,
    state: State,
    wanted: Collection[str],
    load: Scalars | None = None,
    temperature: Scalars | None = None,
) -> Iterator[EffectColumn]:
    """Requested columns (full names) of effects, joint side, then motor side; load, temperature: see `UnitEffects`."""
    unit = UnitEffects(robot, state, load, temperature)
    for j, symbol in _places(robot):
        if full_name(symbol, j + 1) in wanted:
            yield EffectColumn(j, symbol, unit.of(j, symbol))


def effect_torques(
    robot: Robot,
    chi: Chi,
    state: State,
    rigid: Scalars,
    temperature: Scalars | None = None,
    *,
    rotors: bool = True,
) -> list[Scalar]:
    """Efforts of all effects on the coordinates [N m or N]; the six of a floating base come first and are 0.

    rigid: rigid-body efforts at this state, which load-dependent friction needs.  rotors: whether rotor
    inertias are included.
    """
    chosen = chi if rotors else [{s: v for s, v in x.items() if s not in ROTOR_SYMBOLS} for x in chi]
    taus = free_torques(robot, chosen, state, temperature)
    if needs_load(robot, chi):
        unit = UnitEffects(robot, state, loads(robot, chi, state, rigid), temperature)
        taus = [add(a, b) for a, b in zip(taus, _summed(robot, chi, unit, with_load=True), strict=True)]
    return taus


def free_torques(robot: Robot, chi: Chi, state: State, temperature: Scalars | None = None) -> list[Scalar]:
    """Efforts of the effects that do not depend on the load."""
    return _summed(robot, chi, UnitEffects(robot, state, temperature=temperature), with_load=False)


def loads(robot: Robot, chi: Chi, state: State, rigid: Scalars) -> list[Scalar]:
    """Joint load: rigid-body and rotor effort per coordinate (without a floating base) [N m or N]."""
    first, unit = 6 * robot.is_floating, UnitEffects(robot, state)
    found = list(rigid[first:])
    for j, symbol, value in _values(robot, chi):
        if symbol in ROTOR_SYMBOLS:
            for c, effort in unit.of(j, symbol).items():
                found[c] = add(found[c], mul(value, effort))
    return found


def loads_under(robot: Robot, chi: Chi, state: State, efforts: Scalars) -> list[Scalar]:
    """Joint load from efforts that include load-dependent friction; the six of a floating base come first.

    effort = load + F(load), where F is proportional to the load, so load = effort / (1 + F(sign) sign).
    Effort and load have the same sign as long as friction is less than the load.
    """
    first = 6 * robot.is_floating
    signs = [sign(effort) for effort in efforts[first:]]
    unit = UnitEffects(robot, state, signs)
    shares = _summed(robot, chi, unit, with_load=True)[first:]
    parts = zip(efforts[first:], signs, shares, strict=True)
    return [*efforts[:first], *(r if is_zero(f) else div(r, add(1, mul(s, f))) for r, s, f in parts)]


def needs_load(robot: Robot, chi: Chi) -> bool:
    """Whether any effect with a value depends on the load."""
    return any("load" in BY_SYMBOL[symbol].inputs for _, symbol, _ in _values(robot, chi))


def _summed(robot: Robot, chi: Chi, unit: UnitEffects, *, with_load: bool) -> list[Scalar]:
    first = 6 * robot.is_floating
    taus: list[Scalar] = [0] * robot.n_velocity
    for j, symbol, value in _values(robot, chi):
        if ("load" in BY_SYMBOL[symbol].inputs) == with_load:
            for c, effort in unit.of(j, symbol).items():
                taus[first + c] = add(taus[first + c], mul(value, effort))
    return taus


def _values(robot: Robot, chi: Chi) -> Iterator[tuple[int, str, Scalar]]:
    """(joint, symbol, value) of all effects that are not structurally zero."""
    first = int(robot.is_floating)
    for j, symbol in _places(robot):
        value = chi[first + j].get(symbol, 0)
        if not is_zero(value):
            yield j, symbol, value


def _places(robot: Robot) -> Iterator[tuple[int, str]]:
    """(joint, symbol) of every possible effect of the robot, in order."""
    for j in range(robot.n_joints):
        yield from ((j, symbol) for symbol in EFFECT_SYMBOLS)
        if j in robot.coupled_motors:
            yield from ((j, symbol) for symbol in MOTOR_SYMBOLS)
