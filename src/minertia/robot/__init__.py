"""Robots as immutable data: joints, parameters, and the readers and writers of description files."""
