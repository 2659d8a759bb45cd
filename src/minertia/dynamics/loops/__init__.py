"""Kinematic loops in the dynamics: closure of passive joints, and projection of tree efforts on the coordinates."""
