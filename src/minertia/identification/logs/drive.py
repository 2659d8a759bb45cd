"""From what a drive reports to the joint side: gains, ratios, coupling, signs and offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from minertia.errors import RecordingError, UnknownName
from minertia.notebook import clipped, stated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SIDES = ("joint", "motor")
# smallest and largest number that can be meant; 0 is one of them where it does not divide
SIZES = {
    "gains": (1e-9, 1e9),
    "gain_deviations": (1e-12, 1e9),
    "ratios": (1e-6, 1e9),
    "coupling": (1e-9, 1e9),
    "offsets": (0.0, 1e6),
    "delay": (0.0, 1e6),
}
ASSUMED = (
    0.1  # deviation of a gain that is quoted without one, over its size: two published sets of one arm differ by more
)
WORST_CONDITION = 1e10  # of a coupling matrix that can still be inverted


@dataclass(frozen=True, slots=True)
class Drive:
    """How logged positions and efforts stand to those of the joints.

    position, effort: the side each is logged on, "joint" or "motor"; None: what the names of the columns say.
    ratios: motor turns per joint turn, may be negative.  coupling: G with motor positions = G q, instead of ratios.
    gains: effort [N m or N] per unit of the log, on the side it is logged on; gain_deviations: how well they are known,
    in the same unit.
    signs: +1 or -1, flips a joint's position and effort; effort_signs: its effort only.
    offsets: added to the joint positions, last [rad or m].  delay: seconds by which the effort lags the position.
    """

    position: str | None = None
    effort: str | None = None
    ratios: tuple[float, ...] | None = None
    coupling: tuple[tuple[float, ...], ...] | None = None
    gains: tuple[float, ...] | None = None
    gain_deviations: tuple[float, ...] | None = None
    signs: tuple[float, ...] | None = None
    effort_signs: tuple[float, ...] | None = None
    offsets: tuple[float, ...] | None = None
    delay: float = 0.0

    def __repr__(self) -> str:
        return stated(self)

    def __post_init__(self) -> None:
        for side in (self.position, self.effort):
            if side is not None and side not in SIDES:
                raise UnknownName("side of a drive", side, SIDES)
        if self.ratios is not None and self.coupling is not None:
            raise RecordingError("a drive has ratios or a coupling matrix (which holds the ratios), not both")
        if self.gain_deviations is not None and (self.gains is None or min(self.gain_deviations, default=0.0) < 0):
            raise RecordingError("gain_deviations of a drive stand beside its gains, and none is negative")
        for name in ("signs", "effort_signs"):
            values = getattr(self, name)
            if values is not None and any(v not in (1, -1) for v in values):
                raise RecordingError(f"{name} of a drive must be 1 or -1")
        for name, sizes in SIZES.items():
            for value in _numbers(name, getattr(self, name)):
                if not (sizes[0] <= abs(value) <= sizes[1] or (value == 0 and name not in ("gains", "ratios"))):
                    raise RecordingError(
                        f"{name} of the drive cannot hold {value:g}: the size of such a number lies between "
                        f"{sizes[0]:g} and {sizes[1]:g}; is the unit the right one?"
                    )

    def checked(self, n: int, source: str | None = None) -> None:
        """Refuse lists that do not have one number for each of the n coordinates, and matrices without inverse."""
        for name in ("ratios", "gains", "gain_deviations", "signs", "effort_signs", "offsets"):
            values = getattr(self, name)
            if values is not None and len(values) != n:
                raise RecordingError(
                    f"{name} of the drive has {len(values)} numbers; the robot has {n} coordinates", file=source
                )
        if self.coupling is not None and any(len(row) != n for row in (*self.coupling, self.coupling)):
            raise RecordingError(f"the coupling of the drive must be a matrix of {n} by {n} numbers", file=source)
        matrix = self.matrix(n)
        if matrix is not None and (not np.isfinite(matrix).all() or np.linalg.cond(matrix) > WORST_CONDITION):
            raise RecordingError("the ratios or the coupling of the drive cannot be inverted", file=source)

    def gain_uncertainty(self) -> Array | None:
        """Deviation of each gain over its size: as stated, else assumed; None where efforts need no gains."""
        if self.gains is None:
            return None
        if self.gain_deviations is None:
            return np.full(len(self.gains), ASSUMED)
        return np.asarray(np.array(self.gain_deviations, float) / np.abs(np.array(self.gains, float)))

    def matrix(self, n: int) -> Array | None:
        """G with motor positions = G q, None where neither ratios nor a coupling are given."""
        if self.coupling is not None:
            return np.array(self.coupling, dtype=float)
        return None if self.ratios is None else np.diag(np.array(self.ratios, dtype=float))


@dataclass(frozen=True, slots=True)
class Conversion:
    """The matrices of a drive for n coordinates: q = position @ logged + offset, tau = effort @ logged."""

    position: Array
    offset: Array
    effort: Array
    effort_unit: str

    @property
    def to_log(self) -> Array:
        """Log effort = to_log @ tau."""
        return np.asarray(np.linalg.inv(self.effort))


def conversion(
    drive: Drive, sides: tuple[str, str], unit: str, position_scale: Sequence[float], source: str | None = None
) -> Conversion:
    """The matrices for positions and efforts logged on these sides, efforts in `unit`.

    position_scale: SI unit per unit of the log, for each logged position.
    """
    n = len(position_scale)
    drive.checked(n, source)
    G = drive.matrix(n)
    if "motor" in sides and G is None:
        raise RecordingError(
            "signals are logged on the motor side; the drive needs ratios or a coupling matrix", file=source
        )
    position = np.diag(np.array(position_scale, dtype=float))
    effort = np.diag(np.ones(n) if drive.gains is None else np.array(drive.gains, dtype=float))
    if not np.all(np.diag(effort)):
        raise RecordingError("a gain of the drive is 0", file=source)
    if sides[0] == "motor" and G is not None:
        position = np.linalg.inv(G) @ position
    if sides[1] == "motor" and G is not None:
        effort = G.T @ effort
    flip = np.diag(np.ones(n) if drive.signs is None else np.array(drive.signs, dtype=float))
    flip_effort = np.diag(np.ones(n) if drive.effort_signs is None else np.array(drive.effort_signs, dtype=float))
    offset = np.zeros(n) if drive.offsets is None else np.array(drive.offsets, dtype=float)
    known = unit == "Nm" or drive.gains is not None
    return Conversion(flip @ position, offset, flip @ flip_effort @ effort, "Nm" if known else unit)


def _numbers(name: str, given: object) -> list[float]:
    """Every number of an entry of a drive."""
    try:
        return [] if given is None else [float(v) for v in np.ravel(np.array(given, dtype=float))]
    except (TypeError, ValueError, OverflowError):
        raise RecordingError(f"{name} of a drive must be numbers, not {clipped(given, 40)}") from None
