"""What filters ask of a recording: even stamps, and numbers throughout."""

from __future__ import annotations

import numpy as np

from minertia.identification.logs.recording import MATRICES, Recording
from minertia.io.errors import RecordingError

MEASURED = ("motor",)  # of the channels those that are measured as positions are
EVEN = 0.02  # part of a step by which steps may differ in a recording that counts as evenly sampled


def even_rate(recording: Recording) -> float:
    """Samples per second of an evenly sampled recording, or a sentence."""
    t = recording.t
    if len(t) < 3:
        raise RecordingError(f"the recording has {len(t)} samples; that is too few", file=recording.source or None)
    steps = np.diff(t)
    step = float(t[-1] - t[0]) / (len(t) - 1)
    off = np.flatnonzero(np.abs(steps - step) > EVEN * abs(step))
    if step <= 0 or len(off):
        row = recording.first_row + int(off[0]) + 1 if len(off) else recording.first_row
        raise RecordingError(
            f"the stamps are not even ({len(off)} of {len(steps)} steps differ from {step * 1e3:.4g} ms); "
            "let them be resampled (resample and stamps = true in [logs]; repaired() in Python)",
            file=recording.source or None,
            column=recording.column("t"),
            row=row,
        )
    return 1.0 / step


def check_finite(recording: Recording) -> None:
    """Refuse values that are not numbers, with column and rows."""
    logged = {name: getattr(recording, name) for name in MATRICES} | {
        name: recording.channels.get(name) for name in MEASURED
    }
    for name, values in logged.items():
        if values is None or np.isfinite(values.sum()) or np.isfinite(values).all():  # a sum is quicker
            continue
        rows, joints = np.nonzero(~np.isfinite(values))
        j = int(joints[0])
        own = rows[joints == j]
        first, last = recording.first_row + int(own[0]), recording.first_row + int(own[-1])
        other = f', or this signal with {name} = "" in [columns]' if name in MEASURED else ""
        raise RecordingError(
            f"{len(own)} values are not numbers, in rows {first} to {last}; leave this part out with from and to, or "
            f"such rows with --drop-torn (drop_torn = true in [columns]){other}",
            file=recording.source or None,
            column=recording.column(f"{name}{j + 1}"),
            row=first,
        )
