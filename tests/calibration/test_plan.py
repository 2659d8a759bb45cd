"""Planned postures: possible, free of collisions, and better than random ones."""

import json
from dataclasses import replace

import numpy as np
import pytest

from minertia.calibration.plan import Sight, _length, plan_postures
from minertia.cli.root import run
from minertia.dynamics.model import forward_kinematics
from minertia.excitation.collision import CollisionModel, probes
from minertia.identification.geometry.base import exact_readings
from minertia.identification.geometry.chain import chain_of, moved
from minertia.identification.geometry.fit import fit
from minertia.identification.geometry.layout import GeometryLayout, GeometryState, Postures
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot

LEVELS = ("zeros", "geometry")


@pytest.fixture(scope="module")
def plan():
    return plan_postures("ur10e", 25, levels=LEVELS)


def test_postures_are_possible(plan):
    model = CollisionModel(plan.chain.robot)
    assert plan.q.shape == (25, 6)
    assert (model.room(plan.q) > 0).all()
    assert len(np.unique(plan.q, axis=0)) == 25


def log_determinant(chain, q):
    """Of the information about corrections from exact readings of three points."""
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool
    made, own = exact_readings("points", tool, np.random.default_rng(0))
    layout = GeometryLayout(chain, Postures(q, made))
    rows = layout.linearised(GeometryState(chain.nominal, np.zeros(0), tuple(own)))
    scaled = rows.A / 1e-4
    return np.linalg.slogdet(scaled.T @ scaled)[1]


def test_they_tell_more_than_random_ones(plan):
    robot = read_robot("ur10e")
    chain = chain_of(robot)
    free = probes(robot, 600)
    free = free[CollisionModel(robot).room(free) > 0]
    ours = log_determinant(chain, plan.q)
    others = [log_determinant(chain, free[25 * k : 25 * k + 25]) for k in range(8)]
    assert ours > max(others) + 3


def test_the_way_is_shorter_than_in_any_order(plan):
    rng = np.random.default_rng(0)
    assert plan.way < 0.8 * min(_length(plan.q[rng.permutation(25)]) for _ in range(20))


def test_what_is_planned_is_what_calibrate_reads(plan, tmp_path):
    """A plan driven and measured gives the planted corrections back."""
    chain = plan.chain
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(plan.q)).tool
    made, own = exact_readings("points", tool, np.random.default_rng(1))
    layout = GeometryLayout(chain, Postures(plan.q, made))
    found = fit(layout, GeometryState(chain.nominal, np.zeros(0), tuple(own)), ("zeros", "lengths", "angles"))
    assert np.abs(found.values[~np.isin(found.groups, ["base", "tool"])]).max() < 1e-9


def test_the_command_writes_them(tmp_path, capsys):
    given = ["calibrate", "scara", "--plan", "8", "--effects", "zeros", "--out", str(tmp_path / "p"), "--json"]
    assert run(given) == 0
    assert len(json.loads(capsys.readouterr().out)["postures"]) == 8
    lines = (tmp_path / "p" / "postures.csv").read_text().splitlines()
    assert len(lines) == 9 and len(lines[0].split(",")) == 4


def test_too_few_are_refused():
    with pytest.raises(MinertiaError, match="at least 4 postures"):
        plan_postures("ur10e", 2)


def test_the_motion_through_them_is_free_and_stops_at_each(plan):
    """Of a UR10e, whose joints turn twice: the same postures a full turn away need no way around."""
    plan = replace(plan, q=plan.q[:6])
    route = plan.route()
    reached = [int(name.split()[-1]) - 1 for name in route.names if name.startswith("posture")]
    assert len(reached) >= 5
    q, qd, _ = route.at(np.arange(0, route.duration, 0.05))
    assert (plan.collision.room(q) > 0).all()
    still = q[np.abs(qd).max(axis=1) < 1e-9]
    assert all(np.abs(still - plan.q[k]).max(axis=1).min() < 1e-9 for k in reached)
    assert np.abs(np.diff(plan.q, axis=0)).max() < 2 * np.pi


@pytest.mark.parametrize("cone", [None, 0.9])
def test_the_instrument_sees_what_is_planned(plan, cone):
    """Against points along the line of sight, and the angle from the poses of the tip."""
    chain, collision, q = plan.chain, plan.collision, probes(plan.chain.robot, 150)
    place = np.array([1.5, 0.3, 0.8])
    seen = Sight(place, cone).sees(chain, collision, q)
    R, p = forward_kinematics(chain.robot, q, "tool0")
    faces = np.einsum("ni,ni->n", place - p, R[:, :, 2]) > np.cos(cone or np.pi) * np.linalg.norm(place - p, axis=1)
    points = p[:, None] + np.linspace(0, 1, 400)[:, None] * (place - p)[:, None]
    a, b = np.moveaxis(collision.placed(q)[:, collision.ends], 2, 0)
    along, rest = (b - a)[:, None], points[:, :, None] - a[:, None]
    part = np.clip((rest * along).sum(3) / np.maximum((along**2).sum(3), 1e-12), 0, 1)
    inside = np.linalg.norm(rest - part[..., None] * along, axis=3) < collision.radius
    blocked = (inside.any(axis=1) & ~inside[:, 0]).any(axis=1)
    assert (seen != (faces & ~blocked)).sum() <= 2 and 0 < seen.sum() < len(q)  # two: lines that touch a link
