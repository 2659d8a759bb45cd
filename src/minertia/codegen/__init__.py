"""Programs: one expression graph to C for a controller, batch kernels, NumPy and other targets."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
