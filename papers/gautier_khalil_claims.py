"""Gautier and Khalil 1990: rule III-B.4, potential energy, (19) and (20), cost, trees and parallelograms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Graph, count_operations
from minertia.algebra.polynomial import evaluate
from minertia.base import numeric
from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.codegen.program import Program
from minertia.dynamics.kinematics import State
from minertia.dynamics.model import potential_energy
from minertia.dynamics.newton_euler import rigid_torques
from minertia.robot.files import read_robot
from minertia.robot.joint import Joint
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import EARTH, Robot
from papers import gautier_khalil_relations as relations
from papers.letters import Chain, row
from papers.page import of_graph

Array = NDArray[np.float64]
TENSOR, MOMENTS = LINK_SYMBOLS[:6], LINK_SYMBOLS[6:9]
NO_EFFECT = 1e-9  # largest entry of a regressor column, over the largest of all, that counts as none
OBLIQUE = (3.0, -4.0, 8.0)  # gravity along no axis [m/s2]

# ---------------------------------------------------------------------- rule III-B.4

MEETING = Chain("three axes through one point", "RRR", [(0, 0, 0, 0), (90, 0, 0, 0), (-90, 0, 0, 0)], OBLIQUE)


def appearing(robot: Robot) -> set[str]:
    """Names of the parameters whose columns of the regressor are not zero at random states."""
    columns = robot.columns()
    size = np.abs(numeric.sample_regressor(robot, columns, 30, 0)).max(axis=0)
    return {name for name, entry in zip(columns, size, strict=True) if entry > NO_EFFECT * size.max()}


@dataclass(frozen=True)
class Rule4:
    """Links on which the two sentences of III-B.4 are tested, and those that contradict each."""

    first: int
    against_first: int
    second: int
    against_second: int
    masses: int  # of those against the second: a mass is absent, and nothing else
    missing: tuple[str, ...]  # parameters that the second sentence says appear, and do not


def rule_4(chains: list[Chain]) -> Rule4:
    """Both sentences on every link of these chains that they speak of."""
    first = against_first = second = against_second = masses = 0
    missing: set[str] = set()
    for chain in chains:
        robot = chain.robot({}).numeric
        seen, n = appearing(robot), robot.n
        for j in _from_r2(chain):
            first += 1
            against_first += any(f"{s}{j}" not in seen for s in TENSOR)
        for k in range(1, n):
            if all(f"{s}{k}" in seen for s in MOMENTS):
                absent = [s for j in range(k + 1, n + 1) for s in LINK_SYMBOLS if f"{s}{j}" not in seen]
                second, against_second = second + 1, against_second + bool(absent)
                masses += set(absent) == {"M"}
                missing |= set(absent)
    return Rule4(first, against_first, second, against_second, masses, tuple(s for s in LINK_SYMBOLS if s in missing))


def _from_r2(chain: Chain) -> range:
    """Links from the first rotational joint on that is not parallel to the first one."""
    axes, R = [], np.eye(3)
    for cells in chain.numbers({}):
        ca, sa, ct, st = np.cos(cells["a"]), np.sin(cells["a"]), np.cos(cells["t"]), np.sin(cells["t"])
        R = R @ np.array([[ct, -st, 0], [st * ca, ct * ca, -sa], [st * sa, ct * sa, ca]])
        axes.append(R[:, 2])
    turning = [j for j, kind in enumerate(chain.kinds) if kind == "R"]
    for j in turning:
        if np.linalg.norm(np.cross(axes[turning[0]], axes[j])) > NO_EFFECT:
            return range(j + 1, len(chain.kinds) + 1)
    return range(0)


def random_chains(count: int = 100, seed: int = 0) -> list[Chain]:
    """Chains of two to five joints; axes parallel, at right angles or oblique, lengths often zero, three gravities."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        n = int(rng.integers(2, 6))
        rows = [
            (
                float(rng.choice([0, 90, -90, 40])) if j else 0.0,
                float(rng.choice([0, 0, 0.3])) if j else 0.0,
                0.0,
                float(rng.choice([0, 0, 0.2])) if j else 0.0,
            )
            for j in range(n)
        ]
        kinds = "".join(rng.choice(list("RRRT"), n))
        found.append(Chain(f"chain {k}", kinds, rows, (EARTH, OBLIQUE, (0.0, 9.81, 0.0))[k % 3]))
    return found


# ---------------------------------------------------------------------- potential energy, (A11) and (A12)


def potential_errors(seed: int = 0) -> tuple[int, float]:
    """Entries of (A11) that equal those of lambda in letters, of 40; largest difference of DU to potential energy.

    The second goes along a chain of four joints, R and T, at random positions, with gravity along no axis: DU by (A11)
    and (A12) against the potential energy of a robot with one unit of one parameter.
    """
    ours, theirs = relations.our_lambda(), relations.their_lambda()
    same = sum(ours[i][k] - theirs[i][k] == 0 for i in range(10) for k in range(6, 10))
    rng = np.random.default_rng(seed)
    kinds, worst = "RTRR", 0.0
    cells = [(float(a), float(d), float(t), float(r)) for a, d, t, r in rng.uniform(0.2, 1.2, (4, 4))]
    for _ in range(5):
        q = rng.uniform(-1.5, 1.5, 4)
        DU = np.array([*[0.0] * 6, *(-np.array(OBLIQUE)), 0.0])
        for j, (a, d, t, r) in enumerate(cells):
            numbers = {"a": a, "d": d, "t": t + (kinds[j] == "R") * q[j], "r": r + (kinds[j] == "T") * q[j]}
            L = np.array([[evaluate(v, numbers) for v in line] for line in theirs], float)
            L[:, :6] = 0.0
            DU = L @ DU
            worst = max(worst, float(np.abs(DU - _potential(kinds, cells, q, j)).max()))
    return same, worst


def _potential(kinds: str, cells: list[tuple[float, ...]], q: Array, j: int) -> Array:
    """Potential energy per unit of each parameter of link j, by the product."""
    rows = [(float(np.degrees(a)), d, float(np.degrees(t)), r) for a, d, t, r in cells]
    robot = Chain("potential", kinds, rows, OBLIQUE).robot({})
    columns = robot.columns()
    energies = []
    for symbol in LINK_SYMBOLS:
        unit = {name: float(name == f"{symbol}{j + 1}") for name in columns}
        energies.append(float(np.ravel(potential_energy(robot.with_parameters(unit), q))[0]))
    return np.array(energies)


# ---------------------------------------------------------------------- side claims of (19) and (20)


def side_claims() -> list[tuple[str, str, str, str]]:
    """(equation, robot, parameters said to be without effect, their classes)."""
    found = []
    for number, chain, names in (
        ("(19)", relations.PARALLEL_19, ("MZ1", "MZ2")),
        ("(20)", relations.PARALLEL_20, ("MY2", "MZ3")),
    ):
        classes = base_parameters(chain.robot(relations.VALUES), gravity=relations.ACROSS).classes()
        found.append((number, chain.name, " ".join(names), ", ".join(classes[name] for name in names)))
    return found


# ---------------------------------------------------------------------- operations of customised Newton-Euler


def newton_euler_count(robot: Robot, names: set[str]) -> tuple[int, int, int]:
    """Multiplications, additions, sines and cosines of Newton-Euler with these link parameters, all others zero.

    The recursion is written out for the robot: products with 0 and 1 are gone, equal terms are shared.
    """
    graph = Graph()
    n = robot.n
    q, qd, qdd = (graph.variables(name, n) for name in ("q", "qd", "qdd"))
    columns = [name for name in robot.columns() if name in names]
    values = dict(zip(columns, graph.variables("x", len(columns)), strict=True))
    chi = [{s: values.get(f"{s}{j + 1}", 0) for s in LINK_SYMBOLS} for j in range(n)]
    tau = rigid_torques(robot.numeric, chi, State(q, qd, qdd))
    found = Program("counted", graph, (), (), tuple(tau)).simplified(thorough=False)
    return (*map(int, found.operations), of_graph(count_operations(found.expressions))[2])


def newton_euler_rows() -> list[tuple[str, int, tuple[int, int, int], int, tuple[int, int, int]]]:
    """(robot, standard parameters, operations with them, minimum parameters, operations with these)."""
    rows = []
    for name in ("puma560", "rx90", "stanford", "scara"):
        robot = replace(read_robot(name), effects=())
        columns, base = set(robot.columns()), base_parameters(robot)
        rows.append(
            (
                name,
                len(columns),
                newton_euler_count(robot, columns),
                base.count,
                newton_euler_count(robot, set(base.kept)),
            )
        )
    return rows


# ---------------------------------------------------------------------- trees and parallelograms

LETTERS = {"D2": 0.3, "D3": 0.2, "R3": 0.1, "D4": 0.25, "R4": 0.4}


def two_arms() -> Robot:
    """A trunk that turns and carries two branches: an arm of one turning joint, and a turning joint with a slide."""
    rows = ((0, 0, 0, 0), (90, "D2", 0, 0), (90, "D3", 0, "R3"), (90, "D4", 0, 0))
    parents, kinds = (None, 0, 0, 2), ("revolute", "revolute", "revolute", "prismatic")
    joints = []
    for j, (cells, parent, kind) in enumerate(zip(rows, parents, kinds, strict=True)):
        R, p = row(*cells)
        joints.append(Joint(f"j{j + 1}", kind, parent, R, p, f"link{j + 1}"))
    symbols = {name: LETTERS[name] for name in ("D2", "D3", "D4", "R3")}
    return Robot(name="two arms on a trunk", joints=tuple(joints), links=(None,) * 4, gravity=EARTH, symbols=symbols)


def parallelogram() -> tuple[BaseParameters, BaseParameters]:
    """The bundled arm with a parallelogram: opened, so that each of its eight joints moves freely, and closed."""
    robot = replace(read_robot("parallelogram_arm"), effects=())
    opened = Robot(
        name="opened",
        joints=tuple(replace(joint, follows=None, is_passive=False) for joint in robot.joints),
        links=robot.links,
        gravity=robot.gravity,
        symbols=robot.symbols,
    )
    return base_parameters(opened), base_parameters(robot)
