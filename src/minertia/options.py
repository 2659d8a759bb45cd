"""Options of the verbs: frozen, self-validating values."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
