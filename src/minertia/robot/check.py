"""Checks of a robot, with advice: physically inconsistent bodies, missing masses, implausible limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minertia.algebra.polynomial import evaluate
from minertia.robot.description import IMPOSSIBLE, MASSLESS, impossible_body, link_text, missing_masses, moving_links
from minertia.robot.effects import EFFECTS
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.inertia import Ten, to_com
from minertia.robot.joint import Follows, Joint
from minertia.robot.loops.closure import loop_joints, residual
from minertia.robot.loops.forms import loop_forms
from minertia.robot.robot import Note, Robot

HEAVIEST = 1e4  # kg
FAR = 3.0  # times the robot's reach: a centre of mass further away is a mistake of units or of frame
SMALLEST_REACH = 0.5  # m: one joint alone has no reach to compare with


def check_robot(robot: RobotLike) -> tuple[Note, ...]:
    """Notes of the reader and all current findings on the robot, without duplicates."""
    robot = as_robot(robot)
    found = [
        *(note for note in robot.notes if note.code != MASSLESS),  # masses may have been given since
        *missing_masses(robot),
        *doubtful_bodies(robot),
        *_odd_limits(robot),
        *_negative_effects(robot),
        *_dependent_joints(robot),
        *_loops(robot),
    ]
    return tuple(dict.fromkeys(found))


def doubtful_bodies(robot: Robot) -> tuple[Note, ...]:
    """Notes on links with physically inconsistent or implausible inertial parameters."""
    noted = [note for note in robot.notes if note.code == IMPOSSIBLE]
    found = [note for note in _impossible_links(robot) if note.where not in {own.where for own in noted}]
    return (*noted, *found, *_implausible_links(robot))


def reach(robot: Robot) -> float:
    """Longest distance [m] from the base along the links to a joint or named frame, prismatic joints extended."""
    ways: list[float] = []
    for joint in robot.numeric.joints:
        before = 0.0 if joint.parent is None else ways[joint.parent]
        ways.append(before + float(np.linalg.norm(np.array(joint.p, float))) + _stroke(joint))
    values = robot.symbol_values
    for frame in robot.frames.values():
        p = [float(evaluate(s, values)) for s in frame.pose[1]]
        ways.append(float(np.linalg.norm(p)) + (0.0 if frame.joint is None else ways[frame.joint]))
    return max(ways)


def _stroke(joint: Joint) -> float:
    ends = [abs(v) for v in (joint.limits.lower, joint.limits.upper) if v is not None]
    return min(max(ends, default=0.0), 1e3) if joint.kind == "prismatic" else 0.0


def _impossible_links(robot: Robot) -> Iterator[Note]:
    for name, ten in moving_links(robot):
        note = impossible_body(name, ten)
        if note is not None:
            yield note


def _implausible_links(robot: Robot) -> Iterator[Note]:
    size = max(reach(robot), SMALLEST_REACH)
    for name, ten in moving_links(robot):
        if ten is None or ten[9] <= 0:
            continue
        for text in _implausible(ten, size):
            yield Note("warning", link_text(name), text)


def _implausible(ten: Ten, size: float) -> Iterator[str]:
    mass, com, inertia = to_com(ten)
    if mass > HEAVIEST:
        yield f"a mass of {mass:.4g} kg is implausible; check that it is in kg"
    far = float(np.linalg.norm(com))
    if far > FAR * size:
        yield (
            f"its centre of mass is {far:.4g} m from its joint, but the whole robot reaches only about {size:.3g} "
            "m; check the units and the reference frame"
        )
    gyration = float(np.sqrt(max(np.abs(np.linalg.eigvalsh(inertia))) / mass))
    if gyration > size:
        yield (
            f"its inertia corresponds to {mass:.4g} kg at a radius of gyration of {gyration:.4g} m, but the whole "
            f"robot reaches only about {size:.3g} m; check that it is in kg m2 and about the centre of mass"
        )


def _odd_limits(robot: Robot) -> Iterator[Note]:
    for joint in robot.joints:
        limits, where = joint.limits, _joint(joint)
        if limits.lower is not None and limits.upper is not None and limits.lower >= limits.upper:
            odd = f"lower limit {limits.lower:g} is not below its upper limit {limits.upper:g}"
            yield Note("warning", where, f"its {odd}, so no motion can be planned for this joint; correct both limits")
        for what in ("velocity", "acceleration", "effort"):
            value = getattr(limits, what)
            if value is not None and value <= 0:
                text = f"its {what} limit is {value:g}; give a positive limit, or omit it if it is unknown"
                yield Note("warning", where, text)


def _negative_effects(robot: Robot) -> Iterator[Note]:
    for joint, effects in zip(robot.joints, robot.effects, strict=True):
        for effect in EFFECTS:
            if effect.is_nonnegative and effects.get(effect.name, 0.0) < 0:
                meaning, value = effect.meaning.split(",")[0], effects[effect.name]
                text = f"its {meaning} is negative ({value:g}), which would generate energy; correct the value"
                yield Note("warning", _joint(joint), text)


def _loops(robot: Robot) -> Iterator[Note]:
    """Notes on closed kinematic chains: type, joints, mobility, and closure error at the seed configuration."""
    if not robot.cuts or robot.seed is None:
        return
    inside = {j: joint for j, joint in enumerate(robot.joints) if j in loop_joints(robot)}
    for cut, form in zip(robot.cuts, loop_forms(robot), strict=True):
        left = float(np.abs(residual(robot, robot.seed, [cut])).max())
        cut = robot.uncut(cut)
        links = " and ".join(f"'{_name_of(robot, j)}'" for j in (cut.first, cut.second))
        text = f"{form}, cut at a {cut.kind} joint between {links}; closure error at the seed {left:.1g} m or rad"
        yield Note("info", f"loop '{cut.name}'", text)
    active = [joint.name for j, joint in inside.items() if j in robot.independent]
    passive = [joint.name for joint in inside.values() if joint.is_passive]
    text = f"mobility {len(active)}: active {', '.join(active)}; passive {', '.join(passive)}"
    yield Note("info", "loops", text)
    more = [joint.name for joint in inside.values() if joint.is_passive and joint.has_motor]
    if more:
        text = f"{len(active) + len(more)} motors (the additional ones at {', '.join(more)}) for mobility {len(active)}"
        yield Note(
            "info",
            "loops",
            f"{text}: efforts refer to the generalised coordinates, as their distribution "
            "over the motors is not unique",
        )


def _name_of(robot: Robot, j: int | None) -> str:
    return robot.base_name if j is None else robot.joints[j].link or robot.joints[j].name


def _dependent_joints(robot: Robot) -> Iterator[Note]:
    for joint in robot.joints:
        if joint.follows is not None:
            yield Note(
                "info", _joint(joint), f"it {_following(robot, joint.follows)} and is not a generalised coordinate"
            )


def _following(robot: Robot, follows: Follows) -> str:
    leaders = [f"'{robot.joints[k].name}'" for k in follows.joints]
    offset = f" + {follows.offset:g}" if follows.offset else ""
    if len(leaders) == 1:
        return f"follows joint {leaders[0]} (position = {follows.ratios[0]:g} q{offset})"
    terms = " ".join(f"{ratio:+g} {name}" for ratio, name in zip(follows.ratios, leaders, strict=True))
    return f"follows several joints (position = {terms}{offset})"


def _joint(joint: Joint) -> str:
    return f"joint '{joint.name}'"
