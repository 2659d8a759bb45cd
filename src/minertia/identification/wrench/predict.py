"""Wrenches predicted by an identified tool and bias: residuals, and curves over the poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.identification.campaigns.campaign import LogLike
from minertia.identification.campaigns.options import WrenchOptions
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import Curves, LogReading, PredictedLog
from minertia.identification.remembered import campaign_like, fitted_before
from minertia.identification.wrench.fit import CarriedTool
from minertia.identification.wrench.load import CHANNELS
from minertia.identification.wrench.model import WrenchModel
from minertia.identification.wrench.poses import PoseLog, read_poses
from minertia.identification.wrench.residuals import wrench_residuals
from minertia.identification.wrench.samples import SensorPoses
from minertia.identification.wrench.setups import as_read

UNITS = ("N", "N", "N", "N m", "N m", "N m")


@dataclass(frozen=True)
class PredictedWrench(PredictedLog):
    """Measured wrenches of a file with their prediction and residuals.

    poses: the poses, processed as for the fit.  tool: identified tool and bias.
    """

    log: PoseLog
    residuals: Residuals
    poses: SensorPoses
    tool: CarriedTool

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of forces and moments."""
        return CHANNELS

    def curves(self) -> Curves:
        """Measured wrench without bias, and predicted wrench of the tool, pose by pose."""
        bias = self.tool.bias_at(self.poses)
        moves = self.poses.motion is not None
        t = self.poses.order if moves else np.arange(1.0, len(self.poses) + 1)
        measured, predicted = self.poses.wrench - bias, self.tool.predicted(self.poses) - bias
        return Curves(t, measured, predicted, UNITS, over="time [s]" if moves else "number of the pose")


def predict_wrenches(
    model: WrenchModel, logs: LogLike | Sequence[LogLike], reading: LogReading
) -> tuple[PredictedWrench, ...]:
    """Predict the wrenches of other files with a model; they are read with the settings of its campaign."""
    campaign, tool, found = campaign_like(model, logs, reading.columns), model.tool, []
    options = campaign.wrench or WrenchOptions()
    for log in campaign.validate:
        reading.tell(f"reading {log.name}")
        own = read_poses(campaign, [log], options)
        poses = as_read(own.poses, options)
        residuals = replace(wrench_residuals(own.name, tool, poses), remarks=fitted_before(model, log.name))
        found.append(PredictedWrench(own, residuals, poses, tool))
    return tuple(found)
