"""Corrections of joint positions: gear ratio, eccentricity, coupling, and gravity sag.

Each is a value times a shape function over the postures, along the joint's own motion.  Shapes are scaled to a root
mean square of 1, so that values are in rad (m for prismatic joints) and comparable within a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from minertia.identification.geometry.chain import Array, Chain, moved
from minertia.identification.geometry.layout import JointColumn

INDEPENDENT = 1e-6  # part of a column's length that those before it must leave
VANISHING = 1e-9  # size of a shape that is none


def joint_columns(chain: Chain, groups: Sequence[str], q: Array, gravity: Array) -> list[JointColumn]:
    """Joint-correction columns of the requested groups at postures q (N, robot.n).

    Linearly dependent columns are omitted.  gravity: in root axes.
    """
    positions = chain.positions(q)
    return [column for group in groups for column in _group_columns(chain, group, positions, gravity)]


def _group_columns(chain: Chain, group: str, positions: Array, gravity: Array) -> Iterator[JointColumn]:
    for j in range(chain.n):
        seen: list[Array] = []
        for name, words, shape in SHAPES[group](chain, j, positions, gravity):
            size = float(np.sqrt(np.mean(shape**2)))
            if size > VANISHING and _is_new(shape / size, seen):
                told = f"{words}; value at its root mean square over the postures"
                yield JointColumn(name, group, j, shape / size, told, size)


def columns_at(chain: Chain, columns: Sequence[JointColumn], q: Array, gravity: Array) -> list[JointColumn]:
    """Joint-correction columns at other postures q (N, robot.n), with the scaling of the given ones."""
    positions = chain.positions(q)
    found = []
    for column in columns:
        entries = SHAPES[column.group](chain, column.joint, positions, gravity)
        shape = next(shape for name, _, shape in entries if name == column.name)
        found.append(replace(column, shape=shape / column.size))
    return found


def _is_new(shape: Array, seen: list[Array]) -> bool:
    """Whether a shape is linearly independent of the previous ones; appends its orthogonal part to them."""
    rest = shape - sum((b * (b @ shape) for b in seen), np.zeros_like(shape))
    rest = rest - sum((b * (b @ rest) for b in seen), np.zeros_like(shape))
    length = float(np.linalg.norm(rest))
    if length < INDEPENDENT * float(np.linalg.norm(shape)):
        return False
    seen.append(rest / length)
    return True


Entries = Iterator[tuple[str, str, Array]]


def _gear(chain: Chain, j: int, positions: Array, gravity: Array) -> Entries:
    yield f"K{j + 1}", f"ratio of joint '{chain.names[j]}'", positions[:, j]


def _harmonics(chain: Chain, j: int, positions: Array, gravity: Array) -> Entries:
    if chain.is_hinge[j]:
        for k in (1, 2):
            words = f"eccentricity of joint '{chain.names[j]}', {k} a turn"
            yield f"S{k}_{j + 1}", words, np.sin(k * positions[:, j])
            yield f"C{k}_{j + 1}", words, np.cos(k * positions[:, j])


def _coupling(chain: Chain, j: int, positions: Array, gravity: Array) -> Entries:
    for i in (j - 1, j + 1):
        if 0 <= i < chain.n:
            yield f"K{j + 1}_{i + 1}", f"joint '{chain.names[j]}' moved by '{chain.names[i]}'", positions[:, i]


def _sag(chain: Chain, j: int, positions: Array, gravity: Array) -> Entries:
    """Gravity-sag shapes of joint j: its compliance times each first moment and mass beyond it."""
    at = moved(chain.nominal, chain.is_hinge, positions)
    axis = at.frames[:, j, :3, 2]
    for k in range(j, chain.n):
        R = at.frames[:, k + 1, :3, :3] @ np.linalg.inv(chain.nominal[k + 1])[:3, :3]
        for a, symbol in enumerate(("MX", "MY", "MZ")):
            lever = R[:, :, a] if chain.is_hinge[j] else None
            if lever is not None:
                torque = np.einsum("ni,ni->n", axis, np.cross(lever, gravity))
                yield f"C{j + 1}{symbol}{k + 1}", f"sag of joint '{chain.names[j]}' by {symbol} of link {k + 1}", torque
        lever = at.frames[:, k, :3, 3] - at.frames[:, j, :3, 3]
        force = axis @ gravity if not chain.is_hinge[j] else np.einsum("ni,ni->n", axis, np.cross(lever, gravity))
        yield f"C{j + 1}M{k + 1}", f"sag of joint '{chain.names[j]}' by the mass of link {k + 1}", force


SHAPES: dict[str, Callable[[Chain, int, Array, Array], Entries]] = {
    "sag": _sag,
    "gear": _gear,
    "harmonics": _harmonics,
    "coupling": _coupling,
}
