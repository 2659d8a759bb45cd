"""What is judged of one robot on one day: its evidence, with what tells one day's work from another's."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.fleet.evidence import FleetEvidence
from minertia.io.arrays import Array


@dataclass(frozen=True)
class RobotDay:
    """One robot on one day.

    temperature (joints,): mean of the day [degC], NaN where it is not known.  histograms (any, bins): parts of the time
    that positions and speeds spend in bins of ranges which are the same for every day; None where they were not kept.
    program: its name, where logs say it.
    """

    evidence: FleetEvidence
    temperature: Array
    histograms: Array | None = None
    program: str = ""
