"""Commands and scripts in this process, as if each had one of its own: starting Python is most of a short one's time.

That `python -m minertia` starts, and ends as the shell expects, is tried by processes of their own in test_cli.py and
test_cli_stop.py.
"""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from minertia.cli import main


@dataclass(frozen=True)
class Done:
    """What a process would have left behind."""

    returncode: int
    stdout: str
    stderr: str


def command(arguments: list[str], folder: Path, **environment: str) -> Done:
    """`minertia ARGUMENTS` in a folder."""
    return _alone(lambda: main(arguments), folder, environment)


def script(text: str, folder: Path) -> Done:
    """A script in a folder, its warnings taken as errors."""

    def run() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(text, "<script>", "exec"), {"__name__": "__main__"})
        return 0

    return _alone(run, folder, {})


def _alone(run: Callable[[], int], folder: Path, environment: dict[str, str]) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with _there(folder, environment), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run()
    return Done(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _there(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    with mock.patch.dict(os.environ, environment), contextlib.chdir(folder):
        yield
