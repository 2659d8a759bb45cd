"""Wrenches of a known tool on a sensor at poses drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

import minertia as mi
from minertia.identification.geometry.chain import chain_of, moved
from minertia.identification.wrench.load import Mount, wrench_of
from minertia.identification.wrench.samples import SensorPoses, frame_motion, moving
from minertia.options import Filter

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
    ) -> SensorPoses:
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
        return SensorPoses(R, w, np.arange(1.0, N + 1))


@dataclass(frozen=True)
class PlantedMotion:
    """A tool that a UR10e moves: times, joint positions as measured, pose of the sensor and its wrench."""

    load: np.ndarray
    t: np.ndarray
    q: np.ndarray
    R: np.ndarray
    p: np.ndarray
    wrench: np.ndarray

    @classmethod
    def drawn(
        cls,
        rng: np.random.Generator,
        seconds: float = 20.0,
        walk: float = 0.02,
        rate: float = 250.0,
        encoder: float = 2e-5,
        noise: Sequence[float] = (0.1, 3e-3),
        tilt: float = np.deg2rad(1.0),
    ) -> PlantedMotion:
        """noise: of forces and moments; walk: of the bias in a root of a second, forces [N], moments 3 % of it."""
        chain = chain_of(mi.read_robot("ur10e"))
        t = np.arange(round(seconds * rate)) / rate
        k = np.arange(1, 6)
        a, b = rng.normal(size=(2, 6, 5)) / k
        wt = 2 * np.pi * 0.1 * k * t[:, None]
        q = rng.uniform(-1, 1, 6) + 0.35 * (np.sin(wt) @ a.T + np.cos(wt) @ b.T)
        tool = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool
        R, motion = frame_motion(tool[:, :3, :3], tool[:, :3, 3], rate)
        mass = rng.uniform(1, 4)
        c = rng.uniform([-0.03, -0.03, 0.02], [0.03, 0.03, 0.12])
        half = rng.uniform(0.02, 0.1, 3)  # of a box
        own = (
            mass / 3 * np.diag([half[1] ** 2 + half[2] ** 2, half[0] ** 2 + half[2] ** 2, half[0] ** 2 + half[1] ** 2])
        )
        turn = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
        J = turn @ own @ turn.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
        load = np.concatenate([mass * np.append(1, c), J[np.triu_indices(3)]])
        mount = Mount.expected(GRAVITY).moved(np.append(tilt * rng.normal(size=3), np.zeros(2)))
        size = np.repeat(noise, 3)
        steps = np.repeat([walk, 0.03 * walk], 3) / np.sqrt(rate) * rng.normal(size=(len(t), 6))
        w = wrench_of(mount, R, load, motion) + rng.normal(size=6) * ([10.0] * 3 + [0.3] * 3)
        w += np.cumsum(steps, axis=0) + size * rng.normal(size=w.shape)
        q = q + encoder * rng.normal(size=q.shape)
        seen = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool
        return cls(load, t, q, seen[:, :3, :3], seen[:, :3, 3], w)

    def samples(self) -> SensorPoses:
        """As they are fitted."""
        return moving(SensorPoses(self.R, self.wrench, self.t), self.p, Filter(), "planted")

    def write(self, path: Path, how: str, axes: str = "sensor", sign: float = 1.0) -> Path:
        """A log of joint positions, or of the sensor's pose, with the wrench in sensor or base axes."""
        wrench = self.wrench.reshape(-1, 2, 3)
        wrench = sign * (wrench @ self.R.transpose(0, 2, 1) if axes == "base" else wrench).reshape(-1, 6)
        placed = self.q if how == "joints" else np.hstack([self.p, Rotation.from_matrix(self.R).as_quat()])
        names = [f"q{j}" for j in range(1, 7)] if how == "joints" else ["px", "py", "pz", "qx", "qy", "qz", "qw"]
        head = ",".join(["t", *names, *HEAD.split(",")[-6:]])
        np.savetxt(path, np.column_stack([self.t, placed, wrench]), delimiter=",", header=head, comments="", fmt="%.9g")
        return path


def write_poses(path: Path, poses: SensorPoses, axes: str = "sensor", sign: float = 1.0, head: str = HEAD) -> Path:
    """A file of poses, in sensor or base axes."""
    wrench = poses.wrench
    if axes == "base":
        wrench = np.concatenate(
            [np.einsum("nij,nj->ni", poses.R, part) for part in np.split(wrench, 2, axis=1)], axis=1
        )
    table = np.column_stack([poses.order, Rotation.from_matrix(poses.R).as_quat(), sign * wrench])
    np.savetxt(path, table, delimiter=",", header=head, comments="", fmt="%.9g")
    return path
