"""Generated C and kernels on processors of another kind, or of another width, than the one that runs the tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.kernels import kernel as kernels
from minertia.codegen.kernels.batch import single_source
from minertia.codegen.kernels.kernel import BatchKernel, regressor_program, torque_program
from minertia.codegen.kernels.least_squares import LeastSquaresKernel
from minertia.codegen.kernels.schedule import schedule
from minertia.codegen.options import Arithmetic, CodeModel
from minertia.codegen.programs import BUILDERS
from minertia.codegen.targets.names import identifier
from minertia.dynamics import model
from tests.codegen import robots
from tests.codegen.elsewhere import NATIVE, Elsewhere, Machine, machine, one_by_one
from tests.codegen.kernel_helpers import relative, robots_of_every_kind, states
from tests.codegen.test_batch import everything, everything_program

__all__ = ["machine"]  # the fixture
ALL = tuple(BUILDERS)
ROBOTS = {"two joints": robots.planar2r(), "arm": robots.puma560()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where programs are kept for all tests: the interpreter is the same in each."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(params=[False, True], ids=["compiled", "interpreted"])
def there(request, machine: Machine, folder, monkeypatch) -> Machine:
    """A machine on which every kernel made in a test runs."""
    level = "-O3" if request.node.get_closest_marker("slow") else "-O1"
    monkeypatch.setattr(kernels, "runner", lambda plan, **_: Elsewhere(plan, machine, folder, request.param, level))
    return machine


@pytest.fixture(scope="module")
def selftest(tmp_path_factory) -> Callable[[Machine, str, CodeModel, Arithmetic], str]:
    """What the self-test of the generated C says on a machine; the code is generated once for all of them."""

    @cache
    def written(name: str, model: CodeModel, arithmetic: Arithmetic) -> Path:
        folder = tmp_path_factory.mktemp("generated")
        generate(ROBOTS[name], folder, programs=ALL, model=model, arithmetic=arithmetic)
        return folder

    def said(machine: Machine, name: str, model: CodeModel, arithmetic: Arithmetic) -> str:
        target = written(name, model, arithmetic) / f"selftest-{machine}"
        source = f"{identifier(ROBOTS[name].name)}.c"
        program = machine.executable(target, source, "selftest.c", flags=("-O1",))
        return machine.run(program).decode()

    return said


def test_generated_c(machine, selftest):
    said = selftest(machine, "two joints", CodeModel(rotors=True, friction=True), Arithmetic(sincos="own"))
    assert "FAILED" not in said and said.count(" ok ") >= len(ALL)


@pytest.mark.slow
def test_generated_c_of_an_arm(machine, selftest):
    """On each processor both, by one compiler each."""
    numbers = {"gcc": Arithmetic("double", "own"), "clang": Arithmetic("float", "libm")}[machine.by]
    said = selftest(machine, "arm", CodeModel(rotors=True, friction=True, payload=True), numbers)
    assert "FAILED" not in said and said.count(" ok ") >= len(ALL)


def test_every_operation_of_a_kernel(there, tmp_path):
    program = everything_program()
    x, k = np.random.default_rng(1).normal(size=(131, 4)), np.array([1.5, -2.0])
    x[5, 2], x[7, 0], x[9, 1] = 0.0, 3e4, 1e7  # what a reduction of angles is made for, and beyond
    kernel = BatchKernel(program)
    assert kernel.path == "elsewhere"
    y, z = kernel(x, k)
    with np.errstate(all="ignore"):
        wanted = everything(x.T, k).T
    assert np.allclose(np.concatenate([y.reshape(131, -1), z], axis=1), wanted, rtol=1e-14, atol=1e-14)


def test_every_operation_of_one_call(machine, tmp_path):
    plan = schedule(everything_program())
    x, k = np.random.default_rng(1).normal(size=(31, 4)), np.array([1.5, -2.0])
    found = one_by_one(machine, single_source(plan), tmp_path, plan, [x, k])
    assert np.allclose(np.hstack(found), everything(x.T, k).T, rtol=1e-14, atol=1e-14)


def test_torques_and_sums_of_a_kernel(there):
    compare_with_the_dynamics(robots.planar2r(), 131)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(3))
def test_torques_and_sums_of_every_robot(there, place):
    """On each processor every robot, by one of the compilers."""
    name = list(robots_of_every_kind())[2 * place + (there.by == "clang")]
    compare_with_the_dynamics(robots_of_every_kind()[name], 1000)


def compare_with_the_dynamics(robot, count: int) -> None:
    """Torques, regressor and normal equations against those of NumPy."""
    state, columns = states(robot, count), robot.columns(rotors=True, friction=True)
    assert relative(BatchKernel(torque_program(robot))(*state), model.inverse_dynamics(robot, *state)) < 1e-12
    sums = LeastSquaresKernel(regressor_program(robot, columns), columns)
    Y = model.torque_regressor(robot, *state, columns=columns)
    assert relative(sums.kernel(*state), Y) < 1e-12
    tau = np.random.default_rng(2).normal(size=Y.shape[:2])
    A = np.column_stack([Y.reshape(-1, len(columns)), tau.ravel()])
    assert relative(sums.accumulate(*state, tau=tau).matrix, A.T @ A) < 1e-12
    theta = np.random.default_rng(3).normal(size=len(columns))
    left = sums.residual(*state, tau=tau, theta=theta)
    rho = A[:, -1] - A[:, :-1] @ theta
    assert relative(left.gradient, A[:, :-1].T @ rho) < 1e-11


def test_vectors_are_as_wide_as_the_machine_has_them(machine, tmp_path):
    """So that the tests above have tried each width, and the emulated processor without AVX met none of it."""
    text = '#include <stdio.h>\n#include "vector.h"\nint main(void) { return printf("%d", LANES) < 0; }\n'
    (tmp_path / "lanes.c").write_text(text)
    program = machine.executable(tmp_path / "lanes", "lanes.c", flags=(f"-I{NATIVE}", "-w"))
    assert int(machine.run(program)) == machine.lanes


def test_a_program_that_is_wrong_there_is_found(machine, tmp_path):
    generate(robots.planar2r(), tmp_path)
    source = tmp_path / "planar_2r.c"
    source.write_text(source.read_text().replace(" + ", " - ", 1))
    program = machine.executable(tmp_path / "selftest", source.name, "selftest.c")
    with pytest.raises(AssertionError, match="FAILED"):
        machine.run(program)
