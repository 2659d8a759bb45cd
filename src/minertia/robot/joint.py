"""Joints: a constant placement, then a motion about or along the joint's z axis (theory, eq. 1); and cut joints.

A cut joint is where a closed kinematic chain is opened, so that the remaining structure is a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from minertia.algebra.polynomial import evaluate, letter, split_atom, substitute, turn
from minertia.algebra.scalar import Scalar, cos, mul, sin
from minertia.algebra.vec3 import HERE, ZERO, Mat, Pose, Vec, Z, apply, column, matmul, scale, vadd
from minertia.io.notebook import clipped


@dataclass(frozen=True, slots=True)
class Kind:
    """Joint type: its unit twist, and the part of its link's parameters that is regrouped with the parent link.

    invisible: (symbol, source) pairs of this part, which does not change with the joint position as seen from
    the parent: its parameter `symbol` has the value of the link's parameter `source`.
    """

    angular: Vec
    linear: Vec
    invisible: tuple[tuple[str, str], ...]


KINDS = {
    # the part symmetric about z: YY on both axes, MZ and M
    "revolute": Kind(Z, ZERO, (("XX", "YY"), ("YY", "YY"), ("MZ", "MZ"), ("M", "M"))),
    # the orientation never changes, so the whole inertia matrix may move
    "prismatic": Kind(ZERO, Z, tuple((s, s) for s in ("XX", "XY", "XZ", "YY", "YZ", "ZZ"))),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a joint's motion, None where unknown [rad or m, and per s, per s2; N m or N]."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    acceleration: float | None = None
    effort: float | None = None


@dataclass(frozen=True, slots=True)
class Elastic:
    """Elastic joint: a motor that drives its link through a spring and a damper, as in the description.

    stiffness [N m/rad, N/m], damping [N m s/rad, N s/m]: in the units of the link side; None where they are not known.
    """

    stiffness: float | None = None
    damping: float | None = None


@dataclass(frozen=True, slots=True)
class Follows:
    """A dependent joint: position = sum of ratio * position of each leader + offset (theory, eq. 11)."""

    joints: tuple[int, ...]
    ratios: tuple[float, ...]
    offset: float = 0.0

    @property
    def shares(self) -> tuple[tuple[int, float], ...]:
        """(leader, ratio) of each leader."""
        return tuple(zip(self.joints, self.ratios, strict=True))


@dataclass(frozen=True, slots=True)
class Joint:
    """One moving joint and the link it carries.

    parent: index of the joint that carries it, None for the ground (or the floating base).  R, p: placement of
    the joint frame in the parent's joint frame at position 0; entries are ints (structure), floats, or
    polynomials in symbols.  file_frame: pose of the description file's own link frame in the joint frame.
    is_passive: whether loop closure determines it, so that it is not a coordinate; in a parallelogram it is also
    a dependent joint.  has_motor: whether a passive joint has a motor (redundant actuation).  elastic: spring and
    damper between motor and link; None for a rigid joint.  Only simulated position servos and programs for
    elastic joints use it.
    """

    name: str
    kind: str
    parent: int | None
    R: Mat
    p: Vec
    link: str = ""
    limits: Limits = field(default_factory=Limits)
    follows: Follows | None = None
    file_frame: Pose = HERE
    is_passive: bool = False
    has_motor: bool = False
    elastic: Elastic | None = None

    def __repr__(self) -> str:
        parent = "the ground" if self.parent is None else f"joint {self.parent + 1}"
        moves = ", passive" if self.is_passive else ""
        if self.follows is not None:
            several = "s" * (len(self.follows.joints) > 1)
            moves = f", follows joint{several} {clipped(', '.join(str(k + 1) for k in self.follows.joints), 20)}"
        return (
            f"<Joint '{clipped(self.name, 40)}': {self.kind}, parent {parent}, child '{clipped(self.link, 40)}'{moves}>"
        )

    @property
    def twist(self) -> tuple[Vec, Vec]:
        """Unit angular and linear velocity of the joint motion, in the joint frame."""
        kind = KINDS[self.kind]
        return kind.angular, kind.linear

    @property
    def axis(self) -> Vec:
        """The joint axis in the parent's frame."""
        return column(self.R, 2)

    def pose(self, q: Scalar) -> Pose:
        """Pose of the joint frame in the parent's joint frame at position q [rad or m]."""
        (_, _, turning), (_, _, sliding) = self.twist
        angle = mul(turning, q)
        c, s = cos(angle), sin(angle)
        p = vadd(self.p, scale(apply(self.R, Z), mul(sliding, q)))
        return matmul(self.R, ((c, mul(-1, s), 0), (s, c, 0), (0, 0, 1))), p


def partial_pose(pose: Pose, known: Mapping[str, float]) -> Pose:
    """Pose with some symbols replaced by their values."""

    def one(atom: str) -> Scalar:
        function, name = split_atom(atom)
        if name not in known:
            return letter(atom)
        return turn(known[name])[0 if function == "cos" else 1] if function else known[name]

    R, p = pose
    return tuple(tuple(substitute(s, one) for s in row) for row in R), tuple(substitute(s, one) for s in p)  # type: ignore[return-value, arg-type]


def numeric_pose(pose: Pose, values: Mapping[str, float]) -> Pose:
    """Pose with every symbol replaced by its value."""
    R, p = pose
    return tuple(tuple(evaluate(s, values) for s in row) for row in R), tuple(evaluate(s, values) for s in p)  # type: ignore[return-value]


# --------------------------------------------------------------------------------------------------------- cut joints


# kind of a cut joint: which axis of the first frame stays normal to which axis of the second; an equation each, after
# those of the origins, which coincide (three equations) or, of a slide, lie on its axis (two)
CUT_KINDS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "revolute": ((0, 2), (1, 2)),
    "prismatic": ((0, 2), (1, 2), (0, 1)),
    "spherical": (),
    "fixed": ((0, 2), (1, 2), (0, 1)),
}
PARALLELOGRAM = "parallelogram"


@dataclass(frozen=True, slots=True)
class Cut:
    """Joint at which a closed kinematic chain is cut open.

    The frame first_pose, fixed in the link of joint `first` (None: ground), and the frame second_pose of the link of
    joint `second` coincide up to the motion of the cut joint: about its z axis (revolute), along it (prismatic),
    about any axis (spherical), or none (fixed).  Poses may be symbolic, as placements of joints.
    form: "" where the closure has to be solved for its passive joints, "parallelogram" where the cut holds
    identically because joints follow others.
    """

    name: str
    kind: str
    first: int | None
    second: int | None
    first_pose: Pose = HERE
    second_pose: Pose = HERE
    form: str = ""

    def at(self, values: Mapping[str, float]) -> Cut:
        """Cut joint with every symbol replaced by a number."""
        first, second = (numeric_pose(pose, values) for pose in (self.first_pose, self.second_pose))
        return replace(self, first_pose=first, second_pose=second)
