"""Cut joints: where the closed loops of a robot are opened so that what is left is a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from minertia.algebra.vec3 import HERE, Pose
from minertia.robot.joint import numeric_pose

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
    """A joint at which a loop is cut open.

    The frame first_pose, fixed in the link of joint `first` (None: ground), and the frame second_pose of the link of
    joint `second` coincide but for the motion of the cut joint: about its z axis (revolute), along it (prismatic),
    about any axis (spherical), or none (fixed).  Poses may hold letters, as placements of joints do.
    form: "" where the loop has to be closed by solving for its passive joints, "parallelogram" where the cut holds
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
        """The same cut with every letter replaced by a number."""
        first, second = (numeric_pose(pose, values) for pose in (self.first_pose, self.second_pose))
        return replace(self, first_pose=first, second_pose=second)
