"""`Trajectory`: a sampled motion and its file; `ContinuousMotion`, `Family`: motions linear in coefficients."""

from __future__ import annotations

import abc
import io
import math
from array import array as packed
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minertia.excitation.options import MOST, RATES
from minertia.io.arrays import Array
from minertia.io.errors import DescriptionError, Infeasible, ShapeError
from minertia.io.files import reading, write_file
from minertia.io.notebook import Quantity, frame, joint_figure, plural, signals

FORMAT = 1
HEADER = f"# minertia trajectory format {FORMAT}"
EQUAL = 1e-6  # relative: lengths that differ by less count as equal
MAX_BYTES = 100_000_000
EQUAL_TIME = 1e-9  # relative: a last sample this little before the end of a motion is at its end


def frozen(values: ArrayLike) -> Array:
    """Read-only copy of an array."""
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Trajectory:
    """A sampled motion: t (N,) [s]; q, qd, qdd (N, n) [rad or m, per s, per s2]."""

    t: Array
    q: Array
    qd: Array
    qdd: Array

    def __post_init__(self) -> None:
        for name in ("t", "q", "qd", "qdd"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        shapes = {name: getattr(self, name).shape for name in ("q", "qd", "qdd")}
        if self.t.ndim != 1 or self.q.ndim != 2 or set(shapes.values()) != {(len(self.t), self.q.shape[1])}:
            raise ShapeError(f"a trajectory needs t (N,) and q, qd, qdd (N, n), not {self.t.shape} and {shapes}")

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def period(self) -> float:
        """Time between samples [s]."""
        return float(self.t[1] - self.t[0]) if len(self.t) > 1 else 0.0

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd at a time or at times (N,), each of shape (n,) or (N, n); linear between samples.

        The robot is at rest before the first sample and after the last.
        """
        times = np.asarray(t, float)
        k = np.clip(np.searchsorted(self.t, times) - 1, 0, len(self.t) - 2)
        s = np.clip((times - self.t[k]) / (self.t[k + 1] - self.t[k]), 0.0, 1.0)[..., None]
        passed = times - self.t[0]
        inside = ((passed >= 0.0) & (passed <= self.t[-1] - self.t[0]))[..., None]
        q, qd, qdd = ((1 - s) * x[k] + s * x[k + 1] for x in (self.q, self.qd, self.qdd))
        return q, qd * inside, qdd * inside

    def to_csv(self) -> str:
        """CSV text for a controller: a line with the format, then t,q1..,qd1..,qdd1.. with full precision."""
        names = ["t", *(f"{s}{j + 1}" for s in ("q", "qd", "qdd") for j in range(self.n))]
        rows = np.column_stack([self.t, self.q, self.qd, self.qdd]).tolist()
        lines = [HEADER, ",".join(names), *(",".join(map(repr, row)) for row in rows)]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the CSV file; force: overwrite a file that minertia did not write, or that was edited since."""
        write_file(path, self.to_csv(), force=force)

    def to_frame(self) -> Any:
        """The samples as a pandas DataFrame: q1.., qd1.., qdd1.. over t [s]."""
        return frame({"t": self.t, **signals(q=self.q, qd=self.qd, qdd=self.qdd)}, "t")

    def plot(self) -> Any:
        """A matplotlib Figure of positions, velocities and accelerations, a row for each joint."""
        units = {"position q": "rad or m", "velocity qd": "rad/s or m/s", "acceleration qdd": "rad/s2 or m/s2"}
        values = zip(units, (self.q, self.qd, self.qdd), strict=True)
        shown = [Quantity(name, array, [units[name]] * self.n) for name, array in values]
        return joint_figure("trajectory", self.t, [f"joint {j + 1}" for j in range(self.n)], shown)

    def __repr__(self) -> str:
        last = float(self.t[-1] - self.t[0]) if len(self.t) else 0.0
        return f"<Trajectory: {plural(len(self.t), 'sample')} of {plural(self.n, 'joint')}, {last:.4g} s>"

    @staticmethod
    def load(path: str | Path) -> Trajectory:
        """Read a file written by `save`."""
        reading(path)
        try:
            with open(path, "rb") as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise DescriptionError(
                    f"the trajectory file is larger than the limit of {MAX_BYTES // 1000000} MB", file=path
                )
            lines = io.StringIO(data.decode("utf-8-sig"), newline=None)
        except (OSError, UnicodeDecodeError) as err:
            raise DescriptionError(f"the file cannot be read ({err.__class__.__name__})", file=path) from None
        first, names = lines.readline().rstrip("\n"), lines.readline().rstrip("\n")
        if not names or not first.startswith("# minertia trajectory format"):
            raise DescriptionError("this is not a trajectory file; its first line must be: " + HEADER, file=path)
        if first.split(";")[0] != HEADER:  # what follows it is the seal
            raise DescriptionError(
                f"only format {FORMAT} of trajectory files can be read; write the file again with this version",
                file=path,
                line=1,
            )
        return _from_table(names.split(","), lines, path)


def _from_table(names: Sequence[str], lines: Iterable[str], path: str | Path) -> Trajectory:
    n = (len(names) - 1) // 3
    expected = ["t", *(f"{s}{j + 1}" for s in ("q", "qd", "qdd") for j in range(n))]
    if list(names) != expected or n == 0:
        raise DescriptionError("the columns must be t,q1..,qd1..,qdd1..", file=path, line=2)
    rows = packed("d")  # lists of numbers would take five times as much
    for number, line in enumerate(lines, start=3):
        try:
            row = [float(cell) for cell in line.split(",", len(names))]
        except ValueError:
            raise DescriptionError("a cell is not a number", file=path, line=number) from None
        if len(row) != len(names) or not np.all(np.isfinite(row)):
            raise DescriptionError(f"a row must have {len(names)} finite numbers", file=path, line=number)
        rows.extend(row)
    if not rows:
        raise DescriptionError("the trajectory has no rows", file=path)
    table = np.frombuffer(rows).reshape(-1, len(names))
    return Trajectory(table[:, 0], table[:, 1 : 1 + n], table[:, 1 + n : 1 + 2 * n], table[:, 1 + 2 * n :])


def null_basis(rows: Array) -> Array:
    """Orthonormal null-space basis (size, free) of rows (m, size), the same on every machine.

    The basis of a singular value decomposition depends on the processor's rounding, and so does the motion of
    given free coefficients.  Here unit vectors are projected one by one: always the longest remaining one, the
    first of equal ones.
    """
    size = rows.shape[1]
    if not len(rows):
        return np.eye(size)
    left = np.eye(size) - np.linalg.pinv(rows) @ rows
    basis = np.empty((size, size - int(np.linalg.matrix_rank(rows))))
    for k in range(basis.shape[1]):
        lengths = np.linalg.norm(left, axis=0)
        first = int(np.argmax(lengths > (1 - EQUAL) * lengths.max()))
        basis[:, k] = left[:, first] / lengths[first]
        left -= np.outer(basis[:, k], basis[:, k] @ left)
    return basis


@dataclass(frozen=True)
class RecordedMotions:
    """Earlier recordings, whose information the new trajectory complements.

    motions: recorded motions; each second counts as much as a second of the new trajectory.  information (p, p):
    information matrix of the base parameters, or its R factor, from rows divided by their noise.
    """

    motions: Sequence[Trajectory] = ()
    information: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "motions", tuple(self.motions))


class ContinuousMotion(abc.ABC):
    """Motion defined at every time between 0 and its duration."""

    duration: float

    @abc.abstractmethod
    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd at times (N,), each of shape (N, n)."""

    @abc.abstractmethod
    def jerk(self, t: ArrayLike) -> Array:
        """Third derivatives at times (N,), shape (N, n) [rad/s3 or m/s3]."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {plural(self.at(0.0)[0].shape[1], 'joint')}, {self.duration:g} s>"

    def sample(self, count: int) -> Trajectory:
        """Sample the motion at `count` equally spaced times, both ends included."""
        t = np.linspace(0.0, self.duration, count)
        return Trajectory(t, *self.at(t))

    def at_rate(self, rate: float) -> Trajectory:
        """Sample the motion at `rate` [Hz], up to the first sample at or after its end, where it stays."""
        if not (math.isfinite(rate) and RATES[0] <= rate <= RATES[1]):
            raise Infeasible(
                f"trajectories are sampled at {RATES[0]:g} to {RATES[1]:g} Hz, not at {rate:g} Hz; "
                "give a rate in this range"
            )
        count = math.ceil(self.duration * rate * (1 - EQUAL_TIME))
        if count > MOST:
            raise Infeasible(f"{self.duration:g} s at {rate:g} Hz are more than {MOST} samples; use a lower rate")
        t = np.arange(count + 1) / rate
        return Trajectory(t, *self.at(np.minimum(t, self.duration)))


class Family(abc.ABC):
    """Motions that are linear in their coefficients, with the same basis functions for every joint.

    Only combinations that meet the end conditions are used: coefficients = free vector times `null`, so that every
    candidate of a search is exactly at rest at both ends (and starts at `start`, if given).
    """

    duration: float
    rest: bool
    start: tuple[float, ...] | None

    @property
    @abc.abstractmethod
    def least_samples(self) -> int:
        """Minimum number of samples that resolves the fastest basis function."""

    @abc.abstractmethod
    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """Basis functions and their two derivatives at times t, each of shape (N, functions)."""

    @abc.abstractmethod
    def third(self, t: Array) -> Array:
        """Third derivatives of the basis functions at times t, shape (N, functions)."""

    @abc.abstractmethod
    def motion(self, offset: Array, coefficients: Array) -> ContinuousMotion:
        """The motion offset_j + functions . coefficients_j; coefficients (n, functions)."""

    @property
    def null_rows(self) -> Array:
        """Homogeneous end conditions (m, functions) on the coefficients of a joint."""
        ends = self.raw(np.array([0.0, self.duration]))
        rows = [ends[1] / np.abs(ends[1]).max(), ends[2] / np.abs(ends[2]).max()] if self.rest else []
        rows += [ends[0][:1]] if self.start is not None else []
        return np.vstack(rows) if rows else np.zeros((0, ends[0].shape[1]))

    @cached_property
    def null(self) -> Array:
        """Orthonormal combinations (functions, free) that meet the end conditions."""
        return null_basis(self.null_rows)

    @property
    def free(self) -> int:
        """Number of free coefficients of a joint."""
        return int(self.null.shape[1])

    def matrices(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration at times t per free coefficient, each (N, free)."""
        position, velocity, acceleration = (M @ self.null for M in self.raw(t))
        return position, velocity, acceleration

    def jerks(self, t: Array) -> Array:
        """Jerk at times t per free coefficient, (N, free)."""
        return self.third(t) @ self.null

    def from_free(self, offset: Array, x: Array) -> ContinuousMotion:
        """Motion with the free coefficients x (n, free)."""
        return self.motion(offset, x @ self.null.T)
