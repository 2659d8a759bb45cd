"""Optimal excitation trajectories for the identification of dynamic parameters."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
