"""Conversion of exceptions to one-sentence messages and exit codes."""

from __future__ import annotations

import errno
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import typer

from minertia.cli.stop import was_stopped
from minertia.cli.terminal import diagnose, drop_stdout
from minertia.io.errors import MinertiaError, OldName
from minertia.io.files import files_below, inputs_protected, reading

DEBUG = ContextVar("DEBUG", default=False)  # --debug was given
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
RESULTS = ("out", "target", "html", "pdf", "prometheus", "tables")  # arguments and options that name what is written
PLACES = ("data", "store", "folder")  # folders in which results may stand beside what is read
LOG_FOLDERS = ("metadata.yaml", "control.csv", "meta/info.json")  # what a folder that is one log, or many, has
STORE = "store.toml"  # of the records of a fleet
WRONG_INPUT, OUR_FAULT, NOBODY_READS = 2, 3, 141


class Stopped(BaseException):
    """Ctrl-C, as an exception that the argument parser does not catch."""


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that errors appear as one sentence on stderr; tracebacks only with --debug."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            with inputs_protected(once=True), warnings.catch_warnings():
                warnings.simplefilter("once", OldName)
                warnings.showwarning = _told  # type: ignore[assignment]
                reading(*_named_files(options))
                command(*args, **options)
            sys.stdout.flush()
        except typer.Exit:
            raise
        except BrokenPipeError:
            drop_stdout()
            raise typer.Exit(NOBODY_READS) from None
        except KeyboardInterrupt:
            raise Stopped from None
        except Exception as err:
            if was_stopped():
                raise Stopped from None
            raise typer.Exit(explain(err)) from None

    return run


def _told(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Print a warning as one line on stderr, without source location."""
    diagnose(f"warning: {message}")


def _named_files(options: Mapping[str, Any]) -> Iterator[str]:
    """Input files named on the command line, whether or not they are read."""
    for name, value in options.items():
        for word in value if isinstance(value, list | tuple) else (value,):
            if name in RESULTS or not isinstance(word, str | Path):
                continue
            path = os.fspath(word)
            yield path
            yield path.partition("=")[2]  # --limits velocity=FILE
            if name not in PLACES and any(os.path.exists(os.path.join(path, file)) for file in LOG_FOLDERS):
                yield from files_below(path)
            elif name == "store" and os.path.exists(os.path.join(path, STORE)):
                yield from (file for file in files_below(path) if not file.endswith((".html", ".json")))


def explain(err: Exception) -> int:
    """Print the error message and return the exit code."""
    if debugging():
        import traceback

        traceback.print_exception(err)
    if isinstance(err, MinertiaError):
        diagnose(f"minertia: {err}")
        return WRONG_INPUT
    if hasattr(err, "format_message"):  # the command line itself was wrong
        diagnose(f"minertia: {err.format_message()} (see: {_help_command(err)})")
        return WRONG_INPUT
    if isinstance(err, OSError) and err.filename is not None and err.strerror:  # a name too long, a folder closed to us
        diagnose(f"minertia: {os.fspath(err.filename)}: the file cannot be used ({err.strerror})")
        return WRONG_INPUT
    if isinstance(err, MemoryError):
        diagnose("minertia: there is not enough memory for this; use less data at once, or a machine with more memory")
        return WRONG_INPUT
    if isinstance(err, OSError) and err.errno in NO_ROOM:
        drop_stdout()
        diagnose(f"minertia: the output cannot be written ({err.strerror})")
        return WRONG_INPUT
    what = f"{err.__class__.__name__}: {err}" if str(err) else err.__class__.__name__
    ask = "" if debugging() else "; please report it with the output of the same command with --debug"
    diagnose(f"minertia: internal error ({what}){ask}")
    return OUR_FAULT


def _help_command(err: Any) -> str:
    context = getattr(err, "ctx", None)
    return f"{context.command_path if context else 'minertia'} --help"


def debugging() -> bool:
    """Whether tracebacks were requested."""
    return DEBUG.get() or os.environ.get("MINERTIA_DEBUG", "") not in ("", "0")
