"""`WrenchModel`: the tool on a sensor, with bias, mount and gravity direction, as it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from minertia.identification.model import Model, read_unknowns, unknowns_table
from minertia.identification.wrench.drift import BiasCurve
from minertia.identification.wrench.fit import CarriedTool
from minertia.identification.wrench.load import Mount
from minertia.io.arrays import Array
from minertia.io.notebook import clipped
from minertia.io.provenance import MadeOf, read_made_of
from minertia.robot.identified import WRENCH
from minertia.robot.robot import Robot


@dataclass(frozen=True)
class WrenchModel(Model):
    """A tool on a force/torque sensor: its load and the sensor's bias.

    described: the robot as its file has it, which stays as it is.  values: names of `beta` and `covariance`.
    wrench: load, mount and bias as plain data (`wrench_record`).  The rest is that of `Model`.
    """

    without_efforts: ClassVar[str] = (
        "this one has a tool's wrench alone: give a model of logs of efforts (minertia identify ROBOT LOG...)"
    )
    described: Robot
    values: tuple[str, ...]
    beta: Array
    covariance: Array
    parameters: tuple[Mapping[str, Any], ...]
    wrench: Mapping[str, Any]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    campaign: Mapping[str, Any] = field(default_factory=dict)
    made_of: tuple[MadeOf, ...] = ()
    not_excited: Mapping[str, str] = field(default_factory=dict)
    is_physical: bool = True

    @property
    def nominal(self) -> Robot:
        """The robot as it is described."""
        return self.described

    @property
    def robot(self) -> Robot:
        """The robot as it is described: poses at rest show no inertia, so that no link takes the tool."""
        return self.described

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the values."""
        return self.values

    @property
    def tool(self) -> CarriedTool:
        """What predicts wrenches."""
        return recorded_tool(self.wrench)

    def tables(self) -> dict[str, Any]:
        """Values, and the table of the wrench."""
        return {"unknowns": unknowns_table(self), WRENCH: dict(self.wrench)}

    def __repr__(self) -> str:
        M, c = self.wrench["load"][0], np.array(self.wrench["load"][1:]) / self.wrench["load"][0]
        place = ", ".join(f"{1e3 * x:.3g}" for x in c)
        return f"<WrenchModel of '{clipped(self.described.name, 40)}': {M:.4g} kg at ({place}) mm of the sensor>"


def read_wrench(document: Mapping[str, Any], robot: Robot) -> WrenchModel:
    """A model from its file."""
    values, covariance = read_unknowns(document["unknowns"])
    recorded_tool(document[WRENCH])  # refuses what cannot be
    return WrenchModel(
        robot,
        tuple(document["unknowns"]["names"]),
        values,
        covariance,
        tuple(document["parameters"]),
        document[WRENCH],
        document["evidence"],
        document.get("campaign", {}),
        read_made_of(document),
    )


def wrench_record(tool: CarriedTool) -> dict[str, Any]:
    """A tool as a model's file holds it: rotations by rows, bias at places in the order of recording."""
    mount, bias = tool.mount, tool.bias
    return {
        "load": tool.load.tolist(),
        "axes": mount.axes.ravel().tolist(),
        "nominal": mount.nominal.ravel().tolist(),
        "up": mount.up.tolist(),
        "lean": mount.lean.tolist(),
        "sign": mount.sign,
        "ordered": tool.is_ordered,
        "order": bias.order.tolist(),
        "bias": bias.values.tolist(),
        "slope": bias.slope.tolist(),
    }


def recorded_tool(record: Mapping[str, Any]) -> CarriedTool:
    """A tool of its record; refused (ValueError) where shapes are not those of one."""
    axes, nominal = (np.array(record[key], float).reshape(3, 3) for key in ("axes", "nominal"))
    up, lean = (np.array(record[key], float).reshape(n) for key, n in (("up", 3), ("lean", 2)))
    order = np.array(record["order"], float)
    values = np.array(record["bias"], float).reshape(len(order), 6)
    curve = BiasCurve(order, values, np.array(record["slope"], float).reshape(6))
    load = np.array(record["load"], float).reshape(4)
    return CarriedTool(Mount(axes, nominal, up, lean, float(record["sign"])), load, curve, bool(record["ordered"]))
