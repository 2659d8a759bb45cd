"""SYMORO+ .par files, read."""
