"""Logs of commands repeated in MuJoCo at its own step, with the actuators that an identified model is written with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import InputError, MinertiaError
from minertia.identification.actuators import loop_of, position_mjcf
from minertia.identification.campaigns.campaign import LogLike
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.closed_loop.logs import LoopLog, loop_log
from minertia.identification.evidence.residuals import Residuals, residuals_of_arrays
from minertia.identification.model import IdentifiedModel
from minertia.identification.model_file import read_model
from minertia.identification.validate import campaign_like
from minertia.validation.engines import mujoco_package

Array = NDArray[np.float64]
STEP = 1e-3  # s
STEPS = 1e-5, 0.02  # s that a simulator may be asked for


def validate_in_mujoco(
    model: IdentifiedModel | str | Path,
    logs: LogLike | Sequence[LogLike],
    *,
    step: float = STEP,
    tell: Tell = silent,
) -> tuple[Residuals, ...]:
    """Residuals of logs whose commands MuJoCo follows with the model's `<position>` actuators; step: MuJoCo's [s].

    The commands are held and delayed as the model's loop says, in whole steps of MuJoCo.
    """
    if not STEPS[0] <= step <= STEPS[1]:
        raise InputError(f"MuJoCo's step is between {STEPS[0]:g} and {STEPS[1]:g} s, not {step:g} s")
    known = model if isinstance(model, IdentifiedModel) else read_model(model)
    campaign = campaign_like(known, logs)
    found = []
    for log in campaign.validate:
        tell(f"simulating {log.name} in MuJoCo")
        found.append(_compared(known, loop_log(campaign, log), step))
    return tuple(found)


def _compared(model: IdentifiedModel, log: LoopLog, step: float) -> Residuals:
    q = followed(model, log, step)
    return residuals_of_arrays(log.name, model.robot.coordinate_names, (log.q - log.u)[log.rows], (q - log.u)[log.rows])


def followed(model: IdentifiedModel, log: LoopLog, step: float) -> Array:
    """Positions at the rows of a log, from its start under its commands."""
    mujoco: Any = mujoco_package()
    loop = loop_of(model)
    try:
        plant = mujoco.MjModel.from_xml_string(position_mjcf(model))
    except ValueError as err:
        raise MinertiaError(f"MuJoCo does not take this robot: {str(err).splitlines()[0]}") from None
    count = max(1, round(log.period / step))
    plant.opt.timestep = log.period / count
    data = mujoco.MjData(plant)
    kinds = mujoco.mjtObj
    joints = [mujoco.mj_name2id(plant, kinds.mjOBJ_JOINT, name) for name in loop["joints"]]
    places = [int(plant.jnt_qposadr[joint]) for joint in joints]
    order = [mujoco.mj_name2id(plant, kinds.mjOBJ_ACTUATOR, name) for name in loop["joints"]]
    zeros = np.array(loop["zeros"])
    data.qpos[places], data.qvel[places] = log.q0 + zeros, log.v0
    delay = loop["delay"] if loop["delay_of"] == "command" else 0.0
    told = log.command(count, delay, tuple(range(log.q.shape[1])), linear=loop["hold"] == "linear", by_rate=False).u
    rows = [data.qpos[places].copy()]
    for k, u in enumerate(told):
        data.ctrl[order] = u + zeros
        mujoco.mj_step(plant, data)
        if (k + 1) % count == 0:
            rows.append(data.qpos[places].copy())
    return np.asarray(np.array(rows) - zeros)
