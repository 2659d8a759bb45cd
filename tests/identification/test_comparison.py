"""Two fits side by side: those of one robot differ by chance alone, and at the stated rate; others are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.comparison import LEVEL, ModelComparison, compare_models
from minertia.identification.identify import identify
from minertia.identification.logs.recording import Recording
from minertia.identification.model import IdentifiedModel
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from tests.arm import ARM

FRICTION = ("viscous", "coulomb", "offset")


@cache
def arm(name: str = "arm") -> Robot:
    if name == "puma":
        return read_robot("puma560_physical")
    with TemporaryDirectory() as folder:
        Path(folder, "arm.urdf").write_text(ARM.format(name="arm"))
        return read_robot(Path(folder, "arm.urdf"))


def recorded(robot: Robot, seed: int, *, viscous: float = 1.0, stribeck: float = 0.0) -> Recording:
    """An independent log of one robot, of a motion of its own, with noise of its own."""
    rng, n = np.random.default_rng(seed), robot.n
    t = np.arange(1500) / 100.0
    size, w, phase = rng.uniform(0.2, 0.6, (3, n)), rng.uniform(0.6, 4.4, (3, n)), rng.uniform(0, 6.3, (3, n))
    angle = w * t[:, None, None] + phase
    q, qd, qdd = ((f * np.sin(angle + k * np.pi / 2)).sum(axis=1) for k, f in enumerate((size, size * w, size * w**2)))
    tau = inverse_dynamics(robot, q, qd, qdd) + 0.6 * viscous * qd + 0.4 * np.sign(qd)
    tau = tau + stribeck * np.sign(qd) * np.exp(-((qd / 0.3) ** 2))
    return Recording(t, q, tau + 0.03 * tau.std(axis=0) * rng.normal(size=tau.shape))


def model(robot: Robot, seed: int, effects: Sequence[str] | None = FRICTION, **more: float) -> IdentifiedModel:
    log = recorded(robot, seed, **more)
    return identify(Campaign(robot, [log], effects=effects, estimator="ols")).model()


def rates(found: Sequence[ModelComparison]) -> tuple[float, float]:
    """Parts of comparisons in which any value, and all values together, are said to differ."""
    assert all(one.joint is not None for one in found)
    return float(np.mean([bool(one.differing) for one in found])), float(
        np.mean([one.joint.p < LEVEL for one in found])
    )


@pytest.mark.slow
def test_fits_of_one_robot_differ_at_the_stated_rate() -> None:
    found = [compare_models(model(arm(), 2 * k), model(arm(), 2 * k + 1)) for k in range(8)]
    # 8 draws at 5 %: three or more come once in two hundred times, were the seeds not fixed
    assert all(rate <= 2 / 8 for rate in rates(found))
    assert np.mean([one.joint.chi2 / one.joint.df for one in found]) == pytest.approx(1.0, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("arm", 200), ("puma", 30)])
def test_fits_of_one_robot_differ_at_the_stated_rate_at_length(name: str, count: int) -> None:
    robot = arm(name)
    found = [compare_models(model(robot, 2 * k), model(robot, 2 * k + 1)) for k in range(count)]
    allowed = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / count)
    assert all(rate <= allowed for rate in rates(found)), rates(found)
    assert len(found[0].values) > (50 if name == "puma" else 5)


@pytest.mark.parametrize("seed", range(3))
def test_a_real_difference_is_found(seed: int) -> None:
    found = compare_models(model(arm(), seed), model(arm(), 100 + seed, viscous=1.15))
    assert {"FV1", "FV2"} & {value.name for value in found.differing}
    assert found.joint is not None and found.joint.p < 1e-3
    assert "differ: chi2" in found.sentences()[1] and "do not" not in found.sentences()[1]


@pytest.mark.parametrize("seed", range(3))
def test_values_that_mean_another_thing_are_not_compared(seed: int) -> None:
    """Coulomb friction beside a Stribeck effect is another than alone."""
    richer = model(arm(), seed, (*FRICTION, "stribeck"), stribeck=0.2)
    found = compare_models(model(arm(), 50 + seed, stribeck=0.2), richer)
    assert {value.name for value in found.unlike} == {"FV1", "FC1", "OFF1", "FV2", "FC2", "OFF2"}
    assert {value.name for value in found.in_one} == {"FS1@0.3", "FS2@0.3"}
    assert not found.differing, [(v.name, v.apart) for v in found.differing]
    assert any("only in one of the models: FS1@0.3, FS2@0.3" in sentence for sentence in found.sentences())
    data = found.to_dict()
    assert data["differing"] == 0 and [p["differs"] for p in data["parameters"]].count(True) == 0


def test_the_same_model_twice() -> None:
    one = model(arm(), 1)
    found = compare_models(one, one)
    assert not found.apart and found.joint is not None and found.joint.chi2 == 0 and found.joint.p == 1
