"""`Effect`: one effect at a joint besides the inertia of its links, and how effects of your own are added."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from minertia.algebra.scalar import Scalar, sign
from minertia.io.errors import InputError

MODULES = "MINERTIA_EFFECTS"  # environment variable: modules that add effects, separated by commas


class JointState(NamedTuple):
    """Inputs of an effect.

    q, qd, qdd: motion of the joint [rad or m].  load: rigid-body and rotor effort, friction excluded [N m or N].
    temperature: of the joint [degC]; None if unknown: the effect's reference temperature is used.  sliding:
    direction of motion (1, -1, 0) that dry friction opposes; None: that of qd.  A simulation evaluates 1 and -1
    for the bounds of static friction at standstill.  presliding: elastic displacement over its largest, -1 to 1, a
    memory of the path (`dynamics.presliding`); None if the path is unknown: that of steady sliding is used.
    """

    q: Scalar
    qd: Scalar
    qdd: Scalar
    load: Scalar = 0
    temperature: Scalar | None = None
    sliding: Scalar | None = None
    presliding: Scalar | None = None

    @property
    def direction(self) -> Scalar:
        """Direction of motion, 0 at standstill: used by dry-friction shapes in place of sign(qd)."""
        return sign(self.qd) if self.sliding is None else self.sliding

    @property
    def slid(self) -> Scalar:
        """Presliding displacement over its largest; the direction of motion where the path is unknown."""
        return self.direction if self.presliding is None else self.presliding


INPUTS = ("q", "qd", "qdd", "load", "temperature", "presliding")  # what shapes may read


Constants: TypeAlias = Mapping[str, Scalar]  # numbers, or inputs of a simulation
Shape: TypeAlias = Callable[[JointState, Constants], Scalar]


@dataclass(frozen=True, slots=True)
class Effect:
    """One joint effect, a row of the table: effort = parameter * shape(state, constants).

    word: name of the effect in campaign files; several rows can share it.  unit, sliding_unit: unit of the
    parameter at a revolute and at a prismatic joint.  formula: the shape as printed.  inputs: fields of
    `JointState` that the shape uses.  constants: names and default values of the constants of the shape, None
    where one must be given; signed: constants that need not be positive; scan: values that are tried for a
    constant that is not given.  is_standard: whether every robot has a column for it.  has_twin: whether a
    motor coupled to several joints can have it as well.  acts_alone: whether it must be specified for one
    joint at a time.  is_bounded: whether `abs(shape)` is at most 1, so that effort limits can account for it.
    is_dry: dry friction, discontinuous in the direction of motion (shape = 0 at direction 0), which holds a
    joint at standstill: simulations use its shapes at the directions 1 and -1 as bounds; all other effects
    are smooth.  fleet: "day" or "robot" where records of fleets have a column for it that is free on each day
    or for each robot, else "".  is_modelled: whether models can include it; fleets also use the other effects
    to assess days.

    A shape that depends on the load is proportional to it: shape(k load) = k shape(load) for k > 0.  One that
    depends on the acceleration depends on nothing else and is proportional to it.
    """

    name: str
    word: str
    unit: str
    sliding_unit: str
    meaning: str
    formula: str
    shape: Shape
    inputs: tuple[str, ...] = ("qd",)
    is_nonnegative: bool = True
    constants: Mapping[str, float | None] = field(default_factory=dict)
    signed: tuple[str, ...] = ()
    scan: tuple[float, ...] = ()
    is_standard: bool = False
    has_twin: bool = False
    acts_alone: bool = False
    is_bounded: bool = False
    is_dry: bool = False
    fleet: str = ""
    is_modelled: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))

    @property
    def is_at_link(self) -> bool:
        """Whether it acts on the link side of an elastic joint: true for effects of the position only."""
        return self.inputs == ("q",)

    @property
    def is_viscous(self) -> bool:
        """Whether it is proportional to the velocity."""
        if self.is_dry or "qd" not in self.inputs:
            return False
        constants, _ = self.filled({})
        at = [float(self.shape(JointState(0.3, qd, 0.0, 0.7, 40.0), constants)) for qd in (0.5, 1.0, -0.5)]
        return at[0] != 0 and math.isclose(at[1], 2 * at[0]) and math.isclose(at[2], -at[0])

    def filled(self, given: Constants) -> tuple[dict[str, float], list[str]]:
        """All constants, with defaults where none is given, and the names of missing ones."""
        values = {name: given.get(name, usual) for name, usual in self.constants.items()}
        return {k: v for k, v in values.items() if v is not None}, [k for k, v in values.items() if v is None]

    def wrong_constant(self, given: Constants) -> str | None:
        """Name of a constant that is not finite, or not positive although it must be; None if all are valid."""
        for name, value in given.items():
            if not math.isfinite(value) or (value <= 0 and name not in self.signed):
                return name
        return None


_added: list[Effect] = []
_made: list[bool] = []  # not empty once the table is made


def add_effects(*effects: Effect) -> None:
    """Add effects of your own to the table, for all that computes with effects in this process.

    Call it before anything else of minertia is used: tables that depend on effects are made once.  For commands and
    further processes, put the call into a module and name it in the environment variable MINERTIA_EFFECTS.
    """
    if _made and any(effect not in _added for effect in effects):
        raise InputError("effects are added before minertia is used: call add_effects right after the import")
    for effect in effects:
        if not isinstance(effect, Effect):
            raise InputError(f"add_effects takes effects (mi.dynamics.Effect), not {type(effect).__name__}")
        if effect not in _added:
            _added.append(effect)


def added_effects(known: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """Effects that were added, also by the modules that the environment names; known: those of the table."""
    for name in filter(None, (part.strip() for part in os.environ.get(MODULES, "").split(","))):
        try:
            importlib.import_module(name)
        except ImportError as err:
            raise InputError(f"{MODULES} names the module '{name}', which cannot be imported: {err}") from None
    _made.append(True)
    taken = [effect.name for effect in known]
    for effect in _added:
        if effect.name in taken:
            raise InputError(f"there is an effect with the symbol '{effect.name}' already; choose another")
        taken.append(effect.name)
    return tuple(_added)
