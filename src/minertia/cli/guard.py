"""One place that turns errors into one sentence and an exit code."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from minertia.cli.terminal import diagnose
from minertia.errors import MinertiaError

WRONG_INPUT, OUR_FAULT, INTERRUPTED = 2, 3, 130


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its errors shown as one sentence on stderr; a traceback only where it was asked for."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
            sys.stdout.flush()
        except (typer.Exit, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except Exception as err:
            raise typer.Exit(explain(err)) from None

    return run


def explain(err: Exception) -> int:
    """Say what happened; the exit code."""
    if debugging():
        import traceback

        traceback.print_exception(err)
    if isinstance(err, MinertiaError):
        diagnose(f"minertia: {err}")
        return WRONG_INPUT
    what = f"{err.__class__.__name__}: {err}" if str(err) else err.__class__.__name__
    ask = "" if debugging() else "; please report it with what the same command prints when --debug is added"
    diagnose(f"minertia: this should not have happened ({what}){ask}")
    return OUR_FAULT


def debugging() -> bool:
    """Whether tracebacks were asked for."""
    return os.environ.get("MINERTIA_DEBUG", "") not in ("", "0")
