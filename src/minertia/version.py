"""The version, in its one place; the build reads it from here without importing anything."""

__version__ = "1.0.0rc1"
