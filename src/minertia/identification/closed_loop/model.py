"""`ServoModel`: the unknown parameters of a robot with position servos, and the simulation inputs of each joint group.

Every parameter of the simulation (`Atom`s: an inertia, a gain at a joint, a delay) is an affine function of the
unknowns, atoms = constant + G theta; so known, tied or regrouped parameters need no special case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.scalar import Scalar
from minertia.codegen.rollout.effects import SIMULATED
from minertia.codegen.rollout.floor import FLOOR
from minertia.codegen.rollout.kernel import LoopKernel
from minertia.codegen.rollout.task import AT_JOINTS, OF_MOTOR, OF_SPRINGS, LoopValues, Springs
from minertia.identification.campaigns.options import FLOORS, STIFFNESS, Command, Floor, servo_factors
from minertia.identification.closed_loop.layout import SprungLayout
from minertia.identification.problem.linear import LinearModel, link_number, symbol_of
from minertia.robot.effect import JointState
from minertia.robot.effects import BY_SYMBOL, EFFECTS
from minertia.robot.joint import Elastic
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
MOST_LOADED = 0.9  # of friction per load: what takes all of the load lets nothing move
MOST_CURVED = 100.0  # 1/(N m) or 1/N by which friction grows with the square of the load
MOST_STARTED = 0.5  # of the duty cycle, that starts a motor
MOST_WARMED = 0.1  # 1/K by which the effort of a motor changes
# 1/K, mean and deviation known of motors: copper resists 0.39 % more a kelvin, magnets lose 0.1 (neodymium) to 0.2 %
# (ferrite) once in KP and twice in KD; a sensor beside the winding warms less or more than it does
WARMING = -0.006, 0.002
MOUNTING = 0.0, 0.02  # rad, mean and deviation known of the angle of a mounted load: about a degree
MOST_SAGGED = 100.0  # V/(N m) or V/N by which a supply falls with a motor's effort
MOST_PLAY = 1.0  # rad or m, of a gear
MOST_LAPSED = 0.9  # part of its speed: a target that stands does not follow
FARTHEST_ZERO = 0.5  # rad or m by which zeros of a log may differ from those of the file


def floor_name(what: str) -> str:
    """Name of an unknown of the ground contact."""
    return f"floor_{what}"


@dataclass(frozen=True)
class Atom:
    """One scalar parameter of the simulation: its kind, and its joint or index.

    kind: the symbol of an effect, "floor", or another kind listed in `rollout.task.KINDS`.  place: index of the
    joint, or of the parameter among those of its kind.
    """

    kind: str
    place: int

    @property
    def is_effect(self) -> bool:
        """Whether the parameter is the coefficient of a joint effect."""
        return self.kind in BY_SYMBOL

    @property
    def simulated(self) -> str:
        """Kind of the parameter in the simulation: "effect", "link" (also ground contact), or its own kind."""
        return "effect" if self.is_effect else "link" if self.kind == "floor" else self.kind


@dataclass(frozen=True)
class JointGroup:
    """Joints simulated together, with the indices of the unknown simulation parameters that act on them.

    atoms: these indices, link parameters first.  effects: indices of the parameters of all effects that act
    on the joints, in the order of the kernel's effects.
    """

    joints: tuple[int, ...]
    kernel: LoopKernel = field(repr=False)
    atoms: tuple[int, ...]
    effects: tuple[int, ...] = ()


@dataclass(frozen=True)
class ServoModel:
    """Unknowns `names` of a robot with position servos, and its simulation parameters constant + G theta.

    atoms: the simulation parameters.  linear: the robot's linear model, in whose parameters the result is
    expressed; keeps_links: whether the link parameters are fixed at those of the robot file.  links: fitted
    standard parameters of the links.  lower: lower bounds of the unknowns.  gauges: joints (from 0) whose kp
    was set to 1 because nothing fixes their group's scale.  layout: coordinates, and which of them are
    measured.  constants: given constants of the effects that have any.  begin: initial stiffness and damping
    of elastic joints, None where not known.  floor: ground that the robot may touch; the inputs `links` of a
    simulation then also contain its parameters and the step.  turns: loads of logs whose angles about the axis are
    the last unknowns.
    """

    robot: Robot
    command: Command
    linear: LinearModel
    keeps_links: bool
    names: tuple[str, ...]
    atoms: tuple[Atom, ...]
    constant: Array
    G: Array
    links: tuple[str, ...]
    lower: Array
    groups: tuple[JointGroup, ...]
    constants: Mapping[Atom, Mapping[str, float]]
    layout: SprungLayout
    gauges: tuple[int, ...] = ()
    begin: Mapping[int, Elastic] = field(default_factory=dict)
    floor: Floor = field(default_factory=Floor)
    turns: tuple[tuple[float, ...], ...] = ()

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    def index(self, kind: str, place: int) -> int:
        """Index of the simulation parameter of this kind at this joint (or of this number)."""
        return self.atoms.index(Atom(kind, place))

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Indices of the simulation parameters of each kind, ordered by joint or number."""
        found: dict[str, list[int]] = {}
        for k, atom in enumerate(self.atoms):
            found.setdefault(atom.kind, []).append(k)
        return found

    def atom_values(self, theta: Array) -> Array:
        """Values of all simulation parameters."""
        return np.asarray(self.constant + self.G @ theta)

    def mixing(self, carried: Array | None) -> Array:
        """Derivatives of all simulation parameters by the unknowns in a log with a payload: its own angle shows."""
        if carried is None or tuple(carried.tolist()) not in self.turns:
            return self.G
        found, own = self.G.copy(), self.index("zero", 0)
        angles = found[own, self.count - len(self.turns) :]  # about their mean
        angles -= 1 / len(self.turns)
        angles[self.turns.index(tuple(carried.tolist()))] += 1
        return found

    def with_carried(self, values: Array, carried: Array | None) -> Array:
        """Values of all simulation parameters with those of a payload added to the links, which come first."""
        if carried is None:
            return values
        return np.concatenate([values[: len(carried)] + carried, values[len(carried) :]])

    def of_kind(self, kind: str, values: Array) -> Array:
        """Values of the simulation parameters of one kind, one for each joint (or link parameter)."""
        return np.asarray(values[self.places[kind]]) if kind in self.places else np.zeros(0)

    def supplied(self, values: Array) -> tuple[Array, Array]:
        """Factors on kp and kd of each joint at the register, supply and temperature of a servo; 1 for other laws."""
        c, n = self.command, self.robot.n
        if c.law != "servo":
            return np.ones(n), np.ones(n)
        own = {key: getattr(c, key) for key in ("error_gain", "register", "volts", "temperature")}
        return servo_factors(own, self.of_kind("warm", values))

    def shape(self, atom: Atom, state: JointState) -> Scalar:
        """Effort of an effect with a coefficient of 1."""
        return BY_SYMBOL[atom.kind].shape(state, self.constants.get(atom, {}))

    def inputs(self, values: Array, h: float) -> Array:
        """Inputs of the robot dynamics: fitted link parameters, ground-contact parameters, and the step."""
        below = [*self.of_kind("floor", values), h] if self.floor.touches else []
        return np.append(self.of_kind("link", values), below)

    def loop_values(self, group: JointGroup, values: Array, h: float) -> LoopValues:
        """Simulation parameters of a joint group at step h [s], from the values of all simulation parameters."""
        n = self.robot.n
        limits = np.array([np.inf if v is None else float(v) for v in self.command.each("limit", n)])
        given = {name: self.of_kind(name, values) for name in AT_JOINTS if name != "limit"} | {"limit": limits}
        delayed = self.command.delay_of == "effort"
        own: dict[str, Any] = {name: self._at_coordinates(group, name, x) for name, x in given.items()}
        return LoopValues(
            **own,
            effects=values[list(group.effects)],
            links=self.inputs(values, h),
            effort_delay=max(float(values[self.places["delay"][0]]), 0.0) if delayed else None,
            is_voltage=self.command.law in ("voltage", "servo"),
            is_euler=self.command.integrator == "euler",
            springs=self._springs(group, values),
            sees=self._sees(group),
            **self._gear(group, values),
        )

    def _gear(self, group: JointGroup, values: Array) -> dict[str, Array]:
        """Load of each coordinate's gear, start and temperature of its motor, of servos driven by their duty."""
        if self.command.law != "servo":
            return {}
        found = {name: self._at_coordinates(group, name, self.of_kind(name, values)) for name in OF_MOTOR}
        return found if self.has_play else {name: x for name, x in found.items() if name != "play"}

    def _at_coordinates(self, group: JointGroup, name: str, values: Array) -> Array:
        """Values of all joints at the coordinates of a group: for elastic joints at the motor, zeros at the link."""
        own, motors = list(group.joints), list(self.layout.inside(group.joints))
        if not motors:
            return values[own]
        if name == "zero":
            return np.append(values[own], np.zeros(len(motors)))
        nothing = np.inf if name == "limit" else 0.0
        return np.append(np.where(np.isin(own, motors), nothing, values[own]), values[motors])

    def _springs(self, group: JointGroup, values: Array) -> Springs:
        inside = self.layout.inside(group.joints)
        if not inside:
            return Springs()
        first = len(group.joints)
        numbers = [np.array([values[self.index(kind, j)] for j in inside]) for kind in OF_SPRINGS]
        link = tuple(group.joints.index(j) for j in inside)
        return Springs(link, tuple(range(first, first + len(inside))), *numbers)

    def _sees(self, group: JointGroup) -> tuple[int, ...]:
        """Coordinates that the control laws of a group feed back; empty if each law uses its own coordinate."""
        inside = self.layout.inside(group.joints)
        if not inside or self.layout.feedback == "motor":
            return ()
        return (*range(len(group.joints)), *(group.joints.index(j) for j in inside))

    def place_in(self, group: JointGroup, atom: Atom) -> int:
        """Index of a simulation parameter in its array of a group: links or effects, springs or coordinates."""
        if atom.kind == "floor":
            return len(self.links) + atom.place
        if atom.kind in ("link", "delay"):
            return atom.place
        if atom.is_effect:
            return group.effects.index(self.index(atom.kind, atom.place))
        if atom.kind in OF_SPRINGS:
            return self.layout.inside(group.joints).index(atom.place)
        return self.layout.place(group.joints, atom.place, at_link=atom.kind == "zero")

    @cached_property
    def has_play(self) -> bool:
        """Whether some gear has play, or may have."""
        own = self.places["play"]
        return bool(np.any(self.constant[own]) or np.any(self.G[own]))

    @cached_property
    def unknowns(self) -> dict[tuple[int, ...], tuple[tuple[str, int], ...]]:
        """Quantities for which the rollouts of each joint group compute sensitivities, by the group's joints."""
        found = {}
        for group in self.groups:
            atoms = [self.atoms[k] for k in group.atoms]
            starts = [(kind, k) for kind in ("q0", "v0") for k in range(len(self.layout.coordinates(group.joints)))]
            found[group.joints] = (*((a.simulated, self.place_in(group, a)) for a in atoms), *starts)
        return found

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the measured positions."""
        return self.layout.names(self.robot.coordinate_names)

    def standard(self, theta: Array) -> dict[str, float]:
        """Standard parameters and effect coefficients of the robot for these values."""
        values = self.atom_values(theta)
        found = dict.fromkeys(self.linear.standard, 0.0)
        if self.keeps_links:
            own = zip(self.robot.columns(True, True), self.robot.parameter_vector(True, True).tolist(), strict=True)
            found |= {name: value for name, value in own if name in found and symbol_of(name) in LINK_SYMBOLS}
        else:
            found |= dict(zip(self.links, self.of_kind("link", values).tolist(), strict=True))
        for name in self.linear.standard:
            if symbol_of(name) in SIMULATED:
                found[name] = float(values[self.index(symbol_of(name), link_number(name) - 1)])
        return found

    def standard_slopes(self) -> Array:
        """Derivatives of the linear model's unknowns with respect to theta, (linear unknowns, theta)."""
        K, rows = self.linear.K, np.zeros((len(self.linear.standard), self.count))
        for k, name in enumerate(self.linear.standard):
            symbol = symbol_of(name)
            if symbol in SIMULATED:
                rows[k] = self.G[self.index(symbol, link_number(name) - 1)]
            elif not self.keeps_links and name in self.links:
                rows[k] = self.G[self.index("link", self.links.index(name))]
        return np.asarray(K @ rows)

    def with_fixed(self, values: dict[str, float]) -> ServoModel:
        """Model with some unknowns fixed at known values."""
        keep = [k for k, name in enumerate(self.names) if name not in values]
        gone = [k for k, name in enumerate(self.names) if name in values]
        given = np.array([values[self.names[k]] for k in gone])
        return replace(
            self,
            names=tuple(self.names[k] for k in keep),
            constant=self.constant + self.G[:, gone] @ given,
            G=self.G[:, keep],
            lower=self.lower[keep],
        )

    @cached_property
    def known(self) -> tuple[tuple[int, float, float], ...]:
        """Prior knowledge of unknowns: index, mean and standard deviation of each that has any."""
        usual = {"WARM": WARMING, "TURN": MOUNTING}
        symbols = [name.rstrip("0123456789") for name in self.names]
        return tuple((k, *usual[symbol]) for k, symbol in enumerate(symbols) if symbol in usual)

    @property
    def upper(self) -> Array:
        """Upper bounds of the unknowns."""
        most = {e.name: MOST_LOADED for e in EFFECTS if "load" in e.inputs}
        most |= {"ZERO": FARTHEST_ZERO, "CJ": 1 / STIFFNESS[0], "SHARE": 1.0, "CURVE": MOST_CURVED}
        most |= {"START": MOST_STARTED, "WARM": MOST_WARMED, "SAG": MOST_SAGGED, "PLAY": MOST_PLAY}
        most |= {"LAPSE": MOST_LAPSED}
        most |= {floor_name(what): FLOORS[what][1] for what in FLOOR}
        return np.array([most.get(name.rstrip("0123456789"), np.inf) for name in self.names])
