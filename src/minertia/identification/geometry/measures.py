"""Measurement models: predicted readings of each kind from the tool pose, with their derivatives.

Every kind maps tool poses (N, 4, 4) and its own unknowns (positions of targets on the tool, of fixed
points, of planes) to `MeasureRows`: measured less predicted values, with derivatives.  A twist of the
tool is the velocity of its origin, then its angular velocity, in the axes of the measurement frame.  Each
kind is one class and one row of `MEASURED` in `campaigns/options.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.options import MEASURED, MeasureColumns
from minertia.identification.geometry.chain import Array, rotation_vector, skew
from minertia.identification.geometry.hidden import ROTATIONS, TRANSLATIONS, Twist
from minertia.io.errors import InputError

Indices = NDArray[np.intp]
UNITS = ("m", "rad", "px", "1")
FIXED = 4  # fixed points or marks of exact readings
CAMERA = (600.0, 600.0, 320.0, 240.0)  # pixels: that of exact readings
CLOSE = 1e-10  # m: a distance that is none
SAME = 1e-6  # m: two positions that are one
SHOWN = {"m": ("mm", 1e3), "rad": ("mrad", 1e3), "px": ("pixels", 1.0), "1": ("mrad", 1e3)}  # as sizes are told


def told(size: float, unit: str) -> str:
    """Format an error magnitude in its customary unit."""
    name, factor = SHOWN[unit]
    return f"{factor * size:.3g} {name}"


class MeasureRows(NamedTuple):
    """M scalar measurements at some postures.

    residual (M,): measured less predicted.  posture (M,): index of the posture of each.  unit (M,): index of
    its unit. by_tool (M, 6): derivative of the prediction with respect to a twist of the tool.  by_own (M,
    K): derivative with respect to the unknowns of the measurement.  other, by_other: index of a second
    posture that a row depends on, and the derivative with respect to its tool twist; else None.
    """

    residual: Array
    posture: Indices
    unit: Indices
    by_tool: Array
    by_own: Array
    other: Indices | None = None
    by_other: Array | None = None


class ExactReadings(NamedTuple):
    """Readings without noise, and the values of each measurement's unknowns."""

    measures: tuple[ToolReadings, ...]
    own: list[Array]


@dataclass(frozen=True)
class ToolReadings(ABC):
    """Readings of one kind: `values` (M, width) taken at the postures with index `posture` (M,).

    tip: position of the measured point in tip axes [m], if known.
    """

    posture: Indices
    values: Array
    name: str = "1"

    width: ClassVar[int] = 3
    has_point: ClassVar[bool] = True  # the place of a point on the tool is unknown
    tool: ClassVar[tuple[Twist, ...]] = ()  # motions of the tool that change nothing, at the nominal point
    world: ClassVar[tuple[Twist, ...]] = ()  # the same of the frame of measurement
    has_base: ClassVar[bool] = True  # where the root is in the frame of measurement can be seen
    loses_scale: ClassVar[bool] = False  # all lengths times one factor change nothing, where no joint slides
    fixed: ClassVar[int] = 0  # unknowns of fixed points or marks of exact readings
    ahead: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.0)  # m: where a robot stands that is measured exactly

    @classmethod
    @abstractmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free readings at tool poses (N, 4, 4) and their unknowns; the point is the tip's origin.

        count: number of points on the tool, for kinds that can have several.
        """

    @classmethod
    def read(cls, m: MeasureColumns, posture: Indices, values: Array, number: Indices) -> Self:
        """Readings of a file: values (M, width) at postures; number (M,): fixed point, plane or mark of each."""
        return cls(posture, values, m.name)

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the unknowns of this measurement."""
        return tuple(f"{axis}_{self.name}" for axis in "XYZ") if self.has_point else ()

    @property
    def unit(self) -> str:
        """Unit of the rows."""
        return "m"

    @abstractmethod
    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Residuals and derivatives at the tool poses (N, 4, 4), for the values `own` of the unknowns."""

    def misses(self, tool: Array, own: Array) -> tuple[Indices, Array]:
        """Posture index (M,) and measured less predicted values (M, components) of each reading.

        Values are in the main unit of the measurement.
        """
        found = self.rows(tool, own)
        main = found.unit == UNITS.index(self.unit)
        return self.posture, found.residual[main].reshape(len(self.posture), self.components)

    @property
    def components(self) -> int:
        """Number of components of an error."""
        return min(self.width, 3)

    def unknown(self, known: str) -> InputError:
        """Error for a target that the model does not contain; known: names of its targets."""
        return InputError(f"the model has no target '{self.name}'; it has {known}; name the targets as in its campaign")

    def take(self, chosen: Indices, number_of: Indices) -> ToolReadings:
        """Select the readings at some postures and renumber them: number_of[posture] is the new index."""
        inside = np.isin(self.posture, chosen)
        return replace(self, posture=number_of[self.posture[inside]], values=self.values[inside], **self._taken(inside))  # type: ignore[arg-type]

    def _taken(self, inside: NDArray[np.bool_]) -> dict[str, object]:
        return {}


def _units(count: int, unit: str) -> Indices:
    return np.full(count, UNITS.index(unit), np.intp)


def _place(tool: Array, p: Array) -> tuple[Array, Array]:
    """Position of a tool point in the measurement frame (N, 3), and its derivative (N, 3, 6).

    The derivative is taken with respect to a twist of the tool.
    """
    arm = tool[:, :3, :3] @ p
    by_tool = np.concatenate([np.broadcast_to(np.eye(3), (len(tool), 3, 3)), -skew(arm)], axis=2)
    return tool[:, :3, 3] + arm, by_tool


def _flat(residual: Array, posture: Indices, unit: str, by_tool: Array, by_own: Array) -> MeasureRows:
    """Flatten (M, k) residuals, k scalars per reading, to rows."""
    M, k = residual.shape
    return MeasureRows(
        residual.ravel(),
        np.repeat(posture, k),
        _units(M * k, unit),
        by_tool.reshape(M * k, 6),
        by_own.reshape(M * k, -1),
    )


def _joined(a: MeasureRows, b: MeasureRows) -> MeasureRows:
    """Concatenate two sets of rows without second postures."""
    return MeasureRows(*(np.concatenate([x, y]) for x, y in zip(a[:5], b[:5], strict=True)))


@dataclass(frozen=True)
class PointMeasure(ToolReadings):
    """Position of a point of the tool (laser tracker, motion capture): values (M, 3) [m]."""

    tool: ClassVar[tuple[Twist, ...]] = ROTATIONS

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free positions of `count` points on the tool, whose mean is the tip's origin."""
        drawn = rng.normal(scale=0.1, size=(count, 3))
        places = list(drawn - drawn.mean(axis=0))  # the tip is their mean, which a fit takes it to be (`anchored`)
        x = [tool[:, :3, 3] + tool[:, :3, :3] @ p for p in places]
        return ExactReadings(tuple(cls(np.arange(len(tool)), v, str(k)) for k, v in enumerate(x, 1)), places)

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Measured less predicted positions."""
        at = tool[self.posture]
        x, by_tool = _place(at, own)
        return _flat(self.values - x, self.posture, "m", by_tool, at[:, :3, :3])


@dataclass(frozen=True)
class PoseMeasure(ToolReadings):
    """Pose of the tool: values (M, 12), position [m] and rotation matrix by rows."""

    width: ClassVar[int] = 12
    has_point: ClassVar[bool] = False

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free poses of the tip."""
        values = np.concatenate([tool[:, :3, 3], tool[:, :3, :3].reshape(-1, 9)], axis=1)
        return ExactReadings((cls(np.arange(len(tool)), values),), [np.zeros(0)])

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Position residuals, then rotation vectors from predicted to measured."""
        at = tool[self.posture]
        R = self.values[:, 3:].reshape(-1, 3, 3)
        turned = rotation_vector(R @ np.swapaxes(at[:, :3, :3], 1, 2))
        M = len(at)
        residual = np.concatenate([self.values[:, :3] - at[:, :3, 3], turned], axis=1)
        found = _flat(residual, self.posture, "m", np.broadcast_to(np.eye(6), (M, 6, 6)), np.zeros((M, 6, 0)))
        unit = np.tile(np.repeat([UNITS.index("m"), UNITS.index("rad")], 3), M)
        return found._replace(unit=unit)


@dataclass(frozen=True)
class OrientationMeasure(ToolReadings):
    """Orientation of the tool: values (M, 9), rotation matrix by rows."""

    width: ClassVar[int] = 9
    has_point: ClassVar[bool] = False
    tool: ClassVar[tuple[Twist, ...]] = TRANSLATIONS

    @property
    def unit(self) -> str:
        """Unit of the rows: rad."""
        return "rad"

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free orientations of the tip."""
        return ExactReadings((cls(np.arange(len(tool)), tool[:, :3, :3].reshape(-1, 9)),), [np.zeros(0)])

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Rotation vectors from predicted to measured."""
        at = tool[self.posture]
        turned = rotation_vector(self.values.reshape(-1, 3, 3) @ np.swapaxes(at[:, :3, :3], 1, 2))
        by_tool = np.concatenate([np.zeros((3, 3)), np.eye(3)], axis=1)
        M = len(at)
        return _flat(turned, self.posture, "rad", np.broadcast_to(by_tool, (M, 3, 6)), np.zeros((M, 3, 0)))


@dataclass(frozen=True)
class DirectionMeasure(ToolReadings):
    """Direction of gravity in tool axes (inclinometer): values (M, 3), unit vectors; down is -z of the root."""

    has_point: ClassVar[bool] = False
    tool: ClassVar[tuple[Twist, ...]] = TRANSLATIONS
    world: ClassVar[tuple[Twist, ...]] = (*TRANSLATIONS, ROTATIONS[2])

    @property
    def unit(self) -> str:
        """Unit of the rows: components of unit vectors."""
        return "1"

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free readings: the downward direction in the tip's axes."""
        return ExactReadings((cls(np.arange(len(tool)), -tool[:, 2, :3]),), [np.zeros(0)])

    @classmethod
    def read(cls, m: MeasureColumns, posture: Indices, values: Array, number: Indices) -> Self:
        """Readings of a file: the logged vectors, normalised to unit length."""
        return cls(posture, values / np.linalg.norm(values, axis=1, keepdims=True), m.name)

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Measured less predicted directions."""
        at = tool[self.posture]
        down = np.array([0.0, 0.0, -1.0])
        back = np.swapaxes(at[:, :3, :3], 1, 2)
        by_tool = np.concatenate([np.zeros((len(at), 3, 3)), back @ skew(down)], axis=2)
        return _flat(self.values - back @ down, self.posture, "1", by_tool, np.zeros((len(at), 3, 0)))


@dataclass(frozen=True)
class _OfPoint(ToolReadings):
    """Base class of kinds that depend on the position of a tool point, with derivatives by the chain rule."""

    tool: ClassVar[tuple[Twist, ...]] = ROTATIONS
    has_base: ClassVar[bool] = False

    def _points(self, tool: Array, own: Array) -> tuple[Array, Array, Array]:
        """Position of the point, and its derivatives with respect to the tool's twist and to its coordinates.

        The coordinates are those of the point in tool axes.
        """
        x, by_tool = _place(tool, own[:3])
        return x, by_tool, tool[:, :3, :3]


def _through(slope: Array, by: Array) -> Array:
    """Derivatives (M, K) of a scalar by the chain rule; slope (M, 3): its gradient with respect to a position."""
    return np.asarray(np.einsum("mi,mik->mk", slope, by))


@dataclass(frozen=True)
class DistanceMeasure(_OfPoint):
    """Distance from a tool point to one of L fixed points of unknown position: values (M, 1) [m]; anchor (M,)."""

    anchor: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    width: ClassVar[int] = 1
    fixed: ClassVar[int] = 3 * FIXED

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the unknowns: the point on the tool, then the fixed points."""
        fixed = tuple(
            f"{axis}_{self.name}.{k + 1}" for k in range(int(self.anchor.max(initial=-1)) + 1) for axis in "XYZ"
        )
        return (*super().own, *fixed)

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free distances to `FIXED` random points, one of which is measured at each posture."""
        fixed, number = rng.normal(scale=2.0, size=(FIXED, 3)), rng.integers(0, FIXED, len(tool))
        d = np.linalg.norm(tool[:, :3, 3] - fixed[number], axis=1)[:, None]
        return ExactReadings(
            (cls(np.arange(len(tool)), d, "1", number),), [np.concatenate([np.zeros(3), fixed.ravel()])]
        )

    @classmethod
    def read(cls, m: MeasureColumns, posture: Indices, values: Array, number: Indices) -> Self:
        """Readings of a file: distances, with the index of the fixed point of each."""
        return cls(posture, values, m.name, number)

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Measured less predicted distances."""
        x, by_tool, by_place = self._points(tool[self.posture], own)
        fixed = own[3:].reshape(-1, 3)
        way = x - fixed[self.anchor]
        d = np.linalg.norm(way, axis=1)
        slope = way / d[:, None]
        by_own = np.zeros((len(d), len(own)))
        by_own[:, :3] = _through(slope, by_place)
        for axis in range(3):
            by_own[np.arange(len(d)), 3 + 3 * self.anchor + axis] = -slope[:, axis]
        return MeasureRows(self.values[:, 0] - d, self.posture, _units(len(d), "m"), _through(slope, by_tool), by_own)

    def _taken(self, inside: NDArray[np.bool_]) -> dict[str, object]:
        return {"anchor": self.anchor[inside]}


@dataclass(frozen=True)
class PlaneMeasure(_OfPoint):
    """Height of a tool point above a plane of unknown position: values (M, 1) [m], zero at contact.

    Unknowns besides the point: the normal of the plane (three components, normalised by a constraint row) and its
    distance from the root [m].
    """

    plane: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    width: ClassVar[int] = 1

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the unknowns: the point on the tool, then normal and distance of each plane."""
        count = int(self.plane.max(initial=-1)) + 1
        return (
            *super().own,
            *(f"{axis}_{self.name}.{k + 1}" for k in range(count) for axis in ("NX", "NY", "NZ", "D")),
        )

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free heights above one random plane."""
        normal = rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        height = (tool[:, :3, 3] @ normal - 0.1)[:, None]
        made = cls(np.arange(len(tool)), height, "1", np.zeros(len(tool), np.intp))
        return ExactReadings((made,), [np.array([0.0, 0.0, 0.0, *normal, 0.1])])

    @classmethod
    def read(cls, m: MeasureColumns, posture: Indices, values: Array, number: Indices) -> Self:
        """Readings of a file: heights, with the index of the plane of each."""
        return cls(posture, values, m.name, number)

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Measured less predicted heights."""
        x, by_tool, by_place = self._points(tool[self.posture], own)
        planes = own[3:].reshape(-1, 4)[self.plane]
        length = np.linalg.norm(planes[:, :3], axis=1)
        normal = planes[:, :3] / length[:, None]
        height = np.einsum("mi,mi->m", normal, x) - planes[:, 3]
        by_own = np.zeros((len(height), len(own)))
        by_own[:, :3] = _through(normal, by_place)
        by_normal = (x - np.einsum("mi,mi->m", normal, x)[:, None] * normal) / length[:, None]
        rows = np.arange(len(height))
        for axis in range(3):
            by_own[rows, 3 + 4 * self.plane + axis] = by_normal[:, axis]
        by_own[rows, 3 + 4 * self.plane + 3] = -1
        return MeasureRows(
            self.values[:, 0] - height, self.posture, _units(len(rows), "m"), _through(normal, by_tool), by_own
        )

    def _taken(self, inside: NDArray[np.bool_]) -> dict[str, object]:
        return {"plane": self.plane[inside]}


@dataclass(frozen=True)
class SamePointMeasure(_OfPoint):
    """A tool point is at the same position in all postures of a group (sockets, touched corners): group (M,).

    The positions of the groups are unknown; values are zero and unused.  pairs (K, 2): groups whose positions are
    known to be `apart` (K,) [m] from one another, which fixes the scale.
    """

    group: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    pairs: Indices = field(default_factory=lambda: np.zeros((0, 2), np.intp))
    apart: Array = field(default_factory=lambda: np.zeros(0))
    loses_scale: ClassVar[bool] = True

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the unknowns: the point on the tool, then the position of each group."""
        count = int(self.group.max(initial=-1)) + 1
        return (*super().own, *(f"{axis}_{self.name}.{k + 1}" for k in range(count) for axis in "XYZ"))

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free readings: postures with the same tip position form a group."""
        group, at = same_places(tool[:, :3, 3]), tool[:, :3, 3]
        places = np.stack([at[group == g].mean(axis=0) for g in range(group.max() + 1)])
        made = cls(np.arange(len(tool)), np.zeros((len(tool), 3)), "1", group)
        return ExactReadings((made,), [np.concatenate([np.zeros(3), places.ravel()])])

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Position of the group less the predicted position of the tool point; known distances between groups."""
        x, by_tool, by_place = self._points(tool[self.posture], own)
        places = own[3:].reshape(-1, 3)
        M = len(x)
        by_own = np.zeros((M, 3, len(own)))
        by_own[:, :, :3] = by_place
        for axis in range(3):
            by_own[np.arange(M), axis, 3 + 3 * self.group + axis] = -1
        return _joined(_flat(places[self.group] - x, self.posture, "m", by_tool, by_own), self._distances(places))

    def _distances(self, places: Array) -> MeasureRows:
        """Known less predicted distances between groups, as rows of the first posture of the first group."""
        way = places[self.pairs[:, 0]] - places[self.pairs[:, 1]]
        d = np.linalg.norm(way, axis=1)
        slope = way / np.maximum(d, 1e-12)[:, None]
        K = len(d)
        by_own = np.zeros((K, 3 + places.size))
        for axis in range(3):
            by_own[np.arange(K), 3 + 3 * self.pairs[:, 0] + axis] = slope[:, axis]
            by_own[np.arange(K), 3 + 3 * self.pairs[:, 1] + axis] = -slope[:, axis]
        first = np.array([int(self.posture[np.argmax(self.group == g)]) for g in self.pairs[:, 0]], np.intp)
        return MeasureRows(self.apart - d, first, _units(K, "m"), np.zeros((K, 6)), by_own)

    def misses(self, tool: Array, own: Array) -> tuple[Indices, Array]:
        """Posture index of each reading, and the vector from its point to the mean of its group.

        Groups that were not fitted are included.
        """
        x, _, _ = self._points(tool[self.posture], own)
        count = np.bincount(self.group)
        mean = np.stack([np.bincount(self.group, x[:, k]) for k in range(3)], axis=1) / np.maximum(count, 1)[:, None]
        return self.posture, mean[self.group] - x

    def take(self, chosen: Indices, number_of: Indices) -> ToolReadings:
        """Select readings; groups are renumbered, and known distances are kept if both groups remain."""
        inside = np.isin(self.posture, chosen)
        left, group = np.unique(self.group[inside], return_inverse=True)
        both = np.isin(self.pairs, left).all(axis=1)
        return SamePointMeasure(
            number_of[self.posture[inside]],
            self.values[inside],
            self.name,
            group.astype(np.intp),
            np.searchsorted(left, self.pairs[both]),
            self.apart[both],
        )


@dataclass(frozen=True)
class DistanceBetweenMeasure(_OfPoint):
    """Distance between the positions of one tool point at two postures: values (M, 1) [m]; second (M,)."""

    second: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    width: ClassVar[int] = 1

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Noise-free distances between the tip positions of the first and of the second half of the postures."""
        half = len(tool) // 2
        first, second = np.arange(half), np.arange(half, 2 * half)
        d = np.linalg.norm(tool[first, :3, 3] - tool[second, :3, 3], axis=1)[:, None]
        first, second, d = (x[d[:, 0] > CLOSE] for x in (first, second, d))
        return ExactReadings((cls(first, d, "1", second),), [np.zeros(3)])

    @classmethod
    def read(cls, m: MeasureColumns, posture: Indices, values: Array, number: Indices) -> Self:
        """Readings of a file: one distance for each pair of consecutive rows."""
        return cls(posture[:-1:2], values[:-1:2], m.name, posture[1::2])

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Measured less predicted distances."""
        x, by_x, place_x = self._points(tool[self.posture], own)
        y, by_y, place_y = self._points(tool[self.second], own)
        way = x - y
        d = np.linalg.norm(way, axis=1)
        slope = way / d[:, None]
        by_own = _through(slope, place_x - place_y)
        return MeasureRows(
            self.values[:, 0] - d,
            self.posture,
            _units(len(d), "m"),
            _through(slope, by_x),
            by_own,
            self.second,
            -_through(slope, by_y),
        )

    def take(self, chosen: Indices, number_of: Indices) -> ToolReadings:
        """Select the pairs of which both postures are chosen."""
        inside = np.isin(self.posture, chosen) & np.isin(self.second, chosen)
        return DistanceBetweenMeasure(
            number_of[self.posture[inside]], self.values[inside], self.name, number_of[self.second[inside]]
        )


@dataclass(frozen=True)
class PixelMeasure(ToolReadings):
    """Image of a tool point in a fixed camera: values (M, 2) [pixels]; camera (fx, fy, cx, cy) [pixels].

    The measurement frame is the camera's: x right, y down, z forward.
    """

    camera: tuple[float, float, float, float] = (1.0, 1.0, 0.0, 0.0)
    width: ClassVar[int] = 2
    tool: ClassVar[tuple[Twist, ...]] = ROTATIONS
    loses_scale: ClassVar[bool] = True

    ahead: ClassVar[tuple[float, float, float]] = (0.3, 0.2, 5.0)

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Readings of zero pixels in a default camera: only their derivatives are used.

        The derivatives do not depend on the readings.
        """
        return ExactReadings((cls(np.arange(len(tool)), np.zeros((len(tool), 2)), "1", CAMERA),), [np.zeros(3)])

    @classmethod
    def read(cls, m: MeasureColumns, posture: Indices, values: Array, number: Indices) -> Self:
        """Readings of a file: pixels in one camera."""
        return cls(posture, values, m.name, camera_of(m))

    @property
    def unit(self) -> str:
        """Unit of the rows: pixels."""
        return "px"

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Measured less predicted pixels."""
        at = tool[self.posture]
        x, by_tool = _place(at, own)
        seen, slope = projected(self.camera, x)
        return _flat(self.values - seen, self.posture, "px", slope @ by_tool, slope @ at[:, :3, :3])


@dataclass(frozen=True)
class PixelToolMeasure(ToolReadings):
    """Image of L fixed points of unknown position in a camera on the tool: values (M, 2) [pixels].

    mark (M,): point index.  The tool's axes are the camera's: x right, y down, z forward.
    """

    camera: tuple[float, float, float, float] = (1.0, 1.0, 0.0, 0.0)
    mark: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    width: ClassVar[int] = 2
    has_point: ClassVar[bool] = False
    has_base: ClassVar[bool] = False
    loses_scale: ClassVar[bool] = True

    fixed: ClassVar[int] = 3 * FIXED

    @classmethod
    def exact(cls, tool: Array, rng: np.random.Generator, count: int = 1) -> ExactReadings:
        """Readings of zero pixels of `FIXED` random marks: only their derivatives are used.

        The derivatives do not depend on the readings.
        """
        marks, number = rng.normal(scale=2.0, size=(FIXED, 3)), rng.integers(0, FIXED, len(tool))
        made = cls(np.arange(len(tool)), np.zeros((len(tool), 2)), "1", CAMERA, number)
        return ExactReadings((made,), [marks.ravel()])

    @classmethod
    def read(cls, m: MeasureColumns, posture: Indices, values: Array, number: Indices) -> Self:
        """Readings of a file: pixels in one camera, with the index of the mark of each."""
        return cls(posture, values, m.name, camera_of(m), number)

    @property
    def unit(self) -> str:
        """Unit of the rows: pixels."""
        return "px"

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the unknowns: positions of the marks."""
        return tuple(f"{axis}_{self.name}.{k + 1}" for k in range(int(self.mark.max(initial=-1)) + 1) for axis in "XYZ")

    def rows(self, tool: Array, own: Array) -> MeasureRows:
        """Measured less predicted pixels."""
        at = tool[self.posture]
        back = np.swapaxes(at[:, :3, :3], 1, 2)
        way = own.reshape(-1, 3)[self.mark] - at[:, :3, 3]
        seen, slope = projected(self.camera, np.einsum("mij,mj->mi", back, way))
        through = slope @ back
        by_tool = np.concatenate([-through, through @ skew(way)], axis=2)
        M = len(at)
        by_own = np.zeros((M, 2, len(own)))
        for axis in range(3):
            by_own[np.arange(M), :, 3 * self.mark + axis] = through[:, :, axis]
        return _flat(self.values - seen, self.posture, "px", by_tool, by_own)

    def _taken(self, inside: NDArray[np.bool_]) -> dict[str, object]:
        return {"mark": self.mark[inside]}


def projected(camera: tuple[float, float, float, float], x: Array) -> tuple[Array, Array]:
    """Pinhole projection: pixels (M, 2) of points in camera axes (M, 3), and their derivatives (M, 2, 3)."""
    fx, fy, cx, cy = camera
    depth = x[:, 2]
    seen = np.stack([fx * x[:, 0] / depth + cx, fy * x[:, 1] / depth + cy], axis=1)
    slope = np.zeros((len(x), 2, 3))
    slope[:, 0, 0], slope[:, 1, 1] = fx / depth, fy / depth
    slope[:, 0, 2], slope[:, 1, 2] = -fx * x[:, 0] / depth**2, -fy * x[:, 1] / depth**2
    return seen, slope


def camera_of(m: MeasureColumns) -> tuple[float, float, float, float]:
    """Camera intrinsics fx, fy, cx, cy [pixels] of a measurement with a camera."""
    assert m.camera is not None  # readers refuse files without
    fx, fy, cx, cy = m.camera
    return fx, fy, cx, cy


def same_places(x: Array) -> Indices:
    """Group number of each position (N, 3): positions within a micrometre share one."""
    known: list[Array] = []
    found = []
    for p in x:
        near = [k for k, other in enumerate(known) if np.linalg.norm(p - other) < SAME]
        if not near:
            known.append(p)
        found.append(near[0] if near else len(known) - 1)
    return np.array(found, np.intp)


KINDS: dict[str, type[ToolReadings]] = {kind: globals()[row.readings] for kind, row in MEASURED.items()}
