"""Geometric calibration: corrections of lengths, angles and zeros."""

from minertia.calibration.base import GeometricBase, geometric_base_parameters
from minertia.calibration.options import CalibrationOptions, MeasureColumns, MeasurementColumns
from minertia.calibration.plan import PosturePlan, plan_postures
from minertia.calibration.result import Calibration
from minertia.calibration.save import save_calibration

__all__ = [
    "Calibration",
    "CalibrationOptions",
    "GeometricBase",
    "MeasureColumns",
    "MeasurementColumns",
    "PosturePlan",
    "geometric_base_parameters",
    "plan_postures",
    "save_calibration",
]
