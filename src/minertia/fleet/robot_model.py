"""Model of one robot of a fleet: the type's parameters, its payload relative to the mean, its own friction.

It is a model like those of `identify`, accepted by every command that takes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minertia.fleet.calendar import day_name
from minertia.fleet.columns import DAY, own_columns
from minertia.fleet.fit_result import FleetFit, RobotFit
from minertia.fleet.levels import LOADS
from minertia.fleet.readout import load_directions
from minertia.fleet.stored_types import StoredType
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.record import campaign_record
from minertia.identification.evidence.intervals import NORMAL
from minertia.identification.model import IdentifiedModel
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.terms import Wanted, at_joints
from minertia.identification.remembered import relation_of
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, UnknownName
from minertia.robot.effects import BY_SYMBOL


def robot_model(stored: StoredType, fit: FleetFit, robot: str) -> IdentifiedModel:
    """Model of a robot of a fit; raises an error for effects that models do not support."""
    if robot not in fit.robots:
        raise UnknownName("robot of the fit", robot, fit.robots)
    strange = [symbol for symbol in fit.symbols if symbol not in BY_SYMBOL]
    if strange:
        raise MinertiaError(
            (
                f"the fit has effects that a model file cannot represent ({', '.join(strange)}); fit with other "
                "effects: --columns "
            )
            + ",".join(symbol for symbol in fit.symbols if symbol not in strange)
        )
    own, kind = fit.robots[robot], stored.type
    linear = linear_model(kind.robot, _effects(stored, fit))
    beta, covariance = _values(linear, kind.column_set.model, fit, own)
    campaign = Campaign(kind.robot, columns=kind.columns, filter=kind.filter, sensors=kind.sensors)
    evidence = {
        "estimator": "fleet",
        "fleet": {
            "type": kind.name,
            "robot": robot,
            "robots": fit.type.robots,
            "days": [day_name(d) for d in own.days],
            "days_with_logs": own.count,
            "remarks": list(own.remarks),
        },
        "noise": dict(zip(linear.row_names, fit.sigma.tolist(), strict=True)),
    }
    return IdentifiedModel(
        linear,
        beta,
        covariance,
        _entries(linear, beta, covariance),
        dict(own.not_shown),
        linear.standard_values(beta),
        False,
        evidence,
        campaign_record(campaign),
    )


def _effects(stored: StoredType, fit: FleetFit) -> list[Wanted]:
    """Effects of a fit in the format of an identified model."""
    robot = stored.type.robot
    found: list[Wanted] = ["IA", *(symbol for symbol in DAY if symbol in fit.symbols)]
    for column in own_columns(stored.type.temperature):
        if column.symbol in fit.symbols and column.symbol not in DAY:
            found.append(at_joints(robot, column.symbol, robot.independent, column.constants, column.tag))
    return found


def _values(linear: LinearModel, inertial: LinearModel, fit: FleetFit, own: RobotFit) -> tuple[Array, Array]:
    """Estimates of the model's unknowns with their covariance, from those of the type and the robot."""
    told = {n: (v, s) for n, v, s in zip(own.names, own.values, own.deviation, strict=True) if np.isfinite(v)}
    directions = load_directions(inertial)
    loads = [name for name in LOADS if name in told and directions is not None]
    friction = [name for name in told if name not in LOADS]
    missing = [name for name in friction if name not in linear.standard]
    if missing:
        raise MinertiaError(f"the model of '{own.robot}' cannot represent {', '.join(missing)}")
    inside = np.stack([linear.values(inertial.standard_values(e)) for e in np.eye(inertial.count)], axis=1)
    columns = [inside]
    if directions is not None and loads:
        columns.append(inside @ directions[:, [LOADS.index(name) for name in loads]])
    columns += [linear.values({name: 1.0})[:, None] for name in friction]
    T = np.concatenate(columns, axis=1)
    names = [*loads, *friction]
    x = np.concatenate([fit.type.values, [told[name][0] for name in names]])
    variance = np.nan_to_num(np.concatenate([fit.type.deviation, [told[name][1] for name in names]])) ** 2
    return T @ x, np.asarray((T * variance) @ T.T)


def _entries(linear: LinearModel, beta: Array, covariance: Array) -> tuple[dict[str, Any], ...]:
    """Entries of an identified model: each estimate with its standard deviation and 95 % confidence interval."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return tuple(
        {
            "name": name,
            "value": value,
            "deviation": s,
            "interval": [value - NORMAL * s, value + NORMAL * s],
            "class": kind,
            "relation": relation_of(linear, name),
        }
        for name, value, s, kind in zip(linear.names, beta.tolist(), deviation.tolist(), linear.classes, strict=True)
    )
