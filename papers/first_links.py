"""Robots on which the rules of Khalil, Bennis and Gautier are shown, and what is computed on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tests.random_robots import random_robot

from minertia.algebra.linear import Linear
from minertia.algebra.quotient import Coefficient, number_of
from minertia.algebra.vec3 import Vec, Z, apply, transpose
from minertia.base import numeric
from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.dynamics.model import inverse_dynamics, kinetic_energy, potential_energy
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot
from papers.gautier_khalil_published import TABLE_I
from papers.letters import Chain, row
from papers.printed_rules import printed_rules

Array = NDArray[np.float64]
VALUES = {"A2": 0.7, "T2": 0.4, "T3": 0.6, "D2": 0.31, "D3": 0.2, "D4": 0.25, "R2": 0.154, "R3": 0.15, "R4": 0.43}
ACROSS = (3.0, -4.0, 8.0)  # gravity along no axis [m/s2]
FIRST = (0, 0, 0, 0)


@dataclass(frozen=True)
class Column:
    """A column of table 1: its condition, what it says of the first moments of link j, and a robot for it."""

    condition: str
    says: tuple[str, ...]
    chain: Chain


def _sliding(alpha: float | str, theta: float | str) -> Chain:
    return Chain("R T R", "RTR", [FIRST, (alpha, "D2", theta, 0), (0, "D3", 0, 0)])


TABLE_1 = (
    Column("az ≠ 0", ("mXR = mX - (ax/az) mZ", "mYR = mY - (ay/az) mZ"), _sliding("A2", "T2")),
    Column("az = 0, ax ay ≠ 0", ("mXR = mX - (ax/ay) mY",), _sliding(90, "T2")),
    Column("az = 0, ax = 0", ("mY = 0",), _sliding(90, 0)),
    Column("az = 0, ay = 0", ("mX = 0",), _sliding(90, 90)),
)

PARALLEL = Chain("R T R, slide parallel to r1", "RTR", [FIRST, (0, "D2", "T2", 0), (90, "D3", 0, 0)], ACROSS)
OBLIQUE = Chain(
    "R T T R, third axis parallel to the first, second oblique",
    "RTTR",
    [FIRST, ("A2", "D2", 0, 0), ("-A2", "D3", "T3", 0), (90, "D4", 0, 0)],
    ACROSS,
)

UP = (0.0, 0.0, -9.81)
ROBOTS = (
    *(Chain(f"R T R, {c.condition}", c.chain.kinds, c.chain.rows) for c in TABLE_1),
    PARALLEL,
    OBLIQUE,
    Chain("PUMA 560", "R" * 6, [(alpha, d, 0, r) for alpha, d, r in TABLE_I]),
    Chain(
        "Stanford arm",
        "RRTRRR",
        [FIRST, (-90, 0, 0, "R2"), (90, 0, 0, 0), (0, 0, 0, 0), (-90, 0, 0, 0), (90, 0, 0, 0)],
    ),
    Chain("R R T R, all parallel and upright", "RRTR", [FIRST, (0, "D2", 0, 0), (0, "D3", "T3", 0), (0, 0, 0, 0)]),
    Chain("R R R, the first two on one line", "RRR", [FIRST, (0, 0, 0, "R2"), (90, "D3", 0, 0)]),
    Chain(
        "T T T R R, a gantry with a wrist",
        "TTTRR",
        [(90, 0, 0, 0), (90, 0, 0, 0), (-90, 0, 0, 0), FIRST, (90, "D4", 0, 0)],
    ),
    Chain("T R R, upright slide, upright axis", "TRR", [FIRST, (0, "D2", 0, 0), (90, "D3", 0, 0)]),
)
# the third axis stands on the line of the first only while the second joint is at zero
LINED_UP = Chain(
    "R R R R, third axis over the first at q = 0", "RRRR", [FIRST, (0, "D2", 0, 0), (0, "-D2", 0, 0), (90, "D4", 0, 0)]
)
WEIGHTLESS = Chain("R R R, axes meet, no gravity", "RRR", [FIRST, (90, 0, 0, 0), (-90, 0, 0, 0)], (0.0, 0.0, 0.0))


def base_of(chain: Chain) -> BaseParameters:
    """Our base parameters of a chain."""
    return base_parameters(chain.robot(VALUES))


def axis_in_letters(chain: Chain, j: int) -> Vec:
    """The axis of joint 1 in frame j, from the placements, as polynomials."""
    u: Vec = Z
    for joint in chain.robot(VALUES).joints[1:j]:
        u = apply(transpose(joint.R), u)
    return u


def unseen(chain: Chain, j: int) -> float:
    """How much equation (4) is off: the columns MX, MY, MZ of link j along the axis of r1, over their own size."""
    robot = chain.robot(VALUES)
    columns = tuple(f"{s}{j}" for s in ("MX", "MY", "MZ"))
    Y = numeric.sample_regressor(robot, columns, 100, 0)
    u = np.array([_number(s) for s in axis_in_letters(chain, j)])
    return float(np.linalg.norm(Y @ u) / np.linalg.norm(Y))


def _number(value: Coefficient) -> float:
    return float(number_of(value, VALUES))


def table_1_in_letters(chain: Chain) -> dict[str, Linear]:
    """Table 1 for link 2 of a chain, each relation times the component it divides by, so that letters stay letters."""
    x, y, z = axis_in_letters(chain, 2)
    if z != 0:
        return {"MX2": Linear({"MX2": z, "MZ2": -x}), "MY2": Linear({"MY2": z, "MZ2": -y})}
    return {"MX2": Linear({"MX2": y, "MY2": -x})} if x != 0 and y != 0 else {}


def off_table_1(chain: Chain) -> float:
    """Largest difference between ours times the divisor and table 1, over the coefficients of link 2's moments."""
    found = base_of(chain)
    ours = dict(zip(found.kept, found.relations, strict=True))
    worst = 0.0
    for kept, form in table_1_in_letters(chain).items():
        divisor = _number(form.terms[kept])
        for name, value in form.terms.items():
            worst = max(worst, abs(divisor * _number(ours[kept].terms[name]) - _number(value)))
    return worst


def compared(chain: Chain, values: Mapping[str, float] = VALUES) -> tuple[int, int, int, float]:
    """Parameters left by the printed rules, ours, the rank, and the largest difference of the relations."""
    printed, ours = printed_rules(chain, values), base_parameters(chain.robot(values))
    same = printed.kept == list(ours.kept)
    gap = float(np.abs(printed.K - ours.K).max(initial=0.0)) if same else float("inf")
    return len(printed.kept), ours.count, ours.certificate.rank, gap


# ---------------------------------------------------------------------- relation (5), Newton-Euler, trees


def relation_5_error(chain: Chain, j: int, i: int, states: int = 20) -> float:
    """Largest change of h_mSj - (A h_mSj-1 - 2 P h_ZZi) over random states, of components x and y: it is a constant.

    h: energy, kinetic and potential, of a robot with one unit of one parameter; A, P: of (5), from the row of joint j.
    """
    robot = chain.robot(VALUES).numeric
    q, qd = np.random.default_rng(0).uniform(-1.5, 1.5, (2, states, robot.n))

    def h(name: str) -> Array:
        unit = robot.with_parameters({column: float(column == name) for column in robot.columns()})
        return np.asarray(kinetic_energy(unit, q, qd) + potential_energy(unit, q), float)

    cells = chain.numbers(VALUES)[j - 1]
    ca, sa, ct, st = np.cos(cells["a"]), np.sin(cells["a"]), np.cos(cells["t"]), np.sin(cells["t"])
    A = np.array([[ct, ca * st, sa * st], [-st, ca * ct, sa * ct], [0, -sa, ca]])
    P = np.array([-cells["d"] * ct, cells["d"] * st])
    here, before = (np.array([h(f"{s}{k}") for s in ("MX", "MY", "MZ")]) for k in (j, j - 1))
    rest = (here - A @ before)[:2] + 2 * P[:, None] * h(f"ZZ{i}")
    return float(np.ptp(rest, axis=1).max())


def newton_euler_error(chain: Chain) -> float:
    """Largest effort error, over the largest effort, of Newton-Euler on what the printed rules leave, others zero."""
    robot, printed = chain.robot(VALUES).numeric, printed_rules(chain, VALUES)
    rng = np.random.default_rng(0)
    chi = rng.uniform(0.1, 1.0, len(printed.columns))
    left = dict(zip(printed.kept, printed.K @ chi, strict=True))
    states = rng.uniform(-1.5, 1.5, (3, 20, robot.n))
    full, minimum = (
        inverse_dynamics(robot.with_parameters(values), *states)
        for values in (
            dict(zip(printed.columns, chi, strict=True)),
            {name: left.get(name, 0.0) for name in printed.columns},
        )
    )
    return float(np.abs(full - minimum).max() / np.abs(full).max())


def branched() -> Robot:
    """A tree: a turning trunk with a slide parallel to it, an oblique slide, and a turning joint on each."""
    rows = (FIRST, (0, "D2", "T2", 0), (90, "D3", 0, 0), ("A2", 0, 0, 0), (90, "D4", 0, 0))
    joints = []
    for j, (cells, parent, kind) in enumerate(zip(rows, (None, 0, 1, 0, 3), "RTRTR", strict=True)):
        R, p = row(*cells)
        name = "revolute" if kind == "R" else "prismatic"
        joints.append(Joint(f"j{j + 1}", name, parent, R, p, f"link{j + 1}"))
    symbols = {name: VALUES[name] for name in ("A2", "D2", "D3", "D4", "T2")}
    return Robot(name="branched", joints=tuple(joints), links=(None,) * 5, gravity=ACROSS, symbols=symbols)


def general_rules_alone(robot: Robot) -> int:
    """Parameters that (15) and (16) alone leave: seven per turning joint, four per slide."""
    return sum(7 if joint.kind == "revolute" else 4 for joint in robot.joints)


def random_trees(count: int = 40) -> tuple[int, int, int, int]:
    """Random trees, those with a slide, those whose count is the rank, and those where no relation is from the rank."""
    trees = [random_robot(seed, tree=True, n=6).without_effects(["rotors", "friction"]) for seed in range(count)]
    found = [base_parameters(tree) for tree in trees]
    sliding = sum(any(joint.kind == "prismatic" for joint in tree.joints) for tree in trees)
    equal = sum(each.count == each.certificate.rank for each in found)
    return count, sliding, equal, sum(not any(each.is_numeric) for each in found)


def random_chain(seed: int) -> Chain:
    """A chain of up to five joints, axes parallel, perpendicular, on one line or oblique."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    kinds = "".join(rng.choice(["R", "T"], p=[0.6, 0.4]) for _ in range(n))

    def length() -> float:
        return 0 if rng.random() < 0.5 else float(rng.uniform(-0.5, 0.5))

    twists, turns = (0, 0, 90, -90, 180, 40), (0, 0, 90, 30)
    rows = [(float(rng.choice(twists)), length(), float(rng.choice(turns)), length()) for _ in range(n)]
    return Chain(f"random {seed}", kinds, rows, (UP, (9.81, 0.0, 0.0), ACROSS)[seed % 3])
