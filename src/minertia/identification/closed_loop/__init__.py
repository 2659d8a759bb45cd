"""Closed-loop output-error identification without measured efforts, from commands and positions."""
