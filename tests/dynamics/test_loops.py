"""Robots with loops: closing on one branch, and the laws that their projected dynamics must keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.algebra.vec3 import shift
from minertia.dynamics.loops.closing import Closing, closing_of
from minertia.robot.joint import Cut, Follows
from minertia.robot.loops.forms import loop_forms
from minertia.robot.robot import Robot
from tests.loop_robots import (
    FOUR_BAR,
    five_bar,
    four_bar,
    mirrored_seed,
    planar_loop,
    planar_platform,
    ram,
    random_loop,
    spatial_four_bar,
    spatial_loops,
    stewart,
    with_rough_pins,
)
from tests.oracles import ConstrainedOracle
from tests.random_robots import random_ten
from tests.shared import SHARED, needs_shared

LOOPS = {
    "four-bar": four_bar(),
    "four-bar cut at the ground": four_bar(3),
    "five-bar": five_bar(),
    "ram": ram("pin"),
    "ram cut at the slider": ram("slider"),
    "spatial four-bar": spatial_four_bar(),
    "six legs": stewart(),
    "on a carrier": random_loop(3),
    "five-bar on a carrier": random_loop(5),
    "two loops in space": spatial_loops(4).numeric,
}
DRIVES = {"IA": 0.2, "FV": 0.3, "FC": 0.1, "OFF": 0.05}
LARGE = ("six legs", "two loops in space")
every_loop = pytest.mark.parametrize(
    "robot",
    [pytest.param(robot, id=name, marks=[pytest.mark.slow] * (name in LARGE)) for name, robot in LOOPS.items()],
)


def motion(robot: Robot, count: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = closing_of(robot.numeric).draw(rng.uniform(-2, 2, (count, robot.n)), rng)
    return q, *rng.normal(size=(2, count, robot.n))


def with_drives(robot: Robot) -> Robot:
    """Rotors and friction at the coordinates, friction at the passive joints."""
    passive = {"FV": 0.2, "FC": 0.15}
    return replace(robot, effects=tuple(passive if joint.is_passive else DRIVES for joint in robot.joints))


@every_loop
def test_rates_and_drift_are_the_derivatives_of_closed_positions(robot: Robot) -> None:
    closing, h = closing_of(robot), 1e-5
    q, qd, qdd = motion(robot)
    before, here, after = (closing.close(q + t * qd + 0.5 * t * t * qdd) for t in (-h, 0.0, h))
    G = closing.rates(here)
    rates = (G @ qd[:, :, None])[:, :, 0]
    assert np.allclose((after - before) / (2 * h), rates, atol=1e-6 * np.abs(rates).max() + 1e-6)
    second = (G @ qdd[:, :, None])[:, :, 0] + closing.drift(here, rates)
    assert np.allclose((after - 2 * here + before) / h**2, second, atol=2e-4 * np.abs(second).max())
    assert np.abs(closing.equations(here)[0]).max() < 1e-13


def test_postures_that_are_no_motion_are_reached_each_by_itself() -> None:
    """Whether one is within reach must not hang on which others stand beside it in a list."""
    closing, rng = closing_of(planar_platform()), np.random.default_rng(0)
    q = rng.uniform(-1.5, 1.5, (120, 3))
    reached = np.flatnonzero(closing.is_reached(q, alone=True))
    assert 8 < len(reached) < 110
    for _ in range(2):
        some = rng.permutation(reached)
        found = closing.close(q[some])
        assert np.abs(closing.equations(found)[0]).max() < 1e-9


@every_loop
def test_equations_are_recorded_once_from_the_geometry(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    closing = Closing(robot)
    q = closing.seed + np.random.default_rng(3).uniform(-0.3, 0.3, (5, closing.tree.n))
    found = [[v for cut in closing.cuts for v in closing.cut_equations(cut, list(row))[0]] for row in q]
    monkeypatch.setattr(Closing, "cut_equations", None)  # nobody walks through the geometry again
    off, A = closing.equations(q)
    assert np.allclose(off * closing.units, np.array(found, float), atol=1e-14)
    h = 1e-6
    for c in range(closing.tree.n):
        step = h * np.eye(closing.tree.n)[c]
        slope = (closing.equations(q + step)[0] - closing.equations(q - step)[0]) / (2 * h)
        assert np.allclose(A[:, :, c], slope, atol=1e-8)


@pytest.mark.parametrize("robot", LOOPS.values(), ids=LOOPS)
def test_power_is_the_rate_of_energy_of_all_links(robot: Robot) -> None:
    q, qd, qdd = motion(robot)
    h = 1e-6

    def energy(t: float) -> np.ndarray:
        at, speed = q + t * qd + 0.5 * t * t * qdd, qd + t * qdd
        return np.asarray(mi.dynamics.kinetic_energy(robot, at, speed) + mi.dynamics.potential_energy(robot, at))

    bare = robot.without_effects(["friction"])
    power = np.sum(qd * mi.inverse_dynamics(bare, q, qd, qdd), axis=1)
    assert np.allclose((energy(h) - energy(-h)) / (2 * h), power, atol=1e-6 * np.abs(power).max())


@every_loop
def test_forward_dynamics_undo_inverse_dynamics_and_the_regressor_is_linear(robot: Robot) -> None:
    robot = with_drives(robot)
    q, qd, qdd = motion(robot)
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    assert np.allclose(mi.forward_dynamics(robot, q, qd, tau), qdd, atol=1e-9)
    columns = robot.columns(True, True)
    Y = mi.dynamics.torque_regressor(robot, q, qd, qdd, columns=columns)
    assert np.allclose(Y @ robot.parameter_vector(True, True), tau, atol=1e-11 * np.abs(tau).max())
    M = mi.dynamics.mass_matrix(robot, q)
    rigid = M @ qdd[:, :, None]
    rest = mi.inverse_dynamics(robot, q, qd, 0 * qdd)
    assert np.allclose(rigid[:, :, 0], tau - rest, atol=1e-10 * np.abs(tau).max())


@pytest.mark.parametrize(
    "robot",
    [pytest.param(robot, id=name, marks=[pytest.mark.slow] * (name in LARGE)) for name, robot in LOOPS.items()],
)
def test_derivatives_are_those_of_inverse_and_forward_dynamics(robot: Robot) -> None:
    robot, step = with_drives(robot), 1e-30
    smooth = tuple({s: v for s, v in own.items() if s != "FC"} for own in robot.effects)  # a sign has no slope
    robot = replace(robot, effects=smooth)
    q, qd, qdd = motion(robot, 5)
    tau = mi.inverse_dynamics(robot, q, qd, qdd)

    def slope(function, part: int, *state: np.ndarray) -> np.ndarray:
        columns = []
        for unit in np.eye(robot.n):
            moved = [x + (step * 1j * unit if k == part else 0) for k, x in enumerate(state)]
            columns.append(function(robot, *moved).imag / step)
        return np.stack(columns, axis=2)

    for part, found in enumerate(mi.dynamics.inverse_dynamics_derivatives(robot, q, qd, qdd)):
        wanted = slope(mi.inverse_dynamics, part, q, qd, qdd)
        assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()
    for part, found in enumerate(mi.dynamics.forward_dynamics_derivatives(robot, q, qd, tau)):
        wanted = slope(mi.forward_dynamics, part, q, qd, tau)
        assert np.abs(found - wanted).max() < 1e-8 * np.abs(wanted).max()


@every_loop
def test_friction_of_passive_joints_takes_the_power_of_their_own_rates(robot: Robot) -> None:
    driven = with_drives(robot)
    q, qd, qdd = motion(robot)
    closing = closing_of(robot)
    rates = (closing.rates(closing.close(q)) @ qd[:, :, None])[:, :, 0]
    own = {c: driven.effects[j] for c, j in enumerate(closing.tree.independent)}
    lost = sum(e["FV"] * rates[:, c] ** 2 + e["FC"] * np.abs(rates[:, c]) for c, e in own.items())
    lost = lost + sum(e.get("OFF", 0.0) * rates[:, c] for c, e in own.items())
    more = mi.inverse_dynamics(driven.without_effects(["rotors"]), q, qd, qdd)
    less = mi.inverse_dynamics(driven.without_effects(["rotors", "friction"]), q, qd, qdd)
    assert np.allclose(np.sum(qd * (more - less), axis=1), lost)


def test_friction_is_the_same_wherever_the_loop_is_cut() -> None:
    q, qd, qdd = motion(four_bar(2))
    found = []
    for cut in (1, 2, 3):
        robot = with_rough_pins(four_bar(cut))
        assert [joint.name for joint in robot.joints][-1] == "pin" and robot.passive == (1, 2, 3)
        bare = robot.without_effects(["friction"])
        found.append(mi.inverse_dynamics(robot, q, qd, qdd) - mi.inverse_dynamics(bare, q, qd, qdd))
        rigid = mi.inverse_dynamics(four_bar(cut), q, qd, qdd)
        assert np.allclose(mi.inverse_dynamics(bare, q, qd, qdd), rigid, atol=1e-11 * np.abs(rigid).max())
    assert np.allclose(found[1], found[0], rtol=1e-9) and np.allclose(found[2], found[0], rtol=1e-9)
    smooth = with_rough_pins(four_bar(2), cut="FV = 0.0")
    assert np.abs(mi.inverse_dynamics(smooth, q, qd, qdd) - mi.inverse_dynamics(robot, q, qd, qdd)).min() > 1e-3


def with_motor(robot: Robot, name: str) -> Robot:
    """A motor at one of the passive joints, too."""
    return replace(robot, joints=tuple(replace(j, has_motor=j.name == name) for j in robot.joints))


@pytest.mark.parametrize("robot", [with_motor(five_bar(), "hinge3"), with_motor(ram("pin"), "lever")], ids=["5", "ram"])
def test_motors_at_passive_joints_act_by_the_power_of_their_own_rates(robot: Robot) -> None:
    q, qd, qdd = motion(robot)
    G = mi.dynamics.actuation_matrix(robot, q)
    assert G.shape == (len(q), robot.n + 1, robot.n) and len(robot.actuated) == robot.n + 1
    closing = closing_of(robot)
    rates = (closing.rates(closing.close(q)) @ qd[:, :, None])[:, :, 0][:, list(robot.actuated)]
    assert np.allclose(np.einsum("kmi,ki->km", G, qd), rates)
    motors = np.random.default_rng(3).normal(size=rates.shape)
    tau = mi.dynamics.coordinate_efforts(robot, q, motors)
    assert np.allclose(np.sum(qd * tau, axis=1), np.sum(rates * motors, axis=1))
    strain = np.linalg.svd(np.swapaxes(G, 1, 2))[2][:, -1]  # what the motors do against one another
    assert np.allclose(mi.dynamics.coordinate_efforts(robot, q, motors + 3.0 * strain), tau)
    assert np.allclose(mi.dynamics.coordinate_efforts(robot, q[0], motors[0]), tau[0])
    with pytest.raises(mi.MinertiaError, match=r"motor_efforts \(of .*\) has shape"):
        mi.dynamics.coordinate_efforts(robot, q, motors[:, :-1])


@pytest.mark.parametrize("name", [name for name in LOOPS if name != "six legs"])
def test_coriolis_reference_and_momentum_models_agree_with_inverse_dynamics(name: str) -> None:
    robot = LOOPS[name]
    q, qd, qdd = motion(robot)
    C = mi.dynamics.coriolis_matrix(robot, q, qd)
    velocity = mi.dynamics.velocity_torques(robot, q, qd)
    scale = np.abs(velocity).max() + 1
    assert np.allclose((C @ qd[:, :, None])[:, :, 0], velocity, atol=1e-11 * scale)
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    assert np.allclose(mi.dynamics.slotine_li_torques(robot, q, qd, qd, qdd), tau, atol=1e-11 * scale)
    Y = mi.dynamics.slotine_li_regressor(robot, q, qd, 0.5 * qd, qdd)
    half = mi.dynamics.slotine_li_torques(robot, q, qd, 0.5 * qd, qdd)
    assert np.allclose(Y @ robot.parameter_vector(), half, atol=1e-11 * scale)
    h, X = 1e-6, robot.parameter_vector()
    D_rate = (mi.dynamics.mass_matrix(robot, q + h * qd) - mi.dynamics.mass_matrix(robot, q - h * qd)) / (2 * h)
    skew = D_rate - 2 * C
    assert np.allclose(skew + np.swapaxes(skew, 1, 2), 0, atol=1e-5 * (1 + np.abs(skew).max()))
    momentum = [mi.dynamics.momentum_regressor(robot, q + t * qd, qd + t * qdd)[0] @ X for t in (h, -h)]
    rest = mi.dynamics.momentum_regressor(robot, q, qd)[1] @ X
    assert np.allclose((momentum[0] - momentum[1]) / (2 * h) + rest, tau, atol=1e-5 * np.abs(tau).max())


@pytest.mark.parametrize("name", [name for name in LOOPS if "slider" not in name])
def test_accelerations_are_those_of_pinocchio_with_constraints(name: str) -> None:
    robot = LOOPS[name]
    oracle = ConstrainedOracle(robot)
    q, qd, qdd = motion(robot, 4)
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    for k in range(len(q)):
        assert np.allclose(oracle.forward_dynamics(q[k], qd[k], tau[k]), qdd[k], atol=1e-9)


@pytest.mark.parametrize(
    "robot, form",
    [
        (four_bar(3), "four-bar (dyad)"),
        (five_bar(), "five-bar (dyad)"),
        (ram("pin"), "ram (dyad)"),
        (ram("slider"), "general loop"),
        (spatial_four_bar(), "general loop"),
        (with_rough_pins(four_bar()), "four-bar (dyad)"),
    ],
)
def test_a_loop_is_called_a_dyad_where_it_has_a_closed_form(robot: Robot, form: str) -> None:
    assert loop_forms(robot) == (form,)
    assert [dyad is not None for dyad in closing_of(robot).dyads] == ["(dyad)" in form]
    assert f"{form}, cut at a" in str(mi.check_robot(robot))


def test_a_wrench_acts_with_the_jacobian_of_the_closed_robot() -> None:
    robot = random_loop(3)
    q, qd, qdd = motion(robot)
    wrench = np.random.default_rng(1).normal(size=(len(q), 6))
    frame = robot.joints[-1].link
    with_it = mi.inverse_dynamics(robot, q, qd, qdd, wrench=mi.dynamics.FrameWrench(wrench, frame))
    J = mi.dynamics.jacobian(robot, q, frame)
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    assert np.allclose(tau - with_it, np.einsum("kij,ki->kj", J, wrench))
    h = 1e-6
    ends = [mi.dynamics.forward_kinematics(robot, q + t * qd, frame)[1] for t in (h, -h)]
    assert np.allclose((ends[0] - ends[1]) / (2 * h), (J[:, :3] @ qd[:, :, None])[:, :, 0], atol=1e-7)


def test_a_parallelogram_that_is_closed_equals_the_tree_with_followers() -> None:
    rng = np.random.default_rng(2)
    points = ((0.0, 0.0), (0.1, 0.3), (0.6, 0.3), (0.5, 0.0))
    closed = planar_loop(points, rng=rng)
    q, qd, qdd = motion(closed)
    followers = {"hinge1": Follows((0,), (-1.0,)), "hinge3": Follows((0,), (1.0,))}
    joints = [replace(j, is_passive=False, follows=followers.get(j.name)) for j in closed.joints]
    tree = replace(closed, joints=tuple(joints), cuts=(), seed=None)
    tau = mi.inverse_dynamics(tree, q, qd, qdd)
    assert np.allclose(mi.inverse_dynamics(closed, q, qd, qdd), tau, atol=1e-12 * np.abs(tau).max())
    assert np.allclose(mi.dynamics.mass_matrix(closed, q), mi.dynamics.mass_matrix(tree, q), atol=1e-12)


def test_a_floating_base_carries_a_loop() -> None:
    fixed = four_bar()
    rng = np.random.default_rng(5)
    robot = replace(fixed, base="floating", base_link=random_ten(rng))
    q, qd, qdd = motion(fixed, 5)
    turn = rng.normal(size=(5, 4))
    pose = np.hstack([rng.normal(size=(5, 3)), turn / np.linalg.norm(turn, axis=1, keepdims=True)])
    qd, qdd = np.hstack([rng.normal(size=(5, 6)), qd]), np.hstack([rng.normal(size=(5, 6)), qdd])
    tau = mi.inverse_dynamics(robot, np.hstack([pose, q]), qd, qdd)
    assert tau.shape == (5, 7)
    assert np.allclose(mi.forward_dynamics(robot, np.hstack([pose, q]), qd, tau), qdd, atol=1e-9)
    still = np.hstack([np.zeros((5, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (5, 1)), q])
    alone = np.hstack([np.zeros((5, 6)), qd[:, 6:]]), np.hstack([np.zeros((5, 6)), qdd[:, 6:]])
    same = mi.inverse_dynamics(fixed, q, alone[0][:, 6:], alone[1][:, 6:])
    assert np.allclose(mi.inverse_dynamics(robot, still, *alone)[:, 6:], same)


def test_one_sample_and_complex_steps_give_what_batches_give() -> None:
    robot = five_bar()
    q, qd, qdd = motion(robot)
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    assert np.allclose(mi.inverse_dynamics(robot, q[0], qd[0], qdd[0]), tau[0], atol=1e-12 * np.abs(tau).max())
    step = np.array([1.0, 0.0])
    slope = mi.dynamics.gravity_torques(robot, q + 1e-30j * step).imag / 1e-30
    h = 1e-6
    ends = [mi.dynamics.gravity_torques(robot, q + t * step) for t in (h, -h)]
    assert np.allclose(slope, (ends[0] - ends[1]) / (2 * h), atol=1e-5 * np.abs(slope).max())


def test_the_branch_of_the_seed_is_kept_and_what_cannot_be_reached_is_refused() -> None:
    robot = planar_loop(FOUR_BAR)
    closing = closing_of(robot)
    q = np.linspace(-1.0, 1.0, 9)[:, None]
    up = closing.close(q)
    crossed = replace(robot, seed=mirrored_seed(FOUR_BAR))
    down = closing_of(crossed).close(q)
    assert np.abs(up - down)[:, 1:].min() > 0.1
    assert np.abs(closing.equations(down)[0]).max() < 1e-12
    rocker = planar_loop(FOUR_BAR, active=(3,))
    with pytest.raises(mi.MinertiaError, match="do not close at \\(2.5\\), sample 2"):
        mi.dynamics.gravity_torques(rocker, np.array([[0.1], [2.5]]))


def test_samples_out_of_reach_of_the_seed_are_reached_along_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The straight way from the seed leads through postures that do not close; the way of the log goes around them."""
    robot = five_bar()
    direct = closing_of(replace(robot))
    monkeypatch.setattr(Closing, "dyads", [None])
    closing = closing_of(robot)
    log = np.column_stack([np.linspace(-0.3, 1.0, 40), np.full(40, -3.0)])
    with pytest.raises(mi.MinertiaError, match="do not close"):
        closing.close(log[-1:])
    reached = closing.close(log)
    assert np.abs(closing.equations(reached)[0]).max() < 1e-12
    assert np.abs(np.diff(reached, axis=0)).max() < 0.3
    monkeypatch.undo()
    with pytest.raises(mi.MinertiaError, match="do not close"):
        direct.close(log[-1:])
    assert np.allclose(np.exp(1j * direct.close(log)), np.exp(1j * reached), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": (0.0, 2.8, 0.5)}, ""),
        ({"cuts": (Cut("pin", "revolute", 1, 2, shift(5.0, 0, 0), shift(0.1, 0, 0)),)}, "do not close near the seed"),
        (
            {"cuts": (Cut("pin", "spherical", 1, 1, shift(1, 0, 0), shift(1, 0, 0)),)},
            "leave 2 of 2 passive joints undetermined",
        ),
    ],
)
def test_loops_that_cannot_be_closed_are_refused_in_one_sentence(change: dict[str, object], words: str) -> None:
    robot = replace(four_bar(), **change)  # type: ignore[arg-type]
    if not words:
        assert closing_of(robot).seed.shape == (3,)  # far off, but it closes
        return
    with pytest.raises(mi.MinertiaError, match=words):
        mi.dynamics.gravity_torques(robot, [0.0])


@needs_shared
@pytest.mark.parametrize(
    "name", ["AKR3000.par", "five_bar.xml", "four_bar_crank_rocker.xml", "cassie_left_leg.xml", "delta.xml"]
)
def test_files_with_loops_have_the_accelerations_of_pinocchio(name: str) -> None:
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    robot = mi.read_robot(SHARED / "robots" / "loops" / name).numeric
    rng = np.random.default_rng(4)
    if not robot.has_parameters:
        robot = replace(robot, links=tuple(random_ten(rng) for _ in robot.joints))
    robot = robot.without_effects(["rotors", "friction"])
    oracle = ConstrainedOracle(robot)
    q, qd, qdd = motion(robot, 4)
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    for k in range(len(q)):
        assert np.allclose(oracle.forward_dynamics(q[k], qd[k], tau[k]), qdd[k], atol=1e-9)
