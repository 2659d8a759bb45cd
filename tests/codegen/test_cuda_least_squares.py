"""Least squares on a GPU: the text of the kernels runs on the host, and on the device where there is one."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess

import numpy as np
import pytest

from minertia.base.derive import base_parameters
from minertia.codegen.device_least_squares import CudaLeastSquares
from minertia.codegen.kernels.kernel import regressor_program
from minertia.codegen.kernels.least_squares import LeastSquaresKernel
from minertia.codegen.kernels.task import GRAM, PRECONDITIONED, RESIDUAL
from minertia.codegen.targets.cuda_least_squares import PLAIN, TENSOR, TENSOR_WIDE, SumsKernel, Tuning
from minertia.errors import MinertiaError, MissingExtra, RankError, ShapeError, UnknownName
from minertia.robot.read import read_robot

CXX = shutil.which(os.environ.get("CXX", "c++").split()[0])
NVCC = shutil.which("nvcc")
needs_compiler = pytest.mark.skipif(CXX is None, reason="no C++ compiler")
DTYPES = {"double": np.float64, "float": np.float32}
FLAGS = ("-x", "c++", "-std=c++14", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror", "-O1", "-shared", "-fPIC")


class HostDevice:
    """The processor in place of a GPU: the same text, block by block."""

    def __init__(self, folder, processors=3, shared=232_448, **tuning) -> None:
        self.folder, self.processors, self.shared = folder, processors, shared
        self.tuning = Tuning(**tuning)
        self.texts: list[str] = []

    def array(self, given, name, precision):
        if not isinstance(given, np.ndarray) or given.dtype != DTYPES[precision]:
            raise ShapeError(f"{name} is of another kind")
        return given

    def upload(self, array):
        return np.ascontiguousarray(array)

    def download(self, array):
        return np.asarray(array, float)

    def sums(self, kernel):
        path = self.folder / f"sums{len(self.texts)}.cu"
        path.write_text(kernel.source)
        self.texts.append(kernel.source)
        subprocess.run([CXX, *FLAGS, "-o", str(path.with_suffix(".so")), str(path)], check=True)
        library = ctypes.CDLL(str(path.with_suffix(".so")))
        size = len(kernel.parts) * kernel.n_results

        def run(blocks, arguments):
            partial, found = np.full(blocks * kernel.slices * size, np.nan), np.full(size, np.nan)
            given = [_argument(x) for x in (*arguments, partial)]
            library.minertia_sums(ctypes.c_int(blocks), *given)
            library.minertia_total(*(_argument(x) for x in (partial, blocks * kernel.slices, found)))
            return found

        return run


def _argument(x):
    return ctypes.c_longlong(x) if isinstance(x, int) else ctypes.c_void_p(x.ctypes.data)


def relative(found, wanted) -> float:
    return float(np.abs(found - wanted).max(initial=0.0) / max(np.abs(wanted).max(initial=0.0), 1e-300))


def motion(robot, count, precision="double"):
    rng = np.random.default_rng(count)
    q, qd, qdd, tau = rng.normal(size=(4, count, robot.n)).astype(DTYPES[precision])
    return (q, qd, qdd), tau


@pytest.fixture(scope="module")
def puma():
    """Friction and rotors: columns that one row has, and constant entries."""
    robot = read_robot("puma560")
    base = base_parameters(robot, rotors=True, friction=True)
    return robot, base.kept, LeastSquaresKernel.of(robot, base.kept)


@needs_compiler
@pytest.mark.parametrize(
    ("count", "precision", "tuning"),
    [
        (0, "double", {}),
        (1, "double", {"sums": 7}),
        (1100, "double", {}),
        (1100, "double", {"sums": 10, "warps": 2, "instruction": TENSOR_WIDE, "is_early": False}),
        (700, "double", {"samples": 48, "warps": 3, "blocks": 2, "order": "columns"}),
        (900, "float", {"warps": 8, "samples": 256}),
    ],
)
def test_sums_are_those_of_the_processor(tmp_path, puma, count, precision, tuning):
    robot, columns, wanted = puma
    kernel = CudaLeastSquares.of(robot, columns, precision=precision, device=HostDevice(tmp_path, **tuning))
    state, tau = motion(robot, count, precision)
    rng = np.random.default_rng(0)
    T = np.triu(rng.normal(size=(len(columns),) * 2)) + 5 * np.eye(len(columns))
    theta = rng.normal(size=len(columns))
    near = 1e-12 if precision == "double" else 3e-6
    found = kernel.accumulate(*state, tau=tau)
    assert found.n_rows == count * robot.n
    assert relative(found.matrix, wanted.accumulate(*state, tau=tau).matrix) < near
    found = kernel.accumulate(*state, tau=tau, triangle=T)
    assert relative(found.matrix, wanted.accumulate(*state, tau=tau, triangle=T).matrix) < near
    found, left = (k.residual(*state, tau=tau, theta=theta) for k in (kernel, wanted))
    assert relative(found.gradient, left.gradient) < near and relative(found.squares, left.squares) < near
    assert found.n_samples == count
