"""Curves of long logs: an outline in the view, every sample of a part that is looked at."""

from __future__ import annotations

import numpy as np

from minertia.identification.logs.recording import Recording
from minertia.identification.signals.options import Filter
from minertia.io.arrays import POINTS
from minertia.studio.log_curves import drop_curves, filtered_signals, filtered_view, keep_curves, part_of

RATE, N = 500.0, 20_000


def recording(count: int = N, spike: int | None = None) -> Recording:
    t = np.arange(count) / RATE
    rng = np.random.default_rng(0)
    q = np.column_stack([np.sin(2 * np.pi * 0.3 * t), np.cos(2 * np.pi * 0.5 * t)])
    tau = 5 * q + 0.5 * rng.normal(size=q.shape)
    if spike is not None:
        tau[spike] = 99.0
    return Recording(t, q, tau=tau, joints=("a", "b"))


def test_a_part_has_every_sample(tmp_path):
    own = recording()
    cutoff, filtered = filtered_signals(own, Filter(cutoff_hz=5.0))
    assert cutoff == 5.0 and keep_curves(tmp_path, 0, own, filtered)
    found = part_of(tmp_path, 0, ("effort", "effort_filtered"), (10.0, 11.0))
    assert found is not None and len(found["values"]) == 4
    t = np.array(found["t"])
    inside = (t >= 10.0) & (t <= 11.0)
    assert inside.sum() == 501 and np.allclose(np.diff(t), 1 / RATE, atol=1e-6)
    rows = slice(5000, 5501)
    assert np.allclose(np.array(found["values"][0])[inside], own.tau[rows, 0], rtol=1e-5, atol=1e-5)
    left_over = np.array(found["values"][0]) - np.array(found["values"][2])
    assert 0.3 < np.std(left_over[inside]) < 0.7  # the noise is what the filter takes away


def test_a_long_part_keeps_its_extremes(tmp_path):
    assert keep_curves(tmp_path, 3, recording(spike=12_345), {})
    found = part_of(tmp_path, 3, ("effort",), (0.0, 1e9))
    assert found is not None and len(found["t"]) <= POINTS + 2
    assert max(found["values"][0]) == 99.0 or max(found["values"][1]) == 99.0
    assert found["t"][0] == 0.0 and abs(found["t"][-1] - (N - 1) / RATE) < 1e-6


def test_nothing_is_kept_of_short_logs_and_of_earlier_checks(tmp_path):
    assert not keep_curves(tmp_path, 0, recording(1000), {})
    assert part_of(tmp_path, 0, ("q",), (0.0, 1.0)) is None
    folders = [tmp_path / f"000{k}-check" for k in (1, 2)]
    for folder in folders:
        folder.mkdir()
        assert keep_curves(folder, 0, recording(), {})
    drop_curves(tmp_path, folders[1])
    assert not list(folders[0].iterdir()) and part_of(folders[1], 0, ("q",), (0.0, 1.0)) is not None


def test_a_log_that_cannot_be_filtered_has_no_filter(tmp_path):
    own = recording(60)
    cutoff, filtered = filtered_signals(own, Filter(cutoff_hz=400.0))
    assert cutoff is None and filtered == {}
    assert filtered_view(own, cutoff, filtered) == {"cutoff_hz": None, "filtered": {}}
