"""Base parameters: what of a robot's inertia its joint efforts can show."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
