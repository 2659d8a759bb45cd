"""What code is asked for: which model it computes, in which numbers, and how long its operations are searched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from minertia.codegen.setting import CLOSING_STEPS, FORMULATIONS, PARAMETERS, Representative, Setting
from minertia.dynamics.frame import LAST_LINK, ChosenFrame
from minertia.io.errors import MinertiaError, UnknownName, expect_kinds
from minertia.robot.effects import ROTOR_SYMBOLS
from minertia.robot.parameters import split_name
from minertia.robot.robot import Robot

PRECISIONS = ("double", "float")
MOST_STEPS = 20  # of Newton's method in one call; what needs more does not converge
SINCOS = ("libm", "own")


@dataclass(frozen=True)
class CodeModel:
    """The model that the code computes.

    parameters: "standard", "base" or "mlc" (inputs `theta` at run time) or "baked" (numbers in the code).
    rotors, friction: include rotor inertias, and all other effects; None for those that the robot has.
    payload: an arbitrary load's ten parameters, in the frame of the last link (or of the named one), as input `load`.
    values: those of all base parameters, to bake; by default the robot's nominal ones.
    essential: names of the base parameters that are not zero; by default all.
    motors: efforts at the motors, through the coupling of the drives, instead of at the joints.
    temperature: take the joints' temperatures as an input where an effect depends on them, else that of its reference.
    frame: that of wrenches, Jacobians and poses; by default the last link's, in axes of the world.
    closing_steps: Newton's steps that each call takes for loops without a closed form.
    formulation: "newton-euler", or "mlc" for inverse dynamics of composite bodies in minimal linear combinations.
    """

    parameters: str = "baked"
    rotors: bool | None = None
    friction: bool | None = None
    payload: bool | str = False
    values: Sequence[float] | None = None
    essential: Sequence[str] | None = None
    motors: bool = False
    temperature: bool = True
    frame: ChosenFrame = LAST_LINK
    closing_steps: int = CLOSING_STEPS
    formulation: str = "newton-euler"

    def __post_init__(self) -> None:
        expect_kinds(self)
        if self.parameters not in PARAMETERS:
            raise UnknownName("choice of parameters", self.parameters, PARAMETERS)
        if self.formulation not in FORMULATIONS:
            raise UnknownName("formulation", self.formulation, FORMULATIONS)
        if not 1 <= self.closing_steps <= MOST_STEPS:
            raise MinertiaError(f"closing_steps is a number from 1 to {MOST_STEPS}, not {self.closing_steps}")
        if self.values is not None:
            object.__setattr__(self, "values", tuple(float(v) for v in self.values))
        if self.essential is not None:
            object.__setattr__(self, "essential", tuple(self.essential))

    def setting(self, robot: Robot, *, at_joints: bool = False) -> Setting:
        """The model of one robot; at_joints: for a target that adds efforts at the joints and knows no temperatures."""
        if robot.has_input("load"):
            robot.require_tree("generated code with friction that depends on the load")
        return Setting(
            robot,
            self.parameters,
            _has(robot, rotors=True) if self.rotors is None else self.rotors,
            _has(robot, rotors=False) if self.friction is None else self.friction,
            self.payload,
            None if self.values is None else tuple(self.values),
            None if self.essential is None else tuple(self.essential),
            self.motors,
            self.temperature and not at_joints,
            at_joints,
            self.frame,
            self.closing_steps,
            self.formulation,
        )


def _has(robot: Robot, *, rotors: bool) -> bool:
    """Whether a robot has rotor inertias, or other effects."""
    return any((split_name(name)[0] in ROTOR_SYMBOLS) == rotors for name in robot.effect_values)


@dataclass(frozen=True)
class Arithmetic:
    """The numbers of the code.

    precision: "double" or "float".  sincos: sines and cosines of "libm" or "own" ones, which need no library.
    """

    precision: str = "double"
    sincos: str = "libm"

    def __post_init__(self) -> None:
        expect_kinds(self)
        if self.precision not in PRECISIONS:
            raise UnknownName("precision", self.precision, PRECISIONS)
        if self.sincos not in SINCOS:
            raise UnknownName("source of sines", self.sincos, SINCOS)


@dataclass(frozen=True)
class CodeSearch:
    """The search for fewer operations.

    effort [s]: for each program; 0 for none.  representatives: choices found before, used as they are.
    """

    effort: float = 0.0
    seed: int = 0
    representatives: Mapping[str, Representative] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expect_kinds(self)
        if not (math.isfinite(self.effort) and self.effort >= 0):
            raise MinertiaError(f"the effort of a search is a time in seconds from 0, not {self.effort:g}")
        if self.seed < 0:
            raise MinertiaError(f"the seed of a search is a whole number from 0, not {self.seed}")
        object.__setattr__(self, "representatives", MappingProxyType(dict(self.representatives)))
