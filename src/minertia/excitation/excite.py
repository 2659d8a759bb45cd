"""`excite`: the motion to run on a robot so that its base parameters come out well."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.errors import Infeasible, MinertiaError, ShapeError, UnknownName
from minertia.excitation import criteria
from minertia.excitation.check import Checker, Margins
from minertia.excitation.criteria import Criterion
from minertia.excitation.effort import EffortModel, parameter_sizes
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.model import PointModel, RegressorModel
from minertia.excitation.objective import Objective, Problem
from minertia.excitation.optimise import FINER, Found, Progress, Search
from minertia.excitation.posture import feasible_posture
from minertia.excitation.trajectory import Family, Motion, Trajectory
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
FORMAT = 1
CRITERIA = ("condition", "scaled-condition", "logdet", "deviation")
ASSUMED_NOISE = 0.01  # of the largest nominal effort of a joint
SMOOTH = 0.02  # width of the smooth sign, part of the velocity limit


@dataclass(frozen=True)
class Excitation:
    """A motion and what it promises.

    condition, scaled_condition: of the stacked base regressor at `n_samples` samples, with what was recorded before.
    deviations: predicted, for that many independent samples with the given noise [N m or N] per joint; sizes: what to
    compare them with (None without nominal parameters).
    """

    base: BaseParameters
    motion: Motion
    trajectory: Trajectory
    criterion: str
    n_samples: int
    condition: float
    scaled_condition: float
    noise: Array
    deviations: Array
    sizes: Array | None
    margins: Margins
    limits: MotionLimits
    found: Found
    notes: tuple[str, ...] = ()

    @property
    def relative_deviations(self) -> Array | None:
        """Predicted deviation of each base parameter over its size."""
        return None if self.sizes is None else self.deviations / self.sizes

    @property
    def interrupted(self) -> bool:
        """Whether the search was stopped before its end."""
        return self.found.interrupted

    def information(self) -> Array:
        """Information matrix of this motion alone (rows over their noise), for `previous` of the next one."""
        W = stacked_regressor(self.base, self.motion, self.n_samples)
        W = W / np.repeat(self.noise, self.n_samples)[:, None]
        return np.asarray(W.T @ W)

    def save(self, path: str | Path) -> None:
        """Write the trajectory for the controller as CSV."""
        self.trajectory.save(path)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the samples, for JSON."""
        m, relative = self.margins, self.relative_deviations
        return {
            "format": FORMAT,
            "robot": self.base.robot.name,
            "criterion": self.criterion,
            "duration": self.motion.duration,
            "samples": self.n_samples,
            "condition": _finite(self.condition),
            "scaled_condition": _finite(self.scaled_condition),
            "noise": self.noise.tolist(),
            "parameters": {
                name: {"deviation": _finite(d), "relative": None if relative is None else _finite(relative[k])}
                for k, (name, d) in enumerate(zip(self.base.names, self.deviations, strict=True))
            },
            "margins": {
                "position": list(m.position),
                "velocity": list(m.velocity),
                "acceleration": list(m.acceleration),
                "effort": None if m.effort is None else list(m.effort),
                "boxes": dict(m.boxes),
                "clearance": m.clearance,
            },
            "search": {
                "seeds": list(self.found.seeds),
                "values": [_finite(v) for v in self.found.values],
                "evaluations": self.found.evaluations,
                "scaled_back": self.found.scaled_back,
                "interrupted": self.found.interrupted,
            },
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        m = self.margins
        head = (
            f"{self.base.robot.name}: {self.motion.duration:g} s, condition number {self.condition:.4g} "
            f"(columns scaled: {self.scaled_condition:.4g}) for {self.base.count} base parameters"
        )
        rows = [f"{'joint':<16}{'position':>10}{'velocity':>10}{'accel.':>10}{'effort':>10}   (part of the limit used)"]
        for j, name in enumerate(self.limits.names):
            effort = "-" if m.effort is None else f"{m.effort[j]:.3f}"
            rows.append(f"{name:<16}{m.position[j]:>10.3f}{m.velocity[j]:>10.3f}{m.acceleration[j]:>10.3f}{effort:>10}")
        return "\n".join([head, *rows, *self._space_lines(), *self._deviation_lines(), *self.notes])

    def _space_lines(self) -> list[str]:
        lines = [f"frame '{frame}' stays {distance:.3g} m inside its box" for frame, distance in self.margins.boxes]
        if self.margins.clearance is not None:
            lines.append(f"nearest approach: {self.margins.clearance:.3g} m ({self.margins.nearest})")
        return lines

    def _deviation_lines(self) -> list[str]:
        relative = self.relative_deviations
        parts = zip(self.base.names, self.deviations, [None] * self.base.count if relative is None else relative)
        return [
            f"{name:<10}{deviation:>12.3g}" + ("" if part is None else f"{100 * part:>10.2f} %")
            for name, deviation, part in parts
        ]


def excite(
    robot: Robot,
    *,
    duration: float = 10.0,
    harmonics: int = 5,
    criterion: str = "condition",
    limits: MotionLimits | None = None,
    gravity: Sequence[float] | None = None,
    start: ArrayLike | None = None,
    rest: bool = True,
    seed: int = 0,
    starts: int = 3,
    friction: bool = True,
    rotors: bool = True,
    n_samples: int = 200,
    noise: ArrayLike | None = None,
    previous: ArrayLike | None = None,
    family: Family | None = None,
    patience: float = 1.0,
    progress: Callable[[Progress], None] | None = None,
) -> Excitation:
    """The best motion found that respects every limit on a grid ten times finer than the samples.

    duration [s] and harmonics of the Fourier series, or any other family.  criterion: "condition", "scaled-condition",
    "logdet" or "deviation" (largest predicted relative deviation).  start: posture at both ends.  noise [N m or N]: of
    the measured efforts, per joint.  previous: information matrix (or triangle) of what was recorded before, with rows
    over their noise.  patience: factor on the iterations.
    """
    if criterion not in CRITERIA:
        raise UnknownName("criterion", criterion, CRITERIA)
    _check_times(duration, harmonics, n_samples, starts)
    if robot.is_floating:
        raise Infeasible("a floating base has no motors: exciting motions are found for robots with a fixed base")
    robot = robot if gravity is None else robot.with_gravity(gravity)
    limits = motion_limits(robot) if limits is None else limits
    base = base_parameters(robot, rotors=rotors, friction=friction)
    effort = EffortModel(base) if robot.has_parameters else None
    if limits.effort is not None and effort is None:
        robot.parameters()  # says what is missing
    checker = Checker(limits, base, effort)
    offset = feasible_posture(checker, start, seed)
    at = None if start is None else tuple(float(v) for v in offset)
    family = Fourier(duration, harmonics, rest=rest, start=at) if family is None else replace(family, start=at)  # type: ignore[type-var]
    setting = _Setting(base, limits, effort, offset, family, n_samples)
    levels = setting.noise(noise)
    problem = setting.problem(criterion, levels, information(previous, base.count))
    found = Search(Objective(problem), setting.criterion(criterion), checker, progress, patience).run(starts, seed)
    return _report(setting, criterion, levels, information(previous, base.count), found)


def _check_times(duration: float, harmonics: int, n_samples: int, starts: int) -> None:
    if not (math.isfinite(duration) and duration > 0):
        raise Infeasible(f"a motion needs a positive duration, not {duration:g} s")
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

    def noise(self, given: ArrayLike | None) -> Array:
        """Noise per joint; by default a part of the effort limit, or of the largest effort near the middle, or 1."""
        n = self.base.robot.n
        if given is not None:
            levels = np.broadcast_to(np.asarray(given, float), (n,)).copy()
            if not np.all(levels > 0):
                raise MinertiaError("noise levels must be positive")
            return levels
        if self.effort is None:
            return np.ones(n)
        limits, rng = self.limits, np.random.default_rng(0)
        q = rng.uniform(limits.lower, limits.upper, (500, n))
        qd, qdd = (rng.uniform(-1, 1, (500, n)) * size for size in (limits.velocity, limits.acceleration))
        W = self.base.regressor(q, qd, qdd).transpose(1, 0, 2).reshape(-1, self.base.count)
        largest = np.abs(self.effort.efforts(W, qd, qdd)).max(axis=0) + self.effort.coulomb
        return np.asarray(np.where(largest > 0, ASSUMED_NOISE * largest, 1.0))

    def criterion(self, name: str) -> Criterion:
        """The function of the information matrix."""
        if name == "deviation":
            return criteria.LargestDeviation(parameter_sizes(self.base))
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
            model=RegressorModel(base.robot, base.kept, mixing(base), SMOOTH * float(self.limits.velocity.min())),
            n_samples=self.n_samples,
            effort=self.effort,
            points=PointModel(base.robot, frames) if frames else None,
            row_scale=1 / noise if weighted else None,
            previous=previous,
        )


def _report(setting: _Setting, criterion: str, noise: Array, previous: Array | None, found: Found) -> Excitation:
    base, limits = setting.base, setting.limits
    W = stacked_regressor(base, found.motion, setting.n_samples)
    weighted = W / np.repeat(noise, setting.n_samples)[:, None]
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
        noise=noise,
        deviations=criteria.predicted_deviations(weighted, previous),
        sizes=parameter_sizes(base) if base.robot.has_parameters else None,
        margins=found.margins,
        limits=limits,
        found=found,
        notes=tuple(notes),
    )


def stacked_regressor(base: BaseParameters, motion: Motion, n_samples: int) -> Array:
    """W (n N, p) of a motion at equally spaced times: all samples of the first joint, then of the second ..."""
    t = np.arange(n_samples) * motion.duration / n_samples
    return base.regressor(*motion.at(t)).transpose(1, 0, 2).reshape(-1, base.count)


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


def _root(G: Array) -> Array:
    """R with R' R = G, for a matrix that may be singular."""
    values, V = np.linalg.eigh(G)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * V.T)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
