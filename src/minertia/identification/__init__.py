"""Measured logs to dynamic models: recordings, audits, filters, campaigns.

The names below are loaded when they are first asked for: SciPy's filters take longer to import than a log to read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minertia.identification.auditing import audit
    from minertia.identification.campaign import Campaign, LogEntry, read_campaign
    from minertia.identification.campaign_new import new_campaign
    from minertia.identification.columns import ColumnMap
    from minertia.identification.drive import Drive
    from minertia.identification.evaluation import Evaluation, judged
    from minertia.identification.filtering import Filter, Motion, decimated, prepared
    from minertia.identification.findings import Finding
    from minertia.identification.readers import iter_blocks, read_recording
    from minertia.identification.recording import Recording
    from minertia.identification.repair import repaired
    from minertia.identification.streaming import prepared_blocks

# name -> module of this package
_HOMES = {
    "Campaign": "campaign",
    "ColumnMap": "columns",
    "Drive": "drive",
    "Evaluation": "evaluation",
    "Filter": "filtering",
    "Finding": "findings",
    "LogEntry": "campaign",
    "Motion": "filtering",
    "Recording": "recording",
    "audit": "auditing",
    "decimated": "filtering",
    "iter_blocks": "readers",
    "judged": "evaluation",
    "new_campaign": "campaign_new",
    "prepared": "filtering",
    "prepared_blocks": "streaming",
    "read_campaign": "campaign",
    "read_recording": "readers",
    "repaired": "repair",
}

__all__ = [
    "Campaign",
    "ColumnMap",
    "Drive",
    "Evaluation",
    "Filter",
    "Finding",
    "LogEntry",
    "Motion",
    "Recording",
    "audit",
    "decimated",
    "iter_blocks",
    "judged",
    "new_campaign",
    "prepared",
    "prepared_blocks",
    "read_campaign",
    "read_recording",
    "repaired",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
