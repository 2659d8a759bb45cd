"""Actuators of Newton in a USD stage: gains, constant effort, effort limit and delay of a joint's servo.

Newton's actuator schemas (newton-usd-schemas 0.6) are experimental; their units are SI, per rad.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minertia.robot.formats.usd.text import Node

SCHEMAS_VERSION = "0.6"  # of newton-usd-schemas, in which these attributes exist
ACTUATORS = "actuators"  # scope of the actuators
KIND, TARGETS, CONSTANT = "NewtonActuator", "newton:targets", "newton:constEffort"


@dataclass(frozen=True, slots=True)
class NewtonActuator:
    """Servo of a joint: effort = kp (target - q) + kd (target velocity - qd) + constant.

    limit: largest effort, None for none.  delay [s] of the command in whole steps of `step` [s].
    """

    joint: str
    constant: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    limit: float | None = None
    delay: float = 0.0
    step: float = 0.005

    @property
    def steps(self) -> int:
        """Delay in whole steps."""
        return max(round(self.delay / self.step), 0)


def actuator_nodes(actuators: Iterable[NewtonActuator], joints: Mapping[str, str]) -> Iterator[Node]:
    """Prims of the actuators; joints: {name of a joint: path of its prim}."""
    for one in actuators:
        schemas, values = ["NewtonPDControlAPI"], list[tuple[str, str, Any]]()
        values += [("float", CONSTANT, one.constant), ("float", "newton:kp", one.kp), ("float", "newton:kd", one.kd)]
        if one.limit is not None:
            schemas.append("NewtonMaxEffortClampingAPI")
            values.append(("float", "newton:maxEffort", one.limit))
        if one.delay:
            schemas.append("NewtonActuatorDelayAPI")
            values += [
                ("int", "newton:delaySteps", one.steps),
                ("custom double", "minertia:delay", one.delay),
                ("custom double", "minertia:delay:step", one.step),
            ]
        path = joints[one.joint]
        yield Node(path.rpartition("/")[2], KIND, schemas, values, {TARGETS: path})
