"""Total least squares: errors in the regressor as well as in the efforts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from minertia.identification.estimators.estimate import Fit
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.linear import symbol_of
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse, solution, weighted_solution
from minertia.identification.problem.triangles import triangle
from minertia.io.errors import MinertiaError
from minertia.io.schema import option
from minertia.robot.effects import BY_SYMBOL

# Constants and signs carry no measurement noise; a bounded shape of the speed alone that has no constant to measure it
# by can only depend on its sign.
EXACT = tuple(
    symbol
    for symbol, effect in BY_SYMBOL.items()
    if not effect.inputs or (effect.inputs == ("qd",) and effect.is_bounded and not effect.constants)
)


@final
@dataclass(frozen=True)
class TotalLeastSquares(Estimator):
    """Mixed total least squares on rows weighted by joint (Van Huffel & Vandewalle 1991, section 3.5)."""

    ratio: float = option(
        0.1,
        "Ratio of the relative noise of the regressor columns to that of the efforts; 1 is classical total least "
        "squares, 0 is least squares.",
        range=(1e-6, 1e6),
        zero=True,
    )

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        _, R, sigma = weighted_solution(problem)
        model = problem.model
        exact = [k for k, c in enumerate(problem.keep) if symbol_of(model.standard[model.kept[c]]) in EXACT]
        noisy = [k for k in range(problem.count) if k not in exact]
        if not noisy or self.ratio == 0:
            inv = inverse(R[:-1, :-1])
            return Fit(solution(R), inv @ inv.T, sigma)
        order = [*exact, *noisy]
        T = triangle(R[:, [*order, problem.count]])
        e = len(exact)
        lengths = np.linalg.norm(R, axis=0)
        scales = np.append(self.ratio * lengths[noisy], max(lengths[-1], 1e-300))
        _, s, Vt = np.linalg.svd(T[e:, e:] / scales)
        v = Vt[-1] / scales
        if abs(Vt[-1][-1]) < 1e-12:
            raise MinertiaError(
                "total least squares has no solution here: noise dominates a regressor column; fit with --estimator wls"
            )
        beta = np.zeros(problem.count)
        beta[noisy] = -v[:-1] / v[-1]
        if exact:
            beta[exact] = solution(
                np.column_stack([T[: e + 1, :e], np.append(T[:e, -1] - T[:e, e:-1] @ beta[noisy], 0)])
            )
        rows = problem.samples * len(problem.row_names)
        size = 1 + float(np.sum((beta[noisy] * scales[:-1] / scales[-1]) ** 2))
        variance = s[-1] ** 2 / max(rows - problem.count, 1) * size * scales[-1] ** 2
        inv = inverse(R[:-1, :-1])
        return Fit(beta, variance * inv @ inv.T, sigma)
