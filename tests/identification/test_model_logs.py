"""Real logs: residuals at least as good as the reference of each data set, judged by its fixed filter."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from minertia.identification.campaigns.read import read_campaign
from minertia.identification.identify import identify

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded logs are not here")
SLACK = 1.03  # for the last digits
# name -> relative residual on motion that was kept back, from the first run of this test
KEPT_BACK = {"ur10e_innopolis": 0.046, "xmate7_nku": 0.022, "dvrk_psm": 0.24}
NAMES = ("emps", "tx40_gautier", "ur10e_innopolis", "xmate7_nku", "dvrk_psm", "airbot_play", "panda_gaz2019")


QUICK = ("emps", "dvrk_psm")  # the others in make test-all
GRADES = {
    "airbot_play": "not good",  # all joints follow one chirp, and no other motion tells what the fit is worth
    "dvrk_psm": "usable",  # its joints leave a quarter of their unseen efforts or more
    "xmate7_nku": "usable",  # joint 7, of small efforts
    "kr300_weigand": "usable",  # A4
}  # good where not named


def campaign(name):
    return read_campaign(ROOT / "examples" / "logs" / f"{name}.toml", DATA / name)


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NAMES])
def test_residuals_reach_the_reference(name):
    reference = tomllib.loads((DATA / "evaluation.toml").read_text())[name]["reference"]
    result = identify(campaign(name))
    assert result.training.relative <= SLACK * reference
    if name in KEPT_BACK:
        assert max(r.relative for r in result.validation) <= KEPT_BACK[name]
    assert result.verdict.grade == GRADES.get(name, "good")
    if name == "emps":
        published = {"FV1": 203.5034, "FC1": 20.3935, "OFF1": -3.1648}
        mass = next(p.value for p in result.parameters if p.name.startswith("M"))
        assert mass == pytest.approx(95.1089, rel=0.01)
        assert {n: result.estimate.value(n) for n in published} == pytest.approx(published, rel=0.01)
    if name == "tx40_gautier":
        assert len(result.estimate.names) == 61


@pytest.fixture(scope="module")
def heavy():
    return identify(campaign("kr300_weigand"))


@pytest.mark.slow
def test_a_prior_saves_what_plain_least_squares_overfits(heavy):
    """KR300, first half: the physical fit with CAD prior and counterbalance beats CAD with fitted friction after it."""
    plain = identify(campaign("kr300_weigand"), estimator="wls")
    result = heavy
    rival = result.evidence.rivals["nominal with fitted friction"][0].relative
    assert plain.training.relative < result.training.relative < plain.validation[0].relative
    assert result.validation[0].relative <= rival < plain.validation[0].relative
    assert result.verdict.grade == GRADES["kr300_weigand"] and plain.verdict.grade == "not good"
    assert result.estimate.standard


@pytest.mark.slow
def test_a_physical_fit_is_not_called_more_uncertain_than_what_was_seen(heavy):
    """A prior holds values that the data leave open: their deviations say nothing of the efforts."""
    for residuals in heavy.validation:
        for remark in residuals.remarks:
            if "of the effort uncertain" in remark:
                part = float(remark.split("deviations alone make ")[1].split(" %")[0]) / 100
                assert part <= 2 * max(residuals.relative, heavy.training.relative)
    assert [limit.joint for limit in heavy.verdict.limits] == ["A4"]
