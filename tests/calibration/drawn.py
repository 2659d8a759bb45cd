"""Set-ups of a calibration, right and wrong, on several arms: what a user may get wrong in files and columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import CalibrationOptions, MeasureColumns
from minertia.identification.geometry.chain import Array, Chain, chain_of, exponential, moved
from minertia.identification.logs.options import ColumnMap
from minertia.robot.files import read_robot

FITTED, UNSEEN = 60, 25
NOISE = 3e-5  # m, and rad
SIZES = np.array([4e-4] * 3 + [1e-3, 1e-3, 4e-3])  # of planted corrections: lengths, angles, zeros
POINTS = ((0.1, 0.0, 0.05), (0.0, 0.1, 0.1), (-0.1, -0.05, 0.08))


@dataclass(frozen=True)
class Readings:
    """Joints (N, n) [rad, m] and tool poses (N, 4, 4) as they were measured; robot: of the file that is given."""

    robot: str
    q: Array
    tool: Array


def planted_arm(name: str, seed: int) -> Readings:
    """An arm with small errors in its geometry that stands somewhere."""
    chain, rng = chain_of(read_robot(name)), np.random.default_rng(seed)
    errors = rng.normal(size=(chain.n + 1, 6)) * SIZES
    errors[0] = [*rng.normal(size=3), *rng.normal(size=3)]
    errors[-1] = [*0.1 * rng.normal(size=3), *rng.normal(size=3)]
    q = rng.uniform(-1.3, 1.3, (FITTED + UNSEEN, chain.robot.n)) * _spans(chain)
    return Readings(name, q, moved(chain.nominal @ exponential(errors), chain.is_hinge, chain.positions(q)).tool)


def _spans(chain: Chain) -> Array:
    kinds = [chain.robot.joints[j].kind for j in chain.robot.independent]
    return np.array([1.0 if kind == "revolute" else 0.3 for kind in kinds])


def campaign(folder: Path, made: Readings, measure: str, seed: int, columns: ColumnMap | None = None) -> Campaign:
    """Files of points or poses with noise, and the campaign that reads them."""
    rng, N = np.random.default_rng(seed), len(made.q)
    noise = NOISE * rng.normal(size=(N, 9))
    if measure == "points":
        points = [made.tool[:, :3, :3] @ np.array(p) + made.tool[:, :3, 3] for p in POINTS]
        values, names = np.hstack(points) + noise, [f"{a}{k}" for k in (1, 2, 3) for a in "xyz"]
    else:
        turned = Rotation.from_matrix(made.tool[:, :3, :3]) * Rotation.from_rotvec(noise[:, 3:6])
        values = np.hstack([made.tool[:, :3, 3] + noise[:, :3], turned.as_quat()])
        names = ["x", "y", "z", "qx", "qy", "qz", "qw"]
    table = np.hstack([made.q, values])
    header = ",".join([*(f"q{j + 1}" for j in range(made.q.shape[1])), *names])
    for name, part in (("fitted.csv", table[:FITTED]), ("unseen.csv", table[FITTED:])):
        np.savetxt(folder / name, part, delimiter=",", header=header, comments="")
    units = columns or ColumnMap(angle="rad", length="m")
    options = CalibrationOptions(("zeros", "geometry"))
    return Campaign(made.robot, folder / "fitted.csv", folder / "unseen.csv", columns=units, calibration=options)


# ------------------------------------------------------------------ what can be wrong

Fault = Callable[[Path, Readings], Campaign]


def _joints(change: Callable[[Array], Array], measure: str = "points") -> Fault:
    return lambda folder, made: campaign(folder, replace(made, q=change(made.q.copy())), measure, 7)


def _tool(change: Callable[[Array], Array], measure: str = "points") -> Fault:
    return lambda folder, made: campaign(folder, replace(made, tool=change(made.tool.copy())), measure, 7)


def _swapped(q: Array, a: int, b: int) -> Array:
    q[:, [a, b]] = q[:, [b, a]]
    return q


def _counted(q: Array) -> Array:
    q[:, 2] += q[:, 1]
    return q


def _turned_sign(q: Array) -> Array:
    q[:, 3] *= -1
    return q


def _mirrored(tool: Array) -> Array:
    tool[:, 1] *= -1
    return tool


def _read_as(measure: MeasureColumns) -> Fault:
    return lambda folder, made: replace(campaign(folder, made, "pose", 7), measures=(measure,))


WXYZ = MeasureColumns("pose", "1", ("x", "y", "z"), ("qx", "qy", "qz", "qw"), "wxyz")

WRONG: dict[str, tuple[str, Fault]] = {  # what is to be named, and how it comes about
    "degrees for radians": ("angle", _joints(np.rad2deg)),
    "millimetres for metres": ("scale", lambda f, m: campaign(f, m, "points", 7, ColumnMap(angle="rad", length="mm"))),
    "sign of joint 4": ("sign", _joints(_turned_sign)),
    "joints 4 and 5 exchanged": ("order", _joints(lambda q: _swapped(q, 3, 4))),
    "joint 3 counted from joint 2": ("coupling", _joints(_counted)),
    "rows one posture late": ("rows", _joints(lambda q: np.roll(q, 1, axis=0))),
    "mirrored frame": ("mirror", _tool(_mirrored)),
    "quaternions with w first": ("rotation", _read_as(WXYZ)),
    "rotations of the inverse": ("rotation", _tool(lambda T: _inverse_rotations(T), "pose")),
    "another robot": ("", lambda f, m: replace(campaign(f, m, "points", 7), robot=read_robot("tx40"))),
    "a zero a quarter turn off": ("", _joints(lambda q: q + np.pi / 2 * np.eye(q.shape[1])[2])),
    "readings of no meaning": ("", lambda f, m: campaign(f, replace(m, tool=_shuffled(m.tool)), "points", 7)),
}  # fmt: skip
RIGHT = [(name, measure) for name in ("ur10e", "puma560", "panda", "iiwa14", "rx90", "stanford") for measure in
         ("points", "pose")]  # fmt: skip


def _inverse_rotations(T: Array) -> Array:
    T[:, :3, :3] = np.swapaxes(T[:, :3, :3], 1, 2)
    return T


def _shuffled(T: Array) -> Array:
    return T[np.random.default_rng(3).permutation(len(T))]
