"""Generated C compiled and called: the functions a controller has, from the code that would run on it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.generate import generate
from minertia.codegen.kernels.build import Compiler, CompilerMissing, WrongKernel, load_new, needed_compiler
from minertia.codegen.kernels.cache import NoFolder, own_folder
from minertia.codegen.options import CodeModel
from minertia.codegen.setting import Setting
from minertia.codegen.targets.names import identifier
from minertia.errors import MinertiaError
from minertia.robot.robot import Robot
from minertia.validation.control_model import ControlModel

Array = NDArray[np.float64]
PROGRAMS = ("inverse_dynamics", "background", "synchronous", "friction", "gravity", "mass_matrix", "velocity_torque")
FLAGS = ("-std=c99", "-O2")
PATIENCE = 120.0  # s for one call of the compiler


def compiled_model(robot: Robot, folder: str | Path, *, force: bool = False) -> ControlModel:
    """Code for a robot with its own parameters, written into a folder, compiled, tested by its self-test, and loaded.

    It is compiled and loaded in a folder of this process, where nobody else can exchange it.  `CompilerMissing` where
    there is no compiler: the code is written all the same.  What is compiled is not kept.
    """
    known = CodeModel(rotors=True, friction=True, temperature=False)
    made = generate(robot, Path(folder), programs=PROGRAMS, model=known, force=force)
    compiler, prefix = needed_compiler(), identifier(robot.name)
    place = _private_copy(made.files)
    library = place / f"lib{prefix}.so"
    _compile(compiler, "-shared", "-fPIC", "-o", library, place / f"{prefix}.c", "-lm")
    test = place / "selftest"
    _compile(compiler, "-o", test, place / "selftest.c", place / f"{prefix}.c", "-lm")
    _run([str(test)], "the self-test of the generated code failed")
    loaded, why = load_new(library)
    if why:
        raise WrongKernel(compiler, FLAGS, why)
    return _model(robot.n, loaded, prefix, Setting(robot, friction=True).friction_inputs)


def _private_copy(files: Sequence[Path]) -> Path:
    """The files in a folder that only this process can change."""
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
    """The functions of a compiled library as a controller calls them; friction_inputs: what `friction` reads."""
    try:
        loaded = ctypes.CDLL(str(Path(library).resolve()))
    except OSError as err:
        raise MinertiaError(f"the compiled code in {library} cannot be loaded: {err}") from None
    return _model(n, loaded, prefix, friction_inputs)


def _model(n: int, loaded: ctypes.CDLL, prefix: str, friction_inputs: Sequence[str]) -> ControlModel:
    def function(name: str, sizes: tuple[int, ...], size: int) -> Callable[..., Array]:
        call = getattr(loaded, f"{prefix}_{name}")
        call.restype = None
        call.argtypes = [ctypes.c_void_p] * (len(sizes) + 1)
        given, out = [np.empty(k) for k in sizes], np.empty(size)  # kept, as asking for an address takes long
        places = [buffer.ctypes.data for buffer in (*given, out)]

        def run(*values: Array) -> Array:
            for buffer, value in zip(given, values, strict=True):
                buffer[:] = value
            call(*places)
            return out.copy()

        return run

    whole, matrix = function("inverse_dynamics", (n, n, n), n), function("mass_matrix", (n,), n * n)
    effects = function("friction", (n,) * len(friction_inputs), n)

    def friction(q: Array, qd: Array, qdd: Array) -> Array:
        given = {"q": q, "qd": qd, "qdd": qdd}
        return effects(*(given[name] for name in friction_inputs))

    return ControlModel(
        n=n,
        rigid=lambda q, qd, qdd: whole(q, qd, qdd) - friction(q, qd, qdd),
        friction=friction,
        gravity=function("gravity", (n,), n),
        mass_matrix=lambda q: matrix(q).reshape(n, n),
        velocity=function("velocity_torque", (n, n), n),
    )


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
