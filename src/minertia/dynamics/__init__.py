"""The recursion, written once, and what follows from it; runs on floats, batches and expressions."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
