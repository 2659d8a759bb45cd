"""Version number, defined here only; the build reads it without importing anything."""

__version__ = "1.0.0rc1"
