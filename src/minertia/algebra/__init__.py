"""Scalars, 3-vectors, expression graphs, polynomials and linear forms, independent of robots."""
