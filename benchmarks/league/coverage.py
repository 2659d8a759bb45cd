"""Coverage of 95 % intervals against planted truth, by the functions of the tests of coverage."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tests.calibration.planted import arm
from tests.calibration.test_fit import coverage as calibration_coverage
from tests.fleet.test_spread import covered as fleet_coverage
from tests.identification.coverage import Trial, coverages
from tests.identification.noises import NOISES, Fixed, bundled, covered
from tests.identification.planted_posterior import planted
from tests.identification.test_wrench import centre, drawn, quantile, solved, wrench_values
from tests.random_robots import random_robot

from benchmarks.league.rows import OURS, Row

STATED = 95.0  # %
NOISE_DRAWS, LOAD_DRAWS, TOOLS, CALIBRATIONS, FITS, POSTERIORS = 20, 60, 30, 20, 40, 6


def rows() -> Iterator[Row]:
    """Stated 95 % against the part of intervals that hold the truth."""
    robots = [
        Fixed.of(random_robot(1, n=3), 12.0, 40.0, 12.0),
        Fixed.of(random_robot(11, n=2), 16.0, 40.0, 8.0),
        Fixed.of(bundled("planar2r", 1), 15.0, 40.0, 7.5),
    ]
    for kind in NOISES:
        found = covered(robots, kind, NOISE_DRAWS)
        yield _row("parameters of a fit", f"noise: {kind}", found.held, f"3 robots, {NOISE_DRAWS} draws each")
    trial = Trial(random_robot(5, n=3), duration=24.0, rate=25.0)
    for time in (0.03, 0.3, 3.0):
        found_ = coverages(trial, ["payload from logs", "payload from a model", "gains"], time, LOAD_DRAWS)
        for kind, held in found_.items():
            yield _row(kind, f"noise: {time:g} s", held, f"{LOAD_DRAWS} draws, whose values err alike")
    for name in ("planar2r",):
        parts = [one.covered(1000) for one in planted(name, POSTERIORS)]
        for key in ("parameters", "prediction"):
            held = float(np.mean([part[key] for part in parts]))
            yield _row(f"posterior samples: {key}", name, held, f"{POSTERIORS} planted robots")
    for joints in (0.0, 5e-5):
        held = float(calibration_coverage(arm(), 40, joints, CALIBRATIONS).mean())
        yield _row("calibration", f"encoder noise {joints:g} rad", held, f"{CALIBRATIONS} draws of 40 postures")
    for drift in ("constant", "walk"):
        yield _row("tool on a force sensor", f"bias: {drift}", _tools(drift), f"{TOOLS} tools, 20 poses each")
    inside, white = fleet_coverage(FITS, 1)
    yield _row("fleet", "residuals with memory", float(inside.mean()), f"{FITS} days of a simulated fleet")
    yield Row("fleet", "white-noise formula", "residuals with memory", {"held [%]": 100 * float(white.mean()),
              "stated [%]": STATED}, "the textbook's formula on the same days")  # fmt: skip


def _row(subject: str, name: str, held: float, note: str) -> Row:
    return Row(subject, OURS, name, {"held [%]": 100 * held, "stated [%]": STATED}, note)


def _tools(drift: str) -> float:
    inside: list[bool] = []
    for seed in range(TOOLS):
        tool, poses = drawn(seed, 20, drift=drift)
        found = solved(poses).wrench
        c, deviation = centre(found)
        inside += [v.interval[0] <= x <= v.interval[1] for v, x in zip(wrench_values(found), tool.load, strict=False)]
        inside += list(np.abs(c - tool.load[1:] / tool.load[0]) <= quantile(found) * deviation)
    return float(np.mean(inside))
