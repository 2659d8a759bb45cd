"""Checks of commands: found at all, constant, held longer than a row, far behind, out of step with the positions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minertia.identification.audits.findings import Finding
from minertia.identification.logs.recording import Recording
from minertia.identification.logs.stamps import usual_step
from minertia.robot.robot import Robot

HELD = 1.5  # rows for which a command usually stays the same while it changes, above which it is told
LONGEST_LAG = 0.5  # s within which the lag is looked for
FAR = 1.0  # rad or m between command and position that no servo leaves at rest


def commands(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """What the commands of a log are like."""
    u = recording.channels.get("command")
    if u is None or not np.isfinite(u).all():
        return
    names = [recording.column(f"command{j + 1}") for j in range(recording.n)]
    moving = np.ptp(u, axis=0) > 0
    for j in np.flatnonzero(~moving):
        text = "the command never changes: neither its delay nor rotor inertia shows at this joint"
        yield Finding("warning", "constant command", text, names[j])
    step = usual_step(recording.t)
    for j in np.flatnonzero(moving):
        held = _held(u[:, j])
        if held > HELD:
            text = f"the command changes every {held:.1f} rows: a staircase inside the hold, not to be interpolated"
            yield Finding("info", "held command", text, names[j])
        if float(np.median(np.abs(u[:, j] - recording.q[:, j]))) > FAR:
            text = "the command is far from the position most of the time; do both have the same zero and unit?"
            yield Finding("warning", "far command", text, names[j])
    if moving.any() and step > 0:
        lag = float(np.median([_lag(u[:, j], recording.q[:, j], step) for j in np.flatnonzero(moving)]))
        yield Finding("info", "lag", f"joints follow their commands some {1e3 * lag:.0f} ms later")


def _held(u: np.ndarray) -> float:
    """Rows between changes where the command does change: the usual number, breaks left out."""
    changes = np.flatnonzero(np.diff(u) != 0)
    return float(np.median(np.diff(changes))) if len(changes) > 10 else 1.0


def _lag(u: np.ndarray, q: np.ndarray, step: float) -> float:
    """Seconds by which positions are most like the command before."""
    most = min(int(LONGEST_LAG / step), len(u) // 4)
    a, b = u - u.mean(), q - q.mean()
    likeness = [float(a[: len(a) - k] @ b[k:]) / max(len(a) - k, 1) for k in range(most + 1)]
    return step * int(np.argmax(likeness))
