"""Audit of the inertial measurement unit of a floating base, by kinematics alone.

At rest an accelerometer measures 9.81 m/s^2 upwards; over some seconds a base hardly accelerates, so the mean specific
force in world axes is that of gravity. The gyroscope must measure the rate of the logged attitude. Other readings
of the columns are tried, and the one that agrees is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from minertia.identification.efforts.sensor_setups import right_angle_turns
from minertia.identification.evidence.thresholds import INERTIAL_BETTER, INERTIAL_WRONG
from minertia.identification.signals.filtering import low_pass
from minertia.io.arrays import Array

SMOOTH = 5.0  # Hz: below it gyroscope and attitude are compared; legs move below 4 Hz
CALM_S = 2.0  # s over which the mean acceleration of a base is small
MOVES = 0.01  # rad/s: slower attitudes say nothing of the gyroscope
USUAL = (0.75, 1.3)  # median specific force over gravity; a trot has 1.0
NO_GRAVITY = 0.3  # of gravity: below it the accelerometer's gravity was removed
STEADY = 0.5  # mean specific force over its median size; without gravity the mean is about 0
DEGREE = np.pi / 180


@dataclass(frozen=True)
class Inertial:
    """Signals of a base: angular velocity and specific force (N, 3), quaternion x, y, z, w (N, 4) or None."""

    gyro: Array
    accel: Array
    attitude: Array | None
    rate: float
    gravity: float


def inertial_fault(given: Inertial, columns: tuple[str, str, str]) -> str | None:
    """Message on a unit that contradicts gravity or the attitude; columns: of gyroscope, accelerometer, attitude."""
    gyro, accel, attitude = columns
    magnitude = _magnitude(given)
    if magnitude or given.attitude is None:
        return magnitude and f"{accel}: {magnitude}"
    found = [(text, column, _left(one)) for text, column, one in _readings(given, columns)]
    left = np.array([own for _, _, own in found])
    best = int(np.argmin(left))
    if left[0] < INERTIAL_WRONG:
        return None
    if left[best] < INERTIAL_BETTER * left[0]:
        return f"{found[best][1]}: {found[best][0]}"
    return f"{gyro}, {accel} and {attitude} contradict one another: check their columns, units and axes"


def _magnitude(given: Inertial) -> str | None:
    """Message on a specific force of another size than gravity."""
    size = float(np.median(np.linalg.norm(given.accel, axis=1)))
    part = size / given.gravity
    if USUAL[0] < part < USUAL[1]:
        return None
    is_steady = float(np.linalg.norm(given.accel.mean(axis=0))) > STEADY * size
    if USUAL[0] < size < USUAL[1] and is_steady:
        return f"the accelerometer seems to be in g, as its median is {size:.3g}: multiply its columns by 9.81"
    if part < NO_GRAVITY:
        return (
            f"the accelerometer does not contain gravity, as its median is {size:.3g} m/s^2: log the specific force, "
            "9.81 m/s^2 at rest"
        )
    return f"the accelerometer has a median of {size:.3g} m/s^2 instead of {given.gravity:.3g}: check its unit"


def _readings(given: Inertial, columns: tuple[str, str, str]) -> Iterator[tuple[str, str, Inertial]]:
    """Readings of the columns with their messages, the stated one first."""
    gyro, accel, attitude = columns
    Q = given.attitude
    assert Q is not None
    yield "", "", given
    w_first, back = Q[:, [1, 2, 3, 0]], Q * [-1, -1, -1, 1]
    yield "the quaternion seems to be in the order w, x, y, z: rename its columns", attitude, _with(given, Q=w_first)
    text = "the attitude seems to be that of the world in the base: log its inverse"
    yield text, attitude, _with(given, Q=back)
    text = "the quaternion seems to be in the order w, x, y, z, of the world in the base: rename, and log its inverse"
    yield text, attitude, _with(given, Q=w_first * [-1, -1, -1, 1])
    yield "the gyroscope seems to be in deg/s: convert it to rad/s", gyro, _with(given, w=DEGREE * given.gyro)
    text = "the sign of gravity seems to be reversed: at rest an accelerometer measures 9.81 m/s^2 upwards"
    yield text, accel, _with(given, a=-given.accel)
    for R in right_angle_turns()[1:]:
        axes = ", ".join(f"{'-' if row.min() < 0 else ''}{'xyz'[int(np.argmax(np.abs(row)))]}" for row in R)
        where = f"(x, y, z of the base are {axes} of the log)"
        yield (
            f"its axes seem exchanged {where}",
            f"{gyro}, {accel}",
            _with(given, w=given.gyro @ R.T, a=given.accel @ R.T),
        )
        yield f"its axes seem exchanged {where}", gyro, _with(given, w=given.gyro @ R.T)
        yield f"its axes seem exchanged {where}", accel, _with(given, a=given.accel @ R.T)


def _with(given: Inertial, w: Array | None = None, a: Array | None = None, Q: Array | None = None) -> Inertial:
    return Inertial(
        given.gyro if w is None else w,
        given.accel if a is None else a,
        given.attitude if Q is None else Q,
        given.rate,
        given.gravity,
    )


def _left(given: Inertial) -> float:
    """Disagreement with gravity and with the rate of the attitude, each relative; about 0 for a right reading."""
    from scipy.ndimage import uniform_filter1d  # here: it takes long to load
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_quat(given.attitude)
    width = max(3, min(round(CALM_S * given.rate), len(given.accel) // 2))
    mean = uniform_filter1d(turn.apply(given.accel), width, axis=0)[width // 2 : -(width // 2)]
    off = np.linalg.norm(mean - [0, 0, given.gravity], axis=1) / given.gravity
    spin = (turn[:-1].inv() * turn[1:]).as_rotvec() * given.rate
    w, own = (low_pass(np.ascontiguousarray(x), SMOOTH, given.rate) for x in (spin, given.gyro[:-1]))
    size, apart = (np.sqrt(np.mean(x**2, axis=0)) for x in (w, w - own))
    slip = [float(x / one) for x, one in zip(apart, size, strict=True) if one > MOVES]  # a base may turn most about z
    return float(np.sqrt(np.mean(off**2))) + (float(np.mean(slip)) if slip else 0.0)
