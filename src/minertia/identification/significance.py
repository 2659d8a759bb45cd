"""`significance`: essential parameters of a problem, and the smallest set that predicts as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.evidence.significance import SHARE, Significance, eliminate, one_percent
from minertia.identification.identify import build_problem
from minertia.identification.kind import Problem
from minertia.io.notebook import clipped, frame, html_table

FORMAT = 1


@dataclass(frozen=True)
class SignificantParameters:
    """Parameters retained by two rules: minimum contribution to an effort, and backward elimination with F test."""

    robot: str
    one_percent: Significance
    elimination: Significance

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {
            "format": FORMAT,
            "robot": self.robot,
            "one_percent": self.one_percent.to_dict(),
            "elimination": self.elimination.to_dict(),
        }

    def to_frame(self) -> Any:
        """A pandas DataFrame: the largest contribution of each parameter, and whether either rule retains it."""
        names, shares, kept, stays = zip(*self._rows(), strict=True) if self.one_percent.names else ((),) * 4
        columns = {"name": names, "contribution": shares, "contributes": kept, "essential": stays}
        return frame(columns, "name", robot=self.robot)

    def _rows(self) -> list[tuple[str, float, bool, bool]]:
        """(name, largest contribution to any effort, retained by the contribution rule, retained by the F test)."""
        rule, path = self.one_percent, self.elimination
        largest = rule.contributions.max(axis=1, initial=0.0)
        return [
            (name, float(share), name in rule.essential, name in path.essential)
            for name, share in zip(rule.names, largest, strict=True)
        ]

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{100 * share:.2f} %", "yes" if kept else "", "yes" if stays else "")
            for name, share, kept, stays in self._rows()
        ]
        headers = ("value", "largest contribution", "contributes enough", "needed to predict as well")
        return html_table(f"Essential parameters of {self.robot}", headers, rows, right=(1,))

    def __repr__(self) -> str:
        kept = len(self.one_percent.essential), len(self.elimination.essential)
        return (
            f"<SignificantParameters of '{clipped(self.robot, 40)}': of {len(self.one_percent.names)} values "
            f"{kept[0]} contribute enough, {kept[1]} predict as well>"
        )


def significance(problem: Problem | Campaign, *, share: float = SHARE, tell: Tell = silent) -> SignificantParameters:
    """Assess the parameters of a problem or campaign; share: minimum contribution to an effort, as a fraction."""
    built = problem if isinstance(problem, Problem) else build_problem(problem, tell=tell)
    fitted, unseen = built.linear_rows()
    tell("rule of contributions")
    rule = one_percent(fitted, share)
    tell("backward elimination")
    path = eliminate(fitted, unseen=unseen)
    return SignificantParameters(built.campaign.robot.name, rule, path)
