"""Robots as plain data: what `show --json` says of loops."""

from __future__ import annotations

import pytest

import minertia as mi
from minertia.report.robot_views import robot_data
from tests.loop_robots import four_bar, with_rough_pins


@pytest.mark.parametrize(
    "name, forms",
    [("palletiser", {"parallelogram"}), ("five_bar", {"five-bar (dyad)"}), ("delta", {"general loop"})],
)
def test_loops_are_called_what_check_calls_them(name: str, forms: set[str]) -> None:
    robot = mi.read_robot(name)
    loops = robot_data(robot)["loops"]
    assert {loop["form"] for loop in loops} == forms
    said = " ".join(note.text for note in mi.check_robot(robot))
    assert all(form in said for form in forms)


def test_frames_of_a_loop_are_given_in_letters_and_numbers() -> None:
    (loop,) = robot_data(mi.read_robot("five_bar"))["loops"]
    assert loop["first"]["joint"] == "left_forearm" and loop["first"]["position"] == ["L2", "0", "0"]
    assert loop["first"]["position_value"] == [0.42, 0.0, 0.0]
    assert set(loop["seed"]) == {"left_arm", "left_forearm", "right_arm", "right_forearm"}


def test_a_cut_joint_with_friction_is_the_joint_of_its_file() -> None:
    """Inside it is a joint of the tree whose massless link is fixed to the other side."""
    (loop,) = robot_data(with_rough_pins(four_bar()))["loops"]
    (plain,) = robot_data(four_bar())["loops"]
    assert loop["kind"] == "revolute" and loop["joint"] == "pin" and plain["joint"] is None
    assert loop["first"]["joint"] == plain["first"]["joint"]
