"""Regressor columns over many samples, by a compiled kernel for long logs, else by NumPy."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import (
    BatchKernel,
    momentum_program,
    power_program,
    regressor_entries_program,
    regressor_program,
)
from minertia.codegen.program import Program
from minertia.dynamics.model import momentum_regressor, power_regressor, torque_regressor
from minertia.io.arrays import Array
from minertia.robot.robot import Robot

Places = NDArray[np.intp]
Make = Callable[[Robot, Sequence[str]], Program]
MANY = 4096  # samples of a pass from which making a kernel (20 ms) pays by the second pass: it saves some 3 us on each
CALL = 800  # samples that a call of NumPy costs as much as, however few it is given
COMPILED = 2_000_000  # from which a compiler does: 1 to 2 s, and another 0.5 us on each
REMEMBERED = 8  # kernels that are kept


def regressor_columns(
    robot: Robot, columns: Sequence[str], state: tuple[Array, Array, Array], samples: int | None = None
) -> Array:
    """Regressor columns (N, efforts, columns) of standard parameters at q, qd, qdd.

    samples: total number of samples in the pass that this block belongs to; by default those of this block.
    """
    kernel = _kernel(regressor_program, robot, tuple(columns), samples, len(state[0]))
    if kernel is None:
        return np.asarray(torque_regressor(robot, *state, columns=columns))
    return np.asarray(kernel(*state))


def regressor_entries(
    robot: Robot, columns: Sequence[str], state: tuple[Array, Array, Array], samples: int | None = None
) -> tuple[Places, Array]:
    """Rows and columns (2, entries) of the entries of the regressor that may differ from zero, and values (N, entries).

    The arguments are those of `regressor_columns`.
    """
    kernel = _kernel(regressor_entries_program, robot, tuple(columns), samples, len(state[0]))
    if kernel is not None:
        return np.array(kernel.program.pattern, int).reshape(-1, 2).T, np.asarray(kernel(*state))
    Y = regressor_columns(robot, columns, state, samples)
    shown = np.nonzero(Y.any(axis=0))
    return np.array(shown), Y[:, shown[0], shown[1]]


def momentum_columns(
    robot: Robot, columns: Sequence[str], q: Array, qd: Array, samples: int | None = None
) -> tuple[Array, Array]:
    """Yp and Yc (N, efforts, columns) with tau = d/dt (Yp X) + Yc X; samples: see `regressor_columns`."""
    kernel = _kernel(momentum_program, robot, tuple(columns), samples, len(q))
    found: tuple[Array, Array] = momentum_regressor(robot, q, qd, columns=columns) if kernel is None else kernel(q, qd)
    return found


def power_columns(
    robot: Robot, columns: Sequence[str], q: Array, qd: Array, samples: int | None = None
) -> tuple[Array, Array]:
    """E and P (N, columns) with tau . qd = d/dt (E X) + P X; samples: see `regressor_columns`."""
    kernel = _kernel(power_program, robot, tuple(columns), samples, len(q))
    found: tuple[Array, Array] = power_regressor(robot, q, qd, columns=columns) if kernel is None else kernel(q, qd)
    return found


@dataclass(frozen=True)
class _Made:
    """Compiled kernel, and the arguments it was built for."""

    make: Make
    robot: weakref.ref[Robot]
    columns: tuple[str, ...]
    compiling: bool
    kernel: BatchKernel

    def fits(self, make: Make, robot: Robot, columns: tuple[str, ...], compiling: bool) -> bool:
        same = self.make is make and self.compiling == compiling
        return same and self.robot() is robot and self.columns == columns


_made: list[_Made] = []  # the one used last stands first


def _kernel(make: Make, robot: Robot, columns: tuple[str, ...], samples: int | None, block: int) -> BatchKernel | None:
    """Compiled kernel for a pass over this many samples in blocks; None where NumPy is as fast."""
    samples = block if samples is None else samples
    compiling = samples >= COMPILED
    further = samples // max(block, 1) - 1  # calls
    if (
        samples + CALL * further < MANY
        or not columns
        or robot.open_cuts
        or build.choose(compiling=compiling)[0] == "numpy"
    ):
        return None
    found = next((made for made in _made if made.fits(make, robot, columns, compiling)), None)
    if found is None:
        kernel = BatchKernel(make(robot, columns), compiling=compiling)
        found = _Made(make, weakref.ref(robot), columns, compiling, kernel)
    _made[:] = [found, *(made for made in _made if made is not found and made.robot() is not None)][:REMEMBERED]
    return None if found.kernel.path == "numpy" else found.kernel
