"""A load that is picked up and put down again is noticed and weighed while the robot moves."""

from __future__ import annotations

from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minertia import read_robot
from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.fourier import Fourier
from minertia.io.errors import Infeasible
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from minertia.simulation.change import ChangeDetector, clipped_weights
from minertia.simulation.control_model import control_model
from minertia.simulation.online_payload import OnlinePayload, PayloadListener, _polynomial, load_columns, watch_payload
from minertia.simulation.plant import ControlSample, Imperfections, Plant
from minertia.simulation.tracking import Gains

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


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (4, 5, 6))])
def test_a_load_comes_and_goes(puma: Robot, seed: int) -> None:
    """Both changes are noticed within 0.25 s, and nothing else is taken for one."""
    pytest.importorskip("mujoco")
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
    for wrong in ({"every": 0}, {"memory": -1.0}):
        with pytest.raises(Infeasible, match="at least one sample"):
            PayloadListener(puma, control_model(puma), 0.1, 1e-3, **wrong)
    with pytest.raises(Infeasible, match="positive memory and period"):
        PayloadListener(puma, control_model(puma), 0.1, 0.0)
    assert PayloadListener(puma, control_model(puma), 0.1, 1e-3, every=1).every == 1
    with pytest.raises(Infeasible, match="too short"):
        PayloadListener(puma, control_model(puma), 0.1, 1e-3).result()


def test_false_alarms_have_the_stated_rate() -> None:
    """One in a hundred hours, over both signs of all joints, as far as innovations are normal and independent."""
    for n, period in ((1, 0.01), (6, 0.005)):
        detector = ChangeDetector(n, 6, period)
        tests = 2 * n * 3600 / period
        assert tests * (1 - NormalDist().cdf(detector.threshold)) == pytest.approx(0.01, rel=1e-6)
        assert detector.span == 21 and len(detector.recent) == n
        assert detector.by_jumps == pytest.approx(3 * 7 + 3 * np.sqrt(14))


def test_sums_may_be_larger_where_neighbours_are_alike() -> None:
    detector = ChangeDetector(2, 1, 0.01)
    by_chance = detector.threshold * np.sqrt(6)
    assert by_chance > detector.by_jumps and detector._most(0) == pytest.approx(by_chance)
    for _ in range(2000):
        detector._learn(0, 2.0, 1.0)  # squares of 4, neighbours alike by half
    assert detector.square[0] == pytest.approx(4.0) and detector.product[0] == pytest.approx(2.0)
    assert detector._most(0) == pytest.approx(by_chance * 2 * np.sqrt(3))
    assert detector._most(1) == pytest.approx(by_chance)
    for _ in range(2000):
        detector._learn(1, 0.1, -0.1)  # less than expected, and unlike: no test is sharper for that
    assert detector._most(1) == pytest.approx(by_chance)
    for _ in range(2000):
        detector._learn(1, 1.0, 1.0)
    assert detector._most(1) == pytest.approx(by_chance * np.sqrt(1.9 / 0.1), rel=1e-3)


def test_joints_that_turn_back_do_not_count() -> None:
    detector = ChangeDetector(2, 1, 0.01)
    for _ in range(5):
        assert not detector.is_change(np.array([9.0, 9.0]), np.array([True, False]))
    assert [len(recent) for recent in detector.recent] == [5, 0] and set(detector.recent[0]) == {3.0}
    detector.forget()
    assert not detector.recent[0]
    for side in (9.0, -9.0):
        told = [detector.is_change(np.array([side, 0.0]), np.array([True, True])) for _ in range(6)]
        assert told == [False] * 5 + [True]
        detector.forget()


@pytest.mark.parametrize("half", [3, 15])
def test_windows_give_value_velocity_and_acceleration_half_a_period_late(half: int) -> None:
    """Exactly for motions of degree four."""
    period, c = 2e-3, [0.3, -2.0, 5.0, 40.0, 900.0]
    motion = np.polynomial.Polynomial(c)
    found = _polynomial(half, period) @ motion(period * np.arange(-half, half + 1))
    late = period / 2
    assert found == pytest.approx([motion(late), motion.deriv()(late), motion.deriv(2)(late)], rel=1e-6)


@pytest.fixture
def listener(puma: Robot) -> PayloadListener:
    return PayloadListener(puma, control_model(puma), 0.5, 2e-3)


def test_settings_of_a_listener(puma: Robot, listener: PayloadListener) -> None:
    """A window of 60 ms, a memory of half a second, an update every fifth sample."""
    assert listener.half == 15 and listener.forgetting == pytest.approx(np.exp(-0.01 / 0.5))
    assert listener.q.maxlen == 31 and listener.tau.maxlen == 16 and listener.asked.maxlen == 31
    assert listener.detector.span == 3 * (7 + 1)
    slow = PayloadListener(puma, control_model(puma), 0.5, 0.05)
    assert slow.q.maxlen == 7  # what a polynomial of degree four needs, and two to spare


def test_innovations_are_over_their_own_deviation(listener: PayloadListener) -> None:
    rng = np.random.default_rng(0)
    Y, rest = rng.normal(size=(6, 10)), rng.normal(size=6)
    for _ in range(5):
        listener.state.update(rng.normal(size=(6, 10)), rng.normal(size=6))
    P, beta = listener.state.covariance, listener.state.beta
    wanted = [(rest[j] - Y[j] @ beta) / np.sqrt(0.25 + Y[j] @ P @ Y[j]) for j in range(6)]
    assert listener._innovations(Y, rest) == pytest.approx(wanted)


def test_joints_slide_while_they_go_one_way(listener: PayloadListener) -> None:
    t = 2e-3 * np.arange(31)
    speed = np.array([1.0, -1.0, 0.0, 1e-9, 1.0, 1.0])
    for k, now in enumerate(t):
        q = speed * now
        q[4] = abs(now - t[15])  # turns back in the middle
        listener.q.append(q)
        listener.asked.append(np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0 if k < 30 else -1.0]))
    qd = np.array([1.0, -1.0, 1e-3, 1e-9, 1.0, 1.0])
    assert listener._slides(qd).tolist() == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert listener._slides(-qd).tolist() == [0.0] * 6


def test_estimates_by_time() -> None:
    values = np.arange(30.0).reshape(3, 10)
    seen = OnlinePayload(LINK_SYMBOLS, np.array([1.0, 2.0, 3.0]), values, 0.1 * values)
    assert seen.at(2.0)[0][0] == 10.0 and seen.at(2.9)[1][0] == 1.0 and seen.at(9.0)[0][0] == 20.0
    assert seen.mass.tolist() == [9.0, 19.0, 29.0] and seen.mass_deviation == pytest.approx([0.9, 1.9, 2.9])
    with pytest.raises(Infeasible, match="no estimate before 1 s"):
        seen.at(0.99)


PERIOD = 2e-3
LOAD = (MASS, (0.02, 0.01, 0.1), (0.01, 0.001, 0, 0.02, 0, 0.03))
FREQUENCIES, PHASES = np.array([0.31, 0.43, 0.57, 0.71, 0.83, 0.97]), np.arange(6.0)


def heard(puma: Robot, seconds: float, loaded_at: float, seed: int, **options: float) -> PayloadListener:
    """A listener to a motion without any error of control, whose efforts are those of theory and noise.

    An effort is held for a period, so it is that of the middle of it.
    """
    rng, w = np.random.default_rng(seed), 2 * np.pi * FREQUENCIES
    t = PERIOD * np.arange(round(seconds / PERIOD))

    def at(t: np.ndarray) -> tuple[np.ndarray, ...]:
        x = np.outer(t, w) + PHASES
        return np.sin(x), w * np.cos(x), -(w**2) * np.sin(x)

    q, qd, qdd = at(t)
    tau = inverse_dynamics(puma, *at(t + PERIOD / 2))
    tau = np.where(t[:, None] < loaded_at, tau, inverse_dynamics(puma.with_payload(*LOAD), *at(t + PERIOD / 2)))
    tau = tau + np.array(NOISE) * rng.normal(size=tau.shape)
    listener = PayloadListener(puma, control_model(puma), NOISE, PERIOD, **options)
    for k, now in enumerate(t):
        listener(ControlSample(now, q[k], qd[k], q[k], qd[k], qdd[k]), tau[k])
    return listener


def test_a_load_is_weighed_as_well_as_is_stated(puma: Robot) -> None:
    """All ten parameters, within what is stated, which forgetting makes a root of two too much."""
    truth = np.subtract(puma.with_payload(*LOAD).links[-1], puma.links[-1])  # type: ignore[arg-type]
    off = []
    for seed in range(3):
        seen = heard(puma, 1.4, 0.0, seed).result()
        assert not seen.changes and seen.t[0] == pytest.approx(0.068)  # a fifth sample, with a whole window before it
        assert np.diff(seen.t) == pytest.approx(5 * PERIOD)
        off.append((seen.values[-1] - truth) / seen.deviations[-1])
        assert 3.0 < seen.deviations[0].max() < 30.0  # a load is anything to begin with
        assert 0.001 < seen.mass_deviation[-1] < 0.01 and abs(seen.mass[-1] - MASS) < 0.02
    assert 0.4 < np.sqrt(np.mean(np.square(off))) < 1.2


def test_a_longer_memory_knows_more(puma: Robot) -> None:
    short, long = (heard(puma, 1.4, 0.0, 0, memory=memory).result().mass_deviation[-1] for memory in (0.1, 0.4))
    assert 1.5 < short / long < 4.0  # about the root of four


def test_a_load_that_comes_is_noticed_and_what_was_before_is_dropped(puma: Robot) -> None:
    listener = heard(puma, 1.5, 0.8, 0)
    seen = listener.result()
    assert len(seen.changes) == 1 and 0.8 < seen.changes[0] < 1.0
    before, after = seen.at(0.79), seen.at(1.49)
    assert abs(before[0][-1]) < 4 * before[1][-1] < 0.2
    assert abs(after[0][-1] - MASS) < 4 * after[1][-1] < 0.4
    later = seen.t[seen.t > seen.changes[0]]
    assert later[0] - seen.changes[0] == pytest.approx(0.06, abs=0.011)  # a window that has only the new load in it
    assert seen.mass_deviation[seen.t > seen.changes[0]][0] > 3 * before[1][-1]


def test_joints_that_turn_back_teach_nothing(puma: Robot) -> None:
    """No friction is known there: with every reference turning in every window no row counts."""
    model = control_model(puma)
    listener = PayloadListener(puma, model, NOISE, PERIOD)
    zero = np.zeros(6)
    for k in range(100):
        back = np.full(6, 1.0 if k % 2 else -1.0)
        listener(ControlSample(k * PERIOD, 0.5 * back, zero, zero, back, zero), np.full(6, 100.0))
    seen = listener.result()
    assert np.all(seen.values == 0.0) and seen.mass_deviation[-1] > seen.mass_deviation[0]


class WithoutErrors:
    """A plant whose motion is that of the reference; it keeps what it was given."""

    period = PERIOD

    def __init__(self, torque_noise: float) -> None:
        self.flaws = Imperfections(torque_noise=torque_noise)

    def run(self, controller: Any, trajectory: Any, *, events: Any, listener: PayloadListener) -> None:
        self.listener = listener
        for k in range(100):
            q, qd = np.full(6, 0.1 + 0.001 * k), np.full(6, 0.5)
            sample = ControlSample(k * PERIOD, q, qd, q, qd, np.zeros(6))
            listener(sample, controller(sample))


@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_noise_is_never_less_than_a_part_of_gravity(puma: Robot, noise: float) -> None:
    """Of what the drives hold at the first position; the controller that is not given has gains of its own."""
    start = np.array([0.0, 0.3, -0.2, 0.1, 0.2, 0.0])
    largest = np.abs(control_model(puma).gravity(start)).max()
    for side in (1.0, -1.0):
        arm = puma.with_gravity((0.0, 0.0, -9.81 * side))
        plant = WithoutErrors(noise)
        seen = watch_payload(arm, SimpleNamespace(q=start[None]), [], plant)  # type: ignore[arg-type]
        assert np.all(np.isfinite(seen.deviations)) and plant.listener.sigma.shape == (6,)
        least = plant.listener.sigma.min() / largest
        assert least == pytest.approx(5.0 / largest) if noise else 1e-4 < least < 1e-2
