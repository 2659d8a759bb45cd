"""What jobs need, loaded once: the process that jobs are forked from imports this module before the first of them."""

from __future__ import annotations

import minertia.base.derive
import minertia.codegen.generate
import minertia.excitation.excite
import minertia.identification.identify
import minertia.report.fit_views
import minertia.report.folders
import minertia.report.motion_views
import minertia.report.robot_views
import minertia.studio.work  # noqa: F401
