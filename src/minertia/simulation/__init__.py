"""The model put to the test: a robot in an independent physics engine, and control with what was identified."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
