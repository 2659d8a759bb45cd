"""What a tool and a bias leave of measured wrenches."""

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
    """Residuals relative to the tool's own wrench, beside their root mean squares per component [N, N m]."""

    poses: int = 0
    force_rms: float = 0.0
    moment_rms: float = 0.0

    def to_dict(self, with_log: bool = True) -> dict[str, Any]:
        """Convert to plain data."""
        own = ("poses", "force_rms", "moment_rms")
        return super().to_dict(with_log) | {name: getattr(self, name) for name in own}


def residuals_from(name: str, left: Array, load: Array) -> WrenchResiduals:
    """Of measured less predicted wrenches (N, 6), and of the tool's own as measured."""
    rest, whole = (np.linalg.norm(x, axis=0) for x in (left, load))
    force, moment = rms_of(left)
    found = residuals_of(name, CHANNELS, rest, whole, len(left))
    return WrenchResiduals(**vars(found), poses=len(left), force_rms=force, moment_rms=moment)


def wrench_residuals(name: str, tool: CarriedTool, poses: SensorPoses) -> WrenchResiduals:
    """Of the poses of a file."""
    left = poses.wrench - tool.predicted(poses)
    return residuals_from(name, left, poses.wrench - tool.bias_at(poses))
