"""Search of the free choices of a program for the fewest operations.

Base parameters are not unique: any independent columns that span the same space give the same torques, and which of
them leave most zeros (or most sharing) is known only by counting.  A few good starts are always tried; given a search
time in seconds, a seeded annealing exchanges columns and formulations.  The result is a `Representative`, saved and
replayed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from minertia.base.numeric import Sample
from minertia.codegen.calibrated_programs import CALIBRATED_BUILDERS
from minertia.codegen.formulation import Formulation, parallel_joints
from minertia.codegen.frames import useful_shifts
from minertia.codegen.programs import build
from minertia.codegen.setting import Representative, Setting
from minertia.io.arrays import Array
from minertia.robot.parameters import full_name, split_name

SMALLEST_PIVOT = 0.02
LARGEST = 300.0  # coefficients of a representative: larger ones would cost accuracy
LARGE = 9  # joints: beyond, only a few choices are counted
TIPS_FIRST = ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY", "MZ", "YY", "M")
WITHOUT_CHOICE = frozenset(
    {
        *("synchronous", "friction", "base_regressor", "base_regressor_entries", "recursive_update"),
        *("jacobian", "forward_kinematics", "slotine_li_regressor", "momentum_regressor", "power_regressor"),
        *("differentiator", "parabola_differentiator", "low_pass", "adaptive_start", "adaptive_law", "watch_terms"),
        *CALIBRATED_BUILDERS,
    }
)
# programs whose choice is that of a smaller one with the same recursion
LIKE = {
    "inverse_dynamics_wrench": "inverse_dynamics",
    "forward_dynamics_wrench": "forward_dynamics",
    "coriolis_matrix": "velocity_torque",
    "slotine_li": "inverse_dynamics",
    "inverse_dynamics_derivatives": "inverse_dynamics",
    "forward_dynamics_derivatives": "inverse_dynamics",
    "momentum_observer": "background",
    "elastic_forward_dynamics": "forward_dynamics",
    "elastic_inverse_dynamics": "inverse_dynamics",
}


def representative(
    setting: Setting, name: str, *, effort: float = 0.0, seed: int = 0, start: Representative | None = None
) -> Representative | None:
    """Cheapest representative found for a program; None if there is no choice."""
    if name in WITHOUT_CHOICE or (setting.is_composite and name == "inverse_dynamics"):
        return None
    if setting.is_composite:  # of one program alone
        setting = replace(setting, formulation="newton-euler")
    counted = LIKE.get(name, name)
    search = _OperationSearch(setting, counted, seed)
    if start is None and effort <= 0:  # nothing is drawn
        return _kept_choice(setting, search, is_own=counted == name)
    best = search.exchanged_diagonals(search.cheapest()) if start is None else search.flipped(start)
    return search.anneal(best, effort) if effort > 0 else best


def _kept_choice(setting: Setting, search: _OperationSearch, is_own: bool) -> Representative:
    """Representative without annealing, cached by program; is_own: also try exchanges of diagonal entries."""
    found = setting.found_choices
    if search.name not in found:
        found[search.name] = search.cheapest()
    own = f"{search.name}, exchanged"
    if is_own and own not in found:
        found[own] = search.exchanged_diagonals(found[search.name])
    return found[own if is_own else search.name]


@dataclass
class _ColumnChoice:
    """Choice of independent columns, with every column expressed in them."""

    kept: list[int]
    K: Array


class _OperationSearch:
    def __init__(self, setting: Setting, name: str, seed: int) -> None:
        self.setting, self.name = setting, name
        self.columns = setting.base.columns
        self.rng = np.random.default_rng(seed)
        self.seen: dict[Representative, int] = {}
        self.relations: dict[tuple[float, ...], Array] = {}
        self.parallel = parallel_joints(setting.robot.numeric)

    def cost(self, choice: Representative) -> int:
        """Operation count of the program with this choice, before simplification passes, which change it little."""
        if choice not in self.seen:
            self.seen[choice] = sum(build(self.setting, self.name, choice, thorough=None).operations)
        return self.seen[choice]

    def cheapest(self) -> Representative:
        """Best initial choice with its cheapest formulation."""
        return self.flipped(min(self.starts(), key=self.cost))

    def starts(self) -> list[Representative]:
        """Initial choices: the closed form, and columns from the tips with complete last links, in several frames."""
        return [
            Representative(kept, shifts=shifts)
            for shifts in self._shifts()
            for kept in dict.fromkeys((self.setting.base.kept, self._from_tips(shifts)))
            if np.linalg.cond(self._K(shifts)[:, [self.columns.index(name) for name in kept]]) < 1e6
        ]

    def _shifts(self) -> list[tuple[float, ...]]:
        if self.setting.robot.open_cuts:
            return [(0.0,) * self.setting.robot.n_joints]  # cuts stay where they are in the links
        found = useful_shifts(self.setting.robot.numeric)
        return found[:2] if self.setting.robot.n_joints > LARGE else found

    def _from_tips(self, shifts: tuple[float, ...]) -> tuple[str, ...]:
        order = sorted((c for c in range(len(self.columns)) if self._may_carry(c)), key=self._tips_first)
        K = self._K(shifts)
        kept = sorted(Sample.of_relations(K).chosen(order, len(K)))
        return tuple(self.columns[c] for c in kept)

    def _K(self, shifts: tuple[float, ...]) -> Array:
        if shifts not in self.relations:
            self.relations[shifts] = self.setting.relations(shifts)
        return self.relations[shifts]

    def _is_effect(self, c: int) -> bool:
        return split_name(self.columns[c])[0] not in TIPS_FIRST

    def _may_carry(self, c: int) -> bool:
        """Whether a column may be chosen: link parameters, and effects that the base parameters retain.

        Other effects would move efforts between parts that are computed separately, such as the weight of a prismatic
        joint into its offset.
        """
        return not self._is_effect(c) or self.columns[c] in self.setting.base.kept

    def _tips_first(self, c: int) -> tuple[int, int, int]:
        symbol, link = split_name(self.columns[c])
        is_effect = self._is_effect(c)
        return (not is_effect, -link, -1 if is_effect else TIPS_FIRST.index(symbol))

    # ------------------------------------------------------------------ formulation

    def flipped(self, choice: Representative) -> Representative:
        """Flip each switch of the formulation while that reduces the cost; on large robots all at once."""
        if self.setting.robot.n_joints > LARGE:
            every = Formulation(frozenset(self.parallel), frozenset(self.parallel))
            return min((choice, replace(choice, formulation=every)), key=self.cost)
        improved = True
        while improved:
            improved = False
            for switch in self._switches():
                tried = replace(choice, formulation=_flip(choice.formulation, *switch))
                if self.cost(tried) < self.cost(choice):
                    choice, improved = tried, True
        return choice

    def _switches(self) -> list[tuple[str, int]]:
        robot = self.setting.robot
        first = [j for j in self.parallel if robot.joints[j].parent not in self.parallel]
        found = [(kind, j) for kind in ("turns", "moments") for j in self.parallel] + [("forces", j) for j in first]
        slides = any(joint.kind == "prismatic" for joint in robot.joints)  # there a mass is among the parameters
        has_unit = slides and self.setting.parameters == "baked" and not robot.is_floating
        return found + [("unit", j) for j in range(robot.n_joints) if has_unit]

    # ------------------------------------------------------------------ columns

    def exchanged_diagonals(self, choice: Representative) -> Representative:
        """Replace XX or ZZ by YY of the next revolute link, while that reduces the cost.

        A revolute joint does not excite diag(YY, YY, 0) of its link, so YY may represent a diagonal entry before it.
        """
        if self.setting.robot.n_joints > LARGE:
            return choice
        point, improved = self._point(choice), True
        while improved:
            improved = False
            for out, put in self._diagonals():
                if out not in point.kept or put in point.kept:
                    continue
                tried_point = _pivoted(point, point.kept.index(out), put)
                if tried_point is None:
                    continue
                tried = replace(choice, kept=self._names(tried_point))
                if self.cost(tried) < self.cost(choice):
                    point, choice, improved = tried_point, tried, True
        return choice

    def _diagonals(self) -> list[tuple[int, int]]:
        """Columns of XX and ZZ of a revolute link, each with YY of the next revolute links."""
        place = {name: c for c, name in enumerate(self.columns)}
        pairs = [
            (full_name(symbol, near + 1), full_name("YY", far + 1))
            for near, far in self._next_turning()
            for symbol in ("XX", "ZZ")
        ]
        return [(place[out], place[put]) for out, put in pairs if out in place and put in place]

    def _next_turning(self) -> list[tuple[int, int]]:
        """Revolute joints with the preceding revolute joint, prismatic joints skipped."""
        joints, found = self.setting.robot.joints, []
        for far, joint in enumerate(joints):
            near = joint.parent
            while near is not None and joints[near].kind != "revolute":
                near = joints[near].parent
            if joint.kind == "revolute" and near is not None:
                found.append((near, far))
        return found

    def _names(self, point: _ColumnChoice) -> tuple[str, ...]:
        return tuple(self.columns[c] for c in sorted(point.kept))

    def anneal(self, choice: Representative, seconds: float) -> Representative:
        """Simulated annealing by random exchanges for the given time."""
        here = best = choice
        point = self._point(choice)
        begin, end = time.monotonic(), time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            temperature = 2.5 * (1 - (now - begin) / seconds) ** 2
            tried_point, tried = self._neighbour(point, here)
            change = self.cost(tried) - self.cost(here)
            if change <= 0 or self.rng.random() < math.exp(-change / max(temperature, 1e-9)):
                point, here = tried_point, tried
            if self.cost(here) < self.cost(best):
                best = here
            elif self.cost(here) > self.cost(best) + 12:
                here, point = best, self._point(best)
        return best

    def _point(self, choice: Representative) -> _ColumnChoice:
        kept = [self.columns.index(name) for name in choice.kept]
        K = self._K(choice.shifts)
        return _ColumnChoice(kept, np.asarray(np.linalg.solve(K[:, kept], K), float))

    def _neighbour(self, point: _ColumnChoice, choice: Representative) -> tuple[_ColumnChoice, Representative]:
        formulation = choice.formulation
        switches = self._switches()
        if switches and self.rng.random() < 0.1:
            formulation = _flip(formulation, *switches[int(self.rng.integers(len(switches)))])
        for _ in range(int(self.rng.choice([1, 1, 1, 2, 2, 3]))):
            point = self._exchanged(point)
        return point, Representative(self._names(point), formulation, choice.shifts)

    def _exchanged(self, point: _ColumnChoice) -> _ColumnChoice:
        """Exchange one of the retained columns for another, if the pivot is large enough."""
        usable = np.abs(point.K) > SMALLEST_PIVOT
        effects = [c for c in range(len(self.columns)) if self._is_effect(c)]
        usable[:, [*point.kept, *effects]] = False
        usable[np.isin(point.kept, effects)] = False
        rows, columns = np.nonzero(usable)
        if not len(rows):
            return point
        k = int(self.rng.integers(len(rows)))
        return _pivoted(point, int(rows[k]), int(columns[k])) or point


def _pivoted(point: _ColumnChoice, row: int, column: int) -> _ColumnChoice | None:
    """Replace the retained column of a row; None if the pivot is small or coefficients become large."""
    if abs(point.K[row, column]) <= SMALLEST_PIVOT:
        return None
    factors = point.K[:, column] / point.K[row, column]
    factors[row] = 0.0
    K = point.K - np.outer(factors, point.K[row])
    K[row] = point.K[row] / point.K[row, column]
    K[np.abs(K) < 1e-12] = 0.0
    if np.abs(K).max() > LARGEST:
        return None
    kept = list(point.kept)
    kept[row] = column
    return _ColumnChoice(kept, K)


def _flip(formulation: Formulation, kind: str, j: int) -> Formulation:
    if kind == "unit":
        return replace(formulation, unit=None if formulation.unit == j else j)
    if kind == "turns":
        return replace(formulation, turns=formulation.turns ^ {j})
    if kind == "moments":
        return replace(formulation, moments=formulation.moments ^ {j})
    return replace(formulation, forces=formulation.forces ^ {j})
