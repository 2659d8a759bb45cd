"""`excite`: the motion to run on a robot so that its base parameters come out well."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.errors import Infeasible, ShapeError, UnknownName
from minertia.excitation import criteria
from minertia.excitation.check import Checker
from minertia.excitation.criteria import Criterion
from minertia.excitation.effort import EffortModel, parameter_sizes
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.model import PointModel, RegressorModel
from minertia.excitation.noise import Noise, effort_noise
from minertia.excitation.objective import FINER, Objective, Problem
from minertia.excitation.optimise import Found, Progress, Search
from minertia.excitation.posture import feasible_posture
from minertia.excitation.result import Excitation, stacked_regressor
from minertia.excitation.trajectory import Family, Trajectory
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
CRITERIA = ("condition", "scaled-condition", "logdet", "deviation")
SECONDS = 0.01, 1e5  # of a motion
MOST = 1_000_000  # harmonics, samples or starts
ANY = "any"  # start of a motion, if the search may choose it
SMOOTH = 0.02  # rad/s or m/s: width of the smooth sign; always the same, so that compiled code can be used again


def excite(
    robot: Robot,
    *,
    duration: float = 10.0,
    harmonics: int = 5,
    criterion: str = "condition",
    limits: MotionLimits | None = None,
    gravity: Sequence[float] | None = None,
    start: ArrayLike | str | None = None,
    rest: bool = True,
    seed: int = 0,
    starts: int = 3,
    friction: bool = True,
    rotors: bool = True,
    n_samples: int = 200,
    noise: ArrayLike | None = None,
    previous: ArrayLike | None = None,
    after: Sequence[Trajectory] = (),
    family: Family | None = None,
    patience: float = 1.0,
    progress: Callable[[Progress], None] | None = None,
) -> Excitation:
    """The best motion found that respects every limit on a grid ten times finer than the samples.

    duration [s] and harmonics of the Fourier series, or any other family.  criterion: "condition", "scaled-condition",
    "logdet" or "deviation" (largest predicted relative deviation).  limits: by default those of `motion_limits`, floor
    and self collision among them.  start: posture at both ends, by default near the middle of the joints; "any" leaves
    it to the search, as does a motion that is not from rest to rest.  noise [N m or N]: of
    the measured efforts, per joint.  previous: information matrix (or triangle) of what was recorded before, with rows
    over their noise.  after: motions recorded before, each second of which counts as one of the new motion; the new
    one is that which adds most to them.  patience: factor on the iterations.
    """
    if criterion not in CRITERIA:
        raise UnknownName("criterion", criterion, CRITERIA)
    if isinstance(start, str) and start != ANY:
        raise UnknownName("start posture", start, (ANY,))
    _check_times(duration, harmonics if family is None else 1, n_samples, starts)
    if seed < 0:
        raise Infeasible(f"the seed of a search is a whole number from 0, not {seed}")
    if robot.is_floating:
        raise Infeasible("a floating base has no motors: exciting motions are found for robots with a fixed base")
    robot.require_values("an exciting motion")
    robot = robot if gravity is None else robot.with_gravity(gravity)
    limits = motion_limits(robot) if limits is None else limits
    base = base_parameters(robot, rotors=rotors, friction=friction)
    effort = EffortModel(base) if robot.has_parameters else None
    checker = Checker(limits, base, effort)
    is_free = isinstance(start, str) or (start is None and not rest)
    offset = feasible_posture(checker, None if isinstance(start, str) else start, seed)
    at = None if is_free else tuple(float(v) for v in offset)
    family = Fourier(duration, harmonics, rest=rest, start=at) if family is None else replace(family, start=at)  # type: ignore[type-var]
    if not family.free:
        raise Infeasible("so few harmonics or pieces leave nothing to choose for a motion from rest to rest; take more")
    setting = _Setting(base, limits, effort, offset, family, n_samples)
    level = effort_noise(base, limits, effort, noise)
    known = information(previous, base.count)
    for motion in after:
        more = recorded_information(base, motion, level.levels, n_samples / family.duration)
        known = more if known is None else known + more
    problem = setting.problem(criterion, level.levels, known)
    with threadpool_limits(1):  # small matrices: threads only wait for one another
        found = Search(Objective(problem), setting.criterion(criterion), checker, progress, patience).run(starts, seed)
        return _report(setting, criterion, level, known, found)


def _check_times(duration: float, harmonics: int, n_samples: int, starts: int) -> None:
    if not (math.isfinite(duration) and duration > 0):
        raise Infeasible(f"a motion needs a positive duration, not {duration:g} s")
    if not SECONDS[0] <= duration <= SECONDS[1] or max(harmonics, n_samples, starts) > MOST:
        raise Infeasible(
            f"a motion lasts from {SECONDS[0]:g} to {SECONDS[1]:g} s, and harmonics, samples and starts are at most "
            f"{MOST}: {duration:g} s, {harmonics:.3g}, {n_samples:.3g} and {starts:.3g} were asked for"
        )
    if harmonics < 1 or starts < 1:
        raise Infeasible("a search needs at least one harmonic and one start")
    if n_samples < 4 * harmonics:
        raise Infeasible(f"{n_samples} samples are too few for {harmonics} harmonics; take at least {4 * harmonics}")


@dataclass(frozen=True)
class _Setting:
    base: BaseParameters
    limits: MotionLimits
    effort: EffortModel | None
    offset: Array
    family: Family
    n_samples: int

    def criterion(self, name: str) -> Criterion:
        """The function of the information matrix."""
        if name == "deviation":
            sizes = parameter_sizes(self.base)
            return criteria.LargestDeviation(np.where(np.isnan(sizes), 1.0, sizes))
        return {
            "condition": criteria.log_condition,
            "scaled-condition": criteria.log_scaled_condition,
            "logdet": criteria.log_det,
        }[name]

    def problem(self, criterion: str, noise: Array, previous: Array | None) -> Problem:
        """What to search; rows are in units of their noise where deviations or earlier recordings count."""
        base, frames = self.base, [box.frame for box in self.limits.boxes]
        weighted = criterion == "deviation" or previous is not None
        return Problem(
            family=self.family,
            offset=self.offset,
            limits=self.limits,
            model=RegressorModel(base.robot, base.kept, mixing(base), SMOOTH),
            n_samples=self.n_samples,
            effort=self.effort,
            points=PointModel(base.robot, frames) if frames else None,
            row_scale=1 / noise if weighted else None,
            previous=previous,
        )


def _report(setting: _Setting, criterion: str, noise: Noise, previous: Array | None, found: Found) -> Excitation:
    base, limits = setting.base, setting.limits
    W = stacked_regressor(base, found.motion, setting.n_samples)
    weighted = W / np.tile(noise.levels, setting.n_samples)[:, None]
    judged = W if previous is None else np.vstack([weighted, _root(previous)])
    notes = [*limits.notes]
    if found.scaled_back < 1:
        notes.append(f"the motion was scaled by {found.scaled_back:.2f} to respect every limit between the samples")
    if found.interrupted:
        notes.append("the search was interrupted; this is the best motion found so far")
    return Excitation(
        base=base,
        motion=found.motion,
        trajectory=found.motion.sample(FINER * setting.n_samples + 1),
        criterion=criterion,
        n_samples=setting.n_samples,
        condition=criteria.condition_number(judged),
        scaled_condition=criteria.scaled_condition_number(judged),
        noise=noise.levels,
        noise_basis=noise.basis,
        deviations=criteria.predicted_deviations(weighted, previous),
        sizes=parameter_sizes(base) if base.robot.has_parameters else None,
        margins=found.margins,
        limits=limits,
        found=found,
        deviations_before=None if previous is None else criteria.predicted_deviations(W[:0], previous),
        notes=tuple(notes),
    )


def mixing(base: BaseParameters) -> Array:
    """W_base = W_kept mixing."""
    return np.asarray(np.linalg.inv(base.K[:, base.kept_indices]))


def information(previous: ArrayLike | None, count: int) -> Array | None:
    """An information matrix from one, or from the triangle of a QR factorisation."""
    if previous is None:
        return None
    A = np.asarray(previous, float)
    if A.shape != (count, count) or not np.all(np.isfinite(A)):
        raise ShapeError(f"what was recorded before must be a finite ({count}, {count}) matrix, not {A.shape}")
    return A if np.allclose(A, A.T, rtol=1e-8, atol=1e-12 * np.abs(A).max()) else A.T @ A


def recorded_information(base: BaseParameters, motion: Trajectory, noise: Array, rate: float) -> Array:
    """Information matrix of a motion, rows over their noise, as if it had `rate` independent samples in a second."""
    if motion.n != base.robot.n:
        raise ShapeError(f"a recorded motion has {motion.n} joints and '{base.robot.name}' has {base.robot.n}")
    step = max(1, int(1 / (rate * motion.period))) if motion.period > 0 else 1
    q, qd, qdd = (x[::step] for x in (motion.q, motion.qd, motion.qdd))
    W = base.regressor(q, qd, qdd).reshape(-1, base.count) / np.tile(noise, len(q))[:, None]
    length = float(motion.t[-1] - motion.t[0])
    return np.asarray(W.T @ W * (length * rate / len(q)))


def _root(G: Array) -> Array:
    """R with R' R = G, for a matrix that may be singular."""
    values, V = np.linalg.eigh(G)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * V.T)
