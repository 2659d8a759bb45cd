"""Verification of a compiled kernel against NumPy, once after compilation.

Options such as -ffast-math in CC break the reduction of angles, lose NaN, or round every constant to single
precision without a warning.  A few fixed samples reveal such faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from minertia.codegen.kernels.schedule import Schedule
from minertia.codegen.kernels.task import GRAM, PRECONDITIONED, RESIDUAL, ROWS, MatrixPattern, Work
from minertia.io.arrays import Array

Piece = Callable[[int, int, Array | None], None]  # as `Runner.piece` has it
Pieces = Callable[[Work], Piece]
SAMPLES = 67  # two blocks and a part of one, whatever the machine
FIRST_UNKNOWN = 3  # sample in which the first input holds what is not a number; the second one's follows
LARGE, HUGE = 1e4, 1e6  # angles reduced with all care, and beyond what the kernels reduce themselves
FAR, SEEN = 1e-10, 1e2  # of the largest result of a sample, and times what rough arithmetic changes in it
UNSURE = 1e-6  # of the largest result: where rough arithmetic changes more, rounding decides and nothing is told


def batch_fault(schedule: Schedule, found: Pieces, wanted: Pieces, rough: Pieces) -> str:
    """Fault of a batch kernel, "" if none.

    wanted: NumPy reference; rough: NumPy with perturbed rounding, which bounds the effect of rounding on a result.
    """
    for work in _works(schedule, _inputs(schedule)):
        why = difference(*(_results(schedule, pieces, work) for pieces in (found, wanted, rough)))
        if why:
            return why
    return ""


def single_fault(schedule: Schedule, found: Callable[..., object], wanted: Pieces, rough: Pieces) -> str:
    """Fault of a single-sample function, "" if none; found(inputs, outputs) fills the outputs."""
    inputs, outputs = _inputs(schedule), _outputs(schedule)
    for k in range(SAMPLES):
        rows = [x if common else x[k] for x, common in zip(inputs, schedule.common, strict=True)]
        found(rows, [out[k] for out in outputs])
    work = Work(ROWS, inputs, n_samples=SAMPLES)
    return difference(np.hstack(outputs), _results(schedule, wanted, work), _results(schedule, rough, work))


def difference(found: Array, wanted: Array, rough: Array) -> str:
    """Description of wrong results (samples, entries); "" if there are none.

    Results that depend strongly on rounding are not compared: from states where loops do not close (as of a Delta
    robot), the Newton iteration of loop closure may end at another point with each rounding.
    """
    lost = np.isnan(wanted) & np.isnan(rough) & ~np.isnan(found)
    if lost.any():
        return "what is not a number (NaN) is taken for one"
    is_known = np.isfinite(wanted) & np.isfinite(rough)
    with np.errstate(all="ignore"):
        largest, changed = (
            np.max(np.abs(values), axis=-1, keepdims=True, initial=1e-300, where=is_known)
            for values in (wanted, rough - wanted)
        )
        is_sure = is_known & (changed <= UNSURE * largest)
        is_wrong = is_sure & ~(np.abs(found - wanted) <= FAR * largest + SEEN * changed)
    if not is_wrong.any():
        return ""
    at = tuple(np.argwhere(is_wrong)[0])
    return f"a result is {found[at]:.6g} where it must be {wanted[at]:.6g}"


def _inputs(schedule: Schedule) -> list[Array]:
    """Test inputs of a kernel: ordinary values, zeros, large angles, and NaN in each of them."""
    random = np.random.default_rng(0)
    inputs = []
    for port, common in zip(schedule.inputs, schedule.common, strict=True):
        if common:
            inputs.append(random.uniform(0.1, 1.0, port.shape))
            continue
        x = random.uniform(-3.0, 3.0, (SAMPLES, port.size))
        x[0] = 0.0
        x[1] *= LARGE
        x[2] *= HUGE
        x[FIRST_UNKNOWN + len(inputs), -1] = np.nan
        inputs.append(x.reshape(SAMPLES, *port.shape))
    return inputs


def _outputs(schedule: Schedule) -> list[Array]:
    return [np.zeros((SAMPLES, port.size)) for port in schedule.ports]


def _results(schedule: Schedule, pieces: Pieces, work: Work) -> Array:
    """Entries of all samples, or the sums over them in one row."""
    if not work.n_sums:
        outputs = _outputs(schedule)
        pieces(replace(work, outputs=outputs))(0, SAMPLES, None)
        return np.hstack(outputs)
    result = np.zeros(work.n_sums)
    pieces(work)(0, SAMPLES, result)
    return result[None]


def _works(schedule: Schedule, inputs: Sequence[Array]) -> Iterator[Work]:
    """All kinds of work of a kernel: outputs, and for one matrix the sums of least squares."""
    yield Work(ROWS, inputs, n_samples=SAMPLES)
    if len(schedule.ports) != 1 or len(schedule.ports[0].shape) != 2:
        return
    rows, columns = schedule.ports[0].shape
    pattern = MatrixPattern(rows, columns, schedule.positions(0))
    random = np.random.default_rng(1)
    weights = random.uniform(0.5, 2.0, (SAMPLES, rows))
    weights[: FIRST_UNKNOWN + len(inputs)] = 0.0  # large angles outweigh the rest, and unknown numbers must not count
    triangle = np.zeros((pattern.z_columns,) * 2)  # padded with zeros, as the least squares have it
    triangle[:columns, :columns] = np.triu(random.uniform(0.5, 1.0, (columns, columns)))
    triangle[columns, columns] = 1.0
    sums = Work(GRAM, inputs, (), pattern, random.uniform(-1.0, 1.0, (SAMPLES, rows)), weights, n_samples=SAMPLES)
    yield sums
    theta = random.uniform(-1.0, 1.0, columns)
    yield replace(sums, theta=theta)
    yield replace(sums, mode=RESIDUAL, theta=theta)
    yield replace(sums, mode=PRECONDITIONED, theta=triangle)
