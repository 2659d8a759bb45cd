"""Fits that are perfect and wrong: units that cannot be."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import minertia.identification.evidence.plausibility as plausibility
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.estimators.automatic import MOST_LINKS
from minertia.identification.identify import identify
from minertia.robot.files import read_robot
from tests.identification.fits import USUAL, fitted
from tests.identification.logs import table, write_csv
from tests.identification.motions import fourier_motion

ROBOT = read_robot("puma560_physical")


UNITS = {"q": "are in degrees", "t": "are in seconds", "": ""}
CASES = [
    pytest.param(unit, words, effects, marks=() if unit and effects else pytest.mark.slow)
    for unit, words in UNITS.items()
    for effects in (USUAL, None)
]


@pytest.mark.parametrize(("unit", "words", "effects"), CASES)
def test_wrong_units_are_never_good(tmp_path: Path, unit: str, words: str, effects: tuple[str, ...] | None):
    motion = fourier_motion(ROBOT, 2000, seed=3, duration=20.0, size=0.4)
    rng = np.random.default_rng(1)
    tau = motion.tau * (1 + 0.01 * rng.normal(size=motion.tau.shape))
    columns = {"t": motion.t * (1000 if unit == "t" else 1), "tau": tau}
    columns["q"] = np.rad2deg(motion.q) if unit == "q" else motion.q
    log = write_csv(tmp_path / "log.csv", table(columns, q="q", tau="tau"))
    found = identify(Campaign(ROBOT, log, effects=effects)).verdict
    assert found.is_good == (not unit)
    assert bool(unit) == ("log.csv" in found.reasons[0]) and words in found.reasons[0]


def test_data_without_noise_are_plausible():
    """A cone solver has fewer digits than least squares: that alone must not look like a wrong sign."""
    found = fitted(ROBOT, [fourier_motion(ROBOT, 600, seed=1)]).verdict
    assert not any("no robot" in reason for reason in found.reasons)


def sentence(monkeypatch, free: list[float], physical: list[float], effort: list[float], links: int = 2) -> str | None:
    """What is said of joints that leave these residuals with any values, and with values that a robot can have."""
    totals = np.zeros((len(effort), 3, 3))
    totals[:, 0, -1] = effort
    asked = SimpleNamespace(
        model=None,
        totals=totals,
        effort_rms=np.array(effort),
        samples=100,
        row_names=("j1", "j2", "j3")[: len(effort)],
        residuals=lambda beta: np.array(beta),
        triangle=lambda sigma: np.eye(3),
    )
    space = SimpleNamespace(links=range(links))
    space.free = lambda: space  # without the shapes of the links
    monkeypatch.setattr(plausibility, "physical_space", lambda *_: space)
    monkeypatch.setattr(plausibility, "trusted_levels", lambda problem, sigma: sigma)
    monkeypatch.setattr(plausibility, "unshifted", lambda problem, R: R)
    monkeypatch.setattr(plausibility, "physical_fit", lambda *_, **__: SimpleNamespace(beta=physical))
    return plausibility.implausible(asked, asked, free, np.ones(len(effort)), {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("free", "physical", "is_told"),
    [
        (0.05, 0.09, False),  # not twice as much
        (0.05, 0.11, True),
        (0.001, 0.015, False),  # not 2 % of the effort more
        (0.001, 0.025, True),
        (0.02, 0.039, False),
        (0.02, 0.045, True),
    ],
)
def test_twice_the_residual_and_two_percent_more_is_no_robot(monkeypatch, free, physical, is_told):
    found = sentence(monkeypatch, [free, free], [physical, physical], [1.0, 1.0])
    assert (found is not None) == is_told
    if found is not None:
        assert (
            f"relative residual of {100 * physical:.3g} %, this fit {100 * free:.3g} %" in found
            and "most at" not in found
        )


@pytest.mark.parametrize(("physical", "is_told"), [(0.09, False), (0.12, True)])
def test_a_joint_alone_needs_a_tenth_of_its_effort_more(monkeypatch, physical, is_told):
    """A wrist whose effort hardly counts among all."""
    found = sentence(monkeypatch, [0.1, 0.001], [0.1, physical], [10.0, 1.0])
    assert (found is not None) == is_told
    assert found is None or "most at j2;" in found
    assert sentence(monkeypatch, [0.1, 0.3], [0.1, 0.55], [10.0, 1.0]) is None  # not twice as much


def test_robots_too_large_to_ask_are_not_judged(monkeypatch):
    assert sentence(monkeypatch, [0.001], [0.9], [1.0], links=0) is None
    assert sentence(monkeypatch, [0.001], [0.9], [1.0], links=MOST_LINKS + 1) is None
    assert sentence(monkeypatch, [0.001], [0.9], [1.0], links=MOST_LINKS) is not None
