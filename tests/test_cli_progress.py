"""Progress of long work: lines with the remaining time where stderr is no terminal."""

from __future__ import annotations

import re
import time

import pytest

from minertia.cli import progress as shown
from minertia.io.steps import StepCount, WorkStep, within


def test_lines_come_also_within_a_long_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shown, "PERIOD", 0.05)
    with shown.progress(4) as tell:
        for step in (
            "reading",
            "filtering",
            WorkStep("fitting, iteration 3", 0.6),
            WorkStep("fitting, iteration 4", 0.8),
        ):
            tell(step)
            time.sleep(0.3)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert sum("filtering" in line for line in lines) > 1 and "remaining time not known yet" in lines[0]
    assert re.fullmatch(r"1 s: fitting, iteration 4; about 1 s left", lines[-1])
    time.sleep(0.15)
    assert capsys.readouterr().err == ""  # nothing follows the end of the work


def test_short_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with shown.progress(1) as tell:
        tell("reading")
    assert capsys.readouterr().err == ""


def test_parts_of_work_add_up() -> None:
    count, found = StepCount(10), []

    def tell(step: str) -> None:
        found.append(count.begin(step))

    tell("reading")
    tell("filtering")
    for part in (within(tell, 0.0, 0.8), within(tell, 0.8, 1.0)):
        for done in (0.0, 0.5, 1.0):
            part(WorkStep("fitting", done))
    tell("writing")
    assert found == pytest.approx([0.0, 0.1, 0.0, 0.4, 0.8, 0.8, 0.9, 0.97, 0.97])


def test_durations_are_rounded() -> None:
    assert [shown.duration(s) for s in (0.2, 60, 200, 7200)] == ["1 s", "60 s", "3 min", "2.0 h"]
