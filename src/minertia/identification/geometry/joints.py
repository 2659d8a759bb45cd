"""Columns of corrections of joint positions: gear ratio, eccentricity, coupling, compliance and gravity sag.

Shapes are those of `robot/corrections.py`, scaled to a root mean square of 1 over the postures, so that values are in
rad (m for prismatic joints) and comparable within a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from minertia.identification.geometry.chain import Array, Chain
from minertia.identification.geometry.layout import JointColumn
from minertia.robot.corrections import SHAPES, MovedJoints, carried_loads

INDEPENDENT = 1e-6  # part of a column's length that those before it must leave
VANISHING = 1e-9  # size of a shape that is none


def joint_columns(chain: Chain, groups: Sequence[str], q: Array, gravity: Array) -> list[JointColumn]:
    """Joint-correction columns of the requested groups at postures q (N, robot.n).

    Linearly dependent columns are omitted.  gravity: in root axes.
    """
    at = _moved(chain, q, gravity)
    return [column for group in groups for column in _group_columns(at, group, len(q))]


def _moved(chain: Chain, q: Array, gravity: Array) -> MovedJoints:
    """Moved joints of the chain (`MovedJoints`) at postures q (N, robot.n)."""
    loads = carried_loads(chain.robot.numeric.joints, chain.robot.links, chain.joints)
    return MovedJoints(chain.described, tuple(gravity), list(chain.positions(q).T), loads)  # type: ignore[arg-type]


def _group_columns(at: MovedJoints, group: str, count: int) -> Iterator[JointColumn]:
    for j in range(at.n):
        seen: list[Array] = []
        for name, words, scalar in SHAPES[group](at, j):
            shape = np.broadcast_to(np.asarray(scalar, float), count)
            size = float(np.sqrt(np.mean(shape**2)))
            if size > VANISHING and _is_new(shape / size, seen):
                told = f"{words}; value at its root mean square over the postures"
                yield JointColumn(name, group, j, shape / size, told, size)


def columns_at(chain: Chain, columns: Sequence[JointColumn], q: Array, gravity: Array) -> list[JointColumn]:
    """Joint-correction columns at other postures q (N, robot.n), with the scaling of the given ones."""
    at = _moved(chain, q, gravity)
    groups = dict.fromkeys((column.group, column.joint) for column in columns)
    shapes = {(g, j, name): shape for g, j in groups for name, _, shape in SHAPES[g](at, j)}
    return [
        replace(
            column,
            shape=np.broadcast_to(np.asarray(shapes[column.group, column.joint, column.name], float), len(q))
            / column.size,
        )
        for column in columns
    ]


def _is_new(shape: Array, seen: list[Array]) -> bool:
    """Whether a shape is linearly independent of the previous ones; appends its orthogonal part to them."""
    rest = shape - sum((b * (b @ shape) for b in seen), np.zeros_like(shape))
    rest = rest - sum((b * (b @ rest) for b in seen), np.zeros_like(shape))
    length = float(np.linalg.norm(rest))
    if length < INDEPENDENT * float(np.linalg.norm(shape)):
        return False
    seen.append(rest / length)
    return True
