"""Format-independent content of a description file: bodies, joints (some of them fixed) and cut joints."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from minertia.algebra.vec3 import HERE, Pose
from minertia.io.errors import DescriptionError
from minertia.robot.inertia import Ten, impossible
from minertia.robot.joint import Elastic, Limits
from minertia.robot.robot import EARTH, Note, Robot

MAX_JOINTS = 2000


@dataclass(frozen=True, slots=True)
class BodySpec:
    """Body of the file: its ten parameters in the body frame, None where the file has none."""

    name: str
    ten: Ten | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FollowsSpec:
    """Specification of a dependent (mimic) joint: names of its leaders, a ratio for each, and an offset [rad or m]."""

    joints: tuple[str, ...]
    ratios: tuple[float, ...]
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class JointSpec:
    """A joint of the file.

    placement: pose of the joint frame (z = axis) in the frame of the parent body, at position 0.
    child_frame: pose of the child body's frame in the joint frame.  effects: {symbol: value} at the joint;
    constants: {symbol: {name: value}} of its effects.  is_passive: whether it is a passive joint of a closed
    chain, None where the file does not say.  has_motor: whether a passive joint has a motor.  elastic: spring
    and damper between motor and link, None for a rigid joint.
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: Pose = HERE
    child_frame: Pose = HERE
    limits: Limits = field(default_factory=Limits)
    effects: Mapping[str, float] = field(default_factory=dict)
    follows: FollowsSpec | None = None
    line: int | None = None
    constants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    is_passive: bool | None = None
    has_motor: bool = False
    elastic: Elastic | None = None


@dataclass(frozen=True, slots=True)
class LoopSpec:
    """A cut joint of the file: a frame on each of two bodies, which coincide up to the motion of the joint.

    first_pose, second_pose: the frames, in the frames of the bodies `first` and `second`.  effects,
    constants: of the cut joint, as in `JointSpec`.
    """

    name: str
    kind: str
    first: str
    second: str
    first_pose: Pose = HERE
    second_pose: Pose = HERE
    line: int | None = None
    effects: Mapping[str, float] = field(default_factory=dict)
    constants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Description:
    """Complete content of a description file.

    root: name of the body that is the ground, or the floating base.  coupling: rows over the independent
    joints, in the order of the file.  auto_letters: name the coordinates of each joint x3, y3, z3 where the
    file has no symbols.  depth_first: whether joints are ordered depth first, else in the order of the file
    wherever parents come first.  loops: cut joints.  seed: {joint: position} of a closed configuration.
    exact: whether lengths and axes of closed chains are used as written.  automatic: symbols of `symbols`
    that represent plain numbers of the file.  reference: {joint: position} of the file's reference
    configuration, joints at 0 omitted.
    """

    name: str
    bodies: Sequence[BodySpec]
    joints: Sequence[JointSpec]
    root: str
    gravity: tuple[float, float, float] = EARTH
    base: str = "fixed"
    symbols: Mapping[str, float | None] = field(default_factory=dict)
    coupling: Sequence[Sequence[float]] | None = None
    motor_effects: Sequence[Mapping[str, float]] = ()
    notes: Sequence[Note] = ()
    source: str | None = None
    auto_letters: bool = False
    depth_first: bool = True
    loops: Sequence[LoopSpec] = ()
    seed: Mapping[str, float] = field(default_factory=dict)
    exact: bool = False
    automatic: Collection[str] = ()
    reference: Mapping[str, float] = field(default_factory=dict)


def check_count(count: int, what: str, source: str | None) -> None:
    """Raise an error for a file with an implausible number of joints or bodies."""
    if count > MAX_JOINTS:
        raise DescriptionError(f"the file has {count} {what}; the limit is {MAX_JOINTS}", file=source)


# --------------------------------------------------------------------------- bodies that cannot exist or have no mass


IMPOSSIBLE, MASSLESS = "impossible", "massless"  # codes of notes
NO_MASS = (
    "it has no mass, and neither have the bodies fixed to it, so it does not contribute to torques; "
    "give its inertial parameters (base parameters need only the geometry)"
)


def impossible_body(name: str, ten: Sequence[float] | None, line: int | None = None) -> Note | None:
    """Warning when ten parameters are not physically consistent."""
    why = None if ten is None else impossible(ten)
    if why is None:
        return None
    text = (
        f"these inertial parameters are not physically consistent: {why}; simulators may reject them, so correct "
        "the mass, centre of mass or inertia"
    )
    return Note("warning", link_text(name), text, line, code=IMPOSSIBLE)


def missing_masses(robot: Robot) -> list[Note]:
    """Warning for each massless moving link, bodies fixed to it included; except at universal and cut joints."""
    crosses = {robot.joints[j].link or robot.joints[j].name for j in (*robot.crosses, *robot.pins)}
    empty = [name for name, ten in moving_links(robot) if (ten is None or not any(ten)) and name not in crosses]
    return [Note("warning", link_text(name), NO_MASS, code=MASSLESS) for name in empty]


def moving_links(robot: Robot) -> Iterator[tuple[str, Ten | None]]:
    """Name and ten parameters of each moving link."""
    if robot.is_floating:
        yield robot.base_name, robot.base_link
    for joint, ten in zip(robot.joints, robot.links, strict=True):
        yield joint.link or joint.name, ten


def link_text(name: str) -> str:
    """Link name as text for a message."""
    return f"link '{name}'"
