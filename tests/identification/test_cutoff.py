"""The cut-off of the position filter, from what is left of the efforts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.prepare import prepare_campaign
from minertia.identification.identify import identify
from minertia.identification.signals.options import Evaluation, Filter
from minertia.identification.signals.spectrum import chosen_cutoff, quiet_frequency
from minertia.robot.files import read_robot
from tests.identification.fits import USUAL
from tests.identification.logs import table, write_csv
from tests.identification.motions import fourier_motion

ROBOT = read_robot(Path(__file__).parents[2] / "examples" / "robots" / "double_pendulum.toml")


@pytest.fixture
def campaign(tmp_path: Path):
    """A campaign of a pendulum whose encoders have a noise, with a function that says how large."""

    def made(noise: float) -> Campaign:
        motion = fourier_motion(ROBOT, 5000, seed=3, duration=10.0)
        rng = np.random.default_rng(1)
        q = motion.q + noise * rng.normal(size=motion.q.shape)
        tau = motion.tau + 0.02 * rng.normal(size=motion.tau.shape)
        log = write_csv(tmp_path / f"log{noise}.csv", table({"t": motion.t, "q": q, "tau": tau}, q="q", tau="tau"))
        return Campaign(ROBOT, log, effects=USUAL, evaluation=Evaluation(20.0, 100.0, 0.3))

    return made


def residual(campaign: Campaign, **filter_options: float) -> float:
    return identify(replace(campaign, filter=Filter(**filter_options))).training.relative


@pytest.mark.slow
def test_as_good_as_the_best_of_many(campaign):
    for noise in (1e-5, 1e-3, 4e-3):
        own = campaign(noise)
        best = min(residual(own, cutoff_hz=f) for f in (1, 2, 3, 4, 6, 8, 12, 20, 40))  # 1 Hz: ten cycles
        assert residual(own) <= 1.05 * best


def test_noisier_encoders_ask_for_a_lower_cutoff(campaign):
    quiet, noisy = (prepare_campaign(campaign(noise)).campaign.filter.cutoff_hz for noise in (1e-5, 4e-3))
    assert noisy < quiet


def test_a_stated_cutoff_stays(campaign):
    own = replace(campaign(1e-3), filter=Filter(cutoff_hz=7.0))
    assert prepare_campaign(own).campaign.filter.cutoff_hz == 7.0


def test_noise_that_is_not_white_ends_the_quiet_band():
    """Velocities with white noise: the spectrum of the positions falls all the way, and has no floor."""
    rate, rng = 500.0, np.random.default_rng(0)
    t = np.arange(5000) / rate
    q = np.column_stack([np.sin(2 * np.pi * 1.1 * t), 0.5 * np.sin(2 * np.pi * 0.7 * t)])
    drift = np.cumsum(rng.normal(size=q.shape), axis=0) / rate
    level = [quiet_frequency(q + size * drift, rate) for size in (0.03, 0.3, 3.0)]
    assert 1.1 < level[2] < level[1] < level[0]
    assert chosen_cutoff(q + 3.0 * drift, rate) <= level[2] < 15


def test_a_short_log_still_holds_ten_cycles(campaign, tmp_path: Path):
    own = campaign(4e-3)
    short = Log(own.train[0].file, 0.0, 3.0)
    ready = prepare_campaign(replace(own, train=(Log(own.train[0].file, 3.0, None),), validate=(short,)))
    assert ready.campaign.filter.cutoff_hz >= 10 / 3
