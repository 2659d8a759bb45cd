"""Measured logs to dynamic models: logs, audits, signals, the linear problem, estimators, evidence, loads, campaigns"""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
