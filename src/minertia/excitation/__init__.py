"""Exciting motions: what to run on the robot so that its parameters can be told apart."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
