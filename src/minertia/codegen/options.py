"""Options of code generation: model, arithmetic, and search for fewer operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from minertia.dynamics.options import LAST_LINK, ChosenFrame
from minertia.io.schema import Declared, check, option

PARAMETERS = ("standard", "base", "mlc", "baked")
FORMULATIONS = ("newton-euler", "mlc")
PRECISIONS = ("double", "float")
SINCOS = {"libm": "of the math library", "own": "in line, without a library"}


@dataclass(frozen=True, slots=True, repr=False)
class CodeModel(Declared):
    """Options of the model that the generated code computes."""

    parameters: str = option(
        "baked",
        "Parameters of the code: standard, base or mlc (minimal linear combination) parameters as run-time "
        "inputs, or constants compiled into it.",
        choices=PARAMETERS,
        command="parameters",
    )
    rotors: bool | None = option(None, "Rotor inertias.", command="rotors", otherwise="those of the robot or model")
    friction: bool | None = option(
        None, "Friction, springs and offsets.", command="friction", otherwise="those of the robot or model"
    )
    payload: bool | str = option(
        False,
        "Payload as a run-time input. Its ten inertial parameters are the input `load`, in the frame of the last "
        "link, or in the frame that is named.",
        command="payload",
    )
    values: Sequence[float] | None = option(
        None,
        "Values of all base parameters, compiled into the code as constants.",
        otherwise="the robot's nominal values",
    )
    essential: Sequence[str] | None = option(
        None, "Names of the essential base parameters; the others are zero.", otherwise="all"
    )
    motors: bool = option(False, "Efforts at the motors, through the coupling of the drives, instead of at the joints.")
    temperature: bool = option(
        True,
        "Joint temperatures as a run-time input, for effects that depend on them; otherwise the reference "
        "temperature is used.",
    )
    frame: ChosenFrame = option(LAST_LINK, "Frame of wrenches, Jacobians and poses.", otherwise="the last link's")
    closing_steps: int = option(
        3,  # from the last solution: enough at servo rates, where joints move by some mrad between calls
        "Newton iterations per call for loop closures without a closed form.",
        range=(1, 20),  # what needs more does not converge
        command="closing-steps",
    )
    formulation: str = option(
        "newton-euler",
        "Formulation of the inverse dynamics: recursion over links, or over composite bodies (Lin 1995).",
        choices=FORMULATIONS,
        command="formulation",
    )


@dataclass(frozen=True, slots=True, repr=False)
class Arithmetic(Declared):
    """Arithmetic of the generated code: precision, and source of sines and cosines."""

    precision: str = option("double", "Single precision.", choices=PRECISIONS, command="float", switch="float")
    sincos: str = option("libm", "Inline sines and cosines, no math library.", choices=tuple(SINCOS), titles=SINCOS,
                         command="own-sincos", switch="own", label="sines and cosines")  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class CodeSearch(Declared):
    """Options of the search for fewer operations."""

    effort: float = option(
        0.0, "Time of the search for fewer operations, per program.", unit="s", range=(0, 1e6), command="search-time"
    )
    seed: int = option(0, "Random seed of the search.", range=(0, 2**63), command="seed")
    representatives: Mapping[str, Any] = option(
        factory=dict, help="Results of an earlier search (`Representative`), by program, used without a new search."
    )

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "representatives", MappingProxyType(dict(self.representatives)))
