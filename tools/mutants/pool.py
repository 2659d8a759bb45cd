"""Work in forked processes, several at a time, each with a time limit and a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PAUSE = 0.02  # s between two looks at what is running
BROKEN = 71  # exit status of work that ended in an exception


@dataclass(frozen=True)
class Work:
    """What a process does with its folder: its exit status; the process is ended after some seconds."""

    run: Callable[[Path], int]
    seconds: float


@dataclass(frozen=True)
class _Running:
    number: int
    process: int
    end: float


def finished(
    works: Sequence[Work], jobs: int, folder: Path, until: float = float("inf")
) -> Iterator[tuple[int, int | None]]:
    """Number and exit status of works as they end; None where one did not end in time.

    Nothing is begun after the time `until` (of time.monotonic); folders are made in `folder`, and removed.
    """
    waiting = list(enumerate(works))[::-1]
    running: list[_Running] = []
    try:
        while running or (waiting and time.monotonic() < until):
            while waiting and len(running) < jobs and time.monotonic() < until:
                number, work = waiting.pop()
                process = _forked(work, folder / str(number))
                running.append(_Running(number, process, time.monotonic() + work.seconds))
            for one in list(running):
                is_done, status = _status(one)
                if is_done:
                    running.remove(one)
                    shutil.rmtree(folder / str(one.number), ignore_errors=True)
                    yield one.number, status
            time.sleep(PAUSE)
    finally:
        for one in running:
            _end(one.process)


def _forked(work: Work, folder: Path) -> int:
    child = os.fork()
    if child:
        return child
    status = BROKEN
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        folder.mkdir(parents=True)
        status = work.run(folder)
    finally:
        os._exit(status)


def _status(one: _Running) -> tuple[bool, int | None]:
    """Whether a process is over, and its exit status."""
    done, status = os.waitpid(one.process, os.WNOHANG)
    if done:
        return True, os.waitstatus_to_exitcode(status)
    if time.monotonic() < one.end:
        return False, None
    _end(one.process)
    return True, None


def _end(process: int) -> None:
    """End a process and those that it has started."""
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
