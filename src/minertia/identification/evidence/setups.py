"""Check of the set-up of the robot: alternative set-ups are evaluated on the same rows by the same criteria.

An alternative is accepted if the residual with the file's masses, or with refitted masses, is far smaller,
and neither is larger.  With masses that are 30 % off, the right set-up has a relative residual of some
tenths, and no other set-up has half of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.proposals import CHECKS, Proposal
from minertia.identification.evidence.remainders import root_mean_square
from minertia.identification.evidence.trial import AS_STATED, Left, Setup, Trial

SAME = 1e-9  # relative difference of residuals that rounding errors explain
# told by masses fitted anew: the file's are too far off
OF_FITS = ("gain", "ratio", "drift", "late", "coupling", "lengths", "pace")


@dataclass(frozen=True)
class Suspicion:
    """Set-up that explains the efforts far better than the specified one, with the residuals of both."""

    check: str
    what: str
    change: str
    before: Left
    after: Left

    @property
    def size(self) -> float:
        """Relative residual with the file's masses or, without file masses, with refitted masses."""
        return self.after.refit if self.after.masses is None else self.after.masses

    @property
    def sentence(self) -> str:
        """Message with figures, and the change to make."""
        parts = []
        if self.before.masses is not None and self.after.masses is not None:
            parts.append(
                f"the relative residual with the file's masses is {_percent(self.after.masses)} instead of "
                f"{_percent(self.before.masses)}"
            )
        parts.append(f"with refitted masses {_percent(self.after.refit)} instead of {_percent(self.before.refit)}")
        return f"{self.what}: with this set-up, {', '.join(parts)}; {self.change}"

    def to_dict(self) -> dict[str, object]:
        """Return as a dict of plain data."""
        return {
            "check": self.check,
            "what": self.what,
            "change": self.change,
            "masses_before": self.before.masses,
            "masses_after": self.after.masses,
            "refit_before": self.before.refit,
            "refit_after": self.after.refit,
        }


def suspicions(trial: Trial) -> tuple[Suspicion, ...]:
    """Set-ups that explain the efforts far better than the specified one, the best first."""
    is_sure = trial.has_masses and float(trial.of_masses().max(initial=0.0)) < at.SURE
    before = trial.with_links(trial.left())
    is_structured = max(before.joints, default=0.0) > at.CLEARLY_MORE
    by_masses = [c for c in CHECKS if c not in OF_FITS and (c == "scale" or not is_sure)]
    each = [s for check in by_masses if (s := _suspicion(trial, before, check)) is not None]
    if is_structured and not any(s.after.refit < at.MENDS * before.refit for s in each):
        each += [s for check in OF_FITS if (s := _suspicion(trial, before, check)) is not None]
    found = sorted({s.what: s for s in reversed(each)}.values(), key=lambda s: s.size)
    return tuple(s for s in found if s.size <= at.AS_GOOD * found[0].size + at.NO_MORE)


def _suspicion(trial: Trial, before: Left, check: str) -> Suspicion | None:
    best = _best(trial.coarse, list(CHECKS[check](trial)), by_refit=check in OF_FITS or not trial.has_masses)
    if best is None:
        return None
    masses = None if before.masses is None else trial.masses_left([best.setup])[0]
    if before.masses is not None and masses is not None and masses > at.NO_WORSE * before.masses:
        return None
    after = trial.left(best.setup, masses)
    if not _is_believed(before, after, check):  # not even if links within tolerances explained all
        return None
    after = trial.with_links(after, best.setup)
    is_believed = _is_believed(before, after, check) and (
        check != "scale" or _scale_mends(trial, best.setup, (before, after))
    )
    return Suspicion(check, best.what, best.change, before, after) if is_believed else None


def _scale_mends(trial: Trial, setup: Setup, left: tuple[Left, Left]) -> bool:
    """Whether a scale reduces the residual, with the file's masses, of the joints whose efforts it changes.

    For a revolute joint the residual of the fit within the file's tolerances must also decrease, as an error
    of the centre of mass could explain the scale.
    """
    factors = np.array(setup.scales)[list(trial.joints)]
    kinds = [trial.robot.joints[trial.robot.independent[j]].kind for j in trial.joints]
    turning = any(f != 1 and kind != "prismatic" for f, kind in zip(factors, kinds, strict=True))
    if turning and not _within_falls(*left, at.WITHIN_STAYS):
        return False
    before, after = (root_mean_square(parts[factors != 1]) for parts in trial.of_masses([AS_STATED, setup]))
    return after < at.SCALE_FALLS * before


def _best(trial: Trial, proposals: list[Proposal], by_refit: bool) -> Proposal | None:
    """Proposal with the smallest residual, refined by values between it and its neighbours if there are any."""
    proposals = [proposal for proposal in proposals if trial.can_be(proposal.setup)]
    if not proposals:
        return None
    left = _measured(trial, proposals, by_refit)
    first = _smallest(left)
    finer = [proposal for proposal in proposals[first].nearby() if trial.can_be(proposal.setup)]
    between = _measured(trial, finer, by_refit)
    if not finer or at.PLAIN * min(between) >= left[first]:
        return proposals[first]
    return finer[_smallest(between)]


def _smallest(left: list[float]) -> int:
    """Index of the smallest residual, the first of those that differ by rounding errors only."""
    return int(np.argmax(np.array(left) <= (1 + SAME) * min(left)))


def _measured(trial: Trial, proposals: list[Proposal], by_refit: bool) -> list[float]:
    """Residual under each proposal with the file's masses, or with refitted masses."""
    setups = [proposal.setup for proposal in proposals]
    if not by_refit:
        return trial.masses_left(setups)
    found: list[float] = []
    for start in range(0, len(setups), trial.together):
        some = setups[start : start + trial.together]
        trial.make_columns(some)
        found += [trial.refit_left(setup) for setup in some]
    return found


def _is_believed(before: Left, after: Left, check: str) -> bool:
    if after.masses is not None and after.masses > at.MENDED:
        return False
    if check in OF_FITS and _is_clear(before, after, check):
        return True
    falls = after.refit < at.REFIT_FALLS * before.refit
    if before.masses is None or after.masses is None:
        return check not in OF_FITS and falls and before.refit - after.refit > at.REFIT_ALONE
    refit_stays = after.refit <= math.hypot(at.NO_WORSE * before.refit, at.NO_MORE)
    masses_stay = after.masses <= at.NO_WORSE * before.masses
    if check == "scale":  # which is proposed only where it is far from 1, and leaves the fit as it is
        return after.masses < before.masses and refit_stays
    by_masses = after.masses < at.MASSES_FALL * before.masses and before.masses - after.masses > at.MASSES_MORE
    by_masses &= _within_falls(before, after, at.WITHIN_STAYS)
    if check in OF_FITS:
        return by_masses and refit_stays
    by_links = before.within is not None and _within_falls(before, after, at.WITHIN_FALLS, at.WITHIN_MORE)
    more = at.BOTH_MORE if after.masses < at.BOTH_FALL * before.masses else at.REFIT_MORE
    by_refit = falls and before.refit - after.refit > more
    return (by_masses and refit_stays) or (masses_stay and (by_refit or (by_links and refit_stays)))


def _is_clear(before: Left, after: Left, check: str) -> bool:
    """Whether the refit residual is clearly smaller: overall, or at one joint and not larger at any other."""
    if after.refit < at.CLEARLY * before.refit and before.refit - after.refit > at.CLEARLY_MORE:
        return True
    left, now = np.array(before.joints), np.array(after.joints)
    least = at.CLEARLY_LATE if check == "late" else at.CLEARLY_AT_JOINT
    falls = (now < least * left) & (left - now > at.CLEARLY_MORE)
    return bool(falls.any() and np.all(now <= np.hypot(at.NO_WORSE * left, at.NO_MORE)))


def _within_falls(before: Left, after: Left, falls: float, more: float = 0.0) -> bool:
    """Whether the residual with links within the file's tolerances decreases; True if it was not computed."""
    if before.within is None or after.within is None:
        return True
    return after.within < min(falls * before.within, before.within - more)


def _percent(x: float) -> str:
    return f"{100 * x:.2g} %"
