"""Choice of the bias model by cross-validation over the poses, and the fit with it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.prepare import Tell
from minertia.identification.wrench.drift import BIASES
from minertia.identification.wrench.fit import WrenchFit, fit_wrench, widened
from minertia.identification.wrench.samples import SensorPoses
from minertia.identification.wrench.setups import WrenchReading, not_shown
from minertia.io.arrays import Array

MOST_FOLDS = 10
FEWEST_LEFT_OUT = 5  # poses: with fewer, those that stay hardly show the load
FEW = 12  # poses below which a walk is tried first: planted runs with 4 to 7 lose nothing by it where nothing drifts
FEWEST_SLOPE = 6  # poses from which a linear bias is tried: a slope is one more value for each channel


@dataclass(frozen=True)
class PosesLeftOut:
    """Cross-validation residuals of the wrenches at all poses.

    left (N, 6): measured less predicted wrench of each pose, by a fit of the other folds.  load (N, 6):
    measured wrench without the bias of that fit.  groups (N,): index of the group of poses that is always
    held out together.
    """

    left: Array
    load: Array
    groups: NDArray[np.intp]

    @property
    def rms(self) -> tuple[float, float]:
        """Root mean square of the held-out residuals per component: forces [N], moments [N m]."""
        return rms_of(self.left)

    def is_better(self, simpler: PosesLeftOut) -> bool:
        """Whether the error is below a simpler bias model's by more than one standard error (Breiman)."""
        sizes = np.maximum(np.repeat(simpler.rms, 3), 1e-300)
        rows = np.sum((simpler.left / sizes) ** 2 - (self.left / sizes) ** 2, axis=1)
        groups = np.unique(self.groups, return_inverse=True)[1]
        gain = np.bincount(groups, rows) / np.bincount(groups)
        return len(gain) > 1 and bool(gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)))


@dataclass(frozen=True)
class BiasChoice:
    """Chosen bias model, and the cross-validation residuals of each model that was tried."""

    bias: str
    tried: dict[str, PosesLeftOut] = field(default_factory=dict)


def rms_of(left: Array) -> tuple[float, float]:
    """Root mean square of the residuals (N, 6) per component: forces [N], moments [N m]."""
    return float(np.sqrt(np.mean(left[:, :3] ** 2))), float(np.sqrt(np.mean(left[:, 3:] ** 2)))


def left_out(poses: SensorPoses, reading: WrenchReading, bias: str, whole: WrenchFit) -> PosesLeftOut | None:
    """Cross-validate a bias model over the poses; whole: the fit of all poses, as initial values of each fold.

    Folds without which the others do not show the load are passed over; None without any other.
    """
    fold = poses.groups % min(len(poses), MOST_FOLDS)
    left, load, shown = *np.zeros((2, len(poses), 6)), np.zeros(len(poses), bool)
    for k in range(int(fold.max()) + 1):
        out = fold == k
        if not_shown(poses.take(~out), reading.mount) is not None:
            continue
        tool = fit_wrench(poses.take(~out), reading.mount, reading.usual, bias, whole).carried
        left[out] = poses.wrench[out] - tool.predicted(poses.take(out))
        load[out] = poses.wrench[out] - tool.bias_at(poses.take(out))
        shown |= out
    return PosesLeftOut(left[shown], load[shown], poses.groups[shown]) if shown.any() else None


def possible(poses: SensorPoses) -> tuple[str, ...]:
    """Bias models that can be distinguished with these poses, the first one to be preferred."""
    if len(poses) < FEWEST_SLOPE:
        return ("walk",)
    words = tuple(word for word in BIASES if word != "steps" or poses.stretch.max() > 0)
    return words if len(poses) >= FEW else tuple(sorted(words, key=("walk", *BIASES).index))


def chosen(poses: SensorPoses, reading: WrenchReading, tell: Tell) -> tuple[WrenchFit, BiasChoice]:
    """Fit with the specified bias model, or with the one of smallest cross-validation error.

    A more complex model is chosen only if it is better by more than one standard error.  With few poses the random
    walk takes the place of the simplest model, as its estimated variance may be zero.
    """
    asked = reading.options.bias
    words = (asked,) if asked != "auto" else possible(poses)
    fits, tried = {}, {}
    for word in words:
        tell(f"fitting a {word} bias")
        fits[word] = fit_wrench(poses, reading.mount, reading.usual, word)
        if len(poses) >= FEWEST_LEFT_OUT and (own := left_out(poses, reading, word, fits[word])) is not None:
            tried[word] = own
    best = words[0]
    for word in words[1:]:
        if word in tried and tried[word].is_better(tried[best]):
            best = word
    return widened(fits[best]), BiasChoice(best, tried)
