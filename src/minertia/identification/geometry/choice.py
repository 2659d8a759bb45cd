"""Selection of the correction levels by cross-validation on held-out regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minertia.identification.campaigns.options import LEVELS
from minertia.identification.evidence import thresholds as at
from minertia.identification.geometry.fit import GeometryFit
from minertia.identification.geometry.folds import GeometryRows, RegionsLeftOut, capped, left_out, regions
from minertia.robot.corrections import SHAPES

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
    """Groups of unknowns of the given levels; sag includes compliances, so that it replaces them."""
    return tuple(
        group for level in levels if not (level == "compliance" and "sag" in levels) for group in LEVELS[level]
    )


def chosen(problem: GeometryRows, levels: Sequence[str], nominal: GeometryFit) -> LevelChoice:
    """Select the first levels of `levels`, as far as they clearly reduce the error in most held-out regions.

    Each level is added to all before it; of compliance and sag only the better one is used.  None is selected
    if the total reduction is too small.  nominal: fit of base and tool alone.
    """
    some = thinned(problem)
    region = regions(some)
    if len(np.unique(region)) < 2:
        return LevelChoice(tuple(levels), ())
    taken: tuple[str, ...] = ()
    best = last = left_out(some, (), region, nominal)
    tried: list[tuple[tuple[str, ...], RegionsLeftOut]] = [((), best)]
    prefix: tuple[str, ...] = ()
    for level in (level for level in levels if _has_unknowns(some, level)):
        now = (*(p for p in prefix if not (p == "compliance" and level == "sag")), level)
        found = left_out(some, groups_of(now), region, last)
        tried.append((now, found))
        if is_better(found, best):
            taken, best = now, found
        if level != "sag" or "compliance" not in prefix or found.rms < last.rms:
            prefix, last = now, found
    is_worth = capped(best.sizes) <= at.WORTH * capped(tried[0][1].sizes)
    return LevelChoice(taken if is_worth else (), tuple(tried))


def _has_unknowns(problem: GeometryRows, level: str) -> bool:
    """Whether a level has unknowns: corrections of frames, or joint corrections that have a column."""
    own = {column.group for column in problem.columns}
    return any(group in own or group not in SHAPES for group in LEVELS[level])


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
