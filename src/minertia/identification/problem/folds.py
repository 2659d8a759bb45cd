"""Cross-validation folds of a linear problem: blocks of time, or whole logs, each left out of a fit of the others.

A fold is a few triangles, so nothing is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from minertia.identification.problem.observation import Observation
from minertia.identification.problem.triangles import merged, triangle
from minertia.io.arrays import Array

FOLDS = 5


@dataclass(frozen=True)
class Fold:
    """One fold.

    fitted: triangle (k, k) of the weighted rows of all other folds.  left_out: triangles (efforts, k, k) of its own
    rows, not weighted.  weighted: one triangle (k, k) of its own weighted rows.
    """

    fitted: Array
    left_out: Array
    weighted: Array


def block_folds(problem: Observation, sigma: Array, count: int = FOLDS) -> tuple[Fold, ...]:
    """At most `count` folds of consecutive blocks; none where the problem has a single block.

    sigma: noise level of each effort, by which rows are weighted.
    """
    blocks = problem.blocks
    return _folds(blocks, np.array_split(np.arange(len(blocks)), min(count, len(blocks))), sigma)


def log_folds(problem: Observation, sigma: Array) -> tuple[Fold, ...]:
    """A fold for each log; none where there is a single log."""
    ends = np.cumsum([len(log.counts) for log in problem.logs])
    return _folds(problem.blocks, np.split(np.arange(ends[-1]), ends[:-1]), sigma)


def _folds(blocks: Array, groups: Sequence[Array], sigma: Array) -> tuple[Fold, ...]:
    if len(groups) < 2:
        return ()
    k = blocks.shape[-1]
    own = [merged(blocks[group]) for group in groups]
    weighted = [triangle((part / sigma[:, None, None]).reshape(-1, k)) for part in own]
    others = [triangle(np.concatenate([w for m, w in enumerate(weighted) if m != out])) for out in range(len(own))]
    return tuple(Fold(*parts) for parts in zip(others, own, weighted, strict=True))


def left_out_squares(folds: Iterable[Fold], fit: Callable[[Array], Array]) -> Array:
    """Sum of squares of each fold, in noise levels, under the values that `fit` makes of the others' triangle."""
    return np.array([float(np.sum((f.weighted @ np.append(-fit(f.fitted), 1.0)) ** 2)) for f in folds])


def strongest(errors: Array) -> int:
    """Index of the strongest prior that predicts what was left out as well as the best one.

    errors (weights, folds): within one standard error of the smallest mean (Hastie, Tibshirani, Friedman 2009, 7.10).
    """
    mean = errors.mean(axis=1)
    best = int(np.argmin(mean))
    limit = mean[best] + errors[best].std(ddof=1) / np.sqrt(errors.shape[1])
    return int(np.flatnonzero(mean <= limit)[-1])
