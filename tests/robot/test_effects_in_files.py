"""Every effect in description files: held, or named where a format cannot represent for it."""

from __future__ import annotations

import tomllib

import pytest

from minertia.robot.files import read_robot, write_robot
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.robot import Robot
from tests.every_effect import CONSTANTS, VALUES, coupled_robot, robot_with_every_effect


@pytest.fixture(scope="module")
def robot() -> Robot:
    return robot_with_every_effect()


@pytest.mark.parametrize("make", [robot_with_every_effect, coupled_robot])
def test_toml_holds_everything(make, tmp_path):
    robot = make()
    assert write_robot(robot, tmp_path / "robot.toml") == ()
    again = read_robot(tmp_path / "robot.toml")
    assert again.effect_values == pytest.approx(dict(robot.effect_values))
    for name in robot.other_effects:
        symbol, j = name.rstrip("0123456789"), int(name[-1]) - 1
        assert again.effect_constants(j, symbol) == robot.effect_constants(j, symbol)


def test_the_format_number_tells_older_programs_what_they_cannot_read(robot):
    assert tomllib.loads(toml_text(robot))["format"] == 2
    plain = robot.without_effects(robot.other_effects)
    saved = tomllib.loads(toml_text(plain))
    assert saved["format"] == 1 and set(saved["joint"][0]["effects"]) <= {"IA", "FV", "FC", "OFF"}


def lost(notes) -> str:
    return " ".join(note.text for note in notes if note.level == "warning" and "cannot represent" in note.text)


def test_urdf_names_what_it_cannot_hold(robot, tmp_path):
    said = lost(write_robot(robot, tmp_path / "robot.urdf"))
    assert all(name in said for name in VALUES) and "URDF" in said
    assert "the stiffness of a joint spring (KS1" in said and "the cubic friction (FVC2" in said
    again = read_robot(tmp_path / "robot.urdf", gravity=robot.gravity)
    held = {name: v for name, v in robot.effect_values.items() if name not in VALUES}
    assert again.effect_values == pytest.approx(held)


def test_mjcf_holds_springs_and_cubic_friction_and_names_the_rest(robot, tmp_path):
    pytest.importorskip("mujoco")
    said = lost(write_robot(robot, tmp_path / "robot.xml"))
    kept = {"KS1", "FVC2"}
    assert all((name in said) != (name in kept) for name in VALUES)
    again = read_robot(tmp_path / "robot.xml")
    held = {name: v for name, v in robot.effect_values.items() if name not in VALUES or name in kept}
    assert again.effect_values == pytest.approx(held)
    assert again.effect_constants(0, "KS") == pytest.approx(CONSTANTS["KS1"])


@pytest.mark.parametrize("make", [robot_with_every_effect, coupled_robot])
def test_usd_holds_everything_for_us_and_names_what_others_ignore(make, tmp_path):
    pytest.importorskip("pxr")
    robot = make()
    notes = write_robot(robot, tmp_path / "robot.usda")
    said = " ".join(note.text for note in notes if note.level == "warning")
    at_joints = {name for name in robot.effect_values if not name.rstrip("0123456789").endswith("M")}
    assert all(f"{name} = " in said for name in at_joints if not name.startswith(("IA", "FV", "FC")) or name in VALUES)
    assert ("coupled drives" in said) == (robot.coupling is not None)
    again = read_robot(tmp_path / "robot.usda")
    assert again.effect_values == robot.effect_values and again.coupling == robot.coupling
    for name in robot.other_effects:
        symbol, j = name.rstrip("0123456789"), int(name[-1]) - 1
        assert again.effect_constants(j, symbol) == robot.effect_constants(j, symbol)


@pytest.mark.parametrize("angle", ["radian", "degree"])
def test_a_template_gets_the_new_spring_and_damping(tmp_path, angle):
    pytest.importorskip("mujoco")
    rest = {"radian": "0.5", "degree": "28.64788975654116"}[angle]
    (tmp_path / "arm.xml").write_text(f"""<mujoco><compiler angle="{angle}"/><worldbody><body name="b">
      <joint name="j" type="hinge" axis="0 0 1" damping="0.5" stiffness="3" springref="{rest}"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>""")
    robot = read_robot(tmp_path / "arm.xml")
    assert robot.effect_values == pytest.approx({"FV1": 0.5, "KS1": 3.0})
    assert robot.effect_constants(0, "KS") == pytest.approx({"rest": 0.5})
    changed = robot.with_parameters({"KS1": 4.0, "FVC1": 0.1}, {"KS1": {"rest": -0.25}})
    write_robot(changed, tmp_path / "new.xml", template=tmp_path / "arm.xml")
    again = read_robot(tmp_path / "new.xml")
    assert again.effect_values == pytest.approx({"FV1": 0.5, "KS1": 4.0, "FVC1": 0.1})
    assert again.effect_constants(0, "KS") == pytest.approx({"rest": -0.25})
