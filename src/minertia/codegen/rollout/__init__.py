"""Simulation of a robot under position control, with sensitivities of its motion."""
