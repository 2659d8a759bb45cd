"""The picture of an identification: measured and predicted efforts of one log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import UnknownName
from minertia.identification.build import Problem
from minertia.identification.campaigns.prepare import PreparedLog
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.logs.recording import SI
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.rows import blocks_of, states
from minertia.notebook import MEASURED, PREDICTED, REST, SMALL, clipped, panels, thinned

Array = NDArray[np.float64]


def efforts_figure(problem: Problem, estimate: Estimate, name: str | None = None) -> Any:
    """Measured effort, predicted effort and residual of each joint over time.

    name: of the log; by default the first that was not fitted, else the first one.  Of a log that is read in blocks the
    first block is shown.
    """
    logs = {log.name: log for log in (*problem.unseen, *problem.logs)}
    if name is not None and name not in logs:
        raise UnknownName("log", name, logs)
    log = next(iter(logs.values())) if name is None else logs[name]
    t, measured, predicted = _efforts(problem.linear, estimate.beta, log)
    kind = "not fitted" if log in problem.unseen else "fitted"
    joints, units = problem.linear.row_names, _units(problem.linear, log)
    figure, axes = panels(len(joints), 2, title=f"{log.name} ({kind})", sharex=True, width_ratios=(3, 2))
    for j, joint in enumerate(joints):
        rest = measured[:, j] - predicted[:, j]
        efforts, below = axes[j]
        efforts.plot(*thinned(t, measured[:, j]), color=MEASURED, linewidth=3.0, label="measured")
        efforts.plot(*thinned(t, predicted[:, j]), color=PREDICTED, linewidth=0.9, label="predicted")
        efforts.set_ylabel(f"{clipped(joint, 18)}\n[{units[j]}]", **SMALL)
        below.plot(*thinned(t, rest), color=REST, linewidth=0.8)
        below.set_title(_share(rest, measured[:, j]), fontsize=8, loc="left")
    for ax in axes[-1]:
        ax.set_xlabel("time [s]", **SMALL)
    axes[0, 0].set_title("effort", fontsize=9, loc="left")
    axes[0, 1].set_title("residual, on its own scale", fontsize=9, loc="right")
    axes[0, 0].legend(fontsize=7, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.98), frameon=False)
    figure.align_ylabels()
    return figure


def _share(rest: Array, effort: Array) -> str:
    """The residual as a part of the effort."""
    size = float(np.linalg.norm(effort))
    return f"{100 * float(np.linalg.norm(rest)) / size:.3g} % of the effort" if size > 0 else "no effort"


def _efforts(model: LinearModel, beta: Array, log: PreparedLog) -> tuple[Array, Array, Array]:
    """Times, measured and predicted efforts (N, joints) of a log as it is judged, or of a motion as it was given."""
    samples = states(log.motion)
    if log.judged is None:
        block = next(blocks_of(log.motion))
        return block.t, np.asarray(block.tau)[:, list(model.rows)], predict(model, beta, block, samples=samples)
    part = next(iter(log.judged.parts()))
    measured, predicted = part.compared(predict(model, beta, part, samples=samples))
    return part.times, measured, predicted


def _units(model: LinearModel, log: PreparedLog) -> list[str]:
    """Unit of each effort."""
    unit = SI if log.judged is None else log.judged.unit
    kinds = {joint.name: joint.kind for joint in model.robot.joints}
    own = {"revolute": "N m", "prismatic": "N"}
    return [own.get(kinds.get(name, ""), "N or N m") if unit == SI else unit for name in model.row_names]
