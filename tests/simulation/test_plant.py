"""The plant against our own inverse dynamics, and its imperfections (needs MuJoCo)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.dynamics.model import forward_dynamics, inverse_dynamics
from minertia.excitation.fourier import Fourier
from minertia.io.errors import Infeasible, MinertiaError, MissingParameters, ShapeError
from minertia.simulation.control_model import control_model
from minertia.simulation.measured import recording_of
from minertia.simulation.moves import point_to_point
from minertia.simulation.tracking import Gains, TrackingError, computed_torque
from tests.every_effect import robot_with_every_effect
from tests.random_robots import random_robot

mujoco = pytest.importorskip("mujoco")
from minertia.simulation.plant import Imperfections, Plant  # noqa: E402


@pytest.fixture(scope="module")
def puma():
    return read_robot("puma560_physical")


@pytest.fixture(scope="module")
def motion():
    rng = np.random.default_rng(0)
    family = Fourier(2.0, 3)
    return family.from_free(np.array([0, 1.5, -1.5, 0, 0.3, 0]), 0.3 * rng.normal(size=(6, family.free)))


@pytest.mark.parametrize("seed", range(6))
def test_accelerations_are_ours(seed):
    """At one state, without Coulomb friction (its solver is soft), MuJoCo and our dynamics agree to rounding."""
    robot = random_robot(seed, tree=seed % 2 == 0)
    robot = replace(robot, effects=tuple(dict(e) | {"FC": 0.0} for e in robot.effects))
    rng = np.random.default_rng(seed)
    q, qd, tau = rng.normal(size=(3, robot.n))
    plant = Plant(robot)
    plant.place(q, qd)
    plant.arm.data.qfrc_applied[plant.arm.dof] = tau - plant.arm.offset
    mujoco.mj_forward(plant.arm.model, plant.arm.data)
    np.testing.assert_allclose(
        plant.arm.data.qacc[plant.arm.dof], forward_dynamics(robot, q, qd, tau), rtol=1e-8, atol=1e-8
    )


def test_coupled_motors():
    """A motor that turns with several joints is a tendon with its own inertia, damping and friction."""
    robot = random_robot(3, n=3)
    robot = replace(
        robot,
        effects=({}, {}, {}),
        coupling=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.5, 1.0)),
        motor_effects=({}, {}, {"IAM": 0.3, "FVM": 0.2, "FCM": 0.0}),
    )
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 3))
    plant = Plant(robot)
    plant.place(q, qd)
    plant.arm.data.qfrc_applied[plant.arm.dof] = inverse_dynamics(robot, q, qd, qdd)
    mujoco.mj_forward(plant.arm.model, plant.arm.data)
    np.testing.assert_allclose(plant.arm.data.qacc[plant.arm.dof], qdd, atol=1e-8)


def simulated(robot, tau, q, qd, temperature, steps: int, step: float) -> np.ndarray:
    """Positions by our forward dynamics, midpoint rule."""
    for _ in range(steps):
        middle = qd + 0.5 * step * forward_dynamics(robot, q, qd, tau, temperature=temperature)
        a = forward_dynamics(robot, q + 0.5 * step * qd, middle, tau, temperature=temperature)
        q, qd = q + step * qd + 0.5 * step**2 * a, qd + step * a
    return q


def test_every_effect_moves_the_plant_as_it_moves_our_model():
    """Up to the integration, though joint 2 turns back: 5e-4 of what these effects change, less with smaller steps."""
    robot, tau = robot_with_every_effect(), np.array([60.0, 25.0, 3.0])
    start, qd, warmth = np.array([0.1, 0.3, -0.2]), np.array([0.8, 1.2, 0.9]), np.array([40.0, 35.0, 30.0])
    way, wanted = 0.06, simulated(robot, tau, start, qd, warmth, 500, 1.2e-4)
    errors = []
    for substeps in (1, 8):
        plant = Plant(robot, period=1e-3, substeps=substeps, temperature=warmth)
        plant.place(start, qd)
        for _ in range(round(way / plant.period)):
            plant.step(tau)
        errors.append(np.abs(plant.q - wanted).max())
    plain = simulated(robot.without_effects(robot.other_effects), tau, start, qd, warmth, 150, 4e-4)
    moved = np.abs(wanted - plain).max()
    assert errors[1] < 5e-4 * moved and errors[1] < 0.7 * errors[0]


def test_friction_of_every_kind_holds_a_joint_still():
    """Efforts below the friction at standstill move nothing, whatever the friction is made of."""
    robot = random_robot(8, n=1)
    held = {"FS1": 0.5, "FCP1": 0.4, "FCN1": 0.4}
    robot = replace(robot.with_parameters(held, {"FS1": {"velocity": 0.1}}), gravity=(0.0, 0.0, 0.0))
    plant = Plant(robot.without_effects(["OFF"]), period=1e-3)
    for tau, still in ((0.9, True), (3.0, False)):
        plant.place(np.zeros(1))
        for _ in range(200):
            plant.step(np.array([tau]))
        assert (abs(plant.q[0]) < 1e-3) == still


def test_noise_free_efforts_are_inverse_dynamics(puma, motion):
    """Along a run, Coulomb friction included, up to the integration and the instants at which a joint turns back."""
    plant = Plant(puma, period=1e-3)
    log = plant.run(computed_torque(control_model(puma), Gains(40.0)), motion.sample(2001))
    assert np.abs(log.error).max() < 1e-3
    qdd = np.gradient(log.true_qd, plant.period, axis=0)
    tau = inverse_dynamics(puma, log.true_q, log.true_qd, qdd)
    turning = np.abs(log.true_qd) < 0.02
    sliding = ~(turning | np.roll(turning, 3, axis=0) | np.roll(turning, -3, axis=0))
    sliding[:20] = sliding[-20:] = False
    error = np.where(sliding, np.abs(tau - log.tau), 0.0)
    assert np.all(error.max(axis=0) < 0.02 * np.abs(log.tau).max(axis=0))
    assert np.all(np.median(np.abs(tau - log.tau), axis=0) < 2e-3 * np.abs(log.tau).max(axis=0))


def test_imperfections(puma, motion):
    gains, trajectory = Gains(20.0), motion.sample(501)
    flaws = Imperfections(resolution=1e-3, torque_noise=np.linspace(0.1, 0.6, 6), delay=8e-3, stribeck=0.5)
    plant = Plant(puma, period=4e-3, substeps=2, imperfections=flaws, seed=4)
    law, commands = computed_torque(control_model(puma), gains), []

    def noted(sample):
        commands.append(law(sample))
        return commands[-1]

    log = plant.run(noted, trajectory, settle=0.1)
    assert len(log.t) == 526
    np.testing.assert_allclose(log.q / 1e-3, np.round(log.q / 1e-3), atol=1e-6)
    assert np.abs(log.q - log.true_q).max() <= 0.5e-3 + 1e-12
    np.testing.assert_allclose(log.applied[2:], commands[:-2], atol=1e-9)  # two periods late
    noise = np.random.default_rng(4).normal(size=log.tau.shape) * np.linspace(0.1, 0.6, 6)
    np.testing.assert_allclose(log.tau - noise, log.applied, atol=1e-9)  # what moved the arm, not what was asked for
    again = plant.run(computed_torque(control_model(puma), gains), trajectory, settle=0.1)
    assert np.array_equal(again.tau, log.tau)


@pytest.mark.parametrize("rate, late", [(50, 0.0), (200, 0.0), (200, 0.01), (1000, 0.003)])
def test_recorded_efforts_are_those_of_the_recorded_motion(rate, late):
    """At any rate, and with efforts that come late: stamps, positions and efforts belong together."""
    robot = replace(
        random_robot(5, n=2), effects=({"IA": 0.3, "FV": 0.2}, {"IA": 0.2, "FV": 0.1}), gravity=(0, 0, -9.81)
    )
    family = Fourier(3.0, 2)
    path = family.from_free(np.zeros(2), 0.3 * np.random.default_rng(1).normal(size=(2, family.free)))
    plant = Plant(robot, period=1 / rate, substeps=max(1, 1000 // rate), imperfections=Imperfections(delay=late))
    log = plant.run(computed_torque(control_model(robot), Gains(6.0)), path.sample(3 * rate + 1))
    recording = recording_of(log)
    at = [recording.q[k : len(recording.q) - 6 + k] for k in range(7)]  # central differences of sixth order
    qd = (45 * (at[4] - at[2]) - 9 * (at[5] - at[1]) + at[6] - at[0]) * rate / 60
    qdd = (270 * (at[4] + at[2]) - 27 * (at[5] + at[1]) + 2 * (at[6] + at[0]) - 490 * at[3]) * rate**2 / 180
    rest = (recording.efforts()[3:-3] - inverse_dynamics(robot, at[3], qd, qdd))[rate // 5 : -rate // 5]
    size = np.sqrt(np.mean(recording.efforts() ** 2, axis=0))
    assert (np.sqrt(np.mean(rest**2, axis=0)) < 1e-4 * size).all(), np.sqrt(np.mean(rest**2, axis=0)) / size


def test_drawn_rounding_leaves_the_last_bits_alone(puma, motion):
    """As little as efforts are off, as little is the run; computed rounding makes it whole encoder lines."""
    trajectory, law = motion.sample(501), computed_torque(control_model(puma), Gains(40.0))
    apart = {}
    for is_dithered, change in ((True, 1e-13), (True, 1e-5), (False, 1e-5)):

        def off(sample, change=change):
            return law(sample) * (1 + change)

        flaws = Imperfections(resolution=1e-4, torque_noise=0.1, is_dithered=is_dithered)
        plant = Plant(puma, period=4e-3, substeps=2, imperfections=flaws, seed=4)
        log, other = plant.run(law, trajectory), plant.run(off, trajectory)
        apart[is_dithered, change] = np.abs(log.q - other.q).max()
        error = (log.q - log.true_q) / 1e-4
        assert np.abs(error).max() <= 0.5 + 1e-9
        assert error.std() == pytest.approx(1 / np.sqrt(12), rel=0.1)
    assert apart[True, 1e-13] < 1e-10
    assert apart[True, 1e-5] < 1e-5 and apart[False, 1e-5] > 0.9e-4


def test_stribeck_holds_back(puma):
    """Friction at low speed grows, so the same effort moves the joint less."""
    tau = np.array([28.0, 0, 0, 0, 0, 0])
    distances = []
    for extra in (0.0, 3.0):
        plant = Plant(puma, imperfections=Imperfections(stribeck=extra, stribeck_velocity=0.2))
        plant.place([0, np.pi / 2, -np.pi / 2, 0, 0, 0])
        for _ in range(100):
            plant.step(tau)
        distances.append(plant.q[0])
    assert distances[0] > 0 and distances[1] < 0.5 * distances[0]


def test_payload_arrives(puma):
    hold = point_to_point([0, 0.5, -1, 0, 0, 0], [0, 0.5, -1, 0, 0, 0], 0.4, 2e-3)
    plant = Plant(puma, period=2e-3)
    loaded = puma.with_payload(3.0, (0, 0, 0.1))
    heard = []
    log = plant.run(
        computed_torque(control_model(puma), Gains()),
        hold,
        events=[(0.2, loaded)],
        listener=lambda sample, tau: heard.append(tau),
    )
    before, after = log.error[log.t < 0.2], log.error[log.t > 0.3]
    assert np.abs(before).max() < 1e-4 < 5e-4 < np.abs(after).max()
    assert plant.robot.links[-1] == puma.numeric.links[-1]
    np.testing.assert_array_equal(np.array(heard), log.tau)


def test_dependent_joints():
    robot = random_robot(2, mimic=True, n=3)
    plant = Plant(robot)
    plant.place([0.1] * robot.n)
    assert plant.q == pytest.approx([0.1] * robot.n)


def test_an_arm_that_runs_away_stops_the_run(puma, motion, capfd):
    """MuJoCo would start anew in the middle of the run and print about it."""
    log = Plant(puma).run(lambda s: 1e6 * (s.q - s.q_ref) + 1e5 * np.ones(puma.n), motion.sample(2001))
    assert log.ran_away is not None and log.ran_away < 0.5
    assert np.isfinite(log.true_qd).all() and (log.true_q[-1] == log.true_q[round(log.ran_away / 1e-3)]).all()
    assert "unstable" not in "".join(capfd.readouterr())
    error = TrackingError.of("PD", log)
    assert "unstable" in error.title
    with pytest.raises(MinertiaError, match="became unstable"):
        recording_of(log)


def test_refusals(puma):
    with pytest.raises(MissingParameters, match="no inertial parameters"):
        Plant(read_robot("panda"))
    with pytest.raises(Infeasible, match="cannot simulate link"):
        Plant(read_robot("puma560"))
    with pytest.raises(Infeasible, match="fixed base"):
        Plant(random_robot(1, floating=True))
    with pytest.raises(Infeasible, match="positive period"):
        Plant(puma, period=0)
    plant = Plant(puma)
    with pytest.raises(ShapeError):
        plant.place([0, 0])
    with pytest.raises(ShapeError, match="trajectory has 1"):
        plant.run(lambda s: s.q, point_to_point([0], [1], 0.1))
    with pytest.raises(MinertiaError, match="not finite"):
        plant.run(lambda s: s.q * np.nan, point_to_point([0] * 6, [0.1] * 6, 0.1))
