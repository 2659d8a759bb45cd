"""What an identification from commands found."""

from __future__ import annotations

from dataclasses import dataclass, field

from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import LoopJudged
from minertia.identification.closed_loop.logs import LoopLog


@dataclass(frozen=True)
class ReadLog:
    """One log of commands: as the campaign names it, as it is simulated, and what its audit said."""

    log: Log
    loop: LoopLog = field(repr=False)
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class LoopOutcome:
    """The campaign with every choice made, its logs, the fit, and how it was judged."""

    campaign: Campaign
    logs: tuple[ReadLog, ...]
    unseen: tuple[ReadLog, ...]
    fit: LoopFit
    judged: LoopJudged
