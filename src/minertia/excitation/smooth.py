"""Smooth approximation of the sign function, for friction in a search."""

from __future__ import annotations

from minertia.algebra.expr import Expr, Graph


class SmoothGraph(Graph):
    """A graph in which sign(x) is x / sqrt(x^2 + width^2), so that friction has derivatives."""

    def __init__(self, width: float) -> None:
        super().__init__()
        self.width = width

    def function(self, name: str, x: Expr) -> Expr:
        """Apply a function to an expression; sign is replaced by its smooth approximation."""
        if name != "sign":
            return super().function(name, x)
        return x / (x * x + self.width**2).sqrt()
