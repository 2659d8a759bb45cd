"""Measured logs to dynamic models: logs, audits, signals, the linear problem, estimators, evidence, loads, campaigns"""
