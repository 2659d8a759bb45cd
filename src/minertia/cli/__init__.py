"""The command line: every command parses, calls one function of the package and shows the result."""

from minertia.cli.root import app, main

__all__ = ["app", "main"]
