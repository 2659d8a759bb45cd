"""Chains, random links and full wrenches that Newton-Euler in minimal linear combinations is compared with."""

from __future__ import annotations

import numpy as np

import minertia as mi
from minertia.base.composite_dynamics import CompositeBodies
from minertia.robot.inertia import symmetric
from minertia.robot.robot import Robot
from tests.codegen import robots
from tests.random_robots import random_ten


def drawn(robot: Robot, seed: int = 0) -> tuple[Robot, np.ndarray]:
    """The robot with links of random parameters and without effects, and these parameters."""
    rng = np.random.default_rng(seed)
    chi = np.concatenate([random_ten(rng) for _ in robot.joints])
    bare = robot.numeric.with_parameters(dict(zip(robot.columns(), chi, strict=True)))
    return bare.without_effects(["rotors", "friction"]), chi


def combinations(robot: Robot, chi: np.ndarray) -> dict[str, float]:
    found = mi.base_parameters(robot, method="mlc")
    return dict(zip(found.names, found.values(chi).tolist(), strict=True))


def geometry(kinds: str, parallel: tuple[int, ...], square: bool, seed: int = 0) -> Robot:
    n, rng = len(kinds), np.random.default_rng(seed)
    alpha = rng.uniform(0.2, 1.3, n)
    alpha[[j for j in parallel if j < n]] = 0
    if square:
        alpha = np.where(alpha > 0, np.pi / 2, 0)
    return robots.mdh(kinds, alpha, rng.uniform(0.1, 0.5, n), rng.uniform(0.1, 0.4, n), robots.dense(n), kinds)


def cross(v: np.ndarray) -> np.ndarray:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


class Reference:
    """Joint wrenches by Newton-Euler of the links, and constants of composite bodies by (10), (12), (14), (38)."""

    def __init__(self, robot: Robot, chi: np.ndarray, lin: CompositeBodies) -> None:
        self.robot, self.lin, n = robot, lin, robot.n_joints
        self.f, self.m = [np.zeros(3)] * n, [np.zeros(3)] * n
        self.mass, self.k, self.U = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
        self.raised = np.zeros((n, 3, 3))  # G of each turning joint, in its frame, (43)
        ten = chi.reshape(n, 10)
        for j in reversed(range(n)):
            self._link(j, ten[j])
            self._composite(j, ten[j])

    def children(self, j: int) -> list[int]:
        return [c for c, joint in enumerate(self.robot.joints) if joint.parent == j]

    def _link(self, j: int, ten: np.ndarray) -> None:
        w, wd, vd, W, _ = (np.array(v, float) for v in self.lin.motions[j])
        J, ms, mass = symmetric(ten[:6].tolist()), ten[6:9], ten[9]
        f = mass * vd + W @ ms
        m = J @ wd + np.cross(w, J @ w) + np.cross(ms, vd)
        for c in self.children(j):
            R, p = (np.array(v, float) for v in self.lin.ways[c].pose)
            f, m = f + R @ self.f[c], m + R @ self.m[c] + np.cross(p, R @ self.f[c])
        self.f[j], self.m[j] = f, m

    def _composite(self, j: int, ten: np.ndarray) -> None:
        mass, k, U, G = ten[9], ten[6:9].copy(), np.array(symmetric(ten[:6].tolist())), np.zeros((3, 3))
        for c in self.children(j):
            A, b = np.array(self.robot.joints[c].R, float), np.array(self.robot.joints[c].p, float)
            if self.lin.turning[c]:
                there, inside = A[:, 2] * self.k[c, 2], np.diag(self.U[c].diagonal()[[1, 1, 2]])
                g = self.raised[c][1, 1]
                seen = np.diag([g, g, -self.U[c, 2, 2]])
            else:
                there, inside, seen = A @ self.k[c], self.U[c], self.raised[c]
            mass, k = mass + self.mass[c], k + self.mass[c] * b + there
            U = U + A @ inside @ A.T - self.mass[c] * cross(b) @ cross(b) - cross(b) @ cross(there)
            U = U - cross(there) @ cross(b)
            G = G + A @ seen @ A.T
        self.mass[j], self.k[j], self.U[j], self.raised[j] = mass, k, U, G

    def inertia(self, j: int) -> np.ndarray:
        """U' with what slides up to the next turning joint add: (38), (91) with all of its diagonal."""
        return self.U[j] + self.raised[j] + self._slid(j, np.eye(3))

    def _slid(self, j: int, R: np.ndarray) -> np.ndarray:
        total = np.zeros((3, 3))
        for c in self.children(j):
            if not self.lin.turning[c]:
                there = R @ np.array(self.robot.joints[c].R, float)
                u, k = there[:, 2] * self.lin.q[c], there @ self.k[c]
                total += -cross(u) @ cross(k) - cross(k) @ cross(u) + self._slid(c, there)
        return total
