"""Many samples: inverse dynamics and base regressor, compiled and interpreted, against Pinocchio in C++ and Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.measure import Row, compare, fastest
from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import BatchKernel
from minertia.codegen.kernels.task import NOTHING, Work

ARMS = ("puma560", "panda")
N, N_CPP, N_PYTHON = 100_000, 10_000, 1_000


GOALS = {"puma560": (44.0, 40.0), "panda": (36.0, 36.0)}  # inverse dynamics, regressor; of compiled kernels


@contextmanager
def path(name: str) -> Iterator[None]:
    """Kernels made inside take this path: "compiled", "compiled (gcc)", "interpreter" ..."""
    word, _, compiler = name.partition(" ")
    wanted = {build.PATH_VARIABLE: word} | ({"CC": compiler.strip("()")} if compiler else {})
    old = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in old.items():
            os.environ.pop(key)
            if value is not None:
                os.environ[key] = value


def paths() -> list[str]:
    found = [f"compiled ({name})" for name in peers.c_compilers()]
    return [*found, *(["interpreter"] if build.native() else []), "numpy"]


def kernels(name: str, which: str) -> tuple[BatchKernel, BatchKernel]:
    with path(which):
        return (
            BatchKernel(peers.torques(name)),
            BatchKernel(peers.regressor(name)),
        )


def rows(arms: Sequence[str] = ARMS, wanted: Sequence[str] | None = None) -> Iterator[Row]:
    for name in arms:
        state = peers.states(name, N)
        few = tuple(s[:N_CPP] for s in state)
        n = peers.arm(name).n
        out, tau = np.empty((N, n)), np.empty((N_CPP, n))
        reference = _better(name, few, tau)
        for which in paths() if wanted is None else wanted:
            torques, regressor = kernels(name, which)
            count = N if which != "numpy" else N_CPP
            arrays = [s[:count] for s in state]
            first = [s[:100] for s in state]
            peers.check(name, torques(*first), first)
            beta = peers.base(name).standard_values(peers.base(name).values())[peers.base(name).kept_indices]
            peers.check(name, regressor(*first) @ beta, first)
            ours = (lambda k=torques, a=arrays, o=out[:count]: k(*a, out=o)), float(count)
            work = Work(NOTHING, arrays, n_samples=count)
            inside = (lambda k=regressor, w=work: k.run(w)), float(count)
            in_cache = (lambda k=torques, w=work: k.run(w)), float(count)
            if reference:
                compiler, rnea, cpp_regressor = reference
                goals = GOALS[name] if which.startswith("compiled") else (None, None)
                yield compare(
                    f"inverse dynamics, batch, {name}, {which}",
                    ours, (rnea, N_CPP), f"Pinocchio C++ ({compiler})", goals[0],
                )  # fmt: skip
                yield compare(
                    f"inverse dynamics, one batch after other code, {name}, {which}",
                    ours, (rnea, N_CPP), f"Pinocchio C++ ({compiler})", is_lone=True,
                )  # fmt: skip
                yield compare(
                    f"inverse dynamics in cache, {name}, {which}",
                    in_cache, (rnea, N_CPP), f"Pinocchio C++ ({compiler})",
                )  # fmt: skip
                yield compare(
                    f"base regressor in cache, {name}, {which}",
                    inside, (cpp_regressor, N_CPP), f"Pinocchio C++ ({compiler})", goals[1],
                )  # fmt: skip
            yield from _against_python(name, which, ours, inside)


def _better(name: str, few: tuple, tau: np.ndarray) -> tuple[str, Callable, Callable] | None:
    """The compiler whose Pinocchio is faster, and its loops."""
    found = peers.cpp_peers(name)
    if not found:
        return None
    best = fastest({compiler: partial(peer.rnea, few, tau) for compiler, peer in found.items()})
    return best, partial(found[best].rnea, few, tau), partial(found[best].regressor, few)


def _against_python(name: str, which: str, ours: tuple, inside: tuple) -> Iterator[Row]:
    oracle, state = peers.oracle(name), [s[:N_PYTHON] for s in peers.states(name, N)]
    pin, model, data = oracle.pin, oracle.model, oracle.data

    def rnea() -> None:
        for q, qd, qdd in zip(*state, strict=True):
            pin.rnea(model, data, q, qd, qdd)

    def regressor() -> None:
        for q, qd, qdd in zip(*state, strict=True):
            pin.computeJointTorqueRegressor(model, data, q, qd, qdd)

    goals = {"compiled": (None, 75.0), "interpreter": (8.0, 8.0)}.get(which.partition(" ")[0], (None, None))
    yield compare(
        f"inverse dynamics, batch, {name}, {which}", ours, (rnea, N_PYTHON), "pin.rnea in a loop", goals[0], rounds=7
    )
    yield compare(
        f"base regressor in cache, {name}, {which}",
        inside, (regressor, N_PYTHON), "pin.computeJointTorqueRegressor in a loop", goals[1], rounds=7,
    )  # fmt: skip
