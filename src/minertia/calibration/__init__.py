"""Geometric calibration: which corrections of lengths, angles and zeros a measurement shows, and their values."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
