"""Normal residual level of each joint in motion without a fault, and its autocorrelation.

Residuals are monitored in blocks of some tenths of a second.  Those of a joint are modelled as
first-order autoregressive noise with the level sigma and the autocorrelation rho.  Both are learned from
normal motion and set to conservative values: rho is no smaller than sums over several blocks imply; sigma
is so large that the mean evidence of a change does not exceed 1 on that motion, as required without a
change (docs/howto/watch.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from minertia.codegen.watch_rules import CLIP, SIGNED
from minertia.identification.online.options import WatchOptions
from minertia.io.arrays import Array
from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import DescriptionError, InputError
from minertia.io.files import is_file, why_no_file
from minertia.robot.formats.reading import read_text

Flags = NDArray[np.bool_]
SPANS = (2, 5, 10)  # blocks in sums that show how alike neighbours are
MOST_ALIKE = 0.98
FEWEST = 30  # blocks of a joint in motion that its level is learned from
SLOW = 0.1  # of the rms velocity of a joint in normal motion: below it friction may be anything
SLOWEST = 1e-3  # rad/s or m/s


@dataclass(frozen=True)
class WatchLevels:
    """Normal residual levels of one robot at one sampling rate [Hz].

    For each joint: sigma [N m or N], autocorrelation alike (rho), and speed slow [rad/s or m/s].  hours: duration
    of the normal motion from which they were learned.
    """

    joints: tuple[str, ...]
    rate: float
    sigma: tuple[float, ...]
    alike: tuple[float, ...]
    slow: tuple[float, ...]
    hours: float
    options: WatchOptions = WatchOptions()

    def __post_init__(self) -> None:
        if self.options.cutoff_hz >= 0.25 * self.rate or self.options.gain >= self.rate:
            raise InputError(
                f"monitoring at {self.rate:g} Hz needs a cut-off below {0.25 * self.rate:g} Hz and a gain below "
                f"{self.rate:g} / s; set cutoff_hz and gain of its options"
            )
        for name in ("sigma", "alike", "slow"):
            values = getattr(self, name)
            if len(values) != len(self.joints) or not np.all(np.isfinite(values)) or min(values, default=0.0) < 0:
                raise InputError(f"the noise levels need a '{name}' of at least 0 for each of the joints")

    def __repr__(self) -> str:
        values = ", ".join(f"{v:.3g}" for v in self.sigma[:8])
        return f"<WatchLevels: sigma {values}; at {self.rate:.4g} Hz, from {60 * self.hours:.2g} min of normal motion>"

    @property
    def samples(self) -> int:
        """Number of samples in a block."""
        return max(1, round(self.options.block * self.rate))

    @property
    def settling(self) -> int:
        """Number of samples a joint must move before its residual counts: three time constants of the filter."""
        return max(1, round(3.0 * self.rate / self.options.gain))

    @property
    def threshold(self) -> float:
        """Alarm threshold of the mean evidence: the mean number of blocks between false alarms."""
        return max(1.0, 3600.0 * self.rate / self.samples / self.options.per_hour)

    def at(self, **options: Any) -> WatchLevels:
        """The same levels with other decision options (per_hour, heaviest)."""
        return replace(self, options=replace(self.options, **options))

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for files."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> WatchLevels:
        """Create from the data of `to_dict`."""
        try:
            lists = {key: tuple(data[key]) for key in ("joints", "sigma", "alike", "slow")}
            return WatchLevels(
                **lists,
                rate=float(data["rate"]),
                hours=float(data["hours"]),
                options=WatchOptions(**data["options"]),
            )
        except (KeyError, TypeError, ValueError) as err:
            raise InputError(
                f"this is not a valid file of noise levels ({err}); `minertia watch --out` writes one"
            ) from None


@dataclass(frozen=True)
class Blocks:
    """Block means: residuals e (N, n), payload columns Y (N, n, 10), and whether a joint moved enough (N, n).

    t (N,): end of each block [s].
    """

    t: Array
    e: Array
    Y: Array
    valid: Flags


def learned_levels(parts: Sequence[Blocks], base: WatchLevels) -> WatchLevels:
    """Learn the levels from uninterrupted parts of normal motion; base: all fields but sigma, alike and hours."""
    found = [_joint_level([(part.e[:, j], part.valid[:, j]) for part in parts], base.joints[j]) for j in _each(base)]
    sigma, alike = zip(*found, strict=True)
    hours = sum(len(part.t) for part in parts) * base.samples / base.rate / 3600.0
    return replace(base, sigma=tuple(sigma), alike=tuple(alike), hours=hours)


def slow_speeds(velocities: Sequence[Array]) -> tuple[float, ...]:
    """Speeds (n,) below which joint friction is not known, from the velocities (N, n) of normal motion."""
    rms = np.sqrt(np.mean(np.concatenate(velocities) ** 2, axis=0))
    return tuple(np.maximum(SLOW * rms, SLOWEST).tolist())


def _each(base: WatchLevels) -> range:
    return range(len(base.joints))


def _joint_level(parts: Sequence[tuple[Array, Flags]], joint: str) -> tuple[float, float]:
    count = sum(int(valid.sum()) for _, valid in parts)
    if count < FEWEST:
        raise InputError(
            f"joint '{joint}' moves in {count} time blocks of the normal motion, but its level needs {FEWEST}; "
            "give longer logs in which every joint moves"
        )
    rms = float(np.sqrt(sum(float(np.sum(e[valid] ** 2)) for e, valid in parts) / count))
    if rms == 0.0:
        raise InputError(f"the efforts of joint '{joint}' are predicted exactly; give measured logs")
    rho = min(max(_likeness([(e / rms, valid) for e, valid in parts], count), 0.0), MOST_ALIKE)
    white = np.concatenate([whitened(e / rms, valid, rho) for e, valid in parts])
    upper = 1 + 2 / np.sqrt(2 * count)  # two deviations of an rms of so many innovations
    return rms * max(_fair_scale(white), 1.0) * float(upper), float(rho)


def _likeness(parts: Sequence[tuple[Array, Flags]], count: int) -> float:
    """Largest autocorrelation rho implied by the variance of sums over blocks; constant offsets contribute."""
    found = []
    for span in SPANS:
        runs = [e[k : k + span] for e, valid in parts for k in range(len(e) - span + 1) if valid[k : k + span].all()]
        if len(runs) >= FEWEST // 2:
            x = np.array(runs)
            growth = float(np.mean(x.sum(axis=1) ** 2) / max(np.sum(np.mean(x**2, axis=0)), 1e-300))
            found.append(_first_order(growth, span))
    return float(max(found, default=0.0) + 1 / np.sqrt(count))


def _first_order(growth: float, span: int) -> float:
    """Autocorrelation rho of first-order noise, by the variance growth of its sums over a span of blocks.

    growth: variance of the sum relative to that of independent blocks.
    """
    low, high = 0.0, 1.0
    for _ in range(40):
        rho = 0.5 * (low + high)
        sum_ = 1 + 2 * sum((1 - k / span) * rho**k for k in range(1, span))
        low, high = (rho, high) if sum_ < growth else (low, rho)
    return low


def whitened(x: Array, valid: Flags, rho: float) -> Array:
    """Innovations of first-order noise with unit variance, at the valid blocks."""
    where = np.flatnonzero(valid)
    apart = np.diff(where, prepend=where[:1] - 1)
    likeness = rho**apart
    likeness[:1] = 0.0
    last = np.concatenate([[0.0], x[where[:-1]]])[: len(where)]
    return np.asarray((x[where] - likeness * last) / np.sqrt(1 - likeness**2))


def _fair_scale(w: Array) -> float:
    """Factor of sigma at which the evidence for no hypothetical step increases on average over normal blocks."""
    signs = np.array(SIGNED)

    def gains(scale: float) -> bool:
        clipped = np.clip(w / scale, -CLIP, CLIP)
        return bool(np.max(np.mean(np.exp(np.outer(signs, clipped) - signs[:, None] ** 2 / 2), axis=1)) > 1)

    low, high = 0.25, 16.0
    if gains(high):
        return high
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if gains(middle) else (low, middle)
    return high


KIND = "levels of a watch"


def levels_text(levels: WatchLevels) -> str:
    """Text of the levels file."""
    return tomli_w.dumps({"kind": KIND, **levels.to_dict()})


def read_levels(path: str | Path) -> WatchLevels:
    """Read levels from their file."""
    if not is_file(path):
        raise DescriptionError(f"{why_no_file(path)}; `minertia watch --out DIR` writes levels.toml", file=path)
    try:
        document = toml_document(read_text(Path(path)))
        if document.get("kind") != KIND:
            raise InputError(f"this file does not contain kind = '{KIND}'; `minertia watch --out DIR` writes one")
        return WatchLevels.from_dict(document)
    except DocumentError as err:
        raise DescriptionError(str(err), file=path, line=err.line) from None
    except InputError as err:
        raise DescriptionError(str(err), file=path) from None
