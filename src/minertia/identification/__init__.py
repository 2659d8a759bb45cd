"""Measured logs to dynamic models: recordings, filters, campaigns, estimators."""
