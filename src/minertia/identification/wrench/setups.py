"""Interpretation of the wrenches of a file: axes and sign, given or inferred, and alternative set-ups.

Only forces are used: the force of a rigid tool is its mass times a vector that is known from the
orientation and the motion of the sensor, plus a constant bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minertia.identification.campaigns.options import WrenchOptions
from minertia.identification.evidence import thresholds as at
from minertia.identification.geometry.chain import rotation_vector
from minertia.identification.wrench.fit import USUAL_LEAN, USUAL_TILT
from minertia.identification.wrench.load import CHANNELS, Mount
from minertia.identification.wrench.samples import SensorPoses
from minertia.io.arrays import Array
from minertia.io.errors import InputError

SIGNS = {"tool": 1.0, "sensor": -1.0}  # see `Mount`
TURNED = np.deg2rad(3.0)  # beyond, axes are turned rather than inexact: three times a clamped flange
DIRECTIONS = np.sin(np.deg2rad(3.0))  # spread of gravity's direction in the sensor, below which poses show no more
FEWEST = 3  # poses: three gravity directions tell load and bias apart


@dataclass(frozen=True)
class OtherWrench:
    """Alternative set-up with a far smaller residual of the forces [N] than the given one."""

    check: str
    what: str
    change: str
    before: float
    after: float

    @property
    def sentence(self) -> str:
        """Message with its error figures and what to change."""
        if not np.isfinite(self.after):
            return f"{self.what}; {self.change}"
        return (
            f"{self.what}: with this interpretation the residual is {self.after:.3g} N instead of "
            f"{self.before:.3g} N; {self.change}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        after = self.after if np.isfinite(self.after) else None
        return {"check": self.check, "what": self.what, "change": self.change, "before": self.before, "after": after}


@dataclass(frozen=True)
class Weighed:
    """Mass [kg] fitted to the forces with a constant bias, and its residual.

    left: root mean square of the residual per component [N].  part: `left` relative to the root mean square
    of the forces without their mean.
    """

    mass: float
    left: float
    part: float


@dataclass(frozen=True)
class WrenchReading:
    """Interpretation of a file: options with axes and sign, and the expected orientation of the sensor.

    notes: messages on what was inferred.  others: alternative set-ups that explain the forces far better.
    """

    options: WrenchOptions
    mount: Mount
    is_turned: bool
    notes: tuple[str, ...]
    others: tuple[OtherWrench, ...]

    @property
    def usual(self) -> Array:
        """Prior standard deviations (5,) of tilt and gravity direction [rad]; infinite for an inferred tilt."""
        return np.array([np.inf if self.is_turned else USUAL_TILT] * 3 + [USUAL_LEAN] * 2)


def as_read(poses: SensorPoses, options: WrenchOptions) -> SensorPoses:
    """Poses of a file with the wrench in the axes of the frame."""
    return poses.turned() if options.axes == "base" else poses


def weighed(poses: SensorPoses, mount: Mount) -> Weighed:
    """Fit a mass to the forces, with a constant bias."""
    a, f = mount.felt(poses.R, poses.motion), poses.wrench[:, :3]
    a, f = a - a.mean(axis=0), f - f.mean(axis=0)
    size = float(np.sum(a * a))
    mass = float(np.sum(a * f)) / size if size > 0 else 0.0
    left, whole = (float(np.sqrt(np.mean(x**2))) for x in (f - mass * a, f))
    return Weighed(mass, left, left / whole if whole > 0 else 0.0)


def settled_reading(poses: SensorPoses, options: WrenchOptions, gravity: Array) -> WrenchReading:
    """Determine axes and sign of the wrenches, as given or else inferred, and alternative set-ups."""
    mount = Mount.expected(gravity)
    refuse_poses(poses, mount)
    found, notes = _found(poses, options, mount)
    mount = replace(mount, sign=SIGNS[str(found.of)])
    inside = as_read(poses, found)
    own = weighed(inside, mount)
    ends = tuple(_saturated(poses.wrench, own.left))
    if ends:
        return WrenchReading(found, mount, False, notes, ends)
    if own.part < at.WRENCH_RIGHT and own.mass > 0:
        return WrenchReading(found, mount, False, notes, ())
    others = tuple(_others(poses, found, mount, own))
    axes = turned_axes(inside, mount)
    turned = replace(mount, axes=axes, nominal=axes)
    after = weighed(inside, turned)
    is_turned = np.linalg.norm(rotation_vector(axes)) > TURNED and after.left < at.WRENCH_HALF * own.left
    is_turned = is_turned and after.mass > 0
    if is_turned and not any(other.after < at.AS_GOOD * after.left for other in others):
        return WrenchReading(found, turned, True, (*notes, _turned_sentence(axes)), ())
    return WrenchReading(found, mount, False, notes, others)


def _saturated(wrench: Array, left: float) -> Iterator[OtherWrench]:
    """Channels that repeat their exact largest or smallest value, as at the end of a measuring range."""
    for name, own in zip(CHANNELS, wrench.T, strict=True):
        for end in (own.min(), own.max()):
            if np.sum(own == end) >= max(FEWEST, at.SATURATED * len(own)) and np.ptp(own) > 0:
                what = f"{name} stays at {end:.4g}, as at the end of its range: it seems to be saturated"
                yield OtherWrench("saturated", what, "use a sensor with a larger range", left, float("nan"))


def refuse_poses(poses: SensorPoses, mount: Mount) -> None:
    """Raise an error for poses from which load and bias are not identifiable."""
    if (why := not_shown(poses, mount)) is not None:
        raise InputError(why)


def not_shown(poses: SensorPoses, mount: Mount) -> str | None:
    """Message on what these poses do not show of load and bias; None if they are identifiable."""
    if len(poses) < FEWEST:
        return (
            f"{len(poses)} poses are too few: payload and bias need at least {FEWEST} orientations, better 10 or more"
        )
    a = mount.felt(poses.R) / np.linalg.norm(mount.up)
    spread = np.linalg.svd(a - a.mean(axis=0), compute_uv=False) / np.sqrt(len(a))
    if spread[0] < DIRECTIONS:
        return (
            "gravity has the same direction in the sensor's axes at all poses, as after rotations about the "
            "vertical, so weight and bias are not distinguishable; tilt the sensor"
        )
    if spread[1] < DIRECTIONS / 2:
        return (
            "gravity has only two directions in the sensor's axes, so the centre of mass is not identifiable; "
            "add poses that tilt the sensor about another axis"
        )
    return None


def _found(poses: SensorPoses, options: WrenchOptions, mount: Mount) -> tuple[WrenchOptions, tuple[str, ...]]:
    """Options with axes and sign, and messages on those that were inferred."""
    notes: list[str] = []
    if options.axes is None:
        left = {axes: _weighed_in(poses, options, axes, mount).left for axes in ("sensor", "base")}
        axes, other = sorted(left, key=lambda name: left[name])
        if left[axes] > at.WRENCH_HALF * left[other]:
            axes, other = "sensor", "base"
            notes.append(
                "these poses do not determine whether forces are in sensor or base axes; sensor axes "
                "are assumed, set axes"
            )
        else:
            notes.append(
                f"forces are in {axes} axes: the residual is {left[axes]:.3g} N, in {other} axes {left[other]:.3g} N"
            )
        options = replace(options, axes=axes)
    if options.of is None:
        mass = _weighed_in(poses, options, str(options.axes), mount).mass
        options = replace(options, of="tool" if mass >= 0 else "sensor")
        notes.append(f"the wrench acts on the {options.of}: the mass would be negative otherwise")
    return options, tuple(notes)


def _weighed_in(poses: SensorPoses, options: WrenchOptions, axes: str, mount: Mount) -> Weighed:
    return weighed(as_read(poses, replace(options, axes=axes)), mount)


def turned_axes(poses: SensorPoses, mount: Mount) -> Array:
    """Rotation (3, 3) of the sensor's axes in the frame that best explains the forces, by Kabsch's method."""
    a, f = poses.R.transpose(0, 2, 1) @ (mount.sign * mount.acceleration), poses.wrench[:, :3]
    U, _, Vt = np.linalg.svd((a - a.mean(axis=0)).T @ (f - f.mean(axis=0)))
    return np.asarray(U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt)


def _turned_sentence(axes: Array) -> str:
    v = rotation_vector(axes)
    angle = float(np.linalg.norm(v))
    about = ", ".join(f"{x:.2f}" for x in v / angle)
    return f"the sensor's axes are rotated by {np.degrees(angle):.4g} degrees about ({about}) of the frame"


def _others(poses: SensorPoses, options: WrenchOptions, mount: Mount, own: Weighed) -> list[OtherWrench]:
    """Alternative set-ups with a far smaller force residual, best first; a wrong sign of the wrench comes first."""
    found = []
    if own.mass < 0:
        other = "tool" if options.of == "sensor" else "sensor"
        what = f"the mass would be {own.mass:.3g} kg: the wrench seems to act on the {other}"
        found.append(OtherWrench("of", what, f'set of = "{other}"', own.left, float("nan")))
    for check, what, change, other_poses, axes in _trials(poses, options):
        found += _named(check, what, change, own, _weighed_in(other_poses, options, axes, mount))
    inside = as_read(poses, options)
    elsewhere = replace(mount, up=_supported(inside, mount))
    down = -elsewhere.up / np.linalg.norm(elsewhere.up)
    told = " ".join(f"{x:.2f}" for x in down)
    what = f"gravity seems to point along ({told.replace(' ', ', ')}) of the base"
    found += _named("gravity", what, f"give --gravity with that direction ({told})", own, weighed(inside, elsewhere))
    return sorted(found, key=lambda other: (np.isfinite(other.after), other.after))


def _named(check: str, what: str, change: str, own: Weighed, other: Weighed) -> list[OtherWrench]:
    """List with the alternative set-up if its residual is far smaller than that of the given one, else empty list."""
    is_better = other.left < at.WRENCH_HALF * own.left and other.part < at.WRENCH_MENDED
    if not is_better:
        return []
    if other.mass < 0:  # a load has a positive mass, so the sign is reversed as well
        what, change = f"{what}, and the wrench to act on the other body", f"{change}, and the other value of of"
    return [OtherWrench(check, what, change, own.left, other.left)]


def _supported(poses: SensorPoses, mount: Mount) -> Array:
    """Vector (3,) opposite to gravity that best explains the forces, scaled to the magnitude of the mount's `up`."""
    R, f = poses.R.transpose(0, 2, 1), poses.wrench[:, :3]
    R, f = R - R.mean(axis=0), f - f.mean(axis=0)
    v = mount.sign * np.linalg.lstsq(R.reshape(-1, 3), f.ravel(), rcond=None)[0]
    return np.asarray(v * np.linalg.norm(mount.up) / max(float(np.linalg.norm(v)), 1e-300))


def _trials(poses: SensorPoses, options: WrenchOptions) -> Iterator[tuple[str, str, str, SensorPoses, str]]:
    axes, other = ("base", "sensor") if options.axes == "base" else ("sensor", "base")
    yield "axes", f"forces seem to be in {other} axes", f'set axes = "{other}"', poses, other
    for name in (axes, other):
        beside = "" if name == axes else f", with forces in {name} axes"
        as_written = "wxyz" if options.rotation_as == "xyzw" else "xyzw"
        for change, R in _reordered(poses.R, options.rotation_as):
            yield (
                "quaternion",
                f"quaternions seem to be written {as_written}{beside}",
                change,
                poses.oriented(R),
                name,
            )
        inverse = poses.oriented(poses.R.transpose(0, 2, 1))
        what = f"orientations seem to be those of the base in the sensor{beside}"
        yield "inverse", what, "write the inverse rotation", inverse, name


def _reordered(R: Array, written: str) -> Sequence[tuple[str, Array]]:
    """Orientations with quaternions read in the other component order, and the option to set."""
    from scipy.spatial.transform import Rotation

    if written not in ("xyzw", "wxyz"):
        return ()
    x, y, z, w = Rotation.from_matrix(R).as_quat().T
    cells, other = ((x, y, z, w), "wxyz") if written == "xyzw" else ((w, x, y, z), "xyzw")
    again = np.stack((*cells[1:], cells[0]) if other == "wxyz" else cells, axis=1)
    return ((f'set rotation_as = "{other}"', Rotation.from_quat(again).as_matrix()),)
