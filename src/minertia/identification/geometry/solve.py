"""Estimation of the corrections: selection of levels by cross-validation over regions, fit and covariance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.options import LEVELS, CalibrationOptions
from minertia.identification.campaigns.prepare import Tell
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.geometry.chain import Array
from minertia.identification.geometry.choice import LevelChoice, chosen
from minertia.identification.geometry.errors import judged_measures
from minertia.identification.geometry.fit import GeometryFit
from minertia.identification.geometry.folds import GeometryRows
from minertia.identification.geometry.measures import SamePointMeasure
from minertia.identification.geometry.spread import GeometrySpread, spread_of
from minertia.io.errors import CampaignError

NAME = "reml"  # least squares with sizes of noise and corrections by restricted maximum likelihood
WEAK = 1e-3  # of the largest singular value, columns scaled: directions that these postures hardly show
BLOCK = 10_000  # rows at a time
RANK = 1e-9  # of the largest singular value: what is smaller is rounding


@dataclass(frozen=True)
class ShownGeometry:
    """Identifiable parameters of a kind of measurement, in general and at these postures.

    count: their number in general.  here: their number at these postures.  gap: ratio of the last singular
    value within the rank to the next one.  smallest: last singular value within the rank, relative to the
    largest.  weak: names of weakly identifiable parameters or combinations.
    """

    count: int
    here: int
    gap: float
    smallest: float
    weak: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        gap = self.gap if np.isfinite(self.gap) else None
        return {"count": self.count, "rank": self.here, "gap": gap, "smallest": self.smallest, "weak": list(self.weak)}


@dataclass(frozen=True)
class GeometryEstimate(Estimate):
    """Estimates of corrections, base and tool.

    geometry: the fit; nominal: the fit of base and tool alone; zeros: the fit with joint zeros as the only
    corrections. spread: noise of readings and joints.  choice: selected levels, and those tried.  shown:
    identifiable parameters at these postures.
    """

    geometry: GeometryFit = field(kw_only=True, repr=False)
    nominal: GeometryFit = field(kw_only=True, repr=False)
    zeros: GeometryFit = field(kw_only=True, repr=False)
    spread: GeometrySpread = field(kw_only=True, repr=False)
    choice: LevelChoice = field(kw_only=True, repr=False)
    shown: ShownGeometry = field(kw_only=True, repr=False)

    __repr__ = Estimate.__repr__
    __str__ = Estimate.__str__


def refuse_estimators(asked: str | Estimator) -> None:
    """Raise an error for an estimator of joint efforts, which does not apply to this kind of measurement."""
    if asked in ("auto", NAME):
        return
    word = f"'{asked}'" if isinstance(asked, str) else type(asked).__name__
    raise CampaignError(
        f"the estimator {word} does not fit geometry; use auto, and set levels in [calibration] for fewer corrections"
    )


def solve_geometry(rows: GeometryRows, options: CalibrationOptions, tell: Tell) -> GeometryEstimate:
    """Fit the requested or selected levels, with base and tool estimated without initial values."""
    asked = tuple(LEVELS) if options.levels is None else tuple(options.levels)
    tell("choosing corrections by held-out regions" if options.levels is None else "finding base and tool")
    nominal = rows.fit(())
    choice = chosen(rows, asked, nominal) if options.levels is None else LevelChoice(asked, ())
    tell(f"fitting {', '.join(choice.levels) or 'base and tool'}")
    found = rows.fit(choice.groups, start=nominal.state) if choice.levels else nominal
    zeros = rows.fit(("zeros",), start=nominal.state)
    return _estimate(found, nominal, zeros, choice)


def _estimate(found: GeometryFit, nominal: GeometryFit, zeros: GeometryFit, choice: LevelChoice) -> GeometryEstimate:
    rows = found.layout.linearised(found.state)
    spread, triangle = spread_of(found, rows), _triangle(rows.A)
    R = triangle[:, found.active]
    s, (scaled, _, _) = np.linalg.svd(R, compute_uv=False), _scaled_svd(R)
    return GeometryEstimate(
        names=found.names,
        classes=tuple("alone" for _ in found.names),
        beta=found.values,
        covariance=spread.covariance,
        sigma=_noise(found, spread),
        estimator=NAME,
        rank=int((scaled > RANK * scaled[0]).sum()),
        condition=float(s[0] / s[-1]) if s[-1] > 0 else float("inf"),
        scaled_condition=float(scaled[0] / scaled[-1]) if scaled[-1] > 0 else float("inf"),
        geometry=found,
        nominal=nominal,
        zeros=zeros,
        spread=spread,
        choice=choice,
        shown=_shown(found, triangle),
    )


def _triangle(A: Array) -> Array:
    """The triangular factor of many rows, in blocks to limit memory."""
    R = np.zeros((0, A.shape[1]))
    for first in range(0, len(A), BLOCK):
        R = np.asarray(np.linalg.qr(np.concatenate([R, A[first : first + BLOCK]]), mode="r"))
    return R


def _scaled_svd(R: Array) -> tuple[Array, Array, NDArray[np.intp]]:
    """Singular values and vectors of columns scaled to unit norm, and the indices of nonzero columns."""
    lengths = np.linalg.norm(R, axis=0)
    seen = np.flatnonzero(lengths > 0)
    _, s, Vt = np.linalg.svd(R[:, seen] / lengths[seen], full_matrices=False)
    return s, Vt, seen


def _noise(found: GeometryFit, spread: GeometrySpread) -> Array:
    """Noise of the readings for each component of the evaluated errors."""
    measures = judged_measures(found.layout.postures.measures)
    return np.array([spread.rows[m.unit] for m in measures for _ in range(m.components)])


def _shown(found: GeometryFit, triangle: Array) -> ShownGeometry:
    """Ranks of the columns at these postures, without joint corrections, and weakly identifiable parameters."""
    layout = found.layout
    frames = len(layout.frame_columns)
    own = sum(
        3 if isinstance(m, SamePointMeasure) else len(m.own) for m in layout.postures.measures
    )  # places of groups are means, not values
    skip = len(layout.joint_columns)
    s, _, seen = _scaled_svd(np.concatenate([triangle[:, :frames], triangle[:, frames + skip :]], axis=1))
    groups = len(seen) - frames - own
    here = int((s > RANK * s[0]).sum())
    gap = float(s[here - 1] / s[here]) if here < len(s) else float("inf")
    weak = _weak(found, triangle[:, found.active])
    return ShownGeometry(frames + own, here - max(groups, 0), gap, float(s[here - 1] / s[0]), weak)


def _weak(found: GeometryFit, R: Array) -> tuple[str, ...]:
    """Names of the parameters in directions that these postures hardly excite."""
    s, Vt, seen = _scaled_svd(R)
    told = []
    for k in np.flatnonzero(s < WEAK * s[0]):
        most = np.flatnonzero(np.abs(Vt[k]) > 0.3)
        told.append(" with ".join(found.names[seen[c]] for c in most[:4]))
    return tuple(dict.fromkeys(t for t in told if t))
