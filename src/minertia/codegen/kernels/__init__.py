"""Batch kernels: programs over many samples, compiled, interpreted or on NumPy, and least squares with them."""
