"""Selection of the correction levels by cross-validation on held-out regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minertia.identification.campaigns.options import LEVELS
from minertia.identification.evidence import thresholds as at
from minertia.identification.geometry.fit import GeometryFit
from minertia.identification.geometry.folds import GeometryRows, RegionsLeftOut, capped, left_out, regions

GAIN = 0.03  # part of the error that a level must take away to be worth its unknowns
MOST_POSTURES = 200  # in the fits that judge levels


@dataclass(frozen=True)
class LevelChoice:
    """Selected levels, and the error of each candidate on held-out regions [m, rad]."""

    levels: tuple[str, ...]
    tried: tuple[tuple[tuple[str, ...], RegionsLeftOut], ...]

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups of the selected levels."""
        return groups_of(self.levels)


def groups_of(levels: Sequence[str]) -> tuple[str, ...]:
    """Groups of unknowns of the given levels."""
    return tuple(group for level in levels for group in LEVELS[level])


def chosen(problem: GeometryRows, levels: Sequence[str], nominal: GeometryFit) -> LevelChoice:
    """Select the first levels of `levels`, as far as they clearly reduce the error in most held-out regions.

    A level is added together with all before it.  None is selected if the total reduction is too small.
    nominal: fit of base and tool alone.
    """
    some = thinned(problem)
    region = regions(some)
    if len(np.unique(region)) < 2:
        return LevelChoice(tuple(levels), ())
    taken: tuple[str, ...] = ()
    best = last = left_out(some, (), region, nominal)
    tried: list[tuple[tuple[str, ...], RegionsLeftOut]] = [((), best)]
    for k in range(1, len(levels) + 1):
        now = tuple(levels[:k])
        last = left_out(some, groups_of(now), region, last)
        tried.append((now, last))
        if is_better(last, best):
            taken, best = now, last
    is_worth = capped(best.sizes) <= at.WORTH * capped(tried[0][1].sizes)
    return LevelChoice(taken if is_worth else (), tuple(tried))


def is_better(new: RegionsLeftOut, old: RegionsLeftOut) -> bool:
    """Whether the errors are smaller by more than `GAIN`, and in most regions."""
    wins = float(np.mean(new.by_region < old.by_region))
    return capped(new.sizes) < (1 - GAIN) * capped(old.sizes) and wins > 0.5


def thinned(problem: GeometryRows) -> GeometryRows:
    """Problem decimated to a limited number of evenly spaced postures."""
    count = problem.postures.count
    if count <= MOST_POSTURES:
        return problem
    kept = np.linspace(0, count - 1, MOST_POSTURES).round().astype(np.intp)
    return problem.taken(kept)
