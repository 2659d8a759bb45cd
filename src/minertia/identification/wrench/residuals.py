"""Residuals of measured wrenches with respect to an identified tool and bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.identification.evidence.residuals import Residuals, residuals_of
from minertia.identification.wrench.choice import rms_of
from minertia.identification.wrench.fit import CarriedTool
from minertia.identification.wrench.load import CHANNELS
from minertia.identification.wrench.samples import SensorPoses
from minertia.io.arrays import Array


@dataclass(frozen=True)
class WrenchResiduals(Residuals):
    """Residuals relative to the tool's wrench (measured minus bias), and their RMS per component [N, N m].

    poses: number of poses.  force_rms [N], moment_rms [N m]: root mean square per component of the residuals.
    """

    poses: int = 0
    force_rms: float = 0.0
    moment_rms: float = 0.0

    def to_dict(self, with_log: bool = True) -> dict[str, Any]:
        """Return as a dict of plain data."""
        own = ("poses", "force_rms", "moment_rms")
        return super().to_dict(with_log) | {name: getattr(self, name) for name in own}


def residuals_from(name: str, left: Array, load: Array) -> WrenchResiduals:
    """Residuals from measured minus predicted wrenches (N, 6); load: measured wrench minus the bias (N, 6)."""
    rest, whole = (np.linalg.norm(x, axis=0) for x in (left, load))
    force, moment = rms_of(left)
    found = residuals_of(name, CHANNELS, rest, whole, len(left))
    return WrenchResiduals(**vars(found), poses=len(left), force_rms=force, moment_rms=moment)


def wrench_residuals(name: str, tool: CarriedTool, poses: SensorPoses) -> WrenchResiduals:
    """Residuals between the wrenches measured at the poses of a file and those predicted for a tool."""
    left = poses.wrench - tool.predicted(poses)
    return residuals_from(name, left, poses.wrench - tool.bias_at(poses))
