"""`excite`: optimise an excitation trajectory for the base parameters of a robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.excitation import criteria
from minertia.excitation.check import Checker
from minertia.excitation.criteria import Criterion
from minertia.excitation.effort import EffortModel, parameter_sizes
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.model import PointModel, RegressorModel
from minertia.excitation.noise import Noise, effort_noise
from minertia.excitation.objective import FINER, MotionProblem, Objective
from minertia.excitation.optimise import FoundMotion, Progress, Search
from minertia.excitation.options import ANYWHERE, MotionSearch, MotionShape, Optimality
from minertia.excitation.posture import feasible_posture
from minertia.excitation.result import Excitation, stacked_regressor
from minertia.excitation.spline import Spline
from minertia.excitation.standing import settled, stand
from minertia.excitation.trajectory import Family, RecordedMotions, Trajectory
from minertia.excitation.transfer import transfer
from minertia.io.arrays import Array
from minertia.io.errors import MOST_NAMES, Infeasible, ShapeError, UnknownName, expect_one_of
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.robot import Robot

SMOOTH = 0.02  # rad/s or m/s: width of the smooth sign; always the same, so that compiled code can be used again
FAMILY, OPTIMALITY, NOTHING, SEARCH = Fourier(), Optimality(), RecordedMotions(), MotionSearch()  # what is usual


def excite(
    robot: RobotLike,
    family: Family = FAMILY,
    *,
    limits: MotionLimits | None = None,
    start: ArrayLike | str | None = None,
    optimality: Optimality = OPTIMALITY,
    after: RecordedMotions = NOTHING,
    search: MotionSearch = SEARCH,
    progress: Callable[[Progress], None] | None = None,
) -> Excitation:
    """Optimise an excitation trajectory that respects every limit on a grid ten times finer than the samples.

    family: `Fourier(duration, harmonics)` or `Spline(duration, pieces)`; its field `start` is ignored.
    limits: by default those of `motion_limits`, including floor and self-collision.  start: posture at both
    ends, by default near the middle of the joint ranges; "any": the search chooses it, as it does for a
    motion that is not from rest to rest.  A robot with a floating base stands on the planted feet of `limits` in
    the posture `start`, and its links are excited; without feet it hangs with its base held still.  after:
    previously recorded motions; the trajectory adds as much as possible to their information.
    """
    robot = as_robot(robot)
    _expect_options(family, limits, optimality, after, search)
    _check(robot, family, start, search)
    limits = motion_limits(robot) if limits is None else limits
    if limits.names != robot.coordinate_names:
        theirs = ", ".join(limits.names[:MOST_NAMES])
        raise Infeasible(f"the limits are for {theirs}, not for the joints of '{robot.name}'; use motion_limits(robot)")
    if robot.is_floating:
        robot, limits = stand(robot, limits, start)
        if limits.feet:  # the base has neither rotors nor friction, and base rows do not depend on those of joints
            start, optimality = settled(limits, robot), replace(optimality, rotors=False, friction=False)
    base = base_parameters(robot.described, rotors=optimality.rotors, friction=optimality.friction)
    effort = EffortModel(base) if robot.has_parameters else None
    checker = Checker(limits, base, effort)
    is_free = isinstance(start, str) or (start is None and not family.rest)
    offset = feasible_posture(checker, None if isinstance(start, str) else start, search.seed)
    if search.come_from is not None:
        transfer(checker, search.come_from, search.come_from if is_free else offset, seed=search.seed)
    family = replace(family, start=None if is_free else tuple(float(v) for v in offset))  # type: ignore[type-var]
    if not family.free:
        raise Infeasible(
            "with so few harmonics or segments a trajectory from rest to rest has no free "
            "coefficients; increase their number"
        )
    task = _MotionTask(base, limits, effort, offset, family, search.n_samples)
    level = effort_noise(base, limits, effort, optimality.noise)
    known = information(after.information, base.count)
    for motion in after.motions:
        more = recorded_information(base, motion, level.levels, search.n_samples / family.duration)
        known = more if known is None else known + more
    objective = Objective(task.problem(optimality.criterion, level.levels, known))
    with threadpool_limits(1):  # small matrices: threads only wait for one another
        run = Search(objective, task.criterion(optimality.criterion), checker, progress, search.patience)
        return _report(task, optimality.criterion, level, known, run.run(search.starts, search.seed))


def family_of(shape: MotionShape) -> Family:
    """Trajectory family of a shape: Fourier series or splines."""
    if shape.family == "spline":
        return Spline(shape.duration, shape.pieces)
    return Fourier(shape.duration, shape.harmonics)


def _expect_options(family: object, limits: object, optimality: object, after: object, search: object) -> None:
    """Raise an error for options given by name or plain values instead of their classes."""
    expect_one_of(family, (Fourier, Spline), "the family of motions")
    for value, kind, what in (
        (optimality, Optimality, "optimality"),
        (after, RecordedMotions, "after"),
        (search, MotionSearch, "search"),
    ):
        expect_one_of(value, (kind,), what)
    if limits is not None:
        expect_one_of(limits, (MotionLimits,), "limits")


def _check(robot: Robot, family: Family, start: ArrayLike | str | None, search: MotionSearch) -> None:
    """Raise an error for incompatible options."""
    if isinstance(start, str) and start != ANYWHERE:
        raise UnknownName("start posture", start, (ANYWHERE,))
    if search.n_samples < family.least_samples:
        raise Infeasible(
            f"{search.n_samples} samples are too few for such a trajectory; use at least {family.least_samples}"
        )
    robot.require_values("an excitation trajectory")


@dataclass(frozen=True)
class _MotionTask:
    """Search problem of one robot: base parameters, limits, effort model and family."""

    base: BaseParameters
    limits: MotionLimits
    effort: EffortModel | None
    offset: Array
    family: Family
    n_samples: int

    def criterion(self, name: str) -> Criterion:
        """Criterion as a function of the information matrix."""
        if name == "deviation":
            sizes = parameter_sizes(self.base)
            return criteria.LargestDeviation(np.where(np.isnan(sizes), 1.0, sizes))
        return {
            "condition": criteria.log_condition,
            "scaled-condition": criteria.log_scaled_condition,
            "logdet": criteria.log_det,
        }[name]

    def problem(self, criterion: str, noise: Array, previous: Array | None) -> MotionProblem:
        """Optimisation problem; rows are divided by noise if standard deviations or earlier recordings count."""
        base, frames = self.base, [box.frame for box in self.limits.boxes]
        weighted = criterion == "deviation" or previous is not None
        return MotionProblem(
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


def _report(task: _MotionTask, criterion: str, noise: Noise, previous: Array | None, found: FoundMotion) -> Excitation:
    base, limits = task.base, task.limits
    W = stacked_regressor(base, found.motion, task.n_samples)
    weighted = W / np.tile(noise.levels, task.n_samples)[:, None]
    judged = W if previous is None else np.vstack([weighted, _root(previous)])
    notes = [*limits.notes]
    if found.scaled_back < 1:
        notes.append(f"the trajectory was scaled by {found.scaled_back:.2f} to respect every limit between the samples")
    if found.interrupted:
        notes.append("the search was interrupted; this is the best trajectory found so far")
    return Excitation(
        base=base,
        motion=found.motion,
        trajectory=found.motion.sample(FINER * task.n_samples + 1),
        criterion=criterion,
        n_samples=task.n_samples,
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
    """Matrix `mixing` with W_base = W_kept mixing."""
    return np.asarray(np.linalg.inv(base.K[:, base.kept_indices]))


def information(given: ArrayLike | None, count: int) -> Array | None:
    """Information matrix, given as such or as the R factor of a QR factorisation."""
    if given is None:
        return None
    A = np.asarray(given, float)
    if A.shape != (count, count) or not np.all(np.isfinite(A)):
        raise ShapeError(
            f"the information matrix of earlier logs must be a finite ({count}, {count}) matrix, not {A.shape}"
        )
    return A if np.allclose(A, A.T, rtol=1e-8, atol=1e-12 * np.abs(A).max()) else A.T @ A


def recorded_information(base: BaseParameters, motion: Trajectory, noise: Array, rate: float) -> Array:
    """Information matrix of a motion, rows divided by their noise, for `rate` independent samples per second."""
    if motion.n != base.robot.n:
        raise ShapeError(f"a recorded motion has {motion.n} joints, but '{base.robot.name}' has {base.robot.n}")
    step = max(1, int(1 / (rate * motion.period))) if motion.period > 0 else 1
    q, qd, qdd = (x[::step] for x in (motion.q, motion.qd, motion.qdd))
    W = base.regressor(q, qd, qdd).reshape(-1, base.count) / np.tile(noise, len(q))[:, None]
    length = float(motion.t[-1] - motion.t[0])
    return np.asarray(W.T @ W * (length * rate / len(q)))


def _root(G: Array) -> Array:
    """Square root R with R' R = G, for a matrix that may be singular."""
    values, V = np.linalg.eigh(G)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * V.T)
