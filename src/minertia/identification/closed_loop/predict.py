"""Free-run simulation of logs of commands: position residuals and curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import LogLike
from minertia.identification.closed_loop.carrying import with_loads
from minertia.identification.closed_loop.judge import position_residuals, steps_of
from minertia.identification.closed_loop.logs import LoopLog, loop_log
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.record import recorded_loop
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import Curves, LogReading, PredictedLog
from minertia.identification.model import IdentifiedModel
from minertia.identification.remembered import campaign_like, fitted_before

Array = NDArray[np.float64]
VALIDATED_STEP = 2.5e-4  # s, with which logs are simulated that a model predicts
DRAWN_STEP = 1e-3  # s, of the curves of a fit, whose residuals have steps of their own


@dataclass(frozen=True)
class SimulatedLog(PredictedLog):
    """Log with its residuals, and the servo model and parameter values that simulate it.

    step: simulation step of its curves [s].
    """

    log: LoopLog
    model: ServoModel
    theta: Array
    residuals: Residuals
    step: float

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the measured positions."""
        return self.model.output_names

    def curves(self) -> Curves | None:
        """Tracking error of the outputs [mrad or mm], measured and simulated; None where the simulation diverges."""
        log, steps = self.log, steps_of(self.log, self.step)
        motion = simulated(self.model, self.theta, with_start(self.model, self.theta, log, steps), steps, slopes=False)
        if motion is None:
            return None
        t, rows = np.asarray(log.period * np.arange(len(log.q))[log.rows], float), log.rows
        return Curves(t, 1e3 * log.lag[rows], 1e3 * (motion.q - log.told)[rows], self._units())

    def _units(self) -> tuple[str, ...]:
        robot = self.model.robot
        kinds = [robot.joints[robot.independent[j]].kind for j in self.model.layout.joint_of]
        return tuple("mm" if kind == "prismatic" else "mrad" for kind in kinds)


def simulate_logs(
    model: IdentifiedModel, logs: LogLike | Sequence[LogLike], reading: LogReading
) -> tuple[SimulatedLog, ...]:
    """Simulate logs of commands with a model that was fitted to commands."""
    campaign = campaign_like(model, logs, reading.columns, drop_torn=reading.drop_torn)
    found = []
    for log in campaign.validate:
        reading.tell(f"simulating {log.name}")
        one = loop_log(campaign, log)
        made, theta = recorded_loop(campaign, model, one.period)
        (one,) = with_loads(made, [one], [log])
        residuals = position_residuals(made, theta, one, VALIDATED_STEP)
        told = replace(residuals, remarks=fitted_before(model, log.name))
        found.append(SimulatedLog(one, made, theta, told, VALIDATED_STEP))
    return tuple(found)
