"""Columns of the regressor over many samples: a kernel where there are enough of them to pay for it, else NumPy."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import BatchKernel, regressor_program
from minertia.dynamics.model import torque_regressor
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
MANY = 8192  # samples of a pass from which making a kernel (30 ms) pays: it saves some 3 us on each
CALL = 800  # samples that a call of NumPy costs as much as, however few it is given
COMPILED = 2_000_000  # from which a compiler does: 1 to 2 s, and another 0.5 us on each
REMEMBERED = 8  # kernels that are kept


def regressor_columns(
    robot: Robot, columns: Sequence[str], state: tuple[Array, Array, Array], samples: int | None = None
) -> Array:
    """Columns (N, efforts, columns) of standard parameters at q, qd, qdd.

    samples: of the whole pass that this block is part of, by default of this block.
    """
    block = len(state[0])
    kernel = _kernel(robot, tuple(columns), block if samples is None else samples, block)
    if kernel is None:
        return np.asarray(torque_regressor(robot, *state, columns=columns))
    return np.asarray(kernel(*state))


@dataclass(frozen=True)
class _Made:
    """A kernel, and what it was made for."""

    robot: weakref.ref[Robot]
    columns: tuple[str, ...]
    compiling: bool
    kernel: BatchKernel

    def fits(self, robot: Robot, columns: tuple[str, ...], compiling: bool) -> bool:
        return self.robot() is robot and self.compiling == compiling and self.columns == columns


_made: list[_Made] = []  # the one used last stands first


def _kernel(robot: Robot, columns: tuple[str, ...], samples: int, block: int) -> BatchKernel | None:
    """The kernel for a pass over so many samples, block by block; None where NumPy does as well."""
    compiling = samples >= COMPILED
    further = samples // max(block, 1) - 1  # calls
    if (
        samples + CALL * further < MANY
        or not columns
        or robot.open_cuts
        or build.choose(compiling=compiling)[0] == "numpy"
    ):
        return None
    found = next((made for made in _made if made.fits(robot, columns, compiling)), None)
    if found is None:
        kernel = BatchKernel(regressor_program(robot, columns), compiling=compiling)
        found = _Made(weakref.ref(robot), columns, compiling, kernel)
    _made[:] = [found, *(made for made in _made if made is not found and made.robot() is not None)][:REMEMBERED]
    return None if found.kernel.path == "numpy" else found.kernel
