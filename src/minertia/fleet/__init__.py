"""Fleets: evidence of many robots over many days, kept so that it is merged, fitted and watched without the logs."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
