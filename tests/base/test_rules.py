"""The rules, the rank and the certificate on few robots and small matrices: quick enough to be run for every fault."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minertia.base import numeric
from minertia.base.certificate import Certificate, Redrawn
from minertia.base.derive import base_parameters
from minertia.base.numeric import Sample, product
from minertia.dynamics.model import torque_regressor
from minertia.robot.files import read_robot
from tests.random_robots import random_robot


def rank_of(robot, columns) -> int:
    """Rank of the regressor at states of its own, columns of length 1, by NumPy."""
    states = numeric.random_states(robot, 120, 99)
    Y = torque_regressor(robot, *states, columns=columns).reshape(-1, len(columns))
    lengths = np.linalg.norm(Y, axis=0)
    return int(np.linalg.matrix_rank(Y[:, lengths > 1e-9] / lengths[lengths > 1e-9], tol=1e-7))


@pytest.mark.parametrize("seed", range(24))
def test_both_methods_reach_the_rank_by_letters_alone(seed):
    robot = random_robot(seed, tree=seed % 3 == 1, floating=seed % 11 == 5, mimic=False)
    if not any(robot.gravity):
        robot = robot.with_gravity((0.0, 0.0, -9.81))
    rotors = seed % 2 == 1
    closed, lin = (base_parameters(robot, method, rotors=rotors) for method in ("closed-form", "mlc"))
    assert (closed.method, lin.method) == ("closed-form", "mlc")
    assert closed.count == lin.count == closed.certificate.rank == rank_of(robot, closed.columns)
    assert rotors or not any(closed.is_numeric)
    T = closed.conversion_to(lin)
    assert np.allclose(lin.K, T @ closed.K, atol=1e-9 * max(1.0, np.abs(lin.K).max()))
    assert max(closed.certificate.error, lin.certificate.error) < 1e-9


@pytest.mark.parametrize("seed", [3, 7, 11, 15, 19, 23, 27, 31])
def test_without_gravity_the_rank_completes_the_rules(seed):
    robot = random_robot(seed).with_gravity((0.0, 0.0, 0.0))
    closed = base_parameters(robot)
    assert closed.count == closed.certificate.rank == rank_of(robot, closed.columns)
    assert closed.certificate.is_clear


def test_random_states_are_of_the_size_of_gravity():
    robot = random_robot(1, n=4)
    q, qd, qdd = numeric.random_states(robot, 4000, 0)
    assert 2.9 < np.abs(q).max() < math.pi + 1e-12
    assert np.std(qd) == pytest.approx(2.0, rel=0.05) and np.std(qdd) == pytest.approx(4.0, rel=0.05)
    again = numeric.random_states(robot, 4000, 1)
    assert not np.allclose(again[0], q)


def test_floating_bases_have_unit_quaternions():
    robot = random_robot(5, floating=True)
    q = numeric.random_states(robot, 50, 0)[0]
    assert np.allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0) and q.shape[1] == robot.n_position


def test_enough_states():
    robot = random_robot(1, n=4)
    assert numeric.enough_states(robot, 40) == 100
    assert numeric.enough_states(robot, 200) == 200
    assert numeric.enough_states(robot, 201) == math.ceil(4 * 201 / 4)
    assert numeric.enough_states(random_robot(1, n=1), 30) == 120


def test_triangles_have_the_singular_values_of_their_rows():
    W = np.random.default_rng(0).normal(size=(40, 6))
    R = numeric.triangle(W)
    assert R.shape == (6, 6) and np.allclose(np.tril(R, -1), 0)
    assert np.allclose(R.T @ R, W.T @ W)


def matrix(values: list[float], seed: int = 0) -> np.ndarray:
    """A square matrix with these singular values, its columns about as long as one another."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(len(values), len(values))))[0] for _ in range(2))
    return U @ np.diag(values) @ V.T


def test_rank_and_gap():
    rank, gap = numeric.rank_and_gap(matrix([3.0, 2.0, 1.0, 1e-13]))
    assert rank == 3 and gap > 1e10
    assert numeric.rank_and_gap(matrix([3.0, 2.0, 1.0, 1e-7]))[0] == 4
    assert numeric.rank_and_gap(np.zeros((3, 3))) == (0, math.inf)
    assert numeric.rank_and_gap(np.zeros((0, 0)))[0] == 0
    full, gap = numeric.rank_and_gap(np.eye(3))
    assert full == 3 and gap > 1e15
    assert numeric.rank_and_gap(np.diag([1.0, 1e-12]))[0] == 1  # a column that is nothing but rounding


def test_rounding_is_cleared_from_coefficients():
    K = np.array([[1 + 1e-11, 1e-11, 0.3], [2.0 - 1e-6, -1e-6, 100.0]])
    assert np.array_equal(numeric.cleared(K), [[1.0, 0.0, 0.3], [2.0 - 1e-6, -1e-6, 100.0]])
    large = np.array([[1e6, 5e-4, 0.5e-2]])
    assert np.array_equal(numeric.cleared(large), [[1e6, 0.0, 0.5e-2]])


def test_products_without_rounding():
    A, B = np.array([[0.1, 0.2, -0.3]]), np.array([[1.0], [1.0], [1.0]])
    assert product(A, B)[0, 0] == 0.0 and (A @ B)[0, 0] != 0.0
    assert product(np.array([[1.0, 1e-9]]), np.array([[1.0], [1.0]]))[0, 0] != 1.0


@pytest.mark.parametrize(("small", "rank"), [(1e-2, 4), (1e-5, 3)])
def test_the_rank_is_read_at_a_clear_gap(small, rank):
    """A thousand between neighbours is clear, less is not; the lowest clear gap counts."""
    sample = Sample.of_matrix(matrix([3.0, 2.5, 2.0, small]))
    found, gap = sample.rank_and_gap(range(4))
    assert found == 4 and gap > 1e3  # down to rounding all of them count
    noisy = Sample(sample.R, sample.lengths, np.full(4, 1e-6) * sample.lengths, sample.scale)
    assert noisy.rank_and_gap(range(4))[0] == rank


def test_columns_that_are_nothing_are_not_shown():
    R = np.diag([1.0, 2.0, 1e-13])
    sample = Sample.of_matrix(R)
    assert sample.shown.tolist() == [True, True, False]
    assert sample.rank_and_gap(range(3))[0] == 2 and sample.rank_and_gap([2]) == (0, math.inf)
    assert Sample.of_matrix(R, np.array([1.0, 1.0, 1e-13])).shown.all()


def test_columns_are_chosen_in_order_unless_little_is_left_of_them():
    a, b, c = np.eye(3)
    sample = Sample.of_matrix(np.column_stack([a, a + 1e-7 * b, b, c]))
    assert sample.chosen(range(4), 3) == [0, 2, 3]
    assert sample.chosen([3, 1, 0, 2], 3) == [3, 1, 2]
    assert sample.chosen([3, 1, 0, 2], 2) == [3, 1]
    usable = Sample.of_matrix(np.column_stack([a, a + 1e-4 * b, b]))
    assert usable.chosen(range(3), 2) == [0, 1]


def test_columns_as_sums_of_the_kept_ones():
    rng = np.random.default_rng(0)
    kept, K = rng.normal(size=(20, 3)), np.array([[1.0, 0, 0, 2.0, 0.25], [0, 1, 0, 0, -1], [0, 0, 1, 1, 1e-13]])
    sample = Sample.of_matrix(kept @ K)
    found = sample.express([0, 1, 2])
    assert np.allclose(found, K, atol=1e-9) and found[2, 4] == 0 and found[0, 3] == 2
    assert sample.error([0, 1, 2], found) < 1e-12
    assert sample.error([0, 1, 2], found + np.eye(3, 5, 3)) > 0.1
    assert np.array_equal(sample.express([1, 2], [1, 2]), np.eye(2))
    assert sample.error([], np.zeros((0, 5))) == pytest.approx(np.max(sample.lengths) / sample.scale[0])


def test_rounding_of_a_robot_is_measured():
    sample = Sample.of(read_robot("planar2r"), read_robot("planar2r").columns(), 40, 0)
    there = sample.lengths > 0
    assert np.all(sample.rounding[there] < 1e-12 * sample.lengths[there].max())
    assert sample.rounding[there].max() > 0
    check = Sample.to_check(read_robot("planar2r"), read_robot("planar2r").columns(), 40, 0)
    assert np.allclose(check.lengths, sample.lengths) and len(check.R) == 80 and not check.rounding.any()


def test_a_certificate_says_when_it_is_clear():
    assert Certificate(3, 1e3, 0.0, 100, 0).is_clear and not Certificate(3, 999.0, 0.0, 100, 0).is_clear
    data = Certificate(3, math.inf, 1e-16, 100, 7, Redrawn({"D": 1.0}, 3, 2, 5.0, 1e-15)).to_dict()
    assert data["gap"] is None and data["seed"] == 7
    assert data["redrawn"] == {"values": {"D": 1.0}, "count": 3, "rank": 2, "error": 1e-15}
    assert Certificate(3, 5e3, 0.0, 100, 0).to_dict()["gap"] == 5e3
    assert Certificate(3, 5e3, 0.0, 100, 0).to_dict()["redrawn"] is None
    assert "second random draw" in str(Certificate(3, 1e4, 0.0, 9, 0, Redrawn({}, 3, 2, 5.0, 0.0)))


@pytest.mark.parametrize("name", ["puma560", "stanford", "planar2r"])
def test_numbers_alone_keep_what_the_rules_keep(name):
    robot = read_robot(name)
    closed, numbers = (base_parameters(robot, m, rotors=True, friction=True) for m in ("closed-form", "numeric"))
    assert set(numbers.kept) == set(closed.kept)
    for form in numbers.relations:
        whole = [v for v in form.terms.values() if v == round(float(v))]
        assert whole and all(type(v) is int for v in whole)


def test_columns_that_are_asked_for_are_kept():
    robot = read_robot("puma560")
    for method in ("closed-form", "numeric"):
        kept = base_parameters(robot, method, keep=("YY2", "M3")).kept
        assert "YY2" in kept or "M3" in kept
        assert set(kept) != set(base_parameters(robot, method).kept)


def test_relations_are_compared_column_by_column():
    K = np.array([[1e-14, 2.0, 0.0], [0.0, 4.0, 0.0]])
    sample = Sample.of_relations(K)
    assert sample.shown.tolist() == [True, True, False]
