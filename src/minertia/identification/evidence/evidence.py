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
    """A set-up that explains the logs far better than the one stated: what it is, and what to change."""

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
    """What is known of an estimate.

    training: residuals of all fitted logs together; logs: of each.  unseen: of the logs that were only predicted;
    rivals: of other models on those.  left_out: of cross-validation folds of the training, each predicted by the rest.
    spread: widths under correlated residuals, None where there are too few blocks to tell.
    suspicions: set-ups that explain the logs far better than the one stated.
    faults: sentences of what else alone makes a model not good: units that cannot be, efforts that no robot can have
    caused, a log that is not unseen.  remarks: sentences on what is odd without deciding.
    not_judged: sentences on checks that could not be made.  friction: part of the fitted effort that friction takes.
    unmoved: joints that hardly moved in the fit, with how many times their range there unseen logs go beyond it.
    measure: what residuals are compared with.  drifts: whether the fit follows a drift, which unseen logs cannot.
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
        unseen = f", {plural(len(self.unseen), 'log')} only predicted" if self.unseen else ""
        faults = plural(len(self.suspicions) + len(self.faults), "fault")
        return (
            f"<Evidence for {plural(len(self.parameters), 'value')} from {plural(len(self.logs), 'log')}{unseen}; "
            f"residual {100 * self.training.relative:.3g} % of the {self.measure.word}, {faults}>"
        )
