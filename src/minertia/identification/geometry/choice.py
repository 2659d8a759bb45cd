"""Selection of the correction levels by cross-validation on held-out regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minertia.identification.campaigns.options import LEVELS
from minertia.identification.evidence import thresholds as at
from minertia.identification.geometry.fit import GeometryFit
from minertia.identification.geometry.folds import GeometryRows, RegionsLeftOut, capped, left_out, regions
from minertia.identification.geometry.measures import UNITS
from minertia.robot.corrections import SHAPES

GAIN = 0.03  # part of the error that a level must take away to be worth its unknowns
EVIDENT = 10.0  # gain of the log likelihood of a level; chosen on 39 planted arms of two to four places
LIKELY = 3.0  # the same for corrections of frames with few postures, of 2, 3, 5 and 10 on 196 planted arms
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
    """Select the first levels of `levels`, as far as held-out regions or the likelihood support them (`_Support`).

    Each level is added to all before it; of compliance and sag only the better one is used.  If the total reduction
    is too small, few postures may still support some (`_Support.few_postures`).  nominal: fit of base and tool alone.
    """
    some = thinned(problem)
    region = regions(some)
    taken: tuple[str, ...] = ()
    support = _Support(some, nominal)
    if len(np.unique(region)) < 2:
        return LevelChoice(support.likeliest(levels, EVIDENT), ())
    best = last = left_out(some, (), region, nominal)
    tried: list[tuple[tuple[str, ...], RegionsLeftOut]] = [((), best)]
    prefix: tuple[str, ...] = ()
    for level in (level for level in levels if _has_unknowns(some, level)):
        now = (*(p for p in prefix if not (p == "compliance" and level == "sag")), level)
        found = left_out(some, groups_of(now), region, last)
        tried.append((now, found))
        if support.is_clear(now, found, taken, best):
            taken, best = now, found
        if level != "sag" or "compliance" not in prefix or found.rms < last.rms:
            prefix, last = now, found
    if capped(best.sizes) > at.WORTH * capped(tried[0][1].sizes):
        taken = support.few_postures(levels, dict(tried))
    return LevelChoice(taken, tuple(tried))


def _has_unknowns(problem: GeometryRows, level: str) -> bool:
    """Whether a level has unknowns: corrections of frames, or joint corrections that have a column."""
    own = {column.group for column in problem.columns}
    return any(group in own or group not in SHAPES for group in LEVELS[level])


def is_better(new: RegionsLeftOut, old: RegionsLeftOut) -> bool:
    """Whether the errors are smaller by more than `GAIN`, and in most regions."""
    wins = float(np.mean(new.by_region < old.by_region))
    return capped(new.sizes) < (1 - GAIN) * capped(old.sizes) and wins > 0.5


class _Support:
    """Support of levels by held-out regions, or by the likelihood of all readings.

    Of two regions each is predicted by a fit of the other alone, which extrapolates and says little of a fit of
    both: then the likelihood decides.  It may also add corrections of joint positions where regions are undecided:
    their sizes are estimated, so that they vanish if unsupported.
    """

    def __init__(self, problem: GeometryRows, nominal: GeometryFit) -> None:
        self.problem, self.nominal, self.known = problem, nominal, dict[tuple[str, ...], float]()

    def evidence(self, levels: tuple[str, ...]) -> float:
        """Log likelihood of a fit of some levels (`log_evidence`)."""
        if levels not in self.known:
            self.known[levels] = log_evidence(self.fit(levels))
        return self.known[levels]

    def fit(self, levels: tuple[str, ...]) -> GeometryFit:
        """Fit of some levels to all postures."""
        return self.problem.fit(groups_of(levels), start=self.nominal.state) if levels else self.nominal

    def likeliest(self, levels: Sequence[str], least: float) -> tuple[str, ...]:
        """First levels as far as each raises the log likelihood of all before it by more than `least`."""
        taken: tuple[str, ...] = ()
        own = [level for level in levels if _has_unknowns(self.problem, level)]
        for k in range(1, len(own) + 1):
            if self.evidence(tuple(own[:k])) - self.evidence(taken) > least:
                taken = tuple(own[:k])
        return taken

    def few_postures(self, levels: Sequence[str], tried: Mapping[tuple[str, ...], RegionsLeftOut]) -> tuple[str, ...]:
        """Corrections of frames that the likelihood supports although held-out regions are reduced too little.

        With few postures, regions left out say little.  The likelihood misleads where errors are of no level, which
        shows in held-out regions: their error must be near the noise of the fit.
        """
        taken = self.likeliest([level for level in levels if not set(LEVELS[level]) <= set(SHAPES)], LIKELY)
        if not taken or taken not in tried:
            return ()
        first = self.problem.postures.measures[0]
        noise = self.fit(taken).sizes.rows[UNITS.index(first.unit)] * np.sqrt(first.components)
        return taken if capped(tried[taken].sizes) <= at.WORSE_POSTURES * noise else ()

    def is_clear(
        self, levels: tuple[str, ...], new: RegionsLeftOut, taken: tuple[str, ...], old: RegionsLeftOut
    ) -> bool:
        """Whether levels are better supported than those taken."""
        if len(new.by_region) > 2:
            frames = {level for level in levels if not set(LEVELS[level]) <= set(SHAPES)}
            is_undecided = frames <= set(taken) and capped(new.sizes) < (1 + GAIN) * capped(old.sizes)
            if is_better(new, old) or not is_undecided:
                return is_better(new, old)
        return self.evidence(levels) - self.evidence(taken) > EVIDENT


def log_evidence(found: GeometryFit) -> float:
    """Logarithm of the restricted likelihood of a fit, up to a constant that is the same for all levels."""
    rows, total = found.layout.linearised(found.state), 0.0
    for unit, size in found.sizes.rows.items():
        of = rows.unit == unit
        weights = found.weights[rows.posture[of]]
        total += float(np.sum(weights * (rows.residual[of] / size) ** 2 - np.log(weights / size**2)))
    prior = found.prior[found.prior > 0]
    total += float(found.values @ (found.prior * found.values) - np.log(prior).sum())
    scale = np.sqrt(np.maximum(np.diag(found.S), 1e-300))
    return -0.5 * (
        total - float(np.linalg.slogdet(found.S / np.outer(scale, scale))[1]) - 2 * float(np.log(scale).sum())
    )


def thinned(problem: GeometryRows) -> GeometryRows:
    """Problem decimated to a limited number of evenly spaced postures."""
    count = problem.postures.count
    if count <= MOST_POSTURES:
        return problem
    kept = np.linspace(0, count - 1, MOST_POSTURES).round().astype(np.intp)
    return problem.taken(kept)
