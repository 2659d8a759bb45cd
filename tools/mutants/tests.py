"""Run tests in this process, and note which functions of the sources each test calls."""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools.mutants.sites import Fault

Function = tuple[str, str]  # source, name


def run_tests(tests: Sequence[str], folder: Path, *options: str, plugins: Sequence[Any] = ()) -> int:
    """Exit status of pytest; whatever tests and plugins write goes into a folder of their own."""
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    import pytest

    given = ["-q", "-p", "no:cacheprovider", "--basetemp", str(folder / "tests"), *options]
    given += ["-n", "0"] if find_spec("xdist") else []
    given += [] if find_spec("typer") else ["--noconftest"]  # the commands' tests are left out where they cannot run
    # a single test that is named runs whether or not it is marked slow
    marks = () if any("::" not in test for test in tests) else ("-m", "")
    return int(pytest.main([*given, *marks, *tests], plugins=[SameExamples(), *plugins]))


class SameExamples:
    """A plugin of pytest: drawn examples are the same in each run, and none fails because the machine is busy."""

    def pytest_sessionstart(self) -> None:
        """Before tests are imported, and after pytest has imported hypothesis."""
        if find_spec("hypothesis"):
            from hypothesis import settings

            settings.register_profile("mutants", deadline=None, derandomize=True)
            settings.load_profile("mutants")


@dataclass
class Calls:
    """Seconds of each test that passes, and the functions of the sources that it and its fixtures call."""

    seconds: dict[str, float] = field(default_factory=dict)
    called: dict[str, set[Function]] = field(default_factory=dict)
    prepared: dict[str, set[Function]] = field(default_factory=dict)  # by test file
    preparation: dict[str, float] = field(default_factory=dict)  # s, by test file
    failed: set[str] = field(default_factory=set)

    def add(self, other: Calls) -> None:
        """Take over what was noted in another process."""
        for name in ("seconds", "called", "prepared", "preparation", "failed"):
            getattr(self, name).update(getattr(other, name))

    def tests(self, fault: Fault, places: Sequence[str]) -> list[str]:
        """Those of some tests, or of some files, that run a fault, quickest first."""
        wanted = {(fault.file, fault.function)}
        if not fault.function:
            wanted = {(file, name) for group in self._groups() for file, name in group if file == fault.file}
        asked = [test for test in self.seconds if test in places or _file(test) in places]
        found = [test for test in asked if self._runs(test) & wanted]
        return sorted(found, key=lambda test: self.seconds[test])

    def duration(self, tests: Sequence[str]) -> float:
        """Seconds that some tests take, with what they are prepared by."""
        files = {_file(test) for test in tests}
        return sum(self.seconds[test] for test in tests) + sum(self.preparation.get(file, 0.0) for file in files)

    def _runs(self, test: str) -> set[Function]:
        return self.called[test] | self.prepared.get(_file(test), set())

    def _groups(self) -> Iterator[set[Function]]:
        yield from self.called.values()
        yield from self.prepared.values()


def _file(test: str) -> str:
    return test.split("::")[0]


class Watch:
    """A plugin of pytest that notes calls."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files  # path: source
        self.calls = Calls()
        self._now: set[Function] = set()

    def pytest_runtest_setup(self, item: Any) -> Iterator[None]:
        """Around fixtures."""
        file, begin = _file(item.nodeid), time.monotonic()
        yield from self._watched(self.calls.prepared.setdefault(file, set()))
        spent = time.monotonic() - begin
        self.calls.preparation[file] = self.calls.preparation.get(file, 0.0) + spent

    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Around a test."""
        begin = time.monotonic()
        yield from self._watched(self.calls.called.setdefault(item.nodeid, set()))
        self.calls.seconds[item.nodeid] = time.monotonic() - begin

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test that fails or is left out without a fault tells nothing."""
        if not report.passed:
            self.calls.seconds.pop(report.nodeid, None)
        if report.failed:
            self.calls.failed.add(report.nodeid)

    def _watched(self, into: set[Function]) -> Iterator[None]:
        self._now = into
        sys.setprofile(self._profile)
        yield
        sys.setprofile(None)

    def _profile(self, frame: Any, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            file = self.files.get(code.co_filename)
            if file is not None:
                self._now.add((file, code.co_qualname.replace(".<locals>", "").split(".<")[0]))


def watch(file: str, sources: dict[str, str], folder: Path, kept: Path) -> int:
    """Run a file of tests and keep what was noted."""
    import pytest

    watching = Watch(sources)
    around = pytest.hookimpl(hookwrapper=True)
    for hook in ("pytest_runtest_setup", "pytest_runtest_call"):
        setattr(watching, hook, around(getattr(Watch, hook)).__get__(watching))
    status = run_tests([file], folder, plugins=[watching])
    kept.write_bytes(pickle.dumps(watching.calls))
    return status
