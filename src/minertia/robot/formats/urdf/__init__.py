"""URDF 1.0 to 1.2, read and written."""
