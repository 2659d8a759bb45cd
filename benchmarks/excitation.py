"""The search for exciting motions against SciPy's SLSQP with finite differences over a loop of Pinocchio's regressor.

Same family (Fourier series, 5 harmonics, 10 s, not at rest at the ends), same 200 samples, same limits (2 rad, 1.5
rad/s, 4 rad/s2), same criterion (-log det of the information matrix), same starts, one BLAS thread for both.
The goal of a search stands beside those whose optimum is at least as good.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pinocchio as pin
from scipy.linalg import cholesky
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, compare
from minertia import read_robot
from minertia.base.derive import base_parameters
from minertia.excitation.check import Checker
from minertia.excitation.criteria import log_det
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import motion_limits
from minertia.excitation.model import RegressorModel
from minertia.excitation.objective import MotionProblem, Objective
from minertia.excitation.optimise import Search
from minertia.excitation.options import Workspace
from minertia.excitation.posture import feasible_posture

GOALS = {"puma560": 8.0, "panda": 25.0}  # of the search
COST_GOAL, SEARCHES = 300.0, 2
LIMITS = {"position": 2.0, "beyond_file": True, "velocity": 1.5, "acceleration": 4.0, "effort": False}
SAMPLES, EVERY = 200, 4  # the baseline's limits stand at every fourth sample
PIN_ORDER = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]  # m, mc, Ixx Ixy Iyy Ixz Iyz Izz of theirs as XX XY XZ YY YZ ZZ MX MY MZ M


class Pinocchio:
    """-log det by a loop over samples."""

    def __init__(self, robot, base, objective):
        self.objective, self.n = objective, robot.n
        model, parent = pin.Model(), 0
        for joint in robot.numeric.joints:
            placement = pin.SE3(np.array(joint.R, float), np.array(joint.p, float))
            parent = model.addJoint(parent, pin.JointModelRZ(), placement, joint.name)
        model.gravity.linear = np.array(robot.gravity)
        self.model, self.data = model, model.createData()
        all_columns = [10 * (c // 10) + PIN_ORDER[c % 10] for c in range(10 * robot.n)]
        self.columns = [all_columns[robot.columns().index(name)] for name in base.kept]

    def cost(self, y):
        q, qd, qdd = self.objective.motion(self.objective.coefficients(y))
        Y = np.empty((len(q) * self.n, len(self.columns)))
        for k in range(len(q)):
            rows = pin.computeJointTorqueRegressor(self.model, self.data, q[k], qd[k], qdd[k])
            Y[k * self.n : (k + 1) * self.n] = rows[:, self.columns]
        return -2 * np.log(np.diag(cholesky(Y.T @ Y, check_finite=False))).sum()

    def gradient(self, y, h=1e-6):
        first, g = self.cost(y), np.empty(len(y))
        for i in range(len(y)):
            moved = y.copy()
            moved[i] += h
            g[i] = (self.cost(moved) - first) / h
        return g

    def search(self, y):
        o = self.objective
        picked = np.arange(0, SAMPLES, EVERY)
        rows = np.concatenate([picked + k * SAMPLES for k in range(3)])
        blocks = [(o.functions @ o.scale[j])[rows] / np.repeat(o.sizes[:, j], len(picked))[:, None] for j in range(o.n)]
        A = np.zeros((o.n * len(rows), len(y)))
        m = blocks[0].shape[1]
        for j, block in enumerate(blocks):
            A[j * len(rows) : (j + 1) * len(rows), j * m : (j + 1) * m] = block
        limits = [
            {"type": "ineq", "fun": lambda y: 1 - A @ y, "jac": lambda y: -A},
            {"type": "ineq", "fun": lambda y: 1 + A @ y, "jac": lambda y: A},
        ]
        return minimize(self.cost, y, method="SLSQP", constraints=limits, options={"maxiter": 40, "ftol": 1e-6})


def setting(name):
    robot = read_robot(name)
    base = base_parameters(robot)
    limits = motion_limits(robot, workspace=Workspace(floor=None, self_collision=False), **LIMITS)
    model = RegressorModel(robot, base.kept)
    problem = MotionProblem(Fourier(10.0, 5, rest=False), limits.middle, limits, model, SAMPLES)
    return robot, base, limits, problem


def rows() -> Iterator[Row]:
    with threadpool_limits(1):
        for name, goal in GOALS.items():
            yield from _rows(name, goal)
            yield _with_space(name)


def _rows(name: str, goal: float, seed: int = 3) -> Iterator[Row]:
    robot, base, limits, problem = setting(name)
    objective = Objective(problem)
    y = np.random.default_rng(seed).normal(size=robot.n * problem.family.free)
    y *= 0.7 / objective.use(y)
    theirs = Pinocchio(robot, base, objective)
    assert abs(theirs.cost(y) - objective(y, log_det, 0.0, 0)[0]) < 1e-6
    exact = cost_and_gradient(objective, y)[1]
    assert np.allclose(theirs.gradient(y), exact, rtol=1e-3, atol=1e-3 * np.abs(exact).max())
    peer = "finite differences over a loop of Pinocchio"
    what = f"{base.count} parameters, {len(y)} unknowns, kernels {problem.model.forward.path}"
    calls = 40

    def ours() -> None:
        for _ in range(calls):
            cost_and_gradient(objective, y)

    def other() -> None:
        theirs.cost(y)

    # one cost for the value, one for each unknown and one at the point itself
    yield compare(
        f"excitation, cost and gradient, {name}", (ours, calls), (other, 1 / (len(y) + 2)), peer, COST_GOAL, what
    )
    slow, found = [], None
    for _ in range(SEARCHES):
        start = time.thread_time()
        found = theirs.search(y)
        slow.append(time.thread_time() - start)
    assert found is not None
    use, value = feasible_value(objective, found.x)
    text = f"-log det {found.fun:.2f} with {use:.3f} of the limits, {value:.2f} once within them"
    for starts in (1, 4):
        fast = []
        for _ in range(3):
            start = time.thread_time()
            own = searched(problem, base, limits, y, starts)
            fast.append(time.thread_time() - start)
        note = f"{own.value:.2f} within them; SLSQP: {text}"
        row_goal = goal if own.value <= value else None
        yield Row(
            f"excitation, search with {starts} start(s), {name}",
            float(np.median(fast)), float(np.median(slow)), f"SLSQP with {peer}", row_goal, None, note,
        )  # fmt: skip


def _with_space(name: str) -> Row:
    """The same search above the base plane and with the links kept apart, beside the one without."""
    robot, base, limits, problem = setting(name)
    kept = motion_limits(robot, **LIMITS)
    at = feasible_posture(Checker(kept, base, None), None, 0)
    settings = [replace(problem, offset=at, limits=own) for own in (limits, kept)]
    times: list[list[float]] = [[], []]
    values = [0.0, 0.0]
    for _ in range(5):
        for k, own in enumerate(settings):
            start = time.thread_time()
            values[k] = Search(Objective(own), log_det, Checker(own.limits, base, None)).run(1, 0).value
            times[k].append(time.thread_time() - start)
    note = f"-log det {values[1]:.2f} instead of {values[0]:.2f}"
    without, kept_apart = (float(np.median(t[1:])) for t in times)  # the first one builds kernels
    return Row(
        f"excitation, search with floor and self collision, {name}", kept_apart, without, "without", None, None, note
    )


def cost_and_gradient(objective, y):
    """The criterion alone, as the other one: no walls."""
    state = objective.motion(objective.coefficients(y), out=objective.problem.model.state(SAMPLES))
    value, slopes = objective.criterion_and_slopes(state, log_det, 0.0, 0)
    return value, objective._gradient(slopes, objective.functions)


def feasible_value(objective, y):
    """Largest use of a limit on the fine grid, and the criterion once the motion is scaled back into the limits."""
    problem = objective.problem
    motion = problem.family.from_free(problem.offset, objective.coefficients(y))
    use = Checker(problem.limits, base_parameters(read_robot("planar2r")), None).motion(motion, 10 * SAMPLES + 1).worst
    return use, cost_and_gradient(objective, y / max(use, 1.0))[0]


def searched(problem, base, limits, y, starts):
    search = Search(Objective(problem), log_det, Checker(limits, base, None))
    own = search._first
    search._first = lambda seed: iter([y]) if seed == 0 else own(seed)  # the first start is that of the other one
    return search.run(starts, 0)
