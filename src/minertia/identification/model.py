"""`IdentifiedModel`: a linear model with values, and the evidence for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.rows import MotionLike
from minertia.robot.robot import Note, Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IdentifiedModel:
    """A linear model with values.

    parameters: evidence of each value, as plain data.  standard: all standard parameters; where is_physical those of a
    robot that can exist, whose sum of squares is higher by the part evidence["standard_excess"].  evidence: residuals,
    verdict and how it was made.  campaign: how its logs were read, filtered and judged.
    """

    linear: LinearModel
    beta: Array
    covariance: Array
    parameters: tuple[Mapping[str, Any], ...]
    not_excited: Mapping[str, str]
    standard: Mapping[str, float]
    is_physical: bool
    evidence: Mapping[str, Any] = field(default_factory=dict)
    campaign: Mapping[str, Any] = field(default_factory=dict)

    @property
    def robot(self) -> Robot:
        """The robot as it was described before, with its nominal parameters if it had any."""
        return self.linear.robot

    def predict(self, motion: MotionLike) -> Array:
        """Efforts (N, joints) of a motion."""
        return predict(self.linear, self.beta, motion)

    def to_robot(self) -> Robot:
        """The robot with the identified parameters, for simulation, description files and code.

        Effects that a robot cannot hold (springs, Stribeck ...) are left out and named in its notes.
        """
        own = set(self.robot.columns(True, True))
        values = {name: v for name, v in self.standard.items() if name in own}
        zero = {name: 0.0 for name in own if name not in values}
        lost = [t.name for t in self.linear.choice.terms]
        text = f"neither robot files nor generated code hold {', '.join(lost)}; add their effort yourself"
        notes = [Note("warning", "effects", text)] if lost else []
        if not self.is_physical:
            notes.append(
                Note("warning", "parameters", "these values give the right efforts but no real robot can have them")
            )
        excess = float(self.evidence.get("standard_excess", 0.0))
        if excess > 0:
            text = (
                "masses and inertias are of the physical robot that fits best; the free fit has a sum of squares lower "
                f"by {100 * excess:.2g} %"
            )
            notes.append(Note("info", "parameters", text))
        robot = self.robot.with_parameters(zero | values)
        return robot.with_notes(notes)
