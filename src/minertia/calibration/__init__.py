"""Geometric calibration: identifiable corrections of lengths, angles and joint zeros, and their estimates."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
