"""Motions on robots: drivers, the watch over each period, the ladder of speeds, and the log."""
