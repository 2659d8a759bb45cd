"""Every estimator on every campaign of examples/logs: each ends with a result, or with one sentence."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.estimators import ESTIMATORS, named_estimator
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.identify import build_problem, judge, solve
from minertia.identification.kind import Problem
from minertia.io.errors import MinertiaError
from tests.shared import SHARED, needs_shared

LOGS = Path(__file__).parents[2] / "examples" / "logs"
# campaign -> one sample of so many is kept where the logs are made short; every cut-off stays below half the rate
THINNING = {
    "airbot_play": 2, "double_pendulum_dfki": 3, "dvrk_psm": 4, "emps": 4, "kr300_weigand": 4, "panda_gaz2019": 10,
    "tx40_gautier": 20, "ur10e_innopolis": 1, "xmate7_nku": 1,
}  # fmt: skip
QUICK = ("emps",)  # the others take more than a minute together
DRAWN = ("auto", "tls", "iv", "sequential")  # to a prior, or to something else than a small residual
# fit all that the motion shows, so their residual is small
FREE = [name for name in ESTIMATORS if name not in DRAWN and not named_estimator(name).fills_gaps]


def thinned(source: Path, target: Path, step: int) -> None:
    """A log with fewer samples."""
    head, *rows = gzip.decompress(source.read_bytes()).decode().splitlines()
    target.write_bytes(gzip.compress("\n".join([head, *rows[::step]]).encode(), 1))


def short_campaign(name: str, folder: Path) -> Campaign:
    """The campaign on its first log of each kind, thinned out."""
    whole = read_campaign(LOGS / f"{name}.toml", SHARED / "data" / name)
    used = (*whole.train[:1], *whole.validate[:1])
    for file in {log.file for log in used}:
        thinned(file, folder / file.name, THINNING[name])
    short = [replace(log, source=folder / log.file.name) for log in used]
    return replace(whole, train=tuple(short[:1]), validate=tuple(short[1:]))


def ends_well(problem: Problem, estimator: Estimator, most: float) -> str:
    """Nothing for a result whose residual is at most so much of the efforts, else the sentence it ended with."""
    try:
        result = judge(problem, solve(problem, estimator))
    except MinertiaError as err:
        assert str(err) and "\n" not in str(err)
        return str(err)
    assert np.isfinite(result.beta).all() and np.isfinite(result.estimate.covariance).all()
    assert 0 < result.training.relative < most
    assert result.to_json() and str(result)
    return ""


def test_every_campaign_is_looked_at():
    assert sorted(THINNING) == sorted(path.stem for path in LOGS.glob("*.toml"))


@needs_shared
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in THINNING])
def test_every_estimator_on_short_logs(name, tmp_path):
    problem = build_problem(short_campaign(name, tmp_path))
    quick = {"iv": {"iterations": 1, "segments": 200}}
    made = {e: named_estimator(e, **quick.get(e, {})) for e in ESTIMATORS}
    ended = {e: ends_well(problem, estimator, 1.0 if e in FREE else 100.0) for e, estimator in made.items()}
    assert {e for e, sentence in ended.items() if sentence} <= {"iv"}
    assert "so it gives no instruments" in ended["iv"] or not ended["iv"]
    assert not (name == "emps" and ended["iv"])


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", THINNING)
def test_every_estimator_on_whole_logs(name, estimator):
    problem = build_problem(read_campaign(LOGS / f"{name}.toml", SHARED / "data" / name))
    sentence = ends_well(problem, named_estimator(estimator), 0.3 if estimator in FREE else 100.0)
    assert not sentence or estimator == "iv"


@needs_shared
def test_instruments_from_the_command_line(run, tmp_path):
    thinned(SHARED / "data" / "emps" / "emps_id.csv.gz", tmp_path / "emps_id.csv.gz", 4)
    command = ("identify", "--campaign", LOGS / "emps.toml", "--data", tmp_path, "--estimator", "iv")
    code, out, err = run(*command)
    assert code == 0 and "EMPS, iv" in out, err
    code, _, err = run(*command, "--effects", "viscous,load_coulomb")
    assert code == 2 and "remove load_coulomb from" in err
