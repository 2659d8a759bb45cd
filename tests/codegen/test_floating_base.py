"""Generated code of robots whose base floats: the programs around the dynamics in C, for CUDA and on NumPy."""

from __future__ import annotations

import shutil

import pytest

from minertia.codegen.adaptive_programs import ADAPTIVE_BUILDERS
from minertia.codegen.generate import generate
from minertia.codegen.motion_programs import MOTION_BUILDERS
from minertia.codegen.options import CodeModel
from minertia.codegen.programs import ON_TREES, build
from minertia.codegen.setting import Setting
from minertia.codegen.signal_programs import SIGNAL_BUILDERS
from minertia.codegen.targets.names import identifier
from minertia.codegen.targets.selftest import reference
from tests.codegen.compiled import COMPILERS, STRICT, difference, run
from tests.random_robots import random_robot

ROBOT = random_robot(6, floating=True, tree=True, n=2)
PROGRAMS = tuple(name for name in (*MOTION_BUILDERS, *SIGNAL_BUILDERS, *ADAPTIVE_BUILDERS) if name not in ON_TREES)
CXX = shutil.which("g++") or shutil.which("clang++")


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_the_selftest_passes(tmp_path):
    result = generate(ROBOT, tmp_path, programs=PROGRAMS, model=CodeModel("base"))
    name = identifier(ROBOT.name)
    run([COMPILERS[0], *STRICT, "-O0", f"{name}.c", "selftest.c", "-o", "selftest", "-lm"], tmp_path)
    told = run(["./selftest"], tmp_path)
    assert "FAILED" not in told and all(f"{program}." in told or f"{program} " in told for program in PROGRAMS)
    assert all(sum(result.counts[program].values()) > 0 for program in PROGRAMS)
    header = (tmp_path / f"{name}.h").read_text()
    for words in ("external force and moment on the base", "turned about its own axes", "a floating base first"):
        assert words in header


@pytest.mark.skipif(CXX is None, reason="no C++ compiler")
def test_functions_for_a_device_on_the_host(tmp_path):
    generate(ROBOT, tmp_path, programs=("coriolis_matrix", "momentum_observer"), target="cuda")
    run([CXX, "-x", "c++", "-std=c++14", "-Wall", "-Wextra", "-Werror", "-O0", "-o", "host", "selftest.cu"], tmp_path)
    assert "FAILED" not in run(["./host"], tmp_path)


@pytest.mark.parametrize("target", ["numpy", "jax", "torch", "matlab", "fmu"])
def test_every_other_target_takes_them(tmp_path, target):
    """NumPy's module is run, too."""
    programs = ("coriolis_matrix",) if target == "fmu" else ("slotine_li", "adaptive_law")
    result = generate(ROBOT, tmp_path, programs=programs, target=target, model=CodeModel("base"))
    assert result.files
    if target != "numpy":
        return
    module: dict = {}
    exec(result.files[0].read_text(), module)
    setting = Setting(ROBOT, "base", rotors=True, friction=True)
    for name in programs:
        program = build(setting, name, result.representatives.get(name))
        inputs, wanted = reference(setting, program)
        found = module[name](**inputs)
        for port, values in zip(program.ports, found if isinstance(found, tuple) else (found,), strict=True):
            assert difference(values, wanted[port.name]) < 1e-12
