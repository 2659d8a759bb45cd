"""`SprungLayout`: coordinates of a robot with elastic joints, and which of them are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SprungLayout:
    """n joints, then the motors of elastic ones: the coordinates that are simulated.

    elastic: joints (from 0).  encoder: the side on which positions of elastic joints were measured; feedback: the side
    that their position loops read.
    """

    n: int
    elastic: tuple[int, ...] = ()
    encoder: str = "link"
    feedback: str = "motor"

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.n + len(self.elastic)

    def motor(self, joint: int) -> int:
        """Coordinate of the motor of a joint, which is the joint itself where it is rigid."""
        return self.n + self.elastic.index(joint) if joint in self.elastic else joint

    @property
    def outputs(self) -> tuple[int, ...]:
        """Coordinates that are measured: one for each joint, and behind them the motors where both sides are."""
        if self.encoder == "both":
            return tuple(range(self.size))
        return tuple(self.motor(j) if self.encoder == "motor" else j for j in range(self.n))

    @property
    def joint_of(self) -> tuple[int, ...]:
        """The joint of each output."""
        return (*range(self.n), *(self.elastic if self.encoder == "both" else ()))

    @property
    def shown_by(self) -> tuple[int, ...]:
        """The output that is each coordinate, or the other side of its spring."""
        motors = range(self.n, self.size) if self.encoder == "both" else self.elastic
        return (*range(self.n), *motors)

    @property
    def motor_outputs(self) -> tuple[int, ...]:
        """For each joint the output that is nearest its motor."""
        return tuple(self.shown_by[self.motor(j)] for j in range(self.n))

    def inside(self, joints: Sequence[int]) -> tuple[int, ...]:
        """Elastic joints among some."""
        return tuple(j for j in joints if j in self.elastic)

    def coordinates(self, joints: Sequence[int]) -> tuple[int, ...]:
        """Coordinates of some joints as they are simulated: the joints, then their motors."""
        return (*joints, *(self.motor(j) for j in self.inside(joints)))

    def place(self, joints: Sequence[int], joint: int, *, at_link: bool) -> int:
        """Place among `coordinates` of some joints at which something acts: at its motor, or at its link."""
        inside = self.inside(joints)
        return joints.index(joint) if at_link or joint not in inside else len(joints) + inside.index(joint)

    def outputs_of(self, joints: Sequence[int]) -> list[int]:
        """Outputs (their positions among all) of some joints."""
        return [k for k, j in enumerate(self.joint_of) if j in joints]

    def names(self, joints: Sequence[str]) -> tuple[str, ...]:
        """Names of the outputs, of joints with these names."""
        return (*joints, *(f"motor of {joints[j]}" for j in self.joint_of[self.n :]))
