"""Wrenches of a force/torque sensor at poses at rest: tool mass, centre of mass, sensor bias, tilt, gravity."""
