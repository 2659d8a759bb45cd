"""Imports that jobs need: the process from which jobs are forked imports this module before the first of them."""

from __future__ import annotations

from contextlib import suppress

import minertia.base.derive
import minertia.codegen.generate
import minertia.excitation.excite
import minertia.identification.audits.findings
import minertia.identification.campaigns.new
import minertia.identification.campaigns.read
import minertia.identification.identify
import minertia.identification.logs.csv
import minertia.identification.significance
import minertia.report.fit_views
import minertia.report.folders
import minertia.report.motions
import minertia.report.robot_views
import minertia.studio.log_curves
import minertia.studio.work  # noqa: F401
from minertia.io.errors import MissingExtra
from minertia.io.extras import load

with suppress(MissingExtra):  # which reads logs, where it is installed
    load("pyarrow.csv", "logs")
