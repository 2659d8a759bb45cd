"""The TOML format: Denavit-Hartenberg tables and plain placements, read and written."""
