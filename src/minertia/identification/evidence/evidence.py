"""`Evidence`: everything on which a verdict is based."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from minertia.identification.evidence.intervals import Spread
from minertia.identification.evidence.left_out import LeftOut
from minertia.identification.evidence.measure import EFFORT, Measure
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.io.notebook import plural


class AlternativeSetup(Protocol):
    """Set-up that explains the logs far better than the specified one: description, and change to make."""

    @property
    def check(self) -> str: ...  # noqa: D102
    @property
    def what(self) -> str: ...  # noqa: D102
    @property
    def change(self) -> str: ...  # noqa: D102
    @property
    def sentence(self) -> str: ...  # noqa: D102
    def to_dict(self) -> dict[str, Any]: ...  # noqa: D102


@dataclass(frozen=True)
class Evidence:
    """Evidence for an estimate: residuals, parameter uncertainty and the results of all checks.

    training: residuals of all fitted logs together; logs: of each fitted log.  unseen: residuals of the
    validation logs; rivals: of the reference models on these.  left_out: of cross-validation folds of the
    training logs, each predicted by a fit of the others.  spread: interval widths under correlated residuals,
    None if there are too few blocks. suspicions: set-ups that explain the logs far better than the specified one.
    faults: messages on other faults, each of which alone makes a model not good: impossible units, efforts that
    no robot can have caused, a validation log that is not independent.  remarks: warnings that do not decide.
    not_judged: messages on checks that could not be made.  friction: fraction of the fitted effort due to
    friction. unmoved: joints that hardly moved in the fit, with the ratio by which validation logs exceed their
    range there. measure: reference quantity of the residuals.  drifts: whether the fit follows a drift that cannot be
    predicted, so that training and validation residuals are not comparable.
    """

    training: Residuals
    logs: tuple[Residuals, ...]
    parameters: tuple[ParameterEvidence, ...]
    left_out: LeftOut
    unseen: tuple[Residuals, ...] = ()
    rivals: Mapping[str, tuple[Residuals, ...]] = field(default_factory=dict)
    not_excited: Mapping[str, str] = field(default_factory=dict)
    spread: Spread | None = None
    suspicions: tuple[AlternativeSetup, ...] = ()
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()
    friction: float = 0.0
    unmoved: Mapping[str, float] = field(default_factory=dict)
    measure: Measure = EFFORT
    drifts: bool = False

    def __repr__(self) -> str:
        unseen = f", {plural(len(self.unseen), 'validation log')}" if self.unseen else ""
        faults = plural(len(self.suspicions) + len(self.faults), "fault")
        return (
            f"<Evidence for {plural(len(self.parameters), 'value')} from {plural(len(self.logs), 'log')}{unseen}; "
            f"residual {100 * self.training.relative:.3g} % of the {self.measure.word}, {faults}>"
        )


@dataclass(frozen=True)
class ScoredEvidence:
    """Evidence for a prediction that was not fitted here.

    kind: how the prediction is given.  has_training: whether it includes the training logs; if not, the training
    residuals are those of the validation logs.
    """

    kind: str
    evidence: Evidence
    has_training: bool
