"""Cone programs for Clarabel, assembled row by row: min 1/2 x'Px + q'x with A x + s = b, s in a product of cones."""

from __future__ import annotations

from functools import cache
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minertia.io.errors import SolverFailed
from minertia.robot.inertia import from_pseudo_inertia, pseudo_inertia

Array = NDArray[np.float64]
SOLVED = ("Solved", "AlmostSolved")
TOLERANCES = (1e-8, 1e-6)


class ConeProgram:
    """Cone program under construction."""

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self.A: list[Array] = []
        self.b: list[Array] = []
        self.cones: list[Any] = []
        self.starts: dict[str, slice] = {}

    def _add(self, A: Array, b: Array, cone: Any, label: str | None) -> None:
        start = sum(len(part) for part in self.b)
        self.A.append(np.atleast_2d(A))
        self.b.append(np.atleast_1d(b))
        self.cones.append(cone)
        if label is not None:
            self.starts[label] = slice(start, start + len(self.b[-1]))

    def equal(self, A: Array, b: Array, label: str | None = None) -> None:
        """Add the constraint A x = b."""
        if len(A):
            self._add(A, b, clarabel.ZeroConeT(len(A)), label)

    def nonnegative(self, A: Array, b: Array, label: str | None = None) -> None:
        """Add the constraint A x + b >= 0."""
        if len(A):
            self._add(-A, b, clarabel.NonnegativeConeT(len(A)), label)

    def semidefinite(self, A: Array, b: Array | None = None) -> None:
        """Add the constraint that the symmetric matrix with svec A x + b is positive semidefinite."""
        size = int((np.sqrt(8 * len(A) + 1) - 1) / 2)
        self._add(-A, np.zeros(len(A)) if b is None else b, clarabel.PSDTriangleConeT(size), None)

    def exponential(self, A: Array, b: Array) -> None:
        """Add an exponential cone: (x, y, z) = A x + b with y exp(x / y) <= z."""
        self._add(-A, b, clarabel.ExponentialConeT(), None)

    def solve(self, P: Array, q: Array, what: str) -> Any:
        """Solve with Clarabel, with decreasing accuracy, then with a normalised cost.

        A normalised cost changes the meaning of the tolerances, so it is tried only if the original one fails.
        """
        size = max(float(np.abs(P).max(initial=0.0)), float(np.abs(q).max(initial=0.0)), 1e-300)
        for scale in (1.0, size):
            for tolerance in TOLERANCES:
                solution = self._solve(P / scale, q / scale, tolerance)
                if str(solution.status) in SOLVED:
                    return solution
        raise SolverFailed(what, solution.status)

    def _solve(self, P: Array, q: Array, tolerance: float) -> Any:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.max_iter = 200
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(P)),
            np.asarray(q, float),
            sparse.csc_matrix(np.concatenate(self.A)),
            np.concatenate(self.b),
            self.cones,
            settings,
        )
        try:
            return solver.solve()
        except BaseException as err:  # a panic of the solver's own is not an Exception
            if type(err).__name__ != "PanicException":
                raise
            raise SolverFailed("a cone program whose numbers are too large or small", "panic") from None


def svec(M: Array) -> Array:
    """Upper triangle of a symmetric matrix by columns, with off-diagonal entries multiplied by sqrt(2)."""
    i, j = _upper(len(M))
    return np.where(i == j, 1.0, np.sqrt(2.0)) * M[i, j]


def _upper(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    pairs = [(i, j) for j in range(n) for i in range(j + 1)]
    i, j = zip(*pairs, strict=True)
    return np.array(i), np.array(j)


@cache
def pseudo_units() -> Array:
    """Pseudo-inertia of each of the ten unit parameters, (10, 4, 4)."""
    return np.stack([pseudo_inertia(unit) for unit in np.eye(10).tolist()])


def link_svec(root: Array, margin: float = 0.0) -> Array:
    """Matrix (10, 10) from a link's ten parameters to svec of L^-1 (P - margin tr(P) 1) L^-T.

    L: root of a reference pseudo-inertia; the congruence preserves definiteness and scales the entries to about
    1.
    """
    inv = np.linalg.inv(root)
    units = pseudo_units()
    shifted = units - margin * np.trace(units, axis1=1, axis2=2)[:, None, None] * np.eye(4)
    i, j = _upper(4)
    weights = np.where(i == j, 1.0, np.sqrt(2.0))
    return np.asarray((inv @ shifted @ inv.T)[:, i, j] * weights).T


def dual_matrix(g: Array) -> Array:
    """Symmetric matrix G with g . ten = <G, pseudo-inertia of ten>."""
    return np.tensordot(g, _dual_units(), axes=1)


@cache
def _dual_units() -> Array:
    units = np.zeros((10, 4, 4))
    for i in range(4):
        for j in range(i + 1):
            E = np.zeros((4, 4))
            E[i, j] = E[j, i] = 1.0
            units[:, i, j] = units[:, j, i] = np.array(from_pseudo_inertia(E)) / (1 if i == j else 2)
    return units
