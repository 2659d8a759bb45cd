"""Base geometric parameters: identifiable corrections for a kind of measurement, symbolic and rank-certified."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.algebra.linear import Linear
from minertia.algebra.quotient import number_of
from minertia.algebra.show import latex, text
from minertia.base.certificate import CLEAR_GAP
from minertia.identification.campaigns.options import MEASURED
from minertia.identification.geometry.chain import SYMBOLS, Array, Chain, chain_of, moved
from minertia.identification.geometry.hidden import hidden_relations
from minertia.identification.geometry.kept import KeptColumns, kept_columns
from minertia.identification.geometry.layout import CAMERA_PLACE, scale_relation
from minertia.identification.geometry.measures import CLOSE, KINDS, ExactReadings, ToolReadings
from minertia.io.errors import RankError, UnknownName
from minertia.io.notebook import clipped, plural
from minertia.robot.files import RobotLike, as_robot

POSTURES = 60  # random ones, of the certificate
# further draws of the kind "same_point" where the first shows less than the rules, of so many postures each, until so
# many in succession show no more: few arms of three joints reach one place in 50 by more than elbow up and elbow down
MANY_POSTURES, IN_VAIN = 300, 6
SPAN, STROKE = np.pi, 0.5  # rad, m: of random postures
TIMES = 6  # so many postures in each place of the kind "same_point"
MOST_STEPS, REACHED = 60, 1e-14  # Newton steps to a place, and the distance [m] at which they end
DAMPING = 1e-2  # m^2: of these steps at most
RANK = 1e-10  # of the largest singular value, or of the longest column
LONG = 1.0  # m, rad, pixels: longer rows are scaled to this length, which changes no rank; shorter may be rounding
VANISHING = 1e-3  # m, rad: length of the longest column below which a reading shows nothing


@dataclass(frozen=True)
class GeometricBase:
    """Identifiable geometric corrections for a kind of measurement.

    names, relations: each parameter and the corrections regrouped into it.  targets: number of unknowns of
    the measurement itself (points of the tool beyond the first).  is_numeric: whether the numerical rank was
    lower than that given by the symbolic rules, so that columns were eliminated numerically.  rank, gap: rank
    and singular-value gap of the certificate, targets included.  rows: of its matrix, readings at random postures.
    """

    chain: Chain
    kind: str
    names: tuple[str, ...]
    relations: tuple[Linear, ...]
    targets: int
    left_out: tuple[str, ...]
    rank: int
    gap: float
    rows: int

    @property
    def count(self) -> int:
        """Number of identifiable values, targets included."""
        return len(self.names) + self.targets

    @property
    def is_numeric(self) -> bool:
        """Whether columns were eliminated numerically, by the rank alone."""
        return bool(self.left_out)

    def relation_texts(self) -> dict[str, str]:
        """Relations as text, by parameter name."""
        return {name: text(form) for name, form in zip(self.names, self.relations, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
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
                "rows": self.rows,
            },
        }

    def to_json(self) -> str:
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        head = f"base geometric parameters of {self.chain.robot.name}, {self.kind} at {self.chain.tip}: {self.count}"
        more = f" ({self.targets} of them places of the measurement)" if self.targets else ""
        marked = [f"removed by the rank test only [numeric]: {', '.join(self.left_out)}"] if self.left_out else []
        tail = f"certificate: rank {self.rank}, gap {self.gap:.1e} over {self.rows} readings at random postures"
        return "\n".join([head + more, *self.relation_texts().values(), *marked, tail])

    def __repr__(self) -> str:
        name = clipped(self.chain.robot.name, 40)
        return f"<GeometricBase of '{name}', {self.kind}: {plural(self.count, 'value')}, rank {self.rank}>"


def geometric_base_parameters(
    robot: RobotLike, measure: str = "pose", *, tip: str | None = None, root: str | None = None, seed: int = 0
) -> GeometricBase:
    """Derive the identifiable corrections of the frames between root and tip for a kind of measurement.

    measure: one of `MEASURED`; the measured point is the tip's origin, at which the rules are exact.
    """
    if measure not in MEASURED:
        raise UnknownName("kind of measurement", measure, tuple(MEASURED))
    chain = chain_of(as_robot(robot), tip, root)
    kept, targets = rules_of(chain, measure)
    rng = np.random.default_rng(seed)
    names, forms = list(kept.columns), list(kept.forms)
    A, own = sampled_columns(chain, measure, names, rng)
    order = _most_wanted(names)
    rank, gap, chosen = _rank(A, own, order)
    if MEASURED[measure].is_bound and len(chosen) < len(names):
        A = _at_more_places(chain, measure, names, rng)
        rank, gap, chosen = _rank(A, A[:, :0], order)
    left = tuple(names[k] for k in range(len(names)) if k not in chosen)
    is_kept = [k in chosen for k in range(len(names))]
    if gap < CLEAR_GAP:
        raise RankError(
            f"the identifiable parameters of '{chain.robot.name}' from measurements of kind '{measure}' cannot be "
            f"certified (gap {gap:.1e}), because some axes are nearly but not exactly aligned; write those angles "
            "exactly, or give --snap"
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
    """Columns that the symbolic rules retain for a measurement of the tip's origin, and the number of targets."""
    kind, several = KINDS[measure], MEASURED[measure].targets
    if several > 1:
        without = [f"{s}{chain.n + 1}" for s in SYMBOLS]
        return kept_columns(chain, hidden_relations(chain), without), 3 * several
    without = [] if kind.has_base else [f"{s}1" for s in SYMBOLS]
    relations = hidden_relations(chain, kind.tool, kind.world)
    if kind.loses_scale and all(chain.is_hinge):
        relations.append(scale_relation(chain, kind.has_base))
    return kept_columns(chain, relations, without), kind.fixed


def _at_more_places(chain: Chain, measure: str, names: Sequence[str], rng: np.random.Generator) -> Array:
    """Columns at random postures without what the measurement's unknowns account for, drawn until they show no more."""
    rows, rank, vain = np.zeros((0, len(names))), 0, 0
    while vain < IN_VAIN and rank < len(names):
        A, own = sampled_columns(chain, measure, names, rng, MANY_POSTURES)
        left = A - own @ np.linalg.lstsq(own, A, rcond=None)[0]
        left[:, np.linalg.norm(left, axis=0) < RANK * np.linalg.norm(A, axis=0)] = 0.0  # rounding
        rows = np.concatenate([rows, left])
        more = _rank(rows, rows[:, :0], range(len(names)))[0]
        rank, vain = more, 0 if more > rank else vain + 1
    return rows


def _most_wanted(names: Sequence[str]) -> list[int]:
    """Column indices by priority of retention: zeros, link lengths and twists, then the others."""
    rank = {"RZ": 0, "DX": 1, "RX": 2, "DZ": 3, "RY": 4, "DY": 5}
    return sorted(range(len(names)), key=lambda k: (rank[names[k][:2]], k))


def _rank(A: Array, own: Array, order: Sequence[int]) -> tuple[int, float, set[int]]:
    """Rank with the measurement's unknowns, singular-value gap, and columns independent of the preceding ones."""
    both = np.concatenate([A, own], axis=1)
    both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), LONG)  # a mark beside a camera outweighs all others
    A, own = both[:, : A.shape[1]], both[:, A.shape[1] :]
    lengths = np.linalg.norm(both, axis=0)
    is_shown = lengths > RANK * max(float(lengths.max(initial=0.0)), VANISHING)  # shorter ones are rounding
    if not is_shown.any():
        return 0, float("inf"), set()
    s = np.linalg.svd(both[:, is_shown] / lengths[is_shown], compute_uv=False)
    rank = int((s > RANK * s[0]).sum())
    gap = float(s[rank - 1] / max(s[rank], 1e-300)) if rank < len(s) else float("inf")
    free = own[:, is_shown[A.shape[1] :]]
    basis = np.linalg.qr(free / np.linalg.norm(free, axis=0))[0] if free.size else np.zeros((len(A), 0))
    chosen: set[int] = set()
    for k in (k for k in order if is_shown[k]):
        rest = A[:, k] - basis @ (basis.T @ A[:, k])
        rest = rest - basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > 1e-8 * lengths[k]:
            chosen.add(k)
            basis = np.concatenate([basis, (rest / np.linalg.norm(rest))[:, None]], axis=1)
    return rank, gap, chosen


# ------------------------------------------------------------------ random postures


def sampled_columns(
    chain: Chain, measure: str, names: Sequence[str], rng: np.random.Generator, postures: int = POSTURES
) -> tuple[Array, Array]:
    """Derivatives of readings with respect to frame corrections and measurement unknowns, at random postures."""
    q = _random_postures(chain, measure, rng, postures)
    placements = chain.nominal.copy()
    placements[0, :3, 3] += KINDS[measure].ahead
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
    return np.concatenate(A), wide if len(made) > 1 else _without_point(made, wide)


def _without_point(made: Sequence[ToolReadings], own: Array) -> Array:
    """Columns of the measurements' unknowns without the tool point, which the tool frame already contains."""
    return own[:, 3:] if made[0].has_point else own


def _random_postures(chain: Chain, measure: str, rng: np.random.Generator, postures: int) -> Array:
    turns = np.array([chain.robot.joints[j].kind == "revolute" for j in chain.robot.independent])
    q = rng.uniform(-1, 1, (postures, chain.robot.n)) * np.where(turns, SPAN, STROKE)
    return _at_places(chain, q) if MEASURED[measure].is_bound else q


def _at_places(chain: Chain, q: Array) -> Array:
    """Move postures so that the tip is at the same position in each group of `TIMES` of them.

    Postures that do not converge are dropped, and so are groups of one.
    """
    rates, group = chain.rates(), np.arange(len(q)) // TIMES
    q, turning = q.copy(), np.arange(len(q))
    goal = moved(chain.nominal, chain.is_hinge, chain.positions(q[::TIMES])).tool[group, :3, 3]
    for _ in range(MOST_STEPS):
        at = moved(chain.nominal, chain.is_hinge, chain.positions(q[turning]))
        miss = goal[turning] - at.tool[:, :3, 3]
        if not (far := np.linalg.norm(miss, axis=1) > REACHED).any():
            break
        J = at.jacobian()[far][:, :3, list(chain.zeros)] @ rates
        turning, miss = turning[far], miss[far]
        q[turning] += np.clip(_damped_steps(J, miss), -0.3, 0.3)
    at = moved(chain.nominal, chain.is_hinge, chain.positions(q))
    good = np.linalg.norm(goal - at.tool[:, :3, 3], axis=1) < CLOSE
    several = good & (np.bincount(group, good)[group] > 1)
    if not several.any():
        raise RankError(
            "no two postures place the tip at the same point: with so few joints this kind of measurement "
            "identifies nothing"
        )
    return np.asarray(q[several])


def _damped_steps(J: Array, miss: Array) -> Array:
    """Steps (N, n) of the joints that reduce distances (N, 3), with less damping the shorter they are."""
    back = np.swapaxes(J, 1, 2)
    damping = np.minimum(DAMPING, (miss**2).sum(axis=1))[:, None, None] * np.eye(3)
    inverse = back @ np.linalg.pinv(J @ back + damping, rcond=1e-12, hermitian=True)
    return np.asarray(np.einsum("nij,nj->ni", inverse, miss))


def exact_readings(measure: str, tool: Array, rng: np.random.Generator) -> ExactReadings:
    """Noise-free readings of a kind at tool poses, and their unknowns; the measured point is the tip's origin."""
    return KINDS[measure].exact(tool, rng, MEASURED[measure].targets)


def relation_error(found: GeometricBase, relation: Linear, seed: int = 1) -> float:
    """Residual of a relation between columns relative to the longest column, at newly drawn random postures."""
    chain = found.chain
    A, _ = sampled_columns(chain, found.kind, chain.columns, np.random.default_rng(seed))
    values = values_of(chain, found.kind)
    factors = np.zeros(len(chain.columns))
    for name, value in relation.terms.items():
        factors[chain.columns.index(str(name))] = float(number_of(value, values))
    return float(np.linalg.norm(A @ factors) / max(np.linalg.norm(A * factors, axis=0).max(), 1e-300))


def values_of(chain: Chain, measure: str) -> dict[str, float]:
    """Values of the symbols in relations at the postures of the certificate, with the place of the camera."""
    R, p = chain.nominal[0, :3, :3], chain.nominal[0, :3, 3]
    place = R.T @ (p + KINDS[measure].ahead)
    camera = {name: float(x) for symbol, x in zip(CAMERA_PLACE, place, strict=True) for ((name, _),) in symbol.terms}
    return {**chain.robot.symbol_values, **camera}
