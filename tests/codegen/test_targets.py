from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.codegen.generate import generate
from minertia.codegen.options import CodeModel
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.codegen.targets.selftest import reference
from minertia.io.errors import UnknownName
from tests.codegen import robots
from tests.codegen.compiled import difference
from tests.random_robots import random_robot

PROGRAMS = ("inverse_dynamics", "background", "synchronous", "base_regressor", "recursive_update", "coriolis_matrix")


def test_numpy_module(tmp_path):
    robot = robots.stanford()
    result = generate(robot, tmp_path, programs=PROGRAMS, target="numpy", model=CodeModel("base", friction=True))
    module: dict = {}
    exec(result.files[0].read_text(), module)
    setting = Setting(robot, "base", friction=True)
    for name in PROGRAMS:
        program = build(setting, name, result.representatives.get(name))
        inputs, wanted = reference(setting, program)
        found = module[name](**inputs)
        found = found if isinstance(found, tuple) else (found,)
        for port, values in zip(program.ports, found, strict=True):
            assert difference(values, wanted[port.name]) < 1e-12


FLOATING = replace(random_robot(6, floating=True, tree=True, n=2), effects=())


@pytest.mark.parametrize("robot", [robots.puma560(), FLOATING], ids=("puma560", "floating"))
def test_matlab_function(tmp_path, robot):
    """Its statements are read as Python, where f(k) is a lookup."""
    result = generate(robot, tmp_path, programs=("background",), target="matlab")
    text = next(p for p in result.files if p.suffix == ".m").read_text()
    assert re.match(r"function \[D, b\] = \w+_background\(q, qd\)\n", text) and text.splitlines()[-2] == "end"
    setting = Setting(robot)
    program = build(setting, "background", result.representatives["background"])
    inputs, wanted = reference(setting, program)
    names = {n: (lambda k, v=inputs[n][5]: float(v[k - 1])) for n in ("q", "qd")}
    names |= {"sin": math.sin, "cos": math.cos, "zeros": lambda r, c: np.zeros((r, c))}
    for line in text.splitlines()[1:-2]:
        if not line.startswith("%"):
            exec(re.sub(r"^(\w+)\((\d+), (\d+)\) =", r"\1[\2 - 1, \3 - 1] =", line.strip().rstrip(";")), names)
    assert difference(names["D"], wanted["D"][5]) < 1e-12
    assert difference(names["b"][:, 0], wanted["b"][5]) < 1e-12


def test_unknown_target(tmp_path):
    with pytest.raises(UnknownName, match="target"):
        generate(robots.planar2r(), tmp_path, target="cobol")


def test_loops_in_every_framework_of_arrays():
    """The estimator ends in loops: as a kernel, and in JAX where there is one."""
    robot = robots.planar2r()
    program = mi.codegen.build_program(robot, "recursive_update", model=CodeModel("base"))
    inputs, wanted = reference(Setting(robot, "base"), program)
    arrays = [inputs[port.name] for port in program.inputs]
    for port, values in zip(program.ports, mi.compile(program)(*arrays), strict=True):
        assert difference(values, wanted[port.name]) < 1e-12
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        for port, values in zip(program.ports, mi.codegen.to_jax(program)(*arrays), strict=True):
            assert difference(np.asarray(values), wanted[port.name]) < 1e-12
