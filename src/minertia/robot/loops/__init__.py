"""Closed kinematic chains of a robot: closure equations, a closed configuration, mobility, types of loops."""
