"""Measured logs: files of many formats to recordings of a robot's coordinates."""
