"""Newton-Euler recursion and the dynamics functions built on it, for floats, batches and expressions."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
