"""Tables [[loop]] of TOML descriptions, and files arm.loops.toml for formats without closed chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from minertia.algebra.vec3 import Pose
from minertia.io.tables import CheckedTable, parse_table
from minertia.robot.description import Description, JointSpec, LoopSpec
from minertia.robot.effects import EFFECT_SYMBOLS
from minertia.robot.formats.dh.body import read_constants, read_effects
from minertia.robot.formats.dh.placement import Letters, Placements
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.joint import CUT_KINDS

ENDS = ("first", "second")
LOOP_KEYS = (
    "name",
    "kind",
    *ENDS,
    *(f"{end}_{part}" for end in ENDS for part in ("position", "rotation")),
    "seed",
    "effects",
)
SIDE_KEYS = ("loop", "passive", "motors")


@dataclass
class LoopTables:
    """Reader of [[loop]] tables: cut joints and the closed configuration.

    link_of: function that returns the link named by the entry of a key.  joints: names of the moving joints.
    known: cut joints of the description file, for which a table may give only the seed.
    """

    placements: Placements
    link_of: Callable[[CheckedTable, str], str]
    joints: Sequence[str]
    known: Sequence[str] = ()
    loops: list[LoopSpec] = field(default_factory=list)
    seed: dict[str, float] = field(default_factory=dict)

    def read(self, tables: Sequence[CheckedTable]) -> None:
        """Read the tables of a file."""
        for number, table in enumerate(tables, 1):
            name = table.text("name", f"loop {number}")
            row = replace(table, where=f"loop '{name}'")
            row.only(LOOP_KEYS)
            if name not in self.known:
                self.loops.append(self._loop(name, row))
            elif set(row) - {"name", "seed"}:
                raise row.fail("the description already has this loop; give 'seed' alone, or use another name", "name")
            self._take_seed(row)

    def _loop(self, name: str, row: CheckedTable) -> LoopSpec:
        kind = row.choice("kind", CUT_KINDS)
        row.needs(ENDS)
        first, second = (self.link_of(row, end) for end in ENDS)
        if first == second:
            raise row.fail("'first' and 'second' are the same link; a loop connects two different links", "second")
        effects = row.table("effects")
        return LoopSpec(
            name,
            kind,
            first,
            second,
            self._pose(row, "first"),
            self._pose(row, "second"),
            row.line(),
            read_effects(effects, EFFECT_SYMBOLS),
            read_constants(effects),
        )

    def _pose(self, row: CheckedTable, end: str) -> Pose:
        return self.placements.rotation(row, f"{end}_rotation"), self.placements.plain_position(row, f"{end}_position")

    def _take_seed(self, row: CheckedTable) -> None:
        table = row.table("seed")
        own = [loop.name for loop in self.loops if loop.effects]
        for joint in table:
            if joint not in (*self.joints, *own):
                there = ", ".join(self.joints[:30])
                raise table.fail(
                    f"the seed names the joint '{joint}', which does not move; movable joints: {there}", joint
                )
            value = table.number(joint, 0.0)
            if self.seed.get(joint, value) != value:
                raise table.fail(
                    f"the seed of another loop gives a different position for joint '{joint}'; make them equal", joint
                )
            self.seed[joint] = value


def with_side_file(description: Description, options: ReadOptions) -> Description:
    """Description with the closed chains of the file beside it, where there is one."""
    if options.loops is None:
        return description
    text, source = options.loops
    top = parse_table(text, source, CheckedTable)
    top.only(SIDE_KEYS)
    children = {spec.name: spec.child for spec in description.joints}
    links = {body.name for body in description.bodies}

    def link_of(table: CheckedTable, key: str) -> str:
        name = table.text(key, "")
        if name not in children and name not in links:
            there = ", ".join([*links][:30])
            raise table.fail(f"'{key}' names '{name}', which is not a link or joint; links: {there}", key)
        return name if name in links else children[name]

    moving = [spec.name for spec in description.joints if spec.kind != "fixed"]
    placements = Placements(Letters(description.symbols, options.letters), "placement", options.snap)
    tables = LoopTables(placements, link_of, moving, [loop.name for loop in description.loops])
    tables.read(top.tables("loop"))
    return replace(
        description,
        loops=(*description.loops, *tables.loops),
        seed={**description.seed, **tables.seed},
        joints=_with_passive(description.joints, top, moving),
        notes=(*description.notes, *placements.notes),
    )


def _with_passive(joints: Sequence[JointSpec], top: CheckedTable, moving: Sequence[str]) -> list[JointSpec]:
    """Joints marked passive by the list `passive`; if the list is given, all other joints are active."""
    motors = top.texts("motors") or ()
    names = top.texts("passive") or ()
    for key, given in (("passive", names), ("motors", motors)):
        for name in given:
            if name not in moving:
                raise top.fail(f"'{key}' names the joint '{name}', which does not move; name a movable joint", key)
            if name not in names:
                raise top.fail(f"'motors' must name passive joints that have a motor, but '{name}' is not passive", key)
    joints = [replace(s, has_motor=s.name in motors) for s in joints]
    if "passive" not in top:
        return joints
    return [s if s.kind == "fixed" or s.follows else replace(s, is_passive=s.name in names) for s in joints]
