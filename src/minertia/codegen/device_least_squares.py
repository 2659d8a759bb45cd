"""Least squares on a CUDA device: sums of [Y tau]'[Y tau] over samples, without storing the matrix.

The passes are those of `kernels.least_squares`: normal equations, preconditioned normal equations, and
the residual at a solution.  Sums are in double precision.  Only the sums, and about a thousand samples
for the triangular preconditioner, are copied to the CPU, which solves the small system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.codegen.device import compiled_functions, cuda_array, cuda_module
from minertia.codegen.kernels.kernel import regressor_program
from minertia.codegen.kernels.least_squares import (
    MANY_SAMPLES,
    SAMPLE,
    Gram,
    LeastSquaresKernel,
    Residual,
    Solution,
    inverse_of,
    looks_hard,
    solved,
    spread,
    spread_triangle,
)
from minertia.codegen.kernels.task import GRAM, PRECONDITIONED, RESIDUAL
from minertia.codegen.options import PRECISIONS
from minertia.codegen.program import Port, Program
from minertia.codegen.targets.cuda_least_squares import PLAIN, TENSOR, TENSOR_WIDE, WIDTHS, SumsKernel, Tuning
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, ShapeError, UnknownName
from minertia.robot.robot import Robot

PROCESSORS, SHARED = 16, 97  # numbers of these attributes of a CUDA device
TENSOR_CORES, WIDE_PRODUCTS = 80, 90  # compute capability from which there are FP64 tensor cores, and tiles of 16 x 8
QUICK = {
    "double": Tuning(unroll=4),
    "float": Tuning(blocks=2),
}  # the best of an H200; `benchmarks.gpu_least_squares` measures others
ADDERS = 32  # threads of a block that adds the sums of all blocks


class Device(Protocol):
    """Interface of a device on which sums are accumulated."""

    processors: int
    shared: int

    def tuning(self, precision: str) -> Tuning:
        """Tuning parameters for the device."""

    def array(self, given: Any, name: str, precision: str) -> Any:
        """View of the caller's memory, with shape and strides as in NumPy."""

    def upload(self, array: NDArray[Any]) -> Any:
        """Copy an array of doubles or indices to the device."""

    def download(self, array: Any) -> Array:
        """Copy an array to the host as doubles."""

    def sums(self, kernel: SumsKernel) -> Callable[[int, Sequence[Any]], Array]:
        """Compile the kernels as a function of the number of blocks and the arguments."""


class CudaDevice:
    """The current CUDA device, through CuPy."""

    def __init__(self) -> None:
        self._cupy = cuda_module()
        device = self._cupy.cuda.Device()
        ask = self._cupy.cuda.runtime.deviceGetAttribute
        self.processors, self.shared = int(ask(PROCESSORS, device.id)), int(ask(SHARED, device.id))
        self._capability = int(device.compute_capability)

    def tuning(self, precision: str) -> Tuning:
        """Tuning parameters of the device.

        Long products without tensor cores are not unrolled, to limit compile time.
        """
        if self._capability < TENSOR_CORES:
            return replace(QUICK[precision], instruction=PLAIN, unroll=1)
        return replace(QUICK[precision], instruction=TENSOR_WIDE if self._capability >= WIDE_PRODUCTS else TENSOR)

    def array(self, given: Any, name: str, precision: str) -> Any:
        """View of the caller's memory as a CuPy array."""
        return cuda_array(self._cupy, given, name, precision)

    def upload(self, array: NDArray[Any]) -> Any:
        """Copy an array to the device."""
        return self._cupy.asarray(array)

    def download(self, array: Any) -> Array:
        """Copy an array to the host as doubles."""
        return np.asarray(self._cupy.asnumpy(array), float)

    def sums(self, kernel: SumsKernel) -> Callable[[int, Sequence[Any]], Array]:
        """Compile the kernels as a function of the number of blocks and the arguments."""
        run = self.launch(kernel)
        return lambda blocks, arguments: self.download(run(blocks, arguments))

    def functions(self, kernel: SumsKernel) -> list[Any]:
        """Compile the two kernels of a pass."""
        what, names = f"least squares of '{kernel.program.name}'", ["minertia_sums", "minertia_total"]
        found = compiled_functions(self._cupy, kernel.source, names, what)
        found[0].max_dynamic_shared_size_bytes = kernel.bytes
        return found

    def launch(self, kernel: SumsKernel) -> Callable[[int, Sequence[Any]], Any]:
        """Like `sums`, but the result stays on the device."""
        cupy, (add, total) = self._cupy, self.functions(kernel)
        size, warps = len(kernel.parts) * kernel.n_results, kernel.slices

        def run(blocks: int, arguments: Sequence[Any]) -> Any:
            count, *rest = [cupy.int64(x) if isinstance(x, int) else x for x in arguments]
            try:
                partial, found = cupy.empty(blocks * warps * size), cupy.empty(size)
            except cupy.cuda.memory.OutOfMemoryError:
                raise MinertiaError(
                    f"the device has less than {blocks * warps * size * 8e-06:.3g} MB of free memory for partial sums"
                ) from None
            add((blocks,), (kernel.threads,), (cupy.uint64(count), *rest, partial), shared_mem=kernel.bytes)
            total((-(-size // ADDERS),), (ADDERS,), (partial, cupy.int64(blocks * warps), found))
            return found

        return run


class CudaLeastSquares:
    """Least squares for tau = Y theta on a CUDA device, with Y (n, columns) from a program with this one output.

    Arrays are those of CuPy, PyTorch or JAX on the device, samples first, in any layout with strides.
    precision: precision of the arrays and of the regressor.  tuning: parameters that affect only the speed;
    by default those of the device.
    """

    def __init__(
        self,
        program: Program,
        columns: Sequence[str],
        *,
        precision: str = "double",
        tuning: Tuning | None = None,
        device: Device | None = None,
    ) -> None:
        if precision not in PRECISIONS:
            raise UnknownName("precision", precision, PRECISIONS)
        if len(program.ports) != 1 or program.ports[0].shape[1:] != (len(columns),):
            raise ShapeError(f"the program '{program.name}' has no single output of shape (n, {len(columns)})")
        self.program, self.columns, self.precision = program, tuple(columns), precision
        self.device: Device = CudaDevice() if device is None else device
        self.tuning = self.device.tuning(precision) if tuning is None else tuning
        self.rows = program.ports[0].shape[0]
        self._common = [port.name in program.parameters for port in program.inputs]
        self._kernels: dict[tuple[int, bool], SumsKernel] = {}
        self._made: dict[tuple[int, bool], Callable[[int, Sequence[Any]], Array]] = {}
        self._host: LeastSquaresKernel | None = None

    @classmethod
    def of(cls, robot: Robot, columns: Sequence[str], **options: Any) -> CudaLeastSquares:
        """Least-squares kernel for the given columns (full names) of a robot's regressor."""
        return cls(regressor_program(robot, columns), columns, **options)

    def __repr__(self) -> str:
        return f"<CudaLeastSquares of {len(self.columns)} columns in {self.precision} precision>"

    def accumulate(self, *inputs: Any, tau: Any, weights: Any | None = None, triangle: ArrayLike | None = None) -> Gram:
        """Accumulate the normal equations of all rows; arguments as in `LeastSquaresKernel.accumulate`.

        triangle: a NumPy array R, to accumulate [Y R^-1, tau] instead of [Y, tau].
        """
        if triangle is None:
            kernel, sums, count = self._run(GRAM, inputs, tau, weights, None)
            return Gram(self.columns, kernel.matrix(sums), count * self.rows)
        R = np.asarray(triangle, float)
        if R.shape != (len(self.columns),) * 2:
            raise ShapeError(f"the triangular factor has shape {R.shape}; it must have {(len(self.columns),) * 2}")
        kernel, sums, count = self._run(PRECONDITIONED, inputs, tau, weights, inverse_of(R))
        return Gram(self.columns, kernel.matrix(sums), count * self.rows, R)

    def residual(self, *inputs: Any, tau: Any, theta: ArrayLike, weights: Any | None = None) -> Residual:
        """Residual at theta (NumPy): Y'(tau - Y theta) and the sum of squares of each row (joint)."""
        parameters = np.ascontiguousarray(theta, dtype=np.float64)
        if parameters.shape != (len(self.columns),):
            raise ShapeError(f"theta has shape {parameters.shape}; this kernel needs ({len(self.columns)},)")
        kernel, sums, count = self._run(RESIDUAL, inputs, tau, weights, parameters)
        return Residual(*kernel.gradient_and_squares(sums), count)

    def sample_triangle(self, *inputs: Any, weights: Any | None = None, samples: int = SAMPLE) -> Array:
        """R factor of the QR factorisation of samples spread evenly over the data, computed on the CPU."""
        arrays, count = self._inputs(inputs)
        factors = self._weights(weights, count)
        least = self._processor().least_samples(samples)
        return spread_triangle(count, least, lambda chosen: self._triangle_of(arrays, factors, chosen))

    def solve(self, *inputs: Any, tau: Any, weights: Any | None = None) -> Solution:
        """Least-squares solution, as accurate as QR of the whole matrix."""
        return solved(
            self._looks_hard(inputs, weights),
            lambda triangle: self.accumulate(*inputs, tau=tau, weights=weights, triangle=triangle),
            lambda: self.sample_triangle(*inputs, weights=weights),
            lambda theta: self.residual(*inputs, tau=tau, theta=theta, weights=weights),
        )

    # ------------------------------------------------------------------ inside

    def _run(
        self, mode: int, inputs: Sequence[Any], tau: Any, weights: Any | None, extra: Array | None
    ) -> tuple[SumsKernel, Array, int]:
        """Run a pass over the data; return its kernel, the sums and the number of samples."""
        kernel, blocks, arguments = self.arguments(mode, inputs, tau, weights, extra)
        count = int(arguments[0])
        if not blocks:
            return kernel, np.zeros(len(kernel.parts) * kernel.n_results), count
        key = mode, weights is not None
        if key not in self._made:
            self._made[key] = self.device.sums(kernel)
        return kernel, self._made[key](blocks, arguments), count

    def arguments(
        self, mode: int, inputs: Sequence[Any], tau: Any, weights: Any | None, extra: Array | None
    ) -> tuple[SumsKernel, int, list[Any]]:
        """Kernel of a pass, its number of blocks, and its arguments.

        extra: theta for RESIDUAL, the inverse of the triangle for PRECONDITIONED.
        """
        arrays, count = self._inputs(inputs)
        efforts = self._checked(tau, Port("tau", (self.rows,)), count)
        factors = self._weights(weights, count)
        kernel = self.kernel(mode, is_weighted=factors is not None)
        given = [self._strided(x, is_common) for x, is_common in zip(arrays, self._common, strict=True)]
        given.append(self._strided(efforts, False))
        given.append((efforts, 0, 0) if factors is None else self._strided(factors, factors.ndim == 1))
        last = efforts  # not read where there is nothing more to read
        if extra is not None:
            last = self.device.upload(kernel.factors(extra) if mode == PRECONDITIONED else extra)
        blocks = min(-(-count // kernel.samples), self.device.processors * self.tuning.blocks)
        return kernel, blocks, [count, *(part for array in given for part in array), last]

    def kernel(self, mode: int, *, is_weighted: bool = False) -> SumsKernel:
        """Source of a pass, with the block sizes that the device allows."""
        key = mode, is_weighted
        if key not in self._kernels:
            shared = self.device.shared
            self._kernels[key] = SumsKernel(self.program, mode, self.precision, is_weighted, shared, self.tuning)
        return self._kernels[key]

    def _inputs(self, inputs: Sequence[Any]) -> tuple[list[Any], int]:
        ports = self.program.inputs
        if len(inputs) != len(ports):
            names = ", ".join(port.name for port in ports)
            raise ShapeError(f"'{self.program.name}' takes {len(ports)} arrays ({names}), not {len(inputs)}")
        count: int | None = None
        arrays = []
        for given, port in zip(inputs, ports, strict=True):
            if port.name in self.program.parameters:
                arrays.append(self._checked(given, port, None))
                continue
            array = self._checked(given, port, count, is_first=count is None)
            count = len(array)
            arrays.append(array)
        return arrays, 1 if count is None else count

    def _checked(self, given: Any, port: Port, count: int | None, *, is_first: bool = False) -> Any:
        """Validated array on the device; count: required number of samples.

        None for count: an input without sample axis, or with is_first the input that sets their number.
        """
        array = self.device.array(given, port.name, self.precision)
        is_common = count is None and not is_first
        shape = array.shape if is_common else array.shape[1:]
        if shape != port.shape or len(array.shape) == 0:
            wanted = ", ".join(map(str, port.shape if is_common else ("N", *port.shape)))
            raise ShapeError(f"{port.name} has shape {array.shape}; '{self.program.name}' needs ({wanted})")
        if count is not None and len(array) != count:
            raise ShapeError(f"{port.name} has {len(array)} samples but another array has {count}")
        return array

    def _weights(self, weights: Any | None, count: int) -> Any | None:
        if weights is None:
            return None
        array = self.device.array(weights, "weights", self.precision)
        if array.shape not in ((self.rows,), (count, self.rows)):
            raise ShapeError(
                f"weights has shape {array.shape}; this kernel needs ({self.rows},) or ({count}, {self.rows})"
            )
        return array

    def _strided(self, array: Any, is_common: bool) -> tuple[Any, int, int]:
        """Array with the strides of its samples and of its entries, in elements."""
        width = WIDTHS[self.precision]
        steps = [0, *array.strides] if is_common else list(array.strides)
        sizes = array.shape if is_common else array.shape[1:]
        for axis in range(len(sizes) - 1):
            if steps[axis + 1] != steps[axis + 2] * sizes[axis + 1]:
                raise ShapeError(
                    "the entries of each sample must have a constant stride in memory; make the array contiguous"
                )
        if any(step % width for step in steps):
            raise ShapeError(
                "the strides of an array must be multiples of the size of its entries; make the array contiguous"
            )
        return array, steps[0] // width, steps[-1] // width if sizes else 0

    def _processor(self) -> LeastSquaresKernel:
        if self._host is None:
            self._host = LeastSquaresKernel(self.program, self.columns, compiling=False)
        return self._host

    def _triangle_of(self, arrays: Sequence[Any], weights: Any | None, chosen: Any) -> Array:
        few = [self._few(x, None if is_common else chosen) for x, is_common in zip(arrays, self._common, strict=True)]
        factors = None if weights is None else self._few(weights, None if weights.ndim == 1 else chosen)
        return self._processor().triangle_of(*few, weights=factors)

    def _few(self, array: Any, chosen: Any | None) -> Array:
        return self.device.download(array if chosen is None else array[self.device.upload(chosen)])

    def _looks_hard(self, inputs: Sequence[Any], weights: Any | None) -> bool:
        arrays, count = self._inputs(inputs)
        if count < MANY_SAMPLES:
            return False
        return looks_hard(self._triangle_of(arrays, self._weights(weights, count), spread(count, SAMPLE)))
