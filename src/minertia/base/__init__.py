"""Base parameters: the identifiable inertial parameters of a robot."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
