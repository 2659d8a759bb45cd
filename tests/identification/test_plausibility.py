"""Fits that are perfect and wrong: units that cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.identify import identify
from minertia.robot.read import read_robot
from tests.identification.fits import fitted
from tests.identification.logs import table, write_csv
from tests.identification.motions import fourier_motion

ROBOT = read_robot("puma560_physical")


@pytest.mark.parametrize(("unit", "words"), [("", ""), ("q", "are they degrees"), ("t", "are these seconds")])
def test_wrong_units_are_never_good(tmp_path: Path, unit: str, words: str):
    motion = fourier_motion(ROBOT, 2000, seed=3, duration=20.0, size=0.4)
    rng = np.random.default_rng(1)
    tau = motion.tau * (1 + 0.01 * rng.normal(size=motion.tau.shape))
    columns = {"t": motion.t * (1000 if unit == "t" else 1), "tau": tau}
    columns["q"] = np.rad2deg(motion.q) if unit == "q" else motion.q
    log = write_csv(tmp_path / "log.csv", table(columns, q="q", tau="tau"))
    found = identify(Campaign(ROBOT, log)).verdict
    assert found.is_good == (not unit)
    assert bool(unit) == ("log.csv" in found.reasons[0]) and words in found.reasons[0]


def test_data_without_noise_are_plausible():
    """A cone solver has fewer digits than least squares: that alone must not look like a wrong sign."""
    found = fitted(ROBOT, [fourier_motion(ROBOT, 600, seed=1)]).verdict
    assert not any("no robot" in reason for reason in found.reasons)
