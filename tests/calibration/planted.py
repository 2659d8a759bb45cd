"""Chains drawn at random, and postures with planted corrections."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from minertia.identification.geometry.chain import Array, Chain, chain_of, moved
from minertia.identification.geometry.layout import GeometryLayout, GeometryState, Postures
from minertia.identification.geometry.measures import PointMeasure, ToolReadings
from minertia.robot.joint import Joint
from minertia.robot.robot import Frame, Robot

TARGETS = (np.array([0.1, 0.0, -0.04]), np.array([0.0, 0.1, 0.05]), np.array([-0.1, -0.1, -0.01]))  # mean: the tip
PLANTED = {"zeros": 2e-3, "lengths": 3e-4, "angles": 5e-4}


def random_robot(rng: np.random.Generator, n: int, style: str) -> Robot:
    """A chain of n joints, a quarter of them slides; style: placements "general", "right" angles, or "mixed"."""
    joints = []
    for k in range(n):
        kind = "prismatic" if rng.random() < 0.25 else "revolute"
        own = style if style != "mixed" else str(rng.choice(["general", "right"]))
        R, p = _general(rng) if own == "general" else _right(rng)
        joints.append(Joint(f"j{k + 1}", kind, None if k == 0 else k - 1, R, p, link=f"l{k + 1}"))
    return Robot("random", tuple(joints), frames={"tool": Frame(n - 1, _general(rng))})


def _general(rng: np.random.Generator) -> tuple:
    R = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    return tuple(tuple(float(x) for x in row) for row in R), tuple(float(x) for x in rng.uniform(-0.5, 0.5, 3))


def _right(rng: np.random.Generator) -> tuple:
    R = np.rint(Rotation.from_euler("xyz", rng.integers(0, 4, 3) * np.pi / 2).as_matrix()).astype(int)
    p = tuple(float(x) if rng.random() < 0.4 else 0 for x in rng.uniform(-0.5, 0.5, 3))
    return tuple(tuple(int(x) for x in row) for row in R), p


def planted(
    chain: Chain, N: int, seed: int, *, readings: float = 15e-6, joints: float = 0.0, sizes: dict[str, float] = PLANTED
) -> tuple[Postures, Array, GeometryState]:
    """(postures with three measured points, true values in the order of the layout's columns, true state)."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.5, 1.5, (N, chain.robot.n))
    blank = tuple(PointMeasure(np.arange(N), np.zeros((N, 3)), str(k)) for k in (1, 2, 3))
    layout = GeometryLayout(chain, Postures(q, blank))
    step = np.zeros(len(layout.columns))
    for group, size in sizes.items():
        of = layout.groups == group
        step[of] = rng.normal(size=of.sum()) * size
    state = layout.stepped(layout.start(), step)
    state = GeometryState(state.placements, state.joints, TARGETS)
    return Postures(q, points(chain, state, q, rng, readings, joints)), layout.values(state), state


def points(
    chain: Chain, state: GeometryState, q: Array, rng: np.random.Generator, readings: float, joints: float
) -> tuple[ToolReadings, ...]:
    """Readings of the three points, with noise of readings [m] and of joints [rad]."""
    N = len(q)
    at = moved(state.placements, chain.is_hinge, chain.positions(q) + joints * rng.normal(size=(N, chain.n)))
    return tuple(
        PointMeasure(
            np.arange(N), at.tool[:, :3, :3] @ p + at.tool[:, :3, 3] + readings * rng.normal(size=(N, 3)), str(k)
        )
        for k, p in enumerate(TARGETS, 1)
    )


def write_csv(path: object, postures: Postures, names: tuple[str, ...]) -> None:
    """Joints [rad] and points [m] as a file."""
    columns = [*names, *(f"{axis}{m.name}" for m in postures.measures for axis in "xyz")]
    numbers = np.concatenate([postures.q, *(m.values for m in postures.measures)], axis=1)
    np.savetxt(str(path), numbers, delimiter=",", header=",".join(columns), comments="", fmt="%.12g")


def arm(name: str = "puma560") -> Chain:
    """The chain of a bundled arm."""
    from minertia.robot.files import read_robot

    return chain_of(read_robot(name))
