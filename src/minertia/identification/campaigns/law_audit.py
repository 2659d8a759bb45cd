"""Comparison of measured efforts with the position servo's control law, if a log has efforts and commands.

The control law is fitted to the efforts of each joint, tau = kp (u - q) - kd qd + a constant, at the delay with the
smallest residual.  If it explains the efforts with gains other than those given, one of the two is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.options import Command
from minertia.identification.logs.recording import SI, Recording
from minertia.identification.signals.filtering import low_pass, rate_of_change
from minertia.identification.signals.spectrum import chosen_cutoff
from minertia.io.arrays import Array

FOLLOWS = 0.3  # of the efforts: a law that leaves more does not make them
OFF = 0.1  # relative difference from a stated gain that is told
SURE = 3.0  # deviations that it must have, too
LATEST = 0.05  # s: the longest delay that is tried
SHORTEST = 200  # rows


@dataclass(frozen=True)
class FittedLaw:
    """Fitted control law of one joint: kp, kd, ki with standard deviations, delay [s], relative residual."""

    gains: dict[str, tuple[float, float]]
    delay: float
    relative: float


def law_findings(recording: Recording, command: Command) -> Iterator[Finding]:
    """Findings on whether the control law explains the efforts, and with which gains; none without commands."""
    u, tau = recording.channels.get("command"), recording.tau
    if u is None or tau is None or len(recording) < SHORTEST or recording.has_gaps_in_values:
        return
    stated = {name: command.each(name, recording.n) for name in ("kp", "kd", "ki")}
    for j in range(recording.n):
        found = fitted_law(recording, u[:, j], j, command)
        channel = recording.column(f"tau{j + 1}")
        if found is None or found.relative > FOLLOWS:
            left = "does not move" if found is None else f"has a relative residual of {100 * found.relative:.3g} %"
            yield Finding(
                "info", "law", f"no control law explains the efforts by the commands: the best {left}", channel
            )
            continue
        yield Finding(
            "info", "law", f"a control law explains the efforts by the commands: {_told(found, recording)}", channel
        )
        own = {name: values[j] for name, values in stated.items() if not isinstance(values[j], str)}
        if recording.effort_unit == SI:
            yield from _disagreements(found, own, channel)  # type: ignore[arg-type]


def _told(law: FittedLaw, recording: Recording) -> str:
    unit = "" if recording.effort_unit == SI else f" [{recording.effort_unit} and rad or m]"
    gains = ", ".join(f"{name} = {value:.4g} +- {deviation:.2g}" for name, (value, deviation) in law.gains.items())
    return f"{gains}{unit}, delay {1000.0 * law.delay:.3g} ms, relative residual {100 * law.relative:.2g} %"


def _disagreements(law: FittedLaw, stated: dict[str, float], channel: str) -> Iterator[Finding]:
    """Findings on given gains that differ from the fitted ones; unspecified or zero gains are not compared."""
    for name, (value, deviation) in law.gains.items():
        known = stated.get(name, 0.0)
        if known and abs(value - known) > max(OFF * known, SURE * deviation):
            text = (
                f"{name} = {known:.4g} is given, but the efforts correspond to {value:.4g} +- {deviation:.2g}: "
                "the gain, the scale of the efforts or the control law is wrong"
            )
            yield Finding("warning", "law", text, channel)


def fitted_law(recording: Recording, u: Array, j: int, command: Command) -> FittedLaw | None:
    """Least-squares fit of one joint's control law on filtered signals; None for constant position or effort."""
    rate = recording.rate_hz
    q, tau = recording.q[:, j], recording.efforts()[:, j]
    if not (np.ptp(q) > 0 and np.ptp(tau) > 0):
        return None
    cutoff = min(chosen_cutoff(recording.q, rate), 0.2 * rate)
    smooth = low_pass(np.column_stack([q, u, tau]), cutoff, rate)
    speed = rate_of_change(smooth[:, :1], rate)[:, 0]
    longest = round(LATEST * rate)
    fits = [_at(smooth, speed, k, longest, rate, command) for k in range(longest + 1)]
    return min(fits, key=lambda law: law.relative)


def _at(smooth: Array, speed: Array, late: int, longest: int, rate: float, command: Command) -> FittedLaw:
    """Fit the control law with the command, or the effort, delayed by `late` rows."""
    rows = slice(longest, None)
    shift = slice(longest - late, len(smooth) - late)
    told = smooth[shift, 1]
    is_effort = command.delay_of == "effort"
    q, qd = (smooth[shift, 0], speed[shift]) if is_effort else (smooth[rows, 0], speed[rows])
    columns = {"kp": told - q}
    if command.law != "p":
        columns["kd"] = (np.gradient(told, 1 / rate) if command.velocity_reference else 0.0) - qd
    if command.law == "pid":
        columns["ki"] = np.cumsum(told - q) / rate
    A = np.column_stack([*columns.values(), np.ones(len(q))])
    tau = smooth[rows, 2]
    found, *_ = np.linalg.lstsq(A, tau, rcond=None)
    rest = tau - A @ found
    alike = min(max(float(rest[1:] @ rest[:-1] / max(rest @ rest, 1e-300)), 0.0), 0.999)
    spread = np.linalg.pinv(A.T @ A) * (rest @ rest) / len(rest) * (1 + alike) / (1 - alike)
    deviations = np.sqrt(np.diag(spread))
    gains = {name: (float(found[k]), float(deviations[k])) for k, name in enumerate(columns)}
    size = float(np.linalg.norm(tau - tau.mean()))
    return FittedLaw(gains, late / rate, float(np.linalg.norm(rest)) / max(size, 1e-300))
