"""Compile generated C with the compilers at hand and call it through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
COMPILERS = tuple(name for name in ("gcc", "clang") if shutil.which(name))


def run(command, cwd):
    """Run a command; its output if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def library(folder: Path, name: str, compiler: str, flags=("-O1",)) -> ctypes.CDLL:
    """The generated source as a shared library."""
    target = folder / f"{name}_{compiler}.so"
    run([compiler, *STRICT, *flags, "-shared", "-fPIC", f"{name}.c", "-o", target.name, "-lm"], folder)
    return ctypes.CDLL(str(target))


def call(lib, prefix: str, program, inputs, dtype=np.float64):
    """Outputs of one call per sample, by port."""
    function = getattr(lib, f"{prefix}_{program.name}")
    pointer = ctypes.c_void_p
    prepared = None
    if hasattr(lib, f"{prefix}_{program.name}_prepare"):
        prepared = np.full(4096, np.nan, dtype)
        given = [np.ascontiguousarray(inputs[name], dtype) for name in program.parameters]
        getattr(lib, f"{prefix}_{program.name}_prepare")(
            *(pointer(a.ctypes.data) for a in given), pointer(prepared.ctypes.data)
        )
    names = [port.name for port in program.inputs if port.name not in program.parameters]
    samples = len(inputs[names[0]])
    outputs = {port.name: np.full((samples, *port.shape), np.nan, dtype) for port in program.ports}
    for k in range(samples):
        rows = [np.ascontiguousarray(inputs[name][k], dtype) for name in names]
        arguments = [pointer(row.ctypes.data) for row in rows]
        if prepared is not None:
            arguments.append(pointer(prepared.ctypes.data))
        arguments += [pointer(outputs[port.name][k].ctypes.data) for port in program.ports]
        function(*arguments)
    return outputs


def difference(found, wanted) -> float:
    """Largest difference over the largest value."""
    assert np.all(np.isfinite(found))
    return float(np.abs(found - wanted).max(initial=0.0) / max(np.abs(wanted).max(initial=0.0), 1e-9))
