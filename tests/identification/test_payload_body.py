"""Ten parameters and their covariance as a load: deviations, the nearest body that can exist, what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from minertia.algebra.vec3 import HERE
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.evidence.intervals import spread
from minertia.identification.loads.gains import drive_gains
from minertia.identification.loads.load import Load
from minertia.identification.loads.payload import (
    KnownRobot,
    Payload,
    nearest_body,
    payload_beside,
    payload_of,
    payload_on,
)
from minertia.identification.problem.observation import observe
from minertia.identification.problem.solve import weighted_solution
from minertia.io.errors import MinertiaError
from minertia.robot.flange import Flange
from minertia.robot.inertia import from_com, impossible, symmetric, to_com
from minertia.robot.parameters import LINK_SYMBOLS
from tests.identification.coverage import COM, INERTIA, MASS, Trial
from tests.identification.logs import chain
from tests.identification.motions import Motion, fourier_motion
from tests.random_robots import random_robot, random_ten

ROBOT = chain("RR")
TEN = np.array(from_com(2.0, (0.05, -0.1, 0.2), symmetric((0.03, 0.002, -0.001, 0.04, 0.003, 0.05))))
IMPOSSIBLE = np.array(from_com(1.0, (0.1, 0, 0.02), np.diag([0.01, 0.001, 0.03])))


def load(ten: np.ndarray, covariance: np.ndarray, silent: dict[str, str] | None = None, **options: bool) -> Payload:
    return payload_of(ROBOT, None, ten, covariance, silent or {}, options.get("physical", True))


def flat(found: Payload) -> tuple[np.ndarray, np.ndarray]:
    """Values and deviations of mass, centre and inertia."""
    values = [found.mass, *found.com, *found.inertia]
    return np.array(values), np.array([found.mass_deviation, *found.com_deviation, *found.inertia_deviation])


def centred(ten: np.ndarray) -> np.ndarray:
    mass, centre, inertia = to_com(ten.tolist())
    return np.array([mass, *centre, *inertia[np.triu_indices(3)]])


@pytest.mark.parametrize("seed", [0, 1])
def test_deviations_are_those_of_draws(seed):
    """Of mass, centre and inertia about it, when the ten parameters are drawn with their covariance."""
    rng = np.random.default_rng(seed)
    root = 0.01 * rng.normal(size=(10, 10)) * np.abs(rng.normal(size=10)) * np.abs(TEN).clip(0.01)[:, None]
    found = load(TEN, root @ root.T)
    values, deviations = flat(found)
    draws = np.array([centred(TEN + root @ rng.normal(size=10)) for _ in range(4000)])
    np.testing.assert_allclose(values, centred(TEN), atol=1e-12)
    np.testing.assert_allclose(deviations, draws.std(axis=0), rtol=0.08)
    assert found.is_physical and np.array_equal(found.ten, TEN) and found.frame == "j2"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_nearest_body_is_the_nearest(seed):
    """Towards no body that can exist does the distance, in the metric of the covariance, become smaller."""
    rng = np.random.default_rng(seed)
    root = np.diag([3e-3] * 6 + [2e-2] * 3 + [0.1]) @ (np.eye(10) + 0.3 * rng.normal(size=(10, 10)))
    near = nearest_body(IMPOSSIBLE, root @ root.T)
    assert impossible(near.tolist()) is None

    def whitened(x: np.ndarray) -> np.ndarray:
        return np.linalg.solve(root, x)

    pull = whitened(IMPOSSIBLE - near)
    distance = float(np.linalg.norm(pull))
    assert 0.1 < distance < 20.0
    others = [np.array(random_ten(rng)) for _ in range(300)]
    others += [np.array(from_com(1.0, rng.normal(scale=0.1, size=3), 0.05 * np.eye(3))) for _ in range(100)]
    others += [near + 0.01 * (other - near) for other in others] + [0.999 * near, 1.001 * near]
    for other in others:
        assert impossible((1.0001 * other).tolist()) is None
        way = whitened(other - near)
        assert pull @ way <= 1e-3 * distance * np.linalg.norm(way)


@pytest.mark.parametrize("size", [0.3, 10.0])
def test_nearest_body_has_no_units(size):
    """A body of other length and mass is put right alike."""
    lengths = np.array([size**2] * 6 + [size] * 3 + [1.0])
    deviations = np.array([1e-3] * 6 + [1e-2] * 3 + [0.1])
    covariance = np.diag(deviations) ** 2
    near = nearest_body(IMPOSSIBLE, covariance)
    scaled = nearest_body(5 * lengths * IMPOSSIBLE, 25 * np.outer(lengths, lengths) * covariance)
    np.testing.assert_allclose((scaled / (5 * lengths) - near) / deviations, 0.0, atol=0.03)


def test_a_body_that_can_exist_is_left_alone_and_one_that_cannot_only_on_demand():
    covariance = np.diag([1e-3] * 6 + [1e-2] * 3 + [0.1]) ** 2
    assert np.array_equal(load(TEN, covariance).ten, TEN)
    np.testing.assert_allclose(nearest_body(TEN, covariance), TEN, atol=1e-5)
    as_found = load(IMPOSSIBLE, covariance, physical=False)
    assert np.array_equal(as_found.ten, IMPOSSIBLE) and not as_found.is_physical
    assert load(IMPOSSIBLE, covariance).is_physical


def test_what_the_motion_does_not_show_is_not_known():
    """Its deviation is far beyond the size of the body, and the rest is what it was."""
    covariance = np.diag([1e-4] * 6 + [1e-4] * 3 + [1e-3]) ** 2
    known = load(TEN, covariance)
    found = load(TEN, covariance, {"ZZ": "nothing turns about z", "MY": "no tilt"})
    assert dict(found.not_excited) == {"ZZ": "nothing turns about z", "MY": "no tilt"}
    at = {symbol: k for k, symbol in enumerate(LINK_SYMBOLS)}
    hidden = np.sqrt(np.diag(found.covariance))
    assert 3 < hidden[at["ZZ"]] / np.abs(TEN[:6]).max() < 20 and 3 < hidden[at["MY"]] / np.abs(TEN[6:9]).max() < 20
    others = [k for symbol, k in at.items() if symbol not in ("ZZ", "MY")]
    np.testing.assert_allclose(hidden[others], np.sqrt(np.diag(covariance))[others])
    assert found.com_deviation[1] > 1.0 > 100 * found.com_deviation[0]
    assert found.inertia_deviation[5] > 3 * max(found.inertia) and found.mass_deviation == known.mass_deviation
    assert np.array_equal(covariance, np.diag([1e-4] * 6 + [1e-4] * 3 + [1e-3]) ** 2)


def test_a_load_without_mass_is_refused():
    covariance = 1e-6 * np.eye(10)
    for mass in (-0.01, 0.0):
        with pytest.raises(MinertiaError, match=f"the identified mass is {mass:.3g} kg"):
            load(np.array([*TEN[:9], mass]), covariance)
    with pytest.raises(MinertiaError, match="it never moves"):
        load(TEN, covariance, {"M": "it never moves"})


@pytest.mark.parametrize(("deviation", "is_told"), [(0.04, False), (0.06, True)])
def test_a_centre_that_is_known_to_centimetres_is_not_to_be_relied_on(deviation, is_told):
    """Along y alone, by first moments of this deviation times the mass of 2 kg."""
    covariance = np.diag([1e-6] * 6 + [1e-6, 2 * deviation, 1e-6] + [1e-6]) ** 2
    told = [text for text in load(TEN, covariance).cautions if "centre of mass" in text]
    assert bool(told) == is_told
    assert not told or f"no better than {deviation:.2g} m along y:" in told[0]


@pytest.mark.parametrize(("part", "is_told"), [(0.4, False), (0.6, True)])
def test_a_moment_that_is_known_to_half_the_largest_is_not_to_be_relied_on(part, is_told):
    largest = np.linalg.eigvalsh(symmetric(load(TEN, 1e-12 * np.eye(10)).inertia)).max()
    covariance = np.diag([1e-6] * 3 + [part * largest] + [1e-6] * 6) ** 2
    told = [text for text in load(TEN, covariance).cautions if "do not determine" in text]
    assert bool(told) == is_told
    assert not told or "do not determine Iyy:" in told[0]


@pytest.mark.parametrize("seed", range(6))
def test_principal_axes_of_kuka_turn_the_right_way_round(seed):
    """A right-handed frame, whatever the body: moments on the axes that the angles say."""
    rng = np.random.default_rng(seed)
    found = replace(load(np.array(random_ten(rng)), 1e-12 * np.eye(10)), flange=Flange("flange", HERE)).fields("kuka")
    a, b, c = (np.radians(found["CM"][k]) for k in "ABC")
    Rz = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    Ry = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    Rx = np.array([[1, 0, 0], [0, np.cos(c), -np.sin(c)], [0, np.sin(c), np.cos(c)]])
    R = Rz @ Ry @ Rx
    wanted = load(np.array(random_ten(np.random.default_rng(seed))), 1e-12 * np.eye(10)).inertia
    turned = R @ np.diag([found["J"][k] for k in "XYZ"]) @ R.T
    np.testing.assert_allclose(turned, symmetric(wanted), atol=1e-9)


def test_rows_of_a_table_are_what_they_say():
    pandas = pytest.importorskip("pandas")
    found = load(TEN, np.diag(np.arange(1.0, 11.0) * 1e-4) ** 2)
    table = found.to_frame()
    assert isinstance(table, pandas.DataFrame) and table["value"]["mass"] == found.mass
    assert table["value"]["z"] == found.com[2] and table["deviation"]["y"] == found.com_deviation[1]
    assert table["value"]["Iyz"] == found.inertia[4] and table["deviation"]["Izz"] == found.inertia_deviation[5]


TRIAL = Trial(random_robot(5, n=3), duration=24.0, rate=25.0)


def by_logs(motions: Sequence[Motion], gains: np.ndarray | None = None) -> Payload:
    return payload_beside(TRIAL.model, [motions[0]], [motions[1]], physical=False, gains=gains)


def by_model(motions: Sequence[Motion], gains: np.ndarray | None = None) -> Payload:
    problem = observe(TRIAL.model, [TRIAL.motions[0]])
    beta, _, sigma = weighted_solution(problem)
    known = KnownRobot(TRIAL.model, beta, spread(problem, beta, sigma).stated)
    return payload_on(known, [motions[1]], physical=False, gains=gains)


def by_own_gains(motions: Sequence[Motion], change: np.ndarray) -> list[Motion]:
    """All efforts, by other gains."""
    return [replace(m, tau=m.tau * (1 + change)) for m in motions]


def by_gains_of_the_load(motions: Sequence[Motion], change: np.ndarray) -> list[Motion]:
    """What the load adds, by other gains: the model of the robot was found with the same ones."""
    empty, loaded = motions
    own = inverse_dynamics(TRIAL.robot, loaded.q, loaded.qd, loaded.qdd)
    return [empty, replace(loaded, tau=own + (loaded.tau - own) * (1 + change))]


@pytest.mark.parametrize(
    ("way", "changed"),
    [(by_logs, by_own_gains), pytest.param(by_model, by_gains_of_the_load, marks=pytest.mark.slow)],
)
def test_what_gains_do_to_a_load_is_what_is_stated(way, changed):
    """The covariance that uncertain gains add: what a change of each gain does to the ten parameters, squared."""
    (motions,) = TRIAL.draws(0.03, 1)
    deviations = np.array([0.02, 0.05, 0.03])
    more = way(motions, deviations).covariance - way(motions).covariance
    wanted = np.zeros((10, 10))
    for change in np.diag(deviations):
        off = (way(changed(motions, change)).ten - way(changed(motions, -change)).ten) / 2
        wanted += np.outer(off, off)
    np.testing.assert_allclose(np.sqrt(np.diag(more)), np.sqrt(np.diag(wanted)), rtol=0.3)


@pytest.mark.parametrize("spread_of_values", [0.0, 1e-20])
def test_a_robot_that_is_known_exactly(spread_of_values):
    """Values that were stated have no deviation: what the load leaves is the load."""
    model = TRIAL.model
    known = KnownRobot(model, model.nominal(), spread_of_values * np.eye(model.count))
    found = payload_on(known, [TRIAL.motions[1]], physical=False)
    np.testing.assert_allclose(found.ten, from_com(MASS, COM, symmetric(INERTIA)), atol=1e-6)


@pytest.mark.parametrize("known", [Load(MASS, COM, INERTIA), Load(MASS, COM), Load(MASS)])
def test_gains_are_exact_without_noise_whatever_is_known_of_the_load(known):
    """Also where it is a point, and where only its mass is known."""
    inertia = known.inertia or (0.0,) * 6
    loaded = fourier_motion(TRIAL.robot.with_payload(MASS, COM, inertia), 600, 2, duration=24.0)
    gains = np.array([10.0, 0.2, 300.0])
    currents = [replace(m, tau=m.tau / gains) for m in (TRIAL.motions[0], loaded)]
    found = drive_gains(TRIAL.model, currents[:1], currents[1:], known)
    np.testing.assert_allclose(found.gains, gains, rtol=1e-6)
    assert np.all(found.deviations < 1e-6 * gains)
