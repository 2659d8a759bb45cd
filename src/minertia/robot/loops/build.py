"""Closed kinematic chains of a tree with cut joints: closed configuration, mobility, active joints, parallelograms.

Every reader's closed chains come here through `assembly.assemble`.  Parallelograms become dependent joints, so that the
robot is a tree for everything above; the other loops keep their cuts and passive joints.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from minertia.algebra.polynomial import Poly
from minertia.algebra.vec3 import column, dot, transpose, vsub
from minertia.io.arrays import Array
from minertia.io.errors import DescriptionError
from minertia.robot.joint import PARALLELOGRAM, Cut, Follows
from minertia.robot.loops.closure import close, cut_joints, cut_sides, follower_map, loop_joints
from minertia.robot.loops.forms import Rule, held_cuts, holds_in_letters, linear_rules
from minertia.robot.loops.seeds import FAR_OFF, Seed, SeedSearch, independent_rows, singular_values, size_of
from minertia.robot.robot import Note, Robot

ROUNDED = 1e-5  # part of a loop's size [m], and rad: sides and axes that differ by less are meant to be equal
EXACT = 1e-10  # the same where the file is taken as written
DISTINCT = 1e-4  # part of the largest singular value: smaller ones are rounding of the file
MOST_CUTS, MOST_JOINTS = 100, 300
REPORTED = 1e-9  # m or rad: what is taken as equal without a word


@dataclass(frozen=True, slots=True)
class LoopsSaid:
    """Specification of closed chains in a file, besides the cut joints.

    seed: {joint: position} of a closed configuration, for some or all joints.  passive: {joint: whether it is
    passive}, without joints for which the file does not say.  lines: {cut: line}.  exact: use numbers as written.
    automatic: symbols that represent plain numbers of the file.  reference: {joint: position} of the file's
    reference configuration, 0 omitted.
    """

    seed: Mapping[str, float] = field(default_factory=dict)
    passive: Mapping[str, bool] = field(default_factory=dict)
    lines: Mapping[str, int | None] = field(default_factory=dict)
    exact: bool = False
    automatic: Collection[str] = ()
    reference: Mapping[str, float] = field(default_factory=dict)


def with_loops(robot: Robot, said: LoopsSaid) -> Robot:
    """Robot with its loops closed: parallelograms as dependent joints, other loops with passive joints."""
    inside = loop_joints(robot)
    if len(robot.cuts) > MOST_CUTS or len(inside) > MOST_JOINTS:
        found = f"{len(robot.cuts)} loops of {len(inside)} joints"
        raise DescriptionError(f"the file has {found}; the limits are {MOST_CUTS} and {MOST_JOINTS}", file=robot.source)
    try:
        with np.errstate(all="ignore"):
            return _Loops(robot, said).robot()
    except (np.linalg.LinAlgError, OverflowError):
        raise DescriptionError(
            "the loops have numbers too large or too small to be closed numerically; check the units of lengths",
            file=robot.source,
        ) from None


class _Loops:
    """Analysis of the closed chains of a robot whose joints are all free."""

    def __init__(self, robot: Robot, said: LoopsSaid) -> None:
        # two sides that are equal in the file would get two letters, and differ wherever letters are drawn
        robot = robot.with_values(_letters(robot) & {*said.automatic})
        self.said = said = _with_pins(robot, said)
        self.size = size_of(robot)
        self.given = robot = _held_by_followers(robot, ROUNDED * self.size)
        self.inside = loop_joints(robot)
        self.tolerance = (EXACT if said.exact else ROUNDED) * self.size
        self.cutoff = 1e-7 if said.exact else DISTINCT
        self.names = [joint.name for joint in robot.joints]
        self.notes: list[Note] = []

    def robot(self) -> Robot:
        self._check_names()
        if not self.given.open_cuts:
            return self._tree()
        seed = self._seed()
        active, passive = self._active(seed)
        rules, held = linear_rules(self.given, seed.q, active, passive, self.tolerance)
        self._keep_letters(rules, held, seed.q)
        robot = self._followed(rules, held)
        robot = self._with_passive(robot, passive)
        q = self._closed(robot, seed.q, active)
        self._say_branch(robot, seed, q)
        return replace(robot, seed=tuple(q.tolist()), notes=(*robot.notes, *self.notes))

    def _tree(self) -> Robot:
        """Robot whose loops are already closed by the file's dependent joints."""
        S, c = follower_map(self.given)
        start = np.array([self.said.seed.get(name, 0.0) for name in self.names])
        q = S @ start[list(self.given.opened.independent)] + c
        for j, name in enumerate(self.names):
            off = self.said.seed.get(name, q[j]) - q[j]
            if abs(off - 2 * np.pi * round(off / (2 * np.pi))) > FAR_OFF:
                self._fail(
                    f"the seed gives {name} = {self.said.seed[name]:.4g}, but the joint follows others and is at "
                    f"{q[j]:.4g} there; remove its 'follows' to use another branch, or correct the seed"
                )
        return replace(self._with_passive(self.given, ()), seed=tuple(q.tolist()))

    def _with_passive(self, robot: Robot, passive: Collection[int]) -> Robot:
        """Mark passive joints: the given ones, and dependent joints that the file marks as passive."""
        said = {self.names.index(name) for name, is_passive in self.said.passive.items() if is_passive}
        said &= set(self.inside)
        joints = tuple(
            replace(joint, is_passive=j in passive or (joint.follows is not None and j in said))
            for j, joint in enumerate(robot.joints)
        )
        return replace(robot, joints=joints)

    # ------------------------------------------------------------------ what the file says

    def _check_names(self) -> None:
        for name in (*self.said.seed, *self.said.passive):
            if name not in self.names:
                self._fail(
                    f"the loops name the joint '{name}', which does not move or does not exist; name a movable joint"
                )
        for name, is_passive in self.said.passive.items():
            j = self.names.index(name)
            if is_passive and j not in self.inside and self.given.joints[j].follows is None:
                self._fail(f"joint '{name}' is passive but belongs to no loop that could move it; remove 'passive'")

    def _seed(self) -> Seed:
        reference = np.array([self.said.reference.get(name, 0.0) for name in self.names])
        search = SeedSearch(self.given, reference, self.said.passive, self.tolerance, self.cutoff)
        seed = search.near(self.said.seed) if self.said.seed else search.anywhere()
        where = f"{self._listed()} cannot close"
        if seed is None and self.said.seed:
            self._fail(f"{where} near the given seed; correct the seed or the lengths and axes of the loop")
        if seed is None:
            why = "correct its lengths and axes, or give a closed configuration in [loop.seed]"
            unknown = [name for name, value in self.given.symbols.items() if value is None]
            drawn = f" with the random values of {', '.join(unknown)}; give them values" if unknown else ""
            self._fail(f"{where} from any initial configuration tried{drawn or '; ' + why}")
        if seed.moved is not None:
            name, said, found = seed.moved
            self._fail(
                f"the seed is not a closed configuration: it gives {name} = {said:.4g}, but the nearest closed "
                f"configuration found has {name} = {found:.4g}; give a closed configuration on the intended branch"
            )
        if seed.is_singular and self.said.seed:
            self._fail(
                f"the seed is a singular configuration of {self._listed()}, where branches meet; give a closed "
                "configuration near it, on the intended branch"
            )
        if seed.is_singular:
            self._fail(
                f"every closed configuration of {self._listed()} that was found is singular; give a regular one "
                "in [loop.seed], or correct axes that coincide"
            )
        return seed

    # ------------------------------------------------------------------ coordinates

    def _active(self, seed: Seed) -> tuple[list[int], list[int]]:
        """Coordinates and passive joints among all independent joints."""
        free = list(self.given.opened.independent)
        moves = seed.motions  # (free joints, mobility)
        said = {self.names.index(name): is_passive for name, is_passive in self.said.passive.items()}
        outside = [j for j in free if j not in self.inside]
        sure = [j for j in free if j in self.inside and said.get(j) is False]
        unsure = [j for j in free if j in self.inside and j not in said]
        mobility = moves.shape[1] - len(outside)
        if mobility == 0:
            self._fail(
                f"{self._listed()} cannot move: {len(free) - len(outside)} joints and {len(free) - len(outside)} "
                "independent equations (mobility 0); correct axes that should be parallel, or the kind of a cut "
                "joint"
            )
        rows = {j: moves[k] for k, j in enumerate(free)}
        chosen = independent_rows(rows, [*outside, *sure])
        self._check_span(sure, [j for j in chosen if j in self.inside], mobility, bool(unsure))
        chosen = independent_rows(rows, [*outside, *sure, *unsure])
        if len(chosen) < moves.shape[1]:
            self._check_span(sure, [j for j in chosen if j in self.inside], mobility, False)
        added = [self.names[j] for j in sorted(chosen) if j in unsure]
        if added and self._is_passive_said():
            text = f"{', '.join(added)} are also taken as coordinates, because the file has fewer active joints"
            self.notes.append(Note("info", "loops", f"{text} than the mobility {mobility}"))
        elif added:
            text = f"the file does not mark active joints; taken in file order: {', '.join(added)}"
            self.notes.append(Note("info", "loops", text))
        return sorted(chosen), [j for j in free if j not in chosen]

    def _is_passive_said(self) -> bool:
        return bool(self.said.passive)

    def _check_span(self, active: Sequence[int], spanned: Sequence[int], mobility: int, more: bool) -> None:
        names = ", ".join(self.names[j] for j in active) or "none"
        if len(active) > len(spanned):
            self._fail(
                f"{len(active)} joints of {self._listed()} are active ({names}), but they span only "
                f"{len(spanned)} of its {mobility} degrees of freedom; make the others passive (with motor = true "
                "if they are also driven)"
            )
        if not more and len(spanned) < mobility:
            self._fail(
                f"{self._listed()} has mobility {mobility}, but its number of active joints is {len(active)} ({names})"
                f"; mark {mobility - len(spanned)} more as active, or constrain the loop further"
            )

    # ------------------------------------------------------------------ parallelograms

    def _keep_letters(self, rules: Sequence[Rule], held: Mapping[int, float], q: Array) -> None:
        """Replace symbols by their values where a loop is a parallelogram only for those values."""
        if not held or not self.given.has_letters or holds_in_letters(self.given, rules, held, q):
            return
        names = sorted(name for name in _letters(self.given) if self.given.symbols[name] is not None)
        text = (
            f"the loops are parallelograms only for the values of {', '.join(names)}, which are therefore "
            "taken as numbers"
        )
        self.notes.append(Note("info", "loops", f"{text}; use one symbol for sides of equal length"))
        self.given = self.given.with_values(names)

    def _followed(self, rules: Sequence[Rule], held: Mapping[int, float]) -> Robot:
        """Robot whose passive joints are dependent where that closes a loop."""
        robot = self.given
        joints = list(robot.joints)
        for rule in rules:
            joints[rule.joint] = replace(joints[rule.joint], follows=Follows(rule.leaders, rule.ratios, rule.offset))
        rank = {rule.joint: rule for rule in rules}
        for j, joint in enumerate(joints):  # followers of the file that follow a joint that is a follower now
            if joint.follows is not None and j not in rank and set(joint.follows.joints) & set(rank):
                joints[j] = replace(joint, follows=_chained(joint.follows, rank))
        cuts = []
        for k, cut in enumerate(robot.cuts):
            cuts.append(replace(cut, form=PARALLELOGRAM) if k in held else cut)
            if held.get(k, 0.0) > REPORTED:
                text = f"taken as an exact parallelogram (off by {held[k]:.2g} m or rad)"
                self.notes.append(Note("info", f"loop '{cut.name}'", text, self.said.lines.get(cut.name), True))
        return replace(robot, joints=tuple(joints), cuts=tuple(cuts))

    def _closed(self, robot: Robot, start: Array, active: Sequence[int]) -> Array:
        """Seed with the remaining loops closed to numerical precision."""
        q, left = close(robot, start, held=active)
        if left > EXACT * max(self.size, 1.0):
            q, left = close(robot, start)
        if left > EXACT * max(self.size, 1.0):
            self._fail(
                f"{self._listed(robot)} closes only to {left:.2g} m or rad because its lengths or axes are "
                "rounded; give them exactly (as symbols, or with more digits)"
            )
        loose, tight = (int(np.sum(singular_values(robot, q) > part)) for part in (self.cutoff, 1e-7))
        if loose < tight:
            self._fail(
                f"{self._listed(robot)} is over-constrained: of {tight} independent equations, {tight - loose} "
                "come only from rounded axes or lengths that should agree; give them exactly, or use another "
                "kind of cut joint"
            )
        return q

    def _say_branch(self, robot: Robot, seed: Seed, q: Array) -> None:
        if not seed.was_drawn:
            return
        values = ", ".join(f"{self.names[j]} = {q[j]:.4g}" for j in self.inside)
        kinds = {cut.form or "general" for cut in robot.cuts}
        singular = "the configuration given in the file is singular"
        missing = f"the seed names {'some' if seed.is_given else 'none'} of the joints in loops"
        why = singular if seed.zero_closes else missing
        text = f"{why}; used: {values} ({' and '.join(sorted(kinds))} branch); give [loop.seed] for another"
        self.notes.append(Note("info", "loops", text))

    # ------------------------------------------------------------------ words

    def _listed(self, robot: Robot | None = None) -> str:
        cuts = self.given.cuts if robot is None else robot.open_cuts
        names = ", ".join(f"'{cut.name}'" for cut in cuts[:6])
        return f"the loop {names}" if len(cuts) == 1 else f"the system of loops {names}"

    def _fail(self, message: str) -> NoReturn:
        lines = [line for line in self.said.lines.values() if line is not None]
        raise DescriptionError(message, file=self.given.source, line=lines[0] if len(lines) == 1 else None)


def _with_pins(robot: Robot, said: LoopsSaid) -> LoopsSaid:
    """Specification with the positions of cut joints, computed from the other joints of their loop."""
    seed, reference = dict(said.seed), dict(said.reference)
    names = [joint.name for joint in robot.joints]
    for cut in robot.cuts:
        j = robot.pin(cut)
        if j is None:
            continue
        others = {names[k] for k in cut_joints(robot, cut)} - {names[j]}
        q = [0.0 if k == j else reference.get(name, 0.0) for k, name in enumerate(names)]
        reference.setdefault(names[j], _pin_position(robot, cut, q))
        if seed and others <= set(seed):
            q = [0.0 if k == j else seed.get(name, q[k]) for k, name in enumerate(names)]
            seed.setdefault(names[j], _pin_position(robot, cut, q))
    return replace(said, seed=seed, reference=reference)


def _pin_position(robot: Robot, cut: Cut, q: Sequence[float]) -> float:
    """Position [rad or m] of the tree joint of a cut, from joint positions q in which its own entry is 0."""
    sides = cut_sides(robot.numeric, cut.at(robot.symbol_values), q)
    (x, y, z), p_a = transpose(sides[0].pose[0]), sides[0].pose[1]
    R_b, p_b = sides[1].pose
    if cut.first is not None and robot.joints[cut.first].kind == "prismatic":
        return float(dot(z, vsub(p_b, p_a)))
    along = column(R_b, 0)
    return float(np.arctan2(float(dot(y, along)), float(dot(x, along))))


def _held_by_followers(robot: Robot, tolerance: float) -> Robot:
    """Robot with the cuts marked whose loop closure is ensured by dependent joints of the file."""
    held = held_cuts(robot, tolerance)
    return replace(
        robot, cuts=tuple(replace(cut, form=PARALLELOGRAM) if k in held else cut for k, cut in enumerate(robot.cuts))
    )


def _letters(robot: Robot) -> set[str]:
    """Symbols in the lengths and angles of closed chains."""
    placements = [(robot.joints[j].R, robot.joints[j].p) for j in loop_joints(robot)]
    poses = [*placements, *(pose for cut in robot.cuts for pose in (cut.first_pose, cut.second_pose))]
    entries = (s for R, p in poses for s in (*R[0], *R[1], *R[2], *p))
    return {name for s in entries if isinstance(s, Poly) for name in s.letters}


def _chained(follows: Follows, rules: Mapping[int, Rule]) -> Follows:
    """Dependent joint whose leaders may be dependent, expressed by independent joints."""
    shares: dict[int, float] = {}
    offset = follows.offset
    for leader, ratio in follows.shares:
        rule = rules.get(leader)
        parts = ((leader, 1.0),) if rule is None else tuple(zip(rule.leaders, rule.ratios, strict=True))
        offset += 0.0 if rule is None else ratio * rule.offset
        for j, share in parts:
            shares[j] = shares.get(j, 0.0) + ratio * share
    return Follows(tuple(shares), tuple(shares.values()), offset)
