"""Whether a model is good, and the sentences that say why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.left_out import LeftOut
from minertia.identification.evidence.residuals import Residuals, residuals_of
from minertia.identification.evidence.setups import Suspicion
from minertia.notebook import clipped

WORSE, MORE = 1.25, 0.005  # ratio of errors, and part of the effort, within which two models are comparable
BETTER = 1.05  # ratio from which one is called better
NO_PRAISE = 0.5  # of the effort: to leave less than a model that leaves this much is nothing to be praised for
OVERFIT = 1.5  # unseen over training error from which the difference is named
POOR = 0.3  # relative deviation from which a value is called poorly known
MOST = 1 / 3  # of the effort: a model that leaves more on unseen motion is not good, whatever it is compared with
LARGE = 0.2  # of the effort, or half of a joint's: a good model that leaves more says so plainly
LARGE_JOINT = 0.5


@dataclass(frozen=True)
class Verdict:
    """Is the model good, and why.

    suspicions: set-ups that explain the efforts far better.  not_judged: sentences on what could not be tried.
    """

    is_good: bool
    reasons: tuple[str, ...]
    suspicions: tuple[Suspicion, ...] = ()
    not_judged: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        return "good" if self.is_good else "not good"

    def __repr__(self) -> str:
        first = f": {clipped(self.reasons[0], 120)}" if self.reasons else ""
        return f"<Verdict: {self.word}{first}{f' (and {len(self.reasons) - 1} more)' if self.reasons[1:] else ''}>"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "good": self.is_good,
            "reasons": list(self.reasons),
            "suspicions": [suspicion.to_dict() for suspicion in self.suspicions],
            "not_judged": list(self.not_judged),
        }


def verdict(evidence: Evidence) -> Verdict:
    """Better than the reference models on motion it has not seen, or not; the rest are remarks."""
    e = evidence
    is_good, reasons = _on_unseen(e.training, e.unseen, e.rivals) if e.unseen else _on_left_out(e.training, e.left_out)
    poor = [p.name for p in e.parameters if p.kind != "fixed" and p.relative_deviation > POOR]
    if poor:
        reasons.append(f"{len(poor)} of {len(e.parameters)} values are known to no better than {_percent(POOR)}")
    reasons += [*e.not_excited.values(), *e.remarks, *e.not_judged]
    faults = (*_told(e.suspicions), *e.faults)
    return Verdict(is_good and not faults, (*faults, *reasons), e.suspicions, e.not_judged)


def _told(suspicions: Sequence[Suspicion]) -> list[str]:
    """The likely cause, and others that explain the efforts as well."""
    return [f"{'or: ' if k else ''}{suspicion.sentence}" for k, suspicion in enumerate(suspicions)]


def _on_unseen(
    training: Residuals, unseen: Sequence[Residuals], rivals: Mapping[str, Sequence[Residuals]]
) -> tuple[bool, list[str]]:
    """Judged by logs that were not fitted."""
    is_good = True
    own = float(np.mean([r.relative for r in unseen]))
    logs = "1 unseen log" if len(unseen) == 1 else f"{len(unseen)} unseen logs"
    reasons = [f"on {logs} the residual is {_percent(own)} of the effort"]
    for name, judged in rivals.items():
        theirs = float(np.mean([r.relative for r in judged]))
        is_worse = own > WORSE * theirs and own > theirs + MORE
        is_good &= not is_worse
        reasons.append(_compared(own, theirs, is_worse, name))
    is_small, told = _size(own, training, unseen)
    reasons += told
    if own > OVERFIT * training.relative:
        reasons.append(f"the residual on unseen motion is {own / training.relative:.1f} times that of the training")
    return is_good and is_small, reasons


def _compared(own: float, theirs: float, is_worse: bool, name: str) -> str:
    """A sentence on a rival; one that leaves most of the effort is no rival."""
    if theirs > NO_PRAISE and not is_worse:
        return f"{name} leaves {_percent(theirs)} of the effort there"
    word = "worse than" if is_worse else "better than" if BETTER * own < theirs else "comparable with"
    return f"{word} {name} there ({_percent(theirs)})"


def _on_left_out(training: Residuals, left_out: LeftOut) -> tuple[bool, list[str]]:
    """Judged by cross-validation folds of the training."""
    reasons = ["no unseen log was given; judged by cross-validation on the training logs"]
    own = left_out.relative
    if not np.isfinite(own):
        return False, [*reasons, "the logs are too short for cross-validation folds"]
    reasons.append(f"on left-out folds the residual is {_percent(own)} of the effort")
    judged = residuals_of("left-out folds", training.joints, left_out.rest, left_out.effort, left_out.samples)
    is_small, told = _size(own, training, [judged])
    reasons += told
    if own > OVERFIT * training.relative:
        reasons.append(
            f"that is {own / training.relative:.1f} times the residual of the training: on other motion expect "
            "more; record longer or richer motion"
        )
    return is_small, reasons


def _size(own: float, training: Residuals, unseen: Sequence[Residuals]) -> tuple[bool, list[str]]:
    """Whether what is left is small enough for a good model, however the reference models do, and what to say."""
    is_small, told = own < MOST, []
    if own >= MOST:
        told.append(
            f"{_percent(own)} of the effort is not explained, more than a third: whatever it is compared with, such a "
            "model is not good"
        )
    elif own >= LARGE:
        told.append(
            f"a large part, {_percent(own)} of the effort, is not explained: look for it in the curves (friction at "
            "reversals, a delay, cables, signs) before relying on the model"
        )
    for joint, log, relative, is_idle in _unexplained(training, unseen):
        if is_idle:
            told.append(
                f"joint {joint} has hardly any effort in {log}, less than the model leaves in training: "
                f"{_percent(relative)} of it is left, which says nothing"
            )
        else:
            is_small = False
            told.append(f"joint {joint}: {_percent(relative)} of its effort is left, more than without any model")
    half = [j for k, j in enumerate(training.joints) if LARGE_JOINT < max(r.joint_relative[k] for r in unseen) <= 1]
    if half:
        told.append(f"more than half of the effort of {', '.join(half)} is left")
    return is_small, told


def _unexplained(training: Residuals, unseen: Sequence[Residuals]) -> list[tuple[str, str, float, bool]]:
    """Joints whose residual on unseen motion is larger than their effort: the worst log, its residual, if idle there.

    A joint is idle where its effort is below the level that the model leaves in training, and its residual not far
    above that level: no model of this quality could do better there than none.
    """
    worst: dict[tuple[str, bool], tuple[str, float]] = {}
    for r in unseen:
        each = zip(r.joints, r.joint_relative, r.joint_rmse, training.joint_rmse, strict=True)
        for joint, relative, rmse, usual in each:
            if not 1 < relative < np.inf:
                continue
            key = (joint, rmse / relative <= usual and rmse <= 2 * usual)
            if relative > worst.get(key, ("", 0.0))[1]:
                worst[key] = (r.log, relative)
    return [(joint, log, relative, is_idle) for (joint, is_idle), (log, relative) in worst.items()]


def _percent(x: float) -> str:
    return f"{100 * x:.3g} %"
