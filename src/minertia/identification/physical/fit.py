"""Physically consistent fit: a semidefinite program on the R factor of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.identification.physical.cones import ConeProgram, pseudo_units
from minertia.identification.physical.consistency import BOUNDARY, MARGIN, PRIORS, PhysicalSpace
from minertia.io.errors import SolverFailed, UnknownName
from minertia.io.resources import one_thread
from minertia.robot.inertia import pseudo_inertia

Array = NDArray[np.float64]
NOT_FOUND = "not found"  # status of a physical fit that ended with none
PARTS = (1e-9, 1e-7, 1e-5, 1e-3)  # of the prior, which is inside, in what lies on the boundary
SEEN = 1e-7  # of the largest singular value: directions of the base parameters that the data show


@dataclass(frozen=True)
class PhysicalFit:
    """Physically consistent standard parameters, the cost added by the constraints, and the active constraints."""

    x: Array
    beta: Array
    excess: float  # residual sum of squares over that of the free fit, less 1
    at_boundary: tuple[str, ...]
    margins: dict[str, float]

    def verdict(self, *, free_is_physical: bool, slack: float | None, drawn: bool = False) -> dict[str, object]:
        """Verdict as plain data; drawn: regularised towards a prior, so not the best physically consistent fit."""
        which = (
            "the physically consistent estimate near the prior"
            if drawn
            else ("the best physically consistent estimate")
        )
        status = "feasible" if free_is_physical else "at the boundary" if self.at_boundary else "feasible"
        free = (
            "the unconstrained fit is physically consistent"
            if free_is_physical
            else ("the unconstrained fit is not physically consistent")
        )
        raised = f"; {which} raises the sum of squares by {100 * self.excess:.3g} %"
        sentence = free if free_is_physical and not drawn else free + raised
        if self.at_boundary:
            sentence += "; at the boundary: " + ", ".join(self.at_boundary)
        return {
            "status": status,
            "sentence": sentence,
            "excess": self.excess,
            "slack": slack,
            "at_boundary": list(self.at_boundary),
            "smallest_margin": min(self.margins.values(), default=1.0),
        }


def physical_fit(
    space: PhysicalSpace,
    R: Array,
    rows: int,
    *,
    weight: float,
    kind: str = "euclidean",
    margin: float = MARGIN,
    settle: bool = False,
) -> PhysicalFit:
    """Physically consistent fit, regularised towards the prior (theory page, equation 28).

    min |R [K x; -1]|^2 / rows + weight * distance(x, prior) over physically consistent robots.

    R: R factor of the weighted [Y tau] for all the model's unknowns; rows: number of rows it represents.
    settle: set directions that the data do not determine to the prior, however small its weight.
    """
    if kind not in PRIORS:
        raise UnknownName("kind of prior", kind, PRIORS)
    with one_thread():
        x = _inside(space, R, rows, weight, kind, margin)
        x = _settled(space, R, x, margin) if settle else x.copy()
    x[space.nonnegative] = np.maximum(x[space.nonnegative], 0.0)
    for name, value in space.fixed.items():
        if name in space.model.standard:
            x[space.model.standard.index(name)] = value
    found, usual = space.margins(x), space.margins(space.x0)
    beta = space.model.K @ x
    free = float(np.sum(R[-1, -1] ** 2))
    cost = float(np.sum((R @ np.append(-beta, 1.0)) ** 2))
    least = {name: max(BOUNDARY * usual[name], 10 * margin) for name in found if name.startswith("link")}
    close = tuple(name for name, v in found.items() if v < least.get(name, BOUNDARY)) + space.at_walls(x)
    return PhysicalFit(x, beta, cost / free - 1 if free > 0 else 0.0, close, found)


def _inside(space: PhysicalSpace, R: Array, rows: int, weight: float, kind: str, margin: float) -> Array:
    """Solve with increasing margin until the solution is strictly inside the cone."""
    last: Array | None = None
    failed = SolverFailed("the physically consistent fit", "touches the boundary")
    for attempt in range(4):
        try:
            last = _solved(space, R, rows, weight, kind, margin * 10**attempt)
        except SolverFailed as err:
            failed = err
            if err.status == "PrimalInfeasible":  # proven, and a margin leaves less room still
                break
            continue
        if _is_possible(space, last):
            return last
    if last is None:
        raise failed
    for part in PARTS:  # efforts that ask for no mass at all: a margin of nothing is nothing
        inside = np.asarray((1 - part) * last + part * space.x0)
        if _is_possible(space, inside):
            return inside
    raise failed


def _solved(space: PhysicalSpace, R: Array, rows: int, weight: float, kind: str, margin: float) -> Array:
    """Solve in units of the prior and relative to an unconstrained fit, for good scaling."""
    n = len(space.model.standard)
    prior = space.x0 / space.scales
    A = R[:, :-1] @ space.K / np.sqrt(rows)
    b = R[:, -1] / np.sqrt(rows)
    origin = prior + np.linalg.lstsq(A, b - A @ prior, rcond=1e-10)[0]
    width = n + (14 * len(space.links) if kind == "entropic" else 0)
    program = ConeProgram(width)
    space.constrain(program, margin, origin)
    P, q = np.zeros((width, width)), np.zeros(width)
    P[:n, :n] = A.T @ A
    q[:n] = A.T @ (A @ origin - b)
    near = space.pull(weight)
    if kind == "entropic":
        for number, (link, ten) in enumerate(space.links.items()):
            near[ten] = 0.0
            _add_divergence(space, program, q, link, n + 14 * number, weight, origin)
    P[range(n), range(n)] += near
    q[:n] += near * (origin - prior)
    solution = program.solve(P, q, "the physically consistent fit")
    return np.asarray((origin + np.asarray(solution.x)[:n]) * space.scales)


def _add_divergence(
    space: PhysicalSpace, program: ConeProgram, q: Array, link: int, first: int, weight: float, origin: Array
) -> None:
    """Add the cost weight (tr(P0^-1 P) - log det P), by exponential cones on a triangular factor's diagonal."""
    inv = np.linalg.inv(space.roots[link])
    width, ten = program.variables, space.links[link]
    body = np.zeros((16, width))  # entries of root^-1 P root^-T, whose log det differs by a constant
    body[:, ten] = (inv @ pseudo_units() @ inv.T).reshape(10, 16).T * space.scales[ten]
    q += weight * body[[0, 5, 10, 15]].sum(axis=0)
    lower = [(i, j) for i in range(4) for j in range(i + 1)]
    big = np.zeros((8, 8, width))
    big[:4, :4] = body.reshape(4, 4, width)
    for k, (i, j) in enumerate(lower):
        big[i, 4 + j, first + k] = big[4 + j, i, first + k] = 1.0
        if i == j:
            big[4 + i, 4 + i, first + k] = 1.0
    pairs = [(i, j) for j in range(8) for i in range(j + 1)]
    rows = np.array([(1.0 if i == j else np.sqrt(2.0)) * big[i, j] for i, j in pairs])
    program.semidefinite(rows, rows[:, : len(origin)] @ origin)
    for i in range(4):
        cone = np.zeros((3, width))
        cone[0, first + 10 + i] = 1.0
        cone[2, first + lower.index((i, i))] = 1.0
        program.exponential(cone, np.array([0.0, 1.0, 0.0]))
    q[first + 10 : first + 14] -= weight


def nearest_with_base(space: PhysicalSpace, beta: Array, margin: float = MARGIN, seen: Array | None = None) -> Array:
    """Physically consistent robot nearest to the prior with exactly these base parameters.

    seen: combinations (rows) of the base parameters that must be equal; default: all base parameters.
    """
    n = len(space.model.standard)
    C = space.K if seen is None else seen @ space.K
    target = beta if seen is None else seen @ beta
    program = ConeProgram(n)
    unit = np.maximum(np.linalg.norm(C, axis=1), 1e-12)
    program.equal(C / unit[:, None], target / unit)
    space.constrain(program, margin, np.zeros(n))
    with one_thread():
        z = np.asarray(
            program.solve(np.eye(n), -space.x0 / space.scales, "the nearest physically consistent parameters").x
        )
    z += np.linalg.lstsq(C / unit[:, None], (target - C @ z) / unit, rcond=None)[0]  # what the tolerance left
    return np.asarray(z * space.scales)


def _settled(space: PhysicalSpace, R: Array, x: Array, margin: float) -> Array:
    """Move directions that the data do not determine to the prior, with unchanged efforts.

    A prior of little weight moves them only part of the way.
    """
    A = R[:-1, :-1]
    lengths = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    _, s, Vt = np.linalg.svd(A / lengths)
    seen = Vt[s > SEEN * s[0]] * lengths
    try:
        other = nearest_with_base(space, space.model.K @ x, 0.5 * margin, seen / np.abs(seen).max(axis=1)[:, None])
    except SolverFailed:
        return x
    return other if _is_possible(space, other) and other[space.nonnegative].min(initial=0.0) >= -1e-9 else x


def _is_possible(space: PhysicalSpace, x: Array) -> bool:
    return all(np.linalg.eigvalsh(pseudo_inertia(x[ten].tolist()))[0] > 0 for ten in space.links.values())
