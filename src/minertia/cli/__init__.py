"""Command line: every command parses its arguments, calls one function of the package and prints the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minertia.cli.stop import exit_code, say_stopped, stopping, was_stopped

__all__ = ["app", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    try:
        with stopping():
            from minertia.cli.root import run  # within, as Ctrl-C may come while it is imported

            code = run(argv)
            if code and was_stopped():  # whatever the parser made of it
                raise KeyboardInterrupt
            return code
    except KeyboardInterrupt:
        say_stopped()
        return exit_code()


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'minertia.cli' has no attribute '{name}'")
    from minertia.cli.root import app

    return app
