"""Option values check themselves when they are made: odd ones are refused in one sentence."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import minertia as mi


def named_in(name: str) -> Any:
    """What has this name, at the top or in a part of minertia."""
    return next(getattr(part, name) for part in (mi, mi.options, mi.excitation) if name in dir(part))


NAN, INF = float("nan"), float("inf")
ODD: list[tuple[str, dict[str, Any], str]] = [
    *(("Fourier", {"duration": v}, "duration of .* must be a number from 0.01 to 100000 ") for v in (0, -1, NAN, INF)),
    *(("Spline", {"duration": v}, "duration of .* must be a number from 0.01 to 100000 ") for v in (0, -1, NAN, INF)),
    ("Fourier", {"duration": 1e9}, "duration of Fourier must be a number from 0.01 to 100000 "),
    *(("Fourier", {"harmonics": v}, "harmonics of Fourier must be an integer from 1") for v in (0, -1, 10**30)),
    *(("Spline", {"pieces": v}, "pieces of Spline must be an integer from 1") for v in (0, -1, 10**30)),
    *(("Fourier", {"frequency": v}, "frequency of Fourier must be a number above 0") for v in (0, -1, NAN)),
    ("Spline", {"degree": 4}, "degree 3 or 5"),
    ("Optimality", {"criterion": "conditon"}, "condition"),
    *(("MotionSearch", {"starts": v}, "starts of MotionSearch must be an integer from 1") for v in (0, -1, 10**30)),
    *(("MotionSearch", {"n_samples": v}, "samples of MotionSearch must be an integer from 1") for v in (0, 10**30)),
    ("MotionSearch", {"seed": -1}, "seed of MotionSearch must be an integer from 0"),
    *(("MotionSearch", {"patience": v}, "patience of MotionSearch must be a number above 0") for v in (0, NAN, INF)),
    *(("Workspace", {"floor": v}, "floor of Workspace must be a number") for v in (NAN, INF)),
    ("Workspace", {"floor": "ceiling"}, "base"),
    *(
        ("Workspace", {key: v}, f"{key} of Workspace must be a number above 0")
        for key in ("margin", "radius")
        for v in (0, -1, NAN)
    ),
    ("CodeModel", {"parameters": "bases"}, "base"),
    ("Arithmetic", {"precision": "half"}, "double"),
    ("Arithmetic", {"sincos": "libc"}, "libm"),
    *(("CodeSearch", {"effort": v}, "effort of CodeSearch must be a number from 0") for v in (-1, NAN, INF)),
    ("CodeSearch", {"seed": -1}, "an integer from 0"),
    ("RehearsalOptions", {"rate": 0}, "rate of RehearsalOptions must be a number above 0"),
]


@pytest.mark.parametrize(("name", "given", "said"), ODD)
def test_odd_values_get_a_sentence(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(mi.MinertiaError, match=said) as caught:
        named_in(name)(**given)
    assert "\n" not in str(caught.value)


LIMITS: dict[str, Any] = {"names": ("a",), "lower": [-1], "upper": [1], "velocity": [1], "acceleration": [1]}
KINDS: list[tuple[str, dict[str, Any], str]] = [
    *(("Filter", {"cutoff_hz": v}, "cutoff_hz of Filter must be a number from") for v in ("8", [8], 10**400)),
    *(("Filter", {"order": v}, "order of Filter must be an integer from") for v in (None, 2.5, "4", NAN, True)),
    ("Fourier", {"duration": "10"}, "duration of Fourier must be a number from 0.01 to 100000 [s], not '10'"),
    ("MotionSearch", {"starts": "many"}, "starts of MotionSearch must be an integer from 1 to 1e+06, not 'many'"),
    ("Optimality", {"rotors": "no"}, "rotors of Optimality must be true or false, not 'no'"),
    ("Workspace", {"floor": [1]}, 'floor of Workspace must be a number from -1e+12 to 1e+12 [m], or "base", not [1]'),
    ("CodeSearch", {"effort": "high"}, "effort of CodeSearch must be a number"),
    ("RehearsalOptions", {"rate": "fast"}, "rate of RehearsalOptions must be a number"),
    ("Workspace", {"boxes": 3}, "boxes of Workspace must be a list, not int"),
    ("Workspace", {"boxes": [3]}, "each of boxes of Workspace must be Box(...), not int"),
    ("Workspace", {"obstacles": "table"}, "obstacles of Workspace must be a list, not str"),
    ("MotionLimits", LIMITS | {"names": 3}, "names of MotionLimits must be a list, not int"),
    *(
        ("MotionLimits", LIMITS | {"lower": v}, "lower of MotionLimits must have 1 finite number, one per joint")
        for v in ("x", [0, 0], [NAN], [-INF])
    ),
    (
        "MotionLimits",
        LIMITS | {"effort_margin": "x"},
        "effort_margin of MotionLimits must be a number from 0",
    ),
    ("Drive", {"gains": [1, "a"]}, "gains of Drive must be a list of numbers"),
    ("Recording", {"t": "abc", "q": [[0]], "tau": None}, "rows of equal length, not str"),
    ("Recording", {"t": [0, 1], "q": None, "tau": None}, "needs positions q"),
]


@pytest.mark.parametrize(("name", "given", "said"), KINDS)
def test_values_of_another_kind_get_a_sentence(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(mi.MinertiaError, match=re.escape(said)) as caught:
        named_in(name)(**given)
    assert "\n" not in str(caught.value)


def test_numbers_and_flags_of_numpy_are_numbers_and_flags() -> None:
    asked = mi.options.Filter(cutoff_hz=np.float32(8), order=np.int64(4), degree=3.0)  # type: ignore[arg-type]
    assert (asked.cutoff_hz, asked.order, asked.degree) == (8, 4, 3)
    assert mi.options.Optimality(rotors=np.bool_(False), friction=0).rotors == 0  # type: ignore[arg-type]


MISUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    *(("read_robot", (v,), {}, "a robot needs the name or path of a file, not") for v in (None, 3, ["a"])),
    *(("read_robot", ("planar2r",), {"gravity": v}, "such as [0, 0, -9.81], not") for v in (9.81, "down", [1, "a"])),
    ("read_robot", ("planar2r",), {"snap": "x"}, "must be a number, not 'x'"),
    ("base_parameters", (None,), {}, "the robot must be a Robot"),
    *(("read_model", (v,), {}, "a model needs the name or path of a file") for v in (None, 3)),
    ("read_campaign", (None,), {}, "a campaign needs the name or path of a file"),
    ("compare", (None, None), {}, "must be a Model"),
    ("identify_payload", (None, None), {}, "is not an identified model"),
]
OF_A_ROBOT: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("base_parameters", (), {"gravity": -9.81}, "three finite numbers"),
    ("base_parameters", (), {"seed": -1}, "an integer of at least 0"),
    *(("excite", (v,), {}, "must be Fourier(...) or Spline(...), not") for v in ("fourier", None)),
    ("excite", (), {"limits": {"velocity": 1}}, "limits must be MotionLimits(...), not dict"),
    ("excite", (), {"optimality": "condition"}, "optimality must be Optimality(...), not 'condition'"),
    ("excite", (), {"start": [1, "a"]}, "a start posture must be 2 finite numbers"),
    (
        "excite",
        (),
        {"limits": mi.excitation.MotionLimits(("a",), [-1], [1], [1], [1])},
        "the limits are for a, not for the joints of",
    ),
    ("motion_limits", (), {"velocity": "x"}, "one finite number or 2"),
    (
        "motion_limits",
        (),
        {"effort_margin": "x"},
        "effort_margin of MotionLimits must be a number from 0",
    ),
    ("motion_limits", (), {"workspace": "x"}, "workspace must be Workspace(...), not 'x'"),
    ("generate", (None,), {"target": 3}, "there is no target called '3'"),
    ("generate", (3,), {}, "a folder of code needs the name or path"),
    ("generate", (None,), {"model": "base"}, "must be CodeModel(...), not 'base'"),
    ("identify", ("x.csv",), {"fix": "M1=1"}, "values by name"),
    ("identify", ("x.csv",), {"effects": 3}, "must be a list, not int"),
    ("identify", ("x.csv",), {"joints": 2.5}, "must be a list, not float"),
    ("write_robot", (None,), {}, "a robot to write needs the name or path"),
]


@pytest.mark.parametrize(("name", "positional", "named", "said"), MISUSED)
def test_misuse_gets_a_sentence(name: str, positional: tuple[Any, ...], named: dict[str, Any], said: str) -> None:
    with pytest.raises(mi.MinertiaError, match=re.escape(said)):
        named_in(name)(*positional, **named)


@pytest.mark.parametrize(("name", "positional", "named", "said"), OF_A_ROBOT)
def test_misuse_with_a_robot_gets_a_sentence(
    name: str, positional: tuple[Any, ...], named: dict[str, Any], said: str
) -> None:
    with pytest.raises(mi.MinertiaError, match=re.escape(said)):
        named_in(name)(mi.read_robot("planar2r"), *positional, **named)


def test_one_name_is_a_list_of_one() -> None:
    """Not a list of its letters."""
    robot = mi.read_robot("planar2r")
    assert "ZZ1" in mi.base_parameters(robot, keep="ZZ1").kept
    counted = mi.generate(mi.read_robot("puma560_physical"), None, programs="gravity")
    assert list(counted.counts) == ["gravity"]


@pytest.mark.parametrize("name", sorted({name for name, _, _ in ODD} | {"RecordedMotions"}))
def test_they_are_frozen(name: str) -> None:
    value = named_in(name)()
    field = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, getattr(value, field))


def test_what_does_not_go_together_is_refused_before_the_search() -> None:
    robot = mi.read_robot("planar2r")
    with pytest.raises(mi.MinertiaError, match="30 samples are too few for such a trajectory; use at least 32"):
        mi.excite(robot, mi.excitation.Fourier(harmonics=8), search=mi.options.MotionSearch(n_samples=30))
    with pytest.raises(mi.MinertiaError, match="use at least 50"):
        mi.excite(robot, mi.excitation.Spline(pieces=50), search=mi.options.MotionSearch(n_samples=30))
    with pytest.raises(mi.MinertiaError, match="any"):
        mi.excite(robot, start="anywhere")
    with pytest.raises(mi.MinertiaError, match="no free coefficients"):
        mi.excite(robot, mi.excitation.Fourier(harmonics=1))


def test_a_family_given_rules_duration_and_rest() -> None:
    """Its duration and whether it rests are said once, in the family."""
    robot = mi.read_robot("planar2r")
    search = mi.options.MotionSearch(starts=1, n_samples=40, patience=0.05)
    free = mi.excite(robot, mi.excitation.Fourier(3.0, 3, rest=False), search=search)
    assert free.motion.duration == 3.0 and abs(free.trajectory.qd[0]).max() > 1e-6
