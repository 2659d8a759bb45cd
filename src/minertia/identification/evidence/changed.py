"""Did something change between the fitted logs and one that was only predicted?

What noise leaves on unseen motion is what it leaves in training, a little more where values are not well known.
Several times that is another robot: most often one that carries something.
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
    """The point mass [kg] at the end of a branch that explains a log's residual best, and what it leaves of it."""

    mass: float
    link: str
    falls: float


def changed(log: Residuals, training: Residuals, unknown: float, load: CarriedLoad | None) -> str | None:
    """A sentence where a log was not made by the robot that was fitted; unknown: see `unknown_part`."""
    over_joints, usual = _over_joints(log), _over_joints(training)
    much = over_joints > at.CHANGED_LEAST and over_joints > at.LOAD_TIMES * max(usual, unknown)
    times = log.relative / max(training.relative, 1e-300)
    head = (
        f"{log.log}: the residual is {times:.1f} times that of the training, {100 * log.relative:.3g} % of the effort"
    )
    if load is not None and load.falls < at.LOAD_FALLS and much:
        word = "a load" if load.mass > 0 else "a load that the fitted logs had and this one lacks,"
        return (
            f"{head}, and {word} of about {abs(load.mass):.2g} kg at {load.link} would take {1 - load.falls:.0%} of it "
            "away: state the load of this log (load = { mass = ... } in [logs])"
        )
    if log.relative > at.CHANGED_LEAST and log.relative > at.CHANGED_TIMES * max(training.relative, unknown):
        return f"{head}: something changed between these logs (a load, a tool, the drives, how it was logged)"
    return None


def _over_joints(residuals: Residuals) -> float:
    parts = np.minimum(np.array(residuals.joint_relative), at.HIGHEST)
    return float(np.sqrt(np.mean(parts**2)))


def carried_load(trial: Trial, predicted: Array) -> CarriedLoad | None:
    """The load that explains what is left of an unseen log; predicted: efforts (N, joints used) of its rows."""
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
    """A load in the fitted logs that the file lacks, as all joints but a slide tell it.

    weight: that it puts on the slide [N]; before, after: part of the other joints' efforts that the file's masses leave
    without it and with it.
    """

    weight: float
    before: float
    after: float

    def explains(self, more: float) -> bool:
        """Whether so much more constant effort on the slide [N] can be its weight.

        Its mass is seen where it swings; elsewhere rotors take it, and the torque of its weight alone tells.
        """
        is_seen = self.before > at.TOOL_SEEN and self.after < at.TOOL_FALLS * self.before
        part = self.weight / more if more else 0.0
        return part > at.TOOL_PART or (is_seen and part > 0)


def tool_beside(trial: Trial, slide: int) -> Tool | None:
    """The load at the end of a branch that explains best what the file's masses leave of the joints but one."""
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
    """Joints that carry no other."""
    parents = {joint.parent for joint in trial.robot.joints}
    return [j for j in range(trial.robot.n_joints) if j not in parents]
