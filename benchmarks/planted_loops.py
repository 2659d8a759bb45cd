"""Planted position loops: how near fits of commands and positions come, and how many 95 % intervals hold the truth.

    python -m benchmarks.planted_loops 2r|puma|go2 RATE SEEDS [GO2.xml] [SECONDS]

Logs are simulated with steps of an eighth of those that a fit begins with, or less.  An arm of two joints (8 s), a
PUMA 560 (15 s) and a Go2 on a stand (10 s; its links are kept), with the noise and the encoders of each rate; SECONDS
is another length of the logs.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.output_error import commands
from minertia import Campaign, Command, read_robot
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.law import law_fit
from minertia.identification.closed_loop.logs import LoopLog, made_log
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording

FINE = 8000.0  # Hz of the planted motion
NOISE = {  # rad, and counts a turn (0: none)
    "2r": {500: (1e-4, 0), 200: (5e-4, 4096), 50: (5e-4, 4096)},
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
    """A campaign, the values of its unknowns, and where and how far its commands go [s, rad]."""

    campaign: Campaign
    theta: dict[str, float]
    seconds: float
    home: np.ndarray
    size: float


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
    return Planted(campaign, values | {"delay": 0.0075}, 10.0, np.tile([0.0, 0.8, -1.6], 4), 0.4)


def recorded(planted, model, rate, seed, noise, counts):
    """A log at this rate."""
    rng, n = np.random.default_rng(1000 + seed), model.robot.n
    t = np.arange(round(planted.seconds * rate)) / rate
    u = planted.home + commands(t, n, seed, size=planted.size)
    log = LoopLog("plant", None, 1 / rate, np.zeros_like(u), u, None, u[0], np.zeros(n), 0.0, 0)
    theta = np.array([planted.theta[name] for name in model.names])
    q = simulated(model, theta, log, round(FINE / rate), slopes=False).q + noise * rng.normal(size=u.shape)
    q = np.round(q * counts / (2 * np.pi)) * 2 * np.pi / counts if counts else q
    return Recording(t=t, q=q, channels={"command": u})


def main(name, rate, seeds, *more):
    """Print the figures of some seeds."""
    files = [text for text in more if not text.replace(".", "", 1).isdigit()]
    planted = {"2r": arm, "puma": puma, "go2": go2}[name](*files)
    for text in more[len(files) :]:
        planted = replace(planted, seconds=float(text))
    model = loop_model(planted.campaign, 1 / rate)
    truth = np.array([planted.theta[name] for name in model.names])
    is_zero = truth == 0
    found = []
    for seed in range(seeds):
        log = made_log(planted.campaign, "log", recorded(planted, model, rate, seed, *NOISE[name][rate]))
        first, begin = law_fit(model, [log]), time.process_time()
        fit = output_error(model, [log])
        seconds = time.process_time() - begin
        error, scale = np.abs(fit.theta - truth), np.where(is_zero, np.nan, np.abs(truth))
        held = np.mean(error < 1.96 * fit.deviation)
        levels = [100 * np.nanmedian(x / scale) for x in (np.abs(first - truth), error, 0.6745 * fit.deviation)]
        found.append((*levels, held, seconds))
        print(f"seed {seed}: LS {levels[0]:.3g} %, OE {levels[1]:.3g} % ({levels[2]:.3g} % by its deviations), held "
              f"{held:.3f}, {seconds:.1f} s, {fit.steps[0]} steps", flush=True)  # fmt: skip
    ls, oe, wanted, held, _ = np.mean(found, axis=0)
    error = np.std([f[3] for f in found]) / np.sqrt(seeds)
    print(f"{name}, {rate} Hz, {model.count} unknowns, {seeds} seeds: median error {ls:.2g} -> {oe:.2g} % (deviations "
          f"say {wanted:.2g} %), coverage {held:.3f} +- {error:.3f}")  # fmt: skip


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
