"""Progress of long work: a bar on a terminal, nothing elsewhere; always on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from minertia.cli.terminal import clean


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Context manager that shows progress; yields a function to call with the name of each step as it begins.

    The work has about `steps` steps.
    """
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=steps)
        begun = 0

        def tell(step: str) -> None:
            nonlocal begun
            bar.update(task, description=clean(step), completed=min(begun, steps))
            begun += 1

        yield tell
