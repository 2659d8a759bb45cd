"""A load that is picked up and put down again is noticed and weighed while the robot moves (needs MuJoCo)."""

from __future__ import annotations

import numpy as np
import pytest

from minertia import read_robot
from minertia.dynamics.model import inverse_dynamics
from minertia.errors import Infeasible
from minertia.excitation.fourier import Fourier
from minertia.robot.robot import Robot
from minertia.validation.change import ChangeDetector, clipped_weights
from minertia.validation.control_model import control_model
from minertia.validation.online_payload import PayloadListener, load_columns, watch_payload
from minertia.validation.tracking import Gains

pytest.importorskip("mujoco")
from minertia.validation.plant import Imperfections, Plant

MASS = 2.0


@pytest.fixture(scope="module")
def puma() -> Robot:
    return read_robot("puma560_physical").numeric


def test_columns_are_those_of_a_load(puma: Robot) -> None:
    loaded = puma.with_payload(MASS, (0.02, 0.01, 0.1), (0.01, 0.001, 0, 0.02, 0, 0.03))
    load = np.subtract(loaded.links[-1], puma.links[-1])  # type: ignore[arg-type]
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 6))
    more = np.subtract(inverse_dynamics(loaded, q, qd, qdd), inverse_dynamics(puma, q, qd, qdd))
    np.testing.assert_allclose(load_columns(puma)(q, qd, qdd) @ load, more, atol=1e-9)


NOISE = [0.3, 0.4, 0.12, 0.013, 0.01, 0.008]


@pytest.mark.parametrize("seed", [0, 4, 5, 6])
def test_a_load_comes_and_goes(puma: Robot, seed: int) -> None:
    """Both changes are noticed within 0.25 s, and nothing else is taken for one."""
    family = Fourier(5.0, 4)
    motion = family.from_free(
        np.array([0, 1.2, -1.5, 0, 0.3, 0]), 0.25 * np.random.default_rng(seed).normal(size=(6, family.free))
    )
    loaded = puma.with_payload(MASS, (0.02, 0, 0.1), (0.01, 0, 0, 0.01, 0, 0.01))
    flaws = Imperfections(resolution=1e-5, torque_noise=NOISE, velocity_cutoff=20.0)
    plant = Plant(puma, period=2e-3, imperfections=flaws, seed=seed)
    seen = watch_payload(puma, motion.sample(2501), [(1.5, loaded), (3.5, puma)], plant, gains=Gains(10.0))
    for at, mass in ((1.4, 0.0), (3.4, MASS), (4.9, 0.0)):
        values, deviations = seen.at(at)
        assert abs(values[-1] - mass) < max(4 * deviations[-1], 0.02) and deviations[-1] < 0.1
    assert len(seen.changes) == 2, seen.changes
    assert 1.5 < seen.changes[0] < 1.75 and 3.5 < seen.changes[1] < 3.75
    assert seen.names[-1] == "M" and len(seen.mass) == len(seen.mass_deviation) == len(seen.t)


def false_alarms(alike: float, runs: int, length: int) -> int:
    """Restarts in noise whose neighbours have this correlation, after a while to learn it."""
    count = 0
    for seed in range(runs):
        rng, detector, e = np.random.default_rng(seed), ChangeDetector(6, 6, 0.01), np.zeros(6)
        for _ in range(length):
            e = alike * e + np.sqrt(1 - alike**2) * rng.normal(size=6)
            count += detector.is_change(e, np.ones(6, bool))
    return count


def test_false_alarms_are_rare_and_changes_are_found() -> None:
    """50 s of noise cause none, independent or not, nor does one window of outliers; 2.5 deviations for long do."""
    assert false_alarms(0.0, 3, 1700) == 0 and false_alarms(0.6, 3, 1700) == 0
    rng, detector = np.random.default_rng(1), ChangeDetector(6, 6, 0.01)
    found = []
    for k in range(600):
        e = rng.normal(size=6)
        e[4] += 30.0 * (200 <= k < 207) + 2.5 * (k >= 500)
        if detector.is_change(e, np.ones(6, bool)):
            found.append(k)
            detector.forget()
    assert found and 500 < found[0] < 525


def test_outliers_pull_no_harder() -> None:
    e = np.array([0.0, -3.0, 30.0])
    np.testing.assert_allclose(clipped_weights(e) ** 2 * np.abs(e), [0.0, 3.0, 3.0])


def test_refusals(puma: Robot) -> None:
    with pytest.raises(Infeasible, match="positive memory"):
        PayloadListener(puma, control_model(puma), 0.1, 1e-3, memory=0.0)
    with pytest.raises(Infeasible, match="too short"):
        PayloadListener(puma, control_model(puma), 0.1, 1e-3).result()
