"""Robots in this process, whose clock is a counter: one that follows, and ways to go wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minertia.excitation.transfer import Transfer
from minertia.running.driver import Driver, DriverError, JointReading
from minertia.running.guard import Guard

PERIOD = 0.01
NAMES = ("hip", "knee")
GUARD = Guard(NAMES, np.array([0.1, 0.1]), np.array([5.0, 5.0]))
HERE, THERE = np.array([0.1, -0.2]), np.array([0.9, 0.5])


def motion(seconds: float = 1.0) -> Transfer:
    """There and back."""
    return Transfer(np.array([HERE, THERE, HERE]), np.array([0.0, seconds, 2 * seconds]))


class Follower(Driver):
    """Is after each period where it was told to be; `wrong(k, reading)` may change what it tells in period k."""

    is_simulated = True

    def __init__(self, wrong: Callable[[int, JointReading], JointReading | None] | None = None, lag: int = 0) -> None:
        self.period, self.wrong = PERIOD, wrong or (lambda k, reading: reading)
        self.told = [HERE.copy()] * (lag + 1)
        self.k, self.reads, self.stopped_at, self.is_closed = 0, 0, None, False

    def read(self) -> JointReading | None:
        assert self.stopped_at is None, "nothing is asked of a robot that was stopped"
        self.reads += 1
        return self.wrong(self.k, JointReading(5.0 + self.k * PERIOD, self.told[0].copy(), np.zeros(2)))

    def command(self, q, qd):
        assert self.stopped_at is None and q.shape == qd.shape == (2,)
        self.told = [*self.told[1:], q]
        self.k += 1

    def stop(self):
        self.stopped_at = self.k

    def close(self):
        self.is_closed = True


class Gone(Follower):
    """Its connection ends in period k."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.last = k

    def read(self):
        if self.k == self.last:
            raise DriverError("the robot closed the connection")
        return super().read()

    def stop(self):
        super().stop()
        raise DriverError("the robot closed the connection")
