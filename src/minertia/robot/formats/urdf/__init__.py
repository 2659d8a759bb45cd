"""Reader and writer of URDF 1.0 to 1.2."""
