"""`Recording`: a measured motion on the joint side, as read-only arrays with samples first; blocks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.identification.logs.stamps import bursts_of
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError, ShapeError, expected
from minertia.io.notebook import Quantity, clipped, frame, html_table, joint_figure, plural, signals

T = TypeVar("T")
MATRICES = ("q", "qd", "qdd", "tau")
UNITS = {"q": "rad or m", "qd": "rad/s or m/s", "qdd": "rad/s2 or m/s2"}
SI = "Nm"  # effort unit of joint torques and forces: N m for revolute, N for prismatic joints


def frozen_array(values: ArrayLike) -> Array:
    """Read-only float array; copied unless already read-only, contiguous and at least half of its base array."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(
            f"samples must be an array of numbers with rows of equal length, not {values.__class__.__name__}"
        ) from None
    *_, whole = _behind(array)
    is_most = array.flags.c_contiguous and 2 * array.nbytes >= whole.nbytes  # a small part must not keep the rest alive
    if not is_most or any(part.flags.writeable for part in _behind(array)):
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def freeze(array: Array) -> None:
    """Make an array and its base arrays read-only."""
    for part in _behind(array):
        part.flags.writeable = False


def _behind(array: Array) -> Iterator[Array]:
    """Iterate over an array and its base arrays."""
    found: object = array
    while isinstance(found, np.ndarray):
        yield found
        found = found.base
    if found is not None:  # memory of something else, which may change
        yield np.empty(0)


@dataclass(frozen=True)
class Recording:
    """Measured motion of a robot's coordinates.

    t: (N,) [s], strictly increasing only after `repaired`.  q, qd, qdd: (N, n) [rad or m, and per s, per s2].
    tau: (N, n) effort on the joint side; in `effort_unit`: "Nm" for N m (N for prismatic joints), or the unit
    of the log ("A", "V", "permille") where no drive gains are known. to_log: (n, n), log effort = to_log @
    tau, so that residuals can be given in the log's unit `log_unit`. columns: channel ("q1", "tau3") -> name
    of its column in the log.  first_row: row number of sample 0 in the log, from 1.  notes: assumptions of
    the reader and repairs.  torn: rows of the log that were dropped. channels: other signals of every
    coordinate, name -> (N, n): "temperature" [degC], "command" and "command_velocity" [as q and qd], "motor"
    [as q]: motor positions from a second encoder. marks: signals with one value per sample, name -> (N,):
    "program" (a number), "load" [kg].  sensed: (N, 6 per sensor) forces [N] and moments [N m] that force/torque
    sensors exert on what is beyond them, in their axes.  undelayed: delay [s] that was stated
    and taken from the efforts, so that no other one is; None if none was stated.
    """

    t: Array
    q: Array
    tau: Array | None = None
    qd: Array | None = None
    qdd: Array | None = None
    joints: tuple[str, ...] = ()
    effort_unit: str = SI
    log_unit: str = SI
    to_log: Array | None = None
    source: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    first_row: int = 1
    notes: tuple[str, ...] = ()
    channels: Mapping[str, Array] = field(default_factory=dict)
    torn: tuple[int, ...] = ()
    marks: Mapping[str, Array] = field(default_factory=dict)
    sensed: Array | None = None
    undelayed: float | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "t", frozen_array(self.t))
        if self.t.ndim != 1:
            raise ShapeError(f"t has shape {self.t.shape}; a recording needs one time for each sample")
        if self.q is None:
            raise ShapeError("a recording needs positions q: one row for each time, one column for each joint")
        for name in MATRICES:
            values = getattr(self, name)
            if values is not None:
                put(self, name, frozen_array(values))
                self._check_shape(name, getattr(self, name))
        self._freeze_sensed()
        channels = {name: frozen_array(values) for name, values in self.channels.items()}
        for name, values in channels.items():
            self._check_shape(name, values)
        put(self, "channels", MappingProxyType(channels))
        marks = {name: frozen_array(values) for name, values in self.marks.items()}
        for name, values in marks.items():
            if values.shape != self.t.shape:
                raise ShapeError(
                    f"{name} has shape {values.shape}; it needs one number for each of {len(self.t)} times"
                )
        put(self, "marks", MappingProxyType(marks))
        if self.to_log is not None:
            put(self, "to_log", frozen_array(self.to_log))
        put(self, "columns", MappingProxyType(dict(self.columns)))
        put(self, "joints", tuple(self.joints) or tuple(f"joint{j + 1}" for j in range(self.n)))

    def _freeze_sensed(self) -> None:
        if self.sensed is None:
            return
        object.__setattr__(self, "sensed", frozen_array(self.sensed))
        if self.sensed.ndim != 2 or len(self.sensed) != len(self.t) or self.sensed.shape[1] % 6:
            raise ShapeError(f"sensed has shape {self.sensed.shape}; it needs {len(self.t)} rows of 6 per sensor")

    def _check_shape(self, name: str, values: Array) -> None:
        shape = values.shape
        if len(shape) != 2 or shape[0] != len(self.t) or shape[1] != self.q.shape[1]:
            raise ShapeError(f"{name} has shape {shape}; with {len(self.t)} times and these positions it must have "
                             f"{len(self.t)} rows and {self.q.shape[-1]} columns, with one row per sample")  # fmt: skip

    def __len__(self) -> int:
        return len(self.t)

    @property
    def nbytes(self) -> int:
        """Size of its arrays [bytes]."""
        return sum(values.nbytes for values in self._arrays().values())

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return int(self.q.shape[1])

    @property
    def duration(self) -> float:
        """Duration from the first to the last sample [s]."""
        return float(self.t[-1] - self.t[0]) if len(self.t) else 0.0

    @property
    def rate_hz(self) -> float:
        """Sampling rate [Hz], from the median step; for stamps in bursts, from the mean step."""
        steps, bursts = np.diff(self.t), bursts_of(self.t)
        step = bursts.step if bursts is not None else float(np.median(steps)) if len(steps) else 0.0
        return 1.0 / step if step > 0 else float("nan")

    @property
    def has_gaps_in_values(self) -> bool:
        """Whether any value is not a finite number."""
        return any(not np.isfinite(values).all() for values in self._arrays().values())

    def column(self, channel: str) -> str:
        """Column name in the log of a channel such as "tau3"."""
        return self.columns.get(channel, channel)

    def efforts(self) -> Array:
        """Efforts (N, n) in `effort_unit`; raises an error if the log has none."""
        if self.tau is None:
            raise RecordingError(
                "the log has no efforts; record them, or motor currents with [drive] gains", file=self.source or None
            )
        return self.tau

    def every_effort(self) -> Array:
        """Efforts of joints and sensors (N, n + 6 per sensor); zeros for joints of a log without joint efforts."""
        if self.sensed is None:
            return self.efforts()
        own = np.zeros_like(self.q) if self.tau is None else self.tau
        return np.ascontiguousarray(np.concatenate([own, self.sensed], axis=1))

    def in_log_unit(self, efforts: Array) -> Array:
        """Convert joint-side efforts (N, n) to the unit of the log; efforts of sensors after them stay as they are."""
        if self.to_log is None:
            return efforts
        own = efforts[:, : self.n] @ self.to_log.T
        return own if efforts.shape[1] == self.n else np.concatenate([own, efforts[:, self.n :]], axis=1)

    def select(self, rows: slice | NDArray[np.bool_]) -> Self:
        """Select samples; with a slice, the row numbers of the log are preserved."""
        arrays = {name: values[rows] for name, values in self._arrays().items()}
        channels = {name: values[rows] for name, values in self.channels.items()}
        marks = {name: values[rows] for name, values in self.marks.items()}
        start = rows.indices(len(self))[0] if isinstance(rows, slice) else 0
        first = self.first_row + start
        return replace(self, **arrays, channels=channels, marks=marks, first_row=first)  # type: ignore[arg-type]

    def between(self, start: float | None = None, stop: float | None = None) -> Self:
        """Samples from `start` up to, but not including, `stop` [s of the log's clock]."""
        return self.select(self.rows_between(start, stop))

    def rows_between(self, start: float | None = None, stop: float | None = None) -> slice:
        """Slice of the samples from `start` up to, but not including, `stop`; raises an error if too few.

        start, stop [s]: times of the log's clock.
        """
        first = 0 if start is None else int(np.searchsorted(self.t, start))
        last = len(self) if stop is None else int(np.searchsorted(self.t, stop))
        if last - first < 2:
            asked = [f"from {start:g} s" if start is not None else "", f"to {stop:g} s" if stop is not None else ""]
            runs = f"from {self.t[0]:g} s to {self.t[-1]:g} s" if len(self) else "over no time at all"
            raise RecordingError(f"there are no samples {' '.join(filter(None, asked))}; the log runs {runs}",
                                 file=self.source or None)  # fmt: skip
        return slice(first, last)

    def noted(self, *notes: str) -> Self:
        """Recording with additional notes."""
        return replace(self, notes=self.notes + notes)

    def _arrays(self) -> dict[str, Array]:
        names = ("t", *MATRICES, "sensed")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def to_frame(self) -> Any:
        """Return the samples as a pandas DataFrame: q1.., qd1.., qdd1.., tau1.. over t [s].

        Its attrs contain the joints and the unit.
        """
        columns = {"t": self.t, **signals(**{name: getattr(self, name) for name in MATRICES})}
        return frame(columns, "t", joints=list(self.joints), effort_unit=self.effort_unit, source=self.source)

    def plot(self) -> Any:
        """Matplotlib figure of the logged signals, a row for each joint."""
        units = UNITS | {"tau": "N m or N" if self.effort_unit == SI else self.effort_unit}
        names = {"q": "position", "qd": "velocity", "qdd": "acceleration", "tau": "effort"}
        shown = [
            Quantity(f"{names[name]} {name}", values, [units[name]] * self.n)
            for name, values in self._arrays().items()
            if name in names
        ]
        return joint_figure(self._title(), self.t, self.joints, shown)

    def _title(self) -> str:
        return Path(self.source).name or "recording"

    def __str__(self) -> str:
        return self.summary(self.effort_unit)

    def __repr__(self) -> str:
        logged = ", ".join(name for name in MATRICES if getattr(self, name) is not None)
        return (
            f"<Recording '{clipped(self._title(), 50)}': {plural(len(self), 'sample')} of {plural(self.n, 'joint')}, "
            f"{self.duration:.4g} s at {self.rate_hz:.4g} Hz; {logged}; efforts in {clipped(self.effort_unit, 12)}>"
        )

    def _repr_html_(self) -> str:
        rows = []
        for j, joint in enumerate(self.joints):
            spans = [(name, getattr(self, name)) for name in MATRICES]
            rows.append((joint, *(_span(values[:, j]) for _, values in spans if values is not None)))
        units = UNITS | {"tau": "N m or N" if self.effort_unit == SI else self.effort_unit}
        headers = ["joint", *(f"{n} [{units[n]}]" for n in MATRICES if getattr(self, n) is not None)]
        right = range(1, len(headers))
        title = f"{self._title()}: {self._size(self.effort_unit)}"
        return html_table(title, headers, rows, right=right, notes=self.notes)

    def summary(self, unit: str) -> str:
        """One-line summary of the recording, with efforts in this unit."""
        return f"{self.source or 'recording'}: {self._size(unit)}"

    def _size(self, unit: str) -> str:
        logged = ", ".join((*(name for name in MATRICES if getattr(self, name) is not None), *self.channels))
        rate = (len(self) - 1) / self.duration if self.duration > 0 else float("nan")
        return (
            f"{len(self)} samples of {self.n} joint{'s' * (self.n != 1)}, "
            f"{self.duration:.4g} s at {rate:.4g} Hz, {logged}, effort in {unit}"
        )


def _span(values: Array) -> str:
    """Text with minimum and maximum of the values."""
    finite = values[np.isfinite(values)]
    return f"{finite.min():.4g} to {finite.max():.4g}" if len(finite) else "no numbers"


def joined(blocks: Iterable[Recording]) -> Recording:
    """Concatenate the blocks of one log."""
    parts = list(blocks)
    if not parts:
        raise RecordingError("the log holds no samples")
    first = parts[0]
    if len(parts) == 1:
        return first
    torn = tuple(sorted({row for p in parts for row in p.torn}))
    pieces = {name: [getattr(p, name) for p in parts] for name in first._arrays()}
    channels = {name: [p.channels[name] for p in parts] for name in first.channels}
    marks = {name: [p.marks[name] for p in parts] for name in first.marks}
    del parts
    head = replace(first.select(slice(0, 0)), torn=torn)
    del first
    arrays = {name: _together(pieces.pop(name)) for name in list(pieces)}
    further = {name: _together(channels.pop(name)) for name in list(channels)}
    told = {name: _together(marks.pop(name)) for name in list(marks)}
    return replace(head, **arrays, channels=further, marks=told)  # type: ignore[arg-type]


def _together(pieces: list[Array]) -> Array:
    """Concatenate pieces and release them, so that they are not in memory twice."""
    array = np.concatenate(pieces)
    freeze(array)  # so that a recording need not copy it
    return array


class Passes(Generic[T]):
    """Iterable of blocks that are not in memory and are read at each pass; keep: store them at the first pass."""

    def __init__(self, opened: Callable[[], Iterator[T]], *, keep: bool = False) -> None:
        self.opened, self.keep = opened, keep
        self.held: list[T] | None = None

    def __iter__(self) -> Iterator[T]:
        if self.held is not None:
            yield from self.held
            return
        seen: list[T] = []
        for block in self.opened():
            if self.keep:
                seen.append(block)
            yield block
        self.held = seen if self.keep else None


Blocks: TypeAlias = list[Recording] | Passes[Recording]  # of one log; in memory it is one block


def mapped(blocks: Blocks, step: Callable[[Iterable[Recording]], Iterator[Recording]]) -> Blocks:
    """Apply a step to blocks: at once if they are in memory, else at every pass."""
    return list(step(blocks)) if isinstance(blocks, list) else Passes(lambda: step(blocks))


def between(blocks: Iterable[Recording], wanted: slice) -> Iterator[Recording]:
    """Select the samples of a range from the blocks."""
    done = 0
    for block in blocks:
        rows = slice(max(wanted.start - done, 0), min(wanted.stop - done, len(block)))
        done += len(block)
        if rows.start < rows.stop:
            yield block if rows == slice(0, len(block)) else block.select(rows)
        if done >= wanted.stop:
            return


def with_last(blocks: Iterable[T]) -> Iterator[tuple[T, bool]]:
    """Each block, and whether it is the last one."""
    held: T | None = None
    for block in blocks:
        if held is not None:
            yield held, False
        held = block
    if held is not None:
        yield held, True


def expect_recording(recording: object) -> None:
    """Raise an error for an argument that is not a recording, such as the name of a log."""
    expected(recording, Recording, "the recording", "read_recording")


# -------------------------------------------------------------------------------------------- what filters ask of one


MEASURED = ("motor",)  # of the channels those that are measured as positions are
EVEN = 0.02  # part of a step by which steps may differ in a recording that counts as evenly sampled


def even_rate(recording: Recording) -> float:
    """Sampling rate of a uniformly sampled recording [Hz]; raises an error if it is not uniform."""
    t = recording.t
    if len(t) < 3:
        raise RecordingError(f"the recording has {len(t)} samples; that is too few", file=recording.source or None)
    steps = np.diff(t)
    step = float(t[-1] - t[0]) / (len(t) - 1)
    off = np.flatnonzero(np.abs(steps - step) > EVEN * abs(step))
    if step <= 0 or len(off):
        row = recording.first_row + int(off[0]) + 1 if len(off) else recording.first_row
        raise RecordingError(
            f"the time stamps are not uniform ({len(off)} of {len(steps)} steps differ from {step * 1e3:.4g} ms); "
            "resample them (resample and stamps = true in [logs]; repaired() in Python)",
            file=recording.source or None,
            column=recording.column("t"),
            row=row,
        )
    return 1.0 / step


def check_finite(recording: Recording, channels: Sequence[str] = MEASURED) -> None:
    """Raise an error for values that are not finite, with column and rows; channels: those that are needed."""
    logged = {name: getattr(recording, name) for name in MATRICES} | {
        name: recording.channels.get(name) for name in channels
    }
    for name, values in logged.items():
        if values is None or np.isfinite(values.sum()) or np.isfinite(values).all():  # a sum is quicker
            continue
        rows, joints = np.nonzero(~np.isfinite(values))
        j = int(joints[0])
        own = rows[joints == j]
        first, last = recording.first_row + int(own[0]), recording.first_row + int(own[-1])
        what = (
            f"{len(own)} values are not numbers, in rows {first} to {last}" if len(own) > 1 else "this is not a number"
        )
        other = f', or omit this signal with {name} = "" in [columns]' if name in MEASURED else ""
        raise RecordingError(
            f"{what}; omit this part with from and to, or drop such rows with --drop-torn (drop_torn = true in "
            f"[columns]){other}",
            file=recording.source or None,
            column=recording.column(f"{name}{j + 1}"),
            row=first,
        )
