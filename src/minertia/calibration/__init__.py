"""Geometric calibration: which corrections of lengths, angles and zeros a measurement shows, and their values."""
