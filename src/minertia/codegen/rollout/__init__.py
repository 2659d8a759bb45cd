"""A robot under its position loop, simulated with the derivatives of its motion carried along."""
