"""Verdicts on set-ups that are drawn by seed: a small sample, and in the slow tests all kinds on all robots."""

from __future__ import annotations

import pytest

from tests.identification.blind_setups import blind_robots, blind_setups
from tests.identification.drawn_setups import (
    RIGHT,
    WRONG,
    Drawn,
    drawn_robots,
    is_judged_right,
    judged,
    right_setup,
    small_robots,
    wrong_setup,
)
from tests.shared import needs_shared

SLOW = pytest.mark.slow
# faults of which no other quick test has a whole campaign
QUICK = ("tilting base", "saturated", "clocks apart", "copied", "coupled")
# of right and of wrong ones that are judged right, at least (aim: 0.96)
KEPT = {"right": 0.95, "wrong": 0.93}
SEEDS = 2
BLIND = 0.93


def told(drawn: Drawn) -> tuple[bool, str]:
    result = judged(drawn)
    return is_judged_right(drawn, result), f"{drawn.name}: {result.verdict.grade}, {result.verdict.reasons[:2]}"


@pytest.mark.parametrize("kind", [pytest.param(k, marks=() if k in ("noisy", "repeated") else SLOW) for k in RIGHT])
def test_right_set_ups_of_every_kind(kind: str):
    is_right, what = told(right_setup(small_robots(), kind, 3))
    assert is_right, what


@pytest.mark.parametrize("kind", [pytest.param(k, marks=() if k in QUICK else SLOW) for k in WRONG])
def test_wrong_set_ups_of_every_kind(kind: str):
    robots = small_robots()
    drawn = next(d for k in range(9) if (d := wrong_setup(robots, kind, k)) is not None)
    is_right, what = told(drawn)
    assert is_right, what


def test_a_repeated_motion_is_told_as_such():
    result = judged(right_setup(small_robots(), "repeated", 5))
    assert result.verdict.is_good
    assert any("is the same motion as the training log log1.csv" in reason for reason in result.verdict.reasons)


@needs_shared
@SLOW
def test_centres_of_a_wrist_are_no_zero_that_is_off():
    """This file's wrist was told to be 60 degrees off."""
    robots = [robot for robot in drawn_robots() if robot.name == "ur10e"]
    drawn = right_setup(robots, "centres off", 211)
    result = judged(drawn)
    assert result.verdict.suspicions == () and result.verdict.grade != "not good", result.verdict.reasons[0]


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("half", [0, 1], ids=["chosen on", "reported on"])
def test_drawn_set_ups_are_judged_right(half: int):
    """All kinds on half of the robots; prints how many of the right and of the wrong ones were judged right."""
    robots = drawn_robots()[half::2]
    right = [told(right_setup(robots, kind, 3 * k + 7 * s)) for k, kind in enumerate(RIGHT) for s in range(SEEDS)]
    drawn = [wrong_setup(robots, kind, 3 * k + 7 * s + 1) for k, kind in enumerate(WRONG) for s in range(SEEDS)]
    wrong = [told(d) for d in drawn if d is not None]
    missed = [what for is_right, what in (*right, *wrong) if not is_right]
    for word, found in (("right", right), ("wrong", wrong)):
        assert share(word, found) >= KEPT[word], missed
    assert len(right) + len(wrong) >= 130


@pytest.mark.slow
@needs_shared
def test_blind_set_ups_are_judged_right():
    """Robots and faults that chose nothing: see the head of `blind_setups`."""
    drawn = blind_setups(blind_robots())
    found = [told(d) for d in drawn]
    assert len(found) >= 50 and share("blind", found) >= BLIND, [what for is_right, what in found if not is_right]


def share(word: str, found: list[tuple[bool, str]]) -> float:
    part = sum(is_right for is_right, _ in found) / len(found)
    print(f"{word}: {part:.1%} of {len(found)}")
    return part
