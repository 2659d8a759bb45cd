"""Wrenches of a force/torque sensor, at rest or in motion: inertia of the tool, bias, tilt, gravity direction."""
