from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.algebra.polynomial import letter
from minertia.algebra.vec3 import HERE
from minertia.robot.check import check_robot, reach
from minertia.robot.description import impossible_body
from minertia.robot.inertia import from_com, impossible, nearest_possible
from minertia.robot.joint import Joint, Limits
from minertia.robot.robot import Frame, Note, Robot
from tests.robot.urdf_helpers import INERTIAL, URDFS, parse, two_joints


def arm(ten: tuple[float, ...] | None = None, limits: Limits | None = None, **effects: float) -> Robot:
    good = from_com(2.0, (0, 0, 0.1), [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]])
    joints = (
        Joint("j1", "revolute", None, *HERE, "a"),
        Joint("j2", "revolute", 0, HERE[0], (0.5, 0, 0), "b", limits or Limits()),
    )
    return Robot("arm", joints, links=(good, ten or good), effects=({}, effects))


def only(robot: Robot) -> Note:
    (note,) = check_robot(robot)
    return note


def test_a_good_robot_has_nothing_to_say() -> None:
    assert check_robot(arm(limits=Limits(-1, 1, 1, 1, 1), FV=0.1, FC=0.2, OFF=-3.0)) == ()
    assert check_robot(parse(two_joints())) == ()


@pytest.mark.parametrize(
    ("ten", "says"),
    [
        (from_com(2.0, (0, 0, 0.1), [[-0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]]), "negative principal moment"),
        (from_com(2.0, (0, 0, 0.1), [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.03]]), "triangle inequality"),
        ((0.1,) * 6 + (0.0,) * 4, "no mass"),
        (from_com(2e4, (0, 0, 0.1), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]), "check that it is in kg"),
        (from_com(2.0, (0, 0, 6.447), [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]]), "6.447 m from its joint"),
        (from_com(0.1, (0, 0, 0.1), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]), "check that it is in kg m2"),
    ],
)
def test_odd_links(ten: tuple[float, ...], says: str) -> None:
    note = only(arm(ten))
    assert (note.level, note.where) == ("warning", "link 'b'")
    assert says in note.text


def test_links_without_mass() -> None:
    robot = replace(arm(), links=(None, None))
    assert [note.where for note in check_robot(robot)] == ["link 'a'", "link 'b'"]
    floating = replace(arm(), base="floating", frames={"trunk": Frame(None, HERE)})
    assert only(floating).where == "link 'trunk'"


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (Limits(lower=0.45, upper=0.0), "lower limit 0.45 is not below"),
        (Limits(lower=0.0, upper=0.0), "not below"),
        (Limits(velocity=0.0), "velocity limit is 0"),
        (Limits(effort=-1.0), "effort limit is -1"),
        (Limits(acceleration=0.0), "acceleration limit"),
    ],
)
def test_odd_limits(limits: Limits, says: str) -> None:
    note = only(arm(limits=limits))
    assert (note.level, note.where) == ("warning", "joint 'j2'")
    assert says in note.text


@pytest.mark.parametrize("symbol", ["IA", "FV", "FC"])
def test_effects_that_create_energy(symbol: str) -> None:
    assert "negative" in only(arm(**{symbol: -0.1})).text


def test_dependent_joints_and_snapped_angles_are_listed() -> None:
    robot = parse(two_joints('<mimic joint="j1" multiplier="-2" offset="0.5"/>', 'xyz="1 0 0" rpy="1.5708 0 0"'))
    snapped, follows = check_robot(robot)
    assert (snapped.level, follows.level) == ("info", "info")
    assert "1.5708" in snapped.text and snapped.line == 7
    assert "follows joint 'j1' (position = -2 q + 0.5)" in follows.text


def test_each_thing_is_said_once() -> None:
    bad = INERTIAL.replace('izz="0.04"', 'izz="0.9"')
    notes = check_robot(parse(two_joints(second=bad)))
    assert len(notes) == len({(note.where, note.text) for note in notes})
    assert sum("not physically consistent" in note.text for note in notes) == 1
    massless = parse(two_joints(second=""))
    assert len(check_robot(massless)) == 1
    assert check_robot(massless.with_parameters(dict.fromkeys(("XX2", "YY2", "ZZ2", "M2"), 0.1))) == ()


def test_nearest_possible_body() -> None:
    """Mass and centre stay; an inertia that a body can have stays, too, and 1 + 2 < 9 becomes one that can be."""
    good = from_com(2.0, (0.1, -0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    np.testing.assert_allclose(nearest_possible(good), good)
    bad = from_com(2.0, (0.1, -0.2, 0.3), np.diag([0.1, 0.2, 0.9]))
    mended = nearest_possible(bad)
    assert impossible(bad) is not None and impossible(mended) is None
    np.testing.assert_allclose(mended[6:], bad[6:])
    assert impossible(nearest_possible(from_com(1.0, (0, 0, 0), np.zeros((3, 3))))) is None


def test_impossible_body() -> None:
    assert impossible_body("a", None) is None
    note = impossible_body("a", (0.0,) * 9 + (-1.0,), 7)
    assert note is not None and note.line == 7 and "mass is negative" in note.text


def test_reach_counts_strokes_letters_and_tools() -> None:
    joints = (
        Joint("j1", "prismatic", None, *HERE, "a", Limits(-0.1, 0.4)),
        Joint("j2", "revolute", 0, HERE[0], (letter("L"), 0, 0), "b"),
    )
    robot = Robot("arm", joints, symbols={"L": 0.5}, frames={"tool": Frame(1, (HERE[0], (0, 0, 0.25)))})
    assert reach(robot) == pytest.approx(0.4 + 0.5 + 0.25)


@pytest.mark.parametrize("path", URDFS or [None], ids=lambda p: p.stem if p else "none")
def test_real_files_can_be_checked(path: object) -> None:
    if path is None:
        pytest.skip("the shared robots are not there")
    notes = check_robot(read_robot(str(path)))
    assert all(note.level in ("info", "warning") and note.where and note.text for note in notes)
    if "scara" in str(path):
        assert any("lower limit 0.45" in note.text for note in notes)
    if "allegro" in str(path):
        assert sum("triangle" in note.text for note in notes) == 4
