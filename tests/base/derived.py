"""Sets of base parameters of one robot by several methods, which have the regressor at random states in common."""

from __future__ import annotations

from minertia.base.derive import Derivation
from minertia.base.grouping import BaseParameters
from minertia.io.resources import one_thread
from minertia.robot.robot import Robot


class Derived:
    """What `base_parameters` gives by each method, of one derivation."""

    def __init__(self, robot: Robot, *, rotors: bool = False) -> None:
        with one_thread():
            self.derivation = Derivation(robot, robot.columns(rotors, False), (), 0)

    def by(self, method: str) -> BaseParameters:
        with one_thread():
            return self.derivation.result(method)
