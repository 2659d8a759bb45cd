"""Wrenches of a known tool on a sensor at poses drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from minertia.identification.wrench.poses import StaticPoses

GRAVITY = np.array([0.0, 0.0, -9.81])
HEAD = "n,qx,qy,qz,qw,fx,fy,fz,tx,ty,tz"


@dataclass(frozen=True)
class PlantedTool:
    """Load (4,), tilt (3,) and lean (2,) [rad], bias (6,) and its drift (N, 6), noise of forces and moments."""

    load: np.ndarray
    tilt: np.ndarray
    lean: np.ndarray
    bias: np.ndarray

    @classmethod
    def drawn(
        cls, rng: np.random.Generator, tilt: float = np.deg2rad(1.0), lean: float = np.deg2rad(0.5)
    ) -> PlantedTool:
        mass = rng.uniform(0.5, 4)
        centre = rng.uniform([-0.03, -0.03, 0.02], [0.03, 0.03, 0.12])
        bias = rng.normal(size=6) * ([10.0] * 3 + [0.3] * 3)
        return cls(mass * np.append(1, centre), tilt * rng.normal(size=3), lean * rng.normal(size=2), bias)

    def poses(
        self,
        rng: np.random.Generator,
        N: int,
        drift: str = "constant",
        noise: Sequence[float] = (0.05, 1e-3),
        walk: float = 1.0,
        mount: np.ndarray | None = None,
    ) -> StaticPoses:
        """Wrenches that hold the tool, in sensor axes; drift in deviations of the noise, walk: of each step."""
        R = Rotation.random(N, random_state=int(rng.integers(1 << 30))).as_matrix()
        axes = (np.eye(3) if mount is None else mount) @ Rotation.from_rotvec(self.tilt).as_matrix()
        up = Rotation.from_rotvec([*self.lean, 0.0]).apply(-GRAVITY)
        a = np.einsum("nji,j->ni", R @ axes, up)
        w = np.concatenate([self.load[0] * a, np.cross(self.load[1:], a)], axis=1)
        size = np.repeat(noise, 3)
        shift = np.zeros((N, 6))
        if drift == "walk":
            shift = walk * np.cumsum(rng.normal(size=(N, 6)), axis=0)
        if drift == "linear":
            shift = np.outer(np.linspace(-1, 1, N), 20 * rng.normal(size=6))
        w += self.bias + size * (shift + rng.normal(size=(N, 6)))
        return StaticPoses(R, w, np.arange(1.0, N + 1))


def write_poses(path: Path, poses: StaticPoses, axes: str = "sensor", sign: float = 1.0, head: str = HEAD) -> Path:
    """A file of poses, in sensor or base axes."""
    wrench = poses.wrench
    if axes == "base":
        wrench = np.concatenate(
            [np.einsum("nij,nj->ni", poses.R, part) for part in np.split(wrench, 2, axis=1)], axis=1
        )
    table = np.column_stack([poses.order, Rotation.from_matrix(poses.R).as_quat(), sign * wrench])
    np.savetxt(path, table, delimiter=",", header=head, comments="", fmt="%.9g")
    return path
