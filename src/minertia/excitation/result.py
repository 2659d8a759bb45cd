"""`Excitation`: an excitation trajectory and its predicted quality."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from minertia.base.grouping import BaseParameters
from minertia.excitation.check import Margins
from minertia.excitation.claims import Claims, claims
from minertia.excitation.limits import MotionLimits
from minertia.excitation.optimise import FoundMotion
from minertia.excitation.standing import StandingMotion
from minertia.excitation.trajectory import ContinuousMotion, Trajectory
from minertia.io.arrays import Array
from minertia.io.notebook import Quantity, clipped, html_table, joint_figure, plural

FORMAT = 1
WIDTH = 80
NO_SIZE = "- the robot file has no value for this kind of parameter to compare the standard deviation with"


@dataclass(frozen=True)
class Excitation:
    """Excitation trajectory and its predicted quality.

    condition, scaled_condition: condition numbers of the stacked base regressor at `n_samples` samples,
    with earlier recordings.  deviations: predicted standard deviations, for that many independent samples
    with the given noise [N m or N] per joint.  sizes: scales to compare them with (None without nominal
    parameters, nan where the file has no value of a kind).  deviations_before: predicted standard
    deviations from earlier recordings alone.  noise_basis: source of the noise.
    """

    base: BaseParameters
    motion: ContinuousMotion
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
    found: FoundMotion
    notes: tuple[str, ...] = ()
    deviations_before: Array | None = None
    noise_basis: str = "as given"

    @property
    def joint_motion(self) -> ContinuousMotion:
        """Motion of all joints: that of the coordinates, or of a standing robot also those of planted legs."""
        return StandingMotion(self.base.robot, self.motion) if self.limits.feet else self.motion

    @property
    def claims(self) -> Claims:
        """Verified and unverified limits of the trajectory."""
        return claims(self.limits)

    @property
    def noise_sentence(self) -> str:
        """Sentence on the noise assumed for the predicted standard deviations."""
        levels = ", ".join(f"{name} {v:.3g}" for name, v in zip(self.limits.names, self.noise, strict=True))
        return (
            f"Predicted for {self.n_samples} independent samples with effort noise of standard deviation {levels} "
            f"N m or N ({self.noise_basis})."
        )

    @property
    def relative_deviations(self) -> Array | None:
        """Predicted relative standard deviation of each base parameter."""
        return None if self.sizes is None else self.deviations / self.sizes

    @property
    def interrupted(self) -> bool:
        """Whether the search was stopped before its end."""
        return self.found.interrupted

    def information(self, noise: Array | None = None) -> Array:
        """Information matrix of this motion alone (rows divided by their noise), for `previous` of the next one."""
        W = stacked_regressor(self.base, self.motion, self.n_samples)
        W = W / np.tile(self.noise if noise is None else noise, self.n_samples)[:, None]
        return np.asarray(W.T @ W)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the trajectory for the controller as CSV, as `Trajectory.save` does."""
        found = self.joint_motion.sample(len(self.trajectory.t)) if self.limits.feet else self.trajectory
        found.save(path, force=force)

    def to_frame(self) -> Any:
        """The trajectory as a pandas DataFrame: q1.., qd1.., qdd1.. over t [s]."""
        return self.trajectory.to_frame()

    def plot(self) -> Any:
        """A matplotlib Figure of the motion with the limits of each joint."""
        path, limits = self.trajectory, self.limits
        lengths = self._position_units
        shown = [
            Quantity("position q", path.q, lengths, (limits.lower, limits.upper)),
            Quantity("velocity qd", path.qd, [f"{u}/s" for u in lengths], (-limits.velocity, limits.velocity)),
            Quantity("acceleration qdd", path.qdd, [f"{u}/s2" for u in lengths],
                     (-limits.acceleration, limits.acceleration)),
        ]  # fmt: skip
        return joint_figure(
            f"excitation trajectory of {self.base.robot.name}, limits dashed", path.t, limits.names, shown
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields except the samples, for JSON."""
        relative, before = self.relative_deviations, self.deviations_before
        return {
            "format": FORMAT,
            "robot": self.base.robot.name,
            "criterion": self.criterion,
            "duration": self.motion.duration,
            "samples": self.n_samples,
            "condition": _finite(self.condition),
            "scaled_condition": _finite(self.scaled_condition),
            "checked": list(self.claims.checked),
            "not_checked": list(self.claims.unchecked),
            "start": self.trajectory.q[0].tolist(),
            "noise": self.noise.tolist(),
            "noise_basis": self.noise_basis,
            "parameters": {
                name: {
                    "deviation": _finite(d),
                    "relative": None if relative is None else _finite(relative[k]),
                    **({} if before is None else {"before": _finite(before[k])}),
                }
                for k, (name, d) in enumerate(zip(self.base.names, self.deviations, strict=True))
            },
            "margins": self.margins.to_dict(),
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
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        return (
            f"<Excitation of '{clipped(self.base.robot.name, 40)}': {self.motion.duration:g} s, condition number "
            f"{self.condition:.4g} for {plural(self.base.count, 'base parameter')}, "
            f"{100 * self.margins.worst:.3g} % of the limits used>"
        )

    def _repr_html_(self) -> str:
        m = self.margins
        uses = {what: used for what, used in m.uses() if used is not None}
        headers = ["joint", *uses]
        rows = [(name, *(f"{100 * u[j]:.0f} %" for u in uses.values())) for j, name in enumerate(self.limits.names)]
        title = (
            f"Excitation trajectory of {self.base.robot.name}: {self.motion.duration:g} s, condition number "
            f"{self.condition:.4g} for {self.base.count} base parameters; used fraction of each limit"
        )
        return html_table(title, headers, rows, right=range(1, len(headers)), notes=self.notes)

    @property
    def headline(self) -> str:
        """One-line summary of the quality of the motion."""
        return (
            f"{self.base.robot.name}: {self.motion.duration:g} s, condition number {self.condition:.4g} "
            f"(columns scaled: {self.scaled_condition:.4g}) for {self.base.count} base parameters"
        )

    def __str__(self) -> str:
        w = max(len("joint"), *(len(name) for name in self.limits.names))
        uses = [("accel." if what == "acceleration" else what, used) for what, used in self.margins.uses()]
        rows = ["Used fraction of each limit:", f"{'joint':<{w}}" + "".join(f"{what:>10}" for what, _ in uses)]
        for j, name in enumerate(self.limits.names):
            parts = ("-" if used is None else f"{used[j]:.3f}" for _, used in uses)
            rows.append(f"{name:<{w}}" + "".join(f"{part:>10}" for part in parts))
        said = [line for text in self.claim_lines() for line in wrap(text, WIDTH)]
        return "\n".join([self.headline, *said, *rows, *self.space_lines(), *self._deviation_lines(), *self.notes])

    def claim_lines(self, *, checked_only: bool = False) -> list[str]:
        """Sentences on the checked limits, the unchecked ones unless `checked_only`, and start and end posture."""
        checked, unchecked = self.claims.sentences
        return [checked, *([] if checked_only else [unchecked]), self._start_sentence]

    def space_lines(self) -> list[str]:
        """Sentences on the smallest distances to boxes, obstacles, the floor and between links."""
        return list(self.margins.sentences)

    @property
    def _position_units(self) -> list[str]:
        joints = self.base.robot.joints
        return ["m" if joints[j].kind == "prismatic" else "rad" for j in self.base.robot.independent]

    @property
    def _start_sentence(self) -> str:
        first, last = (", ".join(f"{v + 0.0:.3g}" for v in np.round(q, 4)) for q in self.trajectory.q[[0, -1]])
        unit = " or ".join(sorted(set(self._position_units), reverse=True))
        return f"From {first} {unit}" + (" and back." if first == last else f" to {last}.")

    def _deviation_lines(self) -> list[str]:
        relative, before = self.relative_deviations, self.deviations_before
        head = "" if relative is None else f"{'relative':>12}"
        lines = [*wrap(self.noise_sentence, WIDTH), f"{'parameter':<10}{'deviation':>12}{head}"]
        for k, name in enumerate(self.base.names):
            part = "" if relative is None else f"{percent(float(relative[k])):>12}"
            was = "" if before is None else f"   before: {before[k]:.3g}"
            lines.append(f"{name:<10}{self.deviations[k]:>12.3g}{part}{was}")
        return [*lines, *self.size_lines()]

    def size_lines(self) -> list[str]:
        """Explanation of "-" instead of a relative standard deviation, if any."""
        relative = self.relative_deviations
        return [NO_SIZE] * (relative is not None and bool(np.isnan(relative).any()))


def percent(part: float) -> str:
    """Format a relative standard deviation; never as zero, and "-" without a reference value."""
    if math.isnan(part):
        return "-"
    return "< 0.01 %" if part < 0.5e-4 else f"{100 * part:.2f} %"


def stacked_regressor(base: BaseParameters, motion: ContinuousMotion, n_samples: int) -> Array:
    """Stacked base regressor W (n N, p) of a motion at equally spaced times, by samples, then joints."""
    t = np.arange(n_samples) * motion.duration / n_samples
    return base.regressor(*motion.at(t)).reshape(-1, base.count)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
