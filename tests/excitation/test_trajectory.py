"""Families of motions and their files."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.excitation.fourier import Fourier
from minertia.excitation.spline import Spline
from minertia.excitation.trajectory import Trajectory, null_basis
from minertia.io.errors import DescriptionError, MinertiaError, ShapeError

FAMILIES = {
    "fourier": Fourier(7.0, 4),
    "fourier, not periodic": Fourier(7.0, 5, frequency=0.11),
    "fourier from a posture": Fourier(7.0, 4, start=(0.3, -0.4)),
    "quintic spline": Spline(7.0, 8, 5),
    "cubic spline": Spline(7.0, 8, 3),
    "spline from a posture": Spline(7.0, 8, 5, start=(0.3, -0.4)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_rest_at_both_ends(name):
    family = FAMILIES[name]
    offset = np.zeros(2) if family.start is None else np.array(family.start)
    x = np.random.default_rng(0).normal(size=(2, family.free))
    motion = family.from_free(offset, x)
    q, qd, qdd = motion.at([0.0, family.duration])
    assert np.abs(motion.at(np.linspace(0, 7, 50))[1]).max() > 0.1
    np.testing.assert_allclose(qd, 0, atol=1e-12)
    np.testing.assert_allclose(qdd, 0, atol=1e-12)
    if family.start is not None:
        np.testing.assert_allclose(q[0], family.start, atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_and_matrices(name):
    family = FAMILIES[name]
    t = np.linspace(0.5, 6.5, 9)
    x = np.random.default_rng(1).normal(size=(2, family.free))
    motion, h = family.from_free(np.zeros(2), x), 1e-5
    q, qd, qdd = motion.at(t)
    ahead, behind = motion.at(t + h), motion.at(t - h)
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * h), qd, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * h), qdd, rtol=1e-5, atol=1e-5)
    for matrix, expected in zip(family.matrices(t), (q, qd, qdd), strict=True):
        np.testing.assert_allclose(matrix @ x.T, expected, atol=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_coefficients_are_the_same_motion_on_every_machine(name):
    """Rounding, and the order in which a processor adds, must not turn the basis."""
    family = FAMILIES[name]
    rows = family.null_rows
    rng = np.random.default_rng(0)
    other = (rows * (1 + 1e-15 * rng.normal(size=rows.shape)))[rng.permutation(len(rows))]
    np.testing.assert_allclose(null_basis(other), family.null, atol=1e-11)
    np.testing.assert_allclose(family.null.T @ family.null, np.eye(family.free), atol=1e-13)


def test_without_rest_every_coefficient_is_free():
    assert Fourier(10.0, 5, rest=False).free == 11
    assert Fourier(10.0, 5).free == 9
    assert Fourier(10.0, 5, start=(0.0,)).free == 8


def test_file_keeps_every_bit(tmp_path):
    trajectory = Fourier(3.0, 3).from_free(np.zeros(2), np.random.default_rng(0).normal(size=(2, 5))).sample(50)
    trajectory.save(tmp_path / "motion.csv")
    lines = (tmp_path / "motion.csv").read_text().splitlines()
    assert lines[0].startswith("# minertia trajectory format 1; ")
    assert lines[1] == "t,q1,q2,qd1,qd2,qdd1,qdd2"
    again = Trajectory.load(tmp_path / "motion.csv")
    for name in ("t", "q", "qd", "qdd"):
        assert np.array_equal(getattr(again, name), getattr(trajectory, name))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,q1\n0,1\n", "first line"),
        ("# minertia trajectory format 2\nt,q1,qd1,qdd1\n0,1,2,3\n", "format 1"),
        ("# minertia trajectory format 1\nt,q1,qd1\n0,1,2\n", "columns"),
        ("# minertia trajectory format 1\nt,q1,qd1,qdd1\n0,1,x,3\n", "line 3"),
        ("# minertia trajectory format 1\nt,q1,qd1,qdd1\n0,1,nan,3\n", "finite"),
        ("# minertia trajectory format 1\nt,q1,qd1,qdd1\n0,1,2,3\n0,1\n", "line 4"),
    ],
)
def test_bad_files(tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(DescriptionError, match=words):
        Trajectory.load(tmp_path / "bad.csv")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(MinertiaError):
        Trajectory.load(tmp_path / "none.csv")
    with pytest.raises(MinertiaError, match="does not exist"):
        Trajectory([0, 1], [[0], [1]], [[0], [0]], [[0], [0]]).save(tmp_path / "no" / "where.csv")


def test_shapes_and_immutability():
    with pytest.raises(ShapeError):
        Trajectory([0, 1], [[0.0]], [[0.0]], [[0.0]])
    trajectory = Trajectory([0, 1], [[0], [1]], [[0], [0]], [[0], [0]])
    with pytest.raises(ValueError, match="read-only"):
        trajectory.q[0] = 3
    assert trajectory.at(0.25)[0] == pytest.approx(0.25)
    assert trajectory.at(2.0)[0] == pytest.approx(1.0)
    times = np.linspace(-0.5, 2.0, 26)
    one_by_one = zip(*(trajectory.at(t) for t in times), strict=True)
    assert all((many == np.array(few)).all() for many, few in zip(trajectory.at(times), one_by_one, strict=True))
