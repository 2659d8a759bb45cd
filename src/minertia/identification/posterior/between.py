"""Quantiles of residuals in a new log, where logs differ in the size of their residuals.

A motion that was not fitted has residuals of its own size: friction, contacts and postures differ from log to log, and
the rows of one log say little about the next.  The rows of all logs together would have the quantile of the logs at
hand, which is too small for a new one if they are few.  So the logarithm of the size of a log's residuals is taken as
normal, with a mean for each output and one variance between logs for all outputs; as both are estimated, that of a new
log has Student's distribution.  Means are drawn towards their common value as far as they do not differ by more than
logs do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.io.arrays import Array

SMALLEST = 1e-6  # root mean square of the scores of a log whose residuals are a typical 1, at least
LARGEST = 50.0  # of a logarithm: Student's distribution of two logs has tails beyond the largest number
SIZES, ROWS = 200, 400  # quantiles of the sizes of logs, and of the rows of a log, by which they are represented


def new_log_quantiles(scores: Sequence[Array], counts: NDArray[np.bool_], levels: Sequence[float]) -> Array:
    """Quantiles (outputs, levels) of the absolute scores of a new log, from those of held-out logs.

    scores: of each log (N, outputs), residuals over their expected standard deviation.  counts (logs, outputs): which
    of them count; an output of which none does has the common mean, and the difference between outputs on top.
    """
    sizes = np.array([np.log(np.maximum(np.sqrt(np.mean(own**2, axis=0)), SMALLEST)) for own in scores])
    middle, variance, freedom = _new_sizes(sizes, counts)
    rows = [np.quantile(scores[k][:, j], _middles(ROWS)) / np.exp(sizes[k, j]) for k, j in np.argwhere(counts)]
    shape = np.quantile(np.concatenate(rows), _middles(ROWS))
    from scipy.stats import t as student  # here: it takes a second to load

    typical = student.ppf(_middles(SIZES), freedom)
    drawn = np.exp(np.clip(middle[:, None] + np.sqrt(variance)[:, None] * typical, -LARGEST, LARGEST))
    return np.array([np.quantile(np.outer(own, shape), levels) for own in drawn])


def _new_sizes(sizes: Array, counts: NDArray[np.bool_]) -> tuple[Array, Array, int]:
    """Mean and variance (outputs,) of the logarithm of the size of a new log's residuals, and degrees of freedom."""
    number = counts.sum(axis=0)
    known = np.maximum(number, 1)
    means = np.where(counts, sizes, 0.0).sum(axis=0) / known
    freedom = max(int(np.sum(known - 1)), 1)
    between = float(np.sum(np.where(counts, sizes - means, 0.0) ** 2)) / freedom
    common = float(np.sum(number * means) / number.sum())
    own = means[number > 0]
    differing = float(np.var(own, ddof=1) - np.mean(between / number[number > 0])) if len(own) > 1 else 0.0
    differing = max(differing, 0.0)  # variance of the means of outputs
    of_mean = between / known
    weight = np.where(number > 0, differing / np.maximum(differing + of_mean, 1e-300), 0.0)
    uncertain = np.where(number > 0, weight * of_mean, differing) + (1 - weight) * between / number.sum()
    return common + weight * (means - common), between + uncertain, freedom


def _middles(count: int) -> Array:
    """Probabilities in the middle of equal parts of 0 to 1."""
    return np.asarray((np.arange(count) + 0.5) / count)
