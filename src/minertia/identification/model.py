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
from minertia.identification.problem.terms import Term
from minertia.robot.identified import identified_robot
from minertia.robot.robot import Robot

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

    @property
    def effect_names(self) -> tuple[str, ...]:
        """Full names of the effects that predictions include."""
        choice = self.linear.choice
        return (*choice.own, *(t.name for t in choice.terms))

    def predict(self, motion: MotionLike) -> Array:
        """Efforts (N, joints) of a motion."""
        return predict(self.linear, self.beta, motion)

    def to_robot(self) -> Robot:
        """The robot with all that was identified, for simulation, description files and code."""
        return identified_robot(
            self.robot,
            self.standard,
            [term_table(t) for t in self.linear.choice.terms],
            is_physical=self.is_physical,
            excess=float(self.evidence.get("standard_excess", 0.0)),
        )


def term_table(term: Term) -> dict[str, Any]:
    """An effect with its constants, as files state it."""
    table: dict[str, Any] = {"kind": term.symbol, "joints": [term.joint + 1], **term.settings}
    if term.tag:
        table["tag"] = term.tag
    return table | ({"known": True} if term.is_known else {})
