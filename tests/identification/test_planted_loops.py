"""Planted position loops against what theory allows: the benchmark of docs/output-error.md, and what it must show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.planted_loops import FINE, HEAD, NOISE, allowed, arm, bare_log, one, recorded, row

from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.logs import made_log
from minertia.identification.closed_loop.simulate import simulated


def test_theory_allows_what_a_fit_of_white_noise_states() -> None:
    planted, rate, noise = replace(arm(), seconds=4.0), 200, 5e-4
    model = loop_model(planted.campaign, 1 / rate)
    truth = np.array([planted.theta[name] for name in model.names])
    plain = bare_log(planted, rate, 0, 2)
    motion = simulated(model, truth, plain, round(FINE / rate), slopes=False)
    assert motion is not None
    log = made_log(planted.campaign, "log", recorded(plain, motion.q, 0, noise, 0))
    fit = output_error(model, [log], truth, steps=[10])
    theory = np.linalg.norm(allowed(model, truth, plain, 10, noise), axis=1)
    assert np.all(fit.deviation > 0.8 * theory) and np.all(fit.deviation < 2 * theory)
    assert np.median(fit.deviation / theory) == pytest.approx(1.0, abs=0.15)
    twice = np.linalg.norm(allowed(model, truth, plain, 10, 2 * noise), axis=1)
    assert twice == pytest.approx(2 * theory)


def test_a_row_of_the_table_has_all_its_cells() -> None:
    made = row("2r", 50, 1, 3.0)
    assert made.count("|") == HEAD.splitlines()[0].count("|")
    assert made.startswith("| arm of two joints | 13 | 50 Hz, 3 s, noise 5e-4, 4096 counts | 1 |")


@pytest.mark.slow
@pytest.mark.parametrize("rate", [500, 50])
def test_errors_are_those_that_theory_allows_and_intervals_hold_them(rate: int) -> None:
    """With the rule of steps on: one that stops too early shows at 500 Hz, where the encoder has no counts."""
    planted = arm()
    model = loop_model(planted.campaign, 1 / rate)
    found = [one(planted, model, rate, seed, *NOISE["2r"][rate]) for seed in range(24)]
    assert np.mean([f.fit for f in found]) < 1.25 * np.mean([f.allowed for f in found])
    assert 0.91 < np.mean([f.held for f in found]) < 0.985
    assert np.mean([f.unseen for f in found]) < 0.05 * np.mean([f.unseen_law for f in found])
