"""Ways to a motion and back: at rest at their ends, within every limit, around what is in the way."""

from __future__ import annotations

import numpy as np
import pytest

from minertia import read_robot
from minertia.base.derive import base_parameters
from minertia.codegen.kernels.build import native
from minertia.excitation.check import Checker
from minertia.excitation.effort import EffortModel
from minertia.excitation.excite import excite
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import motion_limits
from minertia.excitation.options import MotionSearch, Optimality, Workspace
from minertia.excitation.route import Route, route
from minertia.excitation.shapes import box
from minertia.excitation.spline import Spline
from minertia.excitation.transfer import Transfer, transfer
from minertia.io.errors import Infeasible, ShapeError

QUICK = MotionSearch(starts=1, n_samples=60, patience=0.1)
NOWHERE = Workspace(floor=None, self_collision=False)
PLAIN = Optimality(rotors=False, friction=False)


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")


def checker_of(name, jerk=None, **given):
    robot = read_robot(name)
    base = base_parameters(robot, rotors=True, friction=True)
    limits = motion_limits(robot, **given)
    effort = EffortModel(base) if robot.has_parameters else None
    return Checker(limits if jerk is None else limits.with_jerk(jerk), base, effort)


def states(way, count=20001):
    """q, qd, qdd on a fine grid and the jerk from differences."""
    t = np.linspace(0, way.duration, count)
    q, qd, qdd = way.at(t)
    return q, qd, qdd, np.diff(qdd, axis=0) / np.diff(t)[:, None]


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_ways_between_drawn_postures_keep_every_limit(seed):
    rng = np.random.default_rng(seed)
    v, a, j = rng.uniform(0.3, 2, 6), rng.uniform(1, 8, 6), rng.uniform(2, 60, 6)
    checker = checker_of("puma560_physical", j, velocity=v, acceleration=a, workspace=Workspace(floor=-0.7))
    limits = checker.limits
    free = [q for q in limits.middle + 0.8 * limits.half * rng.uniform(-1, 1, (200, 6)) if checker.room(q[None])[0] > 0]
    way = transfer(checker, free[0], free[1], seed=seed)
    q, qd, qdd, jerk = states(way)
    np.testing.assert_allclose(q[[0, -1]], free[:2], atol=1e-12)
    assert np.abs(qd[[0, -1]]).max() < 1e-9 and np.abs(qdd[[0, -1]]).max() < 1e-9
    assert (np.abs(qd) <= v).all() and (np.abs(qdd) <= a).all() and (np.abs(jerk) <= j * (1 + 1e-6)).all()
    assert (q >= limits.lower).all() and (q <= limits.upper).all()
    assert checker.room(q[::10]).min() >= -1e-9


def test_a_way_goes_around_an_obstacle():
    """A post beside an arm that is stretched out: straight on it would be hit, above it there is room."""
    post = box("post", (0.5, 0.5, 0.0), (0.1, 0.1, 0.4))
    checker = checker_of("puma560_physical", effort=False, workspace=Workspace(floor=-0.7, obstacles=(post,)))
    a, b = np.array([-0.5, 0.0, -1.57, 0.0, 0.0, 0.0]), np.array([2.0, 0.0, -1.57, 0.0, 0.0, 0.0])
    straight = a + np.linspace(0, 1, 400)[:, None] * (b - a)
    assert checker.room(straight).min() < 0, "the post must be in the way for this test to say anything"
    way = transfer(checker, a, b)
    assert len(way.postures) > 2
    assert checker.room(states(way)[0][::5]).min() >= -1e-9
    np.testing.assert_allclose(way.at(way.ends)[1], 0, atol=1e-12)


def test_what_is_in_the_way_is_named(monkeypatch):
    monkeypatch.setattr("minertia.excitation.transfer.NODES", 200)  # there is no way, however long one looks
    wall = box("wall", (0.3, 0.3, 0.0), (0.1, 0.1, 1.0))
    checker = checker_of("planar2r", position=2.0, workspace=Workspace(floor=None, obstacles=(wall,)))
    with pytest.raises(Infeasible, match="no collision-free path was found.*'wall'"):
        transfer(checker, [0.0, 0.0], [1.6, 0.0])
    with pytest.raises(Infeasible, match="the initial posture violates a limit: joint"):
        transfer(checker, [9.0, 0.0], [1.6, 0.0])
    with pytest.raises(ShapeError, match="2 finite numbers"):
        transfer(checker, [0.0], [1.6, 0.0])


def test_no_way_is_said_before_the_search(monkeypatch):
    """The wall between where the robot stands and where its motion begins is named before anything is searched."""
    monkeypatch.setattr("minertia.excitation.transfer.NODES", 200)
    monkeypatch.setattr("minertia.excitation.excite.Search", None)  # whoever begins one fails
    wall = box("wall", (0.3, 0.3, 0.0), (0.1, 0.1, 1.0))
    robot = read_robot("planar2r")
    limits = motion_limits(robot, position=2.0, workspace=Workspace(floor=None, obstacles=(wall,)))
    search = MotionSearch(starts=1, n_samples=60, come_from=(1.6, 0.0))
    with pytest.raises(Infeasible, match="no collision-free path was found.*'wall'"):
        excite(robot, Fourier(4.0, 3), limits=limits, start=[0.0, 0.0], optimality=PLAIN, search=search)
    with pytest.raises(Infeasible, match="the initial posture violates a limit: joint"):
        excite(robot, Fourier(4.0, 3), limits=limits, start="any", search=MotionSearch(come_from=(9.0, 0.0)))


def test_slow_enough_for_efforts():
    """Efforts hardly above what the arm's weight needs: the way takes longer, and keeps them."""
    robot = read_robot("puma560_physical")
    plain = checker_of("puma560_physical", acceleration=50.0, velocity=5.0, effort=False, workspace=NOWHERE)
    a = np.array([0.0, 1.5, -1.5, 0.5, 0.5, 0.0])
    b = a + [1.5, 0, 0, 0, 0, 0]
    from minertia.dynamics.model import inverse_dynamics

    way = transfer(plain, a, b, share=1.0)
    needed = np.abs(inverse_dynamics(robot, *way.at(np.linspace(0, way.duration, 500)))).max(axis=0)
    limit = 3 * needed + 20
    limit[0] = 0.6 * needed[0]
    tight = checker_of("puma560_physical", acceleration=50.0, velocity=5.0, effort=limit, effort_margin=0.0,
                       workspace=NOWHERE)  # fmt: skip
    slower = transfer(tight, a, b, share=1.0)
    assert slower.duration > way.duration
    efforts = np.abs(inverse_dynamics(robot, *slower.at(np.linspace(0, slower.duration, 2000))))
    assert (efforts <= limit * (1 + 1e-9)).all()


@pytest.mark.parametrize("family", [Fourier(4.0, 3), Spline(4.0, 8)], ids=lambda f: type(f).__name__)
def test_a_route_goes_there_and_back(family):
    robot = read_robot("planar2r")
    limits = motion_limits(robot).with_jerk(40.0)
    found = excite(robot, family, limits=limits, optimality=PLAIN, search=QUICK)
    here = found.trajectory.q[0] + [0.4, -0.3]
    way = route(found, here)
    assert way.names == ("approach", "excitation", "return")
    q, qd, qdd, jerk = states(way, 40001)
    np.testing.assert_allclose(q[[0, -1]], [here, here], atol=1e-9)
    assert np.abs(np.diff(q, axis=0)).max() < 2e-3, "parts join without a step"
    assert (np.abs(qd) <= limits.velocity * (1 + 1e-9)).all() and (np.abs(qdd) <= limits.acceleration).all()
    assert np.abs(jerk).max() <= 40 * (1 + 1e-3)
    at_joints = way.at(way.begins)
    assert np.abs(at_joints[1]).max() < 1e-9 and np.abs(at_joints[2]).max() < 1e-6


def test_a_route_alone_is_the_motion():
    found = excite(read_robot("planar2r"), Fourier(4.0, 3), optimality=PLAIN, search=QUICK)
    way = route(found)
    t = np.linspace(0, 4, 50)
    np.testing.assert_array_equal(way.at(t)[0], found.motion.at(t)[0])
    np.testing.assert_array_equal(way.jerk(t), found.motion.jerk(t))
    assert way.at([99.0])[1].max() == 0


def test_motions_in_full_swing_are_not_joined():
    found = excite(read_robot("planar2r"), Fourier(4.0, 3, rest=False), optimality=PLAIN, search=QUICK)
    with pytest.raises(Infeasible, match="start and end at rest"):
        route(found, [0.0, 0.0])


@pytest.mark.parametrize("rate, count", [(100.0, 41), (3.0, 3), (7.0, 4), (250.0, 101)])
def test_samples_at_a_rate_reach_the_end(rate, count):
    way = Route((("approach", Transfer(np.array([[0.0], [1.0]]), np.array([0.0, 0.4]))),))
    path = way.at_rate(rate)
    assert len(path.t) == count
    np.testing.assert_allclose(np.diff(path.t), 1 / rate)
    assert path.q[-1] == pytest.approx([1.0]) and path.qd[-1] == pytest.approx([0.0]) and path.t[-1] >= 0.4 - 1e-9


@pytest.mark.parametrize("rate", [0.0, -5.0, float("nan"), float("inf"), 1e6])
def test_rates_nobody_has(rate):
    way = Route((("approach", Transfer(np.array([[0.0], [1.0]]), np.array([0.0, 0.4]))),))
    with pytest.raises(Infeasible, match="Hz"):
        way.at_rate(rate)
