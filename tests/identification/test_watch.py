"""The on-line watch: what it sees, when, how often for nothing, and that its C is the same."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.options import Arithmetic, CodeModel
from minertia.codegen.targets.names import identifier
from minertia.codegen.watch_rules import LOAD, RESIDUAL, SUSPECTED
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.online.c_levels import levels_header
from minertia.identification.online.evidence import BlockStage
from minertia.identification.online.levels import WatchLevels, whitened
from minertia.identification.online.options import WatchOptions
from minertia.identification.online.samples import SampleStage, blocks_of_log
from minertia.identification.watch import OnlineWatch
from minertia.io.errors import InputError, MinertiaError, ShapeError
from tests.codegen.compiled import COMPILERS, STRICT, run
from tests.identification.watched import ARM, RATE, WATCHED, forgotten, levels_of, logged, states

KINDS = ("short", "half", "long", "tails", "two", "model")
MASS, COM, INERTIA = 1.9, (0.0, 0.03, 0.1), (0.02, 0.0, 0.0, 0.02, 0.0, 0.01)
LOADED = ARM.with_payload(MASS, com=COM, inertia=INERTIA)


@pytest.fixture(scope="module")
def levels():
    return levels_of("half")


def taken(levels, *log):
    """The watch after a log, taken block by block."""
    watch = OnlineWatch(ARM, levels)
    blocks = blocks_of_log(WATCHED, levels, *log)
    for row in zip(blocks.e, blocks.Y, blocks.valid, strict=True):
        watch.take(*row)
    return watch


def picked_up(seconds, seed, *changes, speed=1.0):
    """A log in which the arm changes at some times: (time, arm) each."""
    t, q, tau = logged("half", seconds, seed, speed=speed)
    for time, arm in changes:
        other = logged("half", seconds, seed, arm, speed)[2]
        tau = np.where(t[:, None] < time, tau, other)
    return t, q, tau


def test_residuals_need_no_acceleration():
    """Of exact efforts nothing is left, and what is left of a loaded arm's is the columns times the load."""
    t, q, qd, qdd = states(20.0, 3)
    usual = WatchOptions(cutoff_hz=20.0)
    level = WatchLevels(ARM.coordinate_names, RATE, (1.0,) * 6, (0.0,) * 6, (0.05,) * 6, 0.0, usual)
    empty, full = (blocks_of_log(WATCHED, level, t, q, inverse_dynamics(arm, q, qd, qdd)) for arm in (ARM, LOADED))
    size = inverse_dynamics(ARM, q, qd, qdd).std(axis=0)
    assert np.all(np.abs(np.where(empty.valid, empty.e, 0.0)).max(axis=0) < 0.02 * size)
    more, Y = (full.e - empty.e)[full.valid], full.Y[full.valid]
    load = np.linalg.lstsq(Y, more, rcond=None)[0]
    assert np.linalg.norm(more - Y @ load) < 0.01 * np.linalg.norm(more)
    wanted = np.array(LOADED.links[-1], float) - np.array(ARM.links[-1], float)
    assert np.allclose(load[6:], wanted[6:], atol=0.01)


@pytest.mark.parametrize("velocities", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_samples_one_by_one_are_those_of_the_log_at_once(levels, velocities):
    levels = levels.at(velocities=velocities)
    t, q, tau = logged("half", 12.0, 9)
    qd = states(12.0, 9)[2] if velocities else None
    stage, found = SampleStage(WATCHED, levels), []
    for k in range(len(t)):
        block = stage.step(q[k], tau[k], None if qd is None else qd[k])
        found += [] if block is None else [block]
    wanted = blocks_of_log(WATCHED, levels, t, q, tau, qd)
    assert len(found) == len(wanted.t) > 50
    for (e, Y, valid), *row in zip(found, wanted.e, wanted.Y, wanted.valid, strict=True):
        assert np.array_equal(valid, row[2])
        assert np.allclose(e, row[0], atol=1e-8) and np.allclose(Y, row[1], atol=1e-8)


def test_a_load_is_named_when_it_is_taken_up_and_put_down(levels):
    watch = taken(levels, *picked_up(60.0, 11, (15.0, LOADED), (40.0, ARM)))
    up, down = watch.alarms
    assert (up.what, down.what) == ("load", "load")
    assert 14.5 <= up.since <= 16.5 and up.raised < 18.0 and up.before == 0.0
    assert up.mass == pytest.approx(MASS, abs=4 * up.deviation) and up.deviation < 0.2
    assert 39.5 <= down.since <= 41.5 and down.before == pytest.approx(MASS, abs=0.05)
    assert down.mass == pytest.approx(0.0, abs=4 * down.deviation)
    assert re.match(r"payload changed: 0 -> 1\.[89]\d* \+- 0\.\d+ kg since 15\.\d s", up.sentence())


@pytest.mark.parametrize(("kind", "runs"), [("two", 3), *(pytest.param(k, 20, marks=pytest.mark.slow) for k in KINDS)])
def test_deviations_of_loads_hold_under_coloured_residuals(kind, runs):
    levels, off, at_once = levels_of(kind), [], 0
    for seed in range(200, 200 + runs):
        t, q, tau = logged(kind, 40.0, seed)
        watch = taken(levels, t, q, np.where(t[:, None] < 15.0, tau, logged(kind, 40.0, seed, LOADED)[2]))
        assert watch.alarms[-1].what == "load" and watch.load is not None
        at_once += len(watch.alarms) == 1  # else a residual first
        off += [(watch.load.mass - MASS) / watch.load.mass_deviation]
        off += ((np.array(watch.load.com) - COM) / watch.load.com_deviation).tolist()
    assert np.mean(np.abs(off) < 1.96) >= (0.9 if runs > 10 else 0.7)
    assert at_once >= 0.85 * runs


def test_the_load_is_refined_and_says_what_the_motion_does_not_determine(levels):
    watch = taken(levels, *picked_up(60.0, 11, (15.0, LOADED)))
    assert len(watch.alarms) == 1 and watch.load is not None
    assert watch.load.mass == pytest.approx(MASS, abs=4 * watch.load.mass_deviation)
    assert watch.load.mass_deviation < watch.alarms[0].deviation
    assert np.allclose(watch.load.com, COM, atol=0.02) and watch.load.cautions == ()
    slow = taken(levels, *picked_up(60.0, 11, (15.0, LOADED), speed=0.25)).load
    assert slow is not None and any("do not determine" in caution for caution in slow.cautions)
    assert taken(levels, *logged("half", 20.0, 12)).load is None


def test_more_friction_is_no_load(levels):
    t, q, tau = logged("half", 60.0, 13)
    qd = states(60.0, 13)[2]
    more = 8.0 * levels.sigma[2] * np.sign(qd[:, 2])
    tau[:, 2] += np.where(t > 20.0, more, 0.0)
    first = taken(levels, t, q, tau).alarms[0]
    assert (first.what, first.joint) == ("residual", "j3") and 19.0 < first.since < 26.0
    assert "residual of joint 'j3' high since" in first.sentence()


def test_a_joint_that_is_high_raises_one_alarm_and_counts_again_when_it_is_normal(levels):
    t, q, tau = logged("half", 120.0, 14)
    off = (t > 20.0) & (t < 60.0) | (t > 100.0)
    tau[:, 3] += 10.0 * levels.sigma[3] * off
    alarms = taken(levels, t, q, tau).alarms
    assert [alarm.joint for alarm in alarms] == ["j4", "j4"]
    assert alarms[0].since < 30.0 and alarms[1].since > 95.0


def false_alarms(levels, kind, hours, seed):
    """Alarms raised in so many hours without a fault, ten minutes a motion."""
    count = 0
    for k in range(round(6 * hours)):
        blocks, stage = blocks_of_log(WATCHED, levels, *logged(kind, 600.0, seed + k)), BlockStage(levels)
        count += sum(stage.step(*row) == SUSPECTED for row in zip(blocks.e, blocks.Y, blocks.valid, strict=True))
    return count


@pytest.mark.parametrize(
    ("kind", "hours"),
    [
        ("two", 1 / 6),
        *(
            pytest.param(kind, 3.0, marks=pytest.mark.slow)
            for kind in ("short", "half", "long", "tails", "two", "model")
        ),
    ],
)
def test_false_alarms_are_no_more_than_stated(kind, hours):
    """A minute has one stated: an hour shows what that comes to."""
    found = false_alarms(levels_of(kind, 240.0, per_hour=60.0), kind, hours, 1000)
    assert found <= 60.0 * hours


@pytest.mark.slow
def test_residuals_taken_for_white_raise_more_alarms_than_stated():
    """What the likeness of neighbours is learned for: without it the statement is wrong."""
    known = levels_of("half", 240.0, per_hour=60.0)
    assert false_alarms(replace(known, alike=(0.0,) * 6), "half", 1 / 6, 1000) > 20


def test_likeness_reaches_across_blocks_that_do_not_count():
    """Noise that is forgotten slowly is not news after a pause."""
    x = forgotten(np.random.default_rng(0).normal(size=200_000), 5.0)
    valid = np.arange(len(x)) % 7 > 2
    w = whitened(x, valid, float(np.exp(-1 / RATE / 5.0)))
    assert np.std(w) == pytest.approx(1.0, abs=0.02)
    assert abs(np.mean(w[1:] * w[:-1])) < 0.02


# ------------------------------------------------------------------ C

WRAPPER = """#include "watch_levels.h"
static {p}_watch watch;
void begin(void);
void begin(void) {{ {p}_watch_start(&watch); }}
int step(const {real} *q, const {real} *tau);
int step(const {real} *q, const {real} *tau) {{ return {p}_watch_step(&{p}_levels, &watch, q, tau, 0); }}
{real} value(int k);
{real} value(int k) {{ return k < 10 ? watch.load[k] : k == 10 ? watch.mean_evidence : ({real})watch.since; }}
int joint(void);
int joint(void) {{ return watch.joint; }}
"""


@pytest.mark.skipif(not COMPILERS, reason="needs a C compiler")
@pytest.mark.parametrize("precision", ["double", pytest.param("float", marks=pytest.mark.slow)])
def test_the_c_sees_what_python_sees(levels, precision, tmp_path):
    t, q, tau = picked_up(45.0, 11, (15.0, LOADED))
    qd = states(45.0, 11)[2]
    tau[:, 3] += np.where(t > 30.0, 12.0 * levels.sigma[3] * np.sign(qd[:, 3]), 0.0)
    arithmetic = Arithmetic(precision, "own")
    generate(ARM, tmp_path, programs=["watch_terms"], model=CodeModel(), arithmetic=arithmetic)
    (tmp_path / "watch_levels.h").write_text(levels_header(levels, ARM.name, precision))
    prefix = identifier(ARM.name)
    (tmp_path / "wrapper.c").write_text(WRAPPER.format(p=prefix, real=precision))
    run([COMPILERS[0], *STRICT, "-O2", "-shared", "-fPIC", "wrapper.c", f"{prefix}.c", "-o", "w.so", "-lm"], tmp_path)
    code = ctypes.CDLL(str(tmp_path / "w.so"))
    kind = np.float64 if precision == "double" else np.float32
    code.value.restype = ctypes.c_double if precision == "double" else ctypes.c_float
    watch, told, wanted = OnlineWatch(ARM, levels), [], []
    code.begin()
    for k in range(len(t)):
        given = [np.ascontiguousarray(x[k], kind) for x in (q, tau)]
        seen = code.step(*(ctypes.c_void_p(x.ctypes.data) for x in given))
        block = watch.blocks.block
        alarm = watch.step(q[k], tau[k])
        if seen:
            told.append((k, seen, code.joint(), code.value(9)))
        if alarm is not None:
            number = SUSPECTED if not alarm.is_named else LOAD if alarm.what == "load" else RESIDUAL
            wanted.append((k, number, watch.blocks.joint, watch.blocks.load[9]))
        if watch.blocks.block > block and k < 1400:
            assert code.value(10) == pytest.approx(watch.blocks.evidence, rel=1e-6 if precision == "double" else 0.05)
    assert [row[:3] for row in told] == [row[:3] for row in wanted]
    assert {row[1] for row in told} == {SUSPECTED, LOAD, RESIDUAL}
    tolerance = 1e-8 if precision == "double" else 2e-3
    assert [row[3] for row in told] == pytest.approx([row[3] for row in wanted], rel=tolerance)
    final = [code.value(k) for k in range(10)]
    assert np.allclose(final, watch.blocks.load, atol=(1e-8 if precision == "double" else 5e-3))


# ------------------------------------------------------------------ the border


def test_levels_go_through_files_and_refuse_what_they_are_not(levels):
    assert WatchLevels.from_dict(levels.to_dict()) == levels
    with pytest.raises(InputError, match="not a valid file"):
        WatchLevels.from_dict({"joints": ["a"]})
    with pytest.raises(InputError, match="other joints"):
        OnlineWatch(ARM, replace(levels, joints=tuple("abcdef")))
    with pytest.raises(InputError, match="cut-off below"):
        replace(levels, rate=20.0)
    with pytest.raises(InputError, match="per_hour of WatchOptions must be a number above 0"):
        WatchOptions(per_hour=0.0)
    with pytest.raises(InputError, match="'sigma'"):
        replace(levels, sigma=(1.0,))


def test_samples_that_are_none_are_refused(levels):
    watch = OnlineWatch(ARM, levels)
    with pytest.raises(ShapeError, match="q of a sample"):
        watch.step(np.zeros(5), np.zeros(6))
    with pytest.raises(ShapeError, match="tau of a sample"):
        watch.step(np.zeros(6), np.full(6, np.nan))
    with pytest.raises(ShapeError, match="velocities"):
        watch.step(np.zeros(6), np.zeros(6), np.zeros(6))


def test_too_little_normal_motion_is_refused():
    with pytest.raises(MinertiaError, match="longer"):
        levels_of("half", 6.0)
