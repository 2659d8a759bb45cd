"""Daily evidence of one robot, with the covariates that characterise its work."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.fleet.evidence import FleetEvidence
from minertia.io.arrays import Array


@dataclass(frozen=True)
class RobotDay:
    """One robot on one day.

    temperature (joints,): mean of the day [degC], NaN if unknown.  histograms (any, bins): fractions of the time
    that positions and speeds spend in bins of ranges which are the same for every day; None if not stored.
    program: its name, if logged.
    """

    evidence: FleetEvidence
    temperature: Array
    histograms: Array | None = None
    program: str = ""
