"""Operation counts: tables II and III of Lin 1995, and ours."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.codegen import robots

from minertia.algebra.expr import Graph
from minertia.algebra.scalar import add
from minertia.algebra.vec3 import IDENTITY
from minertia.codegen.generate import generate
from minertia.codegen.options import CodeModel, CodeSearch
from minertia.codegen.program import Program
from minertia.codegen.setting import Representative
from minertia.dynamics.compound import moved, turned_back
from minertia.dynamics.kinematics import Passage
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from papers.page import of_program

Pair = tuple[int, int]  # multiplications, additions
Triple = tuple[int, int, int]  # multiplications, additions, sines and cosines
FOUND = Path(__file__).parents[1] / "tests" / "golden" / "representatives.json"  # by searches of 45 s, seed 0
SIZES = range(4, 10)
PLAIN = CodeSearch()  # no search

# table II: columns by the place of joint i, rotational (R) or translational (T); its twelve rows have lost their names.
# LOST: entries that cannot be read; of the tenth row of the last two columns there is only "3A for i = n".
LOST = "lost"
TABLE_II = {
    "i < r": (LOST,) * 12,
    "i = r = 1": ("0", "0", "1M", "-", "-", "3M", "-", "0", "3M2A", "8M4A", LOST, LOST),
    "i = r > 1": ("0", "0", "1M", "-", "-", "8M4A", "-", "4M2A", "3M2A", "8M7A", LOST, LOST),
    "r < i < s, R": ("1A", "1A", "1M", "-", "-", "12M8A", "-", "4M2A", "3M2A", "8M7A", "3M4A", "0"),
    "r < i < s, T": ("3M", "3M", "6M9A", "-", "5M4A", "14M10A", "4M2A", "3M", "6M3A", "8M7A", "4M5A", "1A"),
    "i ≥ s, R": ("8M5A", "10M7A", "6M9A", "3A", "-", "17M13A", "-", "6M3A", "22M19A", LOST, "12M11A", "0"),
    "i ≥ s, T": ("8M4A", "8M4A", "6M9A", "3A", "5M4A", "14M10A", "4M3A", "3M", "9M5A", LOST, "12M11A", "1A"),
}
TURN = (8, 4)  # a vector through a rotation matrix of modified DH parameters
# what each row is, from the equations: name, equations, and the parts in each column of the table
ROW_NAMES: tuple[tuple[str, str, tuple[tuple[Pair, ...], ...]], ...] = (
    ("ω", "(57), (80)", ((), (), (), ((0, 1),), ((3, 0),), (TURN, (0, 1)), (TURN,))),
    ("ω̇", "(58), (81)", ((), (), (), ((0, 1),), ((3, 0),), (TURN, (2, 2), (0, 1)), (TURN,))),
    ("Ω", "(59)", ((), ((1, 0),), ((1, 0),), ((1, 0),), ((6, 9),), ((6, 9),), ((6, 9),))),
    ("Ψ", "(60)", ((), (), (), (), (), ((0, 3),), ((0, 3),))),
    ("h", "(61), (70), (71)", ((), (), (), (), ((3, 0), (2, 2), (0, 2)), (), ((3, 0), (2, 2), (0, 2)))),
    (
        "a",
        "(62), (69), (77)",
        (
            (TURN, (0, 1)),
            ((3, 0),),
            (TURN,),
            ((4, 2), (0, 2), TURN),
            ((6, 3), (0, 3), TURN),
            ((9, 6), (0, 3), TURN),
            ((6, 3), (0, 3), TURN),
        ),
    ),
    ("p", "(63), (78), (83)", (((1, 0),), (), (), (), ((1, 0), (3, 0), (0, 2)), (), ((1, 0), (3, 2), (0, 1)))),
    (
        "ρ",
        "(64), (72), (79), (84)",
        (((1, 0),), (), ((4, 2),), ((4, 2),), ((3, 0),), ((6, 3),), ((3, 0),)),
    ),
    (
        "ζ",
        "(65), (73), (85)",
        (
            (),
            ((1, 0), (2, 1), (0, 1)),
            ((1, 0), (2, 1), (0, 1)),
            ((1, 0), (2, 1), (0, 1)),
            ((3, 1), (1, 0), (2, 1), (0, 1)),
            ((18, 15), (4, 1), (0, 3)),
            ((6, 3), (1, 0), (2, 2)),
        ),
    ),
    ("P", "(66)", ((TURN, (0, 1)), (TURN,), *((TURN, (0, 3)),) * 5)),
    (
        "N",
        "(67), (75), (88) to (90)",
        (
            (),
            *(((3, 2), (0, 2)),) * 3,
            ((3, 2), (1, 1), (0, 2)),
            *((TURN, (2, 2), (2, 2), (0, 3)),) * 2,
        ),
    ),
    ("τ", "(68)", (((0, 1),), (), (), (), ((0, 1),), (), ((0, 1),))),
)
ROW_PARTS = (
    "turned, q̇ added; before s the speed about joint r, times its direction for a slide",
    "turned, ω × u q̇ and q̈ added; before s as ω",
    "six products, nine sums; one square where axes are parallel",
    "differences of the squares in Ω; not needed before s, as the text says",
    "Ω d, 2 ω × u q̇ (doubling free), q̈; slides only, before r q̈ alone",
    "Ω s added, turned; of a slide Ω b in its own frame; gravity along z of frame 0 at joint 1: a column of its matrix",
    "force along a slide: m̂ a + Ω k; before s m̂ a + κ1 ω̇ - κ2 ω², before r m̂ a",
    "Ω (k1, k2, 0); m̂ h of a slide; joint 1 needs none",
    "Ψ times the six entries of D, k × a; of a slide k × (h - Ω d), m̂ d × (a - h); before s the part about joint r",
    "turned, ρ added; 3A for the last link, where only the end-effector's force is added",
    "turned, b × P and d × P, ζ added; before s a constant vector times P, N beyond and ζ added",
    "the component itself; of a slide p and P added",
)
LAST_LINK = {10: "3A", 11: "6M9A"}  # rows that are cheaper for i = n
FOOTNOTE = "3M2A"  # more for rotational joint s - 1

# table III: general robot of n rotational joints (slope and constant), Stanford arm, the same with the usual links
TABLE_III = (
    ("Balafoutis et al.", ((93, -69), (81, -66)), None, None),
    ("Gautier and Khalil", ((92, -127), (81, -117)), (232, 218), (142, 99)),
    ("Lin", ((89, -82), (77, -71)), (231, 219), (139, 101)),
)
MATRIX = 4  # multiplications for the rotation matrix of a rotational joint, which the paper leaves out (section III)


def pair(text: str) -> Pair:
    """(3, 4) of "3M4A"."""
    found = {letter: int(number) for number, letter in re.findall(r"(\d+)([MA])", text)}
    return found.get("M", 0), found.get("A", 0)


def column_sum(entries: Sequence[str]) -> Pair:
    """Sum of the legible entries of a column."""
    pairs = [pair(entry) for entry in entries]
    return sum(m for m, _ in pairs), sum(a for _, a in pairs)


def total(parts: Sequence[Pair]) -> Pair:
    """Sum of the parts of a row."""
    return sum(m for m, _ in parts), sum(a for _, a in parts)


def lost_entry() -> Pair:
    """What the lost entry of the column i >= s, R must be for the printed slope per joint."""
    (m, _), (a, _) = TABLE_III[-1][1]
    sums = column_sum(TABLE_II["i ≥ s, R"])
    return m - sums[0], a - sums[1]


def entry(row: int, column: str) -> Pair:
    """An entry of table II from the parts of its equations."""
    return total(ROW_NAMES[row][2][list(TABLE_II).index(column)])


def printed_entries() -> tuple[int, int]:
    """How many entries of table II can be read, and how many of these the parts of their equations give."""
    legible = [(k, c) for c, entries in TABLE_II.items() for k in range(12) if entries[k] != LOST]
    return len(legible), sum(entry(k, c) == pair(TABLE_II[c][k]) for k, c in legible)


def whole_column(column: str) -> Pair:
    """Sum of a column, what is lost derived from the equations."""
    return total([entry(k, column) for k in range(12)])


def constant_of_table_ii() -> Pair:
    """Constant of the total that table II gives: joint 1, minus one general joint, minus what the last one saves."""
    general, lost = column_sum(TABLE_II["i ≥ s, R"]), lost_entry()
    first = total([whole_column("i = r = 1"), pair(FOOTNOTE)])
    saved = [np.subtract(lost, pair(LAST_LINK[10])), np.subtract(pair(TABLE_II["i ≥ s, R"][10]), pair(LAST_LINK[11]))]
    constant = np.array(first) - np.array(general) - np.array(lost) - sum(saved)
    return int(constant[0]), int(constant[1])


# ---------------------------------------------------------------------- ours


def counted(
    robot: Robot,
    program: str = "inverse_dynamics",
    parameters: str = "baked",
    search: CodeSearch = PLAIN,
    formulation: str = "newton-euler",
) -> Triple:
    """Multiplications, additions, and sines and cosines of a program, read off its C code."""
    model = CodeModel(parameters, rotors=False, friction=False, formulation=formulation)
    found = generate(robot, None, programs=(program,), model=model, search=search).counts[program]
    return of_program(found)


def count(robot: Robot, formulation: str = "newton-euler") -> Pair:
    """Multiplications and additions of inverse dynamics without a search."""
    return counted(robot, formulation=formulation)[:2]


def searched(name: str, robot: Robot) -> Triple:
    """The same with the choices a search has found."""
    choice = Representative.from_dict(json.loads(FOUND.read_text(encoding="utf-8"))[name])
    return counted(robot, search=CodeSearch(representatives={"inverse_dynamics": choice}))


class Formula(NamedTuple):
    """Counts over n: slope and constant of M, of A and of S, and how many M and A every second joint saves besides."""

    M: Pair
    A: Pair
    S: Pair
    saved: int
    fits: bool  # whether every n lies on it

    def __str__(self) -> str:
        less = ", less ⌊(n-1)/2⌋ of M and A" if self.saved == 1 else ""
        pairs = f"({line(self.S)})S" if self.S[1] else f"{self.S[0]}nS"
        return f"({line(self.M)})M ({line(self.A)})A {pairs}{less}"


def general_formula(
    change: Callable[[Robot], Robot] = lambda robot: robot, formulation: str = "newton-euler"
) -> Formula:
    """Counts of general chains of n rotational joints; change: such as `tilted`."""
    counts = np.array([counted(change(robots.general(n)), formulation=formulation) for n in SIZES])
    halves = np.array([(n - 1) // 2 for n in SIZES])  # 1, 2, 2, ...: the second and third size differ by a slope alone
    slopes = counts[2] - counts[1]
    saved = int(slopes[0] - (counts[1] - counts[0])[0])
    more = np.outer(halves, (saved, saved, 0))
    constants = counts[0] + more[0] - slopes * SIZES[0]
    fits = np.array_equal(counts + more, np.outer(SIZES, slopes) + constants)
    M, A, S = ((int(slope), int(constant)) for slope, constant in zip(slopes, constants, strict=True))
    return Formula(M, A, S, saved, fits)


def chain(kinds: str, parallel: Sequence[int] = (), square: bool = False) -> Robot:
    """A chain of general geometry; some axes parallel to those before, or all perpendicular to them."""
    n, rng = len(kinds), np.random.default_rng(3)
    alpha, d, r = rng.uniform(0.2, 1.3, n), rng.uniform(0.1, 0.5, n), rng.uniform(0.1, 0.4, n)
    alpha[0] = d[0] = r[0] = r[-1] = 0
    alpha[list(parallel)] = 0
    if square:
        alpha[1:] = np.pi / 2
    return robots.mdh(kinds, alpha, d, r, robots.dense(n), kinds)


def more(kinds: str, fewer: str, parallel: Sequence[int] = (), formulation: str = "newton-euler") -> Triple:
    """Operations that one more joint costs."""
    one, other = (counted(robot, formulation=formulation) for robot in (chain(kinds, parallel), chain(fewer)))
    return one[0] - other[0], one[1] - other[1], one[2] - other[2]


OURS_BY_COLUMN = {
    "r < i < s, R": ("RRRRRRR", "RRRRRR", (1,)),
    "r < i < s, T": ("RTRRRRR", "RRRRRR", ()),
    "i ≥ s, R": ("RRRRRRR", "RRRRRR", ()),
    "i ≥ s, T": ("RRRTRRR", "RRRRRR", ()),
}


def right_angles(n: int = 6) -> tuple[Pair, Pair]:
    """What axes at right angles save on n rotational joints: by Lin's formula, and ours."""
    (m, a), (m0, a0) = count(chain("R" * n)), count(chain("R" * n, square=True))
    return (5 * (n - 1) * 4 + 2, 5 * (n - 1) * 2 + 1), (m - m0, a - a0)


def line(slope_and_constant: Pair) -> str:
    """A line over n: 89n-82."""
    slope, constant = slope_and_constant
    return f"{slope}n{constant:+d}"


# ---------------------------------------------------------------------- gravity along no axis, composite bodies

TILTED = (1.1, 2.3, -9.2)  # m/s2: gravity of table III has all three components


def tilted(robot: Robot) -> Robot:
    """The robot with gravity along none of its axes."""
    return replace(robot, gravity=TILTED)


PUBLISHED_COMPOSITE = {"Lin": ((8, 7), (50, 40)), "Gautier and Khalil": ((11, 9), (55, 41))}  # section III


INERTIA, MOMENT = LINK_SYMBOLS[:6], LINK_SYMBOLS[6:9]
ROUND = dict(zip(LINK_SYMBOLS, ("YY", "YZ", "XY", "ZZ", "XZ", "XX", "MY", "MZ", "MX", "M"), strict=True))  # x to z
TWIST, ANGLE, DISTANCE = 0.4, 0.7, 0.3  # of the translational joint, its constant angle among them


def composite_body(link: Mapping[str, Any], behind: Mapping[str, Any], q: Any) -> dict[str, Any]:
    """Parameters of a link and the composite body behind a translational joint at q: slid, turned twice, shifted."""
    slid = moved(behind, Passage(IDENTITY, (0, 0, q), (1, 0)))
    turned = turned_back(slid, (math.cos(ANGLE), math.sin(ANGLE)))
    about_x = turned_back({a: turned[b] for a, b in ROUND.items()}, (math.cos(TWIST), math.sin(TWIST)))
    there = moved({b: about_x[a] for a, b in ROUND.items()}, Passage(IDENTITY, (DISTANCE, 0, 0), (1, 0)))
    return {symbol: add(link[symbol], there[symbol]) for symbol in LINK_SYMBOLS}


def composite(mass: float = 3.7) -> tuple[Pair, Pair]:
    """Operations for first moment and inertia of a composite body, given those of the one behind that joint.

    mass: of what is behind; 1 where forces are counted in units of it.
    """
    graph = Graph()
    (q,) = graph.variables("q", 1)
    behind = dict(zip(LINK_SYMBOLS, graph.variables("x", 9), strict=False)) | {"M": mass}
    link = dict(zip(LINK_SYMBOLS, np.random.default_rng(1).uniform(0.1, 1.0, 10).tolist(), strict=True))
    body = composite_body(link, behind, q)
    return _operations(graph, [body[s] for s in MOMENT]), _operations(graph, [body[s] for s in INERTIA])


def _operations(graph: Graph, outputs: Sequence[Any]) -> Pair:
    found = Program("composite", graph, (), (), tuple(outputs)).simplified(thorough=True).operations
    return int(found[0]), int(found[1])


SHOWN_AT = 0.6  # m: a position of the slide


def without_the_slide(draws: int = 50) -> float:
    """Median error of the first moment without m d along the slide, over its length, on random links."""
    rng, gaps = np.random.default_rng(2), []
    for _ in range(draws):
        link, behind = (dict(zip(LINK_SYMBOLS, rng.uniform(0.1, 1.0, 10).tolist(), strict=True)) for _ in range(2))
        at, left = (composite_body(link, behind, d) for d in (SHOWN_AT, 0.0))
        true, found = (np.array([body[s] for s in MOMENT], float) for body in (at, left))
        gaps.append(np.linalg.norm(true - found) / np.linalg.norm(true))
    return float(np.median(gaps))
