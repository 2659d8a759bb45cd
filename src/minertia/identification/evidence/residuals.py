"""Residuals of the measured efforts, overall and for each joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.problem.observation import Observation
from minertia.io.notebook import clipped, html_table, plural

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Residuals:
    """Residuals of one log or of several: relative = norm of residual over norm of effort; rmse [N m or N].

    joint_noise: noise component of each joint's rmse, from the log's high frequencies; empty if not estimated.
    """

    log: str
    relative: float
    rmse: float
    joints: tuple[str, ...]
    joint_relative: tuple[float, ...]
    joint_rmse: tuple[float, ...]
    remarks: tuple[str, ...] = ()  # how far the motion leaves what was fitted
    joint_noise: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Residuals of '{clipped(self.log, 50)}': {100 * self.relative:.3g} % of the effort of "
            f"{plural(len(self.joints), 'joint')}, rmse {self.rmse:.3g}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (j, f"{100 * r:.2f} %", f"{e:.4g}")
            for j, r, e in zip(self.joints, self.joint_relative, self.joint_rmse, strict=True)
        ]
        title = f"{self.log}: residual {100 * self.relative:.3g} % of the effort"
        return html_table(title, ("joint", "of its effort", "rmse"), rows, right=(1, 2), notes=self.remarks)

    def with_noise(self, joint_noise: Sequence[float]) -> Residuals:
        """Residuals with the noise level of their logs."""
        return replace(self, joint_noise=tuple(joint_noise))

    def of(self, joints: Sequence[int]) -> Residuals:
        """Residuals of the given joints."""
        own = [np.array(a)[list(joints)] for a in (self.joint_rmse, self.efforts, self.joint_relative)]
        rest, size = float(np.linalg.norm(own[0])), float(np.linalg.norm(own[1]))
        return replace(
            self,
            relative=rest / size if size > 0 else float("inf"),
            rmse=rest / float(np.sqrt(max(len(joints), 1))),
            joints=tuple(self.joints[k] for k in joints),
            joint_rmse=tuple(own[0].tolist()),
            joint_relative=tuple(own[2].tolist()),
            joint_noise=tuple(self.joint_noise[k] for k in joints) if self.joint_noise else (),
        )

    @property
    def efforts(self) -> Array:
        """RMS effort of each joint, in the unit of rmse; 0 if its relative residual is 0 or not finite."""
        rmse, relative = np.array(self.joint_rmse), np.array(self.joint_relative)
        is_known = np.isfinite(relative) & (relative > 0)
        return np.asarray(np.divide(rmse, relative, out=np.zeros(len(rmse)), where=is_known))

    @property
    def structure(self) -> tuple[float, ...]:
        """Relative residual of each joint beyond the noise of the log."""
        if not self.joint_noise:
            return self.joint_relative
        rest = np.sqrt(np.maximum(np.array(self.joint_rmse) ** 2 - np.array(self.joint_noise) ** 2, 0.0))
        each = zip(rest.tolist(), self.efforts.tolist(), self.joint_relative, strict=True)
        return tuple(left / size if size > 0 else relative for left, size, relative in each)

    @property
    def beyond_noise(self) -> float:
        """Relative residual over all joints beyond the noise of the log."""
        if not self.joint_noise or not self.rmse > 0:
            return self.relative
        whole, noise = np.sum(np.array(self.joint_rmse) ** 2), np.minimum(self.joint_noise, self.joint_rmse)
        return float(self.relative * np.sqrt(max(1 - float(np.sum(noise**2)) / float(whole), 0.0)))

    def to_dict(self, with_log: bool = True) -> dict[str, Any]:
        """Return as a dict of plain data; the relative residual of a joint without effort is null."""
        per_joint = [
            {"joint": j, "relative": r if np.isfinite(r) else None, "rmse": e}
            for j, r, e in zip(self.joints, self.joint_relative, self.joint_rmse, strict=True)
        ]
        head: dict[str, Any] = {"log": self.log} if with_log else {}
        told = {"remarks": list(self.remarks)} if self.remarks else {}
        return head | {"relative": self.relative, "rmse": self.rmse, "per_joint": per_joint} | told


def residuals_of(log: str, joints: Sequence[str], residual: Array, effort: Array, samples: int) -> Residuals:
    """Residuals from the norms of residual and effort of each joint over a number of samples."""
    total, size = float(np.linalg.norm(residual)), float(np.linalg.norm(effort))
    relative = np.divide(residual, effort, out=np.full(len(effort), np.inf), where=effort > 0)
    return Residuals(
        log,
        total / size if size > 0 else float("inf"),
        total / float(np.sqrt(max(samples * len(joints), 1))),
        tuple(joints),
        tuple(relative.tolist()),
        tuple((residual / np.sqrt(max(samples, 1))).tolist()),
    )


def residuals_of_arrays(log: str, joints: Sequence[str], measured: Array, predicted: Array) -> Residuals:
    """Residuals from measured and predicted efforts (N, joints)."""
    rest = np.linalg.norm(measured - predicted, axis=0)
    return residuals_of(log, joints, rest, np.linalg.norm(measured, axis=0), len(measured))


def training_residuals(observation: Observation, beta: Array, log: str = "training") -> Residuals:
    """Residuals of the fitted equations over all logs of an observation; beta: all unknowns of the model."""
    effort = np.linalg.norm(observation.totals[:, :, -1], axis=1)
    return residuals_of(log, observation.row_names, observation.residuals(beta), effort, observation.samples)


def log_residuals(observation: Observation, beta: Array) -> list[Residuals]:
    """Residuals of each log."""
    return [training_residuals(observation.only([k]), beta, r.name) for k, r in enumerate(observation.logs)]


def pooled(log: str, parts: Sequence[tuple[Residuals, int]]) -> Residuals:
    """Pool the residuals of several logs, weighted by their numbers of samples."""
    joints = parts[0][0].joints
    rest = np.sqrt(sum(n * np.array(r.joint_rmse) ** 2 for r, n in parts))
    sizes = [np.array(r.joint_rmse) * np.sqrt(n) / np.maximum(np.array(r.joint_relative), 1e-300) for r, n in parts]
    effort = np.sqrt(sum(s**2 for s in sizes))
    samples = sum(n for _, n in parts)
    found = residuals_of(log, joints, np.asarray(rest), np.asarray(effort), samples)
    if not all(r.joint_noise for r, _ in parts):
        return found
    noise = np.sqrt(sum(n * np.array(r.joint_noise) ** 2 for r, n in parts) / max(samples, 1))
    return found.with_noise(np.asarray(noise).tolist())
