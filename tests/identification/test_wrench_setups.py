"""Right and wrong set-ups of a wrist sensor at rest: the verdict and the cause that it names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.identification.wrench.samples import SensorPoses
from minertia.options import WrenchOptions
from tests.identification.planted_wrench import HEAD, PlantedTool, write_poses

ORDER = {"xyzw": (0, 1, 2, 3), "wxyz": (3, 0, 1, 2)}


def planted(seed: int, mass: float = 1.0) -> tuple[SensorPoses, SensorPoses]:
    """Fifteen fitted poses and ten validation poses of one tool; mass: factor of the tool of the latter."""
    rng = np.random.default_rng(seed)
    tool = PlantedTool.drawn(rng)
    first, second = tool.poses(rng, 15), replace(tool, load=mass * tool.load).poses(rng, 10)
    return first, replace(second, order=second.order + 15)


def shifted(poses: SensorPoses, change) -> SensorPoses:
    return replace(poses, wrench=change(poses.wrench))


def turned(poses: SensorPoses, R: np.ndarray) -> SensorPoses:
    return shifted(poses, lambda w: np.hstack([w[:, :3] @ R.T, w[:, 3:] @ R.T]))


# name: (change of both files, change of the validation file, options, gravity, words of the cause; none: good)
SETUPS = {
    "right": (None, None, {}, None, ()),
    "right, everything said": (None, None, {"axes": "sensor", "of": "tool"}, None, ()),
    "base axes": ("base", None, {"axes": "sensor"}, None, ("base axes",)),
    "base axes found": ("base", None, {}, None, ()),
    "sign": (None, None, {"of": "sensor", "axes": "sensor"}, None, ('of = "tool"',)),
    "axes exchanged": ("swap", None, {"axes": "sensor", "of": "tool"}, None, ("axes are rotated by",)),
    "N mm": (lambda w: w * [1, 1, 1, 1e3, 1e3, 1e3], None, {}, None, ("N mm",)),
    "quaternion order": ("wxyz", None, {"axes": "sensor"}, None, ("wxyz",)),
    "tared in between": (None, lambda w: w + [30, -20, 10, 0, 0, 0], {}, None, ("tared in between",)),
    "tool forgotten": (None, "light", {}, None, ("another tool",)),
    "gravity": (None, None, {"axes": "sensor", "of": "tool"}, (9.81, 0.0, 0.0), ("gravity seems to point",)),
    "saturated": (lambda w: np.clip(w, None, np.quantile(w[:, 2], 0.6)), None, {}, None, ("saturated",)),
    "a push while weighing": (lambda w: w + 40 * (np.arange(len(w)) == 4)[:, None], None, {}, None, ("",)),
}


def is_right(name: str, seed: int, folder) -> tuple[bool, str]:
    both, later, options, gravity, words = SETUPS[name]
    files = []
    for k, poses in enumerate(planted(seed, 0.5 if later == "light" else 1.0)):
        own = poses
        if callable(both) and not (name == "a push while weighing" and k):
            own = shifted(own, both)
        if both == "swap":
            own = turned(own, np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]]))
        if callable(later) and k:
            own = shifted(own, later)
        file = write_poses(folder / f"{seed}{k}.csv", own, axes="base" if both == "base" else "sensor")
        if both == "wxyz":
            table = np.loadtxt(file, delimiter=",", skiprows=1)
            table[:, 1:5] = table[:, 1:5][:, ORDER["wxyz"]]
            np.savetxt(file, table, delimiter=",", header=HEAD, comments="")
        files.append(str(file))
    robot = None if gravity is None else mi.read_robot("ur10e").with_gravity(gravity)
    verdict = mi.wrench(robot, files[0], files[1], options=WrenchOptions(**options)).verdict
    told = " ".join(verdict.reasons)
    good = verdict.grade == "good"
    named = all(word in told for word in words)
    return (good if not words else named and (not good or name == "axes exchanged")), f"{verdict.grade}: {told}"


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SETUPS))
def test_set_ups_are_judged_right(name, tmp_path):
    judged = [is_right(name, seed, tmp_path) for seed in (1, 2, 3)]
    assert all(right for right, _ in judged), [told for right, told in judged if not right]


@pytest.mark.parametrize("name", ["saturated", "sign"])
def test_some_set_ups(name, tmp_path):
    right, told = is_right(name, 4, tmp_path)
    assert right, told


def test_a_proposed_set_up_has_a_positive_mass(tmp_path):
    """Base axes and a reversed sign at once: the proposal says both."""
    first, _ = planted(6)
    file = write_poses(tmp_path / "a.csv", first, axes="base", sign=-1.0)
    verdict = mi.wrench(None, str(file), options=WrenchOptions(axes="sensor", of="tool")).verdict
    told = " ".join(verdict.reasons)
    assert verdict.grade == "not good"
    assert "base axes, and the wrench to act on the other body" in told, told
