"""Batch kernels: every path gives the numbers of the dynamics, for any number of samples and threads."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest

from minertia.algebra.expr import Graph
from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import BatchKernel, compile_function, regressor_program, torque_program
from minertia.codegen.kernels.schedule import schedule
from minertia.codegen.kernels.steps import CODES
from minertia.codegen.kernels.task import Task
from minertia.codegen.program import Port, Program
from minertia.dynamics import model
from minertia.io.errors import ShapeError
from tests.codegen.kernel_helpers import CAN, PATHS, WITH_CODE, relative, robots_of_every_kind, states, with_inertias

ROBOTS = robots_of_every_kind()
QUICK = ("puma560", "tree", "follower")
ONCE = ("puma560",)  # of these compiled: it takes seconds each
COUNTS = (0, 1, 7, 31, 32, 33, 63, 64, 65, 511, 513, 1000)
LATER = [name for name in WITH_CODE if name != "palletiser"]  # compiling takes more than a second each


@pytest.fixture(params=PATHS)
def path(request, monkeypatch) -> str:
    monkeypatch.setenv("MINERTIA_KERNELS", request.param)
    return request.param


def quick_or_slow(path: str, name: str) -> Any:
    """A case of `test_torques_and_regressor_are_those_of_the_dynamics`."""
    is_quick = name in (ONCE if path == "compiled" else QUICK)
    return pytest.param(path, name, id=f"{path}-{name}", marks=() if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(("path", "name"), [quick_or_slow(path, name) for path in CAN for name in ROBOTS])
def test_torques_and_regressor_are_those_of_the_dynamics(path, name, monkeypatch):
    if not CAN[path]:
        pytest.skip(f"no {path} path on this machine")
    monkeypatch.setenv("MINERTIA_KERNELS", path)
    robot = ROBOTS[name]
    columns = robot.columns(rotors=True, friction=True)
    torques, regressor = BatchKernel(torque_program(robot)), BatchKernel(regressor_program(robot, columns))
    assert torques.path == regressor.path == path
    for count in COUNTS:
        state = states(robot, count)
        wanted = model.inverse_dynamics(robot, *state)
        assert relative(torques(*state), wanted) < 1e-12
        Y = regressor(*state)
        assert Y.shape == (count, robot.n_velocity, len(columns))
        assert relative(Y, model.torque_regressor(robot, *state, columns=columns)) < 1e-12
        assert relative(Y @ robot.parameter_vector(True, True), wanted) < 1e-11


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *(pytest.param(path, name, id=f"{path}-{name}") for path in ("interpreter", "numpy") for name in WITH_CODE),
        *(pytest.param("compiled", n, id=n, marks=pytest.mark.slow if n in LATER else ()) for n in WITH_CODE),
    ],
)
def test_every_bundled_robot(path, name, monkeypatch):
    if not CAN[path]:
        pytest.skip(f"no {path} path on this machine")
    monkeypatch.setenv("MINERTIA_KERNELS", path)
    robot = with_inertias(name)
    state = states(robot, 100)
    wanted = model.inverse_dynamics(robot, *state)
    program = torque_program(robot)
    assert relative(BatchKernel(program)(*state), wanted) < 1e-12
    one = compile_function(program)
    assert relative(one(*(s[3] for s in state)), wanted[3]) < 1e-12


def test_threads_do_not_change_a_bit(path):
    robot = ROBOTS["puma560"]
    kernel = BatchKernel(torque_program(robot))
    state = states(robot, 20_001)
    alone = kernel(*state)
    assert np.array_equal(alone, kernel(*state, threads=2))
    assert np.array_equal(alone, kernel(*state, threads=None))
    assert np.array_equal(alone[:777], kernel(*(s[:777] for s in state)))


def test_a_bad_sample_stays_alone(path):
    robot = ROBOTS["puma560"]
    kernel = BatchKernel(torque_program(robot))
    q, qd, qdd = states(robot, 300)
    clean = kernel(q, qd, qdd)
    q[17, 2], qd[130, 4], qdd[299, 0] = np.nan, np.inf, np.nan
    found = kernel(q, qd, qdd)
    touched = [17, 130, 299]
    assert not np.isfinite(found[touched]).all(axis=1).any()
    rest = np.delete(np.arange(300), touched)
    assert np.array_equal(found[rest], clean[rest])


def test_huge_angles_are_still_angles(path):
    robot = ROBOTS["puma560"]
    q, qd, qdd = states(robot, 50)
    q[::3] *= 1e7
    q[1::3] *= 3e4
    with np.errstate(all="ignore"):
        wanted = model.inverse_dynamics(robot, q, qd, qdd)
    assert relative(BatchKernel(torque_program(robot))(q, qd, qdd), wanted) < 1e-12


def test_nonzeros_hold_everything(path):
    robot = ROBOTS["puma560"]
    kernel = BatchKernel(regressor_program(robot, robot.columns(rotors=True, friction=True)))
    state = states(robot, 700)
    blocks, positions = kernel.nonzeros(*state, threads=2)
    dense = kernel(*state).reshape(700, -1)
    flat = blocks.transpose(0, 2, 1).reshape(-1, blocks.shape[1])
    assert np.array_equal(flat[:700], dense[:, positions])
    assert not flat[700:].any()
    assert not np.delete(dense, positions, axis=1).any()


def test_arrays_in_place_and_arrays_that_are_not(path):
    robot = ROBOTS["puma560"]
    kernel = BatchKernel(torque_program(robot))
    q, qd, qdd = states(robot, 100)
    wanted = kernel(q, qd, qdd)
    out = np.empty((100, 6))
    assert kernel(q, qd, qdd, out=out) is out
    assert np.array_equal(out, wanted)
    assert np.array_equal(kernel(np.asfortranarray(q), qd.tolist(), np.repeat(qdd, 2, axis=1)[:, ::2]), wanted)
    with pytest.raises(ShapeError, match="writeable C-contiguous"):
        kernel(q, qd, qdd, out=np.empty((6, 100)).T)
    with pytest.raises(ShapeError, match=r"qd has shape \(100, 5\)"):
        kernel(q, qd[:, :5], qdd)
    with pytest.raises(ShapeError, match="99 samples but another array has 100"):
        kernel(q, qd[:99], qdd)
    with pytest.raises(ShapeError, match="takes 3 arrays"):
        kernel(q, qd)


def everything_program() -> Program:
    """Every operation, signs on outputs, constants, repeated outputs, parameters, several ports, trig of trig."""
    g = Graph()
    x, k = g.variables("x", 4), g.variables("k", 2)
    a, b, c, d = x
    shared = a * b
    outputs = [
        -(a + b), a - b, -(a - c), shared, -shared, shared, -(c * d), 2.5 * a, -(2.5 * a + b), b - 2.5 * c,
        a / b, 3.0 / a, -(a / 4.0), (a * a + 1.0).sqrt(), -((b * b + 2.0).sqrt()), c.sign(), -d.sign(),
        (a + b).sin(), -(a.cos()), (a.sin() * 2.0).cos(), 1.0 + a * b * c, 1.5 - c * d, a * b - c * d, -(a * b) - c,
        k[0] * a + k[1], 0.0, -3.5, g.constant(2.0), a, -b, c.sin(), (g.constant(0.5) * d).cos() * d,
        a - b * d, a * d - d.sin(), -(b * c + d.cos()), 3.25 * b - (d * d + 7.0).sqrt(), -(c * c),
        a.absolute(), -((-b).absolute()), (-(a * c)).exp(), -(a.exp()), (a - b).tanh(), (b - a).tanh(), -(d.tanh()),
    ]  # fmt: skip
    ports = (Port("y", (4, 4)), Port("z", (28,)))
    return Program("everything", g, (Port("x", (4,)), Port("k", (2,))), ports, tuple(outputs), parameters=("k",))


def everything(x, k):
    a, b, c, d = x
    return np.array([
        -(a + b), a - b, c - a, a * b, -a * b, a * b, -c * d, 2.5 * a, -(2.5 * a + b), b - 2.5 * c,
        a / b, 3 / a, -a / 4, np.sqrt(a * a + 1), -np.sqrt(b * b + 2), np.sign(c), -np.sign(d),
        np.sin(a + b), -np.cos(a), np.cos(2 * np.sin(a)), 1 + a * b * c, 1.5 - c * d, a * b - c * d, -a * b - c,
        k[0] * a + k[1], 0 * a, -3.5 + 0 * a, 2 + 0 * a, a, -b, np.sin(c), np.cos(d / 2) * d,
        a - b * d, a * d - np.sin(d), -(b * c + np.cos(d)), 3.25 * b - np.sqrt(d * d + 7), -c * c,
        np.abs(a), -np.abs(b), np.exp(-a * c), -np.exp(a), np.tanh(a - b), np.tanh(b - a), -np.tanh(d),
    ])  # fmt: skip


def test_every_operation(path):
    program = everything_program()
    assert {step.operation for step in schedule(program).steps} == set(CODES)
    x = np.random.default_rng(1).normal(size=(131, 4))
    x[5, 2] = 0.0
    k = np.array([1.5, -2.0])
    y, z = BatchKernel(program)(x, k, threads=2)
    assert y.shape == (131, 4, 4) and z.shape == (131, 28)
    found = np.concatenate([y.reshape(131, -1), z], axis=1)
    wanted = everything(x.T, k).T
    assert np.allclose(found, wanted, rtol=1e-14, atol=1e-14)
    one = compile_function(program)
    for s in (0, 5, 130):
        y1, z1 = one(x[s], k)
        assert np.allclose(np.concatenate([y1.ravel(), z1]), wanted[s], rtol=1e-14, atol=1e-14)


def test_parameters_that_are_not_numbers(path):
    g = Graph()
    (x,) = g.variables("x", 1)
    outputs = (x * math.nan, x + math.inf, x * -math.inf, x * 2.0)
    program = Program("odd", g, (Port("x", (1,)),), (Port("y", (4,)),), outputs)
    found = BatchKernel(program)(np.ones((3, 1)))
    assert np.isnan(found[:, 0]).all() and np.isposinf(found[:, 1]).all() and np.isneginf(found[:, 2]).all()
    assert np.array_equal(found[:, 3], [2, 2, 2])


def test_results_that_somebody_holds_stay(path) -> None:
    f = compile_function(torque_program(ROBOTS["puma560"]))
    rng = np.random.default_rng(0)
    states = rng.normal(size=(9, 3, 6))
    wanted = [f(*s).copy() for s in states]
    held = [f(*s) for s in states]
    views = [f(*s)[1:] for s in states]
    bent = f(*states[0])
    bent.shape = (2, 3)
    del bent
    locked = f(*states[1])
    locked.flags.writeable = False
    del locked
    for _ in range(3):
        for s, w in zip(states, wanted, strict=True):
            tau = f(*s)
            assert tau.shape == (6,) and tau.flags.writeable and np.array_equal(tau, w)
    for array, view, w in zip(held, views, wanted, strict=True):
        assert np.array_equal(array, w) and np.array_equal(view, w[1:])


def test_one_call(path):
    robot = ROBOTS["puma560"]
    f = compile_function(torque_program(robot))
    state = [s[0] for s in states(robot, 1)]
    wanted = model.inverse_dynamics(robot, *state)
    assert relative(f(*state), wanted) < 1e-12
    out = np.empty(6)
    assert f(*state, out=out) is out and relative(out, wanted) < 1e-12
    out[:] = 0
    assert f(*state, out) is out and relative(out, wanted) < 1e-12
    assert relative(f(*(s.tolist() for s in state)), wanted) < 1e-12
    assert relative(f(*(np.repeat(s, 2)[::2] for s in state)), wanted) < 1e-12
    for wrong in ((state[0][:5], *state[1:]), (state[0], np.zeros(7), state[2])):
        with pytest.raises(ShapeError, match="this function needs 6"):
            f(*wrong)
    with pytest.raises(TypeError, match="takes 3 arrays"):
        f(*state[:2])
    with pytest.raises(ShapeError, match="out must be"):
        f(*state, out=np.empty(6, np.float32))
    with pytest.raises(ShapeError, match="out must be"):
        f(*state, out=np.empty(12)[::2])
    for wrong in ("no numbers", state[0] * 1j, [None] * 6, [10**400] * 6, state[0].astype(object), [[1, 2], [3]]):
        with pytest.raises(ShapeError, match="input 1 must"):
            f(wrong, *state[1:])
    with pytest.raises(ShapeError, match="out must be"):
        f(*state, out=np.empty((2, 3)))


def test_arrays_as_they_should_be_go_straight_to_the_kernel(path):
    """Anything else is handed back unread, so that Python can copy it or say what is wrong."""
    g = Graph()
    x, (k,) = g.variables("x", 2), g.variables("k", 1)
    inputs, ports = (Port("x", (2,)), Port("k", (1,))), (Port("a", (2,)), Port("b", (1,)))
    kernel = BatchKernel(Program("two", g, inputs, ports, (x[0] * k, x[1], x[0] + x[1]), parameters=("k",)))
    rows, given = kernel._runner.rows, (np.arange(10.0).reshape(5, 2), np.array([3.0]))
    if path == "numpy":
        assert rows is None
        return
    out = np.zeros((5, 2)), np.zeros((5, 1))
    for found in (rows(*given, None), rows(*given, out), out):
        assert np.array_equal(found[0], given[0] * [3, 1]) and np.array_equal(found[1][:, 0], given[0].sum(axis=1))
    fixed = np.zeros((5, 1))
    fixed.flags.writeable = False
    memory = np.zeros(11)
    overlapping = memory[:10].reshape(5, 2), memory[6:].reshape(5, 1)
    for wrong in (out[0], out[::-1], (out[0], fixed), (out[0], np.zeros((4, 1))), overlapping, (given[0], out[1])):
        assert rows(*given, wrong) is NotImplemented
    for odd in ((given[0].tolist(), given[1]), (given[0], given[1][:0]), given[:1], (given[0].astype("f4"), given[1])):
        assert rows(*odd, None) is NotImplemented


def test_outputs_that_overlap_inputs(path):
    """The result is what it would be in memory of its own, wherever the output stands."""
    robot = ROBOTS["puma560"]
    kernel, one, state = BatchKernel(torque_program(robot)), compile_function(torque_program(robot)), states(robot, 100)
    wanted = kernel(*state)
    for place in range(3):
        for offset in (0, 3, 6):
            memory = np.zeros(600 + offset)
            arrays = [s.copy() for s in state]
            arrays[place] = memory[:600].reshape(100, 6)
            arrays[place][:] = state[place]
            assert np.array_equal(kernel(*arrays, out=memory[offset:].reshape(100, 6)), wanted)
            memory = np.zeros(6 + offset)
            rows = [s[7].copy() for s in state]
            rows[place] = memory[:6]
            rows[place][:] = state[place][7]
            assert relative(one(*rows, out=memory[offset:]), wanted[7]) < 1e-12


def test_outputs_that_overlap_one_another(path):
    g = Graph()
    x, y = g.variables("x", 2)
    program = Program("two", g, (Port("x", (2,)),), (Port("a", (2,)), Port("b", (2,))), (x, y, y, x))
    kernel, one, memory = BatchKernel(program), compile_function(program), np.zeros(30)
    for f, given, shape in ((kernel, np.ones((5, 2)), (5, 2)), (one, np.ones(2), (2,))):
        size = int(np.prod(shape))
        with pytest.raises(ShapeError, match="overlap each other"):
            f(given, out=[memory[:size].reshape(shape), memory[1 : size + 1].reshape(shape)])
        for out in (np.zeros((3, *shape)), [memory[:size].reshape(shape)], 5, "ab"):
            with pytest.raises(ShapeError, match="out must be"):
                f(given, out=out)
        f(given, out=[memory[:size].reshape(shape), memory[size : 2 * size].reshape(shape)])


def test_arrays_of_every_kind(path):
    """A batch takes whatever stands for real numbers, and says a sentence about anything else."""
    robot = ROBOTS["puma560"]
    kernel, state = BatchKernel(torque_program(robot)), states(robot, 4)
    wanted = kernel(*state)
    q = state[0]
    odd = np.frombuffer(b" " + q.tobytes(), np.uint8)[1:].view(float).reshape(q.shape)  # not at a multiple of 8 bytes
    kinds = q.astype(">f8"), q.view(np.matrix), np.asfortranarray(q), np.repeat(q, 2, axis=1)[:, ::2], q.astype("g")
    for same in (q.tolist(), odd, *kinds):
        assert np.array_equal(kernel(same, *state[1:]), wanted)
    assert kernel(*(np.zeros((0, 6)) for _ in state)).shape == (0, 6)
    assert np.isnan(kernel(q * np.nan, *state[1:])).any()
    for wrong in (None, 5, "abc", q * 1j, q.astype(object), q.T, q[:, :5], q[None], np.float64(1), {}, [[1] * 6, [1]]):
        with pytest.raises(ShapeError):
            kernel(wrong, *state[1:])
    fixed = np.zeros((4, 6))
    fixed.flags.writeable = False
    for out in (fixed, np.zeros((6, 4)), np.zeros(24), np.zeros((4, 6), "f4"), np.zeros((4, 12))[:, ::2], [1.0], "a"):
        with pytest.raises(ShapeError, match="out must be"):
            kernel(*state, out=out)


def test_a_program_without_anything_to_compute(path):
    g = Graph()
    program = Program("constants", g, (Port("x", (2,)),), (Port("y", (3,)),), (0.0, 1.0, 0.0))
    assert np.array_equal(BatchKernel(program)(np.zeros((5, 2))), np.tile([0.0, 1.0, 0.0], (5, 1)))
    assert np.array_equal(compile_function(program)(np.zeros(2)), [0, 1, 0])


@pytest.mark.skipif(build.native() is None, reason="no extension module")
def test_python_and_c_agree_on_the_layout_of_a_task():
    assert ctypes.sizeof(Task) == build.native().TASK_SIZE


def test_slots_are_few():
    plan = schedule(regressor_program(ROBOTS["puma560"], ROBOTS["puma560"].columns()))
    assert plan.slots.count < len(plan.entries) + 100
    assert plan.slots.code[:, 1].max() < plan.slots.count


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no longer floats to compare with")
def test_sine_and_cosine_are_within_two_ulp(path):
    """Everywhere up to 1e5, and at the numbers nearest to multiples of a right angle, where a reduction loses most."""
    g = Graph()
    (x,) = g.variables("x", 1)
    kernel = BatchKernel(Program("sincos", g, (Port("x", (1,)),), (Port("y", (2,)),), (x.sin(), x.cos())))
    rng = np.random.default_rng(0)
    k = np.arange(1, 63_662)
    right_angles = (k * (np.longdouble("1.57079632679489661923132169163975144"))).astype(float)
    spread = np.concatenate(
        [rng.uniform(-1e5, 1e5, 200_000), rng.normal(size=100_000), 10 ** rng.uniform(-300, 5, 1000)]
    )
    for angles, ulps in ((spread, 2.0), (right_angles, 2.0 if np.finfo(np.longdouble).nmant > 100 else 1e6)):
        found = kernel(angles[:, None])
        for column, exact in zip(found.T, (np.sin, np.cos), strict=True):
            wanted = exact(angles.astype(np.longdouble))
            error = np.abs(column - wanted) / np.spacing(np.abs(wanted).astype(float))
            assert error.max() < ulps


def test_sine_and_cosine_are_within_two_ulp_next_to_right_angles(path):
    """At the numbers nearest to them a reduction has nothing left but the last parts of pi/2."""
    mpmath = pytest.importorskip("mpmath")
    g = Graph()
    (x,) = g.variables("x", 1)
    kernel = BatchKernel(Program("sincos", g, (Port("x", (1,)),), (Port("y", (2,)),), (x.sin(), x.cos())))
    with mpmath.workprec(200):
        turns = [*range(1, 400), *range(1000, 127_000, 251)]
        angles = np.array([float(k * mpmath.pi / 2) for k in turns])
        angles = np.concatenate([angles, -np.nextafter(angles, 0)])
        found = kernel(angles[:, None])
        for column, exact in zip(found.T, (mpmath.sin, mpmath.cos), strict=True):
            for angle, value in zip(angles, column, strict=True):
                wanted = exact(mpmath.mpf(float(angle)))
                assert abs(mpmath.mpf(float(value)) - wanted) < 2 * np.spacing(abs(float(wanted)))


@pytest.mark.parametrize("sizes", [(1, 2, 3), (4, 5, 7), (6, 8, 9, 11)])
def test_entries_of_inputs_in_any_choice(path, sizes):
    """Entries are loaded by fours and twos: alone, with those beside it, and what is left of a row; rows by twos."""
    rng, g = np.random.default_rng(sum(sizes)), Graph()
    ports = [Port(f"x{k}", (size,)) for k, size in enumerate(sizes)]
    variables = [g.variables(port.name, port.size) for port in ports]
    chosen = [(k, e) for k, size in enumerate(sizes) for e in range(size) if e == size - 1 or rng.random() < 0.6]
    rng.shuffle(chosen)
    outputs = tuple(variables[k][e] * 2.0 + variables[0][0] for k, e in chosen)
    kernel = BatchKernel(Program("pick", g, tuple(ports), (Port("y", (len(chosen),)),), outputs))
    for count in (1, 9, 130):
        arrays = [rng.normal(size=(count, size)) for size in sizes]
        wanted = np.stack([arrays[k][:, e] * 2.0 + arrays[0][:, 0] for k, e in chosen], axis=1)
        assert np.array_equal(kernel(*arrays), wanted)


@pytest.mark.parametrize("sizes", [(5, 6), (7, 8), (1, 9, 40)])
def test_rows_are_written_to_their_end_and_no_further(path, sizes):
    """Rows of 5 to 8 entries are written in one piece each, others by pairs: the memory behind them stays as it is."""
    g, rng = Graph(), np.random.default_rng(sum(sizes))
    x = g.variables("x", 2)
    ports = tuple(Port(f"y{k}", (size,)) for k, size in enumerate(sizes))
    factors = [rng.normal(size=size) for size in sizes]
    kernel = BatchKernel(
        Program("rows", g, (Port("x", (2,)),), ports, tuple(x[0] * f + x[1] for own in factors for f in own))
    )
    for count in (8, 9, 39, 64, 130):
        values = rng.normal(size=(count, 2))
        held = [np.full((count + 3, size), 77.0) for size in sizes]
        kernel(values, out=tuple(room[1 : count + 1] for room in held))
        for own, room in zip(factors, held, strict=True):
            assert relative(room[1 : count + 1], values[:, :1] * own + values[:, 1:]) < 1e-15
            assert (room[0] == 77.0).all() and (room[count + 1 :] == 77.0).all()
