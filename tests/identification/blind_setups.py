"""Set-ups that chose no rule and no number of a verdict: other robots, other faults, and kinds that come together.

Drawn as those of `drawn_setups`.  They were written after the rules were chosen and judged once; whoever changes a rule
because of them draws new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from minertia.robot.files import read_robot
from minertia.robot.inertia import from_com, to_com
from minertia.robot.robot import Robot
from minertia.robot.variants import locked
from tests.identification.drawn_setups import (
    ALWAYS,
    AT_JOINT,
    OVERALL,
    RIGHT,
    UNVALIDATED,
    VALIDATED,
    WRONG,
    Base,
    Change,
    Drawn,
    World,
    _bare,
    _columns,
    _either,
    _one,
    _signed,
    _some,
    drawn_world,
    matters,
    shaped,
)
from tests.identification.otherwise import _of_rods
from tests.random_robots import random_robot
from tests.shared import SHARED

Array = Any
RODS = {"rx90": (12.0, 9.0, 5.0, 2.5, 1.2, 0.5), "panda": (3.5, 3.5, 3.0, 2.8, 2.5, 1.5, 0.7)}
ARMS = ((410, 3), (411, 4), (401, 4), (402, 5), (403, 6), (405, 3), (406, 4), (407, 5), (414, 7))
FILES = {"tx40_mdh_modified.urdf": (0, 6), "tiago_no_hand.urdf": (3, 10)}  # coordinates that move
BACKGROUNDS = ("plain", "masses off", "stribeck", "light wrist", "uneven noise", "load friction")
TOGETHER = (
    ("masses off", "stribeck", "uneven noise"), ("centre off", "light wrist"), ("short", "load friction"),
    ("tool", "noisy"), ("low rate", "rippled"), ("masses off", "quiet"), ("position noise", "warming"),
    ("hardly moved",), ("centres off", "slow noise"), ("stribeck", "much friction"), ("repeated", "uneven noise"),
    ("stribeck", "without masses"), ("masses off", "rounded"), ("slow", "centre off"), ("masses off", "presliding"),
    ("tool", "stribeck"), ("masses off", "hardly moved"), ("centre off", "position noise"),
)  # fmt: skip
AGAIN = (
    "exchanged", "three exchanged", "sign", "position sign", "degrees", "kilograms", "scale of one", "ratio of one",
    "position scale", "unseen load", "load in one", "coupled", "clock", "one delayed", "delayed", "zero off",
    "other geometry", "one length", "filtered efforts", "slipping", "copied", "saturated one", "touching",
    "clocks apart",
)  # fmt: skip


def blind_robots() -> list[Robot]:
    """None of the drawn ones."""
    arms = [random_robot(seed, n=n) for seed, n in ARMS]
    rx90, panda = (_of_rods(read_robot(name), masses) for name, masses in RODS.items())
    found = [rx90, arms[0], panda, *arms[1:]]
    for name, (first, last) in FILES.items():
        robot = read_robot(SHARED / "robots" / name)
        still = [c for k, c in enumerate(robot.coordinate_names) if not first <= k < last]
        found.append(locked(robot, dict.fromkeys(still, 0.0)) if still else robot)
    return [_bare(shaped(robot)) for robot in found]


def two_gains(world: World) -> World:
    some = world.rng.choice(world.robot.n, min(2, world.robot.n), replace=False)
    s = np.ones(world.robot.n)
    s[some] = [_either(world, 1.4, 2.0) for _ in some]
    return _columns(world, lambda q, tau: (q, tau * s))


def two_ratios(world: World) -> World:
    some = world.rng.choice(world.robot.n, min(2, world.robot.n), replace=False)
    s = np.ones(world.robot.n)
    s[some] = [_either(world, 1.2, 1.5) for _ in some]
    return _columns(world, lambda q, tau: (q * s, tau / s))


def absolute_angle(world: World) -> World:
    """A joint's position as the angle of its link, its effort as it is."""
    b = _some(world, 1)
    a = max(b - 1, 0)
    G = np.eye(world.robot.n)
    G[b, a] += 1.0 if b != a else 0.0
    return _columns(world, lambda q, tau: (q @ G.T, tau))


def twice(world: World) -> World:
    """One effort in the column of another one, too."""
    a, b = world.rng.choice(world.robot.n, 2, replace=False)
    order = np.arange(world.robot.n)
    order[a] = b
    return _columns(world, lambda q, tau: (q, tau[:, order]))


def stuck(world: World) -> World:
    """A position that is not updated."""
    keep = _one(world, _some(world), 0.0)
    return _columns(world, lambda q, tau: (q * keep + q[:1] * (1 - keep), tau))


def of_rated(world: World) -> World:
    """Efforts in per cent of a rated one of each joint."""
    rated = world.rng.uniform(0.5, 2.0, world.robot.n)
    return _columns(world, lambda q, tau: (q, 100 * tau / (rated * np.abs(tau).max(axis=0))))


def unseen_saturated(world: World) -> World:
    part = float(world.rng.uniform(0.3, 0.5))

    def clipped(k: int, t: Array, state: tuple[Array, ...], tau: Array) -> Array:
        most = part * np.abs(tau).max(axis=0)
        return np.clip(tau, -most, most) if k >= world.train else tau

    return replace(world, forced=clipped)


def cold_half(world: World) -> World:
    """Friction several times as large in the first half of each log."""
    f, extra = world.friction, float(world.rng.uniform(2, 4))

    def forced(k: int, t: Array, state: tuple[Array, ...], tau: Array) -> Array:
        more = f["viscous"] * state[1] + f["coulomb"] * np.tanh(state[1] / f["speed"] / 0.03)
        return tau + extra * more * (t < world.seconds / 2)[:, None]

    return replace(world, forced=forced)


def other_robot(world: World) -> World:
    """The unseen logs of another one of the family, heavier."""
    factor, links = float(world.rng.uniform(1.4, 1.8)), []
    for ten in world.truth.links:
        mass, com, inertia = to_com(ten)
        links.append(from_com(factor * mass, com, factor * inertia))
    other = replace(world.truth, links=tuple(links))
    return replace(world, links=lambda k: other if k >= world.train else world.truth)


def two_zeros(world: World) -> World:
    some = world.rng.choice(world.robot.n, min(2, world.robot.n), replace=False)
    off = np.zeros(world.robot.n)
    off[some] = [_signed(world, 0.3, 1.0) for _ in some]
    return _columns(world, lambda q, tau: (q + off, tau))


def slow_tilt(world: World) -> World:
    return replace(world, base=Base(tilt=float(world.rng.uniform(0.25, 0.5)), pace=0.04))


def slope(world: World) -> World:
    g = np.array(world.robot.gravity)
    axis = np.cross(g, world.rng.normal(size=3))
    axis /= np.linalg.norm(axis)
    angle = world.rng.uniform(0.45, 0.7)
    return replace(world, truth=world.truth.with_gravity(tuple(g * np.cos(angle) + np.cross(axis, g) * np.sin(angle))))


FRESH: dict[str, tuple[Change, tuple[str, ...]]] = {
    "two gains": (two_gains, ("gains",)),
    "two ratios": (two_ratios, ("ratio",)),
    "absolute angle": (absolute_angle, ("coupl", "ratio")),
    "twice": (twice, ("exchanged", "order")),
    "stuck": (stuck, ("move", "rows")),
    "of rated": (of_rated, ("gains", "effort_unit")),
    "unseen saturated": (unseen_saturated, ("saturat",)),
    "cold half": (cold_half, ("friction",)),
    "other robot": (other_robot, ("load",)),
    "two zeros": (two_zeros, ("zero",)),
    "slow tilt": (slow_tilt, ("base", "gravity")),
    "slope": (slope, ("gravity",)),
}
OF_UNSEEN = (*VALIDATED, "unseen saturated", "other robot")
FIRST = 9000


def blind_setups(robots: Sequence[Robot]) -> list[Drawn]:
    """All of them."""
    faults = [*FRESH, *AGAIN]
    right = [_right(robots[k % len(robots)], kinds, FIRST + k) for k, kinds in enumerate(TOGETHER)]
    wrong = [_wrong(robots[(5 * k + 2) % len(robots)], fault, FIRST + 100 + k) for k, fault in enumerate(faults)]
    return [*right, *(drawn for drawn in wrong if drawn is not None)]


def _right(robot: Robot, kinds: Sequence[str], seed: int) -> Drawn:
    rng = np.random.default_rng([81, seed])
    world = drawn_world(robot, rng, validate="repeated" in kinds or bool(rng.random() < 0.75))
    for kind in kinds:
        world = RIGHT[kind](world)
    world = replace(world, is_chosen=seed % 3 == 0)
    return Drawn(f"{robot.name}, {' and '.join(kinds)}", world.campaign(), None, tuple(world.weak()))


def _wrong(robot: Robot, fault: str, seed: int) -> Drawn | None:
    make, words = FRESH[fault] if fault in FRESH else WRONG[fault]
    if robot.n < 2:
        return None
    for attempt in range(12):
        rng = np.random.default_rng([82, seed, attempt])
        validate = fault in OF_UNSEEN or (fault not in UNVALIDATED and bool(rng.random() < 0.75))
        kind = BACKGROUNDS[int(rng.integers(len(BACKGROUNDS)))]
        world = RIGHT[kind](drawn_world(robot, rng, validate=validate))
        changed = make(world)
        of_all, of_each = matters(world, changed)
        if fault in ALWAYS or of_all > OVERALL or of_each.max() > AT_JOINT:
            joints = [name for name, part in zip(robot.coordinate_names, of_each, strict=True) if part > 0.1]
            changed = replace(changed, is_chosen=seed % 3 == 0)
            own = (of_all, float(of_each.max()))
            return Drawn(f"{robot.name}, {fault}, {kind}", changed.campaign(), fault, tuple(joints), words, own)
    return None
