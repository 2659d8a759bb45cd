"""Exciting motions: what to run on the robot so that its parameters can be told apart."""
