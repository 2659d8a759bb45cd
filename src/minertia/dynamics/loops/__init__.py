"""Kinematic loops in the dynamics: passive joints closed, and efforts of the tree projected on the coordinates."""
