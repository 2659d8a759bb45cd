"""Verdict on a model: good, usable with limitations, or not good, with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.evidence import AlternativeSetup, Evidence
from minertia.identification.evidence.left_out import LeftOut
from minertia.identification.evidence.parameters import PRIOR, ParameterEvidence
from minertia.identification.evidence.residuals import Residuals, residuals_of
from minertia.io.notebook import clipped

Grade = Literal["good", "usable", "not good"]
ANSWERS: dict[Grade, str] = {"good": "yes", "usable": "with limits", "not good": "no"}


@dataclass(frozen=True)
class Limit:
    """Limitation of a usable model: the joint, the reason, and its relative residual; each: word for the joint."""

    joint: str
    what: str
    figure: float
    each: str = "joint"

    @property
    def sentence(self) -> str:
        """Message that states the limitation of the joint."""
        return f"{self.each} {self.joint}: {self.what}"

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {"joint": self.joint, "what": self.what, "figure": self.figure}


@dataclass(frozen=True)
class Verdict:
    """Grade of a model, with reasons.

    limits: limitations of a usable model, joint by joint.  predicts, knows: a line each on the quality of its
    predictions and the uncertainty of its parameters.  suspicions: set-ups that explain the efforts far better.
    not_judged: messages on checks that could not be made.
    """

    grade: Grade
    reasons: tuple[str, ...]
    limits: tuple[Limit, ...] = ()
    predicts: str = ""
    knows: str = ""
    suspicions: tuple[AlternativeSetup, ...] = ()
    not_judged: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether the model is good without limitations."""
        return self.grade == "good"

    @property
    def word(self) -> str:
        """Grade of the verdict in words."""
        return graded(self.grade)

    @property
    def lines(self) -> tuple[str, ...]:
        """Two lines: on the predictions, and on the parameter uncertainty."""
        return tuple(line for line in (self.predicts, self.knows) if line)

    def __repr__(self) -> str:
        first = f": {clipped(self.reasons[0], 120)}" if self.reasons else ""
        return f"<Verdict: {self.word}{first}{f' (and {len(self.reasons) - 1} more)' if self.reasons[1:] else ''}>"

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {
            "good": self.is_good,
            "grade": self.grade,
            "limits": [limit.to_dict() for limit in self.limits],
            "predicts": self.predicts,
            "knows": self.knows,
            "reasons": list(self.reasons),
            "suspicions": [suspicion.to_dict() for suspicion in self.suspicions],
            "not_judged": list(self.not_judged),
        }


def graded(grade: str) -> str:
    """A grade in words."""
    return "usable with limits" if grade == "usable" else grade


def grade_of(verdict: Mapping[str, Any]) -> str:
    """Grade of a verdict given as plain data, also of the older format with two grades."""
    return str(verdict.get("grade") or ("good" if verdict.get("good") else "not good"))


def grade_sentence(verdict: Mapping[str, Any]) -> str:
    """Message on limitations or faults of a verdict given as plain data; empty for a good or missing verdict."""
    if not verdict or grade_of(verdict) == "good":
        return ""
    told = [f"joint {limit['joint']}: {limit['what']}" for limit in verdict.get("limits") or ()]
    told = told or list(verdict.get("reasons") or ())[:1]
    return f"the model is {graded(grade_of(verdict))}" + (f": {'; '.join(map(str, told))}" if told else "")


def verdict(evidence: Evidence) -> Verdict:
    """Verdict: good, usable with limitations, or not good, by validation residuals and reference models.

    Joints that hardly moved in the fit but do in validation become limitations; the other joints decide.
    """
    found = _verdict(evidence)
    joints = [k for k, joint in enumerate(evidence.training.joints) if joint not in evidence.unmoved]
    is_theirs = found.grade == "not good" or any(limit.joint in evidence.unmoved for limit in found.limits)
    if not is_theirs or evidence.suspicions or evidence.faults or not evidence.unmoved or not joints:
        return found
    moved = replace(
        evidence,
        training=evidence.training.of(joints),
        unseen=tuple(r.of(joints) for r in evidence.unseen),
        rivals={name: tuple(r.of(joints) for r in theirs) for name, theirs in evidence.rivals.items()},
        unmoved={},
    )
    return _verdict(moved, _unmoved(evidence))


def _unmoved(e: Evidence) -> tuple[Limit, ...]:
    """Limitations by joints that hardly moved in the fit, with their relative residual on validation motion."""
    found = []
    for k, joint in enumerate(e.training.joints):
        if joint in e.unmoved:
            worst = max(r.structure[k] for r in e.unseen)
            left = f"{_percent(worst)} of its {e.measure.word} is not explained in the range of the validation motion"
            found.append(
                Limit(
                    joint, f"it hardly moved in the training logs, which say little about other motion ({left})", worst
                )
            )
    return tuple(found)


def _verdict(e: Evidence, known: tuple[Limit, ...] = ()) -> Verdict:
    """Verdict on the remaining joints; known: limitations by joints that were excluded."""
    judged = e.unseen or _folds(e.training, e.left_out)
    is_good, reasons = _beside_rivals(e, judged) if e.unseen else _without_unseen(e)
    found = (*known, *_limits(e, judged))
    reasons += [f"these figures exclude {', '.join(k.joint for k in known)}"] if known else []
    is_small, told = _size(e, judged)
    reasons += [*(limit.sentence for limit in found), *told, *_worse_than_training(e, judged)]
    reasons += [*_poorly_known(e.parameters), *e.not_excited.values(), *e.remarks, *e.not_judged]
    faults = (*_told(e.suspicions), *e.faults)
    grade: Grade = "not good" if faults or not (is_good and is_small) else "usable" if found else "good"
    limits = found if grade == "usable" else ()
    where = "validation logs" if e.unseen else "held-out folds"
    predicts = _predicts_line(e, grade, _mean(judged), limits, where, is_faulty=bool(faults))
    return Verdict(grade, (*faults, *reasons), limits, predicts, knows_line(e.parameters), e.suspicions, e.not_judged)


def _predicts_line(
    e: Evidence, grade: Grade, left: float, limits: Sequence[Limit], where: str, *, is_faulty: bool
) -> str:
    """Line on how well a model predicts efforts (or another measured output), with its relative residual."""
    figure = f"relative residual {_percent(left)} on {where}" if np.isfinite(left) else "the accuracy is unknown"
    joints = ", ".join(dict.fromkeys(limit.joint for limit in limits))
    but = f"; limits at {joints}" if joints else "; but the set-up or the logs are doubtful" if is_faulty else ""
    return f"predicts {e.measure.predicts}: {ANSWERS[grade]}, {figure}{but}"


def knows_line(parameters: Sequence[ParameterEvidence]) -> str:
    """Line on the number of parameters a model determines, and their uncertainty."""
    own = [p for p in parameters if p.kind != "fixed"]
    known = [p.relative_deviation for p in own if p.kind != PRIOR and p.relative_deviation <= at.POOR]
    if not own:
        return "parameter accuracy: no parameter was fitted"
    if not known:
        return f"parameter accuracy: none of {len(own)} known to {_percent(at.POOR)} or better"
    half = ", half of these" if len(known) > 1 else ", this one"
    return (
        f"parameter accuracy: {len(known)} of {len(own)} known to {_percent(at.POOR)} or better{half} to "
        f"{100 * float(np.median(known)):.2g} %"
    )


def _told(suspicions: Sequence[AlternativeSetup]) -> list[str]:
    """Messages on the most likely set-up, and on alternatives that explain the efforts as well."""
    return [f"{'or: ' if k else ''}{suspicion.sentence}" for k, suspicion in enumerate(suspicions)]


def _mean(judged: Sequence[Residuals]) -> float:
    return float(np.mean([r.relative for r in judged])) if judged else float("nan")


def _beyond(judged: Sequence[Residuals]) -> float:
    """Relative residual beyond the noise of the logs."""
    return float(np.mean([r.beyond_noise for r in judged])) if judged else float("inf")


def _folds(training: Residuals, left_out: LeftOut) -> tuple[Residuals, ...]:
    """Cross-validation folds as residuals of a log; empty without folds."""
    if not np.isfinite(left_out.relative):
        return ()
    found = residuals_of("held-out folds", training.joints, left_out.rest, left_out.effort, left_out.samples)
    return (found.with_noise(training.joint_noise),)


def _beside_rivals(e: Evidence, judged: Sequence[Residuals]) -> tuple[bool, list[str]]:
    """Whether validation residuals are no worse than those of the reference models, with the reasons."""
    is_good, own = True, _mean(judged)
    logs = "1 validation log" if len(judged) == 1 else f"{len(judged)} validation logs"
    reasons = [f"on {logs} the residual is {_percent(own)} of the {e.measure.word}"]
    for name, theirs in e.rivals.items():
        left = _mean(theirs)
        is_worse = own > e.measure.worse * left and own > left + at.MORE
        is_good &= not is_worse
        reasons.append(_compared(e, own, left, is_worse, name))
    return is_good, reasons


def _compared(e: Evidence, own: float, theirs: float, is_worse: bool, name: str) -> str:
    """Message that compares the model with a reference model.

    If the reference's residual is near the effort itself, the model is not called better or comparable.
    """
    if theirs > at.NO_PRAISE and not is_worse:
        return f"{name} has a relative residual of {_percent(theirs)} there"
    word = "worse than" if is_worse else "better than" if own < e.measure.better * theirs else "comparable with"
    return f"{word} {name} there ({_percent(theirs)})"


def _without_unseen(e: Evidence) -> tuple[bool, list[str]]:
    """Whether cross-validation on the training logs gives a finite residual, with the reasons."""
    own = e.left_out.relative
    if not np.isfinite(own):
        return False, ["no validation log was given, and the training logs are too short for cross-validation folds"]
    reason = "no validation log was given; evaluated by cross-validation on the training logs"
    return True, [reason, f"on held-out folds the residual is {_percent(own)} of the {e.measure.word}"]


def _worse_than_training(e: Evidence, judged: Sequence[Residuals]) -> list[str]:
    own = _mean(judged)
    if e.drifts or not own > at.OVERFIT * e.training.relative:
        return []
    times = own / e.training.relative
    if e.unseen:
        return [f"the residual on validation motion is {times:.1f} times that of the training logs"]
    return [
        f"that is {times:.1f} times the residual of the training logs: expect larger residuals on other motion; "
        "record longer or richer motion"
    ]


def _poorly_known(parameters: Sequence[ParameterEvidence]) -> list[str]:
    held = sum(p.kind == PRIOR for p in parameters)
    poor = sum(p.kind not in ("fixed", PRIOR) and p.relative_deviation > at.POOR for p in parameters)
    every = len(parameters)
    found = [f"{poor} of {every} values are known to no better than {_percent(at.POOR)}"] if poor else []
    return [*found, f"{held} of {every} values are determined by the prior rather than by the data"] if held else found


def _limits(e: Evidence, judged: Sequence[Residuals]) -> tuple[Limit, ...]:
    """Limitations by joints whose residual beyond noise exceeds that of a good model.

    A joint's residual in training also counts, however little effort it needs in the validation logs.
    """
    found, least = [], e.measure.joint(_beyond(judged))
    noise = ", beyond noise" * e.measure.knows_noise
    for k, joint in enumerate(e.training.joints):
        worst, log = max(((_beyond_noise(e, r, k), r.log) for r in judged), default=(0.0, ""))
        fitted, where = e.training.structure[k], f" in {log}" if len(judged) > 1 else ""
        if worst <= least and e.unseen and e.measure.joint(0.0) < fitted <= 1:
            worst, where = fitted, " in training"
        if least < worst <= 1:
            found.append(
                Limit(
                    joint,
                    f"{_percent(worst)} of its {e.measure.word} is not explained{where}{noise}",
                    worst,
                    e.measure.each,
                )
            )
    return tuple(found)


def _beyond_noise(e: Evidence, r: Residuals, k: int) -> float:
    """Relative residual of a joint beyond the noise of the log; 0 where the joint is idle."""
    return 0.0 if _is_idle(e, r, k) else r.structure[k]


def _size(e: Evidence, judged: Sequence[Residuals]) -> tuple[bool, list[str]]:
    """Whether the residual is small enough for a usable model, regardless of reference models, with messages."""
    is_small, told, own = True, [], _mean(judged)
    beyond, bound, word = _beyond(judged), e.measure.most(e.friction), e.measure.word
    if judged and beyond >= bound:
        is_small = False
        noise = f" {_percent(beyond)} beyond the noise of the log," * e.measure.knows_noise
        told.append(
            f"{_percent(own)} of the {word} is not explained,{noise} more than the {_percent(bound)} that "
            f"{e.measure.advice}"
        )
    elif e.measure.knows_noise and own >= at.DROWNED:
        is_small = False
        told.append(
            f"{_percent(own)} of the {word} is not explained: even if all of this is noise, the logs do not show "
            f"whether the model predicts the {word}; check their columns, and record motion with larger {word}s"
        )
    for joint, log, relative, is_idle in _unexplained(e, judged):
        if is_idle:
            told.append(
                f"{e.measure.each} {joint} has hardly any {word} in {log}, less than the training residual of the "
                f"model: its relative residual of {_percent(relative)} is not meaningful"
            )
        else:
            is_small = False
            told.append(
                f"{e.measure.each} {joint}: the relative residual of its {word} is {_percent(relative)}, more than "
                "without any model"
            )
    return is_small, told


def _unexplained(e: Evidence, judged: Iterable[Residuals]) -> list[tuple[str, str, float, bool]]:
    """Joints whose residual exceeds their effort, each with its worst log, the residual, and whether idle there."""
    worst: dict[tuple[str, bool], tuple[str, float]] = {}
    for r in judged:
        for k, (joint, relative) in enumerate(zip(r.joints, r.joint_relative, strict=True)):
            if not e.measure.output < relative < np.inf:
                continue
            key = (joint, _is_idle(e, r, k) or r.structure[k] <= 1)
            if relative > worst.get(key, ("", 0.0))[1]:
                worst[key] = (r.log, relative)
    return [(joint, log, relative, is_idle) for (joint, is_idle), (log, relative) in worst.items()]


def _is_idle(e: Evidence, r: Residuals, k: int) -> bool:
    """Whether a joint's effort is below its training residual, and its residual not far above that.

    No model of this quality could do better there than a zero prediction.
    """
    rmse, relative, usual = r.joint_rmse[k], r.joint_relative[k], e.training.joint_rmse[k]
    if not e.measure.knows_noise:
        return False
    return not np.isfinite(relative) or (relative > 0 and rmse / relative <= usual and rmse <= 2 * usual)


def _percent(x: float) -> str:
    return f"{100 * x:.3g} %"
