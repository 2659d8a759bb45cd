"""`ServoModel`: the unknowns of a robot under its position loops, and what a rollout of each group is given.

Everything that a rollout reads (`Atom`s: an inertia, a gain at a joint, a delay) is an affine function of the unknowns,
atoms = constant + G theta; so values that are known, tied or regrouped need no case of their own.
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
from minertia.codegen.rollout.task import AT_JOINTS, OF_SPRINGS, LoopValues, Springs
from minertia.identification.campaigns.options import FLOORS, STIFFNESS, Command, Floor
from minertia.identification.closed_loop.layout import SprungLayout
from minertia.identification.problem.linear import LinearModel, link_number, symbol_of
from minertia.robot.effects import BY_SYMBOL, EFFECTS, JointState
from minertia.robot.joint import Elastic
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
MOST_LOADED = 0.9  # of friction per load: what takes all of the load lets nothing move
FARTHEST_ZERO = 0.5  # rad or m by which zeros of a log may differ from those of the file


def floor_name(what: str) -> str:
    """Name of an unknown of the floor."""
    return f"floor_{what}"


@dataclass(frozen=True)
class Atom:
    """One number that a rollout reads: its kind, and its joint or number.

    kind: the symbol of an effect, "floor", or another of `rollout.task.KINDS`.
    """

    kind: str
    place: int

    @property
    def is_effect(self) -> bool:
        """Whether it is the value of an effect."""
        return self.kind in BY_SYMBOL

    @property
    def simulated(self) -> str:
        """Its kind in a rollout."""
        return "effect" if self.is_effect else "link" if self.kind == "floor" else self.kind


@dataclass(frozen=True)
class JointGroup:
    """Joints simulated together, with the unknown atoms that act there (their indices among all, links first).

    effects: atoms of all effects that act there, in the order of the kernel's.
    """

    joints: tuple[int, ...]
    kernel: LoopKernel = field(repr=False)
    atoms: tuple[int, ...]
    effects: tuple[int, ...] = ()


@dataclass(frozen=True)
class ServoModel:
    """Unknowns `names` with atoms = constant + G theta.

    linear: the robot's linear model, in whose terms the result is told; keeps_links: whether the links are those of
    the robot's file.  links: standard parameters of the links that are atoms.  lower: bounds of the unknowns.
    gauges: joints (from 0) whose kp was set to 1 because nothing fixes their group's scale.  layout: coordinates, and
    which of them are measured.  constants: those of each effect that has some.  begin: stiffness and
    damping of elastic joints to start from, None where not known.  floor: what the
    robot may touch; `links` of a rollout then hold its numbers and the step, too.
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

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    def index(self, kind: str, place: int) -> int:
        """Position of an atom."""
        return self.atoms.index(Atom(kind, place))

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Positions of the atoms of each kind, in order of their places."""
        found: dict[str, list[int]] = {}
        for k, atom in enumerate(self.atoms):
            found.setdefault(atom.kind, []).append(k)
        return found

    def atom_values(self, theta: Array) -> Array:
        """Values of all atoms."""
        return np.asarray(self.constant + self.G @ theta)

    def of_kind(self, kind: str, values: Array) -> Array:
        """Values of one kind, one for each joint (or link parameter)."""
        return np.asarray(values[self.places[kind]]) if kind in self.places else np.zeros(0)

    def shape(self, atom: Atom, state: JointState) -> Scalar:
        """Effort of an effect with value 1."""
        return BY_SYMBOL[atom.kind].shape(state, self.constants.get(atom, {}))

    def inputs(self, values: Array, h: float) -> Array:
        """Numbers that the robot's own terms read: of the links where these are fitted, of the floor, and the step."""
        below = [*self.of_kind("floor", values), h] if self.floor.touches else []
        return np.append(np.zeros(0) if self.keeps_links else self.of_kind("link", values), below)

    def loop_values(self, group: JointGroup, values: Array, h: float) -> LoopValues:
        """What a rollout of a group at step h [s] is given, from the values of all atoms."""
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
            is_voltage=self.command.law == "voltage",
            is_euler=self.command.integrator == "euler",
            springs=self._springs(group, values),
            sees=self._sees(group),
        )

    def _at_coordinates(self, group: JointGroup, name: str, values: Array) -> Array:
        """Values of all joints at a group's coordinates: of elastic ones at the motor, zeros at the link."""
        own, motors = list(group.joints), list(self.layout.inside(group.joints))
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
        """Coordinates that the laws of a group read; none where each reads its own."""
        inside = self.layout.inside(group.joints)
        if not inside or self.layout.feedback == "motor":
            return ()
        return (*range(len(group.joints)), *(group.joints.index(j) for j in inside))

    def place_in(self, group: JointGroup, atom: Atom) -> int:
        """Where a rollout of a group has an atom: a number among links or effects, its spring or its coordinate."""
        if atom.kind == "floor":
            return len(self.links) + atom.place
        if atom.kind in ("link", "delay"):
            return atom.place
        if atom.is_effect:
            return group.effects.index(self.index(atom.kind, atom.place))
        if atom.kind in OF_SPRINGS:
            return self.layout.inside(group.joints).index(atom.place)
        return self.layout.place(group.joints, atom.place, at_link=atom.kind == "zero")

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the positions that are measured."""
        return self.layout.names(self.robot.coordinate_names)

    def standard(self, theta: Array) -> dict[str, float]:
        """The robot's standard parameters and effects with these values."""
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
        """Derivatives of the linear model's unknowns by theta, (linear unknowns, theta)."""
        K, rows = self.linear.K, np.zeros((len(self.linear.standard), self.count))
        for k, name in enumerate(self.linear.standard):
            symbol = symbol_of(name)
            if symbol in SIMULATED:
                rows[k] = self.G[self.index(symbol, link_number(name) - 1)]
            elif not self.keeps_links and name in self.links:
                rows[k] = self.G[self.index("link", self.links.index(name))]
        return np.asarray(K @ rows)

    def with_fixed(self, values: dict[str, float]) -> ServoModel:
        """The same with some unknowns known."""
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

    @property
    def upper(self) -> Array:
        """Upper bounds of the unknowns."""
        most = {e.name: MOST_LOADED for e in EFFECTS if "load" in e.inputs}
        most |= {"ZERO": FARTHEST_ZERO, "CJ": 1 / STIFFNESS[0]}
        most |= {floor_name(what): FLOORS[what][1] for what in FLOOR}
        return np.array([most.get(name.rstrip("0123456789"), np.inf) for name in self.names])
