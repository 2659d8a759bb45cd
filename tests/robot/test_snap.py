"""Angles and lengths as they were meant: what is near enough is put right, and nothing else is touched."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from minertia.robot.formats.snap import (
    ANGLE_TOLERANCE,
    axis_to_z,
    matrix_to_rpy,
    quaternion_to_matrix,
    rotation_angle,
    rotation_from_rpy,
    snap_angle,
    snap_length,
    snap_rotation,
    snap_vector,
)

SIGNS = tuple(itertools.product((1.0, -1.0), repeat=3))


def turned(axis: int, angle: float) -> np.ndarray:
    """Rotation about a coordinate axis."""
    c, s = math.cos(angle), math.sin(angle)
    R = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return R


@pytest.mark.parametrize("meant", [k * math.pi / 2 for k in range(-3, 4)])
def test_right_angles_are_snapped_within_two_milliradians(meant):
    for off in (1.9e-3, -1.9e-3):
        assert snap_angle(meant + off) == meant
        assert snap_angle(meant + 1.2 * off) == meant + 1.2 * off  # 2.3 mrad is another angle
    assert snap_angle(meant + 3e-3, tolerance=4e-3) == meant


@pytest.mark.parametrize("meant", [k * math.pi / 12 for k in (1, 2, 3, 4, 5, 7, -1, -5)])
def test_other_angles_are_snapped_within_a_quarter_of_that(meant):
    for off in (4.5e-4, -4.5e-4):
        assert snap_angle(meant + off) == pytest.approx(meant, abs=1e-15)
        assert snap_angle(meant + 1.3 * off) == meant + 1.3 * off


def test_rounding_is_snapped_whatever_the_tolerance():
    assert snap_angle(math.pi / 2 + 5e-13, tolerance=0.0) == math.pi / 2
    assert snap_angle(math.pi / 2 + 2e-12, tolerance=0.0) != math.pi / 2
    assert snap_angle(math.pi / 12 + 5e-13, tolerance=0.0) == pytest.approx(math.pi / 12, abs=1e-16)
    assert snap_length(5e-13, 0.0) == 0 and snap_length(5e-12, 0.0) == 5e-12


def test_lengths_shorter_than_a_micrometre_are_none():
    assert [snap_length(v) for v in (9e-7, -9e-7, 1.2e-6, -1.2e-6, 0.5)] == [0, 0, 1.2e-6, -1.2e-6, 0.5]
    assert type(snap_length(9e-7)) is int and type(snap_length(0.5)) is float
    assert snap_vector((1e-8, 0.2, -1e-3), 1e-2) == (0, 0.2, 0)


@pytest.mark.parametrize("seed", range(4))
def test_roll_pitch_and_yaw_turn_about_fixed_axes(seed):
    roll, pitch, yaw = np.random.default_rng(seed).uniform(-1.4, 1.4, 3)
    R = np.array(rotation_from_rpy(roll, pitch, yaw), float)
    assert np.allclose(R, turned(2, yaw) @ turned(1, pitch) @ turned(0, roll), atol=1e-12)
    assert matrix_to_rpy(R) == pytest.approx((roll, pitch, yaw), abs=1e-9)


def test_roll_pitch_and_yaw_are_found_where_some_are_zero():
    for angles in itertools.product((0.0, 0.3, -1.2), repeat=3):
        assert matrix_to_rpy(rotation_from_rpy(*angles)) == pytest.approx(angles, abs=1e-12)


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2])
def test_roll_is_zero_where_it_cannot_be_told(pitch):
    R = turned(2, 0.4) @ turned(1, pitch) @ turned(0, 0.3)
    roll, found, yaw = matrix_to_rpy(R)
    assert roll == 0 and found == pytest.approx(pitch)
    assert np.allclose(turned(2, yaw) @ turned(1, found), R, atol=1e-9)


def test_rotations_near_a_change_of_axes_become_whole_numbers():
    meant = turned(0, math.pi / 2) @ turned(2, math.pi)
    for near, is_meant in ((1.8e-3, True), (2.6e-3, False)):
        found = snap_rotation(meant @ turned(1, near) @ turned(2, 1e-4))
        assert all(type(s) is int for row in found for s in row) == is_meant
        assert not is_meant or np.array_equal(np.array(found, float), np.rint(meant))
    mirrored = np.diag([1.0, 1.0, -1.0])
    assert rotation_angle(np.eye(3), np.eye(3)) == 0
    with np.errstate(all="ignore"):
        assert np.array(snap_rotation(mirrored), float).shape == (3, 3)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("angle", [0.7, math.pi / 3 + 2e-4, -2.0])
def test_a_turn_about_a_kept_axis_keeps_it_exactly(axis, angle):
    skew = 1.2e-3
    R = turned((axis + 1) % 3, skew) @ turned(axis, angle)
    found = snap_rotation(R)
    assert [found[axis][k] for k in range(3) if k != axis] == [0, 0] and found[axis][axis] == 1
    assert rotation_angle(np.array(found, float), turned(axis, snap_angle(angle))) < skew
    assert np.allclose(np.array(found, float) @ np.array(found, float).T, np.eye(3), atol=1e-12)


def changes_of_axes() -> list[np.ndarray]:
    """The 24 rotations that put axes on axes."""
    signed = [np.diag(s) @ np.eye(3)[list(p)] for p in itertools.permutations(range(3)) for s in SIGNS]
    return [C for C in signed if np.linalg.det(C) > 0]


@pytest.mark.parametrize(
    ("tolerance", "skew", "angle"), [(ANGLE_TOLERANCE, 8e-4, math.pi / 3 + 2e-4), (0.0, 3e-13, -2.0)]
)
def test_a_turn_is_put_right_however_its_frame_stands(tolerance, skew, angle):
    """Five entries are 0, 1 or -1 whichever axis is kept; where nothing is to be put right, rounding at least is."""
    for C, axis in itertools.product(changes_of_axes(), range(3)):
        off = turned((axis + 1) % 3, skew) @ turned((axis + 2) % 3, -1.3 * skew)
        found = snap_rotation(C @ off @ turned(axis, angle), tolerance)
        assert np.allclose(np.array(found, float), C @ turned(axis, snap_angle(angle, tolerance)), rtol=0, atol=1e-11)
        assert sum(type(s) is int for row in found for s in row) == 5


def test_a_general_rotation_is_left_alone():
    R = turned(0, 0.3) @ turned(1, 0.5) @ turned(2, 0.9)
    assert np.array_equal(np.array(snap_rotation(R), float), R)


@pytest.mark.parametrize("off", [3e-4, -3e-4])
def test_one_angle_of_three_is_put_right(off):
    R = turned(2, math.pi / 3 + off) @ turned(1, 0.5) @ turned(0, 0.3)
    found = np.array(snap_rotation(R), float)
    assert np.allclose(found, turned(2, math.pi / 3) @ turned(1, 0.5) @ turned(0, 0.3), atol=1e-12)


def test_angles_between_rotations():
    for angle in (1e-9, 0.3, 3.0):
        for axis in range(3):
            assert rotation_angle(turned(axis, 0.2), turned(axis, 0.2 + angle)) == pytest.approx(angle, rel=1e-6)


@pytest.mark.parametrize(
    "axis", [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -2), (0.3, 0.5, 0.7), (0.6, 0, 0.8)]
)
def test_the_third_column_is_the_axis(axis):
    R = np.array(axis_to_z(axis), float)
    assert np.allclose(R[:, 2], np.array(axis) / np.linalg.norm(axis), atol=1e-12)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-12) and np.linalg.det(R) == pytest.approx(1.0)


def test_an_axis_near_a_coordinate_axis_is_that_one():
    assert axis_to_z((1.5e-3, 0, 1)) == axis_to_z((0, 0, 1))
    assert axis_to_z((2.5e-3, 0, 1)) != axis_to_z((0, 0, 1))
    tilted = np.array(axis_to_z((math.sin(math.pi / 6 + 3e-4), 1e-4, math.cos(math.pi / 6 + 3e-4))), float)
    assert np.allclose(tilted[:, 2], (0.5, 0, math.sqrt(3) / 2), atol=1e-12)


@pytest.mark.parametrize("axis", range(3))
def test_quaternions(axis):
    half = 0.35
    q = [math.cos(half), 0.0, 0.0, 0.0]
    q[1 + axis] = math.sin(half)
    assert np.allclose(quaternion_to_matrix(*q), turned(axis, 2 * half), atol=1e-12)
    assert np.allclose(quaternion_to_matrix(*(3 * v for v in q)), turned(axis, 2 * half), atol=1e-12)
    w, x, y, z = 0.5, -0.1, 0.7, 0.3
    R = quaternion_to_matrix(w, x, y, z)
    assert np.allclose(R @ (x, y, z), (x, y, z)) and np.linalg.det(R) == pytest.approx(1.0)
