"""Drawn limits for motions, and a judgement of the motions by other code: MuJoCo's kinematics and shapes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from minertia import read_robot
from minertia.excitation.excite import excite
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import motion_limits
from minertia.excitation.options import MotionSearch, Optimality, Workspace
from minertia.excitation.result import Excitation
from minertia.io.errors import Infeasible, InputError
from minertia.robot.robot import Robot
from tests.excitation.world import World
from tests.shared import SHARED

FLOORS = ("base", "base", "base", "base", "number", "none")
GRAVITIES = ((0, 0, -9.81), (0, 0, -9.81), (0, 0, -9.81), (0, 0, 9.81), (9.81, 0, 0))
FLOATING = ("go2.mjcf.xml", "tiago.mjcf.xml")
PROBES = 400
DRAWS = 8  # of each robot
FEWER = {  # of those with the longest searches; all together are still more than two hundred
    "simple_humanoid.urdf": 2, "allegro_right_hand.urdf": 2, "panda.urdf": 3, "tiago_no_hand.urdf": 3,
    "solo12.urdf": 4, "kuka_lwr4.urdf": 4, "ur5e.mjcf.xml": 5, "kinova_gen3.urdf": 5,
}  # fmt: skip
ALMOST = 1e-9
ALONG = np.linspace(0.0, 1.0, 33)[None, :, None]


@dataclass(frozen=True)
class Draw:
    """Limits for one robot: those of joints, the floor, where it hangs, and how long the motion is."""

    limits: dict[str, Any]
    gravity: tuple[float, float, float]
    duration: float
    start: str | None
    efforts: bool
    jerk: Any = None


@dataclass
class Outcome:
    """A motion, or the sentence that refuses it; what an independent look at the motion finds wrong."""

    motion: Excitation | None
    refusal: str = ""
    faults: list[str] = field(default_factory=list)


def files() -> list[str]:
    """Shared robot files with a fixed base, those that are there."""
    there = sorted(path for path in (SHARED / "robots").glob("*.*") if path.suffix not in (".md", ".json"))
    return [str(path) for path in there if path.name not in FLOATING]


def draws_of(name: str) -> int:
    """How many limits are drawn for a robot."""
    return FEWER.get(Path(name).name, DRAWS)


def lacks_values(name: str) -> bool:
    """Whether letters of a robot have no value, so that no motion can be found for it."""
    return any(value is None for value in read_robot(name).symbols.values())


def drawn(robot: Robot, seed: int) -> Draw:
    """Parts of the ranges of the file about any place in them, any velocities, sometimes accelerations and efforts."""
    rng = np.random.default_rng(seed)
    ranges, own = [], [robot.joints[j].limits for j in robot.independent]
    for j in robot.independent:
        limits, reach = robot.joints[j].limits, np.pi if robot.joints[j].kind == "revolute" else 0.4
        low = -reach if limits.lower is None else limits.lower
        high = reach if limits.upper is None else limits.upper
        low, high = (min(low, high), max(low, high)) if low != high else (-reach, reach)
        half = 0.5 * (high - low) * rng.uniform(0.3, 1.0)
        centre = rng.uniform(low + half, high - half) if high - low > 2 * half else 0.5 * (low + high)
        ranges.append([centre - half, centre + half])
    given: dict[str, Any] = {"position": ranges, "velocity": rng.uniform(0.3, 3.0, robot.n)}
    if rng.random() < 0.5:
        given["acceleration"] = rng.uniform(2.0, 12.0, robot.n)
    given["beyond_file"] = any(limits.lower == limits.upper for limits in own) or any(
        None not in (limits.lower, limits.upper) and limits.lower > limits.upper for limits in own
    )
    given["effort"] = False
    floor = FLOORS[rng.integers(len(FLOORS))]
    height = {"base": "base", "none": None, "number": float(rng.uniform(-0.6, 0.05))}[floor]
    given["workspace"] = Workspace(floor=height)
    gravity = GRAVITIES[rng.integers(len(GRAVITIES))] if any(robot.gravity) else robot.gravity
    efforts = robot.has_parameters and bool(rng.random() < 0.5)
    return Draw(given, gravity, float(rng.uniform(4, 9)), "any" if rng.random() < 0.15 else None, efforts)


def _efforts(robot: Robot, seed: int) -> Any:
    """A few times what the robot needs to move slowly somewhere."""
    from minertia.dynamics.model import inverse_dynamics

    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-2, 2, (2, 100, robot.n))
    still = np.abs(inverse_dynamics(robot, q, 0.05 * qd, np.zeros_like(q))).max(axis=0)
    return (still + 0.05 * still.max() + 1.0) * rng.uniform(1.3, 4.0, robot.n)


def with_jerk(draw: Draw, n: int, seed: int) -> Draw:
    """The draw with limits of jerk: from what hardly matters to what allows swings of hundredths only."""
    jerk = np.exp(np.random.default_rng([seed, 1]).uniform(np.log(0.5), np.log(200.0), n))
    return replace(draw, jerk=jerk)


def outcome(name: str, seed: int, *, jerk: bool = False) -> Outcome:
    """The motion of a drawn setting, judged."""
    robot = read_robot(name)
    draw = with_jerk(drawn(robot, seed), robot.n, seed) if jerk else drawn(robot, seed)
    robot = robot.with_gravity(draw.gravity)
    if draw.efforts:
        draw.limits["effort"] = _efforts(robot, seed)
    try:
        limits = motion_limits(robot, **draw.limits)
        limits = limits if draw.jerk is None else limits.with_jerk(draw.jerk)
        search = MotionSearch(starts=1, seed=seed, n_samples=60, patience=0.1)
        family, optimality = Fourier(draw.duration, 3), Optimality(rotors=False, friction=False)
        found = excite(robot, family, limits=limits, start=draw.start, optimality=optimality, search=search)
    except (Infeasible, InputError) as err:  # the second where letters have no value
        return Outcome(None, str(err))
    return Outcome(found, faults=faults(name, robot, draw, found))


# ---------------------------------------------------------------------- the judgement


def faults(name: str, robot: Robot, draw: Draw, found: Excitation) -> list[str]:
    """What is wrong with a motion, on a grid ten times finer than the samples of the search."""
    t = np.linspace(0, found.motion.duration, 10 * found.n_samples + 1)
    q, qd, qdd = found.motion.at(t)
    wrong = [*_joint_faults(robot, draw, q, qd, qdd)]
    if draw.jerk is not None and (np.abs(np.diff(qdd, axis=0) / np.diff(t)[:, None]) > draw.jerk + ALMOST).any():
        wrong.append("jerk")
    if any(value is None for value in robot.symbols.values()):
        return wrong  # nobody knows where its links are
    world = World(name, robot)
    return wrong + _floor_faults(world, found, q) + _pair_faults(world, found, q) + _shape_faults(world, found, q)


def _joint_faults(robot: Robot, draw: Draw, q: Any, qd: Any, qdd: Any) -> list[str]:
    from minertia.dynamics.model import inverse_dynamics

    given = draw.limits
    low, high = np.array(given["position"]).T
    wrong = []
    if (q < low - ALMOST).any() or (q > high + ALMOST).any():
        wrong.append("position")
    if (np.abs(qd) > given["velocity"] + ALMOST).any():
        wrong.append("velocity")
    if "acceleration" in given and (np.abs(qdd) > given["acceleration"] + ALMOST).any():
        wrong.append("acceleration")
    if np.abs(qd[[0, -1]]).max() > 1e-8 or np.abs(qdd[[0, -1]]).max() > 1e-8:
        wrong.append("not at rest")
    if given["effort"] is not False and (np.abs(inverse_dynamics(robot, q, qd, qdd)) > given["effort"]).any():
        wrong.append("effort")
    return wrong


def _floor_faults(world: World, found: Excitation, q: Any) -> list[str]:
    """Joint centres below the floor, but for those that are never above it."""
    model = found.limits.clearance
    if model is None or model.floor is None:
        return []
    robot = world.robot
    ranges = [robot.joints[j].limits for j in robot.independent]
    low = [-np.pi if r.lower is None else r.lower for r in ranges]
    high = [np.pi if r.upper is None else r.upper for r in ranges]
    postures = np.random.default_rng(7).uniform(np.minimum(low, high), np.maximum(low, high), (PROBES, robot.n))
    least = model.floor + model.margin
    avoids = world.centres(postures)[:, :, 2].max(axis=0) > least + 2 * model.body.radius
    above = world.centres(q)[:, :, 2].min(axis=0) - least
    names = [joint.link or joint.name for joint in robot.joints]
    return [
        f"'{name}' {-height:.3f} m too low"
        for name, height, can in zip(names, above, avoids, strict=True)
        if can and height < 0
    ]


def _pair_faults(world: World, found: Excitation, q: Any) -> list[str]:
    """Lines from joint to joint, of links that are no neighbours, that come nearer than two radii."""
    model, robot = found.limits.clearance, world.robot
    if model is None or not model.among_links or not all(c.by_frames for c in model.body.capsules):
        return []
    at = world.centres(q)
    lines = [
        (j, joint.link or joint.name, at[:, j], at[:, k])
        for j, joint in enumerate(robot.joints)
        for k, child in enumerate(robot.joints)
        if child.parent == j and child.kind == "revolute"
    ]
    wrong = []
    for (a, first, a0, a1), (b, second, b0, b1) in combinations(lines, 2):
        names = both(first, second)
        if not near(robot, a, b) and names not in model.ignored and apart(a0, a1, b0, b1) < 2 * model.body.radius:
            wrong.append(f"{names} collide")
    return wrong


def _shape_faults(world: World, found: Excitation, q: Any) -> list[str]:
    """Shapes of the file itself that meet, but for neighbours and pairs that are said to be left out."""
    model = found.limits.clearance
    if model is None or not model.among_links:
        return []
    return [f"{pair} meet" for pair in world.meeting(q[::5], model.ignored)]


def apart(a0: Any, a1: Any, b0: Any, b1: Any) -> float:
    """Smallest distance of moving segments (N, 3), by points along the first and the nearest point of the second."""
    p = a0[:, None, :] + ALONG * (a1 - a0)[:, None, :]
    line = (b1 - b0)[:, None, :]
    length = np.maximum((line**2).sum(axis=2), 1e-12)
    s = np.clip(((p - b0[:, None, :]) * line).sum(axis=2) / length, 0, 1)
    return float(np.linalg.norm(p - b0[:, None, :] - s[:, :, None] * line, axis=2).min())


def both(a: str, b: str) -> str:
    """A pair as results name it."""
    return " and ".join(f"'{name}'" for name in sorted((a, b)))


def near(robot: Robot, a: int | None, b: int | None) -> bool:
    """Whether one of two links carries the other, or carries a slide that does."""
    for low, high in ((a, b), (b, a)):
        above = None if high is None else robot.joints[high].parent
        if high is not None and (above == low or above is not None and _slides_on(robot, above, low)):
            return True
    return a == b


def _slides_on(robot: Robot, j: int, parent: int | None) -> bool:
    return robot.joints[j].kind == "prismatic" and robot.joints[j].parent == parent
