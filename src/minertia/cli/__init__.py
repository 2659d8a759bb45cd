"""The command line: every command parses, calls one function of the package and shows the result."""

from minertia.cli.app import main

__all__ = ["main"]
