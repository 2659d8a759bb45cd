"""`Robot`: an immutable tree of joints with its parameters, drives and limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from minertia.algebra.polynomial import Poly, Values
from minertia.algebra.scalar import Scalar, add, mul, structural, total
from minertia.algebra.vec3 import HERE, Pose
from minertia.io.errors import InputError, MissingParameters, UnknownName
from minertia.io.notebook import clipped, html_table, plural
from minertia.robot.corrections import JointCorrections
from minertia.robot.effects import (
    BY_SYMBOL,
    EFFECT_SYMBOLS,
    MOTOR_SYMBOLS,
    ROTOR_SYMBOLS,
    STANDARD_SYMBOLS,
    STANDARD_TWINS,
    WORDS,
)
from minertia.robot.inertia import Ten, add_ten, from_six, transport_ten
from minertia.robot.joint import CUT_KINDS, Cut, Elastic, Joint, numeric_pose, partial_pose
from minertia.robot.parameters import BIAS_SYMBOLS, LINK_SYMBOLS, full_name, split_name
from minertia.robot.sensor import Sensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

STRONGEST = 1000.0  # m/s2 of gravity that can be meant
EARTH = (0.0, 0.0, -9.81)
SEED = 20_26  # values drawn for letters that have none
OF_MOTORS = ("IA", "OFF")  # standard effects that a joint without a motor cannot have
CHANGED = 0.1  # largest relative change of letters where loops must go on closing
DRAWN = (0.2, 1.3)  # m or rad, either sign: no length or angle that is drawn makes axes meet or align


@dataclass(frozen=True, slots=True)
class Note:
    """Observation of a reader or a change that it made; `level` is "info", "warning" or "error".

    is_geometry: whether the placement of a joint was changed, which affects results.  code: type of the note, for
    programs that search for it.
    """

    level: str
    where: str
    text: str
    line: int | None = None
    is_geometry: bool = False
    code: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """A named frame of the description file: fixed in the link of a joint (None: ground or floating base)."""

    joint: int | None
    pose: Pose


@dataclass(frozen=True)
class Robot:
    """A tree of revolute and prismatic joints.

    joints: parents before children.  Coordinates q are the positions of the independent joints, in order;
    with a floating base seven entries come first (position, quaternion x y z w) and six in velocities and
    accelerations (linear, then angular, in the base frame).  links: ten parameters of each joint's link in
    the joint frame, None where the file gives none; base_link: ten parameters of the floating base.  effects:
    joint-side {symbol: value} of each joint, symbols of `effects.EFFECTS`.  coupling: rows of G with motor
    positions = G q; then motor_effects holds the motor-side {IAM: value ...} of each motor.  constants:
    {symbol: {name: value}} of each joint, the constants of its effects' shapes where they differ from the
    defaults.  symbols: symbol -> value, None for symbols without one.  cuts: cut joints of closed chains;
    seed: a closed position of every joint [rad or m], which selects the assembly branch of the closed chains.
    corrections: corrections of joint positions from a calibration, None for a robot that was not calibrated.
    sensors: force/torque sensors that divide links; `links` and `base_link` are then the near parts.
    """

    name: str
    joints: tuple[Joint, ...]
    gravity: tuple[float, float, float] = EARTH
    base: str = "fixed"
    links: tuple[Ten | None, ...] = ()
    base_link: Ten | None = None
    effects: tuple[Mapping[str, float], ...] = ()
    coupling: tuple[tuple[float, ...], ...] | None = None
    motor_effects: tuple[Mapping[str, float], ...] = ()
    symbols: Mapping[str, float | None] = field(default_factory=dict)
    frames: Mapping[str, Frame] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    source: str | None = None
    constants: tuple[Mapping[str, Mapping[str, float]], ...] = ()
    cuts: tuple[Cut, ...] = ()
    seed: tuple[float, ...] | None = None
    corrections: JointCorrections | None = None
    sensors: tuple[Sensor, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.joints)
        put = object.__setattr__
        put(self, "links", tuple(self.links) or (None,) * n)
        effects = self.effects or ({},) * n
        put(self, "effects", tuple(MappingProxyType(dict(e)) for e in effects))
        put(self, "motor_effects", tuple(MappingProxyType(dict(e)) for e in self.motor_effects))
        put(self, "constants", tuple(_frozen(c) for c in self.constants or ({},) * n))
        put(self, "symbols", MappingProxyType(dict(self.symbols)))
        put(self, "frames", MappingProxyType(dict(self.frames)))

    def __getstate__(self) -> dict[str, object]:
        """Plain data for pickling between processes (read-only views cannot be pickled)."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        plain: dict[str, object] = {name: dict(state[name]) for name in ("symbols", "frames")}
        plain |= {name: tuple(dict(e) for e in state[name]) for name in ("effects", "motor_effects")}
        plain["constants"] = tuple({symbol: dict(c) for symbol, c in own.items()} for own in self.constants)
        return state | plain

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    # ------------------------------------------------------------------ structure

    @property
    def n_joints(self) -> int:
        """Number of moving joints, dependent ones included."""
        return len(self.joints)

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Indices of the joints that are neither dependent nor passive: the coordinates."""
        return tuple(j for j, joint in enumerate(self.joints) if joint.follows is None and not joint.is_passive)

    @property
    def n(self) -> int:
        """Number of joint coordinates (without a floating base)."""
        return len(self.independent)

    @property
    def on_ground(self) -> Robot:
        """The robot with a fixed base, whose coordinates are those of the joints alone."""
        return replace(self, base="fixed") if self.is_floating else self

    @property
    def is_floating(self) -> bool:
        """Whether the base moves freely."""
        return self.base == "floating"

    @property
    def n_velocity(self) -> int:
        """Length of qd and qdd."""
        return self.n + 6 * self.is_floating

    @property
    def n_efforts(self) -> int:
        """Number of efforts: one per velocity, then the six of each force/torque sensor."""
        return self.n_velocity + 6 * len(self.sensors)

    @property
    def n_position(self) -> int:
        """Length of q."""
        return self.n + 7 * self.is_floating

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the independent joints."""
        return tuple(self.joints[j].name for j in self.independent)

    @property
    def elastic(self) -> dict[int, Elastic]:
        """Coordinates (from 0) of the elastic joints, with the file's stiffness and damping."""
        found = ((c, self.joints[j].elastic) for c, j in enumerate(self.independent))
        return {c: elastic for c, elastic in found if elastic is not None}

    def ancestors(self, j: int) -> tuple[int, ...]:
        """Joints on the path from the ground to joint j, j last."""
        path: list[int] = []
        k: int | None = j
        while k is not None:
            path.append(k)
            k = self.joints[k].parent
        return tuple(reversed(path))

    @cached_property
    def _shares(self) -> tuple[tuple[tuple[int, Scalar], ...], ...]:
        rank = {j: c for c, j in enumerate(self.independent)}
        own = [((j, 1),) if joint.follows is None else joint.follows.shares for j, joint in enumerate(self.joints)]
        return tuple(
            tuple((rank[leader], structural(ratio)) for leader, ratio in shares if leader in rank) for shares in own
        )

    def shares(self, j: int) -> tuple[tuple[int, Scalar], ...]:
        """(coordinate, ratio) pairs that determine joint j: its own coordinate, or those of its leaders."""
        shares = self._shares[j]
        if not shares:
            self.require_tree("this computation")
        return shares

    def coordinate_of(self, j: int) -> int:
        """Index of the coordinate that determines joint j; the first if there are several."""
        return self.shares(j)[0][0]

    @cached_property
    def described(self) -> Robot:
        """Robot with its frames before a calibration; the robot itself if it was not calibrated.

        Corrections turn exactly parallel axes into nearly parallel ones.  Some parameters would then be
        identifiable mathematically, but not from measurements.
        """
        if self.corrections is None:
            return self
        joints = list(self.joints)
        own = zip(self.corrections.indices[1:], self.corrections.joints[1:], strict=True)  # the first is not corrected
        for j, before in own:
            joints[j] = replace(joints[j], R=before.R, p=before.p)
        return replace(self, joints=tuple(joints), corrections=None)

    def corrected(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Coordinates [rad, m] corrected by a calibration; q: positions read from the encoders."""
        found, own = list(q), self.corrections
        if own is None or not own.terms:
            return found
        shares = [self.shares(j) for j in own.indices]
        if any(self.joints[j].follows for j in own.indices):
            raise InputError(
                f"corrected joints of '{self.name}' follow others, so corrections cannot be applied to coordinates; "
                "calibrate it with the levels zeros and geometry only"
            )
        coordinates = [own_shares[0][0] for own_shares in shares]
        for c, change in zip(coordinates, own.at([q[c] for c in coordinates]), strict=True):
            found[c] = add(found[c], change)
        return found

    def joint_position(self, j: int, q: Sequence[Scalar]) -> Scalar:
        """Position of joint j from those of the coordinates, without a floating base."""
        follows = self.joints[j].follows
        offset = 0 if follows is None or follows.offset == 0 else follows.offset
        return add(self.joint_rate(j, q), offset)

    def joint_rate(self, j: int, qd: Sequence[Scalar]) -> Scalar:
        """Velocity (or acceleration) of joint j from those of the coordinates, without a floating base."""
        return total(*(mul(ratio, qd[c]) for c, ratio in self.shares(j)))

    # ------------------------------------------------------------------ closed loops

    @property
    def open_cuts(self) -> tuple[Cut, ...]:
        """Cuts whose closure is solved for passive joints; dependent joints keep the others closed."""
        return tuple(cut for cut in self.cuts if not cut.form)

    @property
    def passive(self) -> tuple[int, ...]:
        """Indices of the joints whose position follows from loop closure, except those of parallelograms."""
        return tuple(j for j, joint in enumerate(self.joints) if joint.is_passive and joint.follows is None)

    @property
    def actuated(self) -> tuple[int, ...]:
        """Indices of the coordinates and of the passive joints that have a motor (redundant actuation)."""
        more = [j for j, joint in enumerate(self.joints) if joint.is_passive and joint.has_motor]
        return tuple(sorted((*self.independent, *more)))

    @property
    def driven(self) -> tuple[int, ...]:
        """Indices of the joints that are not passive: those with a motor, and dependent ones."""
        return tuple(j for j, joint in enumerate(self.joints) if not joint.is_passive)

    def pin(self, cut: Cut) -> int | None:
        """Tree joint of a cut joint with effects, which carries a massless link fixed to the cut; else None."""
        j = cut.first
        if cut.kind != "fixed" or j is None or cut.first_pose != HERE or self.joints[j].kind not in CUT_KINDS:
            return None
        ten = self.links[j] if j < len(self.links) else None
        is_leaf = all(joint.parent != j for joint in self.joints)
        return j if is_leaf and (ten is None or not any(ten)) else None

    def uncut(self, cut: Cut) -> Cut:
        """Original cut joint, with its own type, where its effects made it a tree joint."""
        j = self.pin(cut)
        if j is None:
            return cut
        joint = self.joints[j]
        return replace(cut, kind=joint.kind, first=joint.parent, first_pose=(joint.R, joint.p))

    @cached_property
    def pins(self) -> tuple[int, ...]:
        """Tree joints of the cuts with effects."""
        return tuple(j for cut in self.cuts if (j := self.pin(cut)) is not None)

    @cached_property
    def tip(self) -> int:
        """Default joint whose link carries a payload or tool.

        Without closed chains, the last joint.  With closed chains, the last end of the tree outside of them, else the
        joint whose link most cuts share.
        """
        if not self.cuts:
            return self.n_joints - 1
        met = [j for cut in map(self.uncut, self.cuts) for j in (cut.first, cut.second) if j is not None]
        inside = {*self.pins, *(k for j in met for k in self.ancestors(j))}
        ends = [j for j in range(self.n_joints) if j not in inside and all(x.parent != j for x in self.joints)]
        return ends[-1] if ends else max(met, key=lambda j: (met.count(j), j))

    @cached_property
    def crosses(self) -> tuple[int, ...]:
        """Joints that carry the massless cross of a universal joint, at which two joint axes intersect."""
        if not self.open_cuts or not self.has_parameters:
            return ()
        return tuple(j for j, ten in enumerate(self.links) if not (ten and any(ten)) and self._is_between(j))

    @property
    def massless(self) -> tuple[int, ...]:
        """Joints that carry massless links without parameters: `crosses` and `pins`."""
        return *self.crosses, *self.pins

    @property
    def massless_columns(self) -> frozenset[str]:
        """Names of the parameters of massless links, which are omitted."""
        return frozenset(full_name(symbol, j + 1) for j in self.massless for symbol in LINK_SYMBOLS)

    def _is_between(self, j: int) -> bool:
        """Whether a link's only child joint is at its origin, and no loop is cut at it."""
        further = [joint for joint in self.numeric.joints if joint.parent == j]
        ends = [end for cut in self.cuts for end in (cut.first, cut.second)]
        return len(further) == 1 and all(s == 0 for s in further[0].p) and j not in ends

    def require_tree(self, what: str) -> None:
        """Raise InputError where passive joints depend on loop closure, which `what` does not support."""
        if self.passive or self.open_cuts:
            names = ", ".join(f"'{cut.name}'" for cut in self.open_cuts) or "none named"
            raise InputError(
                f"the robot '{self.name}' has closed loops that are not parallelograms ({names}), for which "
                f"{what} is not supported yet; dynamics, base parameters and identification are"
            )

    @cached_property
    def opened(self) -> Robot:
        """Spanning tree of the robot, in which every passive joint is a coordinate."""
        joints = tuple(replace(joint, is_passive=False) for joint in self.joints)
        found = replace(self, joints=joints, cuts=(), seed=None, coupling=None, motor_effects=())
        if self.coupling is None or not self.passive:
            return replace(found, coupling=self.coupling, motor_effects=self.motor_effects)
        rank = {j: c for c, j in enumerate(found.independent)}
        coupling = np.eye(found.n)
        motors: list[Mapping[str, float]] = [{} for _ in range(found.n)]
        for row, j in enumerate(self.independent):
            coupling[rank[j], [rank[k] for k in self.independent]] = self.coupling[row]
            motors[rank[j]] = self.motor_effects[row] if self.motor_effects else {}
        return replace(found, coupling=tuple(tuple(row) for row in coupling.tolist()), motor_effects=tuple(motors))

    def joint_index(self, name: str) -> int:
        """Index of a joint, or of the joint that carries a link, by name."""
        for j, joint in enumerate(self.joints):
            if name in (joint.name, joint.link):
                return j
        raise UnknownName("joint or link", name, [joint.name for joint in self.joints])

    # ------------------------------------------------------------------ letters and numbers

    @property
    def has_letters(self) -> bool:
        """Whether any length or angle is symbolic."""
        placements = [(joint.R, joint.p) for joint in self.joints] + [joint.file_frame for joint in self.joints]
        cuts = [pose for cut in self.cuts for pose in (cut.first_pose, cut.second_pose)]
        others = [*(frame.pose for frame in self.frames.values()), *(sensor.pose for sensor in self.sensors)]
        poses = (*placements, *others, *cuts)
        return any(isinstance(s, Poly) for R, p in poses for s in (*R[0], *R[1], *R[2], *p))

    @cached_property
    def symbol_values(self) -> Mapping[str, float]:
        """Value of every symbol; those without one get a random value with a fixed seed."""
        rng = np.random.default_rng(SEED)
        drawn = {name: float(rng.uniform(0.2, 0.9)) for name in sorted(self.symbols)}
        return {name: drawn[name] if v is None else v for name, v in self.symbols.items()}

    @cached_property
    def numeric(self) -> Robot:
        """Robot with every symbol replaced by its value."""
        return self.at(self.symbol_values)

    def at(self, values: Mapping[str, float]) -> Robot:
        """Robot with every symbol replaced by a number."""
        if not self.has_letters:
            return self
        values = Values(values)
        joints = tuple(_at(joint, values) for joint in self.joints)
        frames = {name: replace(frame, pose=numeric_pose(frame.pose, values)) for name, frame in self.frames.items()}
        cuts = tuple(cut.at(values) for cut in self.cuts)
        sensors = tuple(replace(one, pose=numeric_pose(one.pose, values)) for one in self.sensors)
        return replace(self, joints=joints, frames=frames, symbols={}, cuts=cuts, sensors=sensors)

    def with_values(self, names: Collection[str]) -> Robot:
        """Robot with some of its symbols replaced by their values."""
        known = {name: value for name in names if (value := self.symbols.get(name)) is not None}
        if not known:
            return self
        joints = tuple(
            replace(joint, R=pose[0], p=pose[1], file_frame=partial_pose(joint.file_frame, known))
            for joint in self.joints
            for pose in (partial_pose((joint.R, joint.p), known),)
        )
        frames = {name: replace(frame, pose=partial_pose(frame.pose, known)) for name, frame in self.frames.items()}
        cuts = tuple(
            replace(c, first_pose=partial_pose(c.first_pose, known), second_pose=partial_pose(c.second_pose, known))
            for c in self.cuts
        )
        symbols = {name: value for name, value in self.symbols.items() if name not in known}
        sensors = tuple(replace(one, pose=partial_pose(one.pose, known)) for one in self.sensors)
        return replace(self, joints=joints, frames=frames, cuts=cuts, symbols=symbols, sensors=sensors)

    def require_values(self, what: str) -> None:
        """Raise InputError for a length or angle with a symbol without value: a random one would be used."""
        unknown = [name for name, value in self.symbols.items() if value is None] if self.has_letters else []
        if unknown:
            raise InputError(
                f"the robot '{self.name}' has symbols without a value ({', '.join(unknown)}), but {what} needs "
                "numbers; give values under [symbols] of a TOML robot file (minertia convert makes one)"
            )

    def other_values(self, seed: int) -> dict[str, float]:
        """Random value for every symbol, even those with a value, to test if a result holds symbolically.

        With loop closure, the values are near the given ones, since the loops might not close elsewhere.
        """
        rng = np.random.default_rng((SEED, seed))
        if self.open_cuts:
            return {
                name: v * float(rng.uniform(1 - CHANGED, 1 + CHANGED)) for name, v in sorted(self.symbol_values.items())
            }
        return {name: float(rng.uniform(*DRAWN) * rng.choice((-1, 1))) for name in sorted(self.symbols)}

    # ------------------------------------------------------------------ parameters

    @property
    def missing_links(self) -> tuple[str, ...]:
        """Names of the links without inertial parameters in the file."""
        missing = [j.link or j.name for j, x in zip(self.joints, self.links, strict=True) if x is None]
        return (("base",) if self.is_floating and self.base_link is None else ()) + tuple(missing)

    @property
    def has_parameters(self) -> bool:
        """Whether at least one moving link has inertial parameters."""
        return any(x is not None for x in (*self.links, self.base_link if self.is_floating else None))

    def columns(self, rotors: bool = False, friction: bool = False) -> tuple[str, ...]:
        """Names of the standard parameters, in order; passive joints without a motor have no rotor and no offset."""
        effects = _chosen(rotors, friction)
        names = [full_name(s, 0) for s in LINK_SYMBOLS] if self.is_floating else []
        for j, joint in enumerate(self.joints):
            own = [s for s in effects if s not in OF_MOTORS or not joint.is_passive or joint.has_motor]
            symbols = (*LINK_SYMBOLS, *own, *(f"{s}M" for s in own if j in self.coupled_motors))
            names += [full_name(symbol, j + 1) for symbol in symbols]
        for k in range(len(self.sensors)):
            symbols = (*LINK_SYMBOLS, *(BIAS_SYMBOLS if friction else ()))
            names += [full_name(symbol, self.n_joints + k + 1) for symbol in symbols]
        return tuple(names)

    @cached_property
    def coupled_motors(self) -> Mapping[int, int]:
        """Joints whose motor (same index) is coupled to several coordinates: joint -> row of the coupling."""
        if self.coupling is None:
            return {}
        rows = [row for row, entries in enumerate(self.coupling) if sum(g != 0 for g in entries) > 1]
        return {self.independent[row]: row for row in rows}

    def parameters(self) -> list[dict[str, float]]:
        """Nominal value of every parameter, {symbol: value} per joint; a floating base comes first.

        Links without inertial parameters count as massless.
        """
        if not self.has_parameters:
            raise MissingParameters(
                f"the robot '{self.name}' has no inertial parameters, so its torques cannot be computed; give "
                "masses and inertias in the robot file (a bundled robot: write one with 'minertia convert'), or derive "
                "base parameters, which need only the geometry"
            )
        whole = self.without_sensors
        chi = [self._link_values(whole.base_link)] if self.is_floating else []
        for j, link in enumerate(whole.links):
            values = self._link_values(link) | dict.fromkeys(STANDARD_SYMBOLS, 0.0) | dict(self.effects[j])
            if j in self.coupled_motors:
                values |= dict.fromkeys(STANDARD_TWINS, 0.0) | dict(self._motor(j))
            chi.append(values)
        return chi

    def _motor(self, j: int) -> Mapping[str, float]:
        """Effects of the motor of joint j that is coupled to several joints."""
        return self.motor_effects[self.coupled_motors[j]] if j in self.coupled_motors and self.motor_effects else {}

    # ------------------------------------------------------------------ effects

    @cached_property
    def effect_values(self) -> Mapping[str, float]:
        """Non-zero effects, by full name, joint by joint."""
        return {
            full_name(s, j + 1): value
            for j, own in enumerate(self.effects)
            for s, value in (*own.items(), *self._motor(j).items())
            if value != 0
        }

    @cached_property
    def other_effects(self) -> tuple[str, ...]:
        """Full names of the robot's non-standard effects (springs, Stribeck ...)."""
        standard = (*STANDARD_SYMBOLS, *STANDARD_TWINS)
        return tuple(
            full_name(s, j + 1)
            for j, own in enumerate(self.effects)
            for s in (*EFFECT_SYMBOLS, *MOTOR_SYMBOLS)
            if s not in standard and (own.get(s) or self._motor(j).get(s))
        )

    def has_input(self, name: str) -> bool:
        """Whether a non-zero effect depends on "load" or on "temperature"."""
        return any(name in BY_SYMBOL[s].inputs for own in self.effects for s, value in own.items() if value)

    def effect_constants(self, j: int, symbol: str) -> Mapping[str, float]:
        """Constants of an effect of joint j (from 0): its own, else the default ones."""
        values, missing = BY_SYMBOL[symbol].filled(self.constants[j].get(symbol, {}))
        if missing:
            raise InputError(f"the effect {full_name(symbol, j + 1)} of '{self.name}' needs {', '.join(missing)}")
        return values

    def without_effects(self, names: Sequence[str]) -> Robot:
        """Robot without some effects: "rotors", "friction" (all but rotors), words, symbols or full names."""
        gone = {full for name in names for full in self._named_effects(name)}
        return _with_values(self, {full: 0.0 for full in gone if full in self.effect_values})

    def _named_effects(self, name: str) -> set[str]:
        symbols = {"rotors": ROTOR_SYMBOLS, "friction": [s for s in BY_SYMBOL if s not in ROTOR_SYMBOLS]}
        chosen = symbols.get(name) or [t for s in WORDS.get(name, (name,)) for t in (s, f"{s}M") if t in BY_SYMBOL]
        found = {full_name(s, j + 1) for s in chosen for j in range(self.n_joints)} or {name} & self._every_effect
        if not found:
            raise UnknownName("effect", name, ("rotors", "friction", *WORDS, *EFFECT_SYMBOLS))
        return found

    @cached_property
    def _every_effect(self) -> frozenset[str]:
        """Full names of all effects that the robot's joints and motors could have."""
        return frozenset(
            full_name(s, j + 1)
            for j in range(self.n_joints)
            for s in (*EFFECT_SYMBOLS, *(MOTOR_SYMBOLS if j in self.coupled_motors else ()))
        )

    def parameter_vector(self, rotors: bool = False, friction: bool = False) -> NDArray[np.float64]:
        """Nominal values in the order of `columns`."""
        chi = self.parameters()
        first = 0 if self.is_floating else 1
        table = {full_name(s, first + k): v for k, x in enumerate(chi) for s, v in x.items()}
        if self.sensors:
            tens = {0: self.base_link, **{j + 1: link for j, link in enumerate(self.links)}}
            tens |= {self.n_joints + k + 1: one.ten for k, one in enumerate(self.sensors)}
            table |= {full_name(s, k): v for k, ten in tens.items() for s, v in self._link_values(ten).items()}
            for k, one in enumerate(self.sensors):
                table |= {full_name(s, self.n_joints + k + 1): v for s, v in zip(BIAS_SYMBOLS, one.bias, strict=True)}
        return np.array([table[name] for name in self.columns(rotors, friction)])

    def with_parameters(
        self,
        values: Mapping[str, float] | ArrayLike,
        constants: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Robot:
        """Robot with other inertial and effect parameters, by full name or as a vector of all columns.

        constants: {full name of an effect: {constant: value}}, where they differ from its current or default
        constants.
        """
        if not isinstance(values, Mapping):
            values = dict(zip(self.columns(True, True), np.asarray(values, float).tolist(), strict=True))
        known = {*self.columns(True, True), *self._every_effect}
        for name in (*values, *(constants or {})):
            if name not in known:
                raise UnknownName("parameter", name, sorted(known))
        return _with_values(self, {name: float(value) for name, value in values.items()}, constants or {})

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0, 0, 0),
        inertia: Sequence[float] = (0, 0, 0, 0, 0, 0),
        *,
        at: str | None = None,
        about: str = "com",
    ) -> Robot:
        """Robot with a payload, which is added to the parameters of the link that carries it.

        com [m] and inertia [kg m2: Ixx Ixy Ixz Iyy Iyz Izz, about the payload's centre of mass or ("frame") about
        the frame's origin] are in the frame `at`: a link or frame of the file, by default the frame of the last
        link.
        """
        if mass < 0 or not np.all(np.isfinite([mass, *com, *inertia])):
            raise InputError("a payload needs finite numbers and a mass that is not negative")
        if about not in ("com", "frame"):
            raise UnknownName("reference point of an inertia", about, ("com", "frame"))
        frame = self.payload_frame(at)
        load = transport_ten(from_six(mass, com, inertia, about), numeric_pose(frame.pose, self.symbol_values))
        if frame.joint is None:
            return replace(self, base_link=add_ten(self.base_link or (0.0,) * 10, load))
        links = list(self.links)
        links[frame.joint] = add_ten(links[frame.joint] or (0.0,) * 10, load)
        return replace(self, links=tuple(links))

    @property
    def base_name(self) -> str:
        """Name of the base in the description file: its first fixed frame."""
        return next((name for name, frame in self.frames.items() if frame.joint is None), "base")

    def payload_frame(self, at: str | None) -> Frame:
        """Frame in which a payload is given: a link or frame of the file by name; default: frame of the last link."""
        if at is None and not self.joints:
            return Frame(None, HERE)  # a body that floats alone
        if at is None:
            return Frame(self.tip, self.joints[self.tip].file_frame)
        return find_frame(self, at)

    @staticmethod
    def _link_values(link: Ten | None) -> dict[str, float]:
        return dict(zip(LINK_SYMBOLS, link or (0.0,) * 10, strict=True))

    # ------------------------------------------------------------------ force/torque sensors

    @cached_property
    def without_sensors(self) -> Robot:
        """Robot with whole links: near and far parts, both in the frame of their link, are added.

        A sensor with several loads counts once, with the first load.
        """
        if not self.sensors:
            return self
        links, base = list(self.links), self.base_link
        for one in (self.sensors[k] for k in self.first_loads):
            if one.ten is not None and one.joint is not None:
                links[one.joint] = add_ten(links[one.joint] or (0.0,) * 10, one.ten)
            elif one.ten is not None:
                base = add_ten(base or (0.0,) * 10, one.ten)
        return replace(self, links=tuple(links), base_link=base, sensors=())

    @property
    def first_loads(self) -> tuple[int, ...]:
        """Indices of sensors at different places: one sensor with several loads is listed once for each load."""
        places = [(one.joint, one.pose) for one in self.sensors]
        return tuple(k for k, place in enumerate(places) if place not in places[:k])

    def sensor_before(self, j: int) -> int | None:
        """Index of the force/torque sensor between joint j and the near part of its parent link; None without one."""
        return next((k for k, one in enumerate(self.sensors) if j in one.beyond), None)

    # ------------------------------------------------------------------ small changes

    def with_gravity(self, gravity: Sequence[float]) -> Robot:
        """Robot with another mounting: gravity [m/s2] in the base frame."""
        try:
            g = tuple(float(v) for v in gravity)
        except (TypeError, ValueError, OverflowError):
            g = ()
        if len(g) != 3 or not all(abs(v) <= STRONGEST for v in g):
            raise InputError(
                f"gravity must be three finite numbers [m/s2] of magnitude at most {STRONGEST:g}, such as [0, 0, "
                f"-9.81], not {clipped(str(gravity), 60)}"
            )
        return replace(self, gravity=(g[0], g[1], g[2]))

    def with_notes(self, notes: Sequence[Note]) -> Robot:
        """Robot with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def __repr__(self) -> str:
        kinds = clipped("".join(joint.kind[0].upper() for joint in self.joints), 24)
        letters = f", symbols {clipped(', '.join(self.symbols), 40)}" if self.symbols else ""
        known = "inertial parameters known" if self.has_parameters else "no inertial parameters"
        return (
            f"<Robot '{clipped(self.name, 40)}': {plural(self.n_joints, 'joint')} ({kinds}), {self.base} base, "
            f"{known}{letters}>"
        )

    def _repr_html_(self) -> str:
        rows = []
        for k, (joint, link) in enumerate(zip(self.joints, self.links, strict=True)):
            parent = self.base_name if joint.parent is None else self.joints[joint.parent].link
            mass = "" if link is None else f"{link[LINK_SYMBOLS.index('M')]:.4g}"
            low, high = joint.limits.lower, joint.limits.upper
            reach = "" if low is None or high is None else f"{low:.4g} to {high:.4g}"
            rows.append((k + 1, joint.name, joint.kind, parent, joint.link, mass, reach))
        headers = ("", "joint", "kind", "from", "to link", "mass [kg]", "range [rad or m]")
        return html_table(str(self), headers, rows, right=(5, 6))

    def __str__(self) -> str:
        kinds = "".join(joint.kind[0].upper() for joint in self.joints)
        joints, free = self.n_joints, len(self.coordinate_names)
        return (
            f"{self.name}: {joints} joint{'s' * (joints != 1)} ({kinds}), {self.base} base, "
            f"{free} coordinate{'s' * (free != 1)}"
        )


def _chosen(rotors: bool, friction: bool) -> tuple[str, ...]:
    return tuple(s for s in STANDARD_SYMBOLS if (rotors if s in ROTOR_SYMBOLS else friction))


def _at(joint: Joint, values: Mapping[str, float]) -> Joint:
    R, p = numeric_pose((joint.R, joint.p), values)
    return replace(joint, R=R, p=p, file_frame=numeric_pose(joint.file_frame or HERE, values))


def _frozen(constants: Mapping[str, Mapping[str, float]]) -> Mapping[str, Mapping[str, float]]:
    return MappingProxyType({symbol: MappingProxyType(dict(own)) for symbol, own in constants.items()})


def _with_values(
    robot: Robot, values: Mapping[str, float], constants: Mapping[str, Mapping[str, float]] = MappingProxyType({})
) -> Robot:
    def ten(old: Ten | None, link: int) -> Ten | None:
        names = [full_name(s, link) for s in LINK_SYMBOLS]
        if old is None and not any(name in values for name in names):
            return None
        return tuple(values.get(name, v) for name, v in zip(names, old or (0.0,) * 10, strict=True))

    effects, motors = [dict(e) for e in robot.effects], [dict(e) for e in robot.motor_effects]
    numbers = [dict(c) for c in robot.constants]
    if robot.coupling is not None and not motors:
        motors = [{} for _ in robot.coupling]
    for j in range(robot.n_joints):
        effects[j] |= {s: values[f"{s}{j + 1}"] for s in EFFECT_SYMBOLS if f"{s}{j + 1}" in values}
        numbers[j] |= {s: constants[f"{s}{j + 1}"] for s in BY_SYMBOL if f"{s}{j + 1}" in constants}
        if j in robot.coupled_motors:
            row = robot.coupled_motors[j]
            motors[row] |= {s: values[f"{s}{j + 1}"] for s in MOTOR_SYMBOLS if f"{s}{j + 1}" in values}
    sensors = []
    for k, one in enumerate(robot.sensors):
        far = robot.n_joints + k + 1
        bias = tuple(values.get(f"{s}{far}", v) for s, v in zip(BIAS_SYMBOLS, one.bias, strict=True))
        sensors.append(replace(one, ten=ten(one.ten, far), bias=bias))
    changed = replace(
        robot,
        sensors=tuple(sensors),
        links=tuple(ten(x, j + 1) for j, x in enumerate(robot.links)),
        base_link=ten(robot.base_link, 0) if robot.is_floating else robot.base_link,
        effects=tuple(effects),
        motor_effects=tuple(motors),
        constants=tuple(numbers),
    )
    for name in changed.other_effects:
        symbol, link = split_name(name)
        changed.effect_constants(link - 1, symbol)  # says what is missing
    for name, given in constants.items():
        wrong = BY_SYMBOL[split_name(name)[0]].wrong_constant(given)
        if wrong is not None:
            raise InputError(f"the constant {wrong} of {name} must be a positive number, not {given[wrong]:g}")
    return changed


def find_frame(robot: Robot, name: str) -> Frame:
    """Frame of the file, or the frame of a joint or link, by name."""
    if name in robot.frames:
        return robot.frames[name]
    names = [*robot.frames, *(joint.link for joint in robot.joints if joint.link), *(j.name for j in robot.joints)]
    if name not in names:
        raise UnknownName("frame", name, names)
    j = robot.joint_index(name)
    return Frame(j, robot.joints[j].file_frame)
