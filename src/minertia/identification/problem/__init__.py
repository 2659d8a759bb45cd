"""The linear problem: unknowns, rows, R factors, and identifiability under a motion."""
