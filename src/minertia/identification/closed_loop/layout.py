"""`SprungLayout`: coordinates of a robot with elastic joints, and which of them are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SprungLayout:
    """Simulated coordinates: the n joints, then the motors of the elastic joints.

    elastic: indices of elastic joints (from 0).  encoder: the side on which positions of elastic joints were
    measured; feedback: the side that their position servos use.
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
        """Coordinate of the motor of a joint; for a rigid joint, the joint coordinate itself."""
        return self.n + self.elastic.index(joint) if joint in self.elastic else joint

    @property
    def outputs(self) -> tuple[int, ...]:
        """Measured coordinates: one per joint, followed by the motors if both sides are measured."""
        if self.encoder == "both":
            return tuple(range(self.size))
        return tuple(self.motor(j) if self.encoder == "motor" else j for j in range(self.n))

    @property
    def joint_of(self) -> tuple[int, ...]:
        """Joint index of each output."""
        return (*range(self.n), *(self.elastic if self.encoder == "both" else ()))

    @property
    def shown_by(self) -> tuple[int, ...]:
        """For each coordinate, the output that measures it, or else measures the other side of its spring."""
        motors = range(self.n, self.size) if self.encoder == "both" else self.elastic
        return (*range(self.n), *motors)

    @property
    def motor_outputs(self) -> tuple[int, ...]:
        """For each joint, the output nearest to its motor."""
        return tuple(self.shown_by[self.motor(j)] for j in range(self.n))

    def inside(self, joints: Sequence[int]) -> tuple[int, ...]:
        """Elastic joints among the given joints."""
        return tuple(j for j in joints if j in self.elastic)

    def coordinates(self, joints: Sequence[int]) -> tuple[int, ...]:
        """Simulated coordinates of the given joints: the joints, then their motors."""
        return (*joints, *(self.motor(j) for j in self.inside(joints)))

    def place(self, joints: Sequence[int], joint: int, *, at_link: bool) -> int:
        """Index among the `coordinates` of the given joints at which an effort acts: motor side or link side."""
        inside = self.inside(joints)
        return joints.index(joint) if at_link or joint not in inside else len(joints) + inside.index(joint)

    def outputs_of(self, joints: Sequence[int]) -> list[int]:
        """Indices of the outputs of the given joints among all outputs."""
        return [k for k, j in enumerate(self.joint_of) if j in joints]

    def names(self, joints: Sequence[str]) -> tuple[str, ...]:
        """Names of the outputs, for the given joint names."""
        return (*joints, *(f"motor of {joints[j]}" for j in self.joint_of[self.n :]))
