"""Engines that process batches of logs: `submit(fn, *args)` returns a future; all give bitwise equal results.

Processes of this machine by default, workers of a Dask scheduler for a cluster, or any executor of the same
interface.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from typing import Any, TypeVar

from minertia.io.errors import MinertiaError
from minertia.io.extras import load
from minertia.io.resources import processors

IN_FLIGHT = 200  # batches that a scheduler knows of at a time
UNKNOWN = 8  # workers of an executor that does not say
WAITING = 2  # batches for each process of this machine
REACHED = 20.0  # s in which a scheduler must answer, at first and after it was lost
FOUND_AGAIN = REACHED + 5.0  # s after which a client must have found it or given up
CLOSED = 2.0  # s to say goodbye
LOOKED = 5.0  # s after which a cluster that has finished nothing is asked for its workers
WORKERLESS = 60.0  # s for which a cluster may have none: autoscalers take that long
Job = TypeVar("Job")


class Engine(ABC):
    """Runs a function on many jobs; a failing job does not affect the others.

    workers: approximate number of parallel workers.
    """

    workers: int = 1

    @abstractmethod
    def run(self, work: Callable[[Job], Any], jobs: Sequence[Job], alone: bool = False) -> Iterator[tuple[Job, Any]]:
        """Yield jobs with their results as they finish, or with the exception that ended their worker.

        alone: one job at a time, so that the end of a worker is attributed to this job.
        """


class HereEngine(Engine):
    """Engine that runs jobs one after the other in this process."""

    def run(self, work: Callable[[Job], Any], jobs: Sequence[Job], alone: bool = False) -> Iterator[tuple[Job, Any]]:
        """Yield jobs with their results."""
        for job in jobs:
            yield job, work(job)


class SubmittingEngine(Engine):
    """Engine that submits jobs to an executor; most: largest number of jobs in flight."""

    def __init__(self, most: int, workers: int) -> None:
        self.most, self.workers = most, workers

    @abstractmethod
    def executor(self) -> Executor:
        """Executor of the jobs; a new one if the last is broken."""

    @abstractmethod
    def drop(self, broken: Executor | None = None) -> None:
        """Discard an executor that is broken or no longer needed."""

    def run(self, work: Callable[[Job], Any], jobs: Sequence[Job], alone: bool = False) -> Iterator[tuple[Job, Any]]:
        """Yield jobs with their results as they finish, or with the exception that ended their worker."""
        left, flying = list(reversed(jobs)), dict[Future[Any], tuple[Job, Executor]]()
        most = 1 if alone else self.most
        while left or flying:
            while left and len(flying) < most:
                job = left.pop()
                future, by = self._submitted(work, job)
                flying[future] = job, by
            while not (done := wait(flying, LOOKED, FIRST_COMPLETED).done):
                self.check_workers()
            for future in done:
                job, by = flying.pop(future)
                err = CancelledError() if future.cancelled() else future.exception()
                if isinstance(err, BrokenExecutor):
                    self.drop(by)
                elif isinstance(err, CancelledError):  # nobody here cancels
                    self.found_again()
                yield job, err if err is not None else future.result()

    def found_again(self) -> None:
        """Raise an error after lost jobs unless the executor is available again."""

    def check_workers(self) -> None:
        """Raise an error after a time without results if there are no workers."""

    def _submitted(self, work: Callable[[Job], Any], job: Job) -> tuple[Future[Any], Executor]:
        by = self.executor()
        try:
            return by.submit(work, job), by
        except BrokenExecutor:
            self.drop(by)
            by = self.executor()
            return by.submit(work, job), by


class ProcessEngine(SubmittingEngine):
    """Engine of spawned processes of this machine, each with one linear algebra thread."""

    def __init__(self, workers: int | None = None) -> None:
        count = workers or processors()
        super().__init__(WAITING * count, count)
        self._pool: ProcessPoolExecutor | None = None

    def executor(self) -> Executor:
        """Process pool."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_end_with_parent)
        return self._pool

    def _submitted(self, work: Callable[[Job], Any], job: Job) -> tuple[Future[Any], Executor]:
        with _without_main():  # processes are started here
            return super()._submitted(work, job)

    def drop(self, broken: Executor | None = None) -> None:
        """End the processes, unless the broken ones were already replaced."""
        if self._pool is not None and broken in (None, self._pool):
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _end_with_parent() -> None:
    """End this process when the one that started it is gone: killed, it cannot say that nothing will come."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Context in which spawned processes do not run the user's script again."""
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), main.__dict__.pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not None:
            main.__file__ = file


class ExecutorEngine(SubmittingEngine):
    """Engine of an executor, or Dask client, owned by the caller."""

    def __init__(self, given: Any) -> None:
        self._client = given if hasattr(given, "nthreads") and hasattr(given, "scheduler_info") else None
        with self._reached():
            threads = 0 if self._client is None else sum(given.nthreads().values())
        super().__init__(IN_FLIGHT, threads or UNKNOWN)
        self._given = _executor_of(given)
        self._alone_since: float | None = None

    def found_again(self) -> None:
        """Wait until the client of a cluster has reconnected to its scheduler, or has given up."""
        deadline = time.monotonic() + FOUND_AGAIN
        while self._client is not None and self._client.status == "connecting" and time.monotonic() < deadline:
            time.sleep(0.05)
        if self._client is not None and self._client.status != "running":
            raise self._lost()

    def check_workers(self) -> None:
        """Raise an error for a cluster without workers for `WORKERLESS` seconds."""
        if self._client is None:
            return
        with self._reached():
            has_workers = sum(self._client.nthreads().values()) > 0
        now = time.monotonic()
        self._alone_since = None if has_workers else self._alone_since or now
        if self._alone_since is not None and now - self._alone_since >= WORKERLESS:
            raise MinertiaError(
                f"the Dask scheduler has had no workers for {WORKERLESS:g} s; records written so far are kept: "
                "start workers (dask worker ADDRESS), and run the same command again to continue"
            )

    def _submitted(self, work: Callable[[Job], Any], job: Job) -> tuple[Future[Any], Executor]:
        with self._reached():
            return super()._submitted(work, job)

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Context that reports a scheduler that does not answer."""
        try:
            yield
        except (OSError, RuntimeError, TimeoutError) as err:
            if self._client is None:
                raise
            raise self._lost(err) from None

    def _lost(self, err: Exception | None = None) -> MinertiaError:
        address = getattr(getattr(self._client, "scheduler", None), "address", None)
        where = f" at '{address}'" if address else ""
        why = f" ({str(err).splitlines()[0][:120]})" if err is not None and str(err) else ""
        return MinertiaError(
            f"the Dask scheduler{where} no longer answers{why}; records written so far are kept: start it, and "
            "run the same command again to continue"
        )

    def executor(self) -> Executor:
        """Executor as given."""
        own: Executor = self._given
        return own

    def drop(self, broken: Executor | None = None) -> None:
        """Do nothing: the caller owns the executor."""


def _executor_of(given: Any) -> Executor:
    """Executor of a given object; for a Dask client, one that reruns lost jobs and does not cache failures."""
    own: Executor = given.get_executor(pure=False) if hasattr(given, "get_executor") else given
    return own


@contextlib.contextmanager
def engine(executor: Any = None, *, workers: int | None = None, scheduler: str | None = None) -> Iterator[Engine]:
    """Context with the requested engine, which is closed at the end if it was started here.

    executor: an executor or a Dask client.  workers: processes of this machine, 0 for the current one; None: one
    for each core.  scheduler: address of a Dask scheduler.
    """
    if sum(given is not None for given in (executor, workers, scheduler)) > 1:
        raise MinertiaError("give only one of: an executor, a number of workers, the address of a scheduler")
    if scheduler is not None:
        with _client(scheduler) as client:
            yield ExecutorEngine(client)
        return
    if executor is not None:
        yield ExecutorEngine(executor)
        return
    if workers == 0:
        yield HereEngine()
        return
    own = ProcessEngine(workers)
    try:
        yield own
    finally:
        own.drop()


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    """Context with a client of a Dask scheduler."""
    distributed = load("distributed", "cluster")
    client = distributed.Client.__new__(distributed.Client)
    with _silent("distributed"):  # what it says of an outage we say, in one sentence
        try:
            client.__init__(address, timeout=REACHED)
        except (OSError, ValueError, TimeoutError, RuntimeError, ImportError) as err:
            client.status = "closed"  # it would wait for the scheduler once more when it is thrown away
            raise MinertiaError(
                f"there is no Dask scheduler at '{address}' ({(str(err).splitlines() or [''])[0][:160]}); check "
                "that it is running and the address; without --scheduler this machine does the work"
            ) from None
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):  # a scheduler that is gone cannot be told
                client.close(timeout=CLOSED)


@contextlib.contextmanager
def _silent(package: str) -> Iterator[None]:
    """Context in which a package's logging is disabled."""
    names = [package, *(name for name in logging.root.manager.loggerDict if name.startswith(f"{package}."))]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
