"""Data quality checks of a recording before identification."""
