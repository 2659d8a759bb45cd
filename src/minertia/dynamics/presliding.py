"""Presliding: the elastic displacement of a joint's contacts, a memory of its path (stop operator).

While the joint moves, the displacement z follows it up to the largest one, beyond which the contacts slide: dz = dq
with -displacement <= z <= displacement.  Friction in proportion to z is an element of a Maxwell-slip
(Prandtl-Ishlinskii) model: it is rate-independent, and no closed path yields work.
"""

from __future__ import annotations

import math

import numpy as np

from minertia.io.arrays import Array

GAP = 1.5  # times the usual time step: after a longer one the path is unknown, and z starts at 0


def next_displacement(z: float, dq: float, displacement: float) -> float:
    """Displacement z after a step dq of the position [rad or m]."""
    return min(max(z + dq, -displacement), displacement)


def displacements(q: Array, displacement: float, start: float = 0.0) -> Array:
    """Displacements z (N,) along positions q (N,) [rad or m], from `start` at the first.

    A sequence of steps is one map again, z -> clip(z + total, low, high).  The maps of about sqrt(N) stretches are
    composed side by side, so that few steps are taken one by one.
    """
    steps = np.diff(q, prepend=q[:1])
    width = max(math.isqrt(len(q)), 1)
    rows = np.zeros((-(-len(q) // width), width))
    rows.reshape(-1)[: len(q)] = steps
    total, low, high = (np.empty_like(rows) for _ in range(3))
    a, lowest, highest = (np.full(len(rows), end) for end in (0.0, -displacement, displacement))
    for k, step in enumerate(rows.T):
        a = a + step
        lowest, highest = (np.clip(end + step, -displacement, displacement) for end in (lowest, highest))
        total[:, k], low[:, k], high[:, k] = a, lowest, highest
    z, first = start, np.empty(len(rows))
    for k in range(len(rows)):
        first[k] = z
        z = min(max(z + total[k, -1], low[k, -1]), high[k, -1])
    found = np.clip(first[:, None] + total, low, high)
    return np.asarray(found.reshape(-1)[: len(q)])


def displacements_in_time(t: Array, q: Array, displacement: float, start: float = 0.0) -> Array:
    """`displacements` of samples at times t [s]; they start at 0 again after each gap."""
    steps = np.diff(t)
    parts = np.split(q, np.flatnonzero(steps > GAP * np.median(steps)) + 1) if len(steps) else [q]
    starts = [start, *(0.0 for _ in parts[1:])]
    return np.concatenate([displacements(part, displacement, z) for part, z in zip(parts, starts, strict=True)])
