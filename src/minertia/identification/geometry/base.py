"""Base geometric parameters: identifiable corrections for a kind of measurement, symbolic and certified."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.linear import Linear
from minertia.algebra.quotient import number_of
from minertia.algebra.show import latex, text
from minertia.base.certificate import CLEAR_GAP
from minertia.identification.geometry.chain import SYMBOLS, Array, Chain, chain_of, moved
from minertia.identification.geometry.hidden import hidden_relations
from minertia.identification.geometry.kept import KeptColumns, kept_columns
from minertia.identification.geometry.layout import scale_relation
from minertia.identification.geometry.measures import (
    KINDS,
    DirectionMeasure,
    DistanceBetweenMeasure,
    DistanceMeasure,
    OrientationMeasure,
    PixelMeasure,
    PixelToolMeasure,
    PlaneMeasure,
    PointMeasure,
    PoseMeasure,
    SamePointMeasure,
    ToolReadings,
)
from minertia.io.errors import RankError, UnknownName
from minertia.io.notebook import clipped, plural
from minertia.robot.files import RobotLike, as_robot

MEASURES = ("point", "points", *(kind for kind in KINDS if kind != "point"))
POINTS = 3  # of the kind "points"
FIXED = 4  # fixed points, planes or marks that are measured from
POSTURES = 60  # random ones, of the certificate
SPAN, STROKE = np.pi, 0.5  # rad, m: of random postures
TIMES = 6  # so many postures in each place of the kind "same_point"
CAMERA = (600.0, 600.0, 320.0, 240.0)  # pixels
AHEAD = np.array([0.3, 0.2, 5.0])  # m: where the robot stands before a camera
CLOSE = 1e-10  # m: by which postures of one place may miss it
RANK = 1e-10  # of the largest singular value


@dataclass(frozen=True)
class GeometricBase:
    """Identifiable geometric corrections for a kind of measurement.

    names, relations: each parameter and the corrections regrouped into it.  targets: number of unknowns of the
    measurement itself (points of the tool beyond the first).  is_numeric: whether the rank allowed fewer than the
    rules, so that columns were eliminated numerically.  rank, gap: of the certificate, at random postures, targets
    included.
    """

    chain: Chain
    kind: str
    names: tuple[str, ...]
    relations: tuple[Linear, ...]
    targets: int
    left_out: tuple[str, ...]
    rank: int
    gap: float
    postures: int

    @property
    def count(self) -> int:
        """Number of identifiable values, targets included."""
        return len(self.names) + self.targets

    @property
    def is_numeric(self) -> bool:
        """Whether columns were eliminated by the rank alone."""
        return bool(self.left_out)

    def relation_texts(self) -> dict[str, str]:
        """{name: relation} as text."""
        return {name: text(form) for name, form in zip(self.names, self.relations, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data, for JSON."""
        return {
            "format": 1,
            "robot": self.chain.robot.name,
            "tip": self.chain.tip,
            "measure": self.kind,
            "count": self.count,
            "targets": self.targets,
            "names": list(self.names),
            "relations": self.relation_texts(),
            "latex": {name: latex(form) for name, form in zip(self.names, self.relations, strict=True)},
            "numeric": list(self.left_out),
            "certificate": {
                "rank": self.rank,
                "gap": self.gap if np.isfinite(self.gap) else None,
                "postures": self.postures,
            },
        }

    def to_json(self) -> str:
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        head = f"base geometric parameters of {self.chain.robot.name}, {self.kind} at {self.chain.tip}: {self.count}"
        more = f" ({self.targets} of them places of the measurement)" if self.targets else ""
        marked = [f"left out by the rank alone [numeric]: {', '.join(self.left_out)}"] if self.left_out else []
        tail = f"certificate: rank {self.rank}, gap {self.gap:.1e} at {self.postures} random postures"
        return "\n".join([head + more, *self.relation_texts().values(), *marked, tail])

    def __repr__(self) -> str:
        name = clipped(self.chain.robot.name, 40)
        return f"<GeometricBase of '{name}', {self.kind}: {plural(self.count, 'value')}, rank {self.rank}>"


def geometric_base_parameters(
    robot: RobotLike, measure: str = "pose", *, tip: str | None = None, root: str | None = None, seed: int = 0
) -> GeometricBase:
    """Derive the identifiable corrections of the frames between root and tip for a kind of measurement.

    measure: one of `MEASURES`; the measured point is the tip's origin, at which the rules are exact.
    """
    if measure not in MEASURES:
        raise UnknownName("kind of measurement", measure, MEASURES)
    chain = chain_of(as_robot(robot), tip, root)
    kept, targets = rules_of(chain, measure)
    rng = np.random.default_rng(seed)
    names, forms = list(kept.columns), list(kept.forms)
    A, own = sampled_columns(chain, measure, names, rng)
    order = _most_wanted(names)
    rank, gap, chosen = _rank(A, own, order)
    left = tuple(names[k] for k in range(len(names)) if k not in chosen)
    is_kept = [k in chosen for k in range(len(names))]
    if gap < CLEAR_GAP:
        raise RankError(
            f"what measurements of kind '{measure}' show of '{chain.robot.name}' cannot be certified (gap {gap:.1e}), "
            "since some axes are nearly but not quite aligned; write those angles exactly, or give --snap"
        )
    return GeometricBase(
        chain,
        measure,
        tuple(n for n, keep in zip(names, is_kept, strict=True) if keep),
        tuple(f for f, keep in zip(forms, is_kept, strict=True) if keep),
        targets,
        left,
        rank,
        gap,
        len(A),
    )


def rules_of(chain: Chain, measure: str) -> tuple[KeptColumns, int]:
    """Columns that the rules retain for a kind of measurement of the tip's origin, and the number of targets."""
    kind = KINDS["point" if measure == "points" else measure]
    if measure == "points":
        without = [f"{s}{chain.n + 1}" for s in SYMBOLS]
        return kept_columns(chain, hidden_relations(chain), without), 3 * POINTS
    targets = 0 if kind.has_base else _fixed_values(measure)
    without = [] if kind.has_base else [f"{s}1" for s in SYMBOLS]
    relations = hidden_relations(chain, kind.tool, kind.world)
    if kind.loses_scale and all(chain.is_hinge):
        relations.append(scale_relation(chain))
    return kept_columns(chain, relations, without), targets


def _fixed_values(measure: str) -> int:
    """Number of unknowns of fixed points, planes and marks; positions of groups and planes do not count."""
    return {"distance": 3 * FIXED, "pixel_tool": 3 * FIXED}.get(measure, 0)


def _most_wanted(names: Sequence[str]) -> list[int]:
    """Columns in order of retention: zeros, lengths and twists, then the others."""
    rank = {"RZ": 0, "DX": 1, "RX": 2, "DZ": 3, "RY": 4, "DY": 5}
    return sorted(range(len(names)), key=lambda k: (rank[names[k][:2]], k))


def _rank(A: Array, own: Array, order: Sequence[int]) -> tuple[int, float, set[int]]:
    """(rank with the measurement's own columns, gap, columns that are independent when added in order)."""
    free = own[:, np.linalg.norm(own, axis=0) > 0]
    basis = np.linalg.qr(free / np.linalg.norm(free, axis=0))[0] if free.size else np.zeros((len(A), 0))
    both = np.concatenate([A, own], axis=1)
    both = both[:, np.linalg.norm(both, axis=0) > 0]
    if not both.size:
        return 0, float("inf"), set()
    s = np.linalg.svd(both / np.linalg.norm(both, axis=0), compute_uv=False)
    rank = int((s > RANK * s[0]).sum())
    gap = float(s[rank - 1] / max(s[rank], 1e-300)) if rank < len(s) else float("inf")
    chosen: set[int] = set()
    for k in order:
        column = A[:, k]
        length = np.linalg.norm(column)
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        if length > 0 and np.linalg.norm(rest) > 1e-8 * length:
            chosen.add(k)
            basis = np.concatenate([basis, (rest / np.linalg.norm(rest))[:, None]], axis=1)
    return rank, gap, chosen


# ------------------------------------------------------------------ random postures


def sampled_columns(chain: Chain, measure: str, names: Sequence[str], rng: np.random.Generator) -> tuple[Array, Array]:
    """Derivatives of the readings with respect to frame corrections and own unknowns, at random postures."""
    q = _random_postures(chain, measure, rng)
    placements = chain.nominal.copy()
    placements[0, :3, 3] += AHEAD if measure == "pixel" else 0.0
    at = moved(placements, chain.is_hinge, chain.positions(q))
    made, own = exact_readings(measure, at.tool, rng)
    J = at.jacobian()[:, :, [chain.columns.index(name) for name in names]]
    A, B = [], []
    for m, values in zip(made, own, strict=True):
        rows = m.rows(at.tool, values)
        part = np.einsum("mi,mic->mc", rows.by_tool, J[rows.posture])
        if rows.other is not None and rows.by_other is not None:
            part = part + np.einsum("mi,mic->mc", rows.by_other, J[rows.other])
        A.append(part)
        B.append(rows.by_own)
    wide = np.zeros((sum(map(len, A)), sum(b.shape[1] for b in B)))
    row = column = 0
    for b in B:
        wide[row : row + len(b), column : column + b.shape[1]] = b
        row, column = row + len(b), column + b.shape[1]
    return np.concatenate(A), wide if measure == "points" else _without_point(made, wide)


def _without_point(made: Sequence[ToolReadings], own: Array) -> Array:
    """Own columns of the measurements except those of the tool point, which the tool frame contains."""
    return own[:, 3:] if made[0].has_point else own


def _random_postures(chain: Chain, measure: str, rng: np.random.Generator) -> Array:
    turns = np.array([chain.robot.joints[j].kind == "revolute" for j in chain.robot.independent])
    q = rng.uniform(-1, 1, (POSTURES, chain.robot.n)) * np.where(turns, SPAN, STROKE)
    return _at_places(chain, q) if measure == "same_point" else q


def _at_places(chain: Chain, q: Array) -> Array:
    """Move postures so that the tip of each `TIMES` of them is at one place.

    Postures that do not converge are dropped.
    """
    rates = chain.rates()
    kept = []
    for first in range(0, len(q), TIMES):
        group = q[first : first + TIMES].copy()
        goal = moved(chain.nominal, chain.is_hinge, chain.positions(group[:1])).tool[0, :3, 3]
        for _ in range(200):
            at = moved(chain.nominal, chain.is_hinge, chain.positions(group))
            miss = goal - at.tool[:, :3, 3]
            J = at.jacobian()[:, :3, list(chain.zeros)] @ rates
            group += np.clip(np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=1e-6), miss), -0.3, 0.3)
        at = moved(chain.nominal, chain.is_hinge, chain.positions(group))
        good = np.linalg.norm(goal - at.tool[:, :3, 3], axis=1) < CLOSE
        kept.append((group[good], first))
    groups = [g for g, _ in kept if len(g) > 1]
    if not groups:
        raise RankError(
            "no two postures have the tip at one place: with so few joints this kind of measurement shows nothing"
        )
    return np.concatenate(groups)


def _groups(tool: Array) -> NDArray[np.intp]:
    """Group number of each posture: postures with the tip at the same place share one."""
    known: list[Array] = []
    found = []
    for p in tool[:, :3, 3]:
        near = [k for k, other in enumerate(known) if np.linalg.norm(p - other) < 1e-6]
        if not near:
            known.append(p)
        found.append(near[0] if near else len(known) - 1)
    return np.array(found, np.intp)


Made = tuple[tuple[ToolReadings, ...], list[Array]]


def exact_readings(measure: str, tool: Array, rng: np.random.Generator) -> Made:
    """Noise-free readings of a kind at tool poses, and its own unknowns; the measured point is the tip's origin."""
    return _EXACT[measure](tool, rng)


def _points(tool: Array, rng: np.random.Generator) -> Made:
    drawn = rng.normal(scale=0.1, size=(POINTS, 3))
    places = list(drawn - drawn.mean(axis=0))  # the tip is their mean, which a fit takes it to be (`anchored`)
    at = np.arange(len(tool)), tool[:, :3, 3]
    return tuple(PointMeasure(at[0], at[1] + tool[:, :3, :3] @ p, str(k)) for k, p in enumerate(places, 1)), places


def _point(tool: Array, rng: np.random.Generator) -> Made:
    return (PointMeasure(np.arange(len(tool)), tool[:, :3, 3]),), [np.zeros(3)]


def _pose(tool: Array, rng: np.random.Generator) -> Made:
    values = np.concatenate([tool[:, :3, 3], tool[:, :3, :3].reshape(-1, 9)], axis=1)
    return (PoseMeasure(np.arange(len(tool)), values),), [np.zeros(0)]


def _orientation(tool: Array, rng: np.random.Generator) -> Made:
    return (OrientationMeasure(np.arange(len(tool)), tool[:, :3, :3].reshape(-1, 9)),), [np.zeros(0)]


def _direction(tool: Array, rng: np.random.Generator) -> Made:
    return (DirectionMeasure(np.arange(len(tool)), -tool[:, 2, :3]),), [np.zeros(0)]


def _distance(tool: Array, rng: np.random.Generator) -> Made:
    fixed, number = rng.normal(scale=2.0, size=(FIXED, 3)), rng.integers(0, FIXED, len(tool))
    d = np.linalg.norm(tool[:, :3, 3] - fixed[number], axis=1)[:, None]
    return (DistanceMeasure(np.arange(len(tool)), d, "1", number),), [np.concatenate([np.zeros(3), fixed.ravel()])]


def _distance_between(tool: Array, rng: np.random.Generator) -> Made:
    half = len(tool) // 2
    first, second = np.arange(half), np.arange(half, 2 * half)
    d = np.linalg.norm(tool[first, :3, 3] - tool[second, :3, 3], axis=1)[:, None]
    first, second, d = (x[d[:, 0] > CLOSE] for x in (first, second, d))
    return (DistanceBetweenMeasure(first, d, "1", second),), [np.zeros(3)]


def _same_point(tool: Array, rng: np.random.Generator) -> Made:
    group, at = _groups(tool), tool[:, :3, 3]
    places = np.stack([at[group == g].mean(axis=0) for g in range(group.max() + 1)])
    made = SamePointMeasure(np.arange(len(tool)), np.zeros((len(tool), 3)), "1", group)
    return (made,), [np.concatenate([np.zeros(3), places.ravel()])]


def _plane(tool: Array, rng: np.random.Generator) -> Made:
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    height = (tool[:, :3, 3] @ normal - 0.1)[:, None]
    plane = np.zeros(len(tool), np.intp)
    return (PlaneMeasure(np.arange(len(tool)), height, "1", plane),), [np.array([0.0, 0.0, 0.0, *normal, 0.1])]


def _pixel(tool: Array, rng: np.random.Generator) -> Made:
    return (PixelMeasure(np.arange(len(tool)), np.zeros((len(tool), 2)), "1", CAMERA),), [np.zeros(3)]


def _pixel_tool(tool: Array, rng: np.random.Generator) -> Made:
    marks, number = rng.normal(scale=2.0, size=(FIXED, 3)), rng.integers(0, FIXED, len(tool))
    return (PixelToolMeasure(np.arange(len(tool)), np.zeros((len(tool), 2)), "1", CAMERA, number),), [marks.ravel()]


_EXACT: dict[str, Callable[[Array, np.random.Generator], Made]] = {
    "point": _point,
    "points": _points,
    "pose": _pose,
    "orientation": _orientation,
    "direction": _direction,
    "pixel": _pixel,
    "pixel_tool": _pixel_tool,
    "distance": _distance,
    "distance_between": _distance_between,
    "same_point": _same_point,
    "plane": _plane,
}


def relation_error(found: GeometricBase, relation: Linear, seed: int = 1) -> float:
    """Residual of a relation between columns over the longest column, at its own random postures."""
    chain = found.chain
    A, _ = sampled_columns(chain, found.kind, chain.columns, np.random.default_rng(seed))
    values = chain.robot.symbol_values
    factors = np.zeros(len(chain.columns))
    for name, value in relation.terms.items():
        factors[chain.columns.index(str(name))] = float(number_of(value, values))
    return float(np.linalg.norm(A @ factors) / max(np.linalg.norm(A * factors, axis=0).max(), 1e-300))
