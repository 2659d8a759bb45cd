"""The six rules of Khalil, Bennis and Gautier on numbers, from the printed equations alone.

Nothing here is shared with `minertia.base`: the relations are those typed in from the two papers, evaluated for the
rows of a robot's table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.polynomial import Monomial, Number, Poly, evaluate
from minertia.robot.parameters import LINK_SYMBOLS
from papers.gautier_khalil_published import EQUATION_15, EQUATION_16
from papers.letters import Chain, read

Array = NDArray[np.float64]
RULES = (1, 2, 3, 4, 5, 6)
SMALL = 1e-9  # on unit vectors and lengths [m]
MOMENTS = ("MX", "MY", "MZ")

# equation (16) with the factor the scan of Gautier and Khalil has lost (their equation (17) holds it)
SLIDING = EQUATION_16 | {"YYi": EQUATION_16["YYi"].replace("2*sin(t)*cos(a)*XZj", "2*sin(t)*cos(a)*sin(a)*XZj")}
# equation (6) of the comment; k is the nearest rotational joint before j
PARALLEL = {
    "MXi": "MXi + cos(t)*MXj - sin(t)*MYj",
    "MYi": "MYi + sin(t)*cos(a)*MXj + cos(t)*cos(a)*MYj",
    "MZi": "MZi + sin(t)*sin(a)*MXj + cos(t)*sin(a)*MYj",
    "ZZk": "ZZk + 2*d*cos(t)*MXj - 2*d*sin(t)*MYj",
}


@dataclass
class Printed:
    """What the rules leave: {parameter: row over all standard parameters}, and what each rule has removed."""

    columns: tuple[str, ...]
    rows: dict[str, Array]
    removed: dict[int, list[str]] = field(default_factory=lambda: {rule: [] for rule in RULES})

    @property
    def kept(self) -> list[str]:
        """Parameters that are left, in the order of the columns."""
        return [name for name in self.columns if name in self.rows]

    @property
    def K(self) -> Array:
        """Their relations as a matrix."""
        return np.array([self.rows[name] for name in self.kept])

    def remove(self, rule: int, *names: str) -> None:
        """Note parameters as removed by a rule, if an earlier one has not done so."""
        for name in names:
            if self.rows.pop(name, None) is not None:
                self.removed[rule].append(name)


def printed_rules(
    chain: Chain, values: Mapping[str, float], *, without: int | None = None, literal: bool = False
) -> Printed:
    """Rules 1 to 6 on a chain, one of them left out on request.

    literal: rule 5 asks only that an axis lie on that of r1 at the zero position; else on every rotational axis before.
    """
    return _Run(chain, values, without, literal).result()


class _Run:
    """One chain; joints are counted from 1."""

    def __init__(self, chain: Chain, values: Mapping[str, float], without: int | None, literal: bool) -> None:
        self.chain, self.without, self.literal = chain, without, literal
        self.cells = chain.numbers(values)
        self.z, self.at, self.R = _axes(self.cells)
        n = len(chain.kinds)
        columns = tuple(f"{s}{j}" for j in range(1, n + 1) for s in LINK_SYMBOLS)
        self.left = Printed(columns, dict(zip(columns, np.eye(len(columns)), strict=True)))
        turning = [j for j in range(1, n + 1) if self._turns(j)]
        self.r1 = turning[0] if turning else n + 1
        self.r2 = next((j for j in turning if not self._parallel(j)), n + 1)

    def result(self) -> Printed:
        steps = (self._rule_1, self._rule_2, self._rule_3, self._rule_4, self._rule_5, self._rule_6)
        for rule, step in zip(RULES, steps, strict=True):
            if rule != self.without:
                step()
        return self.left

    def _rule_1(self) -> None:
        for j in range(len(self.chain.kinds), 0, -1):
            if self._turns(j):
                self._move(EQUATION_15, j)
                self.left.remove(1, *(f"{s}{j}" for s in ("YY", "MZ", "M")))
            else:
                self._move(SLIDING, j)
                self.left.remove(1, *(f"{s}{j}" for s in LINK_SYMBOLS[:6]))

    def _rule_2(self) -> None:
        for j in self._sliding_between():
            if self._parallel(j):
                self._move(PARALLEL, j)
                self.left.remove(2, *(f"{s}{j}" for s in MOMENTS))

    def _rule_3(self) -> None:
        for j in self._sliding_between():
            if not self._parallel(j):
                self._table_1(j, self.R[j - 1].T @ self.z[self.r1 - 1])

    def _table_1(self, j: int, a: Array) -> None:
        rows, (x, y, z) = self.left.rows, np.where(np.abs(a) < SMALL, 0.0, a)
        gone = "MZ" if z else "MY" if y else "MX"
        pivot = z or y or x
        for symbol, part in zip(MOMENTS, (x, y, z), strict=True):
            if symbol != gone and part:
                rows[f"{symbol}{j}"] = rows[f"{symbol}{j}"] - part / pivot * rows[f"{gone}{j}"]
        self.left.remove(3, f"{gone}{j}")

    def _rule_4(self) -> None:
        for j in self._turning_between():
            self.left.remove(4, *(f"{s}{j}" for s in ("XX", "XY", "XZ", "YZ")))

    def _rule_5(self) -> None:
        for j in self._turning_between():
            if self._along(j):
                self.left.remove(5, f"MX{j}", f"MY{j}")

    def _rule_6(self) -> None:
        for j in range(1, min(self.r1, len(self.chain.kinds) + 1)):
            self.left.remove(6, *(f"{s}{j}" for s in MOMENTS))

    # ------------------------------------------------------------------ what the rules ask

    def _turns(self, j: int) -> bool:
        return self.chain.kinds[j - 1] == "R"

    def _between(self) -> range:
        return range(min(self.r2, len(self.chain.kinds) + 1) - 1, self.r1 - 1, -1)

    def _sliding_between(self) -> list[int]:
        return [j for j in self._between() if not self._turns(j)]

    def _turning_between(self) -> list[int]:
        return [j for j in self._between() if self._turns(j)]

    def _parallel(self, j: int) -> bool:
        return bool(np.linalg.norm(np.cross(self.z[self.r1 - 1], self.z[j - 1])) < SMALL)

    def _along(self, j: int) -> bool:
        axis = self.z[self.r1 - 1]
        if np.linalg.norm(np.cross(axis, self.chain.gravity)) > SMALL * 10:
            return False
        before = [self.r1] if self.literal else [k for k in range(1, j) if self._turns(k)]
        on_line = [np.linalg.norm(np.cross(axis, self.at[j - 1] - self.at[k - 1])) < SMALL for k in before]
        return all(self._parallel(k) for k in range(1, j)) and all(on_line)

    def _move(self, equation: Mapping[str, str], j: int) -> None:
        """Replace the parameters of links j - 1, j and k (nearest rotational joint before j) as an equation says."""
        near = next((k for k in range(j - 1, 0, -1) if self._turns(k)), 0)
        number = {"i": j - 1, "j": j, "k": near}
        old = {s: self.left.rows[f"{s}{j}"] for s in LINK_SYMBOLS if f"{s}{j}" in self.left.rows}
        for target, text in equation.items():
            name = f"{target[:-1]}{number[target[-1]]}"
            if name in self.left.rows:
                own = self.left.rows[name]
                factors = _factors(text, self.cells[j - 1])
                self.left.rows[name] = own + sum((factors[s] - (target == f"{s}j")) * old[s] for s in old)


def _factors(text: str, cells: Mapping[str, float]) -> dict[str, float]:
    """Coefficient of each parameter of link j in an equation."""
    return {s: float(evaluate(coefficient, cells)) for s, coefficient in _coefficients(text).items()}


@cache
def _coefficients(text: str) -> dict[str, Poly]:
    """{symbol of link j: its coefficient} in an equation, in a, d, t and r."""
    value = read(text)
    assert isinstance(value, Poly)
    parts: dict[str, dict[Monomial, Number]] = {s: {} for s in LINK_SYMBOLS}
    for monomial, number in value.terms.items():
        for symbol in LINK_SYMBOLS:
            if (f"{symbol}j", 1) in monomial:
                parts[symbol][tuple(power for power in monomial if power[0] != f"{symbol}j")] = number
    return {symbol: Poly(terms) for symbol, terms in parts.items()}


def _axes(cells: list[dict[str, float]]) -> tuple[list[Array], list[Array], list[Array]]:
    """Axis, a point of it and the frame of every joint in the ground frame, at the zero position."""
    R, p = np.eye(3), np.zeros(3)
    z, at, frames = [], [], []
    for cell in cells:
        ca, sa, ct, st = np.cos(cell["a"]), np.sin(cell["a"]), np.cos(cell["t"]), np.sin(cell["t"])
        step = np.array([[ct, -st, 0], [ca * st, ca * ct, -sa], [sa * st, sa * ct, ca]])
        p = p + R @ np.array([cell["d"], -cell["r"] * sa, cell["r"] * ca])
        R = R @ step
        z.append(R[:, 2])
        at.append(p)
        frames.append(R)
    return z, at, frames
