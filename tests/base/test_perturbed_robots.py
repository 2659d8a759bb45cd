"""Geometry that is nearly but not quite special: one count for all methods, a set that holds, or an error."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.base.derive import METHODS, base_parameters
from minertia.base.numeric import Sample, random_states
from minertia.dynamics.model import torque_regressor
from minertia.io.errors import RankError
from minertia.robot.files import read_robot
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.snap import ANGLE_TOLERANCE
from minertia.robot.formats.urdf.read import parse_urdf
from tests.base.derived import Derived
from tests.perturbed import CHANGES, GRAVITIES, ROBOTS, perturbed_urdf
from tests.shared import SHARED, needs_shared

FILES = sorted(path.name for path in (SHARED / "robots").glob("*.*") if path.suffix in (".urdf", ".par", ".xml"))
LARGE = ("simple_humanoid.urdf", "tiago.mjcf.xml", "allegro_right_hand.urdf")
READ = [
    *(pytest.param(name, ANGLE_TOLERANCE, marks=pytest.mark.slow if name in LARGE else ()) for name in FILES),
    *(pytest.param(name, 0.0, marks=pytest.mark.slow) for name in FILES if name not in LARGE),
]


class Apart:
    """States of the test's own, and the regressor of all parameters there."""

    def __init__(self, robot, columns):
        self.state = random_states(robot, 6, 987)
        self.Y = np.asarray(torque_regressor(robot, *self.state, columns=columns)).reshape(-1, len(columns))

    def off(self, found):
        """Torques of a set against those of all parameters."""
        own = found.regressor(*self.state).reshape(-1, found.count)
        return np.abs(own @ found.K - self.Y).max() / np.abs(self.Y).max()


def assert_one_count(robot, rotors):
    """Every method the same count, confirmed; or every method an error.  How many were certified."""
    counts, derived, apart = [], Derived(robot, rotors=rotors), Apart(robot, robot.columns(rotors, False))
    for method in METHODS:
        try:
            found = derived.by(method)
        except RankError as err:
            assert "cannot be certified" in str(err) and "--snap" in str(err)
            counts.append(None)
            continue
        assert found.method == method
        assert found.count == found.certificate.rank and found.certificate.is_clear
        assert found.certificate.error < 1e-9 and apart.off(found) < 1e-9
        counts.append(found.count)
    assert len(set(counts)) == 1, counts
    return counts[0] is not None


def held(name, change, seed):
    """Whether a perturbed robot gets a set, read as meant and read as written."""
    text = perturbed_urdf(name, change, seed)
    certified = []
    for snap in (ANGLE_TOLERANCE, 0.0):
        robot = parse_urdf(text, "robot.urdf", ReadOptions(snap=snap))
        gravity = GRAVITIES[seed % 4]
        robot = robot if gravity is None else robot.with_gravity(gravity)
        certified.append(assert_one_count(robot, rotors=seed % 2 == 1))
    return certified


@pytest.mark.parametrize("change", CHANGES)
def test_nearly_special_geometry(change):
    k = list(CHANGES).index(change)
    as_meant, _ = held(ROBOTS[k % len(ROBOTS)], change, k)
    assert as_meant


def test_tilts_that_no_division_stands():
    """Groups of the closed form depend on one another there: another form is taken, and nothing inverted."""
    assert all(held("scara", "tilts of 1e-9", 3))


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_nearly_special_geometry_of_every_robot(change):
    for name in ROBOTS:
        certified = [held(name, change, seed) for seed in range(12)]
        assert all(as_meant for as_meant, _ in certified), name
        assert sum(as_written for _, as_written in certified) > 10, name


@needs_shared
@pytest.mark.parametrize(("name", "snap"), READ)
def test_every_file_gets_one_count(name, snap):
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    assert assert_one_count(read_robot(SHARED / "robots" / name, snap=snap), rotors=True)


def spectrum(*values):
    """Columns of length 1 whose singular values fall like these."""
    rng = np.random.default_rng(0)
    U, _ = np.linalg.qr(rng.normal(size=(40, len(values))))
    V, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    A = (U * values) @ V.T
    return Sample.of_matrix(A / np.linalg.norm(A, axis=0))


def test_the_rank_is_read_at_the_lowest_clear_gap():
    for values, rank in (
        ((1, 0.3, 1e-2, 1e-17), 3),
        ((1, 0.3, 1e-6, 1e-11, 1e-17), 4),  # nearly aligned axes: small but far above rounding
        ((1, 0.3, 1e-6, 3e-15, 1e-17), 3),  # lost in rounding
        ((1, 0.5), 2),
    ):
        found, gap = spectrum(*values).rank_and_gap(range(len(values)))
        assert found == rank and gap >= 1e3


def test_without_a_gap_the_rank_is_in_doubt():
    values = 10.0 ** -np.arange(0, 18, 2)
    _, gap = spectrum(*values).rank_and_gap(range(len(values)))
    assert gap < 1e3


def test_a_certificate_that_fails_is_an_error(monkeypatch, run):
    monkeypatch.setattr(Sample, "rank_and_gap", lambda self, among: (len(among), 10.0))
    with pytest.raises(RankError, match="cannot be certified: rank 36 of 36, gap 1.0e"):
        base_parameters(read_robot("puma560"))
    code, out, err = run("base", "puma560")
    assert code == 2 and out == "" and "--snap" in err


def test_a_set_that_does_not_reconstruct_is_an_error(monkeypatch):
    monkeypatch.setattr(Sample, "error", lambda self, kept, K: 1e-7)
    with pytest.raises(RankError, match=r"reconstruction error 1.0e-07; the axes of|some axes or offsets"):
        base_parameters(read_robot("puma560"))


def test_the_sentence_names_the_joints(monkeypatch):
    robot = parse_urdf(perturbed_urdf("ur10e", "angles of 4 digits", 0), "ur10e.urdf", ReadOptions(snap=0))
    monkeypatch.setattr(Sample, "rank_and_gap", lambda self, among: (len(among), 10.0))
    with pytest.raises(RankError, match=r"the axes of joint '\w+', joint .* are nearly but not exactly aligned"):
        base_parameters(robot)


def test_columns_are_chosen_by_what_is_left_of_them():
    """A column that is all but dependent is not preferred, and coefficients stay small."""
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 50))
    W = np.column_stack([a, a + 1e-7 * b, b, c, b + c])
    sample = Sample.of_matrix(W)
    assert sample.chosen([0, 1, 2, 3, 4], 3) == [0, 2, 3]
    K = sample.express([0, 2, 3])
    assert np.abs(K).max() < 2 and sample.error([0, 2, 3], K) < 1e-12
    assert list(K[:, 4]) == [0, 1, 1]
