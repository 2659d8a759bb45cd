"""Reader of the TOML format: one [[joint]] per row of a Denavit-Hartenberg table, chain or tree.

The format is described in docs/formats.md; `dh.write` writes it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TypeAlias

import numpy as np

from minertia.io.errors import DescriptionError
from minertia.io.tables import CheckedTable, parse_table, shown
from minertia.robot.assembly import assemble
from minertia.robot.description import MAX_JOINTS, BodySpec, Description, FollowsSpec, JointSpec
from minertia.robot.effects import EFFECT_SYMBOLS, MOTOR_SYMBOLS
from minertia.robot.formats.dh.body import (
    added,
    joint_side,
    read_constants,
    read_effects,
    read_elastic,
    read_limits,
    read_link,
    read_motor,
    read_ratio,
)
from minertia.robot.formats.dh.loops import LoopTables
from minertia.robot.formats.dh.placement import CONVENTIONS, Letters, Placements
from minertia.robot.formats.expression import is_letter_name
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.joint import Limits
from minertia.robot.parameters import is_parameter_name
from minertia.robot.robot import EARTH, Note, Robot

FORMAT = 4  # 1 had IA FV FC OFF alone, each a number; 2 no loops, and one leader of a follower; 3 rigid joints alone
UNKNOWN = "unknown"  # value of a symbol that has none
TOP_KEYS = (
    "format",
    "name",
    "gravity",
    "base",
    "convention",
    "exact",
    "symbols",
    "drive_coupling",
    "base_link",
    "joint",
    "loop",
)
KINDS = ("revolute", "prismatic", "fixed")
MOTION_KEYS = ("drive", "effects", "elastic", "limits", "follows", "passive", "motor")  # what a fixed joint cannot have
Matrix: TypeAlias = tuple[tuple[float, ...], ...]
WORST_CONDITION = 1e12  # of a coupling matrix that can still be inverted


def parse_toml(text: str, source: str, options: ReadOptions) -> Robot:
    """Parse a robot from the text of a TOML description."""
    return _TableReader(text, source, options).robot()


class _TableReader:
    """Reader of one file."""

    def __init__(self, text: str, source: str, options: ReadOptions) -> None:
        self.top = parse_table(text, source, CheckedTable)
        if isinstance(self.top.entries.get("robot"), str):
            raise self.top.fail(
                "this is a campaign file, not a robot file; give the robot file that the campaign names", "robot"
            )
        self.top.only(TOP_KEYS)
        self._check_format()
        self.exact = self.top.flag("exact", False)
        self.options, self.source = options, source
        self.notes: list[Note] = []
        self.symbols = self._symbols()
        self.letters = Letters(self.symbols, options.letters)
        convention = self.top.choice("convention", CONVENTIONS, "khalil")
        self.placements = Placements(self.letters, convention, 0.0 if self.exact else options.snap)
        self.rows = self._rows()
        self.names = self._names()
        self.children = [self._child_name(row, name) for row, name in zip(self.rows, self.names, strict=True)]
        self.root = "base"
        while self.root in self.children:
            self.root += "_"

    def robot(self) -> Robot:
        top = self.top
        gravity = top.numbers("gravity", 3, EARTH)
        base = self.options.base or top.choice("base", ("fixed", "floating"), "fixed")
        bodies = [BodySpec(self.root, read_link(top.table("base_link")))]
        joints: list[JointSpec] = []
        for number, row in enumerate(self.rows, 1):
            body, joint = self._row(number, row)
            bodies.append(body)
            joints.append(joint)
        loops = self._loops()
        joints = self._with_passive(joints, bool(loops.loops))
        joints, coupling, motors = self._drives(joints)
        description = Description(
            name=top.text("name", PurePath(self.source).stem or "robot"),
            bodies=bodies,
            joints=joints,
            root=self.root,
            gravity=(gravity[0], gravity[1], gravity[2]),
            base=base,
            symbols=self.letters.symbols,
            notes=[*self.notes, *self.placements.notes],
            source=self.source,
            depth_first=False,
            loops=loops.loops,
            seed=loops.seed,
            exact=self.exact or self.options.snap == 0,
            automatic=set(self.letters.symbols) - set(self.symbols),
        )
        return _with_coupling(assemble(description), joints, coupling, motors)

    # ------------------------------------------------------------------ the top level

    def _check_format(self) -> None:
        version = self.top.get("format")
        if version is None:
            return
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise self.top.fail("'format' must be an integer of at least 1", "format")
        if version > FORMAT:
            raise self.top.fail(
                f"the file has format {shown(version)}; this version reads up to format {FORMAT}", "format"
            )

    def _symbols(self) -> dict[str, float | None]:
        table = self.top.table("symbols")
        symbols: dict[str, float | None] = {}
        for name in table:
            if not is_letter_name(name) or is_parameter_name(name):
                reason = (
                    "is the name of a parameter"
                    if is_parameter_name(name)
                    else ("is not a letter followed by letters or digits")
                )
                raise table.fail(f"the symbol '{name}' {reason}; choose another name", name)
            symbols[name] = None if table.get(name) == UNKNOWN else table.number(name, 0.0)
        return symbols

    def _rows(self) -> list[CheckedTable]:
        rows = self.top.tables("joint")
        if not rows:
            raise self.top.fail("the file has no joints; write one [[joint]] for each")
        if len(rows) > MAX_JOINTS:
            raise self.top.fail(f"the file has {len(rows)} joints; the limit is {MAX_JOINTS}")
        return rows

    def _names(self) -> list[str]:
        names: list[str] = []
        for number, row in enumerate(self.rows, 1):
            name = row.text("name", f"j{number}")
            if name in names:
                raise row.fail(f"joint {names.index(name) + 1} is also called '{name}'; rename one of them", "name")
            names.append(name)
        self.rows = [replace(row, where=f"joint '{name}'") for row, name in zip(self.rows, names, strict=True)]
        return names

    # ------------------------------------------------------------------ loops

    def _loops(self) -> LoopTables:
        def link_of(table: CheckedTable, key: str) -> str:
            number = self._joint_number(table, key, 0)
            return self.root if number == 0 else self.children[number - 1]

        moving = [name for name, row in zip(self.names, self.rows, strict=True) if row.get("kind") != "fixed"]
        tables = LoopTables(self.placements, link_of, moving)
        tables.read(self.top.tables("loop"))
        return tables

    def _with_passive(self, joints: list[JointSpec], has_loops: bool) -> list[JointSpec]:
        """Joints marked passive by the file; where it names some, the others are active."""
        said = [row.flag("passive", False) for row in self.rows]
        for row, is_passive in zip(self.rows, said, strict=True):
            if is_passive and not has_loops:
                raise row.fail("the joint is passive, but the file has no [[loop]] that could move it", "passive")
            if "motor" in row and not is_passive:
                raise row.fail("'motor' is allowed for passive joints only; every other joint has a motor", "motor")
        motors = [row.flag("motor", False) for row in self.rows]
        joints = [replace(spec, has_motor=has_motor) for spec, has_motor in zip(joints, motors, strict=True)]
        if not any("passive" in row for row in self.rows):
            return joints
        return [
            s if s.kind == "fixed" or (s.follows and not passive) else replace(s, is_passive=passive)
            for s, passive in zip(joints, said, strict=True)
        ]

    # ------------------------------------------------------------------ one joint

    def _row(self, number: int, row: CheckedTable) -> tuple[BodySpec, JointSpec]:
        kind = row.choice("kind", KINDS)
        if kind == "fixed":
            for key in MOTION_KEYS:
                if key in row:
                    raise row.fail(f"a fixed joint has no '{key}'", key)
        placement, child_frame = self.placements.poses(number, row, is_lettered=not self._is_frame(number, row))
        if "elastic" in row:
            text = (
                "the joint is elastic: its spring is simulated only in fits of the position servo, which need "
                "the motor position (q_motor1 ...) in the log or an [elastic] table; all other commands take the "
                "joint as rigid"
            )
            self.notes.append(Note("info", row.where, text, row.line("elastic")))
        child = self.children[number - 1]
        joint = JointSpec(
            name=self.names[number - 1],
            kind=kind,
            parent=self._parent(number, row),
            child=child,
            placement=placement,
            child_frame=child_frame,
            limits=self._limits(row),
            effects=read_effects(row.table("effects"), EFFECT_SYMBOLS),
            follows=self._follows(row),
            line=row.line(),
            constants=read_constants(row.table("effects")),
            elastic=read_elastic(row.table("elastic")) if "elastic" in row else None,
        )
        return BodySpec(child, read_link(row.table("link")), row.line("link")), joint

    def _is_frame(self, number: int, row: CheckedTable) -> bool:
        """Whether a row only names a frame, such as the flange: fixed, without mass and children."""
        parents = (self._joint_number(other, "parent", k) for k, other in enumerate(self.rows))
        return row.get("kind") == "fixed" and "link" not in row and number not in parents and "loop" not in self.top

    def _limits(self, row: CheckedTable) -> Limits:
        limits = read_limits(row.table("limits"))
        if limits.lower is not None and limits.upper is not None and limits.lower > limits.upper:
            text = f"the lower position limit {limits.lower:g} is above the upper one {limits.upper:g}"
            self.notes.append(Note("warning", row.where, text, row.line("position")))
        return limits

    @staticmethod
    def _child_name(row: CheckedTable, default: str) -> str:
        return row.table("link").text("name", default)

    def _parent(self, number: int, row: CheckedTable) -> str:
        parent = self._joint_number(row, "parent", number - 1)
        return self.root if parent == 0 else self.children[parent - 1]

    def _follows(self, row: CheckedTable) -> FollowsSpec | None:
        if "follows" not in row:
            return None
        table = row.table("follows")
        table.only(("joint", "ratio", "joints", "ratios", "offset"))
        offset = self.placements.constant(table, "offset")
        if "joints" in table:
            return self._several(table, offset)
        if "joint" not in table:
            raise table.fail("'joint' is missing; give the name or number of the joint to follow")
        leader = self._leader(table, "joint", table.get("joint"))
        return FollowsSpec((leader,), (table.number("ratio", 1.0),), offset)

    def _several(self, table: CheckedTable, offset: float) -> FollowsSpec:
        """Dependent joint with several leaders."""
        for key in ("joint", "ratio"):
            if key in table:
                raise table.fail(
                    f"'{key}' cannot be given together with 'joints'; give 'joints' and 'ratios' only", key
                )
        given = table.items("joints", None, "names or numbers of joints")
        leaders = tuple(self._leader(table, "joints", value) for value in given)
        if not leaders or len(set(leaders)) < len(leaders):
            raise table.fail("'joints' must name the joints to follow, each once", "joints")
        return FollowsSpec(leaders, table.numbers("ratios", len(leaders), (1.0,) * len(leaders)), offset)

    def _leader(self, table: CheckedTable, key: str, value: object) -> str:
        leader = self._row_number(table, key, value)
        if leader == 0:
            raise table.fail("a joint cannot follow the ground", key)
        return self.names[leader - 1]

    def _joint_number(self, table: CheckedTable, key: str, default: int) -> int:
        """Index of a row from its name or number."""
        return self._row_number(table, key, table.get(key, default))

    def _row_number(self, table: CheckedTable, key: str, value: object) -> int:
        if isinstance(value, str):
            if value not in self.names:
                there = ", ".join(self.names[:30])
                raise table.fail(f"'{key}' names the joint '{value}', which does not exist; joints: {there}", key)
            return self.names.index(value) + 1
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= len(self.names):
            raise table.fail(f"'{key}' must be the name of a joint or its number, at most {len(self.names)}", key)
        return value

    # ------------------------------------------------------------------ drives

    def _drives(self, joints: list[JointSpec]) -> tuple[list[JointSpec], Matrix | None, list[dict[str, float]]]:
        """Joints with the effects of their drives, the coupling matrix, and the motor-side effects that it couples."""
        drives = [row.table("drive") for row in self.rows]
        motors = [read_motor(drive) for drive in drives]
        direct = [read_effects(row.table("effects"), MOTOR_SYMBOLS) for row in self.rows]
        independent = [k for k, spec in enumerate(joints) if _is_coordinate(spec)]
        G = self._coupling(len(independent))
        extra: list[dict[str, float]] = [{} for _ in joints]
        coupled: list[dict[str, float]] = []
        if G is None:
            extra = [joint_side(motor, read_ratio(drive)) for motor, drive in zip(motors, drives, strict=True)]
        else:
            self._check_coupled_drives(drives, independent)
        for entries, k in zip(G or (), independent, strict=G is not None):
            turned = [column for column, g in enumerate(entries) if g != 0]
            if len(turned) == 1:
                joint = independent[turned[0]]
                extra[joint] = added(extra[joint], joint_side(motors[k], entries[turned[0]]))
                coupled.append({})
            else:
                coupled.append(added({f"{symbol}M": value for symbol, value in motors[k].items()}, direct[k]))
                direct[k] = {}
        self._check_used(direct)
        specs = [replace(s, effects=added(s.effects, more)) for s, more in zip(joints, extra, strict=True)]
        return specs, G, coupled

    def _check_used(self, motor_side: list[dict[str, float]]) -> None:
        for row, values in zip(self.rows, motor_side, strict=True):
            for symbol in values:
                raise row.fail(
                    f"'{symbol}' is allowed only for a motor that 'drive_coupling' couples to several joints", symbol
                )

    def _coupling(self, n: int) -> Matrix | None:
        if "drive_coupling" not in self.top:
            return None
        if n == 0:
            raise self.top.fail("'drive_coupling' couples motors to joints, but no joint moves", "drive_coupling")
        G = self.top.matrix("drive_coupling", n)
        rows = np.array(G)
        scaled = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(float).tiny)
        if np.linalg.cond(scaled) > WORST_CONDITION:
            raise self.top.fail("'drive_coupling' is singular: some joint motion turns no motor", "drive_coupling")
        return G

    def _check_coupled_drives(self, drives: list[CheckedTable], independent: list[int]) -> None:
        for k, drive in enumerate(drives):
            if "drive" not in self.rows[k]:
                continue
            if "ratio" in drive:
                raise drive.fail(
                    "'ratio' cannot be given together with 'drive_coupling', which contains the ratios; remove "
                    "one of them",
                    "ratio",
                )
            if k not in independent:
                raise drive.fail(
                    "a joint that follows another has no motor in 'drive_coupling'; give its "
                    "friction and inertia in [joint.effects]"
                )


def _is_coordinate(spec: JointSpec) -> bool:
    return spec.kind != "fixed" and spec.follows is None and not spec.is_passive


def _with_coupling(robot: Robot, joints: list[JointSpec], G: Matrix | None, motors: list[dict[str, float]]) -> Robot:
    """Robot with the coupling in the order of its coordinates, which may differ from the file's."""
    if G is None:
        return robot
    rank = {s.name: k for k, s in enumerate(s for s in joints if _is_coordinate(s))}
    if set(rank) != set(robot.coordinate_names):
        raise DescriptionError(
            "'drive_coupling' couples motors to active joints; mark the passive joints of the loops (passive = true)",
            file=robot.source,
        )
    order = [rank[name] for name in robot.coordinate_names]
    coupling = tuple(tuple(G[row][column] for column in order) for row in order)
    return replace(robot, coupling=coupling, motor_effects=tuple(motors[row] for row in order))
