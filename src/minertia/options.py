"""Option classes of the public functions: immutable dataclasses that validate their values."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
