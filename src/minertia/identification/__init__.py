"""Identification of dynamic models from logs: audits, signals, the linear problem, estimators, payloads."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
