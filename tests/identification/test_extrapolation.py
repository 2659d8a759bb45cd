"""Motions that leave what a model was fitted on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import prepare_campaign
from minertia.identification.evidence.extrapolation import Reach, fitted_reach, remarks, unknown_part
from minertia.identification.identify import identify
from minertia.identification.model_file import read_model, write_model
from minertia.identification.signals.options import Evaluation, Filter
from minertia.identification.validate import validate
from minertia.robot.files import read_robot
from tests.identification.fits import USUAL, fitted
from tests.identification.logs import table, write_csv
from tests.identification.motions import fourier_motion, noisy

ROBOT = read_robot("puma560_physical")


def recording(seed: int, size: float, samples: int = 1500, level: float = 0.05):
    return noisy(fourier_motion(ROBOT, samples, seed, duration=10.0, size=size), np.random.default_rng(seed), level)


def told(result, motion) -> tuple[str, ...]:
    covariance, reach = result.covariance, fitted_reach(result.observation)
    return remarks(result.linear, result.beta, covariance, reach, result.training.relative, [motion])


@pytest.mark.slow
def test_a_small_motion_does_not_tell_of_a_large_one():
    small, large = recording(1, 0.1), recording(2, 0.9)
    found = told(fitted(ROBOT, [small]), large)
    assert any("not known accurately enough" in text for text in found)
    assert any("positions outside" in text for text in found) and any(
        "faster than in the training logs" in text for text in found
    )
    assert not told(fitted(ROBOT, [recording(k, 0.9) for k in (2, 3, 4)]), recording(5, 0.4))


@pytest.mark.slow
def test_the_part_that_is_not_known_is_the_error_made():
    """Over many noises, the deviations carried to another motion are the errors there."""
    motion, other = fourier_motion(ROBOT, 1500, 1, duration=10.0, size=0.3), fourier_motion(ROBOT, 300, 2, size=0.8)
    expected, made = [], []
    for seed in range(6):
        result = fitted(ROBOT, [noisy(motion, np.random.default_rng(seed), 0.05)])
        expected.append(unknown_part(result.linear, result.beta, result.covariance, [other]))
        made.append(np.linalg.norm(result.predict(other) - other.tau) / np.linalg.norm(other.tau))
    ratio = np.sqrt(np.mean(np.square(made)) / np.mean(np.square(expected)))
    assert 0.6 < ratio < 1.6


def test_a_saved_model_remembers_its_reach(tmp_path: Path):
    def log(name: str, motion) -> Path:
        return write_csv(tmp_path / name, table({"t": motion.t, "q": motion.q, "tau": motion.tau}, q="q", tau="tau"))

    small, large = log("small.csv", recording(1, 0.1)), log("large.csv", recording(2, 0.9))
    campaign = Campaign(ROBOT, small, large, effects=USUAL, filter=Filter(cutoff_hz=15.0),
                        evaluation=Evaluation(8.0, 40.0, 0.5), estimator="wls")  # fmt: skip
    ready = prepare_campaign(campaign)
    result = identify(ready)
    assert result.validation[0].remarks and any("large.csv: " in reason for reason in result.verdict.reasons)
    write_model(result.model(), tmp_path / "model.toml")
    again = read_model(tmp_path / "model.toml")
    assert validate(again, [large])[0].remarks == result.validation[0].remarks
    (told_so,) = validate(again, [small])[0].remarks  # nothing about its reach
    assert "was fitted" in told_so
    old = replace(again, evidence={k: v for k, v in again.evidence.items() if k != "reach"})
    assert validate(old, [large])[0].remarks == ()


def test_reach_as_plain_data():
    reach = Reach(np.array([0.0]), np.array([1.0]), np.array([2.0]))
    assert (
        Reach.from_dict(reach.to_dict()).to_dict() == reach.to_dict() == {"low": [0.0], "high": [1.0], "speed": [2.0]}
    )
    with pytest.raises(KeyError):
        Reach.from_dict({"low": [0.0]})
