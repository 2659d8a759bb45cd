"""Equations (15) to (20) and the appendix of Gautier and Khalil 1990, from our change of frame, in letters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import evaluate
from minertia.algebra.scalar import add, is_zero, sub
from minertia.algebra.vec3 import Pose
from minertia.base.derive import base_parameters
from minertia.robot.inertia import transport
from minertia.robot.joint import KINDS
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from papers import gautier_khalil_published as published
from papers.letters import Chain, Value, polynomial, read, row

Array = NDArray[np.float64]
GENERAL = row("a", "d", "t", "r")  # frame j in frame i = j - 1
NUMBERS = {"a": 0.7, "d": 0.3, "t": -0.4, "r": 0.2}


Form = Linear | int


def regrouped(kind: str, pose: Pose = GENERAL) -> dict[str, Form]:
    """What the links i and j hold after rule 1 on joint j, over the names XXi ... Mj."""
    own = {s: Linear.unit(f"{s}j") for s in LINK_SYMBOLS}
    moved = dict.fromkeys(LINK_SYMBOLS, 0) | {s: own[source] for s, source in KINDS[kind].invisible}
    found: dict[str, Form] = {f"{s}i": add(Linear.unit(f"{s}i"), v) for s, v in transport(moved, pose).items()}
    return found | {f"{s}j": sub(own[s], moved[s]) for s in LINK_SYMBOLS}


def differences(ours: Mapping[str, Form], relations: Mapping[str, str]) -> dict[str, Value]:
    """{name: ours - published}, as polynomials: the int 0 where the two are the same."""
    return {name: polynomial(ours[name]) - read(text) for name, text in relations.items()}


def our_lambda() -> list[list[Value]]:
    """The 10 x 10 matrix of (A2): row i holds what a unit of parameter i of link j adds to the parameters of j - 1."""
    rows = []
    for symbol in LINK_SYMBOLS:
        moved = transport(dict.fromkeys(LINK_SYMBOLS, 0) | {symbol: 1}, GENERAL)
        rows.append([moved[s] for s in LINK_SYMBOLS])
    return rows


def their_lambda() -> list[list[Value]]:
    """(A2) put together from its blocks."""
    DJ, DST, A = (_matrix(text) for text in (published.DJ, published.DS_TRANSPOSED, published.A))
    inertia = [[*r, 0, 0, 0, 0] for r in DJ]
    moments = [[*(DST[k][i] for k in range(6)), *A[i], 0] for i in range(3)]
    return [*inertia, *moments, [*_matrix(published.DM)[0], *_matrix(published.P)[0], 1]]


def _matrix(text: str) -> list[list[Value]]:
    return [[read(cell.strip()) for cell in line.split("|")] for line in text.strip().splitlines()]


def energy_error(kind: str, seed: int = 0) -> float:
    """Largest difference between DE of link j and (A1), lambda DE of link i + qd f, over random velocities."""
    rng = np.random.default_rng(seed)
    L = np.array([[evaluate(v, NUMBERS) for v in r] for r in their_lambda()], float)
    R, p = (np.array(x, float) for x in _numeric(GENERAL))
    worst = 0.0
    for _ in range(50):
        w, v, qd = rng.normal(size=3), rng.normal(size=3), float(rng.normal())
        turning, sliding = (qd, 0.0) if kind == "revolute" else (0.0, qd)
        wj, vj = R.T @ w + [0, 0, turning], R.T @ (v + np.cross(w, p)) + [0, 0, sliding]
        found = L @ _energy_terms(w, v) + qd * _f(kind, wj, vj, qd)
        worst = max(worst, float(np.abs(found - _energy_terms(wj, vj)).max()))
    return worst


def _numeric(pose: Pose) -> tuple[list[list[float]], list[float]]:
    R, p = pose
    return [[evaluate(s, NUMBERS) for s in r] for r in R], [evaluate(s, NUMBERS) for s in p]


def _energy_terms(w: Array, v: Array) -> Array:
    """Kinetic energy of a link per unit of each of its ten parameters."""
    x, y, z = w
    moments = (v[1] * z - v[2] * y, v[2] * x - v[0] * z, v[0] * y - v[1] * x)
    return np.array([x * x / 2, x * y, x * z, y * y / 2, y * z, z * z / 2, *moments, v @ v / 2])


def _f(kind: str, w: Array, v: Array, qd: float) -> Array:
    """(A8) and (A9)."""
    if kind == "revolute":
        return np.array([0, 0, w[0], 0, w[1], w[2] - qd / 2, v[1], -v[0], 0, 0])
    return np.array([0, 0, 0, 0, 0, 0, -w[1], w[0], 0, v[2] - qd / 2])


# ---------------------------------------------------------------------- section V, step by step


def steps(robot: Robot) -> dict[int, dict[str, Form]]:
    """{j: the parameters of links j and j - 1 once links n to j have been treated}, over the standard names."""
    links: list[dict[str, Form]] = [{s: Linear.unit(f"{s}{j + 1}") for s in LINK_SYMBOLS} for j in range(robot.n)]
    found = {}
    for j in range(robot.n, 1, -1):
        joint, x, parent = robot.joints[j - 1], links[j - 1], links[j - 2]
        moved = dict.fromkeys(LINK_SYMBOLS, 0) | {s: x[source] for s, source in KINDS[joint.kind].invisible}
        for s, value in transport(moved, (joint.R, joint.p)).items():
            parent[s] = add(parent[s], value)
        found[j] = {f"{s}{j}": sub(x[s], moved[s]) for s in LINK_SYMBOLS} | {f"{s}{j - 1}": parent[s] for s in parent}
    return found


def step_differences(robot: Robot) -> dict[int, dict[str, Value]]:
    """Ours minus published, for every relation the paper writes down on its way."""
    ours = steps(robot)
    known = {"YYR3": read(published.STEPS[4]["YY3"])}
    return {
        j: {name: polynomial(ours[j][name]) - read(text, known) for name, text in relations.items()}
        for j, relations in published.STEPS.items()
    }


# ---------------------------------------------------------------------- equations (19) and (20)

PARALLEL_19 = Chain("R T R, second axis parallel", "RTR", [(0, 0, 0, 0), (0, "d", "t", 0), (90, "D3", 0, 0)])
PARALLEL_20 = Chain(
    "R T T R, third axis parallel to the first",
    "RTTR",
    [(0, 0, 0, 0), (-90, 0, 0, 0), (90, "d", "t", 0), (90, "D4", 0, 0)],
)
VALUES = {"d": 0.31, "t": 0.6, "D3": 0.2, "D4": 0.25}
ACROSS = (3.0, -4.0, 8.0)  # gravity along no axis [m/s2], so that the first moments of link 1 stay


def equation_19() -> dict[str, Form]:
    """Ours on a chain R T R, as far as it comes from the first moments of link 2."""
    found = _relations(PARALLEL_19)
    return {
        "ZZi": _part(found, "ZZ1", 2, "ZZi"),
        "MXi": _part(found, "MX1", 2, "MXi"),
        "MYi": _part(found, "MY1", 2, "MYi"),
    }


def equation_20() -> dict[str, Form]:
    """Ours on a chain R T T R: (20) puts into YY2 what (16) then moves on to ZZ1."""
    found = _relations(PARALLEL_20)
    return {
        "YYi": _part(found, "ZZ1", 3, "YYi"),
        "MXi": _part(found, "MX2", 3, "MXi"),
        "MZi": _part(found, "MZ2", 3, "MZi"),
    }


def _relations(chain: Chain) -> dict[str, Linear]:
    found = base_parameters(chain.robot(VALUES), gravity=ACROSS)
    return dict(zip(found.kept, found.relations, strict=True))


def _part(found: Mapping[str, Linear], kept: str, link: int, own: str) -> Form:
    """What MX and MY of a link add to a kept parameter, after that parameter itself."""
    terms = {f"{symbol}j": found[kept].terms.get(f"{symbol}{link}", 0) for symbol in ("MX", "MY")}
    whole: Form = add(Linear.unit(own), Linear({name: value for name, value in terms.items() if not is_zero(value)}))
    return whole
