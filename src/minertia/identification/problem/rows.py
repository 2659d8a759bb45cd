"""Rows of the linear problem: sections of recordings in, columns and efforts out, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minertia.errors import MinertiaError, ShapeError
from minertia.identification.problem.linear import LinearModel
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
CHUNK = 4096  # samples whose columns are in memory at a time
STILL = 1e-3  # rad or m: a joint that moves less within a section stands still


class MotionLike(Protocol):
    """A prepared recording, or a section of one: joint side, samples first, all of the same length."""

    @property
    def t(self) -> Array: ...  # noqa: D102
    @property
    def q(self) -> Array: ...  # noqa: D102
    @property
    def qd(self) -> Array: ...  # noqa: D102
    @property
    def qdd(self) -> Array: ...  # noqa: D102
    @property
    def tau(self) -> Array: ...  # noqa: D102


Source: TypeAlias = MotionLike | Iterable[MotionLike]  # one recording: whole, or in sections that can be read again
Change: TypeAlias = Callable[[MotionLike], MotionLike]
Load: TypeAlias = Callable[[Array, Array, Array], Array]  # q, qd, qdd -> efforts the links ask for


class RowFilter(Protocol):
    """A linear filter along time for both sides of the equation (theory, eq. 23), after which some samples are kept.

    The section says which, in `keep` (start, stop, step).
    """

    def halo(self, section: Any) -> int:
        """Samples on either side that a result depends on."""

    def __call__(self, section: Any, columns: Array) -> Array:
        """Columns [N, k] of a section, filtered along the first axis, at the samples it keeps."""


def sections(source: Source) -> Iterator[MotionLike]:
    """The sections of a recording."""
    if hasattr(source, "tau"):
        yield cast(MotionLike, source)
    else:
        yield from source


def states(source: Source) -> int | None:
    """Samples at which a pass over a recording evaluates columns; None where only the pass can tell."""
    if hasattr(source, "tau"):
        return len(cast(MotionLike, source).t)
    if isinstance(source, Sequence):
        return sum(len(section.t) for section in source)
    return getattr(source, "states", None)


def section_rows(
    model: LinearModel,
    section: MotionLike,
    rows: RowFilter | None,
    load: Load | None,
    title: str,
    samples: int | None = None,
) -> Iterator[tuple[Array, Array]]:
    """Y and tau of a section, a chunk at a time; both sides filtered and decimated alike.

    samples: of the pass that the section is part of, see `states`.
    """
    for part, Y, tau in _chunks(model, section, rows, load, title, samples):
        if rows is None or (rows.halo(part) == 0 and part.keep == (0, len(Y), 1)):  # nothing is left to filter
            yield Y, tau
            continue
        flat = np.concatenate([Y.reshape(len(Y), -1), tau], axis=1)
        shown = np.flatnonzero(np.abs(flat).max(axis=0) > 0)  # half of the columns are zero by structure
        filtered = rows(part, np.ascontiguousarray(flat[:, shown]))
        kept = np.zeros((len(filtered), flat.shape[1]))
        kept[:, shown] = filtered
        yield kept[:, : -tau.shape[1]].reshape(-1, *Y.shape[1:]), kept[:, -tau.shape[1] :]


def section_residuals(
    model: LinearModel,
    section: MotionLike,
    rows: RowFilter | None,
    load: Load | None,
    title: str,
    beta: Array,
    samples: int | None = None,
) -> Iterator[Array]:
    """tau - Y beta of a section, filtered and decimated: as above, at a fraction of the work."""
    for part, Y, tau in _chunks(model, section, rows, load, title, samples):
        rest = tau - Y @ beta
        yield rest if rows is None else rows(part, rest)


def _chunks(
    model: LinearModel,
    section: MotionLike,
    rows: RowFilter | None,
    load: Load | None,
    title: str,
    samples: int | None,
) -> Iterator[tuple[Any, Array, Array]]:
    """Parts of a section with their columns and efforts."""
    q, qd, qdd, tau = _checked(model, section, title)
    warmth = temperatures(model, section, title)
    for j in still_joints(model, q):  # what a still joint seems to move is noise
        first, offset = 6 * model.robot.is_floating + j, 7 * model.robot.is_floating + j
        qd[:, first] = qdd[:, first] = 0.0
        q[:, offset] = q[:, offset].mean()
    samples = len(q) if samples is None else samples
    for part, cut, (x, v, a, effort) in _parts(section, (q, qd, qdd, tau), rows):
        asked = None if load is None else load(x, v, a)
        warm = None if warmth is None else warmth[cut]
        Y = model.columns(x, v, a, asked, temperature=warm, samples=samples)
        yield part, Y, effort[:, list(model.rows)]


def temperatures(model: LinearModel, section: Any, title: str = "the motion") -> Array | None:
    """Temperature [degC] of every coordinate (N, n), None where no effect of the model depends on it."""
    if not model.choice.needs("temperature"):
        return None
    found = getattr(section, "channels", {}).get("temperature")
    if found is None:
        raise MinertiaError(
            f"{title}: friction that depends on temperature needs a temperature of every joint; name its columns "
            '(temperature = "..." in [log]), or leave the effect out'
        )
    array = np.asarray(found, float)
    if array.shape != (len(section.t), model.robot.n) or not np.isfinite(array).all():
        raise ShapeError(
            f"{title}: temperature has shape {array.shape}; '{model.robot.name}' needs finite numbers in the shape "
            f"({len(section.t)}, {model.robot.n}), samples first"
        )
    return array


def _parts(
    section: Any, state: tuple[Array, ...], rows: RowFilter | None
) -> Iterator[tuple[Any, slice, tuple[Array, ...]]]:
    """Pieces of a section whose columns fit in memory, each with the samples its filter needs around it."""
    n = len(state[0])
    if rows is None:
        for start in range(0, n, CHUNK):
            cut = slice(start, start + CHUNK)
            yield section, cut, tuple(a[cut] for a in state)
        return
    first, stop, step = section.keep
    halo = rows.halo(section)
    size = max(max(CHUNK, 8 * halo) // step, 1) * step
    for start in range(first, stop, size):
        end = min(start + size, stop)
        a, b = max(start - halo, 0), min(end + halo, n)
        arrays = tuple(x[a:b] for x in state)
        named: dict[str, Any] = dict(zip(("q", "qd", "qdd", "tau"), arrays, strict=True))
        if getattr(section, "channels", {}):
            named["channels"] = {name: values[a:b] for name, values in section.channels.items()}
        part = replace(section, t=section.t[a:b], **named, keep=(start - a, end - a, step))
        yield part, slice(a, b), arrays


def still_joints(model: LinearModel, q: Array) -> list[int]:
    """Coordinates that do not move."""
    own = q[:, 7 * model.robot.is_floating :]
    return [j for j in range(model.robot.n) if np.ptp(own[:, j]) < STILL]


def _checked(model: LinearModel, section: MotionLike, title: str) -> tuple[Array, Array, Array, Array]:
    robot, samples = model.robot, len(section.t)
    result = []
    for name, width in (
        ("q", robot.n_position),
        ("qd", robot.n_velocity),
        ("qdd", robot.n_velocity),
        ("tau", robot.n_velocity),
    ):
        array = np.array(getattr(section, name), dtype=float)
        if array.shape != (samples, width):
            raise ShapeError(
                f"{title}: {name} has shape {array.shape}; '{robot.name}' needs ({samples}, {width}), samples first"
            )
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise MinertiaError(f"{title}: {name} of joint {bad[0][1] + 1} is not a number at sample {bad[0][0] + 1}")
        result.append(array)
    return result[0], result[1], result[2], result[3]


def reach_rows(robot: Robot, q: Array, qd: Array) -> Array:
    """Lowest and highest position and highest speed of each coordinate, (3, n)."""
    own, rates = q[:, 7 * robot.is_floating :], qd[:, 6 * robot.is_floating :]
    return np.stack([own.min(axis=0), own.max(axis=0), np.abs(rates).max(axis=0)])
