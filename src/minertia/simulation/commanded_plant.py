"""Simulation of command logs in MuJoCo at its own step, with the actuators exported for an identified model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.closed_loop.actuators import loop_of, motor_name, not_held, rate_name, to_position_mjcf
from minertia.identification.closed_loop.carrying import is_weightless
from minertia.identification.closed_loop.judge import steps_of
from minertia.identification.closed_loop.layout import SprungLayout
from minertia.identification.closed_loop.logs import LoopLog, loop_log
from minertia.identification.closed_loop.predict import VALIDATED_STEP
from minertia.identification.closed_loop.record import recorded_loop
from minertia.identification.closed_loop.simulate import with_start
from minertia.identification.evidence.residuals import Residuals, residuals_of_arrays
from minertia.identification.logs.options import ColumnMap
from minertia.identification.model import IdentifiedModel, Model, with_efforts
from minertia.identification.model_file import read_model
from minertia.identification.remembered import campaign_like
from minertia.io.errors import InputError, MinertiaError, RecordingError
from minertia.simulation.engines import mujoco_package
from minertia.simulation.options import STEPS, ValidationOptions

Array = NDArray[np.float64]
STEP = ValidationOptions().step  # s


def validate_in_mujoco(
    model: Model | str | Path,
    logs: LogLike | Sequence[LogLike],
    *,
    step: float = STEP,
    columns: ColumnMap | str | Path | None = None,
    tell: Tell = silent,
) -> tuple[Residuals, ...]:
    """Residuals of logs whose commands MuJoCo tracks with the model's `<position>` actuators; step: MuJoCo's [s].

    columns: column mapping of the logs; None for that of the model's logs.
    The commands are held and delayed as in the servo model, in whole steps of MuJoCo.  Effects of the model that MuJoCo
    does not simulate are listed in the remarks.
    """
    if not STEPS[0] <= step <= STEPS[1]:
        raise InputError(f"the time step of MuJoCo must be between {STEPS[0]:g} and {STEPS[1]:g} s, not {step:g} s")
    known = with_efforts(model if isinstance(model, Model) else read_model(model), "a simulation in MuJoCo")
    campaign = campaign_like(known, logs, columns)
    found = []
    for log in campaign.validate:
        if log.load is not None or is_weightless(known.nominal):
            text = "MuJoCo simulates no loads of logs, as the runs of a servo have; validate it without --in"
            raise RecordingError(text, file=log.name)
        tell(f"simulating {log.name} in MuJoCo")
        found += follow_logs(known, campaign, [loop_log(campaign, log)], step)
    return tuple(found)


def follow_logs(
    model: IdentifiedModel, campaign: Campaign, logs: Sequence[LoopLog], step: float = STEP
) -> list[Residuals]:
    """Residuals of logs that are read already, simulated in MuJoCo; step: MuJoCo's [s]."""
    found = []
    for log in logs:
        made, theta = recorded_loop(campaign, model, log.period)
        begun = with_start(made, theta, log, steps_of(log, VALIDATED_STEP))  # behind springs it is not measured
        found.append(_compared(model, begun, step))
    return found


def _compared(model: IdentifiedModel, log: LoopLog, step: float) -> Residuals:
    q = followed(model, log, step)
    names = _layout(model, log).names(model.robot.coordinate_names)
    told = residuals_of_arrays(log.name, names, log.lag[log.rows], (q - log.told)[log.rows])
    return replace(told, remarks=tuple(not_held(model)))


def _layout(model: IdentifiedModel, log: LoopLog) -> SprungLayout:
    return log.layout or SprungLayout(model.robot.n)


def followed(model: IdentifiedModel, log: LoopLog, step: float) -> Array:
    """Simulated positions (N, outputs) at the rows of a log, from its initial state and with its commands."""
    mujoco: Any = mujoco_package()
    loop, layout = loop_of(model), _layout(model, log)
    try:
        plant = mujoco.MjModel.from_xml_string(to_position_mjcf(model))
    except ValueError as err:
        raise MinertiaError(f"MuJoCo rejects this robot: {str(err).splitlines()[0]}") from None
    count = max(1, round(log.period / step))
    plant.opt.timestep = log.period / count
    data = mujoco.MjData(plant)
    joints = loop["joints"]
    names = [*joints, *(motor_name(joints[j]) for j in layout.elastic)]
    places = [int(plant.joint(name).qposadr[0]) for name in names]
    rates = [int(plant.joint(name).dofadr[0]) for name in names]
    shifts = _shifts(loop, layout)  # of positions here against those of the log
    data.qpos[places], data.qvel[rates] = log.q0 + shifts, log.v0
    delay = loop["delay"] if loop["delay_of"] == "command" else 0.0
    by_rate = bool(loop["velocity_reference"])
    told = log.command(count, delay, tuple(range(layout.n)), linear=loop["hold"] == "linear", by_rate=by_rate)
    ctrl = told.u + shifts[[layout.motor(j) for j in range(layout.n)]]
    drives = [plant.actuator(name).id for name in joints]
    dampers = [plant.actuator(rate_name(name)).id for name in joints] if by_rate else []
    rows = [data.qpos[places].copy()]
    for k, u in enumerate(ctrl):
        data.ctrl[drives] = u
        if told.ud is not None:
            data.ctrl[dampers] = told.ud[k]
        mujoco.mj_step(plant, data)
        if (k + 1) % count == 0:
            rows.append(data.qpos[places].copy())
    return np.asarray((np.array(rows) - shifts)[:, list(layout.outputs)])


def _shifts(loop: dict[str, Any], layout: SprungLayout) -> Array:
    """Position in the exported file minus position in the log, for all coordinates.

    It is the zero offset for links, and the zero offset minus the rest deflection of the spring for motors of
    elastic joints.
    """
    zeros = np.array(loop["zeros"], float)
    rest = np.array(loop.get("elastic", {}).get("rest", ()), float)
    return np.concatenate([zeros, zeros[list(layout.elastic)] - rest])
