"""`score_model`: evaluation of a model that anybody made, on the validation logs of a campaign, without fitting it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.evidence.verdict import Verdict, verdict
from minertia.identification.identify import build_problem
from minertia.identification.kind import Problem
from minertia.identification.model import Model
from minertia.io.errors import InputError, UnknownName
from minertia.io.files import is_file
from minertia.io.notebook import clipped, plural
from minertia.robot.robot import Robot

FORMAT = 1
SETS = Path("examples") / "logs"  # of a checkout
ONLY_TRAINING = (
    "the set has no validation log: these are residuals of its training logs, which the model may have been fitted to, "
    "so no grade is given"
)


@dataclass(frozen=True)
class Score:
    """Evaluation of an entry on a set of logs, as `identify` evaluates its own models.

    entry: its file or name; kind: "model", "robot" or "efforts".  campaign: name of the set.  training: residuals on
    the training logs of the set, None if the entry does not predict them.  validation: on its validation logs.
    references: residuals of the reference models there, by name.  verdict: None if the set has no validation log.
    """

    entry: str
    kind: str
    campaign: str
    robot: str
    training: Residuals | None
    validation: tuple[Residuals, ...]
    references: Mapping[str, tuple[Residuals, ...]]
    verdict: Verdict | None

    def sentences(self) -> tuple[str, ...]:
        """Results in whole sentences."""
        if self.verdict is None:
            return (ONLY_TRAINING,)
        return (f"the entry is {self.verdict.word}", self.verdict.predicts, *self.verdict.reasons)

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {
            "format": FORMAT,
            "entry": self.entry,
            "kind": self.kind,
            "set": self.campaign,
            "robot": self.robot,
            "training": None if self.training is None else self.training.to_dict(with_log=False),
            "validation": [r.to_dict() for r in self.validation],
            "references": {name: [r.to_dict() for r in theirs] for name, theirs in self.references.items()},
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
        }

    def __repr__(self) -> str:
        grade = "no grade" if self.verdict is None else self.verdict.word
        logs = plural(len(self.validation), "validation log")
        return f"<Score of '{clipped(self.entry, 40)}' on '{clipped(self.campaign, 40)}': {grade}, {logs}>"


def score_model(
    model: Model | Robot | str | Path,
    on: Problem | Campaign | str | Path,
    *,
    data: str | Path | None = None,
    tell: Tell = silent,
) -> Score:
    """Evaluate a model on the logs of a campaign with the filters, reference models and grades of `identify`.

    model: an identified model, a robot with masses and friction (URDF, MJCF ...), or a table of predicted joint
    efforts over the time of the log (columns t and tau1 ...); for several logs a folder of tables, named like them.
    on: a campaign, its file, the name of one in examples/logs, or its problem.  data: folder of its logs.
    """
    problem = on if isinstance(on, Problem) else build_problem(_campaign(on, data), tell=tell)
    tell("scoring")
    found = problem.scored(model)
    entry = model.name if isinstance(model, Robot) else model.nominal.name if isinstance(model, Model) else str(model)
    evidence = found.evidence
    return Score(
        entry,
        found.kind,
        problem.campaign.name,
        problem.campaign.robot.name,
        evidence.training if found.has_training else None,
        evidence.unseen,
        evidence.rivals,
        verdict(evidence) if evidence.unseen else None,
    )


def _campaign(on: Campaign | str | Path, data: str | Path | None) -> Campaign:
    """Campaign of a file, or of a set by its name."""
    if isinstance(on, Campaign):
        return on
    name = str(on)
    if is_file(name):
        return read_campaign(name, data)
    folders = (SETS, Path(__file__).parents[3] / SETS)
    known = {file.stem: file for folder in reversed(folders) for file in sorted(folder.glob("*.toml"))}
    if name not in known:
        if Path(name).suffix:
            raise InputError(f"there is no campaign file '{name}'; give its path, or the name of a set in {SETS}")
        raise UnknownName("set of logs", name, known)
    own = None if data is None else Path(data) / name
    return read_campaign(known[name], own if own is not None and own.is_dir() else data)
