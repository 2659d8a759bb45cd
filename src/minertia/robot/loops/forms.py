"""Types of closed loops: parallelograms, which dependent joints keep closed, and the names of all types.

A passive angle of a parallelogram is a signed sum of active angles plus a constant.  Candidates come from the
null-space motions at the seed; they are accepted if the cut stays closed for all positions of the active
joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minertia.algebra.vec3 import cross, dot
from minertia.io.arrays import Array
from minertia.robot.formats.snap import snap_angle
from minertia.robot.joint import PARALLELOGRAM, Cut
from minertia.robot.loops.closure import cut_joints, cut_sides, follower_map, jacobian, motions_left, residual
from minertia.robot.robot import SEED, Robot

POSTURES = 6
DRAWS = 3  # of letters without a value
WHOLE = 1e-3  # how near a rate has to be to a whole number
LARGEST = 3


class Rule(NamedTuple):
    """Linear relation: position of a joint = sum of ratio * position of each leader + offset [rad]."""

    joint: int
    leaders: tuple[int, ...]
    ratios: tuple[float, ...]
    offset: float


def linear_rules(
    robot: Robot, q: Array, active: Sequence[int], passive: Sequence[int], tolerance: float
) -> tuple[list[Rule], dict[int, float]]:
    """Linear rules of passive joints, and {cut: largest closure error} of the cuts they close.

    q: closed position of all joints.  tolerance: admissible closure error [m, and rad for a loop of 1 m].
    """
    found = {rule.joint: rule for rule in _candidates(robot, q, active, passive, tolerance)}
    while found:
        held = _held(robot, q, active, found, tolerance)
        used = {j for k in held for j in cut_joints(robot, robot.cuts[k])}
        kept = {j: rule for j, rule in found.items() if j in used}
        if len(kept) == len(found):
            return list(kept.values()), held
        found = kept
    return [], {}


def held_cuts(robot: Robot, tolerance: float) -> dict[int, float]:
    """{cut: largest closure error} of the cuts that stay closed for all positions of the independent joints."""
    return _held(robot, follower_map(robot)[1], list(robot.opened.independent), {}, tolerance)


def holds_in_letters(robot: Robot, rules: Sequence[Rule], held: Mapping[int, float], q: Array) -> bool:
    """Whether the cuts stay closed for any values of the symbols, including symbols with a given value."""
    values = robot.other_values(11)
    other = robot.at(values)
    cuts = [other.cuts[k] for k in held]
    postures = _postures(robot, q, [*{j for rule in rules for j in rule.leaders}], {r.joint: r for r in rules})
    return bool(np.abs(residual(other, postures, cuts)).max(initial=0.0) < 1e-6)


def _candidates(robot: Robot, q: Array, active: Sequence[int], passive: Sequence[int], tolerance: float) -> list[Rule]:
    """Candidate relations with integer ratios, from the null-space motions of the loops at q."""
    free = list(robot.opened.independent)
    N = motions_left(jacobian(robot, q) @ follower_map(robot)[0], 1e-4 if tolerance > 1e-9 else 1e-7)
    row = {j: N[k] for k, j in enumerate(free)}
    if not active or N.shape[1] != len(active):
        return []
    G = np.array([row[j] for j in passive]).reshape(len(passive), -1) @ np.linalg.pinv([row[j] for j in active])
    turning = [robot.joints[j].kind == "revolute" for j in active]
    rules = []
    for j, rates in zip(passive, G, strict=True):
        whole = np.rint(rates)
        leaders: list[int] = np.flatnonzero(whole).tolist()
        is_whole = np.abs(rates - whole).max() < WHOLE and np.abs(whole).max() <= LARGEST
        turns = robot.joints[j].kind == "revolute" and all(turning[k] for k in leaders)
        if not turns or not is_whole or not leaders:
            continue
        offset = float(q[j] - whole @ q[list(active)])
        offset = snap_angle((offset + np.pi) % (2 * np.pi) - np.pi, min(tolerance, 1e-5))
        rules.append(Rule(j, tuple(active[k] for k in leaders), tuple(float(whole[k]) for k in leaders), offset))
    return rules


def _held(
    robot: Robot, q: Array, active: Sequence[int], rules: Mapping[int, Rule], tolerance: float
) -> dict[int, float]:
    """{cut: largest closure error} of the cuts that stay closed for all positions of the active joints."""
    postures = _postures(robot, q, active, rules)
    moving = {*active, *rules, *(j for j, joint in enumerate(robot.joints) if joint.follows is not None)}
    cuts = [k for k, cut in enumerate(robot.cuts) if cut_joints(robot, cut) <= moving]
    left = dict.fromkeys(cuts, 0.0)
    for values in _draws(robot):
        other = robot.at(values)
        for k in cuts:
            left[k] = max(left[k], float(np.abs(residual(other, postures, [other.cuts[k]])).max()))
    return {k: value for k, value in left.items() if value <= tolerance}


def _draws(robot: Robot) -> list[Mapping[str, float]]:
    """Sets of values for all symbols: given values are kept, symbols without one are drawn at random."""
    unknown = [name for name, value in robot.symbols.items() if value is None]
    more = DRAWS if unknown and robot.has_letters else 0
    others = [robot.other_values(k) for k in range(1, more + 1)]
    values = dict(robot.symbol_values)
    return [values, *(values | {name: other[name] for name in unknown} for other in others)]


def _postures(robot: Robot, q: Array, active: Sequence[int], rules: Mapping[int, Rule]) -> Array:
    """Positions of all joints for random active ones, (postures, joints)."""
    rng = np.random.default_rng(SEED)
    postures = np.tile(q, (POSTURES, 1))
    for j in active:
        if robot.joints[j].kind == "revolute":
            postures[:, j] = rng.uniform(-np.pi, np.pi, POSTURES)
        else:
            postures[:, j] = q[j] + rng.uniform(-1, 1, POSTURES)
    for rule in rules.values():
        postures[:, rule.joint] = postures[:, list(rule.leaders)] @ np.array(rule.ratios) + rule.offset
    S, c = follower_map(robot)
    return np.asarray(postures[:, list(robot.opened.independent)] @ S.T + c)


# ----------------------------------------------------------------------------------------------------- names of forms


PARALLEL = 1e-9  # sine of the angle between axes that count as parallel, cosine of those that count as normal
GENERAL = "general loop"
BARS = {(4, 0): "four-bar", (5, 0): "five-bar"}  # by hinges and slides, the cut joint counted


def loop_forms(robot: Robot) -> tuple[str, ...]:
    """Type name of the loop of each cut; "(dyad)" if its last two passive revolute joints have a closed form.

    The robot must have a seed.
    """
    forms = [PARALLELOGRAM if cut.form else GENERAL for cut in robot.cuts]
    open_loops = {k: robot.uncut(cut) for k, cut in enumerate(robot.cuts) if not cut.form}
    solved: set[int] = set()
    while True:  # a loop may be a dyad once those that move it are closed
        ready = [k for k, cut in open_loops.items() if _is_dyad(robot, cut, solved)]
        if not ready:
            return tuple(forms)
        for k in ready:
            cut = open_loops.pop(k)
            forms[k] = f"{_bars(robot, cut)} (dyad)"
            solved |= cut_joints(robot, cut)


def _is_dyad(robot: Robot, cut: Cut, solved: set[int]) -> bool:
    """Whether a loop is planar and two of its passive revolute joints remain to be solved."""
    inside = cut_joints(robot, cut)
    unknown = [j for j in inside if j in robot.passive and j not in solved]
    leaders = {k for j in inside if (follows := robot.joints[j].follows) is not None for k in follows.joints}
    if len(unknown) != 2 or leaders & set(unknown) or any(robot.joints[j].kind != "revolute" for j in unknown):
        return False
    return is_planar(robot.numeric, cut.at(robot.symbol_values))


def is_planar(robot: Robot, cut: Cut) -> bool:
    """Whether the revolute axes of a loop (without symbols) are parallel, and its prismatic axes normal to them.

    This then holds in every posture.  The axis of a revolute cut is parallel to them when the loop is closed.
    """
    if cut.kind not in ("revolute", "spherical"):
        return False
    axes = {hinge.joint: hinge.axis for side in cut_sides(robot, cut, [0] * robot.n_joints) for hinge in side.hinges}
    hinges = [axis for j, axis in axes.items() if robot.joints[j].kind == "revolute"]
    slides = [axis for j, axis in axes.items() if robot.joints[j].kind == "prismatic"]
    tilts = [s for axis in hinges for s in cross(hinges[0], axis)] + [dot(hinges[0], axis) for axis in slides]
    return all(abs(float(s)) < PARALLEL for s in tilts)


def _bars(robot: Robot, cut: Cut) -> str:
    """Name of a planar loop, by its joint types."""
    inside = cut_joints(robot, cut)
    slides = [j for j in inside if robot.joints[j].kind == "prismatic"]
    hinges = len(inside) - len(slides) + 1
    if len(slides) == 1:
        return "slider-crank" if robot.joints[slides[0]].parent not in inside else "ram"
    return BARS.get((hinges, len(slides)), "planar loop")
