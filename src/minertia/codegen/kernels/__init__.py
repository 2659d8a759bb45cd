"""Programs over many samples: one schedule, compiled, interpreted or on NumPy; least squares inside."""
