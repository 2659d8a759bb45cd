"""Campaign file: all settings of an identification, in one place."""
