"""Bodies that the robot carries: known, unknown, or used to find the gains of the drives."""
