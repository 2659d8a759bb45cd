"""Identifiability under a motion: rank, condition, and a message for every unidentifiable parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minertia.base import numeric
from minertia.identification.problem.linear import symbol_of
from minertia.identification.problem.observation import Observation
from minertia.io.arrays import Array

RANK_TOLERANCE = 1e-7  # of the largest singular value, columns scaled to length 1
EXCITED = 1e-7  # smallest length of a column, over its usual length in random states


@dataclass(frozen=True)
class ExcitationDiagnosis:
    """Identifiability of the unknowns from the logs.

    condition: of the unscaled columns; scaled_condition: of the columns scaled to unit norm (both of an
    independent set).  independent: columns that do not depend linearly on earlier ones.  not_excited:
    unidentifiable unknowns, with a message each.
    """

    count: int
    rank: int
    condition: float
    scaled_condition: float
    independent: tuple[int, ...]
    not_excited: dict[str, str]

    def __repr__(self) -> str:
        return (
            f"<ExcitationDiagnosis: {self.rank} of {self.count} unknowns told apart, condition number "
            f"{self.condition:.3g} (columns scaled: {self.scaled_condition:.3g})>"
        )

    @property
    def is_complete(self) -> bool:
        """Whether every unknown is identifiable."""
        return self.rank == self.count


def excitation(observation: Observation, sigma: Array | None = None) -> ExcitationDiagnosis:
    """Diagnose the excitation of the logs before estimation; without noise levels, once for a problem."""
    if sigma is not None:
        return _excitation(observation, sigma)
    if "excitation" not in observation.made:
        observation.made["excitation"] = _excitation(observation, None)
    found: ExcitationDiagnosis = observation.made["excitation"]
    return found


def _excitation(observation: Observation, sigma: Array | None) -> ExcitationDiagnosis:
    R = observation.triangle(sigma)[:-1, :-1] if observation.count else np.zeros((0, 0))
    lengths = np.linalg.norm(R, axis=0)
    scale = 1.0 if sigma is None else float(np.max(sigma))
    usual = observation.model.reference[list(observation.keep)] * np.sqrt(observation.samples)
    shown = lengths * scale > EXCITED * usual
    unit = np.where(shown, R / np.where(shown, lengths, 1.0), 0.0)
    s = np.linalg.svd(unit, compute_uv=False)
    rank = int((s > RANK_TOLERANCE * s.max(initial=0.0)).sum()) if s.size else 0
    independent = _independent(unit, shown)[:rank]
    null = _null_space(unit, shown, rank)
    sentences = {}
    for c in np.flatnonzero(~shown | (np.linalg.norm(null, axis=0) > 1e-6)):
        name = observation.names[c]
        sentences[name] = _together(observation, null, int(c)) if shown[c] else _unseen(observation, int(c))
    chosen = R[:, independent]
    return ExcitationDiagnosis(
        count=observation.count,
        rank=rank,
        condition=_condition(chosen),
        scaled_condition=_condition(unit[:, independent]),
        independent=tuple(independent),
        not_excited=sentences,
    )


def _null_space(unit: Array, shown: Array, rank: int) -> Array:
    """Dependencies between the columns that are shown: rows of orthonormal coefficients, 0 for all other columns."""
    own = np.linalg.svd(unit[:, shown])[2][rank:]
    null = np.zeros((len(own), len(shown)))
    null[:, shown] = own
    return null


def _independent(unit: Array, shown: Array) -> list[int]:
    """Indices of linearly independent columns, by Gram-Schmidt in the given order."""
    Q = np.zeros(unit.shape)  # in rows, one after the other
    kept: list[int] = []
    for c in np.flatnonzero(shown).tolist():
        v, before = unit[:, c], Q[: len(kept)]
        for _ in range(2):
            v = v - (before @ v) @ before
        size = float(np.linalg.norm(v))
        if size > 10 * RANK_TOLERANCE:
            Q[len(kept)] = v / size
            kept.append(c)
    return kept


def _condition(R: Array) -> float:
    if R.shape[1] == 0:
        return 1.0
    s = np.linalg.svd(R, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else float("inf")


def _unseen(observation: Observation, c: int) -> str:
    """Message on why an unknown is not excited: its joint did not move, or it has no effect."""
    model = observation.model
    full = observation.keep[c]
    robot, name = model.robot, observation.names[c]
    link = model.link_of(full) if full < len(model.kept) else 0  # a load has columns beyond the robot's own
    if 1 <= link <= robot.n_joints:
        joint = robot.joints[link - 1]
        still = set.intersection(*(set(r.still) for r in observation.logs))
        symbol = symbol_of(model.standard[model.kept[full]])
        movers = range(robot.n) if joint.is_passive else [c for c, _ in robot.shares(link - 1)]
        if still.issuperset(movers) and symbol not in ("OFF", "OFFM"):
            return f"{name} was not excited: joint '{joint.name}' did not move"
    return f"{name} was not excited: it has no effect on the efforts in this motion"


def _together(observation: Observation, null: Array, c: int) -> str:
    """Message on the unknowns with which a column is linearly dependent."""
    basis = numeric.cleared(null)
    rows = basis[np.abs(basis[:, c]) > 1e-6]
    size = np.abs(rows if len(rows) else null).max(axis=0)  # of many weak dependencies none may be left
    order: Sequence[int] = np.argsort(-size).tolist()
    others = [observation.names[k] for k in order if size[k] > 1e-6 and k != c][:4]
    more = int((size > 1e-6).sum()) - 1 - len(others)
    listed = ", ".join(others) + (f" and {more} more" if more > 0 else "")
    return f"{observation.names[c]} is not identifiable alone: in this motion it acts only in combination with {listed}"
