"""Geometric calibration: corrections of lengths, angles and zeros."""

from minertia.calibration.plan import PosturePlan, Sight, plan_postures
from minertia.calibration.rehearse import CalibrationRehearsal, rehearse_calibration
from minertia.identification.campaigns.options import CalibrationOptions, MeasureColumns
from minertia.identification.geometry.base import GeometricBase, geometric_base_parameters
from minertia.identification.geometry.model import CalibratedModel

__all__ = [
    "CalibratedModel",
    "CalibrationOptions",
    "CalibrationRehearsal",
    "GeometricBase",
    "MeasureColumns",
    "PosturePlan",
    "Sight",
    "geometric_base_parameters",
    "plan_postures",
    "rehearse_calibration",
]
