"""Programs over many samples, and as a function of one sample.

`BatchKernel` runs any program on arrays with samples first; `compile_function` returns a callable for one sample.  The
execution path (compiled, interpreted, NumPy) shows only in `path` and in the run time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.expr import Graph, evaluate
from minertia.codegen.kernels import build
from minertia.codegen.kernels.batch import single_source
from minertia.codegen.kernels.runner import references, runner
from minertia.codegen.kernels.schedule import Schedule, schedule
from minertia.codegen.kernels.selfcheck import single_fault
from minertia.codegen.kernels.task import GRAM, NONZEROS, PORTS, ROWS, MatrixPattern, Single, Tables, Work, address
from minertia.codegen.program import Port, Program
from minertia.dynamics import model
from minertia.io.arrays import Array
from minertia.io.errors import ShapeError
from minertia.io.resources import processors
from minertia.robot.robot import Robot

MOST_SUMS = 64  # partial sums of a batch, whatever its length: what is added to what never depends on threads
LEAST_SAMPLES = 4096  # of a partial sum
PIECES_PER_THREAD = 4


def torque_program(robot: Robot) -> Program:
    """Inverse-dynamics program with the robot's nominal parameters as constants."""
    graph, state = _state(robot)
    tau = model.inverse_dynamics(robot, *state)
    return Program("inverse_dynamics", graph, _state_ports(robot), (Port("tau", (len(tau),)),), tuple(tau))


def regressor_program(robot: Robot, columns: Sequence[str]) -> Program:
    """Program of the regressor Y of the given columns (full names), shape (n, columns), for tau = Y X."""
    graph, state = _state(robot)
    entries = model.torque_regressor(robot, *state, columns=columns)
    shape = (robot.n_efforts, len(columns))
    outputs = tuple(entries.get((r, name), 0.0) for r in range(shape[0]) for name in columns)
    return Program("base_regressor", graph, _state_ports(robot), (Port("Y", shape),), outputs)


def regressor_entries_program(robot: Robot, columns: Sequence[str]) -> Program:
    """Program of the entries of the regressor that are not structurally zero, row by row; pattern: their places."""
    graph, state = _state(robot)
    found = model.torque_regressor(robot, *state, columns=columns)
    shape, ports = (robot.n_efforts, len(columns)), _state_ports(robot)
    places = [(r, c) for r in range(shape[0]) for c, name in enumerate(columns) if (r, name) in found]
    outputs = tuple(found[r, columns[c]] for r, c in places)
    Y = Port("Y", (len(outputs),))
    return Program("regressor_entries", graph, ports, (Y,), outputs, pattern=tuple(places), shape=shape)


def momentum_program(robot: Robot, columns: Sequence[str]) -> Program:
    """Program of Yp and Yc of the given columns (full names), shape (n, columns), tau = d/dt (Yp X) + Yc X."""
    graph, (q, qd, _) = _state(robot)
    found = model.momentum_regressor(robot, q, qd, columns=columns)
    shape = (robot.n_velocity, len(columns))
    outputs = tuple(e.get((r, name), 0.0) for e in found for r in range(shape[0]) for name in columns)
    ports = (Port("Yp", shape), Port("Yc", shape))
    return Program("momentum_regressor", graph, _state_ports(robot)[:2], ports, outputs)


def power_program(robot: Robot, columns: Sequence[str]) -> Program:
    """Program of E and P of the given columns (full names), shape (columns,), tau . qd = d/dt (E X) + P X."""
    graph, (q, qd, _) = _state(robot)
    found = model.power_regressor(robot, q, qd, columns=columns)
    outputs = tuple(e.get((0, name), 0.0) for e in found for name in columns)
    ports = (Port("E", (len(columns),)), Port("P", (len(columns),)))
    return Program("power_regressor", graph, _state_ports(robot)[:2], ports, outputs)


def _state(robot: Robot) -> tuple[Graph, list[Any]]:
    graph = Graph()
    return graph, [graph.variables(port.name, port.size) for port in _state_ports(robot)]


def _state_ports(robot: Robot) -> tuple[Port, ...]:
    return Port("q", (robot.n_position,)), Port("qd", (robot.n_velocity,)), Port("qdd", (robot.n_velocity,))


class BatchKernel:
    """Program evaluated over N samples.

    Inputs are arrays (N, *shape of the port); C-contiguous float64 arrays are read in place.  Inputs that are
    parameters of the program have the shape of their port: they are the same for all samples.
    compiling: whether the workload justifies a second or two of compilation.
    """

    def __init__(self, program: Program, *, compiling: bool = True) -> None:
        self.program = program
        self.schedule: Schedule = schedule(program)
        if max(len(program.inputs), len(program.ports)) > PORTS:
            raise ShapeError(f"the program '{program.name}' has more than {PORTS} inputs or outputs")
        self._runner = runner(self.schedule, compiling=compiling)

    @property
    def path(self) -> str:
        """Execution path: "compiled", "interpreter" or "numpy"."""
        return self._runner.path

    @property
    def reason(self) -> str:
        """Reason for the execution path."""
        return self._runner.reason

    def __call__(self, *inputs: ArrayLike, out: Any = None, threads: int | None = 1) -> Any:
        """Return the output (N, *shape), or a tuple of outputs.

        out: array or arrays to write to.  threads: None for one per processor.
        """
        if threads == 1 and self._runner.rows is not None:
            found = self._runner.rows(*inputs, tuple(out) if isinstance(out, list) else out)
            if found is not NotImplemented:
                return found
        arrays, n = self.checked(inputs)
        ports = self.program.ports
        if out is None:
            outputs = [np.empty((n, *port.shape)) for port in ports]
        else:
            given = _outputs(out, len(ports))
            outputs = [_output(array, (n, *port.shape)) for array, port in zip(given, ports, strict=True)]
            arrays = apart(arrays, outputs)
        self.run(Work(ROWS, arrays, outputs, n_samples=n), threads)
        return outputs[0] if len(ports) == 1 else tuple(outputs)

    def bound_with_gram(self, inputs: Sequence[Array], output: Array, scale: Array) -> Callable[[], Array]:
        """Return a function bound to these arrays for repeated calls, which read and write them in place.

        For a program with one matrix Y (rows, columns); the call returns the sum of Y' D Y over samples, where the
        diagonal matrix D has the squares of `scale` (rows,), which is read at each call.  The output (N, entries)
        receives the varying entries of Y in the order of `pattern`.  Each block is summed while it is in cache, and
        the array of the sum is reused by the next call.  Arrays are C-contiguous float64.
        """
        arrays, n = self._in_place(inputs)
        pattern = self.pattern
        rows, columns = pattern.rows, pattern.columns
        results = [_output(output, (n, len(pattern.positions)))]
        work = Work(GRAM, arrays, results, pattern, np.zeros((n, rows)), _output(scale, (rows,)), n_samples=n)
        piece, place = self._runner.piece(work), pattern.tiles.places(columns)
        sums, G = np.zeros(work.n_sums + 1), np.empty((columns, columns))  # the last sum stays 0: no row has both

        def call() -> Array:
            assert work.n_samples == n  # keeps the arrays alive
            piece(0, n, sums[:-1])
            return np.take(sums, place, out=G, mode="clip")

        return call

    @property
    def pattern(self) -> MatrixPattern:
        """Positions of the varying entries in the one output matrix of the program."""
        if len(self.program.ports) != 1 or len(self.program.ports[0].shape) != 2:
            raise ShapeError(f"the program '{self.program.name}' must have exactly one output, a matrix")
        rows, columns = self.program.ports[0].shape
        return MatrixPattern(rows, columns, self.schedule.positions(0))

    def _in_place(self, inputs: Sequence[Array]) -> tuple[list[Array], int]:
        arrays, n = self.checked(inputs)
        if any(a is not b for a, b in zip(arrays, inputs, strict=True)):
            raise ShapeError(f"the arrays bound to '{self.program.name}' must be C-contiguous float64")
        return arrays, n

    def nonzeros(self, *inputs: ArrayLike, threads: int | None = 1) -> tuple[Array, NDArray[np.int32]]:
        """Varying entries only: blocks (blocks, entries, samples of a block) and their indices in the flat output.

        The samples of the last block beyond N are zero.
        """
        if len(self.program.ports) != 1:
            raise ShapeError(f"the program '{self.program.name}' has several outputs")
        arrays, n = self.checked(inputs)
        size = self._runner.samples
        blocks = np.empty((-(-n // size), len(self.schedule.entries), size))
        self.run(Work(NONZEROS, arrays, [blocks], n_samples=n), threads)
        return blocks, self.schedule.positions(0)

    def checked(self, inputs: Sequence[ArrayLike]) -> tuple[list[Array], int]:
        """Validate the inputs; return them as C-contiguous float64 arrays, and the number of samples."""
        ports = self.program.inputs
        if len(inputs) != len(ports):
            names = ", ".join(port.name for port in ports)
            raise ShapeError(f"'{self.program.name}' takes {len(ports)} arrays ({names}), not {len(inputs)}")
        arrays: list[Array] = []
        n: int | None = None
        for given, port, common in zip(inputs, ports, self.schedule.common, strict=True):
            array = real_array(given, port.name)
            shape = array.shape if common else array.shape[1:]
            if shape != port.shape or (not common and array.ndim == 0):
                wanted = port.shape if common else ("N", *port.shape)
                raise ShapeError(
                    f"{port.name} has shape {array.shape}; '{self.program.name}' needs "
                    f"({', '.join(map(str, wanted))}{',' if len(wanted) == 1 else ''})"
                )
            if not common:
                if n is not None and n != len(array):
                    raise ShapeError(f"{port.name} has {len(array)} samples but another array has {n}")
                n = len(array)
            arrays.append(array)
        return arrays, 1 if n is None else n

    def run(self, work: Work, threads: int | None = 1) -> Array:
        """Run a piece of work; return its sums, added in a fixed order."""
        threads = processors() if threads is None else max(1, threads)
        n = work.n_samples
        piece = self._runner.piece(work)
        if not work.n_sums:
            with self._runner.surroundings():
                _shared(lambda a, b: piece(a, b, None), _parts(n, self._piece_length(n, threads)), threads)
            return np.zeros(0)
        parts = _parts(n, _rounded(max(LEAST_SAMPLES, -(-n // MOST_SUMS)), 512))
        sums = np.zeros((max(1, len(parts)), work.n_sums))
        with self._runner.surroundings():
            _shared(lambda a, b: piece(a, b, sums[a // parts[0][1]]), parts, threads)
        return _tree_sum(sums)

    def _piece_length(self, n: int, threads: int) -> int:
        if threads == 1:
            return max(n, 1)
        return _rounded(max(1, -(-n // (threads * PIECES_PER_THREAD))), self._runner.samples)


def _rounded(n: int, unit: int) -> int:
    return -(-n // unit) * unit


def _parts(n: int, length: int) -> list[tuple[int, int]]:
    return [(start, min(length, n - start)) for start in range(0, n, length)]


def _shared(do: Callable[[int, int], None], parts: list[tuple[int, int]], threads: int) -> None:
    """Process all parts; each thread takes the next unprocessed part."""
    if threads == 1 or len(parts) < 2:
        for first, count in parts:
            do(first, count)
        return
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        try:
            for done in [pool.submit(do, first, count) for first, count in parts]:
                done.result()
        except BaseException:  # Ctrl-C too: nobody waits for the parts that are left
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _tree_sum(rows: Array) -> Array:
    """Pairwise sum of the rows: small and reproducible rounding errors."""
    while len(rows) > 1:
        pairs = rows[0 : len(rows) - 1 : 2] + rows[1::2]
        rows = np.concatenate([pairs, rows[-1:]]) if len(rows) % 2 else pairs
    return np.asarray(rows[0])


def real_array(given: ArrayLike, name: str) -> Array:
    """Input as a C-contiguous float64 array, copied if necessary; raises ShapeError if it is not real."""
    if isinstance(given, np.ndarray) and given.dtype == np.float64 and given.flags.c_contiguous and given.ndim:
        return np.asarray(given)  # itself; a matrix, whose rows stay matrices, as an array
    try:
        array = np.asarray(given)
    except (ValueError, TypeError):
        raise ShapeError(f"{name} must be an array of numbers whose rows have equal length") from None
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{name} must contain real numbers only")
    return np.array(array, dtype=np.float64, order="C", ndmin=0)


def apart(inputs: Sequence[Array], outputs: Sequence[Array]) -> list[Array]:
    """Return the inputs, copied if they overlap an output; raise an error if outputs overlap one another."""
    for k, output in enumerate(outputs):
        if any(np.may_share_memory(output, other) for other in outputs[:k]):
            raise ShapeError("the arrays given as out overlap one another")
    return [x.copy() if any(np.may_share_memory(x, output) for output in outputs) else x for x in inputs]


def _outputs(out: Any, count: int) -> list[Any]:
    if count == 1:
        return [out]
    if not isinstance(out, Sequence | np.ndarray) or len(out) != count:
        raise ShapeError(f"out must be a list of {count} arrays, one for each output")
    return list(out)


def _output(array: Any, shape: tuple[int, ...]) -> Array:
    is_usable = (
        isinstance(array, np.ndarray)
        and array.dtype == np.float64
        and array.flags.c_contiguous
        and array.flags.writeable
        and array.shape == shape
    )
    if not is_usable:
        raise ShapeError(f"out must be a writeable C-contiguous float64 array of shape {shape}")
    return array  # type: ignore[no-any-return]


# ---------------------------------------------------------------------- one sample


def compile_function(program: Program) -> Callable[..., Any]:
    """Compile the program to a function f(*inputs, out=None) of one sample, for sample-by-sample loops.

    Arrays have the shapes of the ports; with one output it returns that array, else a tuple.
    """
    plan = schedule(program)
    path, reason = build.choose(len(plan.steps))
    if path == "compiled":
        try:
            return _compiled_function(program, plan)
        except build.CompilerMissing:
            if reason.startswith(build.PATH_VARIABLE):
                raise
            path = "interpreter" if build.native() else "numpy"
    return _interpreted_function(program, plan) if path == "interpreter" else _plain_function(program)


def _shapes(ports: Sequence[Port]) -> tuple[tuple[int, ...], ...]:
    return tuple(port.shape for port in ports)


def single_library(plan: Schedule) -> ctypes.CDLL:
    """Compiled library with the function `minertia_call` for one sample, verified once against NumPy."""
    source = single_source(plan)
    return build.load(build.library(source, lambda made: single_fault(plan, _ctypes_call(made), *references(plan))))


def _compiled_function(program: Program, plan: Schedule) -> Callable[..., Any]:
    library = single_library(plan)
    module = build.native()
    if module is None:
        return _python_function(program, _ctypes_call(library))
    call = build.function(library, "minertia_call")
    made = module.function(call, 0, _shapes(program.inputs), _shapes(program.ports), library, ShapeError)
    return made  # type: ignore[no-any-return]


def _interpreted_function(program: Program, plan: Schedule) -> Callable[..., Any]:
    module = build.native()
    if module is None:
        raise build.CompilerMissing("this installation has no precompiled interpreter")
    slots, tables = plan.slots, Tables(plan)
    room = np.zeros(slots.count)
    state = Single(
        code=address(slots.code),
        constants=address(slots.constants),
        n_steps=len(slots.code),
        n_slots=slots.count,
        n_outputs=len(plan.ports),
        slots=address(room),
    )
    for p, port in enumerate(plan.ports):
        state.size[p], state.n_numbers[p] = port.size, len(tables.numbers[p])
        state.numbers[p], state.positions[p] = address(tables.numbers[p]), address(tables.positions[p])
    keep = (state, slots, tables, room)
    shapes = _shapes(program.inputs), _shapes(program.ports)
    made = module.function(module.INTERPRET_ONE, ctypes.addressof(state), *shapes, keep, ShapeError)
    return made  # type: ignore[no-any-return]


def _ctypes_call(library: ctypes.CDLL) -> Callable[[list[Array], list[Array]], None]:
    """Function of a library on arrays (inputs, outputs), called through ctypes."""
    pointer = ctypes.c_void_p
    call = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)(build.function(library, "minertia_call"))

    def compute(inputs: list[Array], outputs: list[Array]) -> None:
        rows = (ctypes.c_void_p * PORTS)(*(address(array) for array in inputs))
        places = (ctypes.c_void_p * PORTS)(*(address(array) for array in outputs))
        call(None, ctypes.addressof(rows), ctypes.addressof(places))

    return compute


def _plain_function(program: Program) -> Callable[..., Any]:
    names = [[f"{port.name}[{k}]" for k in range(port.size)] for port in program.inputs]

    def compute(inputs: list[Array], outputs: list[Array]) -> None:
        values = {
            n: v for group, array in zip(names, inputs, strict=True) for n, v in zip(group, array.flat, strict=True)
        }
        with np.errstate(all="ignore"):
            flat = [float(v) for v in evaluate(program.outputs, values)]
        for port, array in zip(program.ports, outputs, strict=True):
            array.reshape(-1)[:] = program.sliced(flat)[port.name]

    return _python_function(program, compute)


def _python_function(program: Program, compute: Callable[[list[Array], list[Array]], None]) -> Callable[..., Any]:
    """Python implementation of the extension module's interface."""

    def function(*inputs: ArrayLike, out: Any = None) -> Any:
        if len(inputs) == len(program.inputs) + 1 and out is None:
            *inputs, out = inputs  # type: ignore[assignment]
        if len(inputs) != len(program.inputs):
            raise TypeError(f"this function takes {len(program.inputs)} arrays and out=None")
        arrays = [real_array(x, f"input {k + 1}") for k, x in enumerate(inputs)]
        for k, (array, port) in enumerate(zip(arrays, program.inputs, strict=True)):
            if array.size != port.size:
                raise ShapeError(f"input {k + 1} has {array.size} entries; this function needs {port.size}")
        given = None if out is None else _outputs(out, len(program.ports))
        outputs = [
            np.empty(port.shape) if given is None else _output(given[k], port.shape)
            for k, port in enumerate(program.ports)
        ]
        compute(arrays if given is None else apart(arrays, outputs), outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return function
