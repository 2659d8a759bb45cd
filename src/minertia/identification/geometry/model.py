"""`CalibratedModel`: the robot with corrected frames, and the other results of a calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from minertia.identification.geometry.chain import Array, Chain, chain_of, exponential
from minertia.identification.geometry.fit import GeometryFit
from minertia.identification.geometry.folds import GeometryRows, without_groups
from minertia.identification.geometry.joints import columns_at
from minertia.identification.geometry.layout import GeometryLayout, GeometryState, JointColumn
from minertia.identification.geometry.readings import Measurements
from minertia.identification.model import ModelWithoutEfforts
from minertia.io.notebook import clipped, plural
from minertia.robot.identified import GEOMETRY, TOOL, corrected_robot
from minertia.robot.robot import Robot

POINT = "calibrated_point_"  # names of frames in the corrected robot, with those of the points


@dataclass(frozen=True)
class CalibratedModel(ModelWithoutEfforts):
    """Model of a robot with corrected geometry.

    The other properties are those of `ModelWithoutEfforts`.
    """

    without_efforts: ClassVar[str] = (
        "this model contains corrected geometry only; identify the corrected robot from logs of efforts "
        "(minertia identify MODEL LOG...) and give that model"
    )
    table: ClassVar[str] = GEOMETRY

    @property
    def geometry(self) -> Mapping[str, Any]:
        """Corrected frames, corrections of joint positions, base and tool, as plain data (`geometry_record`)."""
        return self.found

    @cached_property
    def robot(self) -> Robot:
        """Robot with corrected frames, without the corrections of joint positions."""
        return corrected_robot(self.described, self.geometry)

    def chain(self) -> Chain:
        """Kinematic chain from root to tip, before correction."""
        return chain_of(self.described, self.geometry["tip"], self.geometry.get("root"))

    def __repr__(self) -> str:
        found = self.evidence.get("validation") or [self.evidence.get("training", {})]
        left = f", {100 * found[0]['relative']:.3g} % of the error without corrections" if found[0] else ""
        return f"<CalibratedModel of '{clipped(self.described.name, 40)}': {plural(len(self.values), 'value')}{left}>"


def read_calibrated(document: Mapping[str, Any], robot: Robot) -> CalibratedModel:
    """Create a calibrated model from the document of its file."""
    return CalibratedModel.read(document, robot)


# ------------------------------------------------------------------ the fit as plain data


def geometry_record(
    chain: Chain, found: GeometryFit, nominal: GeometryFit, root: str | None, *, zeros_in_file: bool
) -> dict[str, Any]:
    """Record of a fit, and of the fit of base and tool alone (`nominal`), for a model file.

    zeros_in_file: whether joint zeros become part of the frames; otherwise they are a table for the
    controller. Frames 2 to n + 1 of the chain belong to the robot; frame 1 is the pose of the robot in the
    measurement frame (`base`).  Poses are twelve numbers: the rotation matrix row by row, then the position
    [m].
    """
    state = without_groups(found).state
    placements = state.placements.copy()
    zeros = {} if zeros_in_file else _taken_zeros(chain, placements)
    joints = [{"joint": j + 1, "pose": _twelve(placements[k])} for k, j in enumerate(chain.joints) if k]
    points = {m.name: own[:3] for m, own in zip(found.layout.postures.measures, state.own, strict=True) if m.has_point}
    corrections = [
        {"name": c.name, "group": c.group, "joint": c.joint + 1, "size": c.size, "value": float(v)}
        for c, v in zip(found.layout.joint_columns, state.joints, strict=True)
    ]
    return {
        "tip": chain.tip,
        **({} if root is None else {"root": root}),
        "joints": joints,
        "frames": _frames(chain, placements[-1], points),
        "zeros": zeros,
        "base": _twelve(placements[0] @ np.linalg.inv(chain.nominal[0])),
        "points": {name: [float(x) for x in p] for name, p in points.items()},
        "corrections": corrections,
        "fitted": _state_record(found),
        "uncorrected": _state_record(nominal),
    }


def _frames(chain: Chain, tool: Array, points: Mapping[str, Array]) -> list[dict[str, Any]]:
    """Frames of the corrected tool, if it differs from that of the file, and of measured tool points."""
    last = chain.joints[-1] + 1
    is_moved = not np.allclose(tool, chain.nominal[-1], atol=1e-15, rtol=0)
    found = [{"name": TOOL, "joint": last, "pose": _twelve(tool)}] if is_moved else []
    for name, p in points.items():
        pose = tool.copy()
        pose[:3, 3] += pose[:3, :3] @ p
        found.append({"name": f"{POINT}{name}", "joint": last, "pose": _twelve(pose)})
    return found


def _taken_zeros(chain: Chain, placements: Array) -> dict[str, float]:
    """Joint zeros (rotation about, or displacement along, z) by name, removed in place from `placements`."""
    found = {}
    for k, name in enumerate(chain.names):
        if k == 0:
            continue
        change = np.linalg.inv(chain.nominal[k]) @ placements[k]
        zero = float(np.arctan2(change[1, 0] - change[0, 1], change[0, 0] + change[1, 1]))
        axis = np.zeros(6)
        if chain.is_hinge[k]:
            axis[5] = zero
        else:
            zero = float(change[2, 3])
            axis[2] = zero
        placements[k] = placements[k] @ exponential(-axis)
        found[name] = zero
    return found


def _state_record(found: GeometryFit) -> dict[str, Any]:
    state = without_groups(found).state
    measures = found.layout.postures.measures
    return {
        "placements": [_twelve(T) for T in state.placements],
        "own": {m.name: [float(x) for x in own] for m, own in zip(measures, state.own, strict=True)},
    }


def _twelve(T: Array) -> list[float]:
    return [float(x) for x in (*T[:3, :3].ravel(), *T[:3, 3])]


def pose_matrix(v: Sequence[float]) -> Array:
    """Pose matrix (4, 4) of twelve numbers: rotation by rows, then position [m]."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.reshape(v[:9], (3, 3)), v[9:]
    return T


# ------------------------------------------------------------------ other readings


def recorded_states(model: CalibratedModel, m: Measurements) -> tuple[GeometryLayout, GeometryState, GeometryState]:
    """Layout of other readings, the state of a model's fit for them, and the state with base and tool alone."""
    chain, record = model.chain(), model.geometry
    known = [
        JointColumn(str(c["name"]), str(c["group"]), int(c["joint"]) - 1, np.zeros(0), "", float(c["size"]))
        for c in record["corrections"]
    ]
    columns = columns_at(chain, known, m.postures.q, np.array(chain.robot.gravity, float))
    rows = GeometryRows(chain, m.postures, tuple(columns), m.places)
    values = np.array([float(c["value"]) for c in record["corrections"]])
    states = [_state(record[key], m, joints) for key, joints in (("fitted", values), ("uncorrected", 0 * values))]
    return rows.layout([c.group for c in columns]), states[0], states[1]


def _state(record: Mapping[str, Any], m: Measurements, joints: Array) -> GeometryState:
    own = []
    for measure in m.postures.measures:
        if measure.name not in record["own"]:
            known = ", ".join(record["own"])
            raise measure.unknown(known)
        own.append(np.array(record["own"][measure.name], float))
    return GeometryState(np.stack([pose_matrix(v) for v in record["placements"]]), joints, tuple(own))


def like(rows: GeometryRows, m: Measurements) -> GeometryRows:
    """Problem of other readings with the joint corrections of `rows`, in the same scaling."""
    gravity = np.array(rows.chain.robot.gravity, float)
    return replace(
        rows,
        postures=m.postures,
        columns=tuple(columns_at(rows.chain, rows.columns, m.postures.q, gravity)),
        places=m.places,
    )
