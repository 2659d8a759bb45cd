"""Trajectory files for controllers."""
