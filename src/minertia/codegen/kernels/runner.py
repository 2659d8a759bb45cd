"""Execution of a schedule over samples: compiled, interpreted, or step by step on NumPy arrays.

All take the same `Work` and give the same results; `runner` selects one by `build.choose`.
"""

from __future__ import annotations

import abc
import ctypes
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, final

import numpy as np
from threadpoolctl import threadpool_limits

from minertia.codegen.kernels import build
from minertia.codegen.kernels.batch import batch_source
from minertia.codegen.kernels.schedule import Schedule
from minertia.codegen.kernels.selfcheck import Pieces, batch_fault
from minertia.codegen.kernels.steps import KernelStep
from minertia.codegen.kernels.task import (
    GRAM,
    NONZEROS,
    NOTHING,
    PRECONDITIONED,
    RESIDUAL,
    ROWS,
    Tables,
    Task,
    Work,
    address,
)
from minertia.io.arrays import Array


class Runner(abc.ABC):
    """Execution of one schedule; `path`: execution path, `reason`: why it was selected."""

    path: str
    reason: str
    samples: int  # in one block

    def __init__(self, schedule: Schedule, reason: str) -> None:
        self.schedule, self.reason = schedule, reason

    def surroundings(self) -> AbstractContextManager[object]:
        """Context in which pieces of work must run."""
        return nullcontext()

    @cached_property
    def rows(self) -> Callable[..., Any] | None:
        """Function (*inputs, outputs or None) that runs a whole batch; None if there is no such function.

        It returns NotImplemented if the arrays need validation.
        """
        return None

    @abc.abstractmethod
    def piece(self, work: Work) -> Callable[[int, int, Array | None], None]:
        """Function (first, count, result) that runs a part of the work; parts may run in parallel."""


def runner(schedule: Schedule, *, compiling: bool = True) -> Runner:
    """Runner for a schedule on this machine; a compiler that fails counts as missing."""
    path, reason = build.choose(len(schedule.steps), compiling=compiling)
    if path == "compiled":
        try:
            return CompiledRunner(schedule, reason)
        except build.CompilerMissing as err:
            if reason.startswith(build.PATH_VARIABLE):
                raise
            path, reason = ("interpreter" if build.native() else "numpy"), str(err)
    return InterpretedRunner(schedule, reason) if path == "interpreter" else NumpyRunner(schedule, reason)


class _NativeRunner(Runner):
    """Runner through C task structures."""

    function: int

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.schedule)

    def _frame(self, mode: int, n_outputs: int) -> Task:
        return self.tables.frame(mode, n_outputs)

    @cached_property
    def rows(self) -> Callable[..., Any] | None:
        """Like `Runner.rows`, without Python overhead."""
        module, s = build.native(), self.schedule
        if module is None:
            return None
        shapes = tuple(port.shape for port in s.inputs), tuple(port.shape for port in s.ports)
        made = module.batch(self.function, self._frame(ROWS, len(s.ports)), *shapes, self.tables)
        return made  # type: ignore[no-any-return]

    @cached_property
    def _run(self) -> Callable[[int, Task], None]:
        module = build.native()
        if module is not None:
            return module.run  # type: ignore[no-any-return]
        call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.function)

        def run(function: int, task: Task) -> None:
            if call(ctypes.addressof(task)):
                raise MemoryError

        return run

    def piece(self, work: Work) -> Callable[[int, int, Array | None], None]:
        whole = self.tables.fill(self._frame(work.mode, len(work.outputs)), work)

        def part(first: int, count: int, result: Array | None) -> None:
            task = Task.from_buffer_copy(whole)
            task.first, task.count = first, count
            if result is not None:
                task.result = address(result)
            self._run(self.function, task)

        return part


@final
class CompiledRunner(_NativeRunner):
    """Runner of C code compiled for this program and machine."""

    path = "compiled"

    def __init__(self, schedule: Schedule, reason: str) -> None:
        super().__init__(schedule, reason)
        self._take(build.load(build.library(batch_source(schedule), self._fault)))

    def _take(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.function = build.function(library, "minertia_run")
        self.samples = int(library.minertia_samples())

    def _fault(self, library: ctypes.CDLL) -> str:
        self._take(library)
        return batch_fault(self.schedule, self.piece, *references(self.schedule))


@final
class InterpretedRunner(_NativeRunner):
    """Runner by the interpreter of the extension module."""

    path = "interpreter"

    def __init__(self, schedule: Schedule, reason: str) -> None:
        super().__init__(schedule, reason)
        module = build.native()
        if module is None:
            raise build.CompilerMissing("this installation has no precompiled interpreter")
        self.function, self.samples = module.INTERPRET, module.SAMPLES

    def _frame(self, mode: int, n_outputs: int) -> Task:
        slots, task = self.schedule.slots, super()._frame(mode, n_outputs)
        task.code, task.constants = address(slots.code), address(slots.constants)
        task.n_steps, task.n_slots = len(slots.code), slots.count
        return task


# ---------------------------------------------------------------------- NumPy

_TWO: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "addk": np.add,
    "subk": np.subtract,
    "mulk": np.multiply,
    "divk": np.divide,
}
ROUGH = 2.0**-48  # relative; sixteen times what rounding does
_ONE: dict[str, Callable[..., Any]] = {
    "copy": np.copyto,
    "neg": np.negative,
    "sqrt": np.sqrt,
    "sign": np.sign,
    "abs": np.abs,
    "exp": np.exp,
    "tanh": np.tanh,
}


class NumpyRunner(Runner):
    """Runner that evaluates steps one by one on NumPy arrays of a block, in place."""

    path = "numpy"
    samples = 512

    def surroundings(self) -> AbstractContextManager[object]:
        """Context that limits the BLAS library to one thread, as small products do not gain from more."""
        return threadpool_limits(1)  # type: ignore[no-any-return]

    def piece(self, work: Work) -> Callable[[int, int, Array | None], None]:
        """See `Runner.piece`."""
        finish = {
            ROWS: _write_rows,
            NONZEROS: _write_block,
            GRAM: _add_gram,
            RESIDUAL: _add_residual,
            PRECONDITIONED: _add_preconditioned,
            NOTHING: lambda *_: None,
        }[work.mode]

        def part(first: int, count: int, result: Array | None) -> None:
            if result is not None:
                result[:] = 0
            slots = np.empty((self.schedule.slots.count + 1, self.samples))
            with np.errstate(all="ignore"):
                for start in range(first, first + count, self.samples):
                    stop = min(start + self.samples, first + count)
                    self.evaluate(work.inputs, start, stop, slots)
                    W = slots[: len(self.schedule.entries), : stop - start]
                    if work.n_sums and work.outputs:
                        work.outputs[0][start:stop] = W.T
                    finish(work, self.schedule, start, W, result)

        return part

    def evaluate(self, inputs: Sequence[Array], start: int, stop: int, slots: Array) -> None:
        """Evaluate all entries of the samples from start to stop, one row of `slots` each."""
        table, constants = self.schedule.slots, self.schedule.slots.constants
        scratch = slots[-1, : stop - start]
        for step, (_, d, a, b, c) in zip(self.schedule.steps, table.code.tolist(), strict=True):
            out = slots[d, : stop - start]
            if step.operation == "load":
                out[:] = _entry(inputs[a], b, self.schedule.common[a], start, stop)
            elif step.operation == "const":
                out[:] = constants[a]
            else:
                self._apply(step, out, slots[:, : stop - start], scratch, constants, a, b, c)

    def _apply(
        self, step: KernelStep, out: Array, S: Array, scratch: Array, constants: Array, a: int, b: int, c: int
    ) -> None:
        name = step.operation
        if name == "sincos":
            np.sin(S[a], out)
            np.cos(S[a], S[c])
        elif name in _ONE:
            _ONE[name](out, S[a]) if name == "copy" else _ONE[name](S[a], out)
        elif name in _TWO:
            _TWO[name](constants[a] if name.endswith("k") else S[a], S[b], out)
        elif name in ("nadd", "nmul"):
            _TWO[name[1:]](S[a], S[b], out)
            np.negative(out, out)
        else:
            np.multiply(constants[a] if name.endswith("k") else S[a], S[b], scratch)
            if name in ("fma", "fmak"):
                np.add(S[c], scratch, out)
            elif name == "fnma":
                np.subtract(S[c], scratch, out)
            else:
                np.subtract(scratch if name != "fnms" else -scratch, S[c], out)


@final
class RoughRunner(NumpyRunner):
    """NumPy runner with perturbed results: measures the sensitivity of outputs to rounding."""

    def __init__(self, schedule: Schedule, reason: str) -> None:
        super().__init__(schedule, reason)
        self.random = np.random.default_rng(0)

    def _apply(self, step: KernelStep, out: Array, S: Array, *rest: Any) -> None:
        super()._apply(step, out, S, *rest)
        out *= 1 + self.random.uniform(-ROUGH, ROUGH, len(out))


def references(schedule: Schedule) -> tuple[Pieces, Pieces]:
    """References for verifying a compiled kernel: NumPy, and NumPy with perturbed arithmetic."""
    return NumpyRunner(schedule, "").piece, RoughRunner(schedule, "").piece


def _entry(x: Array, k: int, is_common: bool, start: int, stop: int) -> Array | np.float64:
    """Entry k of an input: common to all samples, or of the samples from start to stop."""
    return x.reshape(-1)[k] if is_common else x.reshape(len(x), -1)[start:stop, k]


def _write_rows(work: Work, s: Schedule, start: int, W: Array, result: Array | None) -> None:
    for p, out in enumerate(work.outputs):
        rows = out.reshape(-1, s.ports[p].size)[start : start + W.shape[1]]
        if len(s.positions(p)) < s.ports[p].size:
            rows[:] = 0
        rows[:, s.positions(p)] = W[s.entry_numbers(p)].T


def _write_block(work: Work, s: Schedule, start: int, W: Array, result: Array | None) -> None:
    out = work.outputs[0][start // NumpyRunner.samples]
    out[:, : W.shape[1]] = W
    out[:, W.shape[1] :] = 0


def _matrix(work: Work, start: int, W: Array) -> Array:
    """[Y tau] of a block, rows scaled, shape (samples * rows, columns + 1)."""
    pattern = work.pattern
    assert pattern is not None and work.tau is not None
    m = W.shape[1]
    Y = np.zeros((m, pattern.rows, pattern.columns + 1))
    Y.reshape(m, -1)[:, pattern.row * (pattern.columns + 1) + pattern.column] = W.T
    Y[:, :, -1] = work.tau[start : start + m]
    if work.weights is not None:
        scale = work.weights if work.weights.ndim == 1 else work.weights[start : start + m]
        scale = np.broadcast_to(scale, (m, pattern.rows))
        Y *= scale[:, :, None]
        Y[scale == 0] = 0  # left out, even where it holds NaN
    return Y.reshape(m * pattern.rows, -1)


def _add_gram(work: Work, s: Schedule, start: int, W: Array, result: Array | None) -> None:
    assert result is not None and work.tiles is not None
    Y = _matrix(work, start, W)
    if work.theta is not None:
        Y[:, -1] -= Y[:, :-1] @ work.theta
    result += (Y.T @ Y)[tuple(work.tiles.pairs.T)]


def _add_preconditioned(work: Work, s: Schedule, start: int, W: Array, result: Array | None) -> None:
    assert result is not None and work.tiles is not None and work.theta is not None
    Z = _matrix(work, start, W) @ work.theta[: _width(work)]
    result += (Z.T @ Z)[tuple(work.tiles.pairs.T)]


def _width(work: Work) -> int:
    assert work.pattern is not None
    return work.pattern.columns + 1


def _add_residual(work: Work, s: Schedule, start: int, W: Array, result: Array | None) -> None:
    pattern, theta = work.pattern, work.theta
    assert result is not None and pattern is not None and theta is not None
    Y = _matrix(work, start, W).reshape(W.shape[1], pattern.rows, -1)
    rho = Y[:, :, -1] - Y[:, :, :-1] @ theta
    for r in range(pattern.rows):
        entries = slice(pattern.row_start[r], pattern.row_start[r + 1])
        result[entries] += (rho[:, r] @ Y[:, r, :-1])[pattern.column[entries]]
    result[len(pattern.positions) :] += (rho * rho).sum(axis=0)
