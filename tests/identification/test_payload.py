"""What the hand carries, and what a known load says about the drives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.identify import identify
from minertia.identification.loads.load import Load
from minertia.identification.loads.payload import nearest_body
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.payload import identify_gains, identify_payload
from minertia.identification.problem.terms import robot_effects
from minertia.io.errors import MinertiaError, UnknownName
from minertia.robot.files import read_robot
from minertia.robot.inertia import from_com, impossible, symmetric
from tests.identification.fits import campaign, fitted
from tests.identification.motions import fourier_motion, noisy

MASS, COM, INERTIA = 2.0, (0.02, -0.03, 0.1), (0.010, 0.001, 0.0, 0.012, 0.0, 0.008)


@pytest.fixture(scope="module")
def runs():
    robot = read_robot("puma560")
    rng = np.random.default_rng(0)
    loaded = robot.with_payload(MASS, COM, INERTIA)
    return robot, noisy(fourier_motion(robot, 600, 1), rng, 0.01), noisy(fourier_motion(loaded, 600, 2), rng, 0.01)


def test_difference_of_recordings(runs):
    robot, empty, loaded = runs
    found = identify_payload(campaign(robot, empty), loaded)
    assert found.mass == pytest.approx(MASS, abs=4 * found.mass_deviation)
    assert np.all(np.abs(np.array(found.com) - COM) < 4 * np.array(found.com_deviation))
    assert np.all(np.abs(np.array(found.inertia) - INERTIA) < 4 * np.array(found.inertia_deviation))
    assert found.mass_deviation < 0.02 and found.is_physical


def test_model_and_recording(runs):
    robot, empty, loaded = runs
    result = fitted(robot, [empty])
    found = identify_payload(result.model(), [loaded])
    assert found.mass == pytest.approx(MASS, rel=0.02)
    assert np.allclose(found.com, COM, atol=2e-3)


def test_exact_without_noise_in_any_frame():
    """The load adds to what the robot carries already and replaces nothing."""
    robot = read_robot("puma560").with_payload(1.0, (0, 0, 0.05), (0.001, 0, 0, 0.001, 0, 0.001))
    loaded = robot.with_payload(MASS, COM, INERTIA)
    motion = fourier_motion(loaded, 400, 2)
    found = identify_payload(campaign(robot, fourier_motion(robot, 400, 1)), [motion], at=robot.joints[-1].link)
    assert found.mass == pytest.approx(MASS, rel=1e-7)
    assert np.allclose(found.com, COM, atol=1e-8)
    assert np.allclose(found.inertia, INERTIA, atol=1e-8)
    bare = inverse_dynamics(robot, motion.q, motion.qd, motion.qdd)  # what the robot alone does not explain
    left = np.linalg.norm(motion.tau - bare, axis=0) / np.linalg.norm(motion.tau, axis=0)
    without, with_load = np.array([found.residuals[name] for name in robot.coordinate_names]).T
    assert np.allclose(without, left, rtol=1e-6) and with_load.max() < 1e-7 < found.residuals["all"][0]
    with pytest.raises(UnknownName):
        identify_payload(campaign(robot, fourier_motion(robot, 60, 1)), fourier_motion(loaded, 60, 2), at="nowhere")


@pytest.mark.parametrize("way", ["logs", pytest.param("model", marks=pytest.mark.slow)])
def test_friction_by_load(way):
    """The load to be found changes the friction: both are found, to within what the fit of the model left."""
    robot = read_robot("puma560").with_parameters({f"FCL{j}": 0.08 for j in (1, 2, 3)})
    how = campaign(robot, fourier_motion(robot, 600, 1), effects=robot_effects(robot))
    loaded = fourier_motion(robot.with_payload(MASS, COM, INERTIA), 600, 2)
    found = identify_payload(how if way == "logs" else identify(how).model(), loaded)
    assert found.mass == pytest.approx(MASS, rel=2e-3)


@pytest.mark.parametrize(
    ("way", "draws"), [("logs", 6), *(pytest.param("model", draws, marks=pytest.mark.slow) for draws in (3, 6))]
)
def test_deviations_hold_the_gains_own(runs, way, draws):
    """Gains that are off by 10 %, each by itself: what they do to the load is about what is stated."""
    robot, empty, loaded = runs
    columns = ColumnMap(drive=Drive(gains=(10.0,) * 6))
    rng, off, stated, wanted = np.random.default_rng(0), [], [], np.array([MASS, *COM, *INERTIA])
    for _ in range(draws):
        wrong = [replace(m, tau=m.tau * (1 + 0.1 * delta)) for delta in [rng.normal(size=6)] for m in (empty, loaded)]
        how = campaign(robot, wrong[0], columns=columns)
        found = identify_payload(how if way == "logs" else identify(how).model(), wrong[1])
        off.append(np.array([found.mass, *found.com, *found.inertia]) - wanted)
        stated.append(np.array([found.mass_deviation, *found.com_deviation, *found.inertia_deviation]))
    ratio = np.sqrt(np.mean(np.square(off), axis=0)) / np.mean(stated, axis=0)
    assert 0.3 < ratio[0] < 1.7 and np.all(ratio < 2.5) and 0.4 < np.sqrt(np.mean(ratio**2)) < 1.5
    assert np.mean(stated, axis=0)[0] > 0.02 * MASS


@pytest.mark.slow
def test_gains_are_known_as_well_as_is_stated(runs):
    robot, empty, loaded = runs
    quoted, weighed = Drive(gains=(10.0,) * 6), Drive(gains=(10.0,) * 6, gain_deviations=(0.01,) * 6)
    plain = identify_payload(campaign(robot, empty), loaded)
    assumed, stated = (
        identify_payload(campaign(robot, empty, columns=ColumnMap(drive=drive)), loaded) for drive in (quoted, weighed)
    )
    assert not any("gains" in caution for caution in (*plain.cautions, *stated.cautions))
    assert any("10 % of each gain is assumed" in caution for caution in assumed.cautions)
    assert assumed.mass == plain.mass == stated.mass
    of_gains = [np.sqrt(p.mass_deviation**2 - plain.mass_deviation**2) for p in (assumed, stated)]
    assert of_gains[0] == pytest.approx(100 * of_gains[1], rel=0.02)


def test_an_inertia_that_is_not_determined_comes_with_a_caution(runs):
    robot, empty, loaded = runs
    sure = identify_payload(campaign(robot, empty), loaded)
    assert not sure.cautions
    rng = np.random.default_rng(3)
    vague = identify_payload(campaign(robot, noisy(empty, rng, 0.4)), noisy(loaded, rng, 0.4))
    assert any(c.startswith("these logs do not determine I") for c in vague.cautions)
    assert vague.to_dict()["cautions"] == list(vague.cautions)


def test_fields_of_arm_makers(runs):
    robot, empty, loaded = runs
    found = identify_payload(campaign(robot, empty), loaded)
    assert set(found.to_dict()["fields"]) == {"ur", "kuka", "franka"}
    ur, franka, kuka = (found.fields(v) for v in ("ur", "franka", "kuka"))
    assert ur["inertia"] == [found.inertia[k] for k in (0, 3, 5, 1, 2, 4)]
    matrix = np.array(franka["load_inertia"]).reshape(3, 3, order="F")
    assert np.allclose(matrix, symmetric(found.inertia))
    a, b, c = (np.radians(kuka["CM"][k]) for k in "ABC")
    Rz = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    Ry = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    Rx = np.array([[1, 0, 0], [0, np.cos(c), -np.sin(c)], [0, np.sin(c), np.cos(c)]])
    R = Rz @ Ry @ Rx
    assert np.allclose(R @ np.diag([kuka["J"][k] for k in "XYZ"]) @ R.T, matrix, atol=1e-12)
    assert kuka["CM"]["X"] == pytest.approx(1e3 * found.com[0])
    with pytest.raises(UnknownName):
        found.fields("acme")


def test_a_load_that_is_not_there(runs):
    robot, empty, _ = runs
    other = fourier_motion(robot, 400, 5)
    lighter = replace(other, tau=0.9 * other.tau)
    with pytest.raises(MinertiaError, match="do not determine the payload"):
        identify_payload(campaign(robot, empty), lighter)


def test_nearest_body_can_exist():
    ten = np.array(from_com(1.0, (0.1, 0, 0), np.diag([0.01, 0.001, 0.03])))
    assert impossible(ten) is not None
    near = nearest_body(ten, 1e-4 * np.eye(10))
    assert impossible(near) is None
    assert np.abs(near - ten).max() < 0.03


def test_drive_gains_from_a_known_load(runs):
    """Efforts in amperes: only the known load fixes the scale, and noise does not pull the gains down."""
    robot, empty, loaded = runs
    gains = np.array([10.0, 12.0, 11.0, 8.0, 7.0, 6.0])
    currents = [replace(m, tau=m.tau / gains) for m in (empty, loaded)]
    found = identify_gains(campaign(robot, currents[0]), currents[1], Load(MASS, COM, INERTIA))
    assert np.all(np.abs(found.gains - gains) < 4 * found.deviations)
    assert np.all(found.deviations < 0.01 * gains)
    by_mass = identify_gains(campaign(robot, currents[0]), currents[1], Load(MASS))
    assert np.all(np.abs(by_mass.gains - gains) < 4 * by_mass.deviations)
    assert np.all(by_mass.deviations < 0.02 * gains)
    with pytest.raises(MinertiaError, match="no effect on the currents"):
        identify_gains(campaign(robot, currents[1]), currents[0], Load(MASS, COM, INERTIA))


def test_gains_of_an_arm_that_does_not_show_all_of_the_load():
    """Two joints that turn about parallel axes see three of the ten parameters of a load; the rest is left out."""
    robot = read_robot("planar2r").with_parameters({"ZZ1": 0.5, "ZZ2": 0.2, "MX2": 0.4, "M1": 2.0, "M2": 1.0})
    rng = np.random.default_rng(0)
    logs = [
        noisy(fourier_motion(arm, 400, k), rng, 0.01) for k, arm in enumerate((robot, robot.with_payload(1.5, COM)))
    ]
    currents = [replace(m, tau=m.tau / 10.0) for m in logs]
    found = identify_gains(campaign(robot, currents[0]), currents[1], Load(1.5))
    assert np.all(np.abs(found.gains - 10.0) < 4 * found.deviations) and np.all(found.deviations < 2.0)
