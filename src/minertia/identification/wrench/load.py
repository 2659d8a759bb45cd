"""Wrench of a rigid tool in sensor axes; derivatives with respect to load, mount and gravity direction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.geometry.chain import exponential, rotation_vector, skew
from minertia.io.arrays import Array

LOAD = ("M", "MX", "MY", "MZ")
INERTIA = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")  # about the sensor's origin; only motion shows them
CHANNELS = ("fx", "fy", "fz", "tx", "ty", "tz")
TILT = ("tilt_x", "tilt_y", "tilt_z")


@dataclass(frozen=True)
class FrameRates:
    """Motion of the sensor frame, in its axes: angular velocity and acceleration, acceleration of its origin.

    Each is (N, 3) [rad/s, rad/s^2, m/s^2]; the last one excludes gravity.
    """

    spin: Array
    spin_rate: Array
    acceleration: Array

    def take(self, kept: NDArray[np.intp] | NDArray[np.bool_]) -> FrameRates:
        """Motion at some of the samples."""
        return FrameRates(self.spin[kept], self.spin_rate[kept], self.acceleration[kept])


@dataclass(frozen=True)
class Mount:
    """Orientation of the sensor's axes in the specified frame, and of gravity in the base.

    axes (3, 3): columns are the sensor's axes in the frame.  nominal (3, 3): their expected orientation.  up
    (3,): minus the expected gravity [m/s^2].  lean (2,): rotation of its direction about `level` (2, 3), two axes
    perpendicular to it [rad].  sign: 1 if the measured wrench acts on the tool, -1 if it acts on the sensor.
    """

    axes: Array
    nominal: Array
    up: Array
    lean: Array
    sign: float = 1.0

    @classmethod
    def expected(cls, gravity: Array, sign: float = 1.0) -> Mount:
        """Mount of a sensor aligned with its frame; gravity (3,) [m/s^2] in base axes."""
        return cls(np.eye(3), np.eye(3), -np.asarray(gravity, float), np.zeros(2), sign)

    @property
    def level(self) -> Array:
        """Two unit vectors (2, 3) perpendicular to gravity: two base axes where gravity is along the third."""
        up = self.up / np.linalg.norm(self.up)
        first, second = np.delete(np.eye(3), int(np.argmax(np.abs(up))), axis=0)
        first = first - (first @ up) * up
        first /= np.linalg.norm(first)
        second = second - (second @ up) * up - (second @ first) * first
        return np.stack([first, second / np.linalg.norm(second)])

    @property
    def lean_names(self) -> tuple[str, str]:
        """Names of the two rotations of the gravity direction, after the base axes."""
        first, second = np.delete(np.arange(3), int(np.argmax(np.abs(self.up))))
        return f"gravity_{'xyz'[first]}", f"gravity_{'xyz'[second]}"

    @property
    def acceleration(self) -> Array:
        """`up` rotated by `lean`, (3,) [m/s^2]."""
        return turn(self.lean @ self.level) @ self.up

    @property
    def tilt(self) -> Array:
        """Rotation vector (3,) from the expected to the fitted axes, in the sensor's axes [rad]."""
        return np.asarray(rotation_vector(self.nominal.T @ self.axes))

    @property
    def angles(self) -> Array:
        """Angles (5,) of tilt (sensor axes) and lean (gravity direction) [rad]."""
        return np.concatenate([self.tilt, self.lean])

    def moved(self, step: Array) -> Mount:
        """Mount after an increment (5,) of tilt and lean [rad]."""
        return replace(self, axes=self.axes @ turn(step[:3]), lean=self.lean + step[3:])

    def felt(self, R: Array, motion: FrameRates | None = None) -> Array:
        """Measured force per unit mass (N, 3) in sensor axes, for orientations R (N, 3, 3) of the frame."""
        held = self.acceleration @ R
        return np.asarray(self.sign * (held if motion is None else held + motion.acceleration) @ self.axes)


def turn(v: Array) -> Array:
    """Rotation matrix (3, 3) of a rotation vector (3,) [rad]."""
    return np.asarray(exponential(np.concatenate([np.zeros(3), v]))[:3, :3])


def load_columns(mount: Mount, R: Array, motion: FrameRates | None = None) -> Array:
    """Regressor of the wrench (6, N, 10): mass, first moments s and inertias J; at rest only the first four.

    With the force a per unit mass and the angular velocity w:
    f = M a + dw/dt x s + w x (w x s), n = J dw/dt + w x J w + s x a.
    """
    a = mount.felt(R, motion)
    out = np.zeros((6, len(a), 4 if motion is None else 10))
    out[:3, :, 0] = a.T
    out[3:, :, 1:4] = -np.moveaxis(skew(a), 0, 1)
    if motion is not None:
        w, wd = motion.spin @ mount.axes, motion.spin_rate @ mount.axes
        out[:3, :, 1:4] = mount.sign * np.moveaxis(skew(wd) + skew(w) @ skew(w), 0, 1)
        out[3:, :, 4:] = mount.sign * np.moveaxis(_spun(wd) + skew(w) @ _spun(w), 0, 1)
    return out


def _spun(w: Array) -> Array:
    """Angular momentum J w (N, 3, 6) of unit inertias XX XY XZ YY YZ ZZ."""
    x, y, z = w.T
    o = np.zeros_like(x)
    rows = ((x, y, z, o, o, o), (o, x, o, y, z, o), (o, o, x, o, y, z))
    return np.moveaxis(np.array(rows), 2, 0)


def angle_columns(mount: Mount, R: Array, load: Array, motion: FrameRates | None = None) -> Array:
    """Derivatives (6, N, 5) of the wrench of a load (4,) or (10,) with respect to tilt and lean."""
    a = mount.felt(R, motion)
    by_lean = np.einsum("nji,kj->nik", R @ mount.axes, mount.sign * np.cross(mount.level, mount.acceleration))
    da = np.concatenate([skew(a), by_lean], axis=2)
    force, moment = load[0] * da, skew(load[1:4]) @ da
    if motion is not None and len(load) > 4:
        w, wd, s = motion.spin @ mount.axes, motion.spin_rate @ mount.axes, skew(load[1:4])
        dw, dwd, J = mount.sign * skew(w), mount.sign * skew(wd), _tensor(load[4:])
        force[:, :, :3] -= s @ dwd + (skew(np.cross(w, load[1:4])) + skew(w) @ s) @ dw
        moment[:, :, :3] += J @ dwd + (skew(w) @ J - skew(w @ J)) @ dw
    return np.concatenate([np.moveaxis(force, 1, 0), np.moveaxis(moment, 1, 0)])


def _tensor(values: Array) -> Array:
    xx, xy, xz, yy, yz, zz = values
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def wrench_of(mount: Mount, R: Array, load: Array, motion: FrameRates | None = None) -> Array:
    """Measured wrench (N, 6) of a load: M [kg], first moments [kg m] and, in motion, inertias [kg m^2]."""
    columns = load_columns(mount, R, motion)
    known = min(len(load), columns.shape[2])
    return np.asarray((columns[:, :, :known] @ load[:known]).T)
