"""Run faults: which tests call what, then each fault with the tests that call it, until one fails."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tools.mutants.exchange import put_in
from tools.mutants.places import PLACES, module_name
from tools.mutants.pool import Work, finished
from tools.mutants.sites import Fault
from tools.mutants.tests import Calls, run_tests, watch

SECONDS = 40.0  # of tests for one fault, as they were measured; three tests at least
PATIENCE = 4.0  # times as long before a fault counts as noticed because nothing ends
START = 20.0  # s more for imports
LONGEST = 900.0  # s for a file of tests without a fault
NOTICED = {1: "killed", 2: "killed"}  # exit status of pytest: tests failed, or could not be collected
ODD = 70  # the changed module does not even load
WORDS = {0: "survived", ODD: "killed at import", None: "killed by time"}


class Run:
    """Faults to be run on a copy of the tree, some at a time, and a file for the list."""

    def __init__(self, root: Path, faults: Sequence[Fault], jobs: int, minutes: float, out: Path | None) -> None:
        self.root, self.faults, self.jobs, self.out = root, faults, jobs, out
        self.until = time.monotonic() + 60.0 * minutes
        self.calls = Calls()
        self.told: dict[str, int] = {}

    def all(self) -> None:
        """Load what is to be changed, watch the tests, run the faults, and count."""
        os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", PYTHONHASHSEED="0")
        os.chdir(self.root)
        sys.path[:0] = [str(self.root / "src"), str(self.root)]
        for file in {fault.file for fault in self.faults}:
            importlib.import_module(module_name(file))
        importlib.import_module("pytest")
        self._watch()
        self._run()
        killed = sum(n for word, n in self.told.items() if word.startswith("killed"))
        count = sum(self.told.values())
        left = f"; {len(self.faults) - count} not reached" if count < len(self.faults) else ""
        self._say(f"{killed} of {count} noticed ({100 * killed / max(count, 1):.1f} %): {self.told}{left}")

    def _watch(self) -> None:
        """Run the files of tests once without a fault."""
        sources = {str(self.root / "src/minertia" / file): file for file in PLACES}
        files = sorted({test for fault in self.faults for test in PLACES[fault.file]})
        kept = [self.root.parent / f"{number}.calls" for number in range(len(files))]
        works = [
            Work(partial(watch, file, sources, kept=path), LONGEST) for file, path in zip(files, kept, strict=True)
        ]
        for number, status in finished(works, self.jobs, self.root.parent / "scratch"):
            if kept[number].is_file():
                self.calls.add(pickle.loads(kept[number].read_bytes()))
            if status != 0:
                self._say(f"     without a fault: {files[number]} ends with {status}")
        for test in sorted(self.calls.failed):
            self._say(f"     without a fault fails, and is left out: {test}")
        if not self.calls.seconds:
            raise SystemExit("no test passes without a fault: is everything installed that the tests import?")

    def _run(self) -> None:
        works = []
        for fault in self.faults:
            tests = self._tests(fault)
            works.append(Work(partial(self._one, fault, tests), START + PATIENCE * self.calls.duration(tests)))
        for number, status in finished(works, self.jobs, self.root.parent / "scratch", self.until):
            fault = self.faults[number]
            word = WORDS.get(status) or NOTICED.get(status or 0) or ("killed" if (status or 0) < 0 else f"odd {status}")
            word = word if self._tests(fault) else "not run"
            self.told[word] = self.told.get(word, 0) + 1
            self._say(f"{sum(self.told.values()):4d} {word:16} {fault}")

    def _tests(self, fault: Fault) -> list[str]:
        """Tests that call the faulty function, quickest first, up to a number of seconds."""
        total, kept = 0.0, []
        for test in self.calls.tests(fault, PLACES[fault.file]):
            total += self.calls.seconds[test]
            if total > SECONDS and len(kept) >= 3:
                break
            kept.append(test)
        return kept

    def _one(self, fault: Fault, tests: Sequence[str], folder: Path) -> int:
        """Exit status of tests with a fault in the code."""
        if not tests:
            return 0
        try:
            put_in(self.root, fault)
        except SyntaxError:
            raise  # no fault of the code but of this tool
        except Exception:
            return ODD
        return run_tests(tests, folder, "-x")

    def _say(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        if self.out is not None:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
