"""Least squares inside the kernel: the same as with the whole matrix, as accurate as QR, in constant memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from minertia.base.derive import base_parameters
from minertia.codegen.kernels import least_squares
from minertia.codegen.kernels.kernel import regressor_program
from minertia.codegen.kernels.least_squares import LeastSquaresKernel, scaled_condition
from minertia.codegen.kernels.task import MatrixPattern
from minertia.dynamics.model import torque_regressor
from minertia.io.errors import RankError, ShapeError
from minertia.robot.files import read_robot
from tests.codegen.kernel_helpers import PATHS, relative, robots_of_every_kind, states

ROBOTS = robots_of_every_kind()
KERNELS: dict[tuple[str, str], LeastSquaresKernel] = {}  # made before


@pytest.fixture(params=PATHS)
def path(request, monkeypatch) -> str:
    monkeypatch.setenv("MINERTIA_KERNELS", request.param)
    return request.param


def base_kernel(robot) -> tuple[LeastSquaresKernel, np.ndarray]:
    base = base_parameters(robot, rotors=True, friction=True)
    truth = np.random.default_rng(0).uniform(0.5, 2.0, base.count)
    return LeastSquaresKernel.of(robot, base.kept), truth


def rigid_kernel(name: str, path: str) -> LeastSquaresKernel:
    """Of the links alone, on the path that the environment names."""
    if (name, path) not in KERNELS:
        robot = read_robot(name)
        KERNELS[name, path] = LeastSquaresKernel.of(robot, base_parameters(robot).kept)
    return KERNELS[name, path]


def matrix(kernel, state) -> np.ndarray:
    return kernel.kernel(*state).reshape(-1, len(kernel.columns))


@pytest.mark.parametrize(
    "name", ["puma560", *(pytest.param(n, marks=pytest.mark.slow) for n in ("tree", "floating", "follower"))]
)
@pytest.mark.parametrize("count", [0, pytest.param(1, marks=pytest.mark.slow), 65, 1500])
def test_sums_are_those_of_the_whole_matrix(path, name, count):
    kernel, theta = base_kernel(ROBOTS[name])
    assert kernel.path == path
    state = states(ROBOTS[name], count)
    Y = matrix(kernel, state)
    rng = np.random.default_rng(1)
    tau = rng.normal(size=(count, kernel.pattern.rows))
    A = np.column_stack([Y, tau.ravel()])
    assert relative(kernel.accumulate(*state, tau=tau).matrix, A.T @ A) < 1e-13
    left = kernel.residual(*state, tau=tau, theta=theta)
    rho = tau.ravel() - Y @ theta
    assert relative(left.gradient, Y.T @ rho) < 1e-12
    assert relative(left.squares, (rho.reshape(tau.shape) ** 2).sum(axis=0)) < 1e-12
    T = np.triu(rng.normal(size=(len(theta),) * 2)) + 5 * np.eye(len(theta))
    Z = np.column_stack([Y @ np.linalg.inv(T), tau.ravel()])
    assert relative(kernel.accumulate(*state, tau=tau, triangle=T).matrix, Z.T @ Z) < 1e-11


@pytest.mark.parametrize("name", ["puma560", pytest.param("tree", marks=pytest.mark.slow)])
def test_bound_with_the_sum_and_the_entries(path, name):
    """One call leaves the entries as they are and returns the sum with scaled rows, again and again."""
    kernel = base_kernel(ROBOTS[name])[0].kernel
    pattern = kernel.pattern
    state = [np.array(x) for x in states(ROBOTS[name], 77)]
    entries, scale = np.empty((77, len(pattern.positions))), np.ones(pattern.rows)
    call = kernel.bound_with_gram(state, entries, scale)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        scale[:] = rng.uniform(0.5, 2.0, pattern.rows)
        for x in state:
            x[:] = rng.normal(size=x.shape)
        Y = kernel(*state)
        W = (Y * scale[:, None]).reshape(-1, pattern.columns)
        assert relative(call(), W.T @ W) < 1e-13
        assert relative(entries, Y.reshape(77, -1)[:, pattern.positions]) < 1e-15
    with pytest.raises(ShapeError, match="writeable"):
        kernel.bound_with_gram(state, entries[:, :-1], scale)


def test_weights_of_joints_and_of_rows(path):
    kernel, theta = base_kernel(ROBOTS["puma560"])
    state = states(ROBOTS["puma560"], 777)
    Y = matrix(kernel, state).reshape(777, 6, -1)
    rng = np.random.default_rng(1)
    tau = rng.normal(size=(777, 6))
    for weights in (rng.uniform(0.1, 3, 6), rng.uniform(0.1, 3, (777, 6))):
        scale = np.broadcast_to(weights, (777, 6))
        A = np.concatenate([Y, tau[:, :, None]], axis=2) * scale[:, :, None]
        A = A.reshape(777 * 6, -1)
        assert relative(kernel.accumulate(*state, tau=tau, weights=weights).matrix, A.T @ A) < 1e-13
        left = kernel.residual(*state, tau=tau, theta=theta, weights=weights)
        rho = A[:, -1] - A[:, :-1] @ theta
        assert relative(left.gradient, A[:, :-1].T @ rho) < 1e-12
        assert relative(left.squares, (rho.reshape(777, 6) ** 2).sum(axis=0)) < 1e-12


def test_rows_of_weight_zero_are_left_out_even_with_nan(path):
    kernel, truth = base_kernel(ROBOTS["puma560"])
    q, qd, qdd = states(ROBOTS["puma560"], 500)
    tau = (matrix(kernel, (q, qd, qdd)) @ truth).reshape(500, 6)
    weights = np.ones((500, 6))
    q[100], tau[200, 3] = np.nan, np.nan
    weights[100], weights[200, 3] = 0, 0
    found = kernel.solve(q, qd, qdd, tau=tau, weights=weights)
    assert relative(found.theta, truth) < 1e-11
    with pytest.raises(RankError, match="give such rows the weight 0"):
        kernel.solve(q, qd, qdd, tau=tau)


def test_threads_do_not_change_a_bit(path):
    kernel, truth = base_kernel(ROBOTS["puma560"])
    state = states(ROBOTS["puma560"], 20_000)
    tau = np.random.default_rng(1).normal(size=(20_000, 6))
    T = np.eye(len(truth))
    for triangle in (None, T):
        one, two = (kernel.accumulate(*state, tau=tau, threads=t, triangle=triangle) for t in (1, 2))
        assert np.array_equal(one.matrix, two.matrix)
    one, two = (kernel.residual(*state, tau=tau, theta=truth, threads=t) for t in (1, 2))
    assert np.array_equal(one.gradient, two.gradient) and np.array_equal(one.squares, two.squares)


def test_data_can_be_appended(path):
    kernel, truth = base_kernel(ROBOTS["puma560"])
    state = states(ROBOTS["puma560"], 3000)
    tau = (matrix(kernel, state) @ truth).reshape(-1, 6)
    first = kernel.accumulate(*(s[:1000] for s in state), tau=tau[:1000])
    second = kernel.accumulate(*(s[1000:] for s in state), tau=tau[1000:])
    both = first + second
    assert both.n_rows == 18_000
    assert relative(both.matrix, kernel.accumulate(*state, tau=tau).matrix) < 1e-14
    A = np.column_stack([matrix(kernel, state), tau.ravel()])
    R = np.linalg.qr(A, mode="r")
    p = len(truth)
    assert relative(np.abs(np.diag(both.factor())), np.abs(np.diag(R)[:p])) < 1e-9
    assert relative(both.solve(), truth) < 1e-9
    with pytest.raises(ShapeError, match="same triangular part"):
        first + kernel.accumulate(*state, tau=tau, triangle=np.eye(p))


def harmonic_motion(n: int, amplitude: float, seed: int, count: int = 20_000):
    """Sums of five harmonics; a small amplitude makes the parameters hard to tell apart."""
    rng = np.random.default_rng(seed)
    t = np.arange(count)[:, None, None] * 1e-3
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    a, b = amplitude * rng.normal(size=(2, 1, n, 5)) / np.arange(1, 6)
    s, c = np.sin(w * t), np.cos(w * t)
    return (
        (a * s - b * c).sum(-1),
        ((a * c + b * s) * w).sum(-1),
        ((b * c - a * s) * w * w).sum(-1),
    )


@pytest.mark.parametrize("name", ["puma560", pytest.param("panda", marks=pytest.mark.slow)])
@pytest.mark.parametrize("amplitude", [1.0, 0.1, 0.01, 0.003])
def test_as_accurate_as_qr(path, name, amplitude):
    robot = read_robot(name)
    kernel = rigid_kernel(name, path)
    p = len(kernel.columns)
    truth = np.random.default_rng(0).uniform(0.5, 2.0, p)
    state = harmonic_motion(robot.n, amplitude, seed=1, count=4_000)
    Y = matrix(kernel, state)
    tau = (Y @ truth).reshape(-1, robot.n)
    R = np.linalg.qr(np.column_stack([Y, tau.ravel()]), mode="r")
    qr_error = np.linalg.norm(np.linalg.solve(R[:p, :p], R[:p, p]) - truth)
    found = kernel.solve(*state, tau=tau, threads=2)
    assert np.linalg.norm(found.theta - truth) <= 2 * qr_error + 1e-14
    assert found.condition == pytest.approx(scaled_condition(R[:p, :p]), rel=1e-2)
    if amplitude == 0.003:
        assert 1e8 < np.linalg.cond(R[:p, :p]) < 1e10
    assert found.method == ("preconditioned" if found.condition > least_squares.SWITCH else "normal equations")


@pytest.mark.parametrize(("amplitude", "triangles", "passes"), [(1.0, 0, 2), (0.001, 1, 1)])
def test_a_sample_of_long_data_says_once_what_to_do(monkeypatch, amplitude, triangles, passes):
    """Easy motions need no triangle at all, hard ones a single one and no normal equations without it."""
    monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")
    monkeypatch.setattr(least_squares, "MANY_SAMPLES", 3000)
    robot = read_robot("puma560")
    kernel = LeastSquaresKernel.of(robot, base_parameters(robot).kept)
    state = harmonic_motion(robot.n, amplitude, seed=1, count=4000)
    tau = (matrix(kernel, state) @ np.ones(len(kernel.columns))).reshape(-1, robot.n)
    taken, summed = [], []
    triangle_of, sums = LeastSquaresKernel._triangle_of, LeastSquaresKernel._sums
    monkeypatch.setattr(LeastSquaresKernel, "_triangle_of", lambda *a: taken.append(1) or triangle_of(*a))
    monkeypatch.setattr(LeastSquaresKernel, "_sums", lambda *a: summed.append(a[3]) or sums(*a))
    weights = np.full((4000, robot.n), 2.0)
    found = kernel.solve(*state, tau=tau, weights=weights)
    assert relative(found.theta, np.ones(len(kernel.columns))) < 1e-3
    assert len(taken) == triangles
    assert sum(T is None for T in summed) == passes
    assert found.method == ("preconditioned" if triangles else "normal equations")


@pytest.mark.parametrize("noise", [0.0, pytest.param(1e-3, marks=pytest.mark.slow), 1.0])
@pytest.mark.parametrize(
    "amplitude", [1.0, pytest.param(0.1, marks=pytest.mark.slow), 0.01, pytest.param(0.003, marks=pytest.mark.slow)]
)
def test_long_data_take_one_pass_where_it_loses_no_more_than_two(path, monkeypatch, amplitude, noise):
    """Against the solution refined with residuals of more digits, where numbers have them."""
    robot = read_robot("puma560")
    kernel = rigid_kernel("puma560", path)
    state = harmonic_motion(robot.n, amplitude, seed=1, count=4000)
    Y = matrix(kernel, state)
    scale = np.linalg.norm(Y, axis=0)
    clean = Y @ (1 / scale)
    tau = clean + noise * np.linalg.norm(clean) / np.sqrt(len(clean)) * np.random.default_rng(0).normal(size=len(clean))
    by_qr = wanted = np.linalg.lstsq(Y / scale, tau, rcond=None)[0]
    for _ in range(3):
        left = (tau - (Y / scale).astype(np.longdouble) @ wanted.astype(np.longdouble)).astype(float)
        wanted = wanted + np.linalg.lstsq(Y / scale, left, rcond=None)[0]
    by_two = kernel.solve(*state, tau=tau.reshape(-1, robot.n)).theta * scale
    passes = []
    residual = LeastSquaresKernel.residual
    monkeypatch.setattr(LeastSquaresKernel, "residual", lambda *a, **k: passes.append(1) or residual(*a, **k))
    monkeypatch.setattr(least_squares, "MANY_SAMPLES", 3000)
    found = kernel.solve(*state, tau=tau.reshape(-1, robot.n))
    one, two, qr = (np.linalg.norm(x - wanted) for x in (found.theta * scale, by_two, by_qr))
    rho, c = tau - Y @ found.theta, found.condition
    bound = np.finfo(float).eps * (c * np.linalg.norm(wanted) + c**2 * np.linalg.norm(rho))  # that of QR
    assert one <= max(4 * two, 4 * qr, bound)
    assert not passes or amplitude < 1
    assert passes or noise < 1 or amplitude == 1  # noise makes a sample's solution a distant one
    assert found.squares.sum() == pytest.approx(rho @ rho, rel=1e-6, abs=1e-20 * (tau @ tau))
    plain = kernel.accumulate(*state, tau=tau.reshape(-1, robot.n), triangle=found.gram.triangle)
    assert relative(found.gram.matrix, plain.matrix) < 1e-9


@pytest.mark.parametrize("name", ["puma560", pytest.param("panda", marks=pytest.mark.slow)])
def test_noise_at_a_high_condition_number_as_with_qr(path, name):
    robot = read_robot(name)
    kernel = rigid_kernel(name, path)
    state = harmonic_motion(robot.n, 0.01, seed=2, count=4000)
    Y = matrix(kernel, state)
    tau = (Y @ np.ones(len(kernel.columns))).reshape(-1, robot.n) + np.random.default_rng(0).normal(
        size=(4000, robot.n)
    )
    Q, R = np.linalg.qr(Y)
    wanted = np.linalg.solve(R, Q.T @ tau.ravel())
    found = kernel.solve(*state, tau=tau)
    rho = tau.ravel() - Y @ found.theta
    assert np.linalg.norm(found.theta - wanted) < 1e-8 * np.linalg.norm(wanted)
    assert found.squares.sum() == pytest.approx(rho @ rho, rel=1e-9)


def test_motions_that_say_nothing_are_refused(path):
    robot = ROBOTS["puma560"]
    kernel, truth = base_kernel(robot)
    q = np.ones((400, 6))
    rest = np.zeros((400, 6))
    with pytest.raises(RankError, match="never excites"):
        kernel.solve(q, rest, rest, tau=rest)
    q, qd, qdd = states(robot, 400)
    with pytest.raises(RankError):
        kernel.solve(q[:2], qd[:2], qdd[:2], tau=rest[:2])
    with pytest.raises(RankError):  # every column moves, and all say the same
        kernel.solve(*(np.repeat(x[:1], 400, axis=0) for x in (q, qd, qdd)), tau=rest)
    if path == "compiled":
        return  # another kernel takes seconds
    standard = LeastSquaresKernel.of(robot, [c for c in robot.columns() if c not in ("XX1", "XY1", "M1")])
    with pytest.raises(RankError):
        standard.solve(q, qd, qdd, tau=rest)


def test_shapes_are_checked(path):
    robot = ROBOTS["puma560"]
    kernel, theta = base_kernel(robot)
    state = states(robot, 10)
    with pytest.raises(ShapeError, match=r"tau has shape \(9, 6\)"):
        kernel.accumulate(*state, tau=np.zeros((9, 6)))
    with pytest.raises(ShapeError, match="weights has shape"):
        kernel.accumulate(*state, tau=np.zeros((10, 6)), weights=np.ones(5))
    with pytest.raises(ShapeError, match="theta has shape"):
        kernel.residual(*state, tau=np.zeros((10, 6)), theta=theta[1:])
    with pytest.raises(ShapeError, match="no single output"):
        LeastSquaresKernel(regressor_program(robot, robot.columns()), ["XX1"])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_samples(path):
    """Each thread has a block of its own; whether two are at work at the same moment is chance."""
    kernel, truth = base_kernel(ROBOTS["puma560"])
    few, many = (8_000, 24_000) if path == "numpy" else (300_000, 1_200_000)
    peaks = []
    for count, threads in ((few, 1), (many, 1), (many, 2)):
        state = [np.zeros((count, 6)) + 0.5 for _ in range(3)]
        tau = np.zeros((count, 6))
        tracemalloc.start()
        kernel.accumulate(*state, tau=tau, threads=threads)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000
    assert peaks[2] < 2 * peaks[0] + 500_000
    assert max(peaks) < 50e6


def test_the_matrix_is_that_of_the_dynamics():
    robot = ROBOTS["puma560"]
    kernel, _ = base_kernel(robot)
    state = states(robot, 20)
    wanted = torque_regressor(robot, *state, columns=kernel.columns)
    assert relative(matrix(kernel, state).reshape(wanted.shape), wanted) < 1e-12


def test_no_product_of_what_preconditioned_columns_are_padded_with():
    pattern = MatrixPattern(2, 4, np.arange(8, dtype=np.int32))
    assert pattern.z_columns == 8  # five with tau
    pairs = {tuple(sorted(pair)) for pair in pattern.z_tiles.pairs.tolist()}
    assert pairs == {(i, j) for j in range(5) for i in range(j + 1)}
    assert len(pattern.z_tiles.pairs) == len(pairs)
