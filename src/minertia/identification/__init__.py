"""Measured logs to dynamic models: recordings, audits, filters, campaigns, estimators, evidence.

The names below are loaded when they are first asked for: SciPy's filters take longer to import than a log to read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minertia.identification.audits.audit import audit
    from minertia.identification.audits.findings import Finding
    from minertia.identification.campaigns.campaign import Campaign, LogEntry, read_campaign
    from minertia.identification.campaigns.new import new_campaign
    from minertia.identification.gains import drive_gains
    from minertia.identification.identify import Identification
    from minertia.identification.logs.columns import ColumnMap
    from minertia.identification.logs.drive import Drive
    from minertia.identification.logs.readers import iter_blocks, read_recording
    from minertia.identification.logs.recording import Recording
    from minertia.identification.logs.repair import repaired
    from minertia.identification.model import IdentifiedModel, identified_model, read_model, write_model
    from minertia.identification.payload import Payload, identify_payload
    from minertia.identification.run import identify_campaign
    from minertia.identification.signals.evaluation import Evaluation, judged
    from minertia.identification.signals.filtering import Filter, Motion, decimated, prepared
    from minertia.identification.signals.streaming import prepared_blocks
    from minertia.identification.significance import eliminate, one_percent

# name -> module of this package
_HOMES = {
    "Campaign": "campaigns.campaign",
    "ColumnMap": "logs.columns",
    "Drive": "logs.drive",
    "Evaluation": "signals.evaluation",
    "Filter": "signals.filtering",
    "Finding": "audits.findings",
    "Identification": "identify",
    "IdentifiedModel": "model",
    "LogEntry": "campaigns.campaign",
    "Motion": "signals.filtering",
    "Payload": "payload",
    "Recording": "logs.recording",
    "audit": "audits.audit",
    "decimated": "signals.filtering",
    "drive_gains": "gains",
    "eliminate": "significance",
    "identified_model": "model",
    "identify_campaign": "run",
    "identify_payload": "payload",
    "iter_blocks": "logs.readers",
    "judged": "signals.evaluation",
    "new_campaign": "campaigns.new",
    "one_percent": "significance",
    "prepared": "signals.filtering",
    "prepared_blocks": "signals.streaming",
    "read_campaign": "campaigns.campaign",
    "read_model": "model",
    "read_recording": "logs.readers",
    "repaired": "logs.repair",
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
