"""Wrenches of a force/torque sensor at static poses: tool mass, centre of mass, sensor bias, tilt, gravity."""
