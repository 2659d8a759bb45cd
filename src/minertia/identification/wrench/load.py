"""Wrench of a static rigid tool in sensor axes, and its derivatives by load, mount and gravity direction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from minertia.identification.geometry.chain import exponential, rotation_vector, skew
from minertia.io.arrays import Array

LOAD = ("M", "MX", "MY", "MZ")
CHANNELS = ("fx", "fy", "fz", "tx", "ty", "tz")
TILT = ("tilt_x", "tilt_y", "tilt_z")


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
        """Tilt and lean (5,) [rad]."""
        return np.concatenate([self.tilt, self.lean])

    def moved(self, step: Array) -> Mount:
        """Mount after an increment (5,) of tilt and lean [rad]."""
        return replace(self, axes=self.axes @ turn(step[:3]), lean=self.lean + step[3:])

    def felt(self, R: Array) -> Array:
        """Measured force per unit mass (N, 3) in sensor axes, at orientations R (N, 3, 3) of the frame."""
        return np.asarray(self.sign * self.acceleration @ (R @ self.axes))


def turn(v: Array) -> Array:
    """Rotation matrix (3, 3) of a rotation vector (3,) [rad]."""
    return np.asarray(exponential(np.concatenate([np.zeros(3), v]))[:3, :3])


def load_columns(a: Array) -> Array:
    """Regressor (6, N, 4) of the wrench by mass M and first moments s: f = M a, n = s x a.

    a (N, 3): force per unit mass.
    """
    out = np.zeros((6, len(a), 4))
    out[:3, :, 0] = a.T
    out[3:, :, 1:] = -np.moveaxis(skew(a), 0, 1)
    return out


def angle_columns(mount: Mount, R: Array, load: Array) -> Array:
    """Derivatives (6, N, 5) of the wrench of a load (4,) with respect to tilt and lean at orientations R."""
    a = mount.felt(R)
    by_tilt = skew(a)
    by_lean = np.einsum("nji,kj->nik", R @ mount.axes, mount.sign * np.cross(mount.level, mount.acceleration))
    da = np.concatenate([by_tilt, by_lean], axis=2)
    return np.concatenate([load[0] * np.moveaxis(da, 1, 0), np.moveaxis(skew(load[1:]) @ da, 1, 0)])


def wrench_of(mount: Mount, R: Array, load: Array) -> Array:
    """Measured wrench (N, 6) of a load (4,): M [kg] and first moments [kg m]."""
    return np.asarray((load_columns(mount.felt(R)) @ load).T)
