"""Jobs: each runs in a separate process, is followed by any number of clients, and is recorded in the project.

A record (`job.json`) is written when a job begins and when it ends.  A record that says "running" when a
server starts belongs to an interrupted job, and a process that still works for it is ended.  Results appear
atomically, so that no folder holds incomplete ones.  The inputs of a result are recorded with it
(`bindings`).
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from weakref import finalize

from minertia.io.documents import DocumentError, json_document
from minertia.io.drafts import claimed
from minertia.io.errors import InputError, MinertiaError, visible
from minertia.io.files import make_folder, write_file
from minertia.studio.bindings import bound
from minertia.studio.child import JobLimits, JobTask, main
from minertia.studio.project import RUNS, Project

FORMAT = 1
RECORD = "job.json"
RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED = "running", "done", "failed", "cancelled", "interrupted"
_NAME = re.compile(r"(\d{4,6})-([a-z]+)")
# kinds of which only some run at a time
LONG = ("identify", "excite", "rehearse", "generate", "validate", "calibrate", "wrench", "control", "fleet")
MOST_LONG, MOST = 2, 5  # jobs that run at the same time
GRACE = 5.0  # s between asking a process to end and ending it


class Busy(MinertiaError):
    """Error: too many jobs are running."""


@dataclass
class Job:
    """One job.  version: counts changes, for clients that wait for an update.

    made_of: robot, campaign and files of its result.  process: number and start time of its process.
    grade: verdict on its result: "good", "usable", "not good"; "" if there is none.  summary: figures of its
    result for the table of runs.  title, tags: given by the user.
    """

    name: str
    kind: str
    settings: dict[str, Any]
    digest: str = ""
    state: str = RUNNING
    started: float = field(default_factory=time.time)
    ended: float | None = None
    step: str = ""
    part: float | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    sentence: str = ""
    made_of: dict[str, Any] = field(default_factory=dict)
    process: dict[str, Any] = field(default_factory=dict)
    grade: str = ""
    summary: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    tags: list[str] = field(default_factory=list)
    version: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for the page and the record."""
        return {
            "format": FORMAT,
            "name": self.name,
            "kind": self.kind,
            "settings": self.settings,
            "digest": self.digest,
            "state": self.state,
            "started": self.started,
            "ended": self.ended,
            "step": self.step,
            "part": self.part,
            "numbers": self.numbers,
            "sentence": self.sentence,
            "made_of": self.made_of,
            "process": self.process,
            "grade": self.grade,
            "summary": self.summary,
            "title": self.title,
            "tags": self.tags,
        }


class Jobs:
    """The jobs of a project."""

    def __init__(self, project: Project, limits: JobLimits | None = None) -> None:
        self.project, self.limits = project, limits or JobLimits()
        self.news = threading.Condition()
        self._jobs: dict[str, Job] = {}
        self._deleted: set[str] = set()
        self._processes: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []
        self._leave = finalize(self, _taken(project.folder))
        for path in sorted((project.folder / RUNS).glob(f"*/{RECORD}")):
            job = _recorded(path)
            if job is not None:
                self._jobs[job.name] = job
                if job.state == RUNNING:
                    end_orphan(job.process)
                    job.state, job.ended = INTERRUPTED, time.time()
                    job.sentence = "the studio was stopped while this job ran, and nothing was written; start it again"
                    self._record(job)

    # ------------------------------------------------------------------ asking

    def all(self) -> list[Job]:
        """All jobs, newest first."""
        with self.news:
            return sorted(self._jobs.values(), key=lambda job: job.name, reverse=True)

    def get(self, name: str) -> Job:
        """Job with this name."""
        with self.news:
            if name not in self._jobs:
                raise InputError("there is no such job in this folder")
            return self._jobs[name]

    def folder(self, name: str) -> Path:
        """Folder of a job's files; raises an error for a name that is not a job's."""
        return self.project.folder / RUNS / self.get(name).name

    # ------------------------------------------------------------------ doing

    def start(
        self, kind: str, settings: Mapping[str, Any], digest: str = "", made_of: Mapping[str, Any] | None = None
    ) -> Job:
        """Start a job, or return the same one if it is already running.  made_of: its robot and campaign."""
        asked = dict(settings)
        with self.news:
            running = [job for job in self._jobs.values() if job.state == RUNNING]
            for job in running:
                if (job.kind, job.settings, job.digest) == (kind, asked, digest):
                    return job
            if len(running) >= MOST or (kind in LONG and sum(job.kind in LONG for job in running) >= MOST_LONG):
                raise Busy("other jobs are already running; wait for one of them, or cancel it")
            job = self._begun(Job(self._free_name(kind), kind, asked, digest, made_of=dict(made_of or {})))
            self._jobs[job.name] = job
        self._launch(job)
        return job

    def _begun(self, job: Job) -> Job:
        """Create the folder and the record of a job, or neither if one fails."""
        folder = make_folder(self.project.folder / RUNS / job.name)
        try:
            self._record(job)
        except MinertiaError:  # a full disk: no job, and no folder of none
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise
        return job

    def cancel(self, name: str) -> Job:
        """Cancel a job; only its record is kept."""
        job = self.get(name)
        with self.news:
            if job.state == RUNNING:
                self._end(job, CANCELLED, "cancelled; nothing was written")
        self._kill(name)
        return job

    def label(self, name: str, title: str, tags: Sequence[str]) -> Job:
        """Name a job, and tag it."""
        job = self.get(name)
        with self.news:
            job.title, job.tags = title, list(tags)
            self._record(job)
        return job

    def delete(self, name: str) -> None:
        """Delete a job that has ended, with all its files; its name is not given again while the server runs."""
        folder = self.folder(name)
        with self.news:
            if self._jobs[name].state == RUNNING:
                raise Busy(f"{name} is running; cancel it before deleting it")
            self._deleted.add(name)
            del self._jobs[name]
        shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Cancel all jobs when the server ends."""
        for job in self.all():
            if job.state == RUNNING:
                with self.news:
                    self._end(job, INTERRUPTED, "the studio was stopped while this job ran; start it again")
                self._kill(job.name)
        for thread in list(self._threads):
            thread.join(GRACE)
        self._leave()

    # ------------------------------------------------------------------ processes

    def _launch(self, job: Job) -> None:
        context = _processes()
        ours, theirs = context.Pipe(duplex=False)
        folder = self.project.folder
        task = JobTask(job.kind, str(folder), str(folder / RUNS / job.name), job.settings, job.made_of)
        process = context.Process(target=main, args=(task, self.limits, theirs), daemon=True, name=job.name)
        process.start()
        theirs.close()
        self._processes[job.name] = process
        with self.news, contextlib.suppress(MinertiaError):
            if job.state == RUNNING:
                job.process = {"pid": process.pid, "began": began(process.pid)}
                self._record(job)
        thread = threading.Thread(target=self._watch, args=(job, process, ours), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _watch(self, job: Job, process: Any, pipe: Connection) -> None:
        """Receive the messages of the process until it ends."""
        end = time.monotonic() + self.limits.seconds
        try:
            while job.state == RUNNING:
                if time.monotonic() > end:
                    self._finish(job, FAILED, f"the job took longer than {self.limits.seconds} s and was stopped")
                elif pipe.poll(0.5):
                    self._heard(job, pipe.recv())
        except EOFError:
            self._finish(
                job,
                FAILED,
                "the process of the job ended without a message; it may have exceeded the memory or time limit",
            )
        finally:
            if job.state in (DONE, FAILED):
                process.join(GRACE)  # it has said its last word and ends by itself
            self._kill(job.name)
            pipe.close()
            self._processes.pop(job.name, None)

    def _heard(self, job: Job, message: tuple[Any, ...]) -> None:
        if message[0] == "step":
            with self.news:
                job.step, job.part, job.numbers = message[1], message[2], dict(message[3])
                job.version += 1
                self.news.notify_all()
            return
        if message[0] == "done":
            job.grade, job.made_of = str(message[2]), {**job.made_of, **bound(message[3], job.started)}
            job.summary = dict(message[4])
        self._finish(job, DONE if message[0] == "done" else FAILED, str(message[1]))

    def _finish(self, job: Job, state: str, sentence: str) -> None:
        with self.news:
            if job.state == RUNNING:
                self._end(job, state, sentence)

    def _end(self, job: Job, state: str, sentence: str) -> None:
        job.state, job.sentence, job.ended, job.process = state, sentence, time.time(), {}
        job.part = 1.0 if state == DONE else job.part
        job.version += 1
        try:
            self._record(job)
        except MinertiaError as err:  # a full disk, a folder that vanished: say so, and go on
            job.sentence = f"{sentence}; its record cannot be written: {err}"
        self.news.notify_all()

    def _kill(self, name: str) -> None:
        process = self._processes.get(name)
        if process is None or not process.is_alive():
            return
        process.terminate()
        process.join(GRACE)
        if process.is_alive():
            process.kill()

    # ------------------------------------------------------------------ records

    def _record(self, job: Job) -> None:
        path = self.project.folder / RUNS / job.name / RECORD
        write_file(path, json.dumps(job.to_dict(), indent=1) + "\n", force=True)

    def _free_name(self, kind: str) -> str:
        taken = [int(m[1]) for m in map(_NAME.fullmatch, self._names()) if m is not None]
        return f"{max(taken, default=0) + 1:04d}-{kind}"

    def _names(self) -> Iterator[str]:
        for path in (self.project.folder / RUNS).iterdir():
            yield path.name
        yield from self._deleted


def _taken(folder: Path) -> Callable[[], None]:
    """Lock the folder for one studio; a second one would take the jobs that run here as interrupted."""
    try:
        return claimed(folder / RUNS)
    except BlockingIOError:
        sentence = (
            f"another studio has '{visible(folder.name)}' open; continue in its page, or stop it before "
            "starting this one"
        )
        raise InputError(sentence) from None


def began(pid: int) -> str:
    """Start time of a process, which distinguishes it from another with the same number; "" where not available."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def end_orphan(process: Mapping[str, Any]) -> None:
    """Kill the process of a job whose server was killed, if it is still the same one."""
    pid, since = process.get("pid"), process.get("began")
    if isinstance(pid, int) and since and began(pid) == since:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def begin_loading() -> None:
    """Start the process from which jobs are forked, so that imports are done before the first job."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        _processes()
        forkserver.ensure_running()


def _processes() -> Any:
    """Start method of job processes: fork from a process with all imports done, or spawn where there is no fork.

    Never forked from the server itself, whose threads may hold locks.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():  # pragma: no cover  (Windows)
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["minertia.studio.ready"])
    return context


def _recorded(path: Path) -> Job | None:
    """Job from its record; None if the record is not valid."""
    try:
        found = json_document(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not _NAME.fullmatch(path.parent.name):
            return None
        return Job(
            path.parent.name,
            str(found["kind"]),
            dict(found["settings"]),
            str(found.get("digest", "")),
            str(found["state"]),
            float(found["started"]),
            found.get("ended"),
            str(found.get("step", "")),
            found.get("part"),
            {},
            str(found.get("sentence", "")),
            dict(found.get("made_of", {})),
            dict(found.get("process", {})),
            str(found.get("grade", "")),
            dict(found.get("summary", {})),
            str(found.get("title", "")),
            [str(tag) for tag in found.get("tags", ())],
        )
    except (OSError, DocumentError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        return None
