"""`WrenchModel`: saved model of a tool on a sensor, with bias, mount and gravity direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minertia.identification.model import ModelWithoutEfforts
from minertia.identification.wrench.drift import BiasCurve
from minertia.identification.wrench.fit import CarriedTool
from minertia.identification.wrench.load import Mount
from minertia.io.notebook import clipped
from minertia.robot.identified import WRENCH
from minertia.robot.robot import Robot


@dataclass(frozen=True)
class WrenchModel(ModelWithoutEfforts):
    """Model of a tool on a force/torque sensor: its load and the sensor's bias.

    The other properties are those of `ModelWithoutEfforts`.
    """

    without_efforts: ClassVar[str] = (
        "this model contains a tool's wrench only; give a model fitted to logs of efforts (minertia identify "
        "ROBOT LOG...)"
    )
    table: ClassVar[str] = WRENCH

    @property
    def wrench(self) -> Mapping[str, Any]:
        """Load, mount and bias, as plain data (`wrench_record`)."""
        return self.found

    @property
    def robot(self) -> Robot:
        """The described robot, unchanged: the tool is not part of any link."""
        return self.described

    @property
    def tool(self) -> CarriedTool:
        """Identified tool and bias, for the prediction of wrenches."""
        return recorded_tool(self.wrench)

    def __repr__(self) -> str:
        M, c = self.wrench["load"][0], np.array(self.wrench["load"][1:4]) / self.wrench["load"][0]
        place = ", ".join(f"{1e3 * x:.3g}" for x in c)
        return f"<WrenchModel of '{clipped(self.described.name, 40)}': {M:.4g} kg at ({place}) mm of the sensor>"


def read_wrench(document: Mapping[str, Any], robot: Robot) -> WrenchModel:
    """Read a model from the document of its file."""
    recorded_tool(document[WRENCH])  # refuses what cannot be
    return WrenchModel.read(document, robot)


def wrench_record(tool: CarriedTool) -> dict[str, Any]:
    """Tool as plain data for a model file: rotation matrices row by row, bias over the recording order."""
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
    """Tool from its record in a model file; ValueError for wrong shapes."""
    axes, nominal = (np.array(record[key], float).reshape(3, 3) for key in ("axes", "nominal"))
    up, lean = (np.array(record[key], float).reshape(n) for key, n in (("up", 3), ("lean", 2)))
    order = np.array(record["order"], float)
    values = np.array(record["bias"], float).reshape(len(order), 6)
    curve = BiasCurve(order, values, np.array(record["slope"], float).reshape(6))
    load = np.array(record["load"], float)
    load = load.reshape(10 if load.size == 10 else 4)
    return CarriedTool(Mount(axes, nominal, up, lean, float(record["sign"])), load, curve, bool(record["ordered"]))
