"""Conversion of drive signals to the joint side: gains, ratios, coupling, signs and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.logs.options import Drive
from minertia.identification.logs.recording import Recording, joined
from minertia.identification.logs.stamps import spread
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError

ASSUMED = (
    0.1  # deviation of a gain that is quoted without one, over its size: two published sets of one arm differ by more
)
WORST_CONDITION = 1e10  # of a coupling matrix that can still be inverted


def check_drive(drive: Drive, n: int, source: str | None = None) -> None:
    """Raise an error for lists without one value for each of the n coordinates, and for singular matrices."""
    for name in ("ratios", "gains", "gain_deviations", "signs", "effort_signs", "offsets"):
        values = getattr(drive, name)
        if values is not None and len(values) != n:
            raise RecordingError(
                f"{name} of the drive has {len(values)} numbers; the robot has {n} coordinates", file=source
            )
    if drive.coupling is not None and any(len(row) != n for row in (*drive.coupling, drive.coupling)):
        raise RecordingError(f"the coupling of the drive must be a matrix of {n} by {n} numbers", file=source)
    matrix = drive_matrix(drive)
    if matrix is not None and (not np.isfinite(matrix).all() or np.linalg.cond(matrix) > WORST_CONDITION):
        raise RecordingError("the matrix of the drive's ratios or coupling cannot be inverted", file=source)


def gain_uncertainty(drive: Drive) -> Array | None:
    """Relative standard deviation of each gain, given or assumed; None if efforts need no gains."""
    if drive.gains is None:
        return None
    if drive.gain_deviations is None:
        return np.full(len(drive.gains), ASSUMED)
    return np.asarray(np.array(drive.gain_deviations, float) / np.abs(np.array(drive.gains, float)))


def drive_matrix(drive: Drive) -> Array | None:
    """Matrix G with motor positions = G q; None if neither ratios nor a coupling are given."""
    if drive.coupling is not None:
        return np.array(drive.coupling, dtype=float)
    return None if drive.ratios is None else np.diag(np.array(drive.ratios, dtype=float))


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conversion matrices of a drive for n coordinates: q = position @ logged + offset, tau = effort @ logged."""

    position: Array
    offset: Array
    effort: Array
    effort_unit: str

    @property
    def to_log(self) -> Array:
        """Matrix that converts joint-side to logged efforts: log effort = to_log @ tau."""
        return np.asarray(np.linalg.inv(self.effort))


def conversion(
    drive: Drive, sides: tuple[str, str], unit: str, position_scale: Sequence[float], source: str | None = None
) -> Conversion:
    """Conversion matrices for positions and efforts logged on these sides, efforts in `unit`.

    position_scale: SI unit per unit of the log, for each logged position.
    """
    n = len(position_scale)
    check_drive(drive, n, source)
    G = drive_matrix(drive)
    if "motor" in sides and G is None:
        raise RecordingError(
            "signals are logged on the motor side, so the drive needs ratios or a coupling matrix", file=source
        )
    position = np.diag(np.array(position_scale, dtype=float))
    effort = np.diag(np.ones(n) if drive.gains is None else np.array(drive.gains, dtype=float))
    if not np.all(np.diag(effort)):
        raise RecordingError("a gain of the drive is 0; gains must not be 0", file=source)
    if sides[0] == "motor" and G is not None:
        position = np.linalg.inv(G) @ position
    if sides[1] == "motor" and G is not None:
        effort = G.T @ effort
    flip = np.diag(np.ones(n) if drive.signs is None else np.array(drive.signs, dtype=float))
    flip_effort = np.diag(np.ones(n) if drive.effort_signs is None else np.array(drive.effort_signs, dtype=float))
    offset = np.zeros(n) if drive.offsets is None else np.array(drive.offsets, dtype=float)
    known = unit == "Nm" or drive.gains is not None
    return Conversion(flip @ position, offset, flip @ flip_effort @ effort, "Nm" if known else unit)


def undelayed_blocks(blocks: Iterable[Recording], delay: float) -> Iterator[Recording]:
    """Compensate the delay of efforts, tau(t) = logged(t + delay) [s]; samples at the ends are dropped."""
    held: Recording | None = None  # samples to come, and the efforts they need
    done, begin, found = 0, 0.0, False
    where, word = ("earlier", "lag") if delay > 0 else ("later", "lead")
    note = f"efforts were shifted {abs(delay) * 1000.0:.3g} ms {where}: they {word} the positions"
    for block in blocks:
        if block.tau is None:
            yield block
            found = True
            continue
        is_first = held is None
        held = block if held is None else joined([held, block])
        t = spread(held.t)
        begin = float(t[0]) if is_first else begin
        at = t + delay
        ready = len(at) - _leading((at > t[-1])[::-1])  # a clock that goes back is refused later, with its row
        first = max(done, _leading(at < begin))
        if ready > first:
            rows = slice(first, ready)
            tau = np.column_stack([np.interp(at[rows], t, column) for column in held.efforts().T])
            yield replace(held.select(rows), tau=tau, undelayed=delay).noted(note)
            found = True
        done = max(done, ready)
        needed = min(float(at[min(done, len(at) - 1)]), float(t[min(done, len(at) - 1)]))
        keep = max(min(int(np.searchsorted(t, needed)) - 1, done), 0)
        held, done = held.select(slice(keep, None)), done - keep
    if held is not None and not found:
        raise RecordingError(f"the log is shorter than the delay of {delay:g} s", file=held.source or None)


def _leading(holds: NDArray[np.bool_]) -> int:
    """Number of leading true samples."""
    return len(holds) if holds.all() else int(np.argmin(holds))
