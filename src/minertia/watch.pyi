"""Load and residuals while the robot works: `learn_levels` once, then `watch_log` or an `OnlineWatch`."""

from minertia.identification.online.levels import WatchLevels, read_levels
from minertia.identification.watch import OnlineWatch, WatchAlarm, WatchResult, learn_levels, watch_log

__all__ = [
    "OnlineWatch",
    "WatchAlarm",
    "WatchLevels",
    "WatchResult",
    "learn_levels",
    "read_levels",
    "watch_log",
]
