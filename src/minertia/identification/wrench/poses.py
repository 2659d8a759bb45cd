"""Files of wrenches at static poses: orientation of the sensor, force and moment, recording order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.options import MOMENTS, MeasureColumns, WrenchOptions
from minertia.identification.campaigns.prepared import PreparedLog
from minertia.identification.geometry.chain import chain_of, moved
from minertia.identification.geometry.readings import MeasurementTable, joint_positions, rotation_matrices
from minertia.io.arrays import Array
from minertia.io.errors import InputError, RecordingError

KNOWN = (  # names of the six columns that headers use
    ("fx", "fy", "fz", "tx", "ty", "tz"),
    ("fx", "fy", "fz", "mx", "my", "mz"),
    ("Fx", "Fy", "Fz", "Tx", "Ty", "Tz"),
    ("Fx", "Fy", "Fz", "Mx", "My", "Mz"),
    ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z"),
    tuple(f"wrench_{k}" for k in range(6)),
)
QUATERNION = ("qx", "qy", "qz", "qw")
ORDERS = ("t", "time", "n")  # columns that say when a pose was taken
SAME_POSE = np.deg2rad(0.5)  # rows in a row that turn less are one stop
MOST_POSES = 2000  # the fit grows with their cube; logs of motion have more


@dataclass(frozen=True)
class StaticPoses:
    """Static poses: orientations R (N, 3, 3) of the frame in the base, wrenches (N, 6) [N, N m] in sensor axes.

    order (N,): time or index of each pose in the recording order; has_order: whether the file gives it.
    """

    R: Array
    wrench: Array
    order: Array
    has_order: bool = True

    def __len__(self) -> int:
        return len(self.R)

    def take(self, kept: NDArray[np.intp] | NDArray[np.bool_]) -> StaticPoses:
        """Subset of the poses, by indices or flags."""
        return replace(self, R=self.R[kept], wrench=self.wrench[kept], order=self.order[kept])

    def oriented(self, R: Array) -> StaticPoses:
        """Same poses with other orientations R."""
        return replace(self, R=R)

    def turned(self) -> StaticPoses:
        """Poses with forces and moments rotated from base axes to frame axes."""
        both = self.wrench.reshape(-1, 2, 3) @ self.R
        return replace(self, wrench=both.reshape(-1, 6))


@dataclass(frozen=True)
class PoseLog(PreparedLog):
    """Static poses of one or more files, as a log without motion; wrenches as in the file, in N and N m."""

    poses: StaticPoses


def read_poses(campaign: Campaign, logs: Sequence[Log], options: WrenchOptions) -> PoseLog:
    """Read the static poses of several files and concatenate them."""
    found = [_read(campaign, log, options) for log in logs]
    parts, start = [], 0.0
    for own in found:
        shift = 0.0 if own.has_order else start
        parts.append(replace(own, order=own.order + shift))
        start = float(parts[-1].order.max()) + 1
    together = StaticPoses(
        np.concatenate([own.R for own in parts]),
        np.concatenate([own.wrench for own in parts]),
        np.concatenate([own.order for own in parts]),
        all(own.has_order for own in parts),
    )
    return PoseLog(", ".join(log.name for log in logs), None, together)


def _read(campaign: Campaign, log: Log, options: WrenchOptions) -> StaticPoses:
    if log.file is None:
        raise InputError(f"{log.name} is no file: wrenches are read from files, a row for each pose")
    if log.start is not None or log.stop is not None or log.load is not None:
        raise InputError(f"{log.name}: a file of poses has neither times nor loads; name the whole file")
    table = MeasurementTable(log.file)
    names = options.columns or _found(table)
    table.require(names, "the wrench")
    wrench = table.numbers(names)
    wrench[:, 3:] *= MOMENTS[options.moment]
    R = _orientations(campaign, table, options)
    order = next((name for name in ORDERS if name in table.names), None)
    at = np.arange(len(table), dtype=float) if order is None else table.numbers([order])[:, 0]
    ok = np.isfinite(wrench).all(axis=1) & np.isfinite(R).all(axis=(1, 2)) & np.isfinite(at)
    if not ok.any():
        raise RecordingError("no row has both a pose and a wrench", file=table.path)
    poses = stops(StaticPoses(R[ok], wrench[ok], at[ok], order is not None))
    if len(poses) > MOST_POSES:
        raise RecordingError(
            f"{len(poses)} poses are more than {MOST_POSES}: give a file of poses at rest, one row or one stop each; "
            "logs of motion are not read",
            file=table.path,
        )
    return poses


def _found(table: MeasurementTable) -> tuple[str, ...]:
    for names in KNOWN:
        if set(names) <= set(table.names):
            return names
    some = ", ".join(table.names[:20])
    partly = max(KNOWN, key=lambda names: len(set(names) & set(table.names)))
    missing = ", ".join(name for name in partly if name not in table.names)
    raise RecordingError(
        f"the header lacks {missing} of the wrench ({' '.join(partly)}); it has {some}; name six columns with columns "
        "in [wrench], or --wrench",
        file=table.path,
    )


def _orientations(campaign: Campaign, table: MeasurementTable, options: WrenchOptions) -> Array:
    """Orientations (N, 3, 3) of the sensor frame in the base: as logged, else from the joint positions."""
    names = options.rotation or (QUATERNION if set(QUATERNION) <= set(table.names) else ())
    if names and options.frame is None:
        table.require(names, "the orientation")
        columns = MeasureColumns("orientation", rotation=names, rotation_as=options.rotation_as)
        return rotation_matrices(columns, table).reshape(-1, 3, 3)
    chain = chain_of(campaign.robot, options.frame)
    q = joint_positions(table, chain, campaign.map)
    return moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool[:, :3, :3]


def stops(poses: StaticPoses) -> StaticPoses:
    """Average consecutive rows at the same orientation, so that each stop becomes one pose."""
    cosine = (np.einsum("nij,nij->n", poses.R[1:], poses.R[:-1]) - 1) / 2
    first = np.concatenate([[True], cosine < np.cos(SAME_POSE)])
    if first.all():
        return poses
    starts = np.flatnonzero(first)
    counts = np.diff([*starts, len(poses)])
    wrench = np.add.reduceat(poses.wrench, starts) / counts[:, None]
    return StaticPoses(poses.R[starts], wrench, np.add.reduceat(poses.order, starts) / counts, poses.has_order)
