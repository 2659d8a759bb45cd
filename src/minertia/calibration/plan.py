"""Optimal measurement postures for calibration: informative, collision-free and in a short order.

The determinant of the information matrix is maximised by adding and exchanging whole postures (Fedorov 1972).  A
design is only as good as its model, so a tenth of the postures is spread over the joint range instead, to cover model
errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.base.derive import base_parameters
from minertia.excitation.check import Checker
from minertia.excitation.collision import CollisionModel, joint_range, probes
from minertia.excitation.distance import between_segments
from minertia.excitation.limits import motion_limits
from minertia.excitation.route import Route
from minertia.excitation.trajectory import ContinuousMotion
from minertia.excitation.transfer import Transfer, transfer
from minertia.identification.campaigns.options import LEVELS, MEASURED
from minertia.identification.geometry.base import exact_readings
from minertia.identification.geometry.chain import Chain, chain_of, moved
from minertia.identification.geometry.choice import groups_of
from minertia.identification.geometry.fit import FREE, JOINT_PRIOR, PRIOR, inverse
from minertia.identification.geometry.joints import joint_columns
from minertia.identification.geometry.layout import GeometryLayout, GeometryState, Postures
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, InputError, UnknownName
from minertia.io.files import write_file
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.robot import Robot

USUAL = ("zeros", "geometry", "sag")  # levels that are planned for
CANDIDATES = 3000
FEWEST = 4
SPREAD = 0.1  # part of the postures that is spread over the range
NOISE = 1e-4  # m, rad: of readings, beside the sizes of corrections that are to be expected
EXCHANGES = 2  # rounds over all postures
SHORTER = 50  # rounds of shortening the way
TURN = 2 * np.pi
STOP = 3.0  # s at each posture: vibrations end, and the instrument measures


def told_deviation(group: str, deviation: float) -> str:
    """Typical standard deviation [m, rad] of a group of corrections, in words."""
    unit = {"lengths": "mm", "angles": "mrad"}.get(group, "mrad (of slides mm)")
    return f"{group}: typical standard deviation {1000.0 * deviation:.2g} {unit}"


@dataclass(frozen=True)
class Sight:
    """Instrument at a place [m] in the robot's base frame, to which the target must be visible.

    cone: largest angle [rad] between the z axis of the tip and the line to the instrument (half pi and less for
    reflectors and markers on a plate); None if the target is seen from all sides.
    """

    place: Sequence[float]
    cone: float | None = None

    def __post_init__(self) -> None:
        if len(self.place) != 3 or not np.isfinite(self.place).all():
            raise InputError("the place of an instrument must be three finite numbers [m]")
        if self.cone is not None and not 0 < self.cone <= np.pi:
            raise InputError("the cone of a target must be an angle above 0 and at most half a turn")

    def sees(self, chain: Chain, collision: CollisionModel, q: Array) -> NDArray[np.bool_]:
        """Whether the tip faces the instrument at postures (N, robot.n), and no other link is in between."""
        tool = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool
        at, place = tool[:, :3, 3], np.broadcast_to(np.asarray(self.place, float), (len(q), 3))
        line = place - at
        seen = np.ones(len(q), bool)
        if self.cone is not None:
            seen = np.einsum("ni,ni->n", line, tool[:, :3, 2]) >= np.cos(self.cone) * np.linalg.norm(line, axis=1)
        ends = collision.placed(q)
        for (a, b), radius in zip(collision.ends, collision.radius, strict=True):
            link = ends[:, a], ends[:, b]
            holds_tip = between_segments(at, at, *link).distance <= radius  # the target stands out of it
            seen &= holds_tip | (between_segments(at, place, *link).distance > radius)
        return np.asarray(seen)


@dataclass(frozen=True)
class PosturePlan:
    """Postures (N, robot.n) [rad, m] in the order in which to visit them.

    deviations: typical standard deviation of a correction [m, rad] by group, for readings with noise `NOISE`.
    condition: condition number of the scaled information matrix.  way: path length through all postures [rad, m].
    collision: distances that the postures keep.
    """

    chain: Chain
    measure: str
    q: Array
    deviations: dict[str, float]
    condition: float
    way: float
    collision: CollisionModel = field(repr=False)

    def to_csv(self) -> str:
        """Text of a CSV file with columns named after the joints."""
        names = self.chain.robot.coordinate_names
        rows = [",".join(names), *(",".join(f"{v:.6f}" for v in row) for row in self.q)]
        return "\n".join(rows) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {
            "format": 1,
            "robot": self.chain.robot.name,
            "measure": self.measure,
            "joints": list(self.chain.robot.coordinate_names),
            "postures": self.q.tolist(),
            "deviations": self.deviations,
            "condition": self.condition,
            "way": self.way,
        }

    def route(self) -> Route:
        """Motion through the postures, free of collision and within the file's limits, with a stop at each.

        It begins at the first posture, and leaves out those to which no way was found, neither from the posture
        before nor over the one with the most room; its parts are named after the postures.
        """
        robot = self.chain.robot
        limits = replace(motion_limits(robot, effort=False), clearance=self.collision)
        checker = Checker(limits, base_parameters(robot), None)
        here, free = self.q[0], self.q[int(np.argmax(checker.room(self.q)))]
        parts: list[tuple[str, ContinuousMotion]] = [("posture 1", _stop(here))]
        for k, there in enumerate(self.q[1:], 2):
            way = _way(checker, here, there) or _way(checker, here, free, there)
            if way:
                parts += [(f"way to posture {k}", leg) for leg in way]
                parts.append((f"posture {k}", _stop(there)))
                here = there
        return Route(tuple(parts))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the postures as a CSV file."""
        write_file(path, self.to_csv(), force=force)

    def __repr__(self) -> str:
        return f"<PosturePlan of '{self.chain.robot.name}': {len(self.q)} postures, condition {self.condition:.3g}>"


def _way(checker: Checker, *postures: Array) -> list[Transfer]:
    """Motions from each posture to the next; empty where none was found."""
    try:
        return [transfer(checker, here, there) for here, there in pairwise(postures)]
    except Infeasible:
        return []


def _stop(posture: Array) -> Transfer:
    """A posture held while it is measured."""
    return Transfer(np.array([posture, posture]), np.array([0.0, STOP]))


def plan_postures(
    robot: RobotLike,
    count: int,
    measure: str = "points",
    *,
    levels: Sequence[str] = USUAL,
    tip: str | None = None,
    floor: float | None = 0.0,
    sight: Sight | None = None,
    seed: int = 0,
) -> PosturePlan:
    """Plan optimal measurement postures for a calibration with the given levels of corrections.

    measure: kind of measurement.  floor: height [m] in the base frame that links stay above; None: no floor.
    sight: instrument that must see the tip; None: any posture is measured.
    """
    if not (isinstance(count, int) and count >= FEWEST):
        raise InputError(f"a plan needs at least {FEWEST} postures, not {count}")
    planned = [kind for kind, row in MEASURED.items() if not row.is_bound]
    if measure not in planned:
        raise UnknownName("kind of measurement for a plan", measure, planned)
    for level in levels:
        if level not in LEVELS:
            raise UnknownName("level of corrections", level, list(LEVELS))
    chain = chain_of(as_robot(robot), tip)
    collision = CollisionModel(chain.robot, floor=floor)
    q = _candidates(chain, collision, count)
    q = q if sight is None else _seen(chain, collision, sight, q, count)
    turning = _full_turns(chain.robot) & ("transmission" not in levels)  # gear errors differ from turn to turn
    rng = np.random.default_rng(seed)
    J, prior, groups = _information(chain, q, measure, groups_of(levels), rng)
    spread = max(1, round(SPREAD * count))
    chosen = _exchanged(J, prior, _added(J, prior, count - spread))
    chosen += _far_apart(q, chosen, spread)
    order = _short_way(q[chosen], turning)
    best = _unwound(chain.robot, q[chosen][order]) if turning.any() else q[chosen][order]
    H = np.einsum("kmc,kmd->cd", J[chosen], J[chosen]) + np.diag(prior)
    deviations = np.sqrt(np.diag(inverse(H)))
    scale = 1 / np.sqrt(np.diag(H))
    condition = float(np.linalg.cond(H * scale * scale[:, None]))
    told = {g: float(np.median(deviations[groups == g])) for g in dict.fromkeys(groups.tolist()) if g not in FREE}
    return PosturePlan(chain, measure, best, told, condition, _length(best), collision)


def _candidates(chain: Chain, collision: CollisionModel, count: int) -> Array:
    """Random postures within the joint ranges, without collision with the floor or the robot itself."""
    q = probes(chain.robot, CANDIDATES)
    q = q[collision.room(q) > 0] if collision.counts else q
    if len(q) < 2 * count:
        raise InputError(
            f"only {len(q)} of {CANDIDATES} random postures of '{chain.robot.name}' are free of collision with "
            f"the floor and with the robot itself, too few to choose {count} from; lower the floor, or widen the "
            "joint limits"
        )
    return q


def _seen(chain: Chain, collision: CollisionModel, sight: Sight, q: Array, count: int) -> Array:
    """Those of the postures at which the instrument sees the tip."""
    seen = q[sight.sees(chain, collision, q)]
    if len(seen) < 2 * count:
        raise InputError(
            f"the instrument sees the tip of '{chain.robot.name}' at {len(seen)} of {len(q)} random postures, too few "
            f"to choose {count} from; move the instrument, or widen the cone of the target"
        )
    return seen


def _full_turns(robot: Robot) -> NDArray[np.bool_]:
    """Mask of the coordinates whose positions one full turn apart are one posture, and both within the range."""
    is_revolute = [robot.joints[j].kind == "revolute" for j in robot.independent]
    return np.asarray(np.array(is_revolute) & (np.ptp(_ranges(robot), axis=1) >= TURN))


def _ranges(robot: Robot) -> Array:
    """Lower and upper ends (n, 2) of the ranges of the coordinates."""
    return np.array([joint_range(robot, j) for j in robot.independent])


def _unwound(robot: Robot, q: Array) -> Array:
    """The same postures with joints turned as little as possible from one to the next, the first near zero."""
    (lower, upper), turning = _ranges(robot).T, _full_turns(robot)
    found, here = q.copy(), np.zeros(q.shape[1])
    for k, there in enumerate(q):
        near = np.where(turning, there - TURN * np.round((there - here) / TURN), there)
        found[k] = here = np.where(near > upper, near - TURN, np.where(near < lower, near + TURN, near))
    return found


def _information(
    chain: Chain, q: Array, measure: str, groups: Sequence[str], rng: np.random.Generator
) -> tuple[Array, Array, NDArray[np.str_]]:
    """Jacobian of each candidate over the noise (K, m, columns), prior precisions, and groups of the columns."""
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool
    made, own = exact_readings(measure, tool, rng)
    wanted = [g for g in groups if g not in PRIOR]
    columns = joint_columns(chain, wanted, q, np.array(chain.robot.gravity, float))
    layout = GeometryLayout(chain, Postures(q, made), columns)
    rows = layout.linearised(GeometryState(chain.nominal, np.zeros(len(columns)), tuple(own)))
    active = np.isin(layout.groups, [*FREE, *groups])
    A = rows.A[:, active] / NOISE
    per = len(A) // len(q)
    sizes = {**dict.fromkeys(FREE, 1.0), **PRIOR}
    prior = np.array([sizes.get(g, JOINT_PRIOR) for g in layout.groups[active]]) ** -2.0
    return A.reshape(len(q), per, -1), prior, layout.groups[active]


def _gains(J: Array, C: Array) -> Array:
    """Information gain log det(1 + J C J') of each candidate."""
    inner = np.einsum("kmc,cd,knd->kmn", J, C, J, optimize=True)
    return np.asarray(np.linalg.slogdet(np.eye(J.shape[1]) + inner)[1])


def _added(J: Array, prior: Array, count: int) -> list[int]:
    """Add postures one at a time, each with the largest gain."""
    H = np.diag(prior)
    chosen: list[int] = []
    for _ in range(count):
        gains = _gains(J, inverse(H))
        gains[chosen] = -np.inf
        best = int(np.argmax(gains))
        chosen.append(best)
        H = H + J[best].T @ J[best]
    return chosen


def _exchanged(J: Array, prior: Array, chosen: list[int]) -> list[int]:
    """Exchange each posture in turn for the candidate with the largest gain."""
    H = np.diag(prior) + np.einsum("kmc,kmd->cd", J[chosen], J[chosen])
    for _ in range(EXCHANGES):
        is_changed = False
        for k, old in enumerate(list(chosen)):
            H = H - J[old].T @ J[old]
            gains = _gains(J, inverse(H))
            gains[[c for c in chosen if c != old]] = -np.inf
            best = int(np.argmax(gains))
            is_changed |= best != old
            chosen[k] = best
            H = H + J[best].T @ J[best]
        if not is_changed:
            break
    return chosen


def _far_apart(q: Array, chosen: Sequence[int], count: int) -> list[int]:
    """Add postures, each the farthest from all those selected."""
    x = q / np.maximum(q.std(axis=0), 1e-9)
    nearest = np.min([((x - x[c]) ** 2).sum(axis=1) for c in chosen], axis=0)
    found: list[int] = []
    for _ in range(count):
        best = int(np.argmax(nearest))
        found.append(best)
        nearest = np.minimum(nearest, ((x - x[best]) ** 2).sum(axis=1))
    return found


def _length(q: Array) -> float:
    return float(np.abs(np.diff(q, axis=0)).max(axis=1).sum())


def _short_way(q: Array, turning: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Order with a short path: nearest neighbour first, then 2-opt reversals; turning: as of `_full_turns`."""
    apart = np.abs(q[:, None] - q[None])
    apart = np.where(turning, np.minimum(np.mod(apart, TURN), TURN - np.mod(apart, TURN)), apart).max(axis=2)
    order = [int(np.argmin(np.abs(q).max(axis=1)))]
    left = set(range(len(q))) - set(order)
    while left:
        order.append(min(left, key=lambda k: apart[order[-1], k]))
        left.discard(order[-1])
    for _ in range(SHORTER):
        if not _turned_round(order, apart):
            break
    return np.array(order, np.intp)


def _turned_round(order: list[int], apart: Array) -> bool:
    """Reverse parts of an order where that shortens the path; return whether any was reversed."""
    is_changed = False
    n = len(order)
    for i in range(n - 1):
        for j in range(i + 2, n):
            before = apart[order[i], order[i + 1]] + (apart[order[j], order[j + 1]] if j + 1 < n else 0.0)
            after = apart[order[i], order[j]] + (apart[order[i + 1], order[j + 1]] if j + 1 < n else 0.0)
            if after < before - 1e-12:
                order[i + 1 : j + 1] = order[i + 1 : j + 1][::-1]
                is_changed = True
    return is_changed
