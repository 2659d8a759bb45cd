"""The version, in its one place; the build reads it from here without importing anything."""

__version__ = "0.1.0"
