"""Programs: one expression graph to C for a controller, batch kernels, NumPy and other targets."""
