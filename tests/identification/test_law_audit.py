"""Efforts held against the law of the position loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.law_audit import fitted_law, law_findings
from minertia.identification.campaigns.options import Command
from minertia.identification.campaigns.prepare import prepare_campaign
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.logs.recording import Recording
from tests.identification.test_commands import ARM, GAINS, recorded
from tests.shared import SHARED, needs_shared

PLANTED = Campaign(ARM, command=Command(**GAINS, delay=0.0075), links="physical")


@pytest.fixture(scope="module")
def logged() -> Recording:
    """A log with the efforts of the law that moved it, 10 ms late as a row, and noise."""
    log = recorded(replace(PLANTED, command=replace(PLANTED.command, delay=0.01)), rate=500.0)
    u = log.channels["command"]
    late = np.concatenate([np.repeat(u[:1], 5, axis=0), u[:-5]])
    speed = np.gradient(log.q, log.t, axis=0)
    tau = np.array(GAINS["kp"]) * (late - log.q) - np.array(GAINS["kd"]) * speed
    return replace(log, tau=tau + 0.1 * np.random.default_rng(3).normal(size=tau.shape))


def test_the_law_is_found_in_the_efforts(logged: Recording) -> None:
    for j in range(2):
        law = fitted_law(logged, logged.channels["command"][:, j], j, PLANTED.command)
        assert law is not None and law.relative < 0.1 and law.delay == pytest.approx(0.010, abs=0.004)
        assert law.gains["kp"][0] == pytest.approx(GAINS["kp"][j], rel=0.05)
        assert law.gains["kd"][0] == pytest.approx(GAINS["kd"][j], rel=0.1)


def test_stated_gains_that_disagree_are_named(logged: Recording) -> None:
    told = list(law_findings(logged, PLANTED.command))
    assert [finding.level for finding in told] == ["info", "info"]
    wrong = replace(PLANTED.command, kp=(150.0, 50.0))
    (warning,) = [f for f in law_findings(logged, wrong) if f.level == "warning"]
    assert warning.channel == "tau2" and "kp = 50 is given, but the efforts correspond to 8" in warning.text
    assert not any(f.level == "warning" for f in law_findings(logged, Command()))  # nothing is stated


def test_efforts_that_no_law_makes_and_logs_without_commands(logged: Recording) -> None:
    noise = np.random.default_rng(0).normal(size=logged.q.shape)
    told = list(law_findings(replace(logged, tau=noise), PLANTED.command))
    assert len(told) == 2 and all("no control law explains the efforts" in f.text and f.level == "info" for f in told)
    assert list(law_findings(replace(logged, channels={}), PLANTED.command)) == []


@needs_shared
def test_the_law_of_a_real_axis() -> None:
    """EMPS: the public law u = 42559 (q_ref - q) - 266.8 qd [V] leaves 1.7 % of the voltage."""
    from tests.identification.test_watch_real import CAMPAIGNS

    campaign = read_campaign(CAMPAIGNS / "emps.toml", SHARED / "data" / "emps")
    named = replace(campaign, columns=replace(campaign.map, command=("q_ref1",)))
    (log,) = prepare_campaign(named).train
    (finding,) = [f for f in log.findings if f.check == "law"]
    assert "by the commands" in finding.text
    recording = log.recording
    assert recording is not None
    law = fitted_law(recording, recording.channels["command"][:, 0], 0, named.command)
    assert law is not None and law.relative < 0.03
    assert law.gains["kp"][0] == pytest.approx(35.15065188 * 42559, rel=0.05)
