"""Filters: exact where they should be, zero phase, the same on both sides, whole or in blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.codegen.kernels import build
from minertia.identification.logs.recording import Recording
from minertia.identification.signals.filtering import (
    DERIVATIVES,
    decimated,
    evaluated_at,
    evaluation_times,
    low_pass,
    prepared,
    prepared_blocks,
    resolved,
)
from minertia.identification.signals.options import Evaluation, Filter
from minertia.identification.signals.spectrum import chosen_cutoff
from minertia.io.errors import FilterError, MinertiaError, RecordingError
from minertia.io.schema import OptionError
from tests.identification.logs import motion

M = motion(2, seconds=40.0, rate=500.0)
RECORDING = Recording(M["t"], M["q"], M["tau"], M["qd"])


@pytest.mark.parametrize("derivative", [*DERIVATIVES, "logged"])
@pytest.mark.parametrize("on", ["equation", "signals"])
def test_smooth_motion_is_recovered(derivative: str, on: str):
    motion = prepared(RECORDING, Filter(cutoff_hz=20, derivative=derivative, on=on))
    rows = np.searchsorted(M["t"], motion.t - 1e-9)
    for name in ("q", "qd", "qdd"):
        error = np.abs(getattr(motion, name) - M[name][rows]).max() / np.abs(M[name]).max()
        assert error < 1e-3, name


def test_central5_is_more_accurate():
    t = np.arange(200) / 50
    x, exact = np.sin(2 * np.pi * t)[:, None], 2 * np.pi * np.cos(2 * np.pi * t)[:, None]
    error = {d: np.abs(DERIVATIVES[d](x, 1 / 50, Filter()) - exact)[2:-2].max() for d in ("central", "central5")}
    assert error["central5"] < 0.02 * error["central"]


def test_parabola_is_the_formula_of_khosla():
    x = np.random.default_rng(0).normal(size=(50, 1))
    T = 0.01
    by_formula = (-2 * x[:-4] - x[1:-3] + x[3:-1] + 2 * x[4:]) / (10 * T)
    np.testing.assert_allclose(DERIVATIVES["parabola"](x, T, Filter())[2:-2], by_formula, atol=1e-9)


def test_low_pass_has_no_phase():
    t = np.arange(4000) / 500
    x = np.sin(2 * np.pi * 2 * t)[:, None]
    y = low_pass(x, 10.0, 500.0)
    np.testing.assert_allclose(y[500:-500], x[500:-500], atol=1e-4)
    half = low_pass(np.sin(2 * np.pi * 10 * t)[:, None], 10.0, 500.0)
    assert np.abs(half[500:-500]).max() == pytest.approx(0.5, abs=0.01)  # forwards and backwards: 1/2 at the cut-off


@pytest.mark.parametrize("channels", [1, 2, 5, 6, 9, 17])
@pytest.mark.parametrize("order", [1, 4, 7])
def test_low_pass_is_that_of_scipy(channels: int, order: int, monkeypatch: pytest.MonkeyPatch):
    x = np.asfortranarray(np.random.default_rng(0).normal(size=(1500, channels)).cumsum(axis=0))
    own = low_pass(x, 9.0, 500.0, order)
    short = low_pass(x[:40], 9.0, 500.0, order)
    monkeypatch.setattr("minertia.codegen.kernels.build.native", lambda: None)
    np.testing.assert_allclose(own, low_pass(x, 9.0, 500.0, order), atol=1e-12 * np.abs(x).max())
    np.testing.assert_allclose(short, low_pass(x[:40], 9.0, 500.0, order), atol=1e-12 * np.abs(x).max())


@pytest.mark.skipif(not hasattr(build.native(), "both_ways"), reason="no extension module")
def test_the_native_filter_refuses_what_it_cannot_filter():
    x, sos, settled = np.ones((9, 2)), np.ones((2, 6)), np.ones((2, 2))
    fixed = x.copy()
    fixed.flags.writeable = False
    for wrong in ((sos, settled, fixed), (sos, settled, x.T), (sos, settled, x.astype(np.float32)),
                  (sos, settled, x[:, 0].copy()), (sos[:1], settled, x), (sos[:, :5].copy(), settled, x)):  # fmt: skip
        with pytest.raises((ValueError, BufferError)):
            build.native().both_ways(*wrong)  # type: ignore[union-attr]
    build.native().both_ways(sos, settled, np.ones((0, 3)))  # type: ignore[union-attr]


@pytest.mark.parametrize("derivative", ["central", "central5"])
def test_derivative_of_a_parabola_and_its_ends(derivative: str):
    t = np.arange(9.0)[:, None] / 10
    d = DERIVATIVES[derivative](t**2, 0.1, Filter())
    np.testing.assert_allclose(d[1:-1], 2 * t[1:-1], atol=1e-13)
    np.testing.assert_allclose(d[[0, -1]], [[0.1], [1.5]], atol=1e-13)


def test_both_sides_get_the_same_filter():
    """tau = W x at every sample stays tau = W x after decimation, whatever W holds."""
    rng = np.random.default_rng(0)
    motion = prepared(RECORDING, Filter(cutoff_hz=20, rate_hz=40))
    W = rng.normal(size=(len(motion), 2, 5))
    x = rng.normal(size=5)
    w, y = decimated(motion, W, W @ x)
    assert len(y) == motion.kept == w.shape[0]
    np.testing.assert_allclose(w @ x, y, atol=1e-12)
    t, q = decimated(motion, motion.t, motion.q)
    np.testing.assert_allclose(np.diff(t), 12 / 500, atol=1e-9)
    np.testing.assert_allclose(q, motion.q[np.searchsorted(motion.t, t - 1e-9)], atol=1e-3)


@pytest.mark.parametrize("trim", [0.0, 0.05, None])
def test_both_sides_get_the_same_filter_near_the_ends(trim: float | None):
    """A short log gives away no more than it must, and tau = W x stays so up to its ends."""
    short, plan = RECORDING.select(slice(0, 1000)), Filter(cutoff_hz=20, rate_hz=20, trim_s=0.1, parallel_trim_s=trim)
    motion = prepared(short, plan)
    rng = np.random.default_rng(0)
    W, x = rng.normal(size=(len(motion), 2, 5)), rng.normal(size=5)
    w, y, ones = decimated(motion, W, W @ x, np.ones(len(motion)))
    np.testing.assert_allclose(w @ x, y, atol=1e-12)
    np.testing.assert_allclose(ones, 1.0, atol=1e-12)
    given = 0.1 + (4.5 / 8.0 if trim is None else trim)  # s: of the low-pass, and of the parallel filter at 8 Hz
    first, stop, _ = motion.keep
    assert motion.t[first] - short.t[0] == pytest.approx(given, abs=2 / 500)
    assert short.t[-1] - motion.t[stop - 1] == pytest.approx(given, abs=2 / 500)


def test_decimation_removes_what_would_fold_back():
    noisy = replace(RECORDING, tau=M["tau"] + np.sin(2 * np.pi * 101 * M["t"])[:, None])
    motion = prepared(noisy, Filter(cutoff_hz=10, rate_hz=50))
    clean = prepared(RECORDING, Filter(cutoff_hz=10, rate_hz=50))
    a, b = decimated(motion, motion.tau)[0], decimated(clean, clean.tau)[0]
    assert np.abs(a - b).max() < 1e-3


@pytest.mark.parametrize(
    "filter",
    [Filter(cutoff_hz=8), Filter(cutoff_hz=8, on="signals"), Filter(cutoff_hz=10, rate_hz=37, derivative="savgol"),
     Filter(cutoff_hz=30, rate_hz=500), Filter(cutoff_hz=8, parallel_trim_s=0.0),
     Filter(cutoff_hz=8, parallel_trim_s=0.1)],
)  # fmt: skip
@pytest.mark.parametrize("size", [3000, 4999, 30_000])
def test_blocks_give_what_the_whole_gives(filter: Filter, size: int):
    rng = np.random.default_rng(0)
    noisy = replace(RECORDING, q=M["q"] + 1e-4 * rng.normal(size=M["q"].shape))
    whole = prepared(noisy, filter)
    parts = list(prepared_blocks((noisy.select(slice(k, k + size)) for k in range(0, len(noisy), size)), filter))
    for name in ("t", "q", "qd", "qdd", "tau"):
        expected = decimated(whole, getattr(whole, name))[0]
        found = np.concatenate([decimated(part, getattr(part, name))[0] for part in parts])
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_cutoff_is_chosen_from_the_signal():
    rng = np.random.default_rng(0)
    for noise in (1e-6, 1e-4, 1e-3):
        q = M["q"] + noise * rng.normal(size=M["q"].shape)
        assert 2.0 < chosen_cutoff(q, 500.0) < 8.0  # the motion ends at 0.3 Hz
    plan = resolved(Filter(), RECORDING)
    assert None not in (plan.cutoff_hz, plan.rate_hz, plan.parallel_hz, plan.trim_s)


@pytest.mark.parametrize("name", ["cutoff_hz", "parallel_hz"])
def test_cutoff_above_nyquist_names_both(name: str):
    with pytest.raises(FilterError, match=r"of 300 Hz is above the Nyquist frequency of 250 Hz"):
        prepared(RECORDING, Filter(**{"cutoff_hz": 10, name: 300}))


def test_filters_that_cannot_be():
    for wrong in ({"window": 8}, {"order": 0}, {"cutoff_hz": -1}, {"trim_s": -1}, {"degree": 9}):
        with pytest.raises(MinertiaError, match=next(iter(wrong))):
            Filter(**wrong)
    with pytest.raises(OptionError, match="did you mean 'central'"):
        Filter(derivative="centrall")
    with pytest.raises(FilterError, match="too short"):
        prepared(RECORDING.select(slice(0, 120)), Filter(cutoff_hz=5))


def test_uneven_stamps_are_refused():
    t = M["t"].copy()
    t[900:] += 0.001
    with pytest.raises(RecordingError, match=r"row 901: the time stamps are not uniform"):
        prepared(replace(RECORDING, t=t), Filter(cutoff_hz=5))


def test_evaluation():
    evaluation = Evaluation(cutoff_hz=20.0, rate_hz=50.0, trim_s=1.0)
    times = evaluation_times(M["t"], evaluation)
    assert times[0] == 1.0 and times[-1] <= M["t"][-1] - 1.0 + 1e-6
    np.testing.assert_allclose(np.diff(times), 0.02)
    exact = evaluated_at(times, M["t"], M["tau"], evaluation)
    rows = np.searchsorted(M["t"], times - 1e-9)
    np.testing.assert_allclose(exact, M["tau"][rows], atol=1e-4)
    np.testing.assert_allclose(evaluated_at(times, M["t"], 0.9 * M["tau"], evaluation), 0.9 * exact, atol=1e-12)
    with pytest.raises(FilterError, match="too short to evaluate"):
        evaluation_times(M["t"][:400], evaluation)
    with pytest.raises(FilterError, match="too few to evaluate"):
        evaluated_at(times, M["t"][:2], M["tau"][:2], evaluation)
