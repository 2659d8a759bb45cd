"""Scalars, 3-vectors, expressions, polynomials and linear forms; knows nothing of robots."""
