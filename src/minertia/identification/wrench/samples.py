"""`SensorPoses`: orientations, wrenches and motion of a sensor, from poses at rest or from a recorded motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minertia.identification.logs.recording import Recording, even_rate
from minertia.identification.logs.repair import repaired
from minertia.identification.signals.filtering import EDGE, low_pass, rate_of_change
from minertia.identification.signals.options import Filter
from minertia.identification.signals.spectrum import chosen_cutoff
from minertia.identification.wrench.load import FrameRates
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError

PARTS = 20  # of a motion, which are left out whole
MOST_SAMPLES = 1500  # of a motion: the fit grows with their cube


@dataclass(frozen=True)
class SensorPoses:
    """Orientations R (N, 3, 3) of the frame in the base, and wrenches (N, 6) [N, N m] in sensor axes.

    order (N,): time or index of each pose, in the order of recording; has_order: whether the file gives this
    order.  motion: velocities and accelerations of the frame, None at rest.  tares (N,): number of the
    interval between two tares of the sensor in which each pose was recorded, None where the file gives none.
    """

    R: Array
    wrench: Array
    order: Array
    has_order: bool = True
    motion: FrameRates | None = None
    tares: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.R)

    def take(self, kept: NDArray[np.intp] | NDArray[np.bool_]) -> SensorPoses:
        """Subset of the poses, selected by indices or by a mask."""
        motion = None if self.motion is None else self.motion.take(kept)
        tares = None if self.tares is None else self.tares[kept]
        return SensorPoses(self.R[kept], self.wrench[kept], self.order[kept], self.has_order, motion, tares)

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """Cross-validation group of each pose, held out as a whole.

        At rest, each pose is its own group, numbered in the order of recording; a motion is divided into `PARTS`
        consecutive segments.
        """
        place = np.argsort(np.argsort(self.order, kind="stable"))
        return place if self.motion is None else place * PARTS // len(self)

    @property
    def stretch(self) -> NDArray[np.intp]:
        """Number (N,), from 0, of the interval between two tares in which each pose was recorded."""
        if self.tares is None:
            return np.zeros(len(self), np.intp)
        return np.unique(self.tares, return_inverse=True)[1]

    def oriented(self, R: Array) -> SensorPoses:
        """The same poses with other orientations, at rest."""
        return replace(self, R=R, motion=None)

    def turned(self) -> SensorPoses:
        """The same poses with forces and moments transformed from base axes to the axes of the frame."""
        both = self.wrench.reshape(-1, 2, 3) @ self.R
        return replace(self, wrench=both.reshape(-1, 6))


def moving(poses: SensorPoses, p: Array, filter: Filter, source: str) -> SensorPoses:
    """Low-pass filter a recorded motion, differentiate it and downsample it to independent samples.

    Pose and wrench pass through the same filter.  p (N, 3) [m]: positions of the frame in the base.
    """
    kept = np.concatenate([poses.R.reshape(-1, 9), p, poses.wrench], axis=1)
    log = repaired(Recording(poses.order, kept, source=source), standstill=False)
    rate = even_rate(log)
    cutoff = filter.cutoff_hz or chosen_cutoff(log.q[:, :12], rate)
    smooth = low_pass(log.q, cutoff, rate)
    R, motion = frame_motion(smooth[:, :9].reshape(-1, 3, 3), smooth[:, 9:12], rate)
    edge = EDGE / cutoff if filter.trim_s is None else filter.trim_s
    rows = np.arange(round(edge * rate), len(log) - round(edge * rate), max(1, round(rate / (2 * cutoff))))
    if len(rows) < PARTS:
        raise RecordingError(
            f"the motion is too short: a low-pass at {cutoff:.3g} Hz leaves {len(rows)} samples of {log.duration:.3g} "
            "s; record longer",
            file=source,
        )
    rows = rows[:: int(np.ceil(len(rows) / MOST_SAMPLES))]
    tares = None
    if poses.tares is not None:
        stretch = np.interp(log.t, poses.order, poses.tares)
        before, after = (stretch[(rows + k * round(edge * rate)).clip(0, len(log) - 1)] for k in (-1, 1))
        rows = rows[before == after]  # the low-pass smears a step
        tares = stretch[rows].astype(np.intp)
    return SensorPoses(R[rows], smooth[rows, 12:], log.t[rows], True, motion.take(rows), tares)


def frame_motion(R: Array, p: Array, rate_hz: float) -> tuple[Array, FrameRates]:
    """Orientations (N, 3, 3) and motion of a frame from filtered matrices R (N, 3, 3) and positions p (N, 3) [m].

    The filtered matrices are replaced by the nearest rotation matrices.
    """
    first = rate_of_change(R.reshape(-1, 9), rate_hz)
    second = rate_of_change(first, rate_hz).reshape(R.shape)
    acceleration = rate_of_change(rate_of_change(p, rate_hz), rate_hz)
    U, _, Vt = np.linalg.svd(R)
    R = np.asarray(U @ Vt)  # the nearest rotations
    Rt = R.transpose(0, 2, 1)
    spin = _turning(Rt @ first.reshape(R.shape))
    spin_rate = _turning(Rt @ second)  # what the spin itself adds there is symmetric
    return R, FrameRates(spin, spin_rate, np.einsum("nij,nj->ni", Rt, acceleration))


def _turning(A: Array) -> Array:
    """Axial vectors (N, 3) of the skew-symmetric parts of matrices (N, 3, 3)."""
    return np.stack([A[:, 2, 1] - A[:, 1, 2], A[:, 0, 2] - A[:, 2, 0], A[:, 1, 0] - A[:, 0, 1]], axis=1) / 2
