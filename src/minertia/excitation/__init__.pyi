"""Families of exciting motions, their limits and the space around the robot."""

from minertia.excitation.constraint import Constraint
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import MotionLimits
from minertia.excitation.options import Box, Foot, Workspace
from minertia.excitation.spline import Spline

__all__ = [
    "Box",
    "Constraint",
    "Foot",
    "Fourier",
    "MotionLimits",
    "Spline",
    "Workspace",
]
