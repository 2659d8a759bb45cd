"""Robots on which the rules of Khalil, Bennis and Gautier are shown, and what is computed on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minertia.algebra.linear import Linear
from minertia.algebra.quotient import Coefficient, number_of
from minertia.algebra.vec3 import Vec, Z, apply, transpose
from minertia.base import numeric
from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from papers.gautier_khalil_published import TABLE_I
from papers.letters import Chain
from papers.printed_rules import printed_rules

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
