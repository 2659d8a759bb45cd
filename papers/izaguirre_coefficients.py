"""Izaguirre et al. 1992: coefficients by momentum in classic frames, velocity torques in two ways, tasks, times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.codegen import robots

from minertia.algebra.expr import Expr, Graph, count_operations
from minertia.algebra.expr import evaluate as run_graph
from minertia.algebra.polynomial import evaluate
from minertia.algebra.scalar import Scalar, cos, sin
from minertia.algebra.vec3 import ZERO, Mat, apply, cross, dot, scale, transpose, vadd
from minertia.codegen.compiled import compile, program
from minertia.codegen.generate import count_programs
from minertia.codegen.options import CodeModel
from minertia.dynamics import compound, newton_euler
from minertia.dynamics.model import gravity_torques, mass_matrix
from minertia.robot.files import read_robot
from minertia.robot.formats.dh.write import khalil_row
from minertia.robot.inertia import symmetric, transport
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from papers.page import Page, below_limit, of_graph, of_program, operations

Array = NDArray[np.float64]
STATES = 20
SIZES = (2, 4, 6, 8, 10)

# ---------------------------------------------------------------------- D_ij and D_i, (2) to (14)


def classic_rows(robot: Robot) -> list[tuple[float, float, float, float]]:
    """Classic Denavit-Hartenberg rows (theta offset, d, a, alpha) of a robot with modified ones, joint by joint."""
    found = []
    for joint in robot.numeric.joints:
        row = khalil_row((joint.R, joint.p))
        assert row is not None
        found.append({key: float(evaluate(value, {})) for key, value in row.items()})
    after = [*found[1:], {"alpha": 0.0, "d": 0.0}]
    assert found[0]["alpha"] == found[0]["d"] == 0, "the first axis is not that of the base frame"
    return [(row["theta"], row["r"], nxt["d"], nxt["alpha"]) for row, nxt in zip(found, after, strict=True)]


def classic_links(robot: Robot) -> list[Array]:
    """Ten parameters of each link in its classic frame, which lies at the next joint."""
    found = []
    for ten, (_, _, a, alpha) in zip(robot.links, classic_rows(robot), strict=True):
        c, s = math.cos(alpha), math.sin(alpha)
        R = ((1.0, 0.0, 0.0), (0.0, c, s), (0.0, -s, c))  # of the modified frame in the classic one
        moved = transport(dict(zip(LINK_SYMBOLS, ten or (), strict=True)), (R, (-a, 0.0, 0.0)))
        found.append(np.array([float(moved[symbol]) for symbol in LINK_SYMBOLS]))
    return found


def by_momentum(robot: Robot, q: Array) -> tuple[Array, Array]:
    """D_ij by (9) and D_i by (5), from compound links by the recursions of section 4.5; frame j carries joint j + 1."""
    rows, links, n = classic_rows(robot), classic_links(robot), robot.n
    R, p = [np.eye(3)], [np.zeros(3)]
    turning = [joint.kind == "revolute" for joint in robot.joints]
    for (theta, d, a, alpha), x, turns in zip(rows, q, turning, strict=True):
        theta, d = (theta + x, d) if turns else (theta, d + x)
        c, s, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
        turn = np.array([[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0, sa, ca]])
        p.append(p[-1] + R[-1] @ np.array([a * c, a * s, d]))
        R.append(R[-1] @ turn)
    D, holding, gravity = np.zeros((n, n)), np.zeros(n), np.array(robot.gravity)
    mass, L, J = 0.0, np.zeros(3), np.zeros((3, 3))  # of the compound link, about the origin of frame j, in the base
    for j in reversed(range(n)):
        ten, turn, step = links[j], R[j + 1], p[j + 1] - p[j]
        own_L, own_J = turn @ ten[6:9], turn @ np.array(symmetric(ten[:6].tolist()), float) @ turn.T
        mass, L, J = mass + ten[9], L + own_L, J + own_J
        J = J + _steiner(step, L) + mass * (step @ step * np.eye(3) - np.outer(step, step))
        L = L + mass * step
        z = R[j][:, 2]
        linear, angular = (np.cross(z, L), J @ z) if turning[j] else (mass * z, np.cross(L, z))
        for i in range(j + 1):
            axis = R[i][:, 2]
            about = axis @ angular + np.cross(axis, p[j] - p[i]) @ linear
            D[i, j] = D[j, i] = about if turning[i] else axis @ linear
        holding[j] = -z @ (np.cross(L, gravity) if turning[j] else mass * gravity)
    return D, holding


def _steiner(p: Array, L: Array) -> Array:
    """What a first moment adds to the inertia when the origin is p further back."""
    return 2 * p @ L * np.eye(3) - np.outer(p, L) - np.outer(L, p)


def momentum_errors(name: str) -> tuple[float, float]:
    """Largest differences of D_ij and D_i to the product's, over the largest entry."""
    robot = replace(read_robot(name).numeric, effects=())
    q = np.random.default_rng(0).uniform(-3, 3, (STATES, robot.n))
    D, g = mass_matrix(robot, q, rotors=False), gravity_torques(robot, q)
    found = [by_momentum(robot, each) for each in q]
    return (
        float(max(np.abs(d - known).max() for (d, _), known in zip(found, D, strict=True)) / np.abs(D).max()),
        float(max(np.abs(h - known).max() for (_, h), known in zip(found, g, strict=True)) / np.abs(g).max()),
    )


def add_coefficients(page: Page) -> None:
    """The section on D_ij and D_i."""
    page.heading("Coefficients by conservation of momentum, (2) to (14)")
    page.text(
        "Section 4: the angular momentum about joint i that joint j gives to all mass beyond it. Integrated over the "
        "compound link j (link j and all beyond), D_ij = (z_i × p_ij) · (z_j × L_j) + z_i · I_j z_j, with L_j and I_j "
        "its first moment and inertia about the origin of frame j. The holding torque is D_i = - z_i · (L_i × g). The "
        "formulas are lost in the scan and follow from its text. The paper prints the case of two rotational joints; a "
        "slide has momentum M_j z_j and angular momentum L_j × z_j instead of z_j × L_j and I_j z_j. In classic "
        "Denavit-Hartenberg frames, as in the paper, the moments of a link are constant in the frame at the next "
        f"joint. Carried out on numbers by a separate program, at {STATES} random positions, against ours in modified "
        "frames:"
    )
    rows = []
    for name in ("puma260", "puma560", "stanford"):
        inertial, holding = momentum_errors(name)
        rows.append((name, below_limit(inertial, 1e-12), below_limit(holding, 1e-12)))
    page.table(("robot", "D_ij, largest difference", "D_i, largest difference"), rows)


# ---------------------------------------------------------------------- velocity torques: Christoffel symbols, or O(n)


def slopes_by(outputs: list[Any], variable: Expr) -> list[Any]:
    """Derivatives of expressions by one variable, each node of their graph once (forward mode)."""
    graph = variable.graph
    known: dict[int, Expr | float] = {variable.id: graph.constant(1.0)}

    def slope(a: int) -> Any:
        return known.get(a, 0)

    for node in graph.needed([o for o in outputs if isinstance(o, Expr)]):
        operation, *rest = graph.nodes[node]
        if node in known or operation in ("var", "const") or all(a not in known for a in rest):
            continue
        known[node] = _RULES[operation](slope, graph, *rest)
    return [0 if not isinstance(o, Expr) or o.id not in known else _signed(o, known[o.id]) for o in outputs]


def _signed(output: Expr, value: Any) -> Any:
    return -value if output.negative else value


def _of(graph: Graph, node: int) -> Expr:
    return Expr(graph, node, False)


_RULES: dict[str, Callable[..., Any]] = {
    "+": lambda s, g, a, b: s(a) + s(b),
    "-": lambda s, g, a, b: s(a) - s(b),
    "*": lambda s, g, a, b: s(a) * _of(g, b) + s(b) * _of(g, a),
    "neg": lambda s, g, a: -s(a),
    "sin": lambda s, g, a: s(a) * _of(g, a).cos(),
    "cos": lambda s, g, a: -(s(a) * _of(g, a).sin()),
}


def velocity_torques_by(way: str, n: int) -> list[Scalar]:
    """Velocity torques of a general chain of n joints on a graph: way "christoffel" or "recursion"."""
    robot = robots.general(n).numeric
    graph = Graph()
    q, qd = graph.variables("q", n), graph.variables("qd", n)
    chi = robot.parameters()
    if way == "recursion":
        return newton_euler.velocity_torques(robot, chi, q, qd)
    D = compound.mass_matrix(robot, chi, q)
    slopes = [slopes_by([entry for row in D for entry in row], each) for each in q]  # [k][i n + j]
    products = {(j, k): qd[j] * qd[k] for j in range(n) for k in range(j, n)}
    found = []
    for i in range(n):
        total: Any = 0
        for (j, k), product in products.items():
            twice = slopes[k][i * n + j] + slopes[j][i * n + k] - slopes[i][j * n + k]
            total = total + twice * (product * (0.5 if j == k else 1.0))
        found.append(total)
    return found


def velocity_count(way: str, n: int) -> tuple[int, int, int]:
    """Multiplications, additions, sines and cosines of velocity torques, equal terms shared."""
    found = count_operations([o for o in velocity_torques_by(way, n) if isinstance(o, Expr)])
    return of_graph(found)


def velocity_gap(n: int = 4) -> float:
    """Largest difference of the two ways at random states, over the largest torque."""
    x = np.random.default_rng(0).uniform(-2, 2, 2 * n)
    names = {f"{name}{k}": value for name, part in (("q", x[:n]), ("qd", x[n:])) for k, value in enumerate(part)}
    graphs = [velocity_torques_by(way, n) for way in ("christoffel", "recursion")]
    ours, theirs = (np.array(run_graph(each, _inputs(each, names)), float) for each in graphs)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def _inputs(outputs: list[Scalar], values: dict[str, float]) -> dict[str, float]:
    """Values by the names that the graph has given to its variables."""
    graph = next(o.graph for o in outputs if isinstance(o, Expr))
    names = [node[1] for node in graph.nodes if node[0] == "var"]
    return dict(zip(names, values.values(), strict=True))


def add_velocity(page: Page) -> None:
    """The section on the two ways to the velocity torques."""
    page.heading("Velocity torques: Christoffel symbols against the recursion")
    page.text(
        "Section 5 compares two ways: products of velocities with Christoffel symbols, which are slopes of D and take "
        "O(n³) operations, and Newton-Euler without gravity, which takes O(n). Both written out for general chains of "
        "n rotational joints, equal terms shared, and counted; S are sines and cosines:"
    )
    counts = {way: [velocity_count(way, n) for n in SIZES] for way in ("christoffel", "recursion")}
    rows = [
        (n, *(operations(counts[way][k]) for way in counts), f"{sum(a[:2]) / sum(b[:2]):.1f}")
        for k, (n, a, b) in enumerate(zip(SIZES, *counts.values(), strict=True))
    ]
    page.table(("n", "Christoffel symbols", "recursion", "ratio"), rows)
    powers = [math.log(sum(c[-1][:2]) / sum(c[-2][:2])) / math.log(SIZES[-1] / SIZES[-2]) for c in counts.values()]
    page.text(
        f"From n = {SIZES[-2]} to {SIZES[-1]} the first grows like n to the power {powers[0]:.1f} and the second like "
        f"n to the power {powers[1]:.1f} (a line with a negative constant). Both give the same torques, "
        f"{below_limit(velocity_gap(), 1e-12)}. The claim holds. Christoffel symbols also need D first, while the "
        "recursion does not, which is what lets the next two tasks run side by side."
    )


# ---------------------------------------------------------------------- tasks and times


def add_tasks(page: Page, robot: Robot) -> None:
    """The two background tasks."""
    page.heading("Two background tasks side by side")
    names = ("coefficients", "velocity_torque", "background_parts", "background")
    found = count_programs(robot, names, model=CodeModel("base", rotors=True, friction=False)).counts
    words = (
        "first task: D and g, from positions alone",
        "second task: velocity torques h, from positions and velocities",
        "both in one program",
        "one program that gives D and h + g",
    )
    rows = [(f"`{name}`", word, operations(of_program(found[name]))) for name, word in zip(names, words, strict=True)]
    page.table(("program", "task", "operations, all parameters"), rows)
    one, two = (found[name]["multiplications"] + found[name]["additions"] for name in names[:2])
    both = found["background_parts"]["multiplications"] + found["background_parts"]["additions"]
    page.text(
        "Neither task reads what the other writes, so two processors, or two tasks of different rates, may run them. "
        f"The longer of the two has {100 * max(one, two) / both:.0f} % of the operations of both in one program, where "
        "they share next to nothing."
    )


FASTER_RANK, FASTER_BACKGROUND = 100, 1000  # bounds that any processor of today passes


def rank_time(independent: Callable[[Robot], Any], robot: Robot) -> float:
    """Seconds of processor time for the 52 independent columns."""
    start = time.process_time()
    independent(robot)
    return time.process_time() - start


def background_time(robot: Robot, samples: int = 20000) -> float:
    """Seconds for one evaluation of the background task, compiled, one sample after the other of a batch."""
    run = compile(program(robot, "background", model=CodeModel("baked", rotors=True, friction=False)))
    q, qd = np.random.default_rng(0).uniform(-2, 2, (2, samples, robot.n))
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        run(q, qd)
        best = min(best, time.process_time() - start)
    return best / samples


def add_times(page: Page, independent: Callable[[Robot], Any], robot: Robot) -> None:
    """Published times and bounds of ours; the page shows no figure that hangs on the machine."""
    rank, background = rank_time(independent, robot), background_time(robot)
    page.heading("Times")
    ratios = _faster(15 * 60 / rank, FASTER_RANK), _faster(0.02 / background, FASTER_BACKGROUND)
    rows = [
        ("the independent columns (section 6.1)", "15 minutes of VAX processor time", ratios[0]),
        ("D, g and velocity torques (abstract)", "20 ms on an Intel 8087", ratios[1]),
    ]
    page.table(("", "published", "ours, measured while this page was written"), rows)
    page.text(
        "Seconds of a machine do not belong on a page that another machine must write alike, so the last column gives "
        "a bound that was checked when it was written."
    )


def _faster(ratio: float, bound: float) -> str:
    return f"more than {bound:g} times faster" if ratio > bound else f"{ratio:.2g} times faster"


# ---------------------------------------------------------------------- the counts of the review

REVIEW = (  # section 2: method, multiplications and additions, six joints in general
    ("Megahed 1984, Lagrange with coefficients", "1000M 700A", ""),
    ("Luh et al. 1980, Newton-Euler", "800M 600A", "luh"),
    ("Khalil et al. 1986, common terms regrouped", "540M 480A", "standard"),
    ("Raibert 1977, look-up tables", "460M 260A", ""),
    ("Lin and Luh 1982, six processors", "320M 280A (printed: multiplications twice)", ""),
    ("Lathrop 1985, pipeline: latency", "15M 43A", ""),
    ("Lathrop 1985, parallel Newton-Euler: latency", "11M 28A", ""),
)


def luh_count(n: int = 6) -> tuple[int, int, int]:
    """Luh's recursion in classic frames with inertias about centres of mass, general geometry, nothing simplified.

    Every number of the robot is a variable, so only products with the structural zeros of its vectors are gone.
    """
    graph = Graph()
    q, qd, qdd = (graph.variables(name, n) for name in ("q", "qd", "qdd"))
    turns: list[Mat] = []
    for k, angle in enumerate(q):
        ca, sa = graph.variables(f"twist{k}", 2)
        c, s = cos(angle), sin(angle)
        turns.append(((c, -(ca * s), sa * s), (s, ca * c, -(sa * c)), (0, sa, ca)))
    w, wd, vd = ZERO, ZERO, tuple(graph.variables("g", 3))
    F, N, steps, centres = [], [], [], []
    for k in range(n):
        p, s = (tuple(graph.variables(f"{name}{k}", 3)) for name in ("p", "s"))
        (mass,), x = graph.variables(f"m{k}", 1), graph.variables(f"I{k}", 6)
        J: Mat = ((x[0], x[1], x[2]), (x[1], x[3], x[4]), (x[2], x[4], x[5]))
        back = transpose(turns[k])
        wd = apply(back, vadd(wd, (0, 0, qdd[k]), cross(w, (0, 0, qd[k]))))
        w = apply(back, vadd(w, (0, 0, qd[k])))
        vd = vadd(apply(back, vd), cross(wd, p), cross(w, cross(w, p)))
        centre = vadd(cross(wd, s), cross(w, cross(w, s)), vd)
        F.append(scale(centre, mass))
        N.append(vadd(apply(J, wd), cross(w, apply(J, w))))
        steps.append(p)
        centres.append(s)
    f, m, tau = ZERO, ZERO, []
    for k in reversed(range(n)):
        if k + 1 < n:
            f, m = apply(turns[k + 1], f), apply(turns[k + 1], m)
        f = vadd(f, F[k])
        m = vadd(m, cross(steps[k], f), N[k], cross(centres[k], F[k]))
        tau.append(dot(m, apply(transpose(turns[k]), (0, 0, 1))))
    found = count_operations([t for t in tau if isinstance(t, Expr)])
    return of_graph(found)


def standard_count(n: int = 6) -> tuple[int, int, int]:
    """Newton-Euler with inertias about the frame's origin in modified frames, all ten parameters of each link."""
    robot = robots.general(n).numeric
    graph = Graph()
    state = newton_euler.State(*(graph.variables(name, n) for name in ("q", "qd", "qdd")))
    chi = [dict(zip(LINK_SYMBOLS, graph.variables(f"x{k}", 10), strict=True)) for k in range(n)]
    found = count_operations([t for t in newton_euler.rigid_torques(robot, chi, state) if isinstance(t, Expr)])
    return of_graph(found)


def add_review(page: Page) -> None:
    """The section on the counts of the review."""
    page.heading("Counts of the review (section 2)")
    ours = {"luh": luh_count(), "standard": standard_count(), "": None}
    rows = []
    for method, published, key in REVIEW:
        counts = ours[key]
        rows.append((method, published, "-" if counts is None else operations(counts)))
    page.table(
        ("method, general arm of six joints", "quoted by the paper", "the same recursion, written out by us"), rows
    )
    page.text(
        "The recursion of Luh is counted with every number of the arm a variable, in classic frames, and the base at "
        "rest; that of Khalil with all ten parameters of each link, in modified frames. Both have equal terms shared "
        "and products with structural zeros gone, so they lie below the quoted figures, which are rounded. The others "
        "are quoted only: look-up tables and pipelines have no counterpart here. With minimum parameters ours takes "
        "less; see [Lin's table III](lin1995.md#table-iii-inverse-dynamics)."
    )
