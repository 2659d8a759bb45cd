"""Base parameters in symbols."""

from minertia.base.symbolic import SymbolicDynamics
from minertia.base.symbolic import symbolic as derive_symbolic

__all__ = [
    "SymbolicDynamics",
    "derive_symbolic",
]
