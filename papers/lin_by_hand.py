"""Lin 1995 by hand: table I in letters, and his and Gautier and Khalil's counts from their equations, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from minertia.algebra.expr import Expr, Graph, count_operations
from minertia.base.composite_dynamics import CompositeBodies
from minertia.base.derive import base_parameters
from minertia.codegen.formulation import PLAIN
from minertia.codegen.programs import build
from minertia.codegen.search import representative
from minertia.codegen.setting import Setting
from minertia.dynamics.kinematics import State
from minertia.robot.robot import Robot
from papers.letters import Chain, polynomial, read
from papers.lin_counts import TURN, Pair, Triple, total
from papers.page import of_graph

# ---------------------------------------------------------------------- table I

SLIDE = Chain("a slide on a free body", "TRR", [("A", "B", "T", 0), (90, "D2", 0, "R2"), (-90, "D3", 0, "R3")])
VALUES = {"A": 0.7, "B": 0.3, "T": 0.5, "D2": 0.2, "R2": 0.4, "D3": 0.15, "R3": 0.25}
# combination: in regrouped parameters (derived anew: the table's body is lost), the counterpart of the other set
TABLE_I = {
    "MH": ("M0 + MR1", "M0"),
    "K1": ("MX0 + B*MR1 + cos(T)*MXR1 - sin(T)*MYR1", "MX0"),
    "K2": ("MY0 + sin(T)*cos(A)*MXR1 + cos(T)*cos(A)*MYR1 - sin(A)*MZ1", "MY0"),
    "K3": ("MZ0 + sin(T)*sin(A)*MXR1 + cos(T)*sin(A)*MYR1 + cos(A)*MZ1", "MZ0"),
}


def table_i() -> list[tuple[str, str, str, bool]]:
    """(combination, in regrouped parameters, the other set's counterpart, whether both are ours in letters).

    Link i - 1 is a free body, so that all of it shows; the slide i is joint 1, and turning joints follow.
    """
    robot = replace(SLIDE.robot(VALUES), base="floating")
    regrouped, lin = base_parameters(robot), base_parameters(robot, "mlc")
    forms = {name: polynomial(form) for name, form in zip(regrouped.names, regrouped.relations, strict=True)}
    combined = {name: polynomial(form) for name, form in zip(lin.names, lin.relations, strict=True)}
    found = []
    for name, (text, counterpart) in TABLE_I.items():
        same = combined[f"{name}_0"] - read(text, forms) == 0 and forms[counterpart] - read(counterpart) == 0
        found.append((name, text, counterpart, same))
    return found


# ---------------------------------------------------------------------- his equations, written out

ROWS = ("ω", "ω̇", "Ω", "h", "a", "D", "p", "ρ", "ζ", "P", "N", "τ")
ALONG_X = (1.1, 0, -9.2)  # gravity with x of frame 0 in its direction: two components, as frame 0 is free
SLIDES_MOMENT = ("K2_2", "K3_3")  # what the first moment along the Stanford arm's slide is part of


def written_out(robot: Robot, without: Sequence[str] = ()) -> dict[str, list[Pair]]:
    """Operations of each quantity of (57) to (93), joint by joint, as the equations are written.

    What is zero by structure is left out, and so are components that no effort needs.  A product that stands in two
    quantities belongs to the first; doubling is free.  without: combinations that are zero.
    """
    setting, graph = Setting(robot, formulation="mlc"), Graph()
    state = State(*(graph.variables(name, robot.n) for name in ("q", "qd", "qdd")))
    values = {k: v for k, v in setting.enter_combinations(graph)[0].items() if k not in without}
    lin = CompositeBodies(robot, values, state)
    left = set(graph.needed(list(_expressions(lin.efforts))))
    found: dict[str, list[Pair]] = {row: [(0, 0)] * robot.n for row in ROWS}
    for row, j, quantity in _quantities(lin):
        own = [k for k in graph.needed(list(_expressions(quantity))) if k in left]
        left -= set(own)
        found[row][j] = _operations(graph, own)
    return found


def _quantities(lin: CompositeBodies) -> Iterator[tuple[str, int, Any]]:
    n = lin.robot.n_joints
    for j, motion in enumerate(lin.motions):
        yield from (("ω", j, motion.w), ("ω̇", j, motion.wd), ("Ω", j, motion.U), ("h", j, lin.bodies[j].h))
        yield "a", j, motion.vd
    for j in reversed(range(n)):
        body = lin.bodies[j]
        yield ("D", j, body.D) if lin.turning[j] else ("p", j, lin._force(j))
        yield from (("ρ", j, body.rho), ("ζ", j, body.zeta), ("P", j, body.P), ("N", j, body.N))
        yield "τ", j, lin.efforts[j]


def _expressions(quantity: Any) -> Iterator[Expr]:
    if isinstance(quantity, Expr):
        yield quantity
    elif isinstance(quantity, tuple | list):
        for part in quantity:
            yield from _expressions(part)


def _operations(graph: Graph, nodes: Sequence[int]) -> Pair:
    kinds = [graph.nodes[k][0] for k in nodes if not _is_doubling(graph, k)]
    return kinds.count("*"), kinds.count("+") + kinds.count("-")


def _is_doubling(graph: Graph, k: int) -> bool:
    kind, *arguments = graph.nodes[k]
    return kind == "*" and any(graph.nodes[a] == ("const", 2.0) for a in arguments)


def whole(rows: dict[str, list[Pair]]) -> Pair:
    """Sum over rows and joints."""
    return total([pair for joints in rows.values() for pair in joints])


# ---------------------------------------------------------------------- first moment of a composite body, by parts

COMPOSITE_PARTS: tuple[tuple[str, Pair, Pair], ...] = (  # part, in Lin's set, in Gautier and Khalil's
    ("turned by the two angles of the slide", TURN, TURN),
    ("constant part added (k of Lin, m c + m b of the other)", (0, 3), (0, 3)),
    ("the slide: m d along its axis, turned and added", (0, 0), (3, 2)),
)


# ---------------------------------------------------------------------- Gautier and Khalil's constants

# what the first, second and last joint save of a general one; a vector turned takes 8M 4A
SAVED_BY_ENDS: tuple[tuple[str, Pair, Pair], ...] = (  # what, gravity along joint 1, gravity anywhere
    ("joint 1: 1M for Ω, 1M for ZZ, 10M 6A for force and moment of link 2 in frame 1, 2A to add", (-12, -8), (-12, -8)),
    ("joint 1: gravity turned, MX and MY against it, and their sum", (0, 0), (-6, -4)),
    ("joint 2: ω 3M 1A of 8M 5A, ω̇ 5M 3A of 10M 7A", (10, 8), (10, 8)),
    ("joint 2: Ω p 4M 2A of 9M 6A, and gravity added to it", (5, 7), (5, 5)),
    ("joint n: no force and moment from beyond", (22, 20), (22, 20)),
    ("joint n: r = 0, so Ω p 3M of 9M 6A, p × f 2M of 6M 3A, 2A of 3A to add it", (10, 10), (10, 10)),
)


def constants(slope: Pair) -> tuple[Pair, Pair]:
    """Constants of the total that these parts give: gravity along joint 1, and anywhere."""
    sums = [total([part[k] for part in SAVED_BY_ENDS]) for k in (1, 2)]
    along, anywhere = ((-slope[0] - m, -slope[1] - a) for m, a in sums)
    return along, anywhere


# ---------------------------------------------------------------------- one turn by the sum of two angles


def both_turns(robot: Robot) -> tuple[Triple, Triple]:
    """Multiplications, additions, sines and cosines: parallel joints passed by one turn, and one turn a joint."""
    setting = Setting(robot)
    choice = representative(setting, "inverse_dynamics")
    assert choice is not None
    found = []
    for formulation in (choice.formulation, replace(PLAIN, unit=choice.formulation.unit)):
        program = build(setting, "inverse_dynamics", replace(choice, formulation=formulation), thorough=True)
        sines = of_graph(count_operations(program.expressions))[2]
        found.append((*map(int, program.operations), sines))
    return found[0], found[1]
