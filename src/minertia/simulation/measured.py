"""Conversion of a simulated run to the recording of an identification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from minertia.excitation.trajectory import frozen
from minertia.identification.logs.recording import Recording
from minertia.identification.signals.filtering import prepared
from minertia.identification.signals.options import Filter
from minertia.io.errors import MinertiaError
from minertia.simulation.plant import PlantLog

Array = NDArray[np.float64]
STANDSTILL = 0.02  # rad/s or m/s: below it Coulomb friction is between its two values
GUARD = 0.02  # s around each standstill


def recording_of(log: PlantLog, joints: tuple[str, ...] = (), source: str = "") -> Recording:
    """Measured positions and efforts, with time stamps in the middle of the period for which an effort was held.

    Positions are interpolated such that they match the efforts to fourth order in the period.  With held efforts,
    second differences of positions are means of two accelerations.  So the smooth motion that the efforts
    represent is the cubic through the four neighbouring samples, shifted by 1/24 of its acceleration times the
    period squared.
    """
    if log.ran_away is not None:
        raise MinertiaError(
            f"the simulated arm became unstable at {log.ran_away:.3g} s: its links are too light for the "
            "controller; give the drives in the robot file rotor inertias and friction"
        )
    q = (7 * (log.q[1:-2] + log.q[2:-1]) - log.q[:-3] - log.q[3:]) / 12
    t = 0.5 * (log.t[1:-2] + log.t[2:-1])
    return Recording(t, q, log.tau[1:-2], joints=joints, source=source)


@dataclass(frozen=True)
class Moving:
    """Samples of a prepared recording at which every joint moves."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    part: float  # of all samples

    def __post_init__(self) -> None:
        for name in ("t", "q", "qd", "qdd", "tau"):
            object.__setattr__(self, name, frozen(getattr(self, name)))


def moving(recording: Recording, cutoff_hz: float) -> Moving:
    """Filter and differentiate at the full rate, without the samples at which a joint reverses.

    Efforts are not filtered, so that their noise stays white and standard deviations are valid.
    """
    motion = prepared(recording, Filter(cutoff_hz=cutoff_hz, derivative="central5", rate_hz=recording.rate_hz))
    still = (np.abs(motion.qd) < STANDSTILL).any(axis=1)
    around = 2 * round(GUARD * motion.rate_hz) + 1
    keep = np.convolve(still, np.ones(around), "same") < 0.5
    if keep.sum() < 10:
        raise MinertiaError(
            "some joint stands still nearly all the time; use a longer trajectory or one with more motion"
        )
    t, q, qd, qdd, tau = (getattr(motion, name)[keep] for name in ("t", "q", "qd", "qdd", "tau"))
    return Moving(t, q, qd, qdd, tau, float(keep.mean()))


def stirred_up(log: PlantLog, rate_hz: float, cutoff_hz: float) -> Array:
    """Root mean square (n,) of the applied efforts above the cut-off of the position filter.

    Filtered motion cannot explain them.  Samples near reversals, where friction is discontinuous, are excluded.
    """
    low = sosfiltfilt(butter(4, cutoff_hz, fs=rate_hz, output="sos"), log.applied, axis=0)
    around = np.ones(2 * round((GUARD + 1 / cutoff_hz) * rate_hz) + 1)
    still = (np.abs(log.true_qd) < STANDSTILL).any(axis=1)
    keep = np.convolve(still, around, "same") < 0.5
    rest = (log.applied - low)[keep if keep.sum() > 10 else slice(None)]
    return np.asarray(np.sqrt(np.mean(rest**2, axis=0)))


def recording_csv(recording: Recording) -> str:
    """Log as CSV with the columns t, q1.., tau1.., for `read_recording`."""
    names = ["t", *(f"{s}{j + 1}" for s in ("q", "tau") for j in range(recording.n))]
    rows = np.column_stack([recording.t, recording.q, recording.efforts()]).tolist()
    return "\n".join([",".join(names), *(",".join(f"{v:.9g}" for v in row) for row in rows)]) + "\n"
