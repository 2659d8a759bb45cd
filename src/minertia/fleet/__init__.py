"""Fleets: sufficient statistics of many robots over many days, merged, fitted and monitored without the logs."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
