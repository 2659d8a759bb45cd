"""Set-up of controller demonstrations: a plant, and compiled code of the identified model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.excitation.limits import MotionLimits
from minertia.excitation.trajectory import ContinuousMotion
from minertia.robot.robot import Robot
from minertia.simulation.compiled import PROGRAMS, CompiledCode
from minertia.simulation.plant import Imperfections, Plant

Array = NDArray[np.float64]
SHOWN_PROGRAMS = (*PROGRAMS, "adaptive_start", "adaptive_law", "momentum_observer")


@dataclass(frozen=True)
class Rig:
    """Simulated arm, and the model that its controllers use.

    robot: the true robot.  known: the identified robot, whose programs `SHOWN_PROGRAMS` are in `code`.
    motion: a trajectory from rest to rest.  period [s]: control period.  load [kg]: payload that is picked
    up.
    """

    robot: Robot
    known: Robot
    code: CompiledCode
    motion: ContinuousMotion
    limits: MotionLimits
    flaws: Imperfections
    period: float
    load: float
    seed: int = 0

    def plant(self, seed: int = 0) -> Plant:
        """Simulated arm; seed: seed of its noise, combined with the seed of the rig."""
        return Plant(self.robot, period=self.period, imperfections=self.flaws, seed=(self.seed << 16) + seed)

    def damping(self, posture: Array, rate: float) -> Array:
        """Joint damping [N m s/rad or N s/m] for a velocity decay rate [1/s] of each joint alone, at a posture."""
        return np.asarray(rate * np.diag(self.code.model.mass_matrix(posture)))
