"""Detection of changes between the fitted logs and a validation log.

Under noise alone the residual on a validation log is about that in training, slightly more where parameters are
uncertain.  A residual several times as large indicates a changed robot, most often a payload.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import inverse_dynamics, torque_regressor
from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.evidence.trial import Trial
from minertia.robot.parameters import full_name

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CarriedLoad:
    """Point mass [kg] at the end of a branch that best explains a log's residual.

    link: link that carries it.  falls: ratio of the residual with the point mass to that without it.
    """

    mass: float
    link: str
    falls: float


def changed(log: Residuals, training: Residuals, unknown: float, load: CarriedLoad | None) -> str | None:
    """Message if a log appears to stem from a changed robot, else None; unknown: see `unknown_part`."""
    over_joints, usual = _over_joints(log), _over_joints(training)
    much = over_joints > at.CHANGED_LEAST and over_joints > at.LOAD_TIMES * max(usual, unknown)
    times = log.relative / max(training.relative, 1e-300)
    head = (
        f"{log.log}: the residual is {times:.1f} times that of the training logs, {100 * log.relative:.3g} % of "
        "the effort"
    )
    if load is not None and load.falls < at.LOAD_FALLS and much:
        word = "a load" if load.mass > 0 else "a payload that the training logs had and this one lacks,"
        return (
            f"{head}, and {word} of about {abs(load.mass):.2g} kg at {load.link} would explain "
            f"{1 - load.falls:.0%} of it; give the payload of this log (load = {{ mass = ... }} in [logs])"
        )
    if log.relative > at.CHANGED_LEAST and log.relative > at.CHANGED_TIMES * max(training.relative, unknown):
        return f"{head}: something changed between these logs (a payload, a tool, the drives, the logging)"
    return None


def _over_joints(residuals: Residuals) -> float:
    parts = np.minimum(np.array(residuals.joint_relative), at.HIGHEST)
    return float(np.sqrt(np.mean(parts**2)))


def carried_load(trial: Trial, predicted: Array) -> CarriedLoad | None:
    """Payload that explains the residual of a validation log, or None; predicted: efforts (N, joints used)."""
    joints = list(trial.joints)
    size = np.maximum(trial.sizes[joints], 1e-300)
    rest = ((trial.tau()[:, joints] - predicted) / size).ravel()
    whole = float(np.linalg.norm(rest))
    found = []
    for end in _ends(trial):
        names = [full_name(symbol, end + 1) for symbol in ("M", "MX", "MY", "MZ")]
        Y = torque_regressor(trial.bare, trial.q, trial.qd, trial.qdd, columns=names)[:, joints] / size[None, :, None]
        A = Y.reshape(-1, len(names))
        scale = np.linalg.norm(A, axis=0)
        scale[scale == 0] = 1.0
        x = np.linalg.lstsq(A / scale, rest, rcond=1e-6)[0] / scale
        left = float(np.linalg.norm(rest - A @ x))
        found.append(
            CarriedLoad(float(x[0]), trial.robot.joints[end].link or trial.robot.joints[end].name, left / whole)
        )
    return min(found, key=lambda load: load.falls) if found and whole > 0 else None


@dataclass(frozen=True)
class Tool:
    """Payload in the fitted logs that the robot file lacks, estimated from all joints but a prismatic one.

    weight: on the prismatic joint [N].  before, after: relative residual of the other joints with the file's
    masses, without and with the payload.
    """

    weight: float
    before: float
    after: float

    def explains(self, more: float) -> bool:
        """Whether the payload's weight can explain this additional constant force on the prismatic joint [N].

        The payload mass is identifiable if the payload also rotates.  Otherwise it cannot be separated from the
        rotor inertia, and only its weight acts on the joint.
        """
        is_seen = self.before > at.TOOL_SEEN and self.after < at.TOOL_FALLS * self.before
        part = self.weight / more if more else 0.0
        return part > at.TOOL_PART or (is_seen and part > 0)


def tool_beside(trial: Trial, slide: int) -> Tool | None:
    """Payload at the end of a branch that best explains the other joints' residual with the file's masses.

    slide: the prismatic joint that is excluded.
    """
    others = [j for j in trial.joints if j != slide and trial.sizes[j] > 0]
    rigid, tau, found = inverse_dynamics(trial.bare, trial.q, trial.qd, trial.qdd), trial.tau(), []
    count = np.sqrt(len(tau) * max(len(others), 1))
    for end in _ends(trial):
        names = [full_name(symbol, end + 1) for symbol in ("M", "MX", "MY", "MZ")]
        Y = torque_regressor(trial.bare, trial.q, trial.qd, trial.qdd, columns=names)
        rows = [trial.beside_effects(j, np.column_stack([Y[:, j], (tau - rigid)[:, j]])) for j in others]
        if not others or not np.any(np.ptp(Y[:, others, 0], axis=0) > 0):
            continue
        A = np.concatenate(rows)
        x = np.linalg.lstsq(A[:, :-1], A[:, -1], rcond=1e-6)[0]
        left = np.linalg.norm(A[:, -1]), np.linalg.norm(A[:, -1] - A[:, :-1] @ x)
        weight = float(Y[:, slide].mean(axis=0) @ x) if np.abs(x).max() < at.TOOL_HEAVIEST else 0.0
        found.append(Tool(weight, float(left[0] / count), float(left[1] / count)))
    return min(found, key=lambda tool: tool.after, default=None)


def _ends(trial: Trial) -> list[int]:
    """Terminal joints: joints without child joints."""
    parents = {joint.parent for joint in trial.robot.joints}
    return [j for j in range(trial.robot.n_joints) if j not in parents]
