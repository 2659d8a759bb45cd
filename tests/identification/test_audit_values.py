"""Audits of single channels and of the clock against known answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import median_filter

from minertia.identification.audits.audit import audit
from minertia.identification.audits.findings import Finding
from minertia.identification.audits.values import quantum, spike_rows, without_spikes
from minertia.identification.logs.recording import Recording
from tests.identification.logs import motion, recorded


def told(recording: Recording, check: str) -> list[Finding]:
    """Findings of one check."""
    return [finding for finding in audit(recording) if finding.check == check]


def stuck(samples: int, rate: float = 200.0, idle: float = 0.0) -> Recording:
    """A motion at a rate whose first joint hangs for so many samples where it is fastest, with idle time behind it."""
    m = motion(rate=rate)
    q = m["q"].copy()
    k = round(5 * rate)
    q[k : k + samples, 0] = q[k, 0]
    q = np.concatenate([q, np.repeat(q[-1:], round(idle * rate), axis=0)])
    return Recording(np.arange(len(q)) / rate, q, np.cos(q + np.arange(len(q))[:, None]))


def test_a_joint_that_mostly_rests_can_be_stuck():
    (found,) = told(stuck(40, idle=20.0), "stuck")
    assert found.channel == "q1" and found.row == 1001 and "rows 1001 to 1040" in found.text


@pytest.mark.parametrize(("samples", "is_told"), [(4, False), (5, True), (6, True)])
def test_a_slow_log_needs_some_samples_to_be_stuck(samples, is_told):
    """A tenth of a second is two samples at 20 Hz: too few to say so."""
    assert bool(told(stuck(samples, rate=20.0), "stuck")) == is_told


def test_a_joint_can_be_stuck_from_the_second_row_on():
    t = np.arange(400) / 100
    q = np.sin(t)[:, None]
    q[1:40] = q[1]
    (found,) = told(Recording(t, q, np.cos(7 * t)[:, None]), "stuck")
    assert found.row == 2


def test_commands_that_never_change_have_no_delay():
    t = np.arange(400) / 100
    still = Recording(t, np.sin(t)[:, None], channels={"command": np.full((400, 1), 0.3)})
    assert told(still, "constant command") and not told(still, "lag")


def test_what_stops_before_it_is_still_is_not_stuck():
    """Slower and slower, then at rest, then on its way at once: a pause of the controller, not of the channel."""
    m = motion()
    q = m["q"].copy()
    top = int(np.argmax(q[:1000, 0]))
    q[top:, 0] = q[top, 0]
    q[top + 100 :, 0] += 0.006 * np.arange(1, len(q) - top - 99)
    assert not told(Recording(m["t"], q, m["tau"]), "stuck")


def test_what_goes_on_slowly_is_not_stuck():
    m = motion()
    q = m["q"].copy()
    q[1000:, 0] = q[1000, 0]  # at its fastest
    q[1100:, 0] += 1e-6 * np.arange(len(q) - 1100) ** 2
    assert not told(Recording(m["t"], q, m["tau"]), "stuck")


def test_saturation_is_told_of_both_sides_at_the_longest_run():
    rng = np.random.default_rng(0)
    tau = rng.uniform(-1, 1, (2000, 2))
    tau[100:102, 0], tau[500:507, 0], tau[900:903, 0] = 1.5, 1.5, 1.5
    tau[1200:1206, 0] = -1.5
    upper, lower = told(recorded(tau=tau), "saturation")
    assert (upper.row, lower.row) == (501, 1201)
    assert upper.text.startswith("12 samples are at the largest value 1.5")
    assert lower.text.startswith("6 samples are at the smallest value -1.5")


@pytest.mark.parametrize(("width", "is_told"), [(0.02, False), (0.06, True)])
def test_many_samples_close_to_the_largest_make_no_saturation(width, is_told):
    """A dozen samples within this part of the range of ten that are equal: an effort that turns round slowly."""
    rng = np.random.default_rng(0)
    tau = rng.uniform(-1, 0.5, (2000, 2))
    tau[500:510, 0] = 1.0
    tau[1000:1012, 0] = 1.0 - 2 * width * np.linspace(0.8, 1.0, 12)
    tau[0, 0] = -1.0
    assert bool(told(recorded(tau=tau), "saturation")) == is_told


@pytest.mark.parametrize(("part", "is_found"), [(0.02, True), (0.3, False)])
def test_a_few_values_between_the_steps_hide_no_quantum(part, is_found):
    rng = np.random.default_rng(0)
    x = 0.02 * rng.integers(0, 400, 3000).astype(float)
    levels = np.unique(x)
    odd = rng.random(len(levels)) < part
    x = x + 0.0075 * odd[np.searchsorted(levels, x)]
    assert (quantum(x) is not None) == is_found
    assert not is_found or quantum(x) == pytest.approx(0.02, rel=0.5)


def test_quantum_of_values_that_are_few_or_equal():
    assert quantum(np.zeros(100)) is None
    levels = np.random.default_rng(0).integers(0, 400, 3000)
    for unit in (1e-7, 1e7):  # whatever the unit
        assert quantum(unit * levels) == pytest.approx(unit)
    assert quantum(np.array([np.nan, 0.0, np.nan, 3.0, 6.0, 9.0])) == 3.0


@pytest.mark.parametrize(("size", "is_told"), [(3.0, False), (10.0, True)])
def test_spikes_stand_out_of_the_noise(size, is_told):
    """Efforts that are mostly noise, and one sample this many times as far away as the noise goes."""
    rng = np.random.default_rng(0)
    tau = rng.uniform(-1, 1, (2000, 2))
    tau[700, 1] = size
    found = told(recorded(tau=tau), "spikes")
    assert [(f.channel, f.row) for f in found] == ([("tau2", 701)] if is_told else [])
    assert not found or found[0].text.startswith("1 spike, the largest")


@pytest.mark.parametrize(
    ("bad", "text"), [([5, 6], "in rows 6 to 7"), ([5, 9, 10], "in rows 10 to 11, 2 intervals in total")]
)
def test_runs_of_no_numbers_are_counted(bad, text):
    m = motion()
    q = m["q"].copy()
    q[bad, 0] = np.nan
    (found,) = told(Recording(m["t"], q, m["tau"]), "not a number")
    assert found.text == f"not a number {text}" and (found.channel, found.row) == ("q1", 6)


def test_standstill_names_the_row_where_the_motion_begins():
    m = motion()
    q = np.concatenate([np.repeat(m["q"][:1], 300, axis=0), m["q"]])
    (found,) = told(Recording(np.arange(len(q)) / 200, q, np.cos(q)), "standstill")
    assert found.row == pytest.approx(301, abs=21)  # the window in which motion is measured
    assert found.text.startswith("the robot stands still for 1.4") and "and 0 s at the end" in found.text


def test_jitter_is_described_without_gaps_and_repeats():
    """Steps of 4 and 6 ms: a deviation of 1 ms, whatever is missing."""
    t = np.cumsum(np.tile([0.004, 0.006], 1000)) - 0.004
    t[1500:] += 1.0
    q = np.sin(np.outer(t, [1.0, 2.0]))
    (found,) = told(Recording(t, q, q + np.cos(t)[:, None]), "jitter")
    assert found.text.startswith("about 200 Hz, non-uniformly sampled: 1999 of 1999 steps differ")
    assert "(from 4 to 1e+03 ms, standard deviation 1 ms)" in found.text and found.row == 2


def test_the_first_uneven_step_is_named_by_the_row_it_leads_to():
    m = motion()
    t = m["t"] + 0.001 * (np.arange(2000) == 300)
    (found,) = told(Recording(t, m["q"], m["tau"]), "jitter")
    assert found.row == 301 and "2 of 1999 steps differ" in found.text


@pytest.mark.parametrize(("step", "back", "is_two_logs"), [(0.005, 0.2, False), (0.005, 0.3, True), (0.1, 0.9, False)])
def test_time_that_goes_back_far_is_another_log(step, back, is_two_logs):
    """A quarter of a second, or ten steps of a slow log."""
    t = step * np.arange(400.0)
    t[200:] -= back + step
    q = np.sin(np.outer(np.arange(400), [0.02, 0.03]))
    (found,) = told(Recording(t, q, q), "backward stamps")
    assert (found.level == "error") == is_two_logs and found.row == 201
    assert f"1 times, by at most {back:.4g} s" in found.text


def test_what_never_changes_is_told_as_that_alone():
    """An effort of one value is not saturated, and a joint that stands still not stuck."""
    m = motion()
    still = Recording(m["t"], m["q"] * [1.0, 0.0] + [0.0, 0.3], m["tau"] * [0.0, 1.0] + [1.5, 0.0])
    effort, joint = told(still, "constant")
    assert (effort.level, effort.channel, effort.text) == ("error", "tau1", "the effort is 1.5 throughout")
    assert (joint.level, joint.channel, joint.text) == ("warning", "q2", "the joint does not move")
    assert not told(still, "saturation") and not told(still, "stuck") and not told(still, "spikes")
    assert not told(still, "quantisation")


def test_torn_rows_name_the_first():
    m = motion()
    (found,) = told(Recording(m["t"], m["q"], m["tau"], torn=(17, 40)), "torn rows")
    assert found.row == 17 and found.level == "warning"


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 400])
def test_spikes_become_the_median_of_their_neighbours(rows):
    """Each column as SciPy's median filter has it, also at the ends of the log, and nothing else is changed."""
    rng = np.random.default_rng(rows)
    x = np.cumsum(rng.normal(size=(rows, 3)), axis=0)
    x[rows // 2, 1] += 1e3
    x[-1, 2] -= 1e3
    found = without_spikes(x)
    for own, column in zip(found.T, x.T, strict=True):
        off, spikes = spike_rows(column)
        middle = median_filter(column, 5, mode="nearest")
        assert np.array_equal(off, np.abs(column - middle))
        assert np.array_equal(own[spikes], middle[spikes])
        assert np.array_equal(np.delete(own, spikes), np.delete(column, spikes))
    assert rows < 400 or abs(found[:, 1]).max() < 100  # a last sample is its own neighbour, and stays
