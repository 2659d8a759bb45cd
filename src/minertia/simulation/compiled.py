"""Compilation and execution of generated C code, so that simulated controllers run the deployed code."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.generate import generate
from minertia.codegen.kernels.build import Compiler, CompilerMissing, WrongKernel, load_new, needed_compiler
from minertia.codegen.kernels.cache import NoFolder, own_folder
from minertia.codegen.options import CodeModel
from minertia.codegen.setting import Setting
from minertia.codegen.targets.names import identifier
from minertia.io.errors import MinertiaError
from minertia.robot.robot import Robot
from minertia.simulation.control_model import ControlModel
from minertia.simulation.passive_joints import PassiveJoints, passive_joints

Array = NDArray[np.float64]
PROGRAMS = ("inverse_dynamics", "background", "synchronous", "friction", "gravity", "mass_matrix", "velocity_torque")
FLAGS = ("-std=c99", "-O2")
OPEN = 1e-6  # residual from which on outputs of generated code are wrong
PATIENCE = 120.0  # s for one call of the compiler


@dataclass(frozen=True)
class CompiledCode:
    """Loaded library of generated code for a robot of n coordinates and `joints` joints.

    friction_inputs: inputs of `friction`.  passive: passive joints without a closed form; the programs `iterated`
    take and return their positions.
    """

    n: int
    joints: int
    library: ctypes.CDLL
    prefix: str
    friction_inputs: tuple[str, ...] = ("qd",)
    passive: PassiveJoints | None = None
    iterated: tuple[str, ...] = ()

    def function(self, name: str, given: Sequence[int], made: Sequence[int]) -> Callable[..., tuple[Array, ...]]:
        """Program as a function of arrays; given, made: sizes of its inputs and outputs, in order."""
        call = getattr(self.library, f"{self.prefix}_{name}")
        call.restype = None
        call.argtypes = [ctypes.c_void_p] * (len(given) + len(made))
        inputs, outputs = [np.empty(k) for k in given], [np.empty(k) for k in made]  # kept: addresses take long
        places = [buffer.ctypes.data for buffer in (*inputs, *outputs)]

        def run(*values: Array | float) -> tuple[Array, ...]:
            for buffer, value in zip(inputs, values, strict=True):
                buffer[...] = value
            call(*places)
            return tuple([buffer.copy() for buffer in outputs])

        return run

    def of_state(self, name: str, arguments: int, size: int) -> Callable[..., Array]:
        """Program that takes `arguments` arrays of n values and returns one array of `size` values."""
        if self.passive is not None and name in self.iterated:
            k = self.passive.count
            run = self.function(name, ((self.n,) * arguments) + (k,), (size, k, 1, self.passive.sets))
            return _Chained(run, self.passive)
        run = self.function(name, (self.n,) * arguments, (size,))
        return lambda *values: run(*values)[0]

    @property
    def model(self) -> ControlModel:
        """Model for a controller, from the programs of `PROGRAMS`."""
        n = self.n
        whole, matrix = self.of_state("inverse_dynamics", 3, n), self.of_state("mass_matrix", 1, n * n)
        effects = self.of_state("friction", len(self.friction_inputs), n)

        def friction(q: Array, qd: Array, qdd: Array) -> Array:
            given = {"q": q, "qd": qd, "qdd": qdd}
            return effects(*(given[name] for name in self.friction_inputs))

        return ControlModel(
            n=n,
            rigid=lambda q, qd, qdd: whole(q, qd, qdd) - friction(q, qd, qdd),
            friction=friction,
            gravity=self.of_state("gravity", 1, n),
            mass_matrix=lambda q: matrix(q).reshape(n, n),
            velocity=self.of_state("velocity_torque", 2, n),
        )


class _Chained:
    """Program that is warm-started with the passive positions of its last call; solved anew at distant postures."""

    def __init__(self, run: Callable[..., tuple[Array, ...]], passive: PassiveJoints) -> None:
        self.run, self.passive = run, passive
        self.last: tuple[Array, Array] | None = None  # coordinates and passive positions of the last call

    def __call__(self, q: Array, *more: Array) -> Array:
        if self.last is None or not self.passive.is_near(q, self.last[0]):
            self.last = q, self.passive(q)[len(q) :]
        found, passive, residual, branch = self.run(q, *more, self.last[1])
        is_closed = bool(residual[0] < OPEN and branch.min() > 0)
        self.last = (np.array(q), passive) if is_closed else None
        return found if is_closed else np.full_like(found, np.nan)


def compiled_model(robot: Robot, folder: str | Path, *, force: bool = False) -> ControlModel:
    """Model for a controller, from `compiled_code` of a robot with its parameters."""
    return compiled_code(robot, folder, force=force).model


def compiled_code(
    robot: Robot, folder: str | Path, programs: Sequence[str] = PROGRAMS, *, force: bool = False
) -> CompiledCode:
    """Write code for a robot with its parameters into a folder, compile it, run its self-test, and load it.

    It is compiled and loaded in a private folder of this process, which nobody else can change.  Raises
    `CompilerMissing` if there is no compiler; the code is written in any case.  Compiled files are not kept.
    """
    known = CodeModel(rotors=True, friction=True, temperature=False)
    made = generate(robot, Path(folder), programs=programs, model=known, force=force)
    return loaded_code(robot, made.files, made.iterated)


def loaded_code(robot: Robot, files: Sequence[Path], iterated: Sequence[str] = ()) -> CompiledCode:
    """Compile generated C for a robot, run its self-test, and load it; iterated: programs with passive positions."""
    compiler, prefix = needed_compiler(), identifier(robot.name)
    place = tested_code(files)
    library = place / f"lib{prefix}.so"
    _compile(compiler, "-shared", "-fPIC", "-o", library, place / f"{prefix}.c", "-lm")
    loaded, why = load_new(library)
    if why:
        raise WrongKernel(compiler, FLAGS, why)
    inputs = Setting(robot, friction=True).friction_inputs
    return CompiledCode(robot.n, robot.n_joints, loaded, prefix, inputs, passive_joints(robot.numeric), tuple(iterated))


def tested_code(files: Sequence[Path]) -> Path:
    """Copy the files of the target "c", compile them and run their self-test; returns the temporary folder."""
    compiler = needed_compiler()
    place = _private_copy(files)
    test = place / "selftest"
    _compile(compiler, "-o", test, *(place / file.name for file in files if file.suffix == ".c"), "-lm")
    _run([str(test)], "the self-test of the generated code failed")
    return place


def _private_copy(files: Sequence[Path]) -> Path:
    """Copy the files to a folder that only this process can change."""
    try:
        place = Path(tempfile.mkdtemp(dir=own_folder()))
        for file in files:
            shutil.copyfile(file, place / file.name)
    except NoFolder as err:
        raise CompilerMissing(str(err)) from None
    except OSError as err:
        raise MinertiaError(f"the generated code could not be copied for the compiler: {err}") from None
    return place


def load_model(n: int, library: str | Path, prefix: str, friction_inputs: Sequence[str] = ("qd",)) -> ControlModel:
    """Functions of a compiled library with the interface of a controller; friction_inputs: inputs of `friction`."""
    try:
        loaded = ctypes.CDLL(str(Path(library).resolve()))
    except OSError as err:
        raise MinertiaError(f"the compiled code in {library} cannot be loaded: {err}") from None
    return CompiledCode(n, n, loaded, prefix, tuple(friction_inputs)).model


def _compile(compiler: Compiler, *arguments: object) -> None:
    _run([*compiler.command, *FLAGS, *map(str, arguments)], "the generated code could not be compiled")


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise MinertiaError(f"{what}: {err}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise MinertiaError(f"{what}: {said[0] if said else f'code {done.returncode}'}")
