"""Parameter uncertainty, and the prediction errors on fitted and validation data."""
