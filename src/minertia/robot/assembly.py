"""Assembly of a `Robot` from a description: bodies connected by joints, some of them fixed.

Every reader ends here, so that fixed bodies keep their mass, trees are checked and dependent joints are
resolved in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from minertia.algebra.polynomial import Poly, letter
from minertia.algebra.vec3 import HERE, Pose, Vec, compose
from minertia.io.errors import DescriptionError
from minertia.robot.description import BodySpec, Description, FollowsSpec, JointSpec, LoopSpec, check_count
from minertia.robot.inertia import Ten, add_ten, transport_ten
from minertia.robot.joint import CUT_KINDS, KINDS, Cut, Follows, Joint, numeric_pose
from minertia.robot.loops.build import LoopsSaid, with_loops
from minertia.robot.parameters import is_parameter_name
from minertia.robot.robot import Frame, Robot

ROUNDING = 4e-15  # what a product of rotations leaves where the exact result is 0, 1 or -1


def assemble(description: Description) -> Robot:
    """Check the tree, merge fixed bodies, close kinematic loops, and create the robot."""
    description = _with_pins(description)
    robot = _Assembly(description).robot()
    if not description.loops:
        return robot
    said = {spec.name: spec.is_passive for spec in description.joints if spec.is_passive is not None}
    lines = {spec.name: spec.line for spec in description.loops}
    exact, automatic = description.exact, description.automatic
    return with_loops(robot, LoopsSaid(description.seed, said, lines, exact, automatic, description.reference))


def _with_pins(description: Description) -> Description:
    """Description in which cut joints with effects are tree joints, each with a fixed massless link."""
    bodies, joints, loops = list(description.bodies), list(description.joints), []
    is_said = any(spec.is_passive is not None for spec in joints)
    links = {body.name for body in bodies}
    for loop in description.loops:
        if not loop.effects:
            loops.append(loop)
            continue
        if loop.kind not in KINDS:
            text = (
                f"loop '{loop.name}' has effects, but a cut joint of kind {loop.kind} has more than one degree "
                "of freedom; cut the loop at another joint"
            )
            raise DescriptionError(text, file=description.source, line=loop.line)
        link = loop.name
        while link in links:
            link += "_pin"
        links.add(link)
        bodies.append(BodySpec(link, (0.0,) * 10, loop.line))
        pin = JointSpec(loop.name, loop.kind, loop.first, link, loop.first_pose, line=loop.line)
        is_passive = True if is_said else None
        joints.append(replace(pin, effects=loop.effects, constants=loop.constants, is_passive=is_passive))
        loops.append(replace(loop, kind="fixed", first=link, first_pose=HERE, effects={}, constants={}))
    return replace(description, bodies=bodies, joints=joints, loops=loops)


class _Assembly:
    """Assembly of one description; place: joint that carries each visited body, and the body's pose in its frame."""

    def __init__(self, description: Description) -> None:
        self.d = description
        self.bodies = self._unique((b.name, b) for b in description.bodies)
        self._unique((j.name, j) for j in description.joints)
        self._unique((loop.name, loop) for loop in description.loops)
        self.order = self._ordered()
        self.moving = [spec for spec in self.order if spec.kind != "fixed"]
        self.index = {spec.name: j for j, spec in enumerate(self.moving)}
        self.place: dict[str, tuple[int | None, Pose]] = {description.root: (None, HERE)}
        self.looped = self._looped()

    def robot(self) -> Robot:
        d = self.d
        self._check_symbols()
        if not self.moving and d.base != "floating":
            self._fail("the robot has no movable joint", None)
        joints: list[Joint] = []
        symbols = dict(d.symbols)
        for spec in self.order:
            carrier, pose = self.place[spec.parent]
            placement = _structural(compose(pose, spec.placement))
            if spec.kind == "fixed":
                self.place[spec.child] = (carrier, _structural(compose(placement, spec.child_frame)))
                continue
            j = len(joints)
            named = d.auto_letters and spec.name not in self.looped
            p = self._lettered(placement[1], j + 1, symbols) if named else placement[1]
            joints.append(
                Joint(
                    name=spec.name,
                    kind=spec.kind,
                    parent=carrier,
                    R=placement[0],
                    p=p,
                    link=spec.child,
                    limits=spec.limits,
                    follows=self._follows(spec),
                    file_frame=spec.child_frame,
                    has_motor=spec.has_motor,
                    elastic=spec.elastic,
                )
            )
            self.place[spec.child] = (j, spec.child_frame)
        links, base_link = self._merged_links()
        return Robot(
            name=" ".join(d.name.split()),  # of a file's name too: it stands in headlines, which are one line
            joints=tuple(joints),
            gravity=d.gravity,
            base=d.base,
            links=tuple(links),
            base_link=base_link,
            effects=tuple(spec.effects for spec in self.moving),
            coupling=None if d.coupling is None else tuple(tuple(row) for row in d.coupling),
            motor_effects=tuple(d.motor_effects),
            symbols=symbols,
            frames={name: Frame(*self.place[name]) for name in self.bodies if name in self.place},
            notes=tuple(d.notes),
            source=d.source,
            constants=tuple(spec.constants for spec in self.moving),
            cuts=tuple(self._cut(spec) for spec in d.loops),
        )

    # ------------------------------------------------------------------ the tree

    def _ordered(self) -> list[JointSpec]:
        d = self.d
        check_count(len(d.joints), "joints", d.source)
        parent_of: dict[str, JointSpec] = {}
        for spec in d.joints:
            self._check_joint(spec)
            if spec.child in parent_of:
                other = parent_of[spec.child].name
                self._fail(
                    f"link '{spec.child}' is the child of two joints, '{other}' and '{spec.name}', which closes a "
                    "loop; open the loop at one joint and make the dependent joints follow the others",
                    spec.line,
                )
            if spec.child == d.root:
                self._fail(
                    f"joint '{spec.name}' has the root link '{d.root}' as its child, which closes a loop; "
                    "open the loop at one joint",
                    spec.line,
                )
            parent_of[spec.child] = spec
        order = self._depth_first() if d.depth_first else self._parents_first()
        pins = {loop.name for loop in d.loops} - {spec.name for spec in order for x in order if x.parent == spec.child}
        order.sort(key=lambda spec: spec.name in pins)  # so that the others keep their numbers
        if len(order) != len(d.joints):
            lost = next(spec for spec in d.joints if spec not in order)
            self._fail(
                f"joint '{lost.name}' cannot be reached from the root link '{d.root}': the links do not form one tree",
                lost.line,
            )
        return order

    def _depth_first(self) -> list[JointSpec]:
        children: dict[str, list[JointSpec]] = {}
        for spec in self.d.joints:
            children.setdefault(spec.parent, []).append(spec)
        order: list[JointSpec] = []
        stack = list(reversed(children.get(self.d.root, [])))
        while stack:
            spec = stack.pop()
            order.append(spec)
            stack.extend(reversed(children.get(spec.child, [])))
        return order

    def _parents_first(self) -> list[JointSpec]:
        order: list[JointSpec] = []
        known, waiting = {self.d.root}, list(self.d.joints)
        while waiting:
            ready = next((spec for spec in waiting if spec.parent in known), None)
            if ready is None:
                break
            waiting.remove(ready)
            order.append(ready)
            known.add(ready.child)
        return order

    def _check_joint(self, spec: JointSpec) -> None:
        if spec.kind != "fixed" and spec.kind not in KINDS:
            self._fail(
                f"joint '{spec.name}' is of kind '{spec.kind}', which is not supported; "
                f"supported: {', '.join(KINDS)}, fixed",
                spec.line,
            )
        for role, body in (("parent", spec.parent), ("child", spec.child)):
            if body not in self.bodies:
                self._fail(f"joint '{spec.name}' names the {role} link '{body}', which does not exist", spec.line)

    # ------------------------------------------------------------------ loops

    def _looped(self) -> set[str]:
        """Names of the joints on closed kinematic chains, whose lengths get no automatic symbols."""
        carried_by = {spec.child: spec for spec in self.d.joints}
        found: set[str] = set()
        for loop in self.d.loops:
            for role, body in (("first", loop.first), ("second", loop.second)):
                if body not in self.bodies:
                    self._fail(f"loop '{loop.name}' names the {role} link '{body}', which does not exist", loop.line)
            ways = [self._way(carried_by, body) for body in (loop.first, loop.second)]
            found |= {*ways[0]} ^ {*ways[1]}
            self._check_loop(loop, found)
        return found

    def _way(self, carried_by: Mapping[str, JointSpec], body: str) -> list[str]:
        way: list[str] = []
        while body in carried_by:
            way.append(carried_by[body].name)
            body = carried_by[body].parent
        return way

    def _check_loop(self, loop: LoopSpec, joints: set[str]) -> None:
        if loop.kind not in CUT_KINDS:
            kinds = ", ".join(CUT_KINDS)
            self._fail(f"loop '{loop.name}' is of kind '{loop.kind}'; supported: {kinds}", loop.line)
        if not joints & {*self.index}:
            self._fail(
                f"loop '{loop.name}' connects the links '{loop.first}' and '{loop.second}', which do not move "
                "relative to each other; name two links that do",
                loop.line,
            )

    def _cut(self, loop: LoopSpec) -> Cut:
        ends = []
        for body, own in ((loop.first, loop.first_pose), (loop.second, loop.second_pose)):
            carrier, pose = self.place[body]
            ends.append((carrier, _structural(compose(pose, own))))
        (first, first_pose), (second, second_pose) = ends
        return Cut(loop.name, loop.kind, first, second, first_pose, second_pose)

    # ------------------------------------------------------------------ parts of the robot

    def _follows(self, spec: JointSpec) -> Follows | None:
        """Independent joints that a dependent joint follows, with combined ratios and offsets."""
        if spec.follows is None:
            return None
        shares, offset = self._leaders(spec, spec.follows, (spec.name,))
        return Follows(tuple(shares), tuple(shares.values()), offset)

    def _leaders(self, spec: JointSpec, given: FollowsSpec, seen: tuple[str, ...]) -> tuple[dict[int, float], float]:
        """{independent joint: ratio} and offset of a dependent joint specified by `given`; seen: the chain so far."""
        shares: dict[int, float] = {}
        offset = given.offset
        for name, ratio in zip(given.joints, given.ratios, strict=True):
            if name not in self.index:
                self._fail(f"joint '{spec.name}' follows '{name}', which is not a moving joint", spec.line)
            if name in seen:
                self._fail(
                    f"joint '{spec.name}' follows itself, directly or through other joints; break the cycle", spec.line
                )
            leader = self.moving[self.index[name]]
            own, constant = {self.index[name]: 1.0}, 0.0
            if leader.follows is not None:
                own, constant = self._leaders(spec, leader.follows, (*seen, name))
                offset = ratio * constant + offset
            for j, r in own.items():
                shares[j] = shares[j] + ratio * r if j in shares else ratio * r
        return shares, offset

    def _merged_links(self) -> tuple[list[Ten | None], Ten | None]:
        tens: dict[int | None, Ten | None] = {j: None for j in (None, *range(len(self.moving)))}
        for name, body in self.bodies.items():
            if body.ten is None or name not in self.place:
                continue
            carrier, pose = self.place[name]
            numbers = {k: v for k, v in self.d.symbols.items() if v is not None}
            for name in sorted(_letters(pose) - set(numbers)):
                self._fail(
                    f"the placement of link '{body.name}' depends on the symbol '{name}', which has no "
                    "value; give it one",
                    body.line,
                )
            ten = transport_ten(body.ten, numeric_pose(pose, numbers))
            old = tens[carrier]
            tens[carrier] = ten if old is None else add_ten(old, ten)
        return [tens[j] for j in range(len(self.moving))], tens[None]

    def _lettered(self, p: Vec, number: int, symbols: dict[str, float | None]) -> Vec:
        def one(axis: str, value: object) -> object:
            if isinstance(value, (int, Poly)):
                return value
            name = f"{axis}{number}"
            symbols[name] = float(value)  # type: ignore[arg-type]
            return letter(name)

        return one("x", p[0]), one("y", p[1]), one("z", p[2])

    def _check_symbols(self) -> None:
        for name in self.d.symbols:
            if is_parameter_name(name):
                self._fail(f"the symbol '{name}' has the name of an inertial parameter; rename it", None)

    def _unique(self, pairs: Iterable[tuple[str, object]]) -> dict[str, BodySpec]:
        found: dict[str, object] = {}
        for name, item in pairs:
            if name in found:
                kind = {BodySpec: "link", LoopSpec: "loop"}.get(type(item), "joint")
                self._fail(f"there are two {kind}s called '{name}'", getattr(item, "line", None))
            found[name] = item
        return found  # type: ignore[return-value]

    def _fail(self, message: str, line: int | None) -> None:
        raise DescriptionError(message, file=self.d.source, line=line)


def _letters(pose: Pose) -> set[str]:
    entries = [*(s for row in pose[0] for s in row), *pose[1]]
    return {name for s in entries if isinstance(s, Poly) for name in s.letters}


def _structural(pose: Pose) -> Pose:
    """Pose with entries within rounding of 0, 1 or -1 as ints, as after two rotations by 45 degrees."""

    def one(value: object, integers: tuple[int, ...]) -> object:
        if not isinstance(value, float):
            return value
        return next((k for k in integers if abs(value - k) <= ROUNDING), value)

    R, p = pose
    return tuple(tuple(one(s, (0, 1, -1)) for s in row) for row in R), tuple(one(s, (0,)) for s in p)  # type: ignore[return-value]
