"""Reader of SYMORO+ .par files."""
