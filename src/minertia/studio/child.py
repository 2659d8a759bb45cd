"""Process of one job: limits on memory and time, one function, and progress messages to the server."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from minertia.io.errors import MinertiaError, one_line

OFTEN = 0.1  # s between two messages of the same step


@dataclass(frozen=True)
class JobLimits:
    """Resource limits of one job: memory [bytes] beyond that of its libraries, and processor time [s]."""

    memory: int = 6 * 1024**3
    seconds: int = 3600


@dataclass(frozen=True)
class JobTask:
    """Task of a job: its kind, project folder, output folder, settings, and robot and campaign."""

    kind: str
    folder: str
    out: str
    settings: dict[str, Any]
    made_of: dict[str, Any]


def main(task: JobTask, limits: JobLimits, pipe: Connection) -> None:
    """Run a job and send ("step", ...), then ("done", sentence, grade, files, summary) or ("failed", sentence)."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C of the terminal is the server's business
    try:
        _warm()
        _restrict(limits)
        pipe.send(("done", *_done(task, pipe)))
    except KeyboardInterrupt:
        sys.exit(1)
    except MinertiaError as err:
        pipe.send(("failed", _without_folder(str(err), task.folder)))
    except MemoryError:
        pipe.send(("failed", "there is not enough memory for this job; reduce its size"))
    except Exception as err:  # whatever it is, the page has a sentence and the server goes on
        told = f"{err.__class__.__name__}: {err}" if str(err) else err.__class__.__name__
        pipe.send(("failed", one_line(f"internal error ({_without_folder(told, task.folder)}); please report it")))


def _done(task: JobTask, pipe: Connection) -> tuple[str, str, list[dict[str, str]], dict[str, Any]]:
    from minertia.io.files import inputs_protected
    from minertia.io.resources import one_thread
    from minertia.studio.bindings import files_read, refuse_changed
    from minertia.studio.job_work import JobWork
    from minertia.studio.project import Project
    from minertia.studio.work import run

    project, out = Project(task.folder), Path(task.out)
    refuse_changed(project, task.made_of)
    with one_thread(), inputs_protected() as names:
        sentence, grade, summary = run(task.kind, JobWork(project, out, task.settings, _Teller(pipe), task.made_of))
    return sentence, grade, files_read(names, project.folder, out), summary


class _Teller:
    """Sends progress messages at a limited rate."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe, self.step, self.told = pipe, "", 0.0

    def __call__(self, step: str, part: float | None = None, **numbers: float) -> None:
        now = time.monotonic()
        if step == self.step and now - self.told < OFTEN:
            return
        self.step, self.told = step, now
        with contextlib.suppress(OSError):  # the server ended; this process is about to
            self.pipe.send(("step", one_line(step), part, numbers))


def _without_folder(text: str, folder: str) -> str:
    """Message with file names relative to the project."""
    return text.replace(f"{folder}{os.sep}", "")


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _end_with_parent() -> None:
    """End the job when its server is gone."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _warm() -> None:
    """Make both BLAS libraries allocate their buffers before the memory limit is set, else they retry forever.

    Products of small matrices need no buffers, so these are not small.
    """
    import numpy as np
    from scipy.linalg import blas, lapack

    some = np.eye(400)
    blas.dgemm(1.0, some @ some, some)
    blas.dgemv(1.0, some, some @ some[0])
    lapack.dgeqrf(np.linalg.qr(some)[0])


def _restrict(limits: JobLimits) -> None:
    try:
        import resource
    except ImportError:  # pragma: no cover  (Windows: the server's own clock alone)
        return
    memory = limits.memory + _taken(resource.getpagesize())
    for what, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, limits.seconds)):
        _, hard = resource.getrlimit(what)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _taken(page: int) -> int:
    """Address space that the process already uses [bytes], mostly libraries; 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * page
    except (OSError, ValueError, IndexError):  # pragma: no cover  (not Linux)
        return 0
