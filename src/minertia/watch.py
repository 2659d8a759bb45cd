"""On-line monitoring of payload and residuals: `learn_levels` once, then `watch_log` or an `OnlineWatch`."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
