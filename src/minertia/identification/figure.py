"""Figure of an identification: measured and predicted outputs of one log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.kind import PredictedLog
from minertia.io.errors import InputError, UnknownName
from minertia.io.notebook import MEASURED, PREDICTED, REST, SMALL, clipped, panels, thinned_curve

Array = NDArray[np.float64]


def log_figure(every: Sequence[PredictedLog], unseen: int, word: str, name: str | None = None) -> Any:
    """Figure of measured and predicted output and residual of each joint over time: efforts, or tracking errors.

    unseen: number of validation logs, which come first.  word: name of the drawn quantity.  name: of the log;
    default: the first.  For a log that is read in blocks, the first block is shown.
    """
    logs = {log.name: log for log in every}
    if name is not None and name not in logs:
        raise UnknownName("log", name, logs)
    log = next(iter(logs.values())) if name is None else logs[name]
    curves = log.curves()
    if curves is None:
        raise InputError(
            f"with these parameters the simulation of {log.name} diverges and cannot be drawn; name another log"
        )
    kind = "not fitted" if log in every[:unseen] else "fitted"
    figure, axes = panels(len(log.outputs), 2, title=f"{log.name} ({kind})", sharex=True, width_ratios=(3, 2))
    for j, joint in enumerate(log.outputs):
        measured, predicted = curves.measured[:, j], curves.predicted[:, j]
        own, below = axes[j]
        own.plot(*thinned_curve(curves.t, measured), color=MEASURED, linewidth=3.0, label="measured")
        own.plot(*thinned_curve(curves.t, predicted), color=PREDICTED, linewidth=0.9, label="predicted")
        own.set_ylabel(f"{clipped(joint, 18)}\n[{curves.units[j]}]", **SMALL)
        below.plot(*thinned_curve(curves.t, measured - predicted), color=REST, linewidth=0.8)
        below.set_title(_share(measured - predicted, measured, word), fontsize=8, loc="left")
    for ax in axes[-1]:
        ax.set_xlabel(curves.over, **SMALL)
    axes[0, 0].set_title(word, fontsize=9, loc="left")
    axes[0, 1].set_title("residual, on its own scale", fontsize=9, loc="right")
    axes[0, 0].legend(fontsize=7, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.98), frameon=False)
    figure.align_ylabels()
    return figure


def _share(rest: Array, whole: Array, word: str) -> str:
    """Relative residual as text."""
    size = float(np.linalg.norm(whole))
    return f"{100 * float(np.linalg.norm(rest)) / size:.3g} % of the {word}" if size > 0 else f"no {word}"
