"""Files of wrenches: pose of the sensor, force and moment, order of recording; at rest or along a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.options import MOMENTS, MeasureColumns, WrenchOptions
from minertia.identification.campaigns.prepared import PreparedLog
from minertia.identification.geometry.chain import chain_of, moved
from minertia.identification.geometry.readings import MeasurementTable, joint_positions, rotation_matrices
from minertia.identification.wrench.load import FrameRates
from minertia.identification.wrench.samples import SensorPoses, moving
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
POSITION = ("px", "py", "pz")
TARES = ("tare", "session")  # columns whose value changes where the sensor was tared
SAME_POSE = np.deg2rad(0.5)  # rows in a row that turn less are one stop
DENSE = 0.1  # s between rows, up to which they are samples of one log rather than poses
STANDS = 0.5  # s that a stop of such a log lasts at least
MOST_POSES = 2000  # the fit grows with their cube


@dataclass(frozen=True)
class PoseLog(PreparedLog):
    """Poses at rest or samples of motions from one or more files, as one log; wrenches in N and N m."""

    poses: SensorPoses


def read_poses(campaign: Campaign, logs: Sequence[Log], options: WrenchOptions) -> PoseLog:
    """Read the poses or motions of several files and concatenate them."""
    found = [_read(campaign, log, options) for log in logs]
    parts, start = [], 0.0
    for own in found:
        is_later = own.has_order and (own.motion is None or own.order.min() >= start - 1)
        shift = 0.0 if is_later else start - own.order.min() * own.has_order
        parts.append(replace(own, order=own.order + shift))
        start = float(parts[-1].order.max()) + 1
    return PoseLog(", ".join(log.name for log in logs), None, _together(parts))


def _together(parts: Sequence[SensorPoses]) -> SensorPoses:
    """Concatenate the poses of several files; poses at rest among motions have zero velocity and acceleration."""
    motion = None
    if any(own.motion is not None for own in parts):
        moved = [own.motion or FrameRates(*np.zeros((3, len(own), 3))) for own in parts]
        motion = FrameRates(
            *(np.concatenate([getattr(own, name) for own in moved]) for name in ("spin", "spin_rate", "acceleration"))
        )
    tares = None
    if any(own.tares is not None for own in parts):
        first = np.cumsum([0, *(own.stretch.max() + 1 for own in parts)])
        tares = np.concatenate([own.stretch + k for own, k in zip(parts, first, strict=False)])
    R, wrench, order = (np.concatenate([getattr(own, name) for own in parts]) for name in ("R", "wrench", "order"))
    return SensorPoses(R, wrench, order, all(own.has_order for own in parts), motion, tares)


def _read(campaign: Campaign, log: Log, options: WrenchOptions) -> SensorPoses:
    if log.file is None:
        raise InputError(f"{log.name} is not a file: wrenches are read from files, one row per pose")
    if log.start is not None or log.stop is not None or log.load is not None:
        raise InputError(f"{log.name}: a file of poses is used whole; remove the time range or the payload")
    table = MeasurementTable(log.file, campaign.map, by_wrench=True)
    names = options.columns or _found(table)
    table.require(names, "the wrench")
    wrench = table.numbers(names)
    wrench[:, 3:] *= MOMENTS[options.moment]
    R, p = _placed(campaign, table, options)
    order = next((name for name in ORDERS if name in table.names), None)
    at = np.arange(len(table), dtype=float) if order is None else table.numbers([order])[:, 0]
    tared = next((name for name in TARES if name in table.names), None)
    tares = None if tared is None else table.numbers([tared])[:, 0].astype(np.intp)
    ok = np.isfinite(wrench).all(axis=1) & np.isfinite(R).all(axis=(1, 2)) & np.isfinite(at)
    if not ok.any():
        raise RecordingError("no row has both a pose and a wrench", file=table.path)
    poses = SensorPoses(R[ok], wrench[ok], at[ok], order is not None, None, None if tares is None else tares[ok])
    is_dense = order in ORDERS[:2] and _step(poses.order) <= DENSE
    if options.motion is None and order in ORDERS[:2] and not is_dense:
        _refuse_few(_step(at[np.isfinite(at)]), _step(poses.order), table.path)
    if options.motion == "moving" or (options.motion is None and is_dense and p is not None):
        if p is None or order not in ORDERS[:2]:
            raise RecordingError(MOVING_NEEDS, file=table.path)
        return moving(poses, p[ok], campaign.filter, str(table.path))
    poses = stops(poses, STANDS if is_dense else 0.0)
    if len(poses) > MOST_POSES:
        raise RecordingError(
            f"{len(poses)} poses are more than the limit of {MOST_POSES}; give poses at rest, one per row; for motion, "
            f"{MOVING_NEEDS}",
            file=table.path,
        )
    return poses


MOVING_NEEDS = (
    "a column t [s] and either joint positions with a robot, or px py pz beside the orientation, are needed to "
    "differentiate the motion of the sensor"
)


def _step(t: Array) -> float:
    """Median step of time stamps [s], to a microsecond: 10 Hz is 0.1 s; infinite for fewer than three."""
    return round(float(np.median(np.diff(t))), 6) if len(t) > 2 else float("inf")


def _refuse_few(rows: float, wrenches: float, path: Path) -> None:
    """Raise an error where the rows of a log are samples of a motion, but few of them have a wrench; steps in s."""
    if rows <= DENSE:
        raise RecordingError(
            f"rows are {rows:.2g} s apart, but wrenches {wrenches:.2g} s, too few for a motion; record them at "
            f'{1 / DENSE:.0f} Hz or more, or stand still and set motion = "rest"',
            file=path,
        )


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


def _placed(campaign: Campaign, table: MeasurementTable, options: WrenchOptions) -> tuple[Array, Array | None]:
    """Orientations (N, 3, 3) and positions (N, 3) of the sensor frame in the base; None: positions not logged."""
    names = options.rotation or (QUATERNION if set(QUATERNION) <= set(table.names) else ())
    if names and options.frame is None:
        table.require(names, "the orientation")
        columns = MeasureColumns("orientation", rotation=names, rotation_as=options.rotation_as)
        R = rotation_matrices(columns, table).reshape(-1, 3, 3)
        return R, table.numbers(POSITION) if set(POSITION) <= set(table.names) else None
    chain = chain_of(campaign.robot, options.frame)
    q = joint_positions(table, chain, campaign.map)
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool
    return tool[:, :3, :3], tool[:, :3, 3]


def stops(poses: SensorPoses, least: float = 0.0) -> SensorPoses:
    """Average consecutive rows of equal orientation: a stop that was sampled repeatedly becomes one pose.

    least: minimum duration of a stop, in the unit of the order; shorter ones are dropped.
    """
    first, begin = np.zeros(len(poses), bool), 0
    for k in range(len(poses)):
        cosine = (np.sum(poses.R[k] * poses.R[begin]) - 1) / 2
        if k == 0 or cosine < np.cos(SAME_POSE):
            first[k], begin = True, k
    starts = np.flatnonzero(first)
    ends = np.array([*starts[1:], len(poses)])
    lasts = poses.order[ends - 1] - poses.order[starts] >= least
    counts = ends - starts
    wrench = np.add.reduceat(poses.wrench, starts) / counts[:, None]
    order = np.add.reduceat(poses.order, starts) / counts
    return replace(poses.take(starts), wrench=wrench, order=order).take(lasts)
