"""Validation of the model in simulation: a robot in an independent physics engine, and model-based control."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
