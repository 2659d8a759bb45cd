"""What a result says of itself: no more than was checked, and the noise its promises are for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.base.derive import base_parameters
from minertia.codegen.kernels.build import native
from minertia.excitation.claims import claims
from minertia.excitation.effort import EffortModel, parameter_sizes
from minertia.excitation.excite import excite
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import Box, motion_limits
from minertia.excitation.noise import _rubs, effort_noise
from minertia.excitation.options import MotionSearch, Optimality, Workspace
from minertia.excitation.result import percent
from minertia.robot.effects import EFFECTS
from minertia.robot.joint import Limits
from tests.shared import SHARED, needs_shared


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """These searches are too short for compiled code to pay."""
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")


def changed(robot, **limits):
    """The robot with other limits in its file."""
    return replace(robot, joints=tuple(replace(j, limits=replace(j.limits, **limits)) for j in robot.joints))


def test_everything_that_is_known_is_claimed():
    robot = changed(read_robot("puma560_physical"), velocity=1.0, acceleration=4.0)
    box = Box("j6", (-2, -2, -2), (2, 2, 2))
    said = claims(motion_limits(robot, workspace=Workspace(boxes=[box])))
    assert said.checked[0] == "limits of position, velocity, acceleration and effort"
    assert "floor (base plane)" in said.checked and "the box of 'j6'" in said.checked
    assert any(
        phrase.startswith("self collision (capsules along the frames with radius 0.033 m") for phrase in said.checked
    )
    assert said.unchecked[-1] == "obstacles (none given)"


@pytest.mark.parametrize("what", ["velocity", "acceleration", "effort"])
def test_a_limit_that_the_file_does_not_tell_is_not_claimed(what):
    robot = changed(read_robot("puma560_physical"), velocity=1.0, acceleration=4.0)
    said = claims(motion_limits(changed(robot, **{what: None})))
    assert what not in said.checked[0] and f"limits of {what} (the robot file has none)" in said.unchecked
    first = robot.joints[0]
    some = replace(robot, joints=(replace(first, limits=replace(first.limits, **{what: None})), *robot.joints[1:]))
    said = claims(motion_limits(some))
    assert any(f"limits of {what}" in phrase and "'j1'" in phrase for phrase in said.unchecked)
    given = claims(motion_limits(some, **{what: 50.0}))
    assert what in given.checked[0] and not any(f"limits of {what}" in phrase for phrase in given.unchecked)


def test_efforts_need_masses():
    said = claims(motion_limits(read_robot("panda")))
    assert "limits of effort (the robot file has no masses)" in said.unchecked and "effort" not in said.checked[0]
    robot = read_robot("puma560_physical")
    one_missing = replace(robot, links=(None, *robot.links[1:]))
    said = claims(motion_limits(one_missing))
    assert "effort" in said.checked[0]
    assert any("links without masses" in phrase and "'j1'" in phrase for phrase in said.unchecked)
    assert "limits of effort (switched off)" in claims(motion_limits(robot, effort=False)).unchecked


def test_joints_without_a_range():
    robot = changed(read_robot("puma560_physical"), lower=None, upper=None)
    said = claims(motion_limits(robot))
    assert "limits of position (the robot file has none)" in said.unchecked and "position" not in said.checked[0]


def test_a_robot_in_the_plane_of_its_base():
    """Its links lie in the floor whatever they do, and there is one pair that is no neighbour."""
    said = str(claims(motion_limits(read_robot("planar2r"))))
    assert "floor for end points of 'j1', 'j2'" in said and "floor (base plane)" not in said
    said = str(claims(motion_limits(read_robot("cmu_dd_arm2"))))
    assert "floor (A1, A2 have no value)" in said and "self collision (A1, A2 have no value" in said
    assert "floor (gravity is zero" in str(claims(motion_limits(read_robot("emps"), position=0.1)))


@needs_shared
def test_a_new_users_first_motion_stays_above_the_base_and_starts_near_the_middle():
    robot = read_robot(SHARED / "robots" / "ur10e.urdf")
    found = excite(
        robot,
        Fourier(harmonics=3),
        optimality=Optimality(rotors=False, friction=False),
        search=MotionSearch(starts=1, n_samples=60, patience=0.05),
    )
    assert found.margins.floor >= found.limits.clearance.margin
    assert np.abs(found.trajectory.q[0]).max() < 1.0  # all six turn by two turns either way
    assert "limits of acceleration (the robot file has none)" in found.claims.unchecked
    data = found.to_dict()
    assert data["checked"] and data["not_checked"] and data["start"] == found.trajectory.q[0].tolist()


def test_a_start_is_near_the_middle_and_has_room():
    robot = changed(read_robot("ur10e"), lower=-2 * np.pi, upper=2 * np.pi)
    search, rigid = MotionSearch(starts=1, n_samples=60, patience=0.05), Optimality(rotors=False, friction=False)
    quick = {"family": Fourier(harmonics=3), "optimality": rigid, "search": search}
    found = excite(robot, **quick)
    assert np.abs(found.trajectory.q[0]).max() < 1.0
    np.testing.assert_allclose(found.trajectory.q[0], found.trajectory.q[-1], atol=1e-9)
    free = excite(robot, **quick, start="any")
    assert np.abs(free.trajectory.q[0]).max() > 0.05
    endless = changed(robot, lower=None, upper=None)
    middle = excite(
        endless, **quick, limits=motion_limits(endless, workspace=Workspace(floor=None, self_collision=False))
    )
    np.testing.assert_allclose(middle.trajectory.q[0], 0, atol=1e-9)


# ------------------------------------------------------------------ noise and sizes


def noise_of(robot, **options):
    base = base_parameters(robot, rotors=True, friction=True)
    limits = motion_limits(robot, workspace=Workspace(floor=None, self_collision=False), **options)
    return effort_noise(base, limits, EffortModel(base) if robot.has_parameters else None)


def test_noise_of_a_file_with_friction_is_a_part_of_its_efforts():
    found = noise_of(read_robot("puma560_physical"))
    assert found.basis == "1 % of the largest effort predicted from the robot file"


def test_noise_has_a_floor_where_the_file_has_no_friction():
    robot = replace(read_robot("puma560_physical"), effects=({},) * 6, motor_effects=())
    allowed = np.array([joint.limits.effort for joint in robot.joints])
    found = noise_of(robot)
    assert np.all(found.levels >= 0.01 * allowed - 1e-12) and "1 % of the effort limit" in found.basis
    silent = noise_of(changed(robot, effort=None))
    assert np.all(silent.levels >= 0.001 * 100 * silent.levels.max() * (1 - 1e-9)) and "a floor" in silent.basis


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: effect.name)
def test_friction_is_what_depends_on_the_speed(effect):
    robot = changed(read_robot("planar2r"), effort=None)
    constants = dict.fromkeys(effect.constants, 0.5)
    having = {f"{effect.name}{j}": 0.1 for j in (1, 2)}
    rubbing = robot.with_parameters(having, dict.fromkeys(having, constants) if constants else None)
    assert [_rubs(robot, j) for j in (0, 1)] == [False, False]
    assert [_rubs(rubbing, j) for j in (0, 1)] == 2 * [("qd" in effect.inputs)]


def test_noise_without_masses():
    panda = read_robot("panda")
    allowed = np.array([joint.limits.effort for joint in panda.joints])
    np.testing.assert_allclose(noise_of(panda).levels, 0.01 * allowed)
    assert "no masses" in noise_of(panda).basis
    np.testing.assert_allclose(noise_of(changed(panda, effort=None)).levels, 1.0)


def test_no_parameter_is_promised_without_anything_to_compare_it_with():
    robot = replace(read_robot("puma560_physical"), effects=({},) * 6, motor_effects=(), coupling=None)
    base = base_parameters(robot, rotors=True, friction=True)
    sizes = dict(zip(base.names, parameter_sizes(base), strict=True))
    assert all(np.isnan(size) == name.startswith(("IA", "FV", "FC", "OFF")) for name, size in sizes.items())
    found = excite(
        robot,
        Fourier(harmonics=3),
        optimality=Optimality("deviation"),
        search=MotionSearch(starts=1, n_samples=60, patience=0.05),
    )
    text, data = str(found), found.to_dict()
    assert " 0.00 %" not in text and "no value for this kind" in text
    assert "1 % of the effort limit if the robot file has no friction" in " ".join(text.split())
    assert data["parameters"]["IA6"]["relative"] is None and data["parameters"]["IA6"]["deviation"] > 0
    assert data["noise_basis"] == found.noise_basis


def test_percent():
    assert percent(1e-9) == "< 0.01 %" and percent(0.5) == "50.00 %" and percent(float("nan")) == "-"


def test_limits_are_frozen():
    limits = motion_limits(replace(read_robot("planar2r"), joints=read_robot("planar2r").joints))
    with pytest.raises(TypeError):
        limits.assumed["velocity"] = ()
    assert Limits() == Limits()
