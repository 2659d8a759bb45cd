"""Each threshold of the audits and repairs from both sides: what is told just beyond it, and not just before."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minertia.identification.audits.audit import audit
from minertia.identification.audits.values import quantum, runs
from minertia.identification.logs.recording import Recording
from minertia.identification.logs.repair import (
    even_grid,
    moving_parts,
    proper_range,
    repaired,
    still_window,
    usual_step,
    without_repeats,
    worth_cutting,
)
from minertia.io.errors import RecordingError
from tests.identification.logs import chain, motion, recorded

ROBOT = chain("RR", limit=3.0)


def parts_of(recording: Recording) -> list[tuple[int, int]]:
    return moving_parts([recording], recording.t, np.ptp(recording.q, axis=0))


def told(recording: Recording, robot=None) -> dict[str, list]:
    """Findings by check."""
    found: dict[str, list] = {}
    for finding in audit(recording, robot):
        found.setdefault(finding.check, []).append(finding)
    return found


def with_gap(width: float, at: int = 800) -> Recording:
    """A motion at 200 Hz whose clock jumps after a sample, so that one step is this wide [s]."""
    m = motion()
    return Recording(m["t"] + (width - 0.005) * (np.arange(2000) >= at), m["q"], m["tau"])


@pytest.mark.parametrize(
    ("samples", "rate", "level"),
    [(19, 200, "error"), (20, 200, "warning"), (199, 50, "warning"), (200, 50, None), (380, 200, "warning")],
)
def test_length(samples, rate, level):
    m = motion(seconds=samples / rate, rate=rate)
    found = told(Recording(m["t"], m["q"], m["tau"])).get("length", [])
    assert [f.level for f in found] == ([] if level is None else [level])


@pytest.mark.parametrize(("step", "is_told"), [(0.45, False), (0.55, True)])
def test_clock(step, is_told):
    m = motion(seconds=300 * step, rate=1 / step)
    assert ("clock" in told(Recording(m["t"], m["q"], m["tau"]))) == is_told


@pytest.mark.parametrize(("width", "level"), [(0.007, None), (0.008, "warning"), (0.24, "warning"), (0.26, "error")])
def test_gaps(width, level):
    """1.5 steps of 5 ms are a gap, a quarter of a second cannot be bridged."""
    found = told(with_gap(width)).get("gaps", [])
    assert [f.level for f in found] == ([] if level is None else [level])
    assert not found or (found[0].row == 800 and "1 gaps longer than 7.5 ms" in found[0].text)


@pytest.mark.parametrize(("width", "is_bridged"), [(0.24, True), (0.27, False)])
def test_gaps_that_are_bridged(width, is_bridged):
    if is_bridged:
        even = repaired(with_gap(width), standstill=False)
        assert len(even) == 2000 + round((width - 0.005) / 0.005)
        assert even.rate_hz == pytest.approx(200, rel=1e-6)
    else:
        with pytest.raises(RecordingError, match="a gap of 0.27 s follows"):
            repaired(with_gap(width))


@pytest.mark.parametrize(("slow", "width", "is_bridged"), [(0.1, 1.9, True), (0.1, 2.2, False)])
def test_gaps_of_slow_logs_are_twenty_steps(slow, width, is_bridged):
    t = slow * np.arange(400.0)
    t[200:] += width - slow
    recording = Recording(t, np.sin(t)[:, None] * [1, 2], np.cos(t)[:, None] * [1, 2])
    assert ([f.level for f in told(recording)["gaps"]] == ["error"]) != is_bridged
    if is_bridged:
        assert even_grid(recording) is not None
    else:
        with pytest.raises(RecordingError, match="a gap of"):
            even_grid(recording)


@pytest.mark.parametrize(("back", "level"), [(0.2, "warning"), (0.3, "error")])
def test_time_that_goes_back_a_little(back, level):
    m = motion()
    t = m["t"].copy()
    t[700:] -= back
    recording = Recording(t, m["q"], m["tau"])
    found = told(recording)["backward stamps"]
    assert [f.level for f in found] == [level] and found[0].row == 701
    assert ("two logs" in found[0].text) == (level == "error")
    if level == "error":
        with pytest.raises(RecordingError, match="row 701: time goes back"):
            without_repeats(recording)
    else:
        kept = without_repeats(recording)
        assert np.all(np.diff(kept.t) > 0) and len(kept) == 2000 - round((back - 0.005) / 0.005) - 1
        assert kept.notes[-1].startswith("40 samples")


def test_uneven_steps_are_told_from_even_ones():
    m = motion()
    for jitter, is_told in ((1e-3, True), (1e-7, False)):
        found = told(Recording(m["t"] + jitter * (np.arange(2000) % 2), m["q"], m["tau"]))
        assert ("jitter" in found) == is_told and ("rate" in found) != is_told
    assert found["rate"][0].text == "200 Hz, uniformly sampled, 2000 samples, 9.995 s"


def test_four_uneven_samples_are_enough_for_a_cubic():
    t = np.array([0.0, 0.010, 0.022, 0.030])
    even = repaired(Recording(t, (t**3)[:, None], t[:, None]), standstill=False)
    assert np.allclose(np.diff(even.t), even.t[1]) and len(even) >= 3
    assert np.allclose(even.q[:, 0], even.t**3, atol=1e-12) and np.allclose(even.tau[:, 0], even.t)
    with pytest.raises(RecordingError, match="has 3 samples, which is too few"):
        repaired(Recording(t[:3], (t[:3] ** 3)[:, None], t[:3, None]), standstill=False)


def test_usual_step_leaves_repeats_and_gaps_out():
    t = np.cumsum([0.0, *[0.01, 0.0] * 20, 0.016, 5.0, *[0.01] * 9])
    assert usual_step(t) == pytest.approx(0.01, abs=1e-12)
    assert usual_step(np.zeros(5)) == 0.0
    assert usual_step(np.cumsum([0.0, 0.01, 0.014, 0.01])) == pytest.approx(0.034 / 3)


@pytest.mark.parametrize(("largest", "is_told"), [(200.0, False), (170.0, True), (9.5, False)])
def test_degrees_are_positions_that_only_make_sense_so(largest, is_told):
    """Beyond 1.5 times the limit of 3 rad (172 degrees), more than 10, and within the limit as degrees."""
    m = motion()
    recording = Recording(m["t"], largest * m["q"], m["tau"])
    assert ("degrees" in told(recording, ROBOT)) == is_told


@pytest.mark.parametrize(("reach", "is_told"), [(300.0, True), (400.0, False), (11.0, True)])
def test_degrees_without_limits(reach, is_told):
    """More than two turns, which would be at most one in degrees."""
    m = motion()
    assert ("degrees" in told(Recording(m["t"], reach * m["q"], m["tau"]), chain("RR"))) == is_told
    assert "degrees" not in told(Recording(m["t"], reach * m["q"], m["tau"]), chain("PP"))


@pytest.mark.parametrize(("shift", "is_told"), [(2.1, False), (2.16, True), (-2.1, False), (-2.16, True)])
def test_limits_have_a_slack_of_two_percent(shift, is_told):
    """Limits of 3 rad, a motion of 1 rad about the shift: 0.12 rad of slack."""
    m = motion()
    found = told(Recording(m["t"], m["q"] + shift, m["tau"]), ROBOT).get("limits", [])
    assert bool(found) == is_told
    if found:
        x = m["q"][:, 0] + shift
        outside = np.flatnonzero(np.abs(x) > 3.12)
        assert f"{len(outside)} samples are outside the limits -3 to 3" in found[0].text
        assert found[0].row == 1 + outside[0] and found[0].channel == "q1"


@pytest.mark.parametrize(("factor", "is_told"), [(1.08, False), (1.13, True), (0.92, False), (0.87, True)])
@pytest.mark.parametrize("name", ["qd", "qdd"])
def test_derivatives_may_be_off_by_a_tenth(name, factor, is_told):
    m = motion()
    found = told(recorded(**{name: factor * m[name]})).get(f"{name} inconsistent", [])
    assert [f.channel for f in found] == ([f"{name}1", f"{name}2"] if is_told else [])
    assert not found or f"it is about {factor:.3g} times that" in found[0].text


def test_derivatives_that_are_something_else_have_no_factor():
    m = motion()
    noise = np.random.default_rng(0).normal(size=m["qd"].shape)
    found = told(recorded(qd=np.cumsum(noise, axis=0) * 0.1))["qd inconsistent"]
    assert found and all("times that" not in f.text for f in found)


def test_runs():
    mask = np.array([1, 1, 0, 1, 0, 0, 1], bool)
    assert runs(mask) == [(0, 1), (3, 3), (6, 6)] and runs(mask[:0]) == []


def test_values_that_are_not_numbers():
    m = motion()
    tau = m["tau"].copy()
    tau[[10, 20, 21, 22, 40], 1] = np.nan
    found = told(recorded(tau=tau))["not a number"]
    assert [(f.channel, f.row) for f in found] == [("tau2", 11)]
    assert found[0].text == "not a number in rows 21 to 23, 3 intervals in total"


@pytest.mark.parametrize(("held", "is_told"), [(2, False), (3, True)])
def test_rows_that_repeat(held, is_told):
    """More than one in a thousand."""
    m = {name: v.copy() for name, v in motion().items()}
    for k in range(held):
        for name in ("q", "qd", "qdd", "tau"):
            m[name][100 + 50 * k] = m[name][99 + 50 * k]
    found = told(Recording(**m)).get("held rows", [])
    assert bool(found) == is_told
    assert not found or (found[0].row == 101 and found[0].text.startswith("3 of 2000 rows"))


@pytest.mark.parametrize(("samples", "is_told"), [(18, False), (22, True)])
def test_stuck_for_a_tenth_of_a_second(samples, is_told):
    m = motion()
    q = m["q"].copy()
    q[1000 : 1000 + samples, 0] = q[1000, 0]  # the joint is at its fastest there
    assert ("stuck" in told(Recording(m["t"], q, m["tau"]))) == is_told


def test_a_joint_that_stops_slowly_is_not_stuck():
    m = motion()
    q = m["q"].copy()
    top = int(np.argmax(q[:1000, 0]))
    q[top : top + 60, 0] = q[top, 0]
    q[top + 60 :, 0] = q[top : len(q) - 60, 0]
    assert "stuck" not in told(Recording(m["t"], q, m["tau"]))


@pytest.mark.parametrize(("samples", "is_told"), [(4, False), (5, True)])
def test_saturation_is_five_samples_in_a_row(samples, is_told):
    rng = np.random.default_rng(0)
    tau = rng.uniform(-1, 1, (2000, 2))
    tau[300 : 300 + samples, 0] = 1.5
    tau[600:602, 1] = -1.5
    found = told(recorded(tau=tau)).get("saturation", [])
    assert [(f.channel, f.row) for f in found] == ([("tau1", 301)] if is_told else [])


def test_a_spike_makes_no_other_sample_saturated():
    tau = np.random.default_rng(0).normal(size=(2000, 2))
    tau[100, 0] = 1e9
    found = told(recorded(tau=tau))
    assert "saturation" not in found and "spikes" in found


def test_a_flat_top_is_not_saturated():
    """Many samples near the largest one: the effort turns round there by itself."""
    m = motion()
    tau = np.round(m["tau"], 3)
    tau[:, 0] = np.minimum(tau[:, 0], np.sort(tau[:, 0])[-6])
    assert "saturation" not in told(recorded(tau=tau))


@pytest.mark.parametrize(("step", "is_told"), [(3e-4, False), (6e-4, True)])
def test_quantisation_is_told_above_a_part_of_the_range(step, is_told):
    """2 parts in ten thousand of a range of 2."""
    m = motion()
    found = told(Recording(m["t"], np.round(m["q"] / step) * step, m["tau"])).get("quantisation", [])
    assert bool(found) == is_told
    assert not found or f"quantised at {step:.2g}, 1/333" in found[0].text


def test_quantum():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 400, 3000)
    assert quantum(0.02 * levels) == pytest.approx(0.02)
    assert quantum(0.02 * levels + 1e-10 * rng.normal(size=3000)) == pytest.approx(0.02, rel=1e-6)
    assert quantum(rng.normal(size=3000)) is None
    assert quantum(np.array([0.0, 1.0, 0.0])) is None
    assert quantum(np.array([0.0, 1.0, 2.0])) == 1.0


@pytest.mark.parametrize(("size", "is_told"), [(0.17, False), (0.25, True)])
def test_spikes_are_a_fifth_of_the_range(size, is_told):
    m = motion()
    tau = m["tau"].copy()
    low, high = np.percentile(tau[:, 1], (1, 99))
    tau[[700, 900], 1] += size * (high - low)
    found = told(recorded(tau=tau)).get("spikes", [])
    assert [f.channel for f in found] == (["tau2"] if is_told else [])
    assert not found or (found[0].text.startswith("2 spikes") and found[0].row in (701, 901))


def test_noise_has_no_spikes():
    rng = np.random.default_rng(0)
    assert "spikes" not in told(recorded(tau=rng.normal(size=(2000, 2))))


def still(before: float, after: float) -> Recording:
    """A motion with so many seconds of standstill around it."""
    m = motion()
    a, b = round(200 * before), round(200 * after)
    q = np.concatenate([np.repeat(m["q"][:1], a, 0), m["q"], np.repeat(m["q"][-1:], b, 0)])
    return Recording(np.arange(len(q)) / 200, q, np.cos(q))


@pytest.mark.parametrize(("before", "after"), [(0.35, 0.0), (0.0, 0.35), (0.5, 0.4)])
def test_standstill_of_a_fifth_of_a_second_is_cut(before, after):
    recording = still(before, after)
    (found,) = told(recording)["standstill"]
    assert "identify removes these parts" in found.text
    cut = repaired(recording, stamps=False, resample=False)
    # the window of 0.1 s in which motion is measured may begin before it
    assert len(recording) - len(cut) == pytest.approx(200 * (before + after), abs=45)
    assert cut.notes[-1].startswith("standstill removed")
    assert (cut.first_row > 1) == (before > 0)


def test_short_standstill_stays():
    recording = still(0.1, 0.1)
    assert "standstill" not in told(recording) and repaired(recording, stamps=False, resample=False) is recording


def test_moves_apart_from_the_motion():
    assert proper_range([(0, 9), (200, 300), (400, 600), (700, 719)], 800) == (200, 600)
    assert proper_range([(0, 20), (200, 400)], 800) == (0, 400)  # a tenth of the longest belongs to it
    assert proper_range([], 800) == (0, 799)
    assert still_window(0.005) == 20 and still_window(0.0) == 1 and still_window(1.0) == 1


def test_parts_of_the_motion_are_told_by_pauses():
    m = motion(1)
    q = np.concatenate([m["q"], np.repeat(m["q"][-1:], 100, 0), m["q"][::-1]])
    parts = parts_of(Recording(np.arange(len(q)) / 200, q, q))
    assert len(parts) == 2
    assert parts[0][1] == pytest.approx(2000, abs=22) and parts[1][0] == pytest.approx(2100, abs=22)
    q = np.concatenate([m["q"], np.repeat(m["q"][-1:], 50, 0), m["q"][::-1]])
    assert len(parts_of(Recording(np.arange(len(q)) / 200, q, q))) == 1


def test_what_moves_less_than_a_part_of_its_travel_stands_still():
    t = np.arange(4000) / 200
    for part, moves in ((0.03, True), (0.01, False)):  # of the travel of 2, per second: 0.2 % in 0.1 s
        q = np.where(t < 10, np.sin(2 * math.pi * 0.3 * t), part * 2 * (t - 10))[:, None]
        assert (parts_of(Recording(t, q, q))[-1][1] > 3900) == moves


@pytest.mark.parametrize(("start", "samples"), [(0.0, 20), (1e3, 20), (-50.0, 2000)])
def test_even_logs_stay_as_they_are(start, samples):
    """However short, and whenever they begin."""
    t = start + 0.01 * np.arange(samples)
    q = np.sin(3 * (t - start))[:, None]
    recording = Recording(t, q, q)
    assert even_grid(recording) is None and repaired(recording, standstill=False) is recording
    one_late = t + 0.002 * (np.arange(samples) == 10)
    grid = even_grid(Recording(one_late, q, q))
    assert grid is not None and grid.start == t[0] and grid.step == pytest.approx(0.01, rel=1e-6)
    assert grid.count == samples and grid.times(0, grid.count)[-1] == pytest.approx(t[-1])
    assert [grid.before(start + x) for x in (0.0, 0.0049, 0.01, 0.0151)] == [1, 1, 2, 2]


def test_a_repaired_log_begins_where_the_log_does():
    """Positions to the fourth order of the step, efforts to the second, at all times of the grid."""
    rng = np.random.default_rng(0)
    t = 7.0 + np.cumsum(0.01 * rng.uniform(0.8, 1.2, 500))
    q, tau = np.sin(2 * t)[:, None], np.cos(2 * t)[:, None]
    even = repaired(Recording(t, q, tau), standstill=False)
    assert even.t[0] == t[0] and t[-1] - even.t[-1] < 0.01 and np.ptp(np.diff(even.t)) < 1e-9
    inner = slice(3, -3)
    np.testing.assert_allclose(even.q[inner, 0], np.sin(2 * even.t[inner]), atol=2e-8)
    np.testing.assert_allclose(even.tau[:, 0], np.cos(2 * even.t), atol=2e-4)


def test_what_is_cut_off_is_standstill_and_no_more():
    recording = still(0.5, 0.4)
    first, last = parts_of(recording)[0]
    cut = repaired(recording, stamps=False, resample=False)
    assert (cut.t[0], cut.t[-1]) == (recording.t[first], recording.t[last]) and len(cut) == last - first + 1
    assert cut.notes[-1] == f"standstill removed: {recording.t[first]:.3g} s at the start, " + (
        f"{recording.t[-1] - recording.t[last]:.3g} s at the end"
    )


@pytest.mark.parametrize(("samples", "moves"), [(20, False), (21, True)])
def test_a_log_as_short_as_the_window_shows_no_motion(samples, moves):
    """Of 0.1 s, in which motion is measured."""
    t = np.arange(samples) / 200
    parts = parts_of(Recording(t, np.sin(t)[:, None], t[:, None]))
    assert parts == ([(0, 20)] if moves else [])


@pytest.mark.parametrize(("back", "is_kept"), [(0.7, True), (1.3, False)])
def test_slow_logs_may_go_back_by_ten_steps(back, is_kept):
    """At 10 Hz: some samples came late, or there are two logs."""
    t = 0.1 * np.arange(400.0)
    t[200:] -= back
    recording = Recording(t, np.sin(t)[:, None], np.cos(t)[:, None])
    if is_kept:
        kept = without_repeats(recording)
        assert np.all(np.diff(kept.t) > 0) and len(kept) == 393
    else:
        with pytest.raises(RecordingError, match="row 201: time goes back by"):
            without_repeats(recording)


def test_other_channels_are_never_beyond_what_was_measured():
    """A switch that is thrown stays between off and on when the log is resampled, and so does an effort."""
    rng = np.random.default_rng(0)
    t = np.cumsum(0.01 * rng.uniform(0.8, 1.2, 300))
    switch = (t > 1.5).astype(float)[:, None]
    even = repaired(Recording(t, np.sin(t)[:, None], switch, channels={"switch": switch}), standstill=False)
    for values in (even.channels["switch"], even.tau):
        assert values.min() >= -1e-12 and values.max() <= 1 + 1e-12 and len(np.unique(values.round(9))) <= 3


def test_standstill_is_cut_from_a_fifth_of_a_second_on():
    """At 64 Hz: 13 samples are enough, 12 are not, at either end."""
    t = 3.0 + np.arange(400) / 64
    assert worth_cutting((13, 386), t) == (13, 386)
    assert worth_cutting((12, 386), t) == (0, 386)
    assert worth_cutting((13, 387), t) == (13, 399)
