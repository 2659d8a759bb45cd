"""Candidate sets of base parameters: by rules, completed by rank, as minimal combinations, or numeric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.algebra.linear import Linear
from minertia.algebra.quotient import number_of
from minertia.algebra.scalar import Scalar
from minertia.base.alike import alike_relations
from minertia.base.certificate import CONFIRMED
from minertia.base.closed_form import closed_form
from minertia.base.cut_joints import PREFERENCE, Relation, cut_relations, preference, with_relations, without_columns
from minertia.base.geometry import FINEST, TOLERANCE, Axes
from minertia.base.grouping import matrix_of
from minertia.base.mlc import minimal_combinations
from minertia.base.numeric import Sample
from minertia.io.arrays import Array
from minertia.robot.effects import STANDARD_SYMBOLS, STANDARD_TWINS
from minertia.robot.parameters import LINK_SYMBOLS, regrouped_name, split_name
from minertia.robot.robot import Robot

SAME = 1e-8  # part of the largest factor of a merged form by which factors at other values of the symbols may differ
MET = 1e-9  # part of its longest column by which a relation may miss zero
LEFT = {  # what the rules leave of a link, in the order it is tried; the rest goes to the parent
    "revolute": ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY"),
    "prismatic": ("M", "MX", "MY", "MZ"),
}


@dataclass(frozen=True)
class BaseSet:
    """Candidate set: forms over the columns, their matrix, independent columns, and flags of numeric forms."""

    names: tuple[str, ...]
    forms: tuple[Linear, ...]
    K: Array
    kept: tuple[int, ...]
    is_numeric: tuple[bool, ...]


class Sets:
    """Candidate sets of base parameters of one robot, from its regressor at random states.

    sample: regressor at the robot's values.  other: regressor at other `values` of its symbols, None if it
    has no symbols.  rules: the set of the closed form, None if it does not reconstruct the regressor.
    """

    def __init__(
        self,
        robot: Robot,
        columns: tuple[str, ...],
        keep: tuple[str, ...],
        sample: Sample,
        other: Sample | None,
        values: Mapping[str, float],
    ) -> None:
        self.robot, self.columns, self.keep, self.sample, self.other = robot, columns, keep, sample, other
        self.samples = [(sample, robot.symbol_values), *([] if other is None else [(other, values)])]
        self.where = {name: c for c, name in enumerate(columns)}
        self.absent = robot.massless_columns
        self.present = tuple(name for name in columns if name not in self.absent)
        self.axes, self.rules = self._rules()

    def _rules(self) -> tuple[Axes, BaseSet | None]:
        """Axes and closed-form set; with the finest axis tolerance if the default one would change the efforts.

        The set is None if it does not reconstruct the regressor.
        """
        draws = [values for _, values in self.samples]
        for tolerance in (TOLERANCE, FINEST):
            axes = Axes(self.robot, tolerance)
            left = closed_form(self.robot, self.columns, axes)
            left = without_columns(left, self.absent, draws) if self.absent else left
            left = with_relations(left, self._loop_relations(), draws)
            left = {name: left[name] for name in self.columns if name in left}
            forms, kept = tuple(left.values()), tuple(self.where[name] for name in left)
            K = matrix_of(forms, self.columns, self.robot.symbol_values)
            is_set = not self.robot.cuts or np.linalg.matrix_rank(K[:, list(kept)]) == len(kept)
            if is_set and self.sample.error(kept, K) < 0.1 * CONFIRMED:
                return axes, BaseSet((), forms, K, kept, (False,) * len(forms))
        return axes, None

    def _loop_relations(self) -> Iterator[Relation]:
        """Relations of closed kinematic chains between the columns, verified at other states if found numerically."""
        yield from cut_relations(self.robot, self.present)
        for relation in alike_relations(self.robot):
            if all(name in self.present for name in relation) and self._is_met(relation):
                yield relation
        if self.robot.cuts:
            yield from ({name: 1} for name in self.present if self._has_no_effect(name))

    def _has_no_effect(self, name: str) -> bool:
        """Whether a column is zero at all drawn symbol values, as for links that loops prevent from rotating."""
        return not any(sample.shown[self.where[name]] for sample, _ in self.samples)

    def _is_met(self, relation: Relation) -> bool:
        """Whether a relation holds at the states, also at other values of the symbols."""
        places = [self.where[name] for name in relation]
        factors = [[float(number_of(v, values)) for v in relation.values()] for _, values in self.samples]
        pairs = zip(self.samples, factors, strict=True)
        return all(_is_zero(sample.R[:, places] * np.array(own)) for (sample, _), own in pairs)

    def by(self, method: str, rank: int) -> BaseSet:
        """Candidate set of a method with `rank` parameters."""
        if method == "numeric" or self.rules is None:
            return self._numeric(rank)
        found = self._completed(self.rules, rank)
        return self._as_combinations(found) if method == "mlc" and not self.robot.sensors else found

    def _completed(self, rules: BaseSet, rank: int) -> BaseSet:
        """Closed-form set with the requested columns exchanged in and parameters beyond the rank merged."""
        found = rules
        if len(rules.kept) > rank:
            order = self._order(rules.kept)
            chosen = tuple(sorted(self.sample.chosen(order, rank)))
            merged = self.sample.express(chosen, rules.kept)
            forms = _merged(rules.forms, [rules.kept.index(c) for c in chosen], merged)
            flags = self._depends_on_values(chosen, rules.kept, merged)
            found = BaseSet((), tuple(forms), merged @ rules.K, chosen, flags)
        for name in self.keep:
            found = self._exchanged(found, name)
        return _named(found, self.columns)

    def _order(self, among: Sequence[int]) -> list[int]:
        """Requested columns first, then base to tip in the order of the rules; for loops see `_tips_first`."""
        if self.robot.cuts:
            return _tips_first(self.columns, among, self.keep)
        return sorted(among, key=lambda c: (self.columns[c] not in self.keep, c))

    def _depends_on_values(self, chosen: Sequence[int], among: Sequence[int], merged: Array) -> tuple[bool, ...]:
        """Flags of merged forms that hold for this robot's values only: coefficients vary with the symbols.

        Coefficients that do not vary come from constants of the robot file without symbols, such as gravity and
        drives.
        """
        if self.other is None or self.other.rank_and_gap(among)[0] != len(chosen):
            return _differs(merged, None)
        return _differs(merged, self.other.express(chosen, among))

    def _exchanged(self, found: BaseSet, name: str) -> BaseSet:
        """Span the same space with another column as representative, if it occurs in a relation and is not one yet.

        Gaussian elimination on the linear forms, so symbols stay symbolic.
        """
        column = self.where[name]
        free = [k for k, c in enumerate(found.kept) if self.columns[c] not in self.keep and found.K[k, column] != 0]
        if column in found.kept or not free:
            return found
        row = max(free, key=lambda k: abs(found.K[k, column]))
        lead = found.forms[row] / found.forms[row].terms[name]
        forms, flags = list(found.forms), list(found.is_numeric)
        for k, form in enumerate(found.forms):
            if name in form.terms:
                forms[k] = lead if k == row else form - lead * form.terms[name]
                flags[k] |= flags[row]
        K = matrix_of(forms, self.columns, self.robot.symbol_values)
        kept = tuple(column if k == row else c for k, c in enumerate(found.kept))
        return replace(found, forms=tuple(forms), K=K, kept=kept, is_numeric=tuple(flags))

    def _numeric(self, rank: int) -> BaseSet:
        """Candidate set from the rank alone.

        Forms with the same integer coefficients at both draws are not numeric.
        """
        order = _expected_order(self.robot, self.columns, self.keep)
        kept = tuple(sorted(self.sample.chosen(order, rank)))
        K = self.sample.express(kept)
        constant = (np.rint(K) == K).all(axis=1)
        if self.other is not None and self.other.rank_and_gap(kept)[0] == rank:
            constant &= (self.other.express(kept) == K).all(axis=1)
        elif self.other is not None:
            constant &= np.count_nonzero(K, axis=1) == 1
        forms = tuple(_form_of(row, self.columns) for row in K)
        return _named(BaseSet((), forms, K, kept, tuple(bool(c) for c in ~constant)), self.columns)

    def _as_combinations(self, found: BaseSet) -> BaseSet:
        """Span the same space by Lin's minimal linear combinations; combinations beyond the rank are merged."""
        combinations = minimal_combinations(self.robot, self.present, self.axes)
        names, forms = tuple(combinations), tuple(combinations.values())
        L = matrix_of(forms, self.columns, self.robot.symbol_values)
        if len(names) == len(found.kept):
            return BaseSet(names, forms, L, found.kept, (False,) * len(names))
        space = _in_combinations(found.K, L, self.sample)
        outwards = range(len(names))
        chosen = sorted(space.chosen(outwards[::-1] if self.robot.cuts else outwards, len(found.kept)))
        merged = space.express(chosen)
        merged_forms = tuple(_merged(forms, chosen, merged))
        flags = _differs(merged, self._merged_elsewhere(found, forms, chosen))
        return BaseSet(tuple(names[c] for c in chosen), merged_forms, merged @ L, found.kept, flags)

    def _merged_elsewhere(self, found: BaseSet, forms: Sequence[Linear], chosen: Sequence[int]) -> Array | None:
        """Coefficients of merged combinations at other values of the symbols; None if the set is numeric there."""
        if self.other is None or any(found.is_numeric):
            return None
        values = self.samples[1][1]
        K, L = (matrix_of(each, self.columns, values) for each in (found.forms, forms))
        space = _in_combinations(K, L, self.other)
        return space.express(chosen) if space.rank_and_gap(chosen)[0] == len(chosen) else None


def _in_combinations(K: Array, L: Array, sample: Sample) -> Sample:
    """Matrix B of K = B L up to row scaling, as a sample; columns are first scaled by the sample's column scales."""
    units = np.where(sample.scale > 0, sample.scale, 1.0)
    K, L = K / units, L / units
    sizes = np.linalg.norm(L, axis=1)
    sizes = np.where(sizes > 0, sizes, 1.0)
    K, L = K / np.linalg.norm(K, axis=1)[:, None], L / sizes[:, None]
    B = np.asarray(np.linalg.lstsq(L.T, K.T, rcond=None)[0].T, float)
    return Sample.of_matrix(B / sizes, 1 / sizes)


def _differs(merged: Array, elsewhere: Array | None) -> tuple[bool, ...]:
    """Flags of merged forms whose coefficients differ, or may differ, at other values of the symbols."""
    others = np.count_nonzero(merged, axis=1) > 1
    if elsewhere is not None:
        size = np.abs(merged).max(axis=1, initial=1.0)
        others &= np.abs(elsewhere - merged).max(axis=1, initial=0.0) > SAME * size
    return tuple(bool(flag) for flag in others)


def _is_zero(terms: Array) -> bool:
    """Whether columns sum to zero relative to the longest of them."""
    longest = np.linalg.norm(terms, axis=0).max(initial=0.0)
    return float(np.linalg.norm(terms.sum(axis=1))) <= MET * float(longest)


def _merged(forms: Sequence[Linear], chosen: Sequence[int], merged: Array) -> list[Linear]:
    """Forms of the chosen columns plus numeric multiples of the eliminated ones."""
    result = []
    for row, c in enumerate(chosen):
        form: Scalar = forms[c]
        others = [int(k) for k in np.flatnonzero(merged[row]) if k != c]
        for k in others:
            factor = float(merged[row, k])
            form = form + forms[k] * (int(factor) if factor in (1, -1) else factor)
        result.append(form)
    return result


def _form_of(row: Array, columns: Sequence[str]) -> Linear:
    numbers = {columns[int(c)]: float(row[c]) for c in np.flatnonzero(row)}
    return Linear({name: int(v) if v == int(v) else v for name, v in numbers.items()})


def _tips_first(columns: Sequence[str], among: Sequence[int], keep: Sequence[str]) -> list[int]:
    """Requested columns first, then from the tips to the base by preference, effects before links."""

    def key(c: int) -> tuple[int, int, int]:
        symbol, link = split_name(columns[c])
        return (0 if columns[c] in keep else 1, -link, preference(symbol))

    return sorted(among, key=key)


def _expected_order(robot: Robot, columns: Sequence[str], keep: Sequence[str]) -> list[int]:
    """Requested columns first, then those the rules retain, from the tips to the base, then effects and others."""

    def key(c: int) -> tuple[int, int, int, int]:
        symbol, link = split_name(columns[c])
        is_whole = link == 0 or link > robot.n_joints  # a floating base, or the far part of a sensor
        left = LINK_SYMBOLS if is_whole else LEFT[robot.joints[link - 1].kind]
        stage = 0 if symbol in left else 1 if symbol in (*STANDARD_SYMBOLS, *STANDARD_TWINS) else 2
        rank = left.index(symbol) if symbol in left else PREFERENCE.index(symbol) if symbol in PREFERENCE else 0
        return (0 if columns[c] in keep else 1, stage, -link, rank)

    return sorted(range(len(columns)), key=key)


def _named(found: BaseSet, columns: Sequence[str]) -> BaseSet:
    names = []
    for c, form in zip(found.kept, found.forms, strict=True):
        alone = form.terms.keys() == {columns[c]}
        names.append(columns[c] if alone else regrouped_name(*split_name(columns[c])))
    return replace(found, names=tuple(names))
