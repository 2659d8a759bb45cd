"""Kinematic loops of a robot: closure equations, a closed configuration, mobility, and the forms of loops."""
