"""Progress of long work, always on stderr: a bar on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from minertia.cli.terminal import clean, diagnose
from minertia.io.steps import StepCount, WorkStep

PERIOD = 8.0  # s between two lines; shorter work prints none
LEAST = 0.02  # part of the work from which its remaining time is estimated


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Context manager that shows progress and remaining time; yields a function to call as each step begins.

    The work has about `steps` steps.
    """
    shown = _on_terminal if sys.stderr.isatty() else _in_lines
    with shown(_WorkClock(StepCount(steps))) as tell:
        yield tell


class _WorkClock:
    """Latest step of some work, with its elapsed and remaining time."""

    def __init__(self, count: StepCount) -> None:
        self.count, self.step, self.start = count, "", time.monotonic()
        self.known: tuple[float, float] | None = None  # time and completed part at the first step that states its part

    def begin(self, step: str) -> None:
        """Take the next step."""
        done = self.count.begin(step)
        self.step = step
        if self.known is None and isinstance(step, WorkStep) and done > 0:
            self.known = time.monotonic(), done

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.start

    @property
    def remaining(self) -> str:
        """Estimated remaining time in words."""
        since, first = self.known or (self.start, 0.0)
        new = self.count.done - first
        if new < LEAST:
            return "remaining time not known yet"
        return f"about {duration((time.monotonic() - since) * (1 - self.count.done) / new)} left"


def duration(seconds: float) -> str:
    """Rounded time span in words."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def _in_lines(clock: _WorkClock) -> Iterator[Callable[[str], None]]:
    """Print a line each `PERIOD`, also while a step takes long."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(PERIOD):
            diagnose(f"{duration(clock.elapsed)}: {clock.step or 'starting'}; {clock.remaining}")
            sys.stderr.flush()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield clock.begin
    finally:
        ended.set()
        thread.join()


@contextmanager
def _on_terminal(clock: _WorkClock) -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(20), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def tell(step: str) -> None:
            clock.begin(step)
            bar.update(task, description=f"{clock.remaining}: {clean(step)}", completed=clock.count.done)

        yield tell
