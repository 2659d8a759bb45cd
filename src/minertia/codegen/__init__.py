"""Code generation: programs as expression graphs for C, batch kernels, NumPy and other targets."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
