"""R factors of a linear problem over all unknowns, scaled to the precision of a cone solver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import Fold

Array = NDArray[np.float64]
FINEST = 1e-7  # of an effort's size: data are not trusted further, so that the program stays well scaled


def trusted_levels(problem: Observation, sigma: Array) -> Array:
    """Noise levels, bounded below so that a cone solver does not lose precision."""
    usual = np.maximum(problem.effort_rms, 1e-3 * problem.effort_rms.max(initial=0.0))
    return np.asarray(np.maximum(sigma, FINEST * usual))


def unshifted(problem: Observation, R: Array) -> Array:
    """R factor over all the model's unknowns, with known contributions added back to the efforts."""
    full = np.zeros((len(R), problem.model.count + 1))
    full[:, list(problem.keep)] = R[:, :-1]
    full[:, -1] = R[:, -1] + R[:, :-1] @ problem.shift[list(problem.keep)]
    return full


def unshifted_fold(problem: Observation, fold: Fold) -> Fold:
    """Fold with R factors over all the model's unknowns, known contributions added back to the efforts.

    The unweighted factors `left_out` are unchanged.
    """
    return Fold(unshifted(problem, fold.fitted), fold.left_out, unshifted(problem, fold.weighted))
