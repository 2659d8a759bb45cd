"""Exciting motions of robots with closed loops: on their branch, away from singular postures, within passive limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.base.derive import base_parameters
from minertia.codegen.kernels.build import native
from minertia.dynamics.loops.closing import closing_of
from minertia.excitation.check import Checker
from minertia.excitation.claims import claims
from minertia.excitation.effort import EffortModel
from minertia.excitation.excite import mixing
from minertia.excitation.limits import motion_limits
from minertia.excitation.loops import LoopModel
from minertia.excitation.model import RegressorModel
from minertia.excitation.objective import MotionProblem, Objective
from minertia.excitation.options import MotionSearch, Workspace
from tests.loop_robots import four_bar, ram, spatial_four_bar, spatial_loops

QUICK = MotionSearch(starts=1, n_samples=60, patience=0.1)


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """These searches are too short for compiled code to pay."""
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")


def passive_state(robot, q, qd):
    """Positions and velocities of all joints, by closing."""
    closing = closing_of(robot)
    tree = closing.close(q)
    rates = np.einsum("kij,kj->ki", closing.rates(tree), qd)
    return tree, rates


def ranged(robot, lower, upper):
    """The robot with another range of every joint."""
    joints = [replace(joint, limits=replace(joint.limits, lower=lower, upper=upper)) for joint in robot.joints]
    return replace(robot, joints=tuple(joints))


def test_a_five_bar_stays_on_its_branch_and_away_from_singular_postures():
    robot = mi.read_robot("five_bar")
    motion = mi.excite(robot, mi.excitation.Fourier(6.0, harmonics=3), search=QUICK)
    path = motion.trajectory
    q, qd = passive_state(robot.numeric, path.q, path.qd)
    # directions of both forearms, each from the angles along its own chain
    angle = np.rad2deg((q[:, 0] + q[:, 1]) - (q[:, 2] + q[:, 3]))  # left forearm against the right one
    wrapped = (angle + 180) % 360 - 180
    assert (np.sign(wrapped) == np.sign(wrapped[0])).all()
    found = np.abs(wrapped)
    assert found.min() >= 20 - 1e-6 and found.max() <= 160 + 1e-6
    (loop,) = motion.margins.loops
    assert loop.name == "tip" and loop.smallest >= 20 and loop.largest <= 160
    assert (180 - found.min(), 180 - found.max()) == pytest.approx((loop.largest, loop.smallest), abs=1e-6)
    for c, j in enumerate(robot.opened.independent):
        limits = robot.joints[j].limits
        assert limits.lower - 1e-9 <= q[:, c].min() and q[:, c].max() <= limits.upper + 1e-9
        assert np.abs(qd[:, c]).max() <= limits.velocity + 1e-9
    assert "20 deg between 'tip' and singular postures" in str(motion.claims)
    assert "Loop 'tip': transmission angle from" in str(motion)
    assert motion.to_dict()["margins"]["loops"] == {"tip": [loop.smallest, loop.largest]}


def test_parallelograms_keep_from_being_flat():
    robot = mi.read_robot("palletiser")
    model = LoopModel(robot)
    q = np.random.default_rng(0).uniform([-1, 0.9, -1, -0.3], [1, 2.2, 1, 0.7], (20, 4))
    asked = {"rod_to_forearm": q[:, 1] - q[:, 3], "lower_rod_to_plate": q[:, 1], "upper_rod_to_wrist": q[:, 3]}
    rooms = model.rooms(q, np.zeros_like(q))
    least = np.sin(np.deg2rad(20))
    values = robot.symbol_values
    tilt = {  # of the side that does not turn with the angles
        "rod_to_forearm": 0.0,
        "lower_rod_to_plate": np.arctan2(values["Y10"], -values["X10"]),
        "upper_rod_to_wrist": np.arctan2(values["Y7"], values["X7"]),
    }
    for k, name in enumerate(model.names):
        sine = np.abs(np.sin(asked[name] - tilt[name]))
        np.testing.assert_allclose(rooms[:, k], (sine - least) / (1 - least), atol=1e-12)


def nothing(G, sharpness):
    """A criterion of which only the walls are left."""
    return 0.0, np.zeros_like(G)


def with_limits(robot):
    """Ranges of passive joints so wide that the search meets singular postures first, and fast motors."""
    limits = {"lower": -2.5, "upper": 2.5, "velocity": 6.0}
    return replace(robot, joints=tuple(replace(j, limits=replace(j.limits, **limits)) for j in robot.joints))


WALLED = {
    "five_bar": mi.read_robot("five_bar").numeric,
    "palletiser": mi.read_robot("palletiser").numeric,
    "spatial four-bar": with_limits(spatial_four_bar()),
    "ram with a free slide": with_limits(ram("slider")),
}


@pytest.mark.parametrize(
    "robot",
    [
        pytest.param(WALLED[n], id=n, marks=pytest.mark.slow if n in ("palletiser", "ram with a free slide") else ())
        for n in WALLED
    ],
)
def test_walls_of_loops_have_exact_slopes(robot):
    base, limits = base_parameters(robot, rotors=True), motion_limits(robot, workspace=Workspace(None, False))
    seed = np.array(robot.seed)[list(robot.independent)]
    problem = MotionProblem(
        mi.excitation.Fourier(5.0, harmonics=3),
        seed,
        limits,
        RegressorModel(robot, base.kept, mixing(base)),
        40,
        EffortModel(base),
    )
    objective = Objective(problem)
    rng = np.random.default_rng(0)
    y = rng.normal(size=robot.n * problem.family.free)
    y *= 0.15 / objective.use(y)
    direction = rng.normal(size=y.shape)

    def value(y):
        return objective(y, nothing, 1.0, 0)[0]

    h = 1e-6
    slope = float(objective(y, nothing, 1.0, 0)[1] @ direction)
    assert np.isfinite(value(y))
    assert slope == pytest.approx((value(y + h * direction) - value(y - h * direction)) / (2 * h), rel=1e-5)
    without = Objective(replace(problem, limits=replace(limits, loops=None)))
    assert value(y) > without(y, nothing, 1.0, 0)[0]


def test_postures_near_singular_ones_or_out_of_reach_are_refused_in_words():
    robot = mi.read_robot("five_bar")
    arms = ranged(robot, -7.0, 7.0)
    with pytest.raises(mi.MinertiaError, match="violates a constraint: distance of loop 'tip' from a singular posture"):
        mi.excite(arms, start=[2.95, 0.2], search=QUICK)
    limits = motion_limits(arms)
    checker = Checker(limits, base_parameters(arms), None)
    q = np.array([[2.2, 0.95], [3.14, 0.0], [3.0, 0.1]])
    room = checker.room(q)
    assert room[0] > 0 and (room[1:] < 0).all()
    assert checker.posture(q[:1]).is_feasible and not checker.posture(q[1:2]).is_feasible


def test_the_angle_to_keep_is_a_choice():
    robot = mi.read_robot("five_bar")
    q = np.array([[2.9, 0.25]])
    rooms = [LoopModel(robot, angle).rooms(q, 0 * q)[0, 0] for angle in (5.0, 60.0)]
    assert rooms[0] > 0 > rooms[1]
    with pytest.raises(
        mi.MinertiaError, match="transmission_deg of Workspace must be a number above 0 and at most 89.9"
    ):
        motion_limits(robot, workspace=Workspace(transmission_deg=120.0))


@pytest.mark.parametrize("robot", [four_bar(), ram("pin")], ids=["four-bar", "ram"])
def test_the_room_of_a_dyad_ends_where_its_equations_do(robot):
    """At a singular posture of a dyad its sine is 0, and so is the determinant of its equations."""
    model, closing = LoopModel(robot, 1.0), closing_of(robot)
    q = closing.draw(np.random.default_rng(1).uniform(-1, 1, (30, robot.n)), np.random.default_rng(2))
    least = np.sin(np.deg2rad(1.0))
    sine = model.rooms(q, 0 * q)[:, 0] * (1 - least) + least
    A = closing.equations(closing.close(q))[1]
    block = closing.blocks[0]
    found = np.abs(np.linalg.det(A[:, block.rows][:, :, block.passive]))
    assert (sine > 0).all()
    np.testing.assert_allclose(found / found[0], sine / sine[0], rtol=1e-9)


def test_claims_name_what_a_file_does_not_say_of_passive_joints():
    robot = mi.read_robot("five_bar")
    without = ranged(robot, None, None)
    said = claims(motion_limits(without))
    assert (
        "position limits of passive joints (the robot file has none for 'left_forearm', 'right_forearm')"
        in said.unchecked
    )


def ratios(robot, q):
    """Smallest over largest singular value of each block of loops, and whether all determinants have their sign."""
    closing = closing_of(robot.numeric)
    A = closing.equations(closing.close(q))[1] * closing.sizes
    blocks = [A[:, block.rows][:, :, block.passive] for block in closing.blocks]
    values = [np.linalg.svd(block, compute_uv=False) for block in blocks]
    signs = [np.sign(np.linalg.det(block)) == own.sign for block, own in zip(blocks, closing.blocks, strict=True)]
    return [s[:, -1] / s[:, 0] for s in values], np.all(signs)


@pytest.mark.parametrize(
    "robot",
    [with_limits(ram("slider")), mi.read_robot("delta")],
    ids=["ram", "delta"],
)
@pytest.mark.slow
def test_loops_without_a_closed_form_stay_on_their_branch_and_away_from_singular_postures(robot):
    motion = mi.excite(robot, mi.excitation.Fourier(6.0, harmonics=3), search=QUICK)
    (found,), is_on_branch = ratios(robot, motion.trajectory.q)
    assert is_on_branch
    (loop,) = motion.margins.loops
    assert loop.asked == pytest.approx(0.01) and loop.smallest >= loop.asked
    assert (loop.smallest, loop.largest) == pytest.approx((found.min(), found.max()), rel=1e-9)
    tree, rates = passive_state(robot.numeric, motion.trajectory.q, motion.trajectory.qd)
    for c, j in enumerate(robot.opened.independent):
        limits = robot.joints[j].limits
        assert limits.lower - 1e-9 <= tree[:, c].min() and tree[:, c].max() <= limits.upper + 1e-9
        assert np.abs(rates[:, c]).max() <= limits.velocity + 1e-9
    assert "singular-value ratio of at least 0.01 of loop" in str(motion.claims)
    assert "smallest to largest singular value from" in str(motion)


def test_the_room_of_a_loop_without_a_closed_form_is_0_at_the_ratio_that_is_kept():
    robot = spatial_four_bar()
    model = LoopModel(robot)
    (general,) = model.general
    q = closing_of(robot).draw(np.random.default_rng(1).uniform(-3, 3, (30, 1)), np.random.default_rng(2))
    (found,), _ = ratios(robot, q)
    rooms = model.rooms(q, 0 * q)[:, -1]
    np.testing.assert_allclose(rooms * (general.at_seed - 0.01) + 0.01, found, rtol=1e-9)


def test_states_that_loops_without_a_closed_form_cannot_reach_have_no_room():
    robot = spatial_loops(0).numeric
    seed = closing_of(robot).seed[closing_of(robot).active]
    q = seed + np.linspace(0.0, 3.0, 13)[:, None]
    reached = closing_of(robot).is_reached(q)
    assert reached[0] and not reached[-1]
    assert (np.isfinite(LoopModel(robot).rooms(q, 0 * q)[:, -1]) == reached).all()
