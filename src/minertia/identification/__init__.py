"""Measured logs to dynamic models: logs, audits, filters, the linear problem, estimators, evidence, loads, campaigns."""
