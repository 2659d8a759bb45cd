"""Kernels on a CUDA device, compiled at run time by NVRTC through CuPy; other frameworks' arrays via DLPack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minertia.codegen.options import Arithmetic
from minertia.codegen.program import Port, Program
from minertia.codegen.targets import c, cuda
from minertia.io.errors import MinertiaError, ShapeError
from minertia.io.extras import load

PREFIX = "minertia"
DTYPES = {"double": "float64", "float": "float32"}
DLPACK_CUDA = (2, 13)  # device types of plain and managed memory of a CUDA device
# framework -> module with its `from_dlpack`
FRAMEWORKS = {"torch": "torch", "jax": "jax.numpy", "jaxlib": "jax.numpy"}


class CudaKernel:
    """Program compiled for a CUDA device.

    Call it with one array for each input, (N, *shape), and (*shape) for parameters.  Rows may be contiguous
    (sample-major) or columns (joint-major: the transpose of a contiguous array), the same for all arrays of a call;
    outputs get that layout and the framework of the first input.
    """

    def __init__(self, program: Program, precision: str = "double") -> None:
        self._cupy = cuda_module()
        self.program, self.precision = program, precision
        style = c.CStyle(PREFIX, Arithmetic(precision, "own"))
        rendered = c.render(program, style)
        text = cuda.render(style, f"Program {program.name}", "", [program], {program.name: rendered})
        self.source, self.has_prepare = text, rendered.has_prepare
        self._kernels = self._compiled(text)
        self._given = [port for port in program.inputs if port.name not in program.parameters]
        self._slots = len(c.prepared_slots(program))

    def _compiled(self, text: str) -> dict[str, Any]:
        names = ["joint_major", "sample_major", *(["prepare_kernel"] if self.has_prepare else [])]
        functions = [f"{PREFIX}_{self.program.name}_{name}" for name in names]
        what = f"the program '{self.program.name}'"
        return dict(zip(names, compiled_functions(self._cupy, text, functions, what), strict=True))

    def __repr__(self) -> str:
        return f"<CudaKernel of '{self.program.name}' in {self.precision} precision>"

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Return the output (N, *shape), or a tuple of outputs; out: arrays to write to."""
        ports = self.program.inputs
        if len(inputs) != len(ports):
            names = ", ".join(port.name for port in ports)
            raise ShapeError(f"'{self.program.name}' takes {len(ports)} arrays ({names}), not {len(inputs)}")
        by_name = {port.name: self._array(x, port.name) for x, port in zip(inputs, ports, strict=True)}
        arrays = [by_name[port.name] for port in self._given]
        count, is_sample_major = self._layout(arrays, self._given)
        found = self._outputs(out, count, is_sample_major)
        middle = [self._prepared(by_name)] if self.has_prepare else []
        if count:
            self._launch(count, is_sample_major, arrays, middle, found)
        if out is not None:
            return out
        results = [_restored(inputs[0], array) for array in found]
        return results[0] if len(results) == 1 else tuple(results)

    def _array(self, given: Any, name: str) -> Any:
        return cuda_array(self._cupy, given, name, self.precision)

    def _layout(self, arrays: Sequence[Any], ports: Sequence[Port]) -> tuple[int, bool]:
        """Number of samples, and whether rows are contiguous."""
        for array, port in zip(arrays, ports, strict=True):
            if array.ndim != 1 + len(port.shape) or array.shape[1:] != port.shape:
                wanted = ", ".join(map(str, ("N", *port.shape)))
                raise ShapeError(f"{port.name} has shape {array.shape}; '{self.program.name}' needs ({wanted})")
            if len(array) != len(arrays[0]):
                raise ShapeError(f"{port.name} has {len(array)} samples but another array has {len(arrays[0])}")
        if all(array.flags.c_contiguous for array in arrays):
            return len(arrays[0]), True
        for array, port in zip(arrays, ports, strict=True):
            if not _is_joint_major(array):
                raise ShapeError(
                    f"the entries of {port.name} are neither row by row nor column by column in memory like those of "
                    "the other arrays; make all of them contiguous, or all of them transposes of contiguous arrays"
                )
        return len(arrays[0]), False

    def _outputs(self, out: Any, count: int, is_sample_major: bool) -> list[Any]:
        ports = self.program.ports
        if out is None:
            return [self._empty(count, port, is_sample_major) for port in ports]
        given = list(out) if isinstance(out, tuple | list) else [out]
        if len(given) != len(ports):
            raise ShapeError(f"'{self.program.name}' writes {len(ports)} arrays, not {len(given)}")
        arrays = [self._array(x, f"out ({port.name})") for x, port in zip(given, ports, strict=True)]
        for array, port in zip(arrays, ports, strict=True):
            fits = array.flags.c_contiguous if is_sample_major else _is_joint_major(array)
            if array.shape != (count, *port.shape) or not fits:
                raise ShapeError(
                    f"the output {port.name} has shape {array.shape}; it must have ({count}, "
                    f"{', '.join(map(str, port.shape))}) and the layout of the inputs"
                )
        return arrays

    def _empty(self, count: int, port: Port, is_sample_major: bool) -> Any:
        cupy, dtype = self._cupy, DTYPES[self.precision]
        try:
            if is_sample_major:
                return cupy.empty((count, *port.shape), dtype)
            turned = cupy.empty((*port.shape, count), dtype)
            return cupy.moveaxis(turned, -1, 0)
        except cupy.cuda.memory.OutOfMemoryError:
            size = count * port.size * (8 if self.precision == "double" else 4) / 1e9
            raise MinertiaError(
                f"the device has less than {size:.3g} GB of free memory for {port.name} of {count} samples; give "
                "fewer samples at a time"
            ) from None

    def _prepared(self, by_name: dict[str, Any]) -> Any:
        """Values precomputed from the parameters, on the device."""
        cupy = self._cupy
        kept = cupy.empty(self._slots, DTYPES[self.precision])
        given = []
        for port in self.program.inputs:
            if port.name in self.program.parameters:
                array = by_name[port.name]
                if array.shape != port.shape:
                    raise ShapeError(f"{port.name} has shape {array.shape}; it must be {port.shape}, for all samples")
                given.append(cupy.ascontiguousarray(array))
        self._kernels["prepare_kernel"]((1,), (1,), (*given, kept))
        return kept

    def _launch(self, count: int, is_sample_major: bool, arrays: Any, middle: Any, found: Any) -> None:
        uint64 = self._cupy.uint64
        if is_sample_major:
            blocks = -(-count // cuda.STAGED)
            given, written = ([_aligned(x) for x in items] for items in (arrays, found))
            self._kernels["sample_major"]((blocks,), (cuda.STAGED,), (uint64(count), *given, *middle, *written))
            for target, source in zip(found, written, strict=True):
                if target is not source:
                    target[...] = source
            return
        size = 8 if self.precision == "double" else 4

        def strided(items: Sequence[Any]) -> list[Any]:
            return [part for x in items for part in (x, uint64(_entry_stride(x) // size))]

        blocks = -(-count // cuda.THREADS)
        arguments = (uint64(count), *strided(arrays), *middle, *strided(found))
        self._kernels["joint_major"]((blocks,), (cuda.THREADS,), arguments)


def cuda_array(cupy: Any, given: Any, name: str, precision: str) -> Any:
    """View of the caller's memory as a CuPy array."""
    device = getattr(given, "__dlpack_device__", None)
    if device is None or int(device()[0]) not in DLPACK_CUDA:
        raise MinertiaError(
            f"{name} is not on a CUDA device; give arrays of CuPy, PyTorch or JAX that are, or use device cpu"
        )
    array = given if isinstance(given, cupy.ndarray) else cupy.from_dlpack(_detached(given))
    if str(array.dtype) != DTYPES[precision]:
        raise ShapeError(f"{name} has the type {array.dtype}, but this kernel computes in {DTYPES[precision]}")
    return array


def compiled_functions(cupy: Any, text: str, names: Sequence[str], what: str) -> list[Any]:
    """Compile the kernels of a source text by NVRTC."""
    try:
        module = cupy.RawModule(code=text, options=("--std=c++14",))
        return [module.get_function(name) for name in names]
    except Exception as err:  # NVRTC missing, too old for the card, or refusing the text
        first = (str(err).strip().splitlines() or [err.__class__.__name__])[0]
        raise MinertiaError(
            f"{what} cannot be compiled for this CUDA device ({first}); check that the CUDA toolkit supports the device"
        ) from None


def _aligned(array: Any) -> Any:
    """The array, or a copy of it that starts where a kernel may read vectors."""
    return array.copy() if array.data.ptr % cuda.ALIGNMENT else array


def _entry_stride(array: Any) -> int:
    return int(array.strides[-1])


def _is_joint_major(array: Any) -> bool:
    """Whether the samples of an entry are adjacent in memory, and entries have a constant stride."""
    step = array.dtype.itemsize
    if array.strides[0] != step:
        return len(array) <= 1
    distance = _entry_stride(array)
    for axis in range(array.ndim - 1, 0, -1):
        if array.strides[axis] != distance:
            return False
        distance *= array.shape[axis]
    return True


def _detached(given: Any) -> Any:
    """Detach a tensor from its gradient graph, so that its memory can be exported."""
    return given.detach() if getattr(given, "requires_grad", False) else given


def _restored(like: Any, array: Any) -> Any:
    """Convert the result to the framework of an input, without copying."""
    framework = FRAMEWORKS.get(type(like).__module__.partition(".")[0])
    if framework is None:
        return array
    wrap: Callable[[Any], Any] = load(framework, "gpu").from_dlpack
    return wrap(array)


def cuda_module() -> Any:
    """CuPy module; raises an error if there is no CUDA device."""
    cupy = load("cupy", "gpu")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as err:
        reason = (str(err).strip().splitlines() or [err.__class__.__name__])[0]
        raise MinertiaError(f"no CUDA device can be used ({reason}); use device cpu") from None
    if not count:
        raise MinertiaError("this machine has no CUDA device; use device cpu")
    return cupy
