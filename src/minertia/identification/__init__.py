"""Measured logs to dynamic models: recordings, audits, filters, campaigns, estimators, evidence.

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
    from minertia.identification.gains import drive_gains
    from minertia.identification.identify import Identification
    from minertia.identification.model import IdentifiedModel, identified_model, read_model, write_model
    from minertia.identification.payload import Payload, identify_payload
    from minertia.identification.readers import iter_blocks, read_recording
    from minertia.identification.recording import Recording
    from minertia.identification.repair import repaired
    from minertia.identification.run import identify_campaign
    from minertia.identification.significance import eliminate, one_percent
    from minertia.identification.streaming import prepared_blocks

# name -> module of this package
_HOMES = {
    "Campaign": "campaign",
    "ColumnMap": "columns",
    "Drive": "drive",
    "Evaluation": "evaluation",
    "Filter": "filtering",
    "Finding": "findings",
    "Identification": "identify",
    "IdentifiedModel": "model",
    "LogEntry": "campaign",
    "Motion": "filtering",
    "Payload": "payload",
    "Recording": "recording",
    "audit": "auditing",
    "decimated": "filtering",
    "drive_gains": "gains",
    "eliminate": "significance",
    "identified_model": "model",
    "identify_campaign": "run",
    "identify_payload": "payload",
    "iter_blocks": "readers",
    "judged": "evaluation",
    "new_campaign": "campaign_new",
    "one_percent": "significance",
    "prepared": "filtering",
    "prepared_blocks": "streaming",
    "read_campaign": "campaign",
    "read_model": "model",
    "read_recording": "readers",
    "repaired": "repair",
    "write_model": "model",
}

__all__ = [
    "Campaign",
    "ColumnMap",
    "Drive",
    "Evaluation",
    "Filter",
    "Finding",
    "Identification",
    "IdentifiedModel",
    "LogEntry",
    "Motion",
    "Payload",
    "Recording",
    "audit",
    "decimated",
    "drive_gains",
    "eliminate",
    "identified_model",
    "identify_campaign",
    "identify_payload",
    "iter_blocks",
    "judged",
    "new_campaign",
    "one_percent",
    "prepared",
    "prepared_blocks",
    "read_campaign",
    "read_model",
    "read_recording",
    "repaired",
    "write_model",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
