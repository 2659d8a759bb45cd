"""The order in which loops close, and which of their equations determine which passive joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from minertia.dynamics.loop_equations import LoopEquations
from minertia.io.arrays import Array
from minertia.io.errors import InputError

SINGULAR = 1e-5  # smallest over largest singular value below which no motion of a loop can be told from its coordinates


@dataclass(frozen=True, slots=True)
class LoopBlock:
    """Loops that close together once those before them have: passive coordinates, and as many independent rows.

    sign: of the determinant at the seed.  ratio: of the smallest to the largest singular value there.
    """

    cuts: tuple[int, ...]
    passive: tuple[int, ...]
    rows: tuple[int, ...]
    sign: float
    ratio: float


def loop_blocks(loops: LoopEquations, seed: Array) -> list[LoopBlock]:
    """Loops in the order in which they close: one by one where that goes, the rest together."""
    A = loops.equations(seed[None])[1][0] * loops.sizes
    left, cuts = list(loops.passive), list(range(len(loops.cuts)))
    of = [list(loops.equations_of(k)) for k in cuts]
    members = [loops.members(cut) for cut in loops.cuts]
    found: list[LoopBlock] = []
    while left and cuts:
        chosen = next(([k] for k in cuts if _closes(A, of[k], [c for c in left if c in members[k]])), cuts)
        passive = [c for c in left if any(c in members[k] for k in chosen)]
        found.append(_block(loops, A, tuple(chosen), [row for k in chosen for row in of[k]], passive))
        left = [c for c in left if c not in passive]
        cuts = [k for k in cuts if k not in chosen]
    if left:
        raise _unspanned(loops, len(left))
    return found


def _closes(A: Array, rows: list[int], passive: list[int]) -> bool:
    """Whether some rows determine some passive coordinates."""
    return bool(passive) and int(np.linalg.matrix_rank(A[np.ix_(rows, passive)], tol=SINGULAR)) == len(passive)


def _block(loops: LoopEquations, A: Array, cuts: tuple[int, ...], rows: list[int], passive: list[int]) -> LoopBlock:
    """Independent rows by pivoted QR, with determinant and conditioning."""
    part = A[np.ix_(rows, passive)]
    if not passive or len(rows) < len(passive):
        raise _unspanned(loops, len(passive) - len(rows) if passive else len(loops.passive))
    _, _, order = qr(part.T, mode="economic", pivoting=True)
    chosen = sorted(rows[k] for k in order[: len(passive)])
    square = A[np.ix_(chosen, passive)]
    s = np.linalg.svd(square, compute_uv=False)
    if s[-1] < SINGULAR * s[0]:
        raise _unspanned(loops, int((s < SINGULAR * s[0]).sum()))
    sign, ratio = float(np.sign(np.linalg.det(square))), float(s[-1] / s[0])
    return LoopBlock(cuts, tuple(passive), tuple(chosen), sign, ratio)


def _unspanned(loops: LoopEquations, missing: int) -> InputError:
    return InputError(
        f"the loops of '{loops.robot.name}' ({loops.names}) leave {missing} of {len(loops.passive)} passive joints "
        "free at its seed, which is singular, or coordinates are too few; give another seed or actuate more joints"
    )
