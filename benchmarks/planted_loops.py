"""Planted position loops: how near fits of commands and positions come, and how many 95 % intervals hold the truth.

    python -m benchmarks.planted_loops [GO2.xml]                             # the table of docs/output-error.md
    python -m benchmarks.planted_loops 2r|excited|puma|go2 RATE SEEDS [GO2.xml] [SECONDS]    # one row, seed by seed

Logs are simulated with steps of an eighth of those that a fit begins with, or less.  An arm of two joints (8 and 15 s),
a PUMA 560 (15 s) and a Go2 on a stand (10 s; its links are kept), with the noise and the encoders of each rate; SECONDS
is another length of the logs.  Commands are sums of sines at random, for the Go2 slow ones (friction) and then quick
ones (rotor inertia and delay); those of "excited" are motions of `excite` for the arm of two joints, within the same
positions and speeds.  Beside each error stands the one that theory allows for the same motion: the median of errors
drawn with the covariance of Cramer and Rao, from the derivatives of the planted motion and the variance of noise and
counts.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.output_error import commands
from minertia import Campaign, excite, motion_limits, read_robot
from minertia.excitation import Fourier, Workspace
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.law import law_fit
from minertia.identification.closed_loop.logs import LoopLog, made_log
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.solve import inverse
from minertia.identification.problem.triangles import triangle
from minertia.options import Command, MotionSearch

FINE = 8000.0  # Hz of the planted motion
UNSEEN = 500  # seeds of motions that are not fitted begin here
SECOND = 250  # those of second halves
DRAWS = 2000
SPEED, ACCELERATION, HARMONICS = 8.0, 120.0, 20  # rad/s and rad/s2, as high as those of the sums of sines
# robot, rate [Hz], logs, their length [s] where not the robot's own
ROWS = (
    ("2r", 500, 40, None), ("2r", 200, 60, None), ("2r", 50, 40, None),
    ("2r", 500, 60, 15.0), ("2r", 200, 40, 15.0), ("2r", 50, 20, 15.0),
    ("excited", 200, 60, 15.0), ("excited", 50, 20, 15.0),
    ("puma", 500, 4, None), ("puma", 100, 8, None), ("puma", 50, 8, None),
    ("go2", 200, 8, None), ("go2", 50, 8, None),
)  # fmt: skip
TITLES = {
    "2r": "arm of two joints",
    "excited": "the same, motions of `excite`",
    "puma": "PUMA 560",
    "go2": "Go2 on a stand, links kept",
}
NOISE = {  # rad, and counts a turn (0: none)
    "2r": {500: (1e-4, 0), 200: (5e-4, 4096), 50: (5e-4, 4096)},
    "excited": {200: (5e-4, 4096), 50: (5e-4, 4096)},
    "puma": {500: (5e-5, 0), 100: (1e-4, 2**16), 50: (1e-4, 2**14)},
    "go2": {200: (1e-3, 2**14), 50: (1e-3, 2**14)},
}
ARM = {
    "ZZR1": 0.9, "MXR1": 1.0, "MY1": 0.1, "ZZ2": 0.3, "MX2": 0.5, "MY2": 0.05, "IA1": 0.2, "IA2": 0.1,
    "FV1": 1.0, "FV2": 0.5, "FC1": 2.0, "FC2": 1.0, "OFF1": 0.4, "OFF2": -0.3,
}  # fmt: skip
AT_JOINTS = {"IA": (0.005, 0.02), "FV": (0.1, 0.4), "FC": (0.1, 0.4), "OFF": (-0.3, 0.3)}


@dataclass(frozen=True)
class Planted:
    """A campaign, the values of its unknowns, and where and how far its commands go [s, rad].

    tops: highest frequency of their sines [Hz], or one for each half.  is_excited: whether commands are motions of
    `excite`.
    """

    campaign: Campaign
    theta: dict[str, float]
    seconds: float
    home: np.ndarray
    size: float
    tops: tuple[float, ...] = (3.0,)
    is_excited: bool = False


def arm():
    """Two joints in a vertical plane; links are fitted."""
    robot = replace(read_robot("planar2r"), gravity=(0.0, -9.81, 0.0))
    command = Command(kp=(150.0, 80.0), kd=(8.0, 4.0), delay=0.0075)
    return Planted(Campaign(robot, command=command, links="physical"), ARM, 8.0, np.zeros(2), 0.8)


def puma():
    """The PUMA 560 with bodies that can exist; links are fitted."""
    kp, kd = (4000.0, 6000.0, 2500.0, 400.0, 400.0, 300.0), (250.0, 350.0, 120.0, 12.0, 12.0, 8.0)
    campaign = Campaign(read_robot("puma560_physical"), command=Command(kp=kp, kd=kd, delay=0.0), links="physical")
    model = loop_model(campaign, 0.002)
    values = dict(zip(model.linear.names, model.linear.nominal().tolist(), strict=True))
    values |= {name: 0.5 for name in model.names if name[:2] in ("FV", "FC", "IA") and values[name] <= 0}
    return Planted(campaign, values, 15.0, np.zeros(6), 0.8)


def go2(file):
    """A Go2 on a stand whose links are known; rotor inertia, friction, offsets and the delay are fitted."""
    robot = read_robot(file, base="fixed")
    rng = np.random.default_rng(0)
    values = {f"{s}{j + 1}": float(rng.uniform(*r)) for s, r in AT_JOINTS.items() for j in range(12)}
    campaign = Campaign(robot, command=Command(kp=20.0, kd=1.5))
    return Planted(campaign, values | {"delay": 0.0075}, 10.0, np.tile([0.0, 0.8, -1.6], 4), 0.8, (1.0, 5.0))


def excited():
    """The arm of two joints, moved as `excite` says."""
    return replace(arm(), is_excited=True)


PLANTED = {"2r": arm, "excited": excited, "puma": puma, "go2": go2}


@dataclass(frozen=True)
class Found:
    """Figures of one log, relative errors in %: medians of least squares and output error, and what theory allows.

    held: part of the intervals that hold the planted value; unseen: rms of positions on another motion [rad], of least
    squares (NaN where its values cannot be simulated) and output error; seconds: of the processor, for the fit;
    errors: of output error, of each unknown.
    """

    law: float
    fit: float
    allowed: float
    held: float
    unseen_law: float
    unseen: float
    seconds: float
    errors: np.ndarray


def motion(planted, t, seed):
    """Positions of a motion of `excite` at times t."""
    robot, free = planted.campaign.robot, Workspace(None, False)
    limits = motion_limits(robot, position=planted.size, velocity=SPEED, acceleration=ACCELERATION, workspace=free)
    search = MotionSearch(starts=1, seed=seed)
    found = excite(robot, Fourier(planted.seconds, harmonics=HARMONICS), limits=limits, search=search).trajectory
    return np.stack([np.interp(t, found.t, q) for q in found.q.T], axis=1)


def sines(planted, t, seed, n):
    """Sums of sines at times t; a tenth of a second turns the first half into the second."""
    first, *later = (commands(t, n, seed + SECOND * k, top, planted.size) for k, top in enumerate(planted.tops))
    if not later:
        return first
    share = 0.5 + 0.5 * np.tanh((t - planted.seconds / 2) / 0.1)[:, None]
    return (1 - share) * first + share * later[0]


def bare_log(planted, rate, seed, n):
    """Commands of a seed at a rate, and the start, without positions."""
    t = np.arange(round(planted.seconds * rate)) / rate
    u = motion(planted, t, seed) if planted.is_excited else planted.home + sines(planted, t, seed, n)
    return LoopLog("plant", None, 1 / rate, np.zeros_like(u), u, None, u[0], np.zeros(n), 0.0, 0)


def recorded(log, q, seed, noise, counts):
    """A log as an encoder has it."""
    q = q + noise * np.random.default_rng(1000 + seed).normal(size=q.shape)
    q = np.round(q * counts / (2 * np.pi)) * 2 * np.pi / counts if counts else q
    return Recording(t=log.period * np.arange(len(q)), q=q, channels={"command": log.u})


def allowed(model, truth, log, steps, level):
    """Root of Cramer and Rao's covariance, (unknowns, any), under white noise of this level; starts are unknown."""
    motion = simulated(model, truth, log, steps)
    total, parts = model.count + 2 * model.layout.size, []
    for part in motion.slopes:
        wide = np.zeros((len(part.columns), total))
        wide[:, part.columns] = triangle(part.values.reshape(-1, len(part.columns)) / level)
        parts.append(wide)
    return inverse(triangle(np.concatenate(parts)))[: model.count]


def usual_median(root, scale):
    """Mean of the median relative error of values whose covariance has this root [%]."""
    draws = root @ np.random.default_rng(0).normal(size=(root.shape[1], DRAWS))
    return 100 * float(np.mean(np.nanmedian(np.abs(draws) / scale[:, None], axis=0)))


def one(planted, model, rate, seed, noise, counts):
    """Figures of one log."""
    n, fine = model.robot.n, round(FINE / rate)
    truth = np.array([planted.theta[name] for name in model.names])
    scale = np.where(truth == 0, np.nan, np.abs(truth))
    plain, other = (bare_log(planted, rate, k, n) for k in (seed, seed + UNSEEN))
    log = recorded(plain, simulated(model, truth, plain, fine, slopes=False).q, seed, noise, counts)
    log = made_log(planted.campaign, "log", log)
    first, begin = law_fit(model, [log]), time.process_time()
    fit = output_error(model, [log])
    seconds = time.process_time() - begin
    error = np.abs(fit.theta - truth)
    level = np.hypot(noise, 2 * np.pi / counts / np.sqrt(12) if counts else 0.0)
    root = allowed(model, truth, plain, fit.steps[0], level)
    measured = simulated(model, truth, other, fine, slopes=False).q
    motions = [simulated(model, theta, other, fit.steps[0], slopes=False) for theta in (first, fit.theta)]
    rms = [np.nan if m is None else float(np.sqrt(np.mean((m.q - measured) ** 2))) for m in motions]
    law, own = (100 * x / scale for x in (np.abs(first - truth), error))
    held = float(np.mean(error < 1.96 * fit.deviation))
    medians = float(np.nanmedian(law)), float(np.nanmedian(own))
    return Found(*medians, usual_median(root, scale), held, *rms, seconds, own)


def by_kind(names, found):
    """Median errors of rotor inertias, of viscous frictions and so on, in one line [%]."""
    kinds = [name.rstrip("0123456789") for name in names]
    errors = {k: np.concatenate([f.errors[[kind == k for kind in kinds]] for f in found]) for k in dict.fromkeys(kinds)}
    return ", ".join(f"{kind} {np.nanmedian(values):.2g} %" for kind, values in errors.items())


def row(name, rate, seeds, seconds, files=(), *, tells=False):
    """A row of the table in Markdown, of so many logs."""
    planted = PLANTED[name](*files)
    planted = planted if seconds is None else replace(planted, seconds=seconds)
    model = loop_model(planted.campaign, 1 / rate)
    noise, counts = NOISE[name][rate]
    found = []
    for seed in range(seeds):
        found.append(f := one(planted, model, rate, seed, noise, counts))
        if tells:
            print(f"seed {seed}: LS {f.law:.3g} %, OE {f.fit:.3g} % ({f.allowed:.3g} % allowed), held {f.held:.3f}, "
                  f"unseen {f.unseen_law:.2g} and {f.unseen:.2g} rad, {f.seconds:.1f} s", flush=True)  # fmt: skip
    if tells:
        print(by_kind(model.names, found))
    law, fit, least = (np.mean([getattr(f, key) for f in found]) for key in ("law", "fit", "allowed"))
    held, unseen_law, unseen = ([getattr(f, key) for f in found] for key in ("held", "unseen_law", "unseen"))
    encoder = f"noise {noise:.0e}".replace("e-0", "e-") + (f", {counts} counts" if counts else "")
    cells = (
        TITLES[name], model.count, f"{rate} Hz, {planted.seconds:g} s, {encoder}", seeds, f"{law:.2g} to {fit:.2g} %",
        f"{least:.2g} %", f"{np.nanmean(unseen_law):.1e} to {np.mean(unseen):.1e}".replace("e-0", "e-"),
        f"{np.mean(held):.3f} +- {np.std(held) / np.sqrt(seeds):.3f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


HEAD = """\
| planted | unknowns | log | logs | median error, least squares to output error | theory allows | rms of positions on unseen motion [rad] | coverage |
|---|---|---|---|---|---|---|---|"""  # noqa: E501


def table(files):
    """Print the table; without a file the Go2 is left out."""
    print(HEAD)
    for name, rate, seeds, seconds in ROWS:
        if name != "go2" or files:
            print(row(name, rate, seeds, seconds, files if name == "go2" else ()), flush=True)


def main(given):
    """The table, or one row of it."""
    if not given or given[0] not in PLANTED:
        table(given)
        return
    name, rate, seeds, *more = given
    files = [text for text in more if not text.replace(".", "", 1).isdigit()]
    seconds = [float(text) for text in more[len(files) :]]
    print(row(name, int(rate), int(seeds), seconds[0] if seconds else None, files, tells=True))


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
