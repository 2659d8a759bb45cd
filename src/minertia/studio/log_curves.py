"""Curves of long logs: stored beside the check that read them, and served in parts as the page zooms in."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from minertia.identification.logs.recording import Recording
from minertia.identification.signals.filtering import low_pass, resolved
from minertia.identification.signals.options import Filter
from minertia.io.arrays import POINTS, thinned
from minertia.io.errors import MinertiaError
from minertia.io.files import new_file
from minertia.report.bundle import finite, rounded

Array = NDArray[np.float64]
LARGEST = 200_000_000  # bytes of one log that are kept; of a longer one the page has its outline alone


def filtered_signals(recording: Recording, plan: Filter) -> tuple[float | None, dict[str, Array]]:
    """Cut-off [Hz] of the low-pass, given or chosen, and the filtered signals by name; None and {} on failure."""
    try:
        cutoff, rate = resolved(plan, recording).cutoff_hz, recording.rate_hz
        if cutoff is None or not 0 < cutoff < 0.5 * rate:
            return None, {}
        found = {"q_filtered": low_pass(np.asarray(recording.q, float), cutoff, rate, plan.order)}
        if recording.tau is not None:
            found["effort_filtered"] = low_pass(np.asarray(recording.tau, float), cutoff, rate, plan.order)
    except (MinertiaError, ValueError):  # gaps, or too short: the audit says what is wrong with such a log
        return None, {}
    return cutoff, found


def filtered_view(recording: Recording, cutoff: float | None, filtered: Mapping[str, Array]) -> dict[str, Any]:
    """Filtered curves for the page, at the samples of the log's view."""
    keep = thinned(recording.t, recording.q if recording.tau is None else recording.tau)
    signals = {key: [rounded(values[keep, j]) for j in range(values.shape[1])] for key, values in filtered.items()}
    return {"cutoff_hz": None if cutoff is None else finite(cutoff), "filtered": signals}


def keep_curves(folder: Path, number: int, recording: Recording, filtered: Mapping[str, Array]) -> bool:
    """Store the curves of a log that is longer than its view; returns whether they were stored."""
    command = recording.channels.get("command") if recording.tau is None else None
    own = {"q": recording.q, "qd": recording.qd, "effort": recording.tau, "command": command, **filtered}
    rows = {key: np.asarray(values, np.float32) for key, values in own.items() if values is not None}
    if len(recording) <= POINTS or sum(values.nbytes for values in rows.values()) > LARGEST:
        return False
    for key, values in {**rows, "t": np.asarray(recording.t, np.float64)}.items():
        with new_file(_place(folder, number, key)) as file:
            npy.write_array(file, np.ascontiguousarray(values), allow_pickle=False)
    return True


def drop_curves(runs: Path, but: Path) -> None:
    """Delete the curves of earlier checks: they are large, and their logs still exist."""
    for path in runs.glob("*-check/curves-*.npy"):
        if path.parent != but:
            with contextlib.suppress(OSError):
                path.unlink()


def part_of(folder: Path, number: int, signals: Sequence[str], span: tuple[float, float]) -> dict[str, Any] | None:
    """Signals between two times [s], with as many points as a view has; None where one was not stored.

    values: one list per signal and joint, in the order of `signals`, all at the times `t`.
    """
    try:
        t = np.load(_place(folder, number, "t"), mmap_mode="r", allow_pickle=False)
        kept = [np.load(_place(folder, number, name), mmap_mode="r", allow_pickle=False) for name in signals]
    except (OSError, ValueError):
        return None
    a, b = int(np.searchsorted(t, span[0])), int(np.searchsorted(t, span[1], side="right"))
    a, b = max(a - 1, 0), min(b + 1, len(t))  # the lines go on beyond the edges
    times, rows = np.asarray(t[a:b]), np.hstack([np.asarray(values[a:b], float) for values in kept])
    keep = thinned(times, rows[:, : kept[0].shape[1]]) if len(times) else np.arange(0)
    return {"t": rounded(times[keep], 6), "values": [rounded(rows[keep, j]) for j in range(rows.shape[1])]}


def _place(folder: Path, number: int, key: str) -> Path:
    return folder / f"curves-{number}-{key}.npy"
