"""Logs as they are judged: measured and predicted efforts through the evaluation filter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.identification.loads.carried import Carried
from minertia.identification.logs.recording import Recording
from minertia.identification.signals.evaluation import evaluated_at, evaluation_times
from minertia.identification.signals.filtering import Motion
from minertia.identification.signals.options import Evaluation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JudgedMotion:
    """A log, or a part of one, as it is judged, with what turns joint efforts into its own unit."""

    motion: Motion
    recording: Recording
    evaluation: Evaluation
    rows: tuple[int, ...]
    instants: Array | None = None  # those of this part of a log [s]
    carried: Carried | None = None  # a known load, which the predictions of the empty robot lack

    def __repr__(self) -> str:
        return f"<JudgedMotion: {self.motion!r} judged below {self.evaluation.cutoff_hz:.3g} Hz>"

    @property
    def t(self) -> Array:
        """Time [s]."""
        return self.motion.t

    @property
    def q(self) -> Array:
        """Positions."""
        return self.motion.q

    @property
    def qd(self) -> Array:
        """Velocities."""
        return self.motion.qd

    @property
    def qdd(self) -> Array:
        """Accelerations."""
        return self.motion.qdd

    @property
    def tau(self) -> Array:
        """Measured joint efforts, not filtered."""
        return self.motion.tau

    @property
    def channels(self) -> Mapping[str, Array]:
        """What else was logged."""
        return self.motion.channels

    @property
    def times(self) -> Array:
        """The instants at which efforts are compared [s]."""
        return evaluation_times(self.motion.t, self.evaluation) if self.instants is None else self.instants

    @property
    def unit(self) -> str:
        """Unit of the efforts that are compared."""
        return self.recording.log_unit if self.evaluation.log_unit else self.recording.effort_unit

    def parts(self) -> Iterator[JudgedMotion]:
        """The parts to compare one after the other: itself."""
        yield self

    def compared(self, predicted: Array) -> tuple[Array, Array]:
        """Measured and predicted efforts through the evaluation filter."""
        rows, full = list(self.rows), np.array(self.motion.tau)
        full[:, rows] = predicted if self.carried is None else predicted + self.carried.efforts(self.motion)[:, rows]
        sides = (np.asarray(self.motion.tau), full)
        if self.evaluation.log_unit:
            sides = (self.recording.in_log_unit(sides[0]), self.recording.in_log_unit(sides[1]))
        times = self.times
        measured, own = (evaluated_at(times, self.motion.t, side[:, rows], self.evaluation) for side in sides)
        return measured, own
