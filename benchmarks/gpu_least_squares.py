"""`python -m benchmarks.gpu_least_squares [ROBOT]`: least squares on a CUDA device, and what its tunables are worth.

Prints each variant with samples per second, its error against the processor and what the compiler made of it; the best
of each precision over sizes, layouts and passes; and variants of joint-major inverse dynamics in single precision.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

import minertia as mi
from benchmarks.gpu import copy_bandwidth, seconds
from minertia.base.numeric import random_states
from minertia.codegen.device import PREFIX, compiled_functions
from minertia.codegen.device_least_squares import CudaLeastSquares
from minertia.codegen.kernels.least_squares import LeastSquaresKernel
from minertia.codegen.kernels.task import GRAM, PRECONDITIONED, RESIDUAL
from minertia.codegen.targets.cuda_least_squares import PLAIN, TENSOR_WIDE, Tuning
from minertia.io.errors import MinertiaError

CHECKED, TUNED, MANY = 2**16, 2**22, 2**25
SIZES = tuple(2**k for k in range(20, 25))
DTYPES = {"double": "float64", "float": "float32"}
TUNINGS = {
    "double": (
        Tuning(),
        Tuning(instruction=TENSOR_WIDE),
        Tuning(order="columns"),
        Tuning(is_early=False),
        Tuning(unroll=1),
        Tuning(unroll=4),
        Tuning(instruction=TENSOR_WIDE, unroll=4),
        Tuning(warps=8),
        Tuning(warps=8, instruction=TENSOR_WIDE),
        Tuning(sums=14),
        Tuning(sums=14, instruction=TENSOR_WIDE),
        Tuning(samples=64, blocks=2),
        Tuning(samples=64, blocks=2, instruction=TENSOR_WIDE),
        Tuning(warps=2, samples=64, blocks=2),
        Tuning(warps=2, samples=64, blocks=2, sums=14),
        Tuning(warps=2, samples=32, blocks=4),
    ),
    "float": (
        Tuning(),
        Tuning(warps=8, samples=256),
        Tuning(warps=8, samples=256, instruction=TENSOR_WIDE),
        Tuning(blocks=2),
        Tuning(blocks=2, instruction=TENSOR_WIDE),
        Tuning(warps=4, samples=256, sums=14),
        Tuning(warps=2, samples=64, blocks=4),
        Tuning(samples=64, blocks=2),
    ),
}
VECTORS = """
/* {width} neighbouring samples a thread. */
typedef unsigned long long place;
extern "C" __global__ void __launch_bounds__({threads}, {blocks}) vector_joint_major(place count,
    const float *__restrict__ q, place q_stride, const float *__restrict__ qd, place qd_stride,
    const float *__restrict__ qdd, place qdd_stride, float *__restrict__ tau, place tau_stride)
{{
  const place i = ((place)blockIdx.x * blockDim.x + threadIdx.x) * {width};
  if (i >= count) return;
  __align__(16) float a[{n}][{width}], b[{n}][{width}], c[{n}][{width}], d[{n}][{width}];
#pragma unroll
  for (int k = 0; k < {n}; ++k) {{
    *({vector} *)a[k] = {load}((const {vector} *)(q + k * q_stride + i));
    *({vector} *)b[k] = {load}((const {vector} *)(qd + k * qd_stride + i));
    *({vector} *)c[k] = {load}((const {vector} *)(qdd + k * qdd_stride + i));
  }}
#pragma unroll
  for (int s = 0; s < {width}; ++s) {{
    float x[{n}], y[{n}], z[{n}], t[{n}];
#pragma unroll
    for (int k = 0; k < {n}; ++k) x[k] = a[k][s], y[k] = b[k][s], z[k] = c[k][s];
    {function}(x, y, z, t);
#pragma unroll
    for (int k = 0; k < {n}; ++k) d[k][s] = t[k];
  }}
#pragma unroll
  for (int k = 0; k < {n}; ++k) {store}(({vector} *)(tau + k * tau_stride + i), *({vector} *)d[k]);
}}
"""
SHAPES = (  # samples of a thread, threads, least blocks of a multiprocessor, load, store
    (1, 128, 1, "__ldcs", "__stcs"),
    (1, 128, 6, "__ldg", "__stcs"),
    (1, 128, 7, "__ldg", "__stcs"),
    (1, 256, 3, "__ldcs", "__stcs"),
    (2, 128, 4, "__ldcs", "__stcs"),
    (4, 128, 2, "__ldcs", "__stcs"),
)
TYPES = {1: "float", 2: "float2", 4: "float4"}


class Data:
    """Random motions and efforts on the device, as many as the largest size needs."""

    def __init__(self, cupy: Any, robot: mi.Robot) -> None:
        self.cupy = cupy
        few = [np.asarray(x) for x in random_states(robot, CHECKED, 0)]
        self.few = [*few, np.random.default_rng(1).normal(size=few[1].shape)]

    def arrays(self, count: int, precision: str, layout: str = "sample-major") -> list[Any]:
        """q, qd, qdd, tau."""
        found = []
        for rows in self.few:
            x = self.cupy.asarray(rows, DTYPES[precision])
            x = self.cupy.tile(x, (-(-count // CHECKED), 1))[:count]
            x = self.cupy.ascontiguousarray(x.T).T if layout == "joint-major" else self.cupy.ascontiguousarray(x)
            found.append(x)
        return found


def rate(cupy: Any, kernel: CudaLeastSquares, arrays: Sequence[Any], mode: int = GRAM, extra: Any = None) -> float:
    """Samples per second of a pass, sums left on the device."""
    text, blocks, arguments = kernel.arguments(mode, arrays[:3], arrays[3], None, extra)
    run = kernel.device.launch(text)  # type: ignore[attr-defined]
    return len(arrays[0]) / seconds(cupy, lambda: run(blocks, arguments))


def told(tuning: Tuning) -> str:
    """The tunables that differ from the default."""
    plain = Tuning()
    changed = {k: v for k, v in vars(tuning).items() if v != getattr(plain, k)}
    return ", ".join(f"{k} {v}" for k, v in changed.items()) or "default"


def tune(cupy: Any, make: Any, data: Data, precision: str, wanted: np.ndarray) -> Tuning:
    """A line for each variant; the fastest one that is right."""
    small, large = data.arrays(CHECKED, precision), data.arrays(TUNED, precision)
    found: list[tuple[float, Tuning]] = []
    for tuning in TUNINGS[precision]:
        clock = perf_counter()
        try:
            kernel = make(precision, tuning)
            matrix = kernel.accumulate(*small[:3], tau=small[3]).matrix
            taken = perf_counter() - clock
            error = float(np.abs(matrix - wanted).max() / np.abs(wanted).max())
            speed = rate(cupy, kernel, large)
            add = kernel.device.functions(kernel.kernel(GRAM))[0]
        except (MinertiaError, cupy.cuda.driver.CUDADriverError) as err:
            print(f"{precision:6s} {told(tuning):60s} {err}", flush=True)
            continue
        text = kernel.kernel(GRAM)
        print(
            f"{precision:6s} {told(tuning):60s} {speed / 1e9:6.3f} G/s  error {error:.1e}  {add.num_regs:3d} registers,"
            f" {add.local_size_bytes:4d} B local, {text.bytes // 1024:3d} kB shared, {text.samples:3d} samples, "
            f"{text.threads:3d} threads, made in {taken:.1f} s",
            flush=True,
        )
        if error < (1e-12 if precision == "double" else 1e-5):
            found.append((speed, tuning))
    return max(found, key=lambda pair: pair[0])[1]


def passes(cupy: Any, kernel: CudaLeastSquares, data: Data, precision: str) -> None:
    """Sizes, layouts and the other passes of one variant."""
    for layout in ("sample-major", "joint-major"):
        speeds = []
        for size in SIZES:
            speeds.append(f"{rate(cupy, kernel, data.arrays(size, precision, layout)) / 1e9:.3f}")
            cupy.get_default_memory_pool().free_all_blocks()
        print(f"{precision:6s} {layout:12s} 2^20 .. 2^24 samples: {', '.join(speeds)} G/s", flush=True)
    arrays, p = data.arrays(TUNED, precision), len(kernel.columns)
    for mode, name, extra in ((PRECONDITIONED, "with a triangle", np.eye(p)), (RESIDUAL, "residual", np.ones(p))):
        print(f"{precision:6s} {name}: {rate(cupy, kernel, arrays, mode, extra) / 1e9:.3f} G/s", flush=True)
    small = data.arrays(4096, precision)
    for name, call in (
        ("normal equations of 4096 samples", lambda: kernel.accumulate(*small[:3], tau=small[3])),
        (f"solution of {TUNED} samples", lambda: kernel.solve(*arrays[:3], tau=arrays[3])),
    ):
        call()
        clock = perf_counter()
        for _ in range(5):
            call()
        print(f"{precision:6s} {name}, from Python: {(perf_counter() - clock) / 5 * 1e3:.3f} ms", flush=True)


def inverse_dynamics(cupy: Any, robot: mi.Robot, data: Data) -> None:
    """Joint-major, single precision: distance of the rows, samples of a thread, blocks and hints to the cache."""
    copy, count, n = copy_bandwidth(cupy), MANY, robot.n
    kernel = mi.compile(mi.codegen.build_program(robot, "inverse_dynamics"), device="cuda", precision="float")
    moved = 4 * 4 * n * count / copy

    def report(name: str, time: float, registers: int = 0) -> None:
        told = f", {registers} registers" if registers else ""
        print(f"inverse dynamics float joint-major {name:58s} {100 * moved / time:5.1f} % of a copy{told}", flush=True)

    for extra in (0, 32, 4096 + 32):  # rows a power of two apart meet in the same banks of the memory
        room = cupy.zeros((4 * n, count + extra), "float32")
        for k, rows in enumerate(data.few[:3]):
            room[k * n : (k + 1) * n, :count] = cupy.tile(cupy.asarray(rows.T, "float32"), (1, count // CHECKED))
        parts = [room[k * n : (k + 1) * n, :count].T for k in range(4)]
        report(f"rows {count} + {extra} apart", seconds(cupy, lambda p=parts: kernel(*p[:3], out=p[3])))
        arguments = [x for p in parts for x in (p, cupy.uint64(count + extra))]
        for width, threads, blocks, load, store in SHAPES:
            text = kernel.source.replace(
                "\n#endif\n\n#endif\n",
                VECTORS.format(
                    width=width, threads=threads, blocks=blocks, load=load, store=store, n=n, vector=TYPES[width],
                    function=f"{PREFIX}_inverse_dynamics",
                ) + "\n#endif\n\n#endif\n",
            )  # fmt: skip
            (run,) = compiled_functions(cupy, text, ["vector_joint_major"], "a variant")
            wanted = parts[3][:4096].copy()
            parts[3][:4096] = 0
            grid = (-(-count // (width * threads)),)
            time = seconds(cupy, lambda r=run, g=grid, t=threads, a=arguments: r(g, (t,), (cupy.uint64(count), *a)))
            worst = float(abs(parts[3][:4096] - wanted).max() / abs(wanted).max())
            name = f"+ {extra}, {width} samples, {threads} threads, {blocks} blocks, {load}"
            report(name if worst < 1e-5 else f"{name}: WRONG BY {worst:.1e}", time, run.num_regs)
        del room, parts, arguments
        cupy.get_default_memory_pool().free_all_blocks()


def main() -> None:
    """Print all."""
    import cupy

    robot = mi.read_robot(sys.argv[1] if len(sys.argv) > 1 else "puma560_physical")
    columns = mi.base_parameters(robot, rotors=False, friction=False).kept
    data = Data(cupy, robot)
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    processor = LeastSquaresKernel.of(robot, columns)
    wanted = processor.accumulate(*data.few[:3], tau=data.few[3]).matrix
    first = CudaLeastSquares.of(robot, columns)
    counts = first.kernel(GRAM)
    print(
        f"{properties['name'].decode()}, '{robot.name}', {len(columns)} columns, {counts.n_entries} entries and "
        f"{counts.columns.cost} tiles of products a sample; processor: {processor.path}",
        flush=True,
    )

    def make(precision: str, tuning: Tuning) -> CudaLeastSquares:
        return CudaLeastSquares(first.program, columns, precision=precision, tuning=tuning, device=first.device)

    for precision in ("double", "float"):
        best = tune(cupy, make, data, precision, wanted)
        print(f"best in {precision}: {told(best)}", flush=True)
        passes(cupy, make(precision, best), data, precision)
        cupy.get_default_memory_pool().free_all_blocks()
    plain = make("double", replace(Tuning(), instruction=PLAIN, unroll=1))
    print(f"double without tensor cores: {rate(cupy, plain, data.arrays(TUNED, 'double')) / 1e9:.3f} G/s", flush=True)
    inverse_dynamics(cupy, robot, data)


if __name__ == "__main__":
    main()
