"""The linear problem: unknowns, rows, triangles, and what a motion can show."""
