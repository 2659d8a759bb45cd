"""What has to be waited for: base parameters, programs, compilation, the second use."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import peers
from benchmarks.batches import path
from benchmarks.measure import Row, median_time, seconds
from minertia.base.derive import base_parameters
from minertia.codegen.kernels import build
from minertia.codegen.kernels import cache as libraries
from minertia.codegen.kernels.kernel import BatchKernel, compile_function
from minertia.codegen.programs import build as build_program
from minertia.codegen.setting import Setting
from minertia.robot.files import read_robot

HUMANOID = Path(__file__).parents[2] / "shared" / "robots" / "simple_humanoid.urdf"


def rows() -> Iterator[Row]:
    yield Row("base parameters, 7R arm (panda)", median_time(lambda: base_parameters(peers.arm("panda")), 5))
    if HUMANOID.is_file():
        robot = read_robot(HUMANOID, letters=False)
        subject = f"base parameters, humanoid ({robot.n_joints} joints)"
        yield Row(subject, median_time(lambda: base_parameters(robot), 3))
    setting = Setting(peers.arm("panda"))
    yield Row(
        "program of the inverse dynamics, panda", median_time(lambda: build_program(setting, "inverse_dynamics"), 5)
    )
    if build.find_compiler() is None:
        return
    wall = time.perf_counter
    old = os.environ.get(libraries.VARIABLE)
    with tempfile.TemporaryDirectory() as folder, path("compiled"):
        os.environ[libraries.VARIABLE] = folder
        torques, regressor = peers.torques("panda"), peers.regressor("panda")
        for label, make in (
            ("one sample, panda", lambda: compile_function(torques)),
            ("batch inverse dynamics, panda", lambda: BatchKernel(torques)),
            ("batch regressor and least squares, panda", lambda: BatchKernel(regressor)),
        ):
            yield Row(f"compile: {label}", seconds(make, wall), note="wall time")
            yield Row(f"second use: {label}", median_time(make, 9))
        os.environ.pop(libraries.VARIABLE)
    if old is not None:
        os.environ[libraries.VARIABLE] = old
