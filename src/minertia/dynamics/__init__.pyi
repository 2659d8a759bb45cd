"""Quantities of a robot's motion: efforts, inertia, regressors, kinematics and their derivatives."""

from minertia.dynamics.frame import FrameWrench
from minertia.dynamics.model import (
    actuation_matrix,
    coordinate_efforts,
    coriolis_matrix,
    forward_dynamics,
    forward_dynamics_derivatives,
    forward_kinematics,
    gravity_torques,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    jacobian,
    kinetic_energy,
    mass_matrix,
    momentum_regressor,
    passive_start,
    potential_energy,
    power_regressor,
    slotine_li_regressor,
    slotine_li_torques,
    torque_regressor,
    velocity_torques,
)
from minertia.dynamics.options import ChosenFrame
from minertia.robot.effect import Effect, add_effects

__all__ = [
    "Effect",
    "add_effects",
    "ChosenFrame",
    "FrameWrench",
    "actuation_matrix",
    "coordinate_efforts",
    "coriolis_matrix",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "gravity_torques",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "kinetic_energy",
    "mass_matrix",
    "momentum_regressor",
    "passive_start",
    "potential_energy",
    "power_regressor",
    "slotine_li_regressor",
    "slotine_li_torques",
    "torque_regressor",
    "velocity_torques",
]
