"""`significance`: which values of a problem matter, and how few of them predict as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minertia.identification.build import Problem, build_problem
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.evidence.significance import SHARE, Significance, eliminate, one_percent

FORMAT = 1


@dataclass(frozen=True)
class SignificantParameters:
    """What two rules keep: contributions of at least a share of an effort, and backward elimination with an F test."""

    robot: str
    one_percent: Significance
    elimination: Significance

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "format": FORMAT,
            "robot": self.robot,
            "one_percent": self.one_percent.to_dict(),
            "elimination": self.elimination.to_dict(),
        }

    def __repr__(self) -> str:
        kept = len(self.one_percent.essential), len(self.elimination.essential)
        return (
            f"<SignificantParameters of '{self.robot}': of {len(self.one_percent.names)} values {kept[0]} contribute "
            f"enough, {kept[1]} predict as well>"
        )


def significance(problem: Problem | Campaign, *, share: float = SHARE, tell: Tell = silent) -> SignificantParameters:
    """Examine the values of a problem, or of a campaign; share: of an effort, which a contribution must reach."""
    built = problem if isinstance(problem, Problem) else build_problem(problem, tell=tell)
    tell("rule of contributions")
    rule = one_percent(built.free, share)
    tell("backward elimination")
    path = eliminate(built.free, unseen=built.unseen_observation())
    return SignificantParameters(built.campaign.robot.name, rule, path)
