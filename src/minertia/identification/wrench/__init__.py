"""Wrenches of a force/torque sensor, at rest or moved: mass, centre and inertia of the tool, bias, tilt, gravity."""
