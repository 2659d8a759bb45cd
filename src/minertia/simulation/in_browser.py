"""Generated C compiled to WebAssembly: the code of a controller, executed in a web page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from minertia.codegen.kernels.build import CompilerMissing, run_compiler
from minertia.codegen.targets.names import identifier
from minertia.dynamics.model import inverse_dynamics
from minertia.io.errors import MinertiaError
from minertia.robot.robot import Robot

FLAGS = ("--target=wasm32", "-std=c99", "-O2", "-nostdlib", "-fno-builtin", "-ffp-contract=off")
EXPORTED = ("minertia_given", "minertia_made", "minertia_run")
LINKED = ("-Wl,--no-entry", "-Wl,--allow-undefined", *(f"-Wl,--export={name}" for name in (*EXPORTED, "memory")))
PROGRAM = "inverse_dynamics"
STATES = 12  # at which the page compares with the numbers of Python


@cache
def _compiler() -> str:
    """Path of clang, with a WebAssembly linker installed; `CompilerMissing` says what to install."""
    clang, linker = shutil.which("clang"), shutil.which("wasm-ld")
    if clang is None or linker is None:
        missing = " or ".join(name for name, found in (("clang", clang), ("wasm-ld (lld)", linker)) if found is None)
        raise CompilerMissing(f"the model cannot run in the page: there is no {missing}; apt install clang lld")
    return clang


def web_code(robot: Robot, folder: Path) -> bytes:
    """WebAssembly of the inverse dynamics in a folder of generated C (double precision).

    Inputs are positions, velocities and accelerations alone.  The module exports its memory and the functions of
    `EXPORTED`: addresses of the 3 n inputs and n efforts, and the call.
    """
    name = identifier(robot.name)
    if not _takes_motion_alone(folder / f"{name}.h", name):
        raise MinertiaError("only inverse dynamics of positions, velocities and accelerations can run in the page")
    defined = {"HEADER": f'"{name}.h"', "JOINTS": str(robot.n), "INVERSE_DYNAMICS": f"{name}_{PROGRAM}"}
    made = folder / "model.wasm"
    with as_file(files("minertia.simulation") / "wasm") as ours:
        command = [_compiler(), *FLAGS, *(f"-D{key}={value}" for key, value in defined.items())]
        sources = [str(folder / f"{name}.c"), str(ours / "glue.c")]
        command += [f"-I{ours}", f"-I{folder}", *sources, *LINKED, "-o", str(made)]
        said = run_compiler(command, folder)
    if said:
        raise MinertiaError(f"the generated code could not be compiled for the page: {said}")
    return made.read_bytes()


def _takes_motion_alone(header: Path, name: str) -> bool:
    found = re.search(rf"void {name}_{PROGRAM}\((.*?)\);", header.read_text(encoding="utf-8"), re.DOTALL)
    return found is not None and re.findall(r"\*MINERTIA_RESTRICT (\w+)", found[1]) == ["q", "qd", "qdd", "tau"]


def reference_states(robot: Robot, seed: int = 0) -> Mapping[str, Any]:
    """Random states (N, n) and the efforts computed by Python, for verification in the page."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = (rng.uniform(-size, size, (STATES, robot.n)) for size in (3.0, 3.0, 10.0))
    tau = np.asarray(inverse_dynamics(robot, q, qd, qdd), float)
    return {"q": q.tolist(), "qd": qd.tolist(), "qdd": qdd.tolist(), "tau": tau.tolist()}
