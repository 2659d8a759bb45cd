"""Reader of SYMORO+ .par files: modified Denavit-Hartenberg (Khalil) tables with symbols.

Symbols have no values in these files and stay symbolic.  The symbol in the table entry of a joint's motion
(theta of a revolute joint, r of a prismatic one) is its variable; an added constant is the offset.
"""

from __future__ import annotations

import math
import re

from minertia.algebra.polynomial import Number, Poly
from minertia.algebra.vec3 import Pose, compose
from minertia.robot.assembly import assemble
from minertia.robot.description import BodySpec, Description, JointSpec, LoopSpec
from minertia.robot.formats.dh.loops import with_side_file
from minertia.robot.formats.dh.placement import Entry, Letters, khalil_pose
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.snap import REPORTED, constant_part, is_beyond_a_turn, looks_like_degrees, snap_angle
from minertia.robot.formats.symoro.file import BASE_MOTION, DRIVES, GEOMETRY, LOADS, ParFile, split_par
from minertia.robot.inertia import Ten
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import EARTH, Note, Robot

KINDS = ("revolute", "prismatic", "fixed")  # sigma 0, 1, 2
MOTION = {"revolute": "theta", "prismatic": "r"}
ANGLES = ("gamma", "alpha", "theta")
EFFECTS = dict(zip(DRIVES, ("IA", "FV", "FC"), strict=True))
MAX_LINKS = 2000
GROUND = "base"


def parse_par(text: str, source: str, options: ReadOptions) -> Robot:
    """Parse a robot from the text of a SYMORO+ file."""
    return _ParReader(split_par(text, source), options).robot()


class _ParReader:
    """Reader of one file."""

    def __init__(self, file: ParFile, options: ReadOptions) -> None:
        self.file, self.options = file, options
        self.notes: list[Note] = []
        self.n, self.cuts = self._count()
        self.frames = self.n + 2 * self.cuts
        self.kinds = [KINDS[k] for k in self._whole_numbers("sigma", 2)]
        self.parents = self._whole_numbers("ant", self.frames)
        self.table = {key: file.entries(key, self.frames) for key in GEOMETRY}
        self.drives = {key: self._drive(key) for key in DRIVES}
        self.variables = self._take_variables()
        self.constants = self._constants()
        self.letters = Letters(dict.fromkeys(self.constants), options.letters)

    def robot(self) -> Robot:
        self._check_ignored()
        joints = [self._joint(j) for j in range(self.n)]
        loops = [self._loop(k) for k in range(self.n, self.n + self.cuts)]
        bodies = [BodySpec(GROUND), *(BodySpec(f"link {j + 1}", ten) for j, ten in enumerate(self._links()))]
        return assemble(with_side_file(self._description(joints, bodies, loops), self.options))

    def _description(self, joints: list[JointSpec], bodies: list[BodySpec], loops: list[LoopSpec]) -> Description:
        mobile = self.file.whole_number("is_mobile", 0) or self.file.whole_number("is_floating", 0)
        return Description(
            name=self.file.name or "robot",
            bodies=bodies,
            joints=joints,
            root=GROUND,
            gravity=self._gravity(),
            base=self.options.base or ("floating" if mobile else "fixed"),
            symbols=self.letters.symbols,
            notes=self.notes,
            source=self.file.source,
            depth_first=False,
            loops=loops,
            exact=self.options.snap == 0,
            automatic=set(self.letters.symbols) - set(self.constants),
        )

    # ------------------------------------------------------------------ structure

    def _count(self) -> tuple[int, int]:
        """Number of links, and of cut joints."""
        file = self.file
        n = file.whole_number("NL")
        if not 1 <= n <= MAX_LINKS:
            file.fail(f"NL must be between 1 and {MAX_LINKS}", "NL")
        cuts = file.whole_number("NJ", n) - n
        if not 0 <= cuts <= MAX_LINKS:
            file.fail("NJ must be at least NL: each joint beyond the links closes a loop", "NJ")
        if file.whole_number("Type", 2 if cuts else 0) == 2 and not cuts:
            file.fail("Type = 2 declares closed loops, but NJ is not larger than NL; correct one of them", "NJ")
        if cuts and file.whole_number("NF", n + 2 * cuts) != n + 2 * cuts:
            file.fail(f"NF must be NJ + (NJ - NL) = {n + 2 * cuts}: a second frame for each cut joint", "NF")
        return n, cuts

    def _drive(self, name: str) -> list[Entry]:
        """Drive values of the links' joints; those of cut joints must be 0 or symbols."""
        if len(self.file.lists.get(name, ())) != self.n + self.cuts:
            return self.file.entries(name, self.n)
        values = self.file.entries(name, self.n + self.cuts)
        if any(not isinstance(value, Poly) and value != 0 for value in values[self.n :]):
            self.file.fail(f"'{name}' of a cut joint is not supported; cut the loop at another joint", name)
        return values[: self.n]

    def _whole_numbers(self, name: str, largest: int) -> list[int]:
        if name not in self.file.lists:
            self.file.fail(f"the list '{name}' is missing")
        values = self.file.entries(name, self.frames)
        for value in values:
            if isinstance(value, Poly) or value != int(value) or not 0 <= value <= largest:
                self.file.fail(f"the list '{name}' must contain integers from 0 to {largest}", name)
        return [int(value) for value in values if not isinstance(value, Poly)]

    def _take_variables(self) -> list[str | None]:
        """Name of each joint's variable; only the offset remains in its table entry."""
        variables: list[str | None] = []
        for j, kind in enumerate(self.kinds):
            key = MOTION.get(kind)
            variable, offset = (None, 0) if key is None else self._split(j, key, self.table[key][j])
            if key is not None:
                self.table[key][j] = offset
            if variable is not None and variable in variables:
                self.file.fail(f"joints {variables.index(variable) + 1} and {j + 1} have the same variable", key)
            variables.append(variable)
        return variables

    def _split(self, j: int, key: str, value: Entry) -> tuple[str | None, Entry]:
        if not isinstance(value, Poly):
            return None, value
        single = [m[0][0] for m, number in value.terms.items() if len(m) == 1 and m[0][1] == 1 and number == 1]
        own = [name for name in single if re.fullmatch(rf"(?:th|theta|t|q|r|rl|l|x|z){j + 1}", name, re.IGNORECASE)]
        candidates = own[:1] if len(single) > 1 else single
        if len(candidates) != 1:
            self.file.fail(f"the variable of joint {j + 1} cannot be determined from the list '{key}'", key)
        rest = {m: number for m, number in value.terms.items() if m != ((candidates[0], 1),)}
        offset: Entry = Poly(rest) if any(rest) else rest.get((), 0)
        return candidates[0], offset

    def _constants(self) -> list[str]:
        """Symbols of the table in the order of the joints."""
        found: dict[str, None] = {}
        for j in range(self.frames):
            for key in GEOMETRY:
                value = self.table[key][j]
                for name in sorted(value.letters) if isinstance(value, Poly) else ():
                    if name in self.variables:
                        joint = self.variables.index(name) + 1
                        self.file.fail(f"the list '{key}' uses '{name}', the variable of joint {joint}", key)
                    found[name] = None
        return list(found)

    # ------------------------------------------------------------------ joints and links

    def _joint(self, j: int) -> JointSpec:
        parent = self.parents[j]
        if parent > self.n:
            self.file.fail(f"joint {j + 1} has frame {parent} as its parent, which is not a link", "ant")
        given = {EFFECTS[key]: values[j] for key, values in self.drives.items()}
        effects = {symbol: float(v) for symbol, v in given.items() if not isinstance(v, Poly) and v != 0}
        if effects and self.kinds[j] == "fixed":
            self.file.fail(f"joint {j + 1} is fixed but has a drive", next(iter(DRIVES)))
        return JointSpec(
            name=f"j{j + 1}",
            kind=self.kinds[j],
            parent=GROUND if parent == 0 else f"link {parent}",
            child=f"link {j + 1}",
            placement=self._placement(j),
            effects=effects,
            line=self._line("ant"),
            is_passive=self._is_passive(j),
        )

    def _is_passive(self, j: int) -> bool | None:
        """Whether mu marks a joint of a closed chain as passive; other joints are always coordinates."""
        if not self.cuts or "mu" not in self.file.lists or self.kinds[j] == "fixed" or j not in self._looped():
            return None
        mu = self.file.entries("mu", self.frames)[j]
        if mu not in (0, 1):
            self.file.fail("the list 'mu' must contain 0 (passive) or 1 (actuated)", "mu")
        return bool(mu == 0)

    def _looped(self) -> set[int]:
        """Joints (from 0) on closed chains."""
        found: set[int] = set()
        for k in range(self.n, self.n + self.cuts):
            ways = [set(self._way(end)) for end in (k, k + self.cuts)]
            found |= ways[0] ^ ways[1]
        return found

    def _way(self, frame: int) -> list[int]:
        """Path of joints (from 0) from a frame to the ground."""
        way, parent = [], self.parents[frame]
        while parent:
            if parent - 1 in way:
                self.file.fail("the parents in the list 'ant' form a cycle", "ant")
            way.append(parent - 1)
            parent = self.parents[parent - 1]
        return [j for j in way if j < self.n]

    # ------------------------------------------------------------------ cut joints

    def _loop(self, k: int) -> LoopSpec:
        """Cut joint k (from 0): its frame coincides with frame k + NJ - NL, which is fixed on another link."""
        fixed = k + self.cuts
        if self.kinds[fixed] != "fixed":
            self.file.fail(
                f"frame {fixed + 1} is the fixed frame of the cut joint {k + 1}, so its sigma must be 2", "sigma"
            )
        first, second = self._end(k), self._end(fixed)
        return LoopSpec(f"j{k + 1}", self.kinds[k], first[0], second[0], first[1], second[1], self._line("ant"))

    def _end(self, frame: int) -> tuple[str, Pose]:
        """Link that carries a frame, and the pose of the frame in that link, through fixed frames."""
        pose, seen = self._placement(frame), [frame]
        parent = self.parents[frame]
        while parent > self.n:
            if parent - 1 in seen or self.kinds[parent - 1] != "fixed":
                self.file.fail(
                    f"the parent of frame {frame + 1} is not a link: 'ant' names the cut joint {parent}", "ant"
                )
            seen.append(parent - 1)
            pose = compose(self._placement(parent - 1), pose)
            parent = self.parents[parent - 1]
        return (GROUND if parent == 0 else f"link {parent}"), pose

    def _placement(self, j: int) -> Pose:
        row: dict[str, Entry] = {}
        for key in GEOMETRY:
            value = self.table[key][j]
            row[key] = self._angle(j, key, value) if key in ANGLES else self.letters.length(f"{key}{j + 1}", value)
        try:
            return khalil_pose(row)
        except ValueError as err:
            self.file.fail(f"joint {j + 1}: {err}", "alpha")

    def _angle(self, j: int, key: str, value: Entry) -> Entry:
        self._check_radians(j, key, constant_part(value))
        if isinstance(value, Poly):
            return value
        angle = snap_angle(float(value), self.options.snap)
        if abs(angle - value) > REPORTED:
            text = f"{key} = {value} is snapped to {angle:.10g} rad"
            self.notes.append(Note("info", f"joint {j + 1}", text, self._line(key), is_geometry=True))
        return angle

    def _check_radians(self, j: int, key: str, angle: float) -> None:
        if is_beyond_a_turn(angle):
            self.file.fail(
                f"joint {j + 1}: {key} is {angle:.6g} rad, more than a full turn; write {angle:.6g}*pi/180 if it is "
                "meant in degrees",
                key,
            )
        if looks_like_degrees(angle):
            degrees = math.degrees(angle)
            text = f"{key} = {angle:.6g} is {degrees:.4g} degrees; write {angle:.6g}*pi/180 if it is meant in degrees"
            self.notes.append(Note("warning", f"joint {j + 1}", text, self._line(key)))

    def _links(self) -> list[Ten | None]:
        columns = [self.file.entries(key, self.n, default="unknown") for key in LINK_SYMBOLS]
        return [self._ten(j, [column[j] for column in columns]) for j in range(self.n)]

    def _ten(self, j: int, values: list[Entry]) -> Ten | None:
        """Numeric parameters of a link; None if it has symbols and all its numbers are 0."""
        symbols = [key for key, value in zip(LINK_SYMBOLS, values, strict=True) if isinstance(value, Poly)]
        numbers: list[Number] = [0 if isinstance(value, Poly) else value for value in values]
        if symbols and not any(numbers):
            return None
        if symbols:
            text = f"{', '.join(symbols)} have no value and are taken as 0"
            self.notes.append(Note("warning", f"link {j + 1}", text, self._line(symbols[0])))
        if numbers[9] < 0:
            self.file.fail(f"link {j + 1} has a negative mass", "M")
        return tuple(float(number) for number in numbers)

    # ------------------------------------------------------------------ surroundings

    def _gravity(self) -> tuple[float, float, float]:
        values = self.file.entries("G", 3) if "G" in self.file.lists else list(EARTH)
        free = [k for k, value in enumerate(values) if isinstance(value, Poly)]
        if not free:
            x, y, z = (float(value) for value in values if not isinstance(value, Poly))
            return x, y, z
        axis = free[0] if len(free) == 1 and not any(v for v in values if not isinstance(v, Poly)) else 2
        g = [0.0, 0.0, 0.0]
        g[axis] = EARTH[2]
        text = f"G has no value; it is taken as ({g[0]:g}, {g[1]:g}, {g[2]:g}) m/s2"
        self.notes.append(Note("info", "gravity", text, self._line("G")))
        return g[0], g[1], g[2]

    def _check_ignored(self) -> None:
        """Add notes on ignored entries of the file; raises an error for elastic joints."""
        if "eta" in self.file.lists and any(self.file.entries("eta", self.n)):
            self.file.fail("the robot has elastic joints (eta), which are not supported; set eta to 0", "eta")
        for names, count, what in ((LOADS, self.n, "external forces"), (BASE_MOTION, 3, "motion of the base")):
            for name in names:
                values = self.file.entries(name, count)
                if any(not isinstance(value, Poly) and value != 0 for value in values):
                    self.notes.append(Note("warning", name, f"the {what} in '{name}' are ignored", self._line(name)))

    def _line(self, name: str) -> int | None:
        return self.file.lines.get(name)
