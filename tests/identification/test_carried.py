"""Logs with a known load, fitted together with empty ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia.identification.campaigns.recorded as recorded
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.prepare import prepare_campaign
from minertia.identification.identify import Identification, build_problem, identify, solve
from minertia.identification.loads.load import Load
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import CampaignError, UnknownName
from minertia.robot.files import read_robot
from tests.identification.fits import USUAL, part_left, unseen_part
from tests.identification.logs import table, write_csv
from tests.identification.motions import fourier_motion

ROBOT = read_robot("puma560_physical")
BODY = {"mass": 2.5, "com": (0.03, -0.02, 0.1), "inertia": (0.02, 0.001, -0.002, 0.03, 0.0, 0.015)}
LOAD = Load(**BODY)


def log(folder: Path, name: str, seed: int, loaded: bool) -> Path:
    robot = ROBOT.with_payload(BODY["mass"], BODY["com"], BODY["inertia"]) if loaded else ROBOT
    m = fourier_motion(robot, 4000, seed, duration=20.0)
    return write_csv(folder / name, table({"t": m.t, "q": m.q, "tau": m.tau}, q="q", tau="tau"))


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("logs")
    empty, loaded, other = (log(folder, f"{k}.csv", k, k > 1) for k in (1, 2, 3))
    return Campaign(
        ROBOT, (Log(empty), Log(loaded, load=LOAD)), (Log(other, load=LOAD),),
        filter=Filter(cutoff_hz=20.0), evaluation=Evaluation(10.0, 50.0, 1.0), estimator="wls", effects=USUAL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def found(campaign: Campaign) -> Identification:
    return identify(campaign)


def without_loads(campaign: Campaign) -> Campaign:
    train, validate = (tuple(replace(e, load=None) for e in part) for part in (campaign.train, campaign.validate))
    return replace(campaign, train=train, validate=validate)


def test_empty_and_loaded_logs_give_the_empty_robot(campaign, found):
    result = found
    assert result.training.relative < 2e-3 and result.validation[0].relative < 2e-3
    problem = build_problem(without_loads(campaign))
    blind = solve(problem)
    assert min(part_left(problem, blind, log) for log in problem.logs) > 10 * result.training.relative
    assert unseen_part(problem, blind) > 10 * result.validation[0].relative
    nominal = result.linear.nominal()
    inertial = [k for k in range(result.linear.count) if not result.linear.is_friction(k)]
    moments = [k for k in inertial if result.linear.names[k].startswith(("MX", "MY"))]
    np.testing.assert_allclose(result.beta[moments], nominal[moments], atol=5e-3)


@pytest.mark.slow
def test_the_cutoff_is_chosen_with_the_load(campaign):
    problem = build_problem(replace(campaign, filter=Filter()))
    estimate = solve(problem)
    assert max(part_left(problem, estimate, log) for log in problem.logs) < 2e-3


@pytest.mark.slow
def test_long_logs_carry_it_too(campaign, found, monkeypatch):
    whole = found
    monkeypatch.setattr(recorded, "LONG_BYTES", 1)
    blocks = identify(campaign)
    assert blocks.validation[0].relative == pytest.approx(whole.validation[0].relative, rel=0.1)
    np.testing.assert_allclose(blocks.beta, whole.beta, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_a_load_that_is_not_there_is_doubted(campaign, found):
    wrong = replace(campaign, train=campaign.train[:1], validate=(replace(campaign.validate[0], load=None),))
    wrong = replace(wrong, validate=(replace(wrong.validate[0], load=Load(2.5, (0.0, 0.0, -1.5))),))
    reasons = identify(wrong).verdict.reasons
    assert any("is predicted better without its payload" in reason for reason in reasons)
    assert not any("without its payload" in reason for reason in found.verdict.reasons)


def test_loads_that_cannot_be(campaign):
    for load, error in (
        (Load(1.0, at="nowhere"), UnknownName),
        (Load(1.0, inertia=(-1.0, 0, 0, 1, 0, 1)), CampaignError),
    ):
        with pytest.raises(error):
            prepare_campaign(replace(campaign, train=(replace(campaign.train[0], load=load),)))
