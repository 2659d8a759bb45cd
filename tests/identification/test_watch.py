"""The on-line watch: what it sees, when, how often for nothing, and that its C is the same."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.options import Arithmetic, CodeModel
from minertia.codegen.watch_rules import LOAD, RESIDUAL, SUSPECTED
from minertia.dynamics.model import inverse_dynamics
from minertia.errors import InputError, MinertiaError, ShapeError
from minertia.identification.online.c_levels import levels_header
from minertia.identification.online.evidence import BlockStage
from minertia.identification.online.levels import WatchLevels, WatchOptions, whitened
from minertia.identification.online.samples import SampleStage, blocks_of_log
from minertia.identification.watch import OnlineWatch
from tests.codegen.compiled import COMPILERS, STRICT, run
from tests.identification.watched import ARM, RATE, WATCHED, forgotten, levels_of, logged, states

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


def picked_up(seconds, seed, *changes):
    """A log in which the arm changes at some times: (time, arm) each."""
    t, q, tau = logged("half", seconds, seed)
    for time, arm in changes:
        other = logged("half", seconds, seed, arm)[2]
        tau = np.where(t[:, None] < time, tau, other)
    return t, q, tau


def test_residuals_need_no_acceleration():
    """Of exact efforts nothing is left, and what is left of a loaded arm's is the columns times the load."""
    t, q, qd, qdd = states(20.0, 3)
    level = WatchLevels(ARM.coordinate_names, RATE, (1.0,) * 6, (0.0,) * 6, (0.05,) * 6, 0.0, WatchOptions(cutoff_hz=20))
    empty, full = (blocks_of_log(WATCHED, level, t, q, inverse_dynamics(arm, q, qd, qdd)) for arm in (ARM, LOADED))
    ten = np.array([*LOADED.links[-1]]) - np.array([*ARM.links[-1]]) if hasattr(ARM, "links") else None
    rest = np.where(empty.valid, empty.e, 0.0)
    size = inverse_dynamics(ARM, q, qd, qdd).std(axis=0)
    assert np.all(np.abs(rest).max(axis=0) < 0.02 * size)
    load = np.linalg.lstsq(full.Y[full.valid], (full.e - empty.e)[full.valid], rcond=None)[0]
    assert load[9] == pytest.approx(MASS, rel=0.01)
    left = (full.e - empty.e)[full.valid] - full.Y[full.valid] @ load
    assert np.sqrt(np.mean(left**2)) < 0.01 * np.sqrt(np.mean(full.e[full.valid] ** 2))
    assert ten is None or np.allclose(load[6:9], ten[6:9], atol=0.01)
