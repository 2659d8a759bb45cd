"""Least squares on a GPU: the text of the kernels runs on the host, and on the device where there is one."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from minertia.base.derive import base_parameters
from minertia.codegen.device_least_squares import CudaLeastSquares
from minertia.codegen.kernels.build import native
from minertia.codegen.kernels.kernel import regressor_program
from minertia.codegen.kernels.least_squares import LeastSquaresKernel
from minertia.codegen.kernels.task import GRAM, PRECONDITIONED, RESIDUAL
from minertia.codegen.targets.cuda_least_squares import PLAIN, TENSOR, TENSOR_WIDE, SumsKernel, Tuning
from minertia.io.errors import MinertiaError, MissingExtra, RankError, ShapeError, UnknownName
from minertia.robot.files import read_robot
from tests.codegen.kernel_helpers import relative, robots_of_every_kind, states

CXX = shutil.which(os.environ.get("CXX", "c++").split()[0])
NVCC = shutil.which("nvcc")
needs_compiler = pytest.mark.skipif(CXX is None, reason="no C++ compiler")
DTYPES = {"double": np.float64, "float": np.float32}
FLAGS = ("-x", "c++", "-std=c++14", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror", "-O0", "-shared", "-fPIC")


class HostDevice:
    """The processor in place of a GPU: the same text, block by block."""

    def __init__(self, folder, processors=3, shared=232_448, **tuning) -> None:
        self.folder, self.processors, self.shared = folder, processors, shared
        self.chosen = Tuning(**tuning)
        self.texts: list[str] = []

    def tuning(self, precision):
        return self.chosen

    def array(self, given, name, precision):
        if not isinstance(given, np.ndarray) or given.dtype != DTYPES[precision]:
            raise ShapeError(f"{name} is of another kind")
        return given

    def upload(self, array):
        return np.ascontiguousarray(array)

    def download(self, array):
        return np.asarray(array, float)

    def sums(self, kernel):
        self.texts.append(kernel.source)
        library = compiled(self.folder / f"sums{len(self.texts)}.cu", kernel.source)
        size = len(kernel.parts) * kernel.n_results

        def run(blocks, arguments):
            partial, found = np.full(blocks * kernel.slices * size, np.nan), np.full(size, np.nan)
            given = [_argument(x) for x in (*arguments, partial)]
            library.minertia_sums(ctypes.c_int(blocks), *given)
            library.minertia_total(*(_argument(x) for x in (partial, blocks * kernel.slices, found)))
            return found

        return run


def compiled(path, text):
    path.write_text(text)
    subprocess.run([CXX, *FLAGS, "-o", str(path.with_suffix(".so")), str(path)], check=True)
    return ctypes.CDLL(str(path.with_suffix(".so")))


def _argument(x):
    return ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_longlong(int(x))


class StandIn:
    """What `CudaDevice` takes of CuPy, on the host: where arrays are and how kernels are launched."""

    ndarray, uint64, int64, float64 = np.ndarray, np.uint64, np.int64, np.float64
    asarray, asnumpy, empty = staticmethod(np.asarray), staticmethod(np.asarray), staticmethod(np.empty)

    def __init__(self, folder, capability="90", shared=232_448, count=1) -> None:
        self.folder, self.launches = folder, []
        runtime = SimpleNamespace(
            getDeviceCount=lambda: count, deviceGetAttribute=lambda which, device: {16: 3, 97: shared}[which]
        )
        device = SimpleNamespace(id=0, compute_capability=capability)
        memory = SimpleNamespace(OutOfMemoryError=MemoryError)
        self.cuda = SimpleNamespace(runtime=runtime, Device=lambda: device, memory=memory)

    def RawModule(self, code, options):
        library = compiled(self.folder / "sums.cu", code)
        return SimpleNamespace(get_function=lambda name: self.Function(self, library, name))

    class Function:
        max_dynamic_shared_size_bytes = 48 * 1024

        def __init__(self, cupy, library, name) -> None:
            self.cupy, self.name, self.call = cupy, name, getattr(library, name)

        def __call__(self, grid, block, arguments, shared_mem=0):
            assert shared_mem <= self.max_dynamic_shared_size_bytes
            self.cupy.launches.append((self.name, grid, block))
            first = [ctypes.c_int(grid[0])] if self.name == "minertia_sums" else []
            self.call(*first, *(_argument(x) for x in arguments))


def motion(robot, count, precision="double"):
    rng = np.random.default_rng(count)
    q, qd, qdd, tau = rng.normal(size=(4, count, robot.n)).astype(DTYPES[precision])
    return (q, qd, qdd), tau


def with_columns(name):
    """Friction and rotors: columns that one row has, and constant entries; sums on the processor, not compiled."""
    robot = read_robot(name)
    base = base_parameters(robot, rotors=True, friction=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINERTIA_KERNELS", "interpreter" if native() else "numpy")
        return robot, base.kept, LeastSquaresKernel.of(robot, base.kept)


@pytest.fixture(scope="module")
def puma():
    return with_columns("puma560")


@needs_compiler
@pytest.mark.parametrize(
    ("name", "precision", "tuning"),
    [
        ("planar2r", "double", {}),
        ("planar2r", "float", {"warps": 8, "samples": 256}),
        *(
            pytest.param("puma560", precision, tuning, marks=pytest.mark.slow)
            for precision, tuning in (
                ("double", {}),
                ("double", {"sums": 10, "warps": 2, "instruction": TENSOR_WIDE, "is_early": False}),
                ("double", {"samples": 48, "warps": 3, "blocks": 2, "order": "columns"}),
                ("double", {"blocks": 12}),
                ("float", {"warps": 8, "samples": 256}),
            )
        ),
    ],
)
def test_sums_are_those_of_the_processor(tmp_path, name, precision, tuning):
    robot, columns, wanted = with_columns(name)
    kernel = CudaLeastSquares.of(robot, columns, precision=precision, device=HostDevice(tmp_path, **tuning))
    rng = np.random.default_rng(0)
    T = np.triu(rng.normal(size=(len(columns),) * 2)) + 5 * np.eye(len(columns))
    theta = rng.normal(size=len(columns))
    near = 1e-12 if precision == "double" else 3e-6
    for count in (0, 1, 600):
        state, tau = motion(robot, count, precision)
        found = kernel.accumulate(*state, tau=tau)
        assert found.n_rows == count * robot.n
        assert relative(found.matrix, wanted.accumulate(*state, tau=tau).matrix) < near
        found = kernel.accumulate(*state, tau=tau, triangle=T)
        assert relative(found.matrix, wanted.accumulate(*state, tau=tau, triangle=T).matrix) < near
        found, left = (k.residual(*state, tau=tau, theta=theta) for k in (kernel, wanted))
        assert relative(found.gradient, left.gradient) < near and relative(found.squares, left.squares) < near
        assert found.n_samples == count


@needs_compiler
def test_layouts_and_weights(tmp_path, puma):
    """Rows or columns contiguous, every other sample, weights of joints and of rows."""
    robot, columns, wanted = puma
    kernel = CudaLeastSquares.of(robot, columns, device=HostDevice(tmp_path))
    (q, qd, qdd), tau = motion(robot, 500)
    rng = np.random.default_rng(1)
    theta = rng.normal(size=len(columns))
    q, tau = np.asfortranarray(q), np.asfortranarray(tau)
    qd = np.repeat(qd, 2, axis=0)[::2]
    for weights in (rng.uniform(0.1, 3, robot.n), rng.uniform(0.1, 3, (500, robot.n))):
        found, same = (k.accumulate(q, qd, qdd, tau=tau, weights=weights) for k in (kernel, wanted))
        assert relative(found.matrix, same.matrix) < 1e-12
        found, same = (k.residual(q, qd, qdd, tau=tau, theta=theta, weights=weights) for k in (kernel, wanted))
        assert relative(found.gradient, same.gradient) < 1e-12
        assert relative(found.squares, same.squares) < 1e-12


@pytest.mark.slow
@needs_compiler
def test_solutions_are_those_of_the_processor(tmp_path, puma, monkeypatch):
    """With and without a triangle; rows of weight 0 are left out even where they hold NaN."""
    robot, columns, wanted = puma
    kernel = CudaLeastSquares.of(robot, columns, device=HostDevice(tmp_path))
    (q, qd, qdd), _ = motion(robot, 800)
    truth = np.random.default_rng(2).uniform(0.5, 2.0, len(columns))
    tau = wanted.kernel(q, qd, qdd) @ truth
    weights = np.ones(tau.shape)
    q[100], tau[200, 3] = np.nan, np.nan
    weights[100], weights[200, 3] = 0, 0
    with pytest.raises(RankError, match="give such rows the weight 0"):
        kernel.solve(q, qd, qdd, tau=tau)
    for switch, method in ((np.inf, "normal equations"), (0.0, "preconditioned")):
        monkeypatch.setattr("minertia.codegen.kernels.least_squares.SWITCH", switch)
        found = kernel.solve(q, qd, qdd, tau=tau, weights=weights)
        assert found.method == method
        assert relative(found.theta, truth) < 1e-11
    monkeypatch.setattr("minertia.codegen.device_least_squares.MANY_SAMPLES", 10)
    assert kernel.solve(q, qd, qdd, tau=tau, weights=weights).method == "preconditioned"


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree", "floating"])
def test_rows_with_gaps(tmp_path, name):
    """Branches and a floating base: rows that have some columns of a block, and many columns in several parts."""
    robot = robots_of_every_kind()[name]
    columns = base_parameters(robot, rotors=True, friction=True).kept
    wanted = LeastSquaresKernel.of(robot, columns)
    kernel = CudaLeastSquares.of(robot, columns, device=HostDevice(tmp_path))
    state = states(robot, 150)
    tau = np.random.default_rng(1).normal(size=(150, robot.n_velocity))
    T = wanted.sample_triangle(*state)
    assert relative(kernel.accumulate(*state, tau=tau).matrix, wanted.accumulate(*state, tau=tau).matrix) < 1e-12
    found, same = (k.accumulate(*state, tau=tau, triangle=T) for k in (kernel, wanted))
    assert relative(found.matrix, same.matrix) < 1e-11  # the triangle's condition number enters
    assert relative(kernel.sample_triangle(*state), T) < 1e-12


def test_products_follow_the_zeros_of_the_regressor(puma):
    """The order of columns saves products, each entry has one place, and all parts have about the same work."""
    robot, columns, _ = puma
    kernel = SumsKernel(regressor_program(robot, columns), GRAM, tuning=Tuning(sums=10))
    fixed = SumsKernel(kernel.program, PRECONDITIONED)
    assert fixed.columns.order == tuple(range(len(columns) + 1))
    assert kernel.columns.cost <= fixed.columns.cost < robot.n * 36
    assert sorted(kernel.columns.numbers.values()) == list(range(kernel.n_entries))
    assert sorted((s for part in kernel.parts for s in part), key=kernel.sums.index) == kernel.sums
    assert max(map(len, kernel.parts)) <= 2 * min(map(len, kernel.parts))
    assert kernel.bytes <= kernel.shared and kernel.samples % 4 == 0


def test_few_and_many_entries_for_the_memory_of_a_block(puma):
    robot, columns, _ = puma
    program = regressor_program(robot, columns)
    small = SumsKernel(program, GRAM, shared=99 * 1024)
    assert small.bytes <= 99 * 1024 and small.samples < SumsKernel(program, GRAM).samples
    least = SumsKernel(program, GRAM, shared=20 * 1024)
    assert least.samples == 8 and least.slices < Tuning().warps and least.bytes <= 20 * 1024
    with pytest.raises(MinertiaError, match="too many for the 4 kB of shared memory"):
        _ = SumsKernel(program, GRAM, shared=4096).samples


def test_what_is_refused(tmp_path, puma):
    robot, columns, _ = puma
    kernel = CudaLeastSquares.of(robot, columns, device=HostDevice(tmp_path))
    state, tau = motion(robot, 5)
    with pytest.raises(ShapeError, match="takes 3 arrays"):
        kernel.accumulate(*state[:2], tau=tau)
    with pytest.raises(ShapeError, match="tau has shape"):
        kernel.accumulate(*state, tau=tau[:, :2])
    with pytest.raises(ShapeError, match="4 samples but another array has 5"):
        kernel.accumulate(*state, tau=tau[:4])
    with pytest.raises(ShapeError, match="weights has shape"):
        kernel.accumulate(*state, tau=tau, weights=np.ones(2))
    with pytest.raises(ShapeError, match="the triangular factor has shape"):
        kernel.accumulate(*state, tau=tau, triangle=np.eye(3))
    with pytest.raises(ShapeError, match="theta has shape"):
        kernel.residual(*state, tau=tau, theta=np.ones(3))
    with pytest.raises(ShapeError, match="another kind"):
        kernel.accumulate(*state, tau=tau.astype(np.float32))
    with pytest.raises(ShapeError, match="no single output"):
        CudaLeastSquares(regressor_program(robot, columns), columns[:3], device=HostDevice(tmp_path))
    with pytest.raises(UnknownName, match="precision"):
        CudaLeastSquares.of(robot, columns, precision="half", device=HostDevice(tmp_path))


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_nothing_falls_back_to_the_processor(puma):
    with pytest.raises(MissingExtra, match="gpu"):
        CudaLeastSquares.of(puma[0], puma[1])


@needs_compiler
def test_launches(tmp_path, monkeypatch):
    """As many blocks as there are processors or tiles, dynamic shared memory asked for, arrays where DLPack says."""
    cupy = StandIn(tmp_path)
    monkeypatch.setattr("minertia.codegen.device.load", lambda package, extra: cupy)
    monkeypatch.setenv("MINERTIA_KERNELS", "interpreter" if native() else "numpy")
    robot = read_robot("planar2r")
    columns = base_parameters(robot).kept
    kernel = CudaLeastSquares.of(robot, columns)
    state, tau = motion(robot, 700)
    with pytest.raises(MinertiaError, match="q is not on a CUDA device"):
        kernel.accumulate(*state, tau=tau)
    monkeypatch.setattr("minertia.codegen.device.DLPACK_CUDA", (1,))  # that of the processor
    wanted = LeastSquaresKernel.of(robot, columns).accumulate(*state, tau=tau)
    assert relative(kernel.accumulate(*state, tau=tau).matrix, wanted.matrix) < 1e-13
    text = kernel.kernel(GRAM)
    assert cupy.launches[0] == ("minertia_sums", (3,), (text.threads,))
    kernel.accumulate(*(x[:5] for x in state), tau=tau[:5])
    assert cupy.launches[2] == ("minertia_sums", (1,), (text.threads,))
    with pytest.raises(ShapeError, match="tau has the type float32, but this kernel computes in float64"):
        kernel.accumulate(*state, tau=tau.astype(np.float32))

    def full(size):
        raise MemoryError

    cupy.empty = full
    with pytest.raises(MinertiaError, match="MB of free memory for partial sums"):
        kernel.accumulate(*state, tau=tau)


def test_devices(tmp_path, monkeypatch, puma):
    """Old cards multiply without tensor cores; without any card there is no silent way round."""
    for capability, instruction in (("75", PLAIN), ("80", TENSOR), ("90", TENSOR_WIDE)):
        cupy = StandIn(tmp_path, capability)
        monkeypatch.setattr("minertia.codegen.device.load", lambda package, extra, found=cupy: found)
        assert CudaLeastSquares.of(puma[0], puma[1]).tuning.instruction == instruction
    cupy = StandIn(tmp_path, count=0)
    monkeypatch.setattr("minertia.codegen.device.load", lambda package, extra: cupy)
    with pytest.raises(MinertiaError, match="no CUDA device; use device cpu"):
        CudaLeastSquares.of(puma[0], puma[1])


@pytest.mark.skipif(NVCC is None, reason="no CUDA compiler")
@pytest.mark.parametrize(
    ("architecture", "mode", "instruction"),
    [
        ("sm_90", GRAM, TENSOR_WIDE),
        pytest.param("sm_80", RESIDUAL, TENSOR, marks=pytest.mark.slow),
        pytest.param("sm_75", PRECONDITIONED, PLAIN, marks=pytest.mark.slow),
    ],
)
def test_kernels_compile_for_devices(tmp_path, architecture, mode, instruction):
    robot = read_robot("planar2r")
    columns = base_parameters(robot, rotors=True, friction=True).kept
    shared = {"sm_90": 227, "sm_80": 163, "sm_75": 64}[architecture] * 1024
    kernel = SumsKernel(
        regressor_program(robot, columns), mode, "double", True, shared, Tuning(instruction=instruction)
    )
    path = tmp_path / "sums.cu"
    path.write_text(kernel.source)
    subprocess.run([NVCC, f"-arch={architecture}", "-ptx", "-o", str(tmp_path / "sums.ptx"), str(path)], check=True)
    text = (tmp_path / "sums.ptx").read_text()
    assert text.count("mma.sync") == 0 if instruction == PLAIN else f"mma.sync.aligned.{instruction}" in text


# ---------------------------------------------------------------------- on a device


@pytest.fixture(scope="module")
def cupy():
    found = pytest.importorskip("cupy")
    try:
        found.cuda.runtime.getDeviceCount()
    except Exception as err:
        pytest.skip(f"no CUDA device ({err})")
    return found


@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize("instruction", [TENSOR, TENSOR_WIDE, PLAIN])
def test_sums_on_a_device(cupy, puma, precision, instruction):
    robot, columns, wanted = puma
    if instruction == TENSOR_WIDE and int(cupy.cuda.Device().compute_capability) < 90:
        pytest.skip("the instruction came with Hopper")
    state, tau = motion(robot, 70_001, precision)
    kernel = CudaLeastSquares.of(robot, columns, precision=precision, tuning=Tuning(instruction=instruction))
    arrays, efforts = [cupy.asarray(x) for x in state], cupy.asarray(tau)
    rng = np.random.default_rng(0)
    theta = rng.normal(size=len(columns))
    T = np.triu(rng.normal(size=(len(columns),) * 2)) + 5 * np.eye(len(columns))
    near = 1e-12 if precision == "double" else 3e-6
    found = kernel.accumulate(*arrays, tau=efforts)
    assert relative(found.matrix, wanted.accumulate(*state, tau=tau).matrix) < near
    again = kernel.accumulate(*(cupy.asfortranarray(x) for x in arrays), tau=cupy.asfortranarray(efforts))
    assert np.array_equal(again.matrix, found.matrix)  # no order depends on chance or layout
    found, same = (k.accumulate(*a, tau=t, triangle=T) for k, a, t in ((kernel, arrays, efforts), (wanted, state, tau)))
    assert relative(found.matrix, same.matrix) < near
    found, same = (k.residual(*a, tau=t, theta=theta) for k, a, t in ((kernel, arrays, efforts), (wanted, state, tau)))
    assert relative(found.gradient, same.gradient) < near and relative(found.squares, same.squares) < near


def test_solutions_on_a_device(cupy, puma):
    robot, columns, wanted = puma
    (q, qd, qdd), _ = motion(robot, 60_000)
    truth = np.random.default_rng(2).uniform(0.5, 2.0, len(columns))
    tau = wanted.kernel(q, qd, qdd) @ truth
    weights = np.ones(tau.shape)
    q[100], weights[100] = np.nan, 0
    kernel = CudaLeastSquares.of(robot, columns)
    arrays = [cupy.asarray(x) for x in (q, qd, qdd)]
    found = kernel.solve(*arrays, tau=cupy.asarray(tau), weights=cupy.asarray(weights))
    assert relative(found.theta, truth) < 1e-11
    with pytest.raises(MinertiaError, match="is not on a CUDA device"):
        kernel.accumulate(q, qd, qdd, tau=tau)
    with pytest.raises(ShapeError, match="holds float32"):
        kernel.accumulate(*(x.astype("float32") for x in arrays), tau=cupy.asarray(tau))
