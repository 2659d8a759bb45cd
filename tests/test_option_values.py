"""Option values check themselves when they are made: odd ones are refused in one sentence."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import minertia as mi

NAN, INF = float("nan"), float("inf")
ODD: list[tuple[str, dict[str, Any], str]] = [
    *(("Fourier", {"duration": v}, "positive duration") for v in (0, -1, NAN, INF)),
    *(("Spline", {"duration": v}, "positive duration") for v in (0, -1, NAN, INF)),
    ("Fourier", {"duration": 1e9}, "lasts from 0.01 to 100000 s"),
    *(("Fourier", {"harmonics": v}, "at least one harmonic") for v in (0, -1, 10**30)),
    *(("Spline", {"pieces": v}, "at least one piece") for v in (0, -1, 10**30)),
    *(("Fourier", {"frequency": v}, "lowest frequency") for v in (0, -1, NAN)),
    ("Spline", {"degree": 4}, "degree 3 or 5"),
    ("Optimality", {"criterion": "conditon"}, "condition"),
    *(("MotionSearch", {"starts": v}, "from 1 to 1000000 starts") for v in (0, -1, 10**30)),
    *(("MotionSearch", {"n_samples": v}, "from 1 to 1000000 starts and samples") for v in (0, 10**30)),
    ("MotionSearch", {"seed": -1}, "whole number from 0"),
    *(("MotionSearch", {"patience": v}, "positive factor") for v in (0, NAN, INF)),
    *(("Workspace", {"floor": v}, "finite height") for v in (NAN, INF)),
    ("Workspace", {"floor": "ceiling"}, "base"),
    *(("Workspace", {key: v}, f"{key} of a workspace") for key in ("margin", "radius") for v in (0, -1, NAN)),
    ("CodeModel", {"parameters": "bases"}, "base"),
    ("Arithmetic", {"precision": "half"}, "double"),
    ("Arithmetic", {"sincos": "libc"}, "libm"),
    *(("CodeSearch", {"effort": v}, "seconds from 0") for v in (-1, NAN, INF)),
    ("CodeSearch", {"seed": -1}, "whole number from 0"),
    ("RehearsalOptions", {"rate": 0}, "positive rate"),
]


@pytest.mark.parametrize(("name", "given", "said"), ODD)
def test_odd_values_get_a_sentence(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(mi.MinertiaError, match=said) as caught:
        getattr(mi, name)(**given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in ODD} | {"Recorded"}))
def test_they_are_frozen(name: str) -> None:
    value = getattr(mi, name)()
    field = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, getattr(value, field))


def test_what_does_not_go_together_is_refused_before_the_search() -> None:
    robot = mi.read_robot("planar2r")
    with pytest.raises(mi.MinertiaError, match="30 samples are too few for such a motion; take at least 32"):
        mi.excite(robot, mi.Fourier(harmonics=8), search=mi.MotionSearch(n_samples=30))
    with pytest.raises(mi.MinertiaError, match="take at least 50"):
        mi.excite(robot, mi.Spline(pieces=50), search=mi.MotionSearch(n_samples=30))
    with pytest.raises(mi.MinertiaError, match="any"):
        mi.excite(robot, start="anywhere")
    with pytest.raises(mi.MinertiaError, match="nothing to choose"):
        mi.excite(robot, mi.Fourier(harmonics=1))


def test_a_family_given_rules_duration_and_rest() -> None:
    """Its duration and whether it rests are said once, in the family."""
    robot = mi.read_robot("planar2r")
    search = mi.MotionSearch(starts=1, n_samples=40, patience=0.05)
    free = mi.excite(robot, mi.Fourier(3.0, 3, rest=False), search=search)
    assert free.motion.duration == 3.0 and abs(free.trajectory.qd[0]).max() > 1e-6
