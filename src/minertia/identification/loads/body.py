"""Bodies fixed in a frame of the robot: as ten additional unknowns, or known and subtracted from the efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.dynamics.model import torque_regressor
from minertia.identification.loads.load import Load
from minertia.identification.problem.linear import NO_PATH, LinearModel, Presliding
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.io.errors import CampaignError, MinertiaError
from minertia.robot.inertia import from_com, impossible, symmetric, transport_ten
from minertia.robot.joint import numeric_pose
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

LOAD_NAMES = tuple(f"load {symbol}" for symbol in LINK_SYMBOLS)


@dataclass(frozen=True)
class LoadedModel(LinearModel):
    """Linear model with ten additional unknowns: the inertial parameters of a body fixed in a robot frame.

    is_loaded: whether the logs were recorded with this body.
    """

    at: str | None = None
    is_loaded: bool = True

    def columns(
        self,
        q: Array,
        qd: Array,
        qdd: Array,
        load: Array | None = None,
        *,
        temperature: Array | None = None,
        presliding: Presliding = NO_PATH,
        samples: int | None = None,
    ) -> Array:
        """Regressor Y of the robot, then the ten columns of the body."""
        own = LinearModel.columns(
            self, q, qd, qdd, load, temperature=temperature, presliding=presliding, samples=samples
        )
        body = body_columns(self.robot, self.rows, q, qd, qdd, self.at)
        return np.concatenate([own, body if self.is_loaded else np.zeros_like(body)], axis=2)

    @property
    def count(self) -> int:
        """Number of unknowns, including those of the body."""
        return len(self.names)


def loaded_model(model: LinearModel, at: str | None, is_loaded: bool) -> LoadedModel:
    """Linear model with an additional body fixed in a frame."""
    return LoadedModel(
        model.robot,
        model.base,
        (*model.names, *LOAD_NAMES),
        model.standard,
        model.K,
        model.kept,
        model.rows,
        model.choice,
        np.concatenate([model.reference, np.full(10, float(np.median(model.reference)))]),
        at,
        is_loaded,
    )


def body_columns(robot: Robot, rows: Sequence[int], q: Array, qd: Array, qdd: Array, at: str | None) -> Array:
    """Regressor columns (N, efforts, 10) of a body fixed in a frame."""
    frame = robot.payload_frame(at)
    if frame.joint is None:
        raise MinertiaError("a payload attached to the ground cannot be identified; name a moving link")
    columns = [full_name(s, frame.joint + 1) for s in LINK_SYMBOLS]
    Y = torque_regressor(robot, q, qd, qdd, columns=columns)[:, list(rows)]
    pose = numeric_pose(frame.pose, robot.symbol_values)
    moved = np.column_stack([np.array(transport_ten(unit.tolist(), pose), float) for unit in np.eye(10)])
    return np.asarray(Y @ moved)


@dataclass(frozen=True)
class Carried:
    """Body fixed in a frame of a robot.

    ten: its ten inertial parameters about the frame's origin.  at: name of the frame; None for the last link.
    """

    robot: Robot
    ten: tuple[float, ...]
    at: str | None = None

    def efforts(self, motion: Motion) -> Array:
        """Efforts due to the payload, (N, efforts)."""
        rows = range(self.robot.n_velocity)
        return np.asarray(body_columns(self.robot, rows, motion.q, motion.qd, motion.qdd, self.at) @ np.array(self.ten))

    def taken_off(self, motion: Motion) -> Motion:
        """Motion with the efforts of the robot without payload."""
        return replace(motion, tau=motion.tau - self.efforts(motion))


def carried(robot: Robot, load: Load | None) -> Carried | None:
    """Payload of a log as a body; without a centre of mass it is a point mass at the frame's origin."""
    if load is None:
        return None
    inertia = symmetric(load.inertia or (0.0,) * 6)
    ten = tuple(float(v) for v in from_com(load.mass, load.com or (0.0, 0.0, 0.0), inertia))
    robot.payload_frame(load.at)
    if load.inertia is not None and (why := impossible(list(ten))) is not None:
        raise CampaignError(f"the payload is not physically consistent: {why}", field="load")
    return Carried(robot, ten, load.at)
