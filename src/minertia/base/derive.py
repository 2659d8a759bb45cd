"""`base_parameters`: rules in letters, then the numerical completion that confirms or completes them.

The rules of the papers leave a few parameters too many where gravity is zero and axes meet, or where joints depend on
one another.  So every method ends with the rank of the regressor itself: what the rules left and the rank does not
allow is merged numerically and marked so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.algebra.linear import Linear
from minertia.algebra.scalar import Scalar
from minertia.base import numeric
from minertia.base.closed_form import closed_form
from minertia.base.grouping import Array, BaseParameters, matrix_of
from minertia.base.mlc import minimal_combinations
from minertia.base.numeric import Certificate
from minertia.errors import UnknownName
from minertia.robot.parameters import regrouped_name, split_name
from minertia.robot.robot import Robot, expect_robot
from minertia.threads import one_thread

METHODS = ("closed-form", "mlc", "numeric")
CONFIRMED = 1e-9  # largest reconstruction error of a set that is right
PREFERENCE = ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY", "M", "MZ", "YY")  # kept first where there is a choice


@dataclass(frozen=True)
class _Set:
    """A set on its way: forms over the columns, their matrix, independent columns, which forms are numeric."""

    names: tuple[str, ...]
    forms: tuple[Linear, ...]
    K: Array
    kept: tuple[int, ...]
    is_numeric: tuple[bool, ...]


def base_parameters(
    robot: Robot,
    method: str = "closed-form",
    *,
    rotors: bool = False,
    friction: bool = False,
    gravity: Sequence[float] | None = None,
    keep: Sequence[str] = (),
    seed: int = 0,
) -> BaseParameters:
    """The base parameters of a robot (theory, eq. 13), with relations in letters and a certificate.

    method: "closed-form" (regrouping rules), "mlc" (minimal linear combinations) or "numeric".  rotors, friction:
    include IA, and FV, FC, OFF.  gravity [m/s2] in the base frame instead of the robot's.  keep: columns to keep as
    representatives where there is a choice.  seed: of the random states of the certificate.
    """
    expect_robot(robot)
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    robot = robot if gravity is None else robot.with_gravity(gravity)
    columns = robot.columns(rotors, friction)
    for name in keep:
        if name not in columns:
            raise UnknownName("column", name, columns)
    with one_thread():
        return _derive(robot, method, columns, tuple(keep), seed)


def _derive(robot: Robot, method: str, columns: tuple[str, ...], keep: tuple[str, ...], seed: int) -> BaseParameters:
    states = numeric.enough_states(robot, len(columns))
    R = numeric.triangle(numeric.sample_regressor(robot, columns, states, seed))
    rank, gap = numeric.rank_and_gap(R)
    found = _numeric_set(R, columns, keep) if method == "numeric" else _completed(robot, columns, keep, R, rank)
    if numeric.reconstruction_error(R, found.kept, found.K) > CONFIRMED or len(found.names) != rank:
        found, method = _numeric_set(R, columns, keep), "numeric"  # the rules do not hold here: trust the rank
    if method == "mlc":
        found = _as_combinations(robot, columns, found)
    where = {name: c for c, name in enumerate(columns)}
    forms = tuple(_sorted(form, where, columns[c]) for form, c in zip(found.forms, found.kept, strict=True))
    error = numeric.reconstruction_error(R, found.kept, found.K)
    return BaseParameters(
        robot=robot,
        method=method,
        columns=columns,
        names=found.names,
        relations=forms,
        is_numeric=found.is_numeric,
        K=_frozen(found.K),
        kept=tuple(columns[c] for c in found.kept),
        certificate=Certificate(rank, gap, error, states, seed),
    )


def _completed(robot: Robot, columns: tuple[str, ...], keep: tuple[str, ...], R: Array, rank: int) -> _Set:
    """The closed form, with chosen columns exchanged in and what the rank does not allow merged."""
    left = closed_form(robot, columns)
    where = {name: c for c, name in enumerate(columns)}
    kept = [where[name] for name in left]
    forms = list(left.values())
    K = matrix_of(forms, columns, robot.symbol_values)
    is_numeric = [False] * len(forms)
    if len(kept) > rank:
        order = _order(columns, kept, keep)
        chosen = sorted(numeric.independent_columns(R, order))
        merged = numeric.express(R[:, kept], [kept.index(c) for c in chosen])
        forms, is_numeric = _merged(forms, [kept.index(c) for c in chosen], merged)
        kept, K = chosen, merged @ K
    found = _Set((), tuple(forms), K, tuple(kept), tuple(is_numeric))
    for name in keep:
        found = _exchanged(found, columns, where[name], keep)
    return _named(found, columns)


def _merged(forms: list[Linear], chosen: list[int], merged: Array) -> tuple[list[Linear], list[bool]]:
    """Forms of the chosen columns plus numeric multiples of those that go."""
    result, flags = [], []
    for row, c in enumerate(chosen):
        form: Scalar = forms[c]
        others = [int(k) for k in np.flatnonzero(merged[row]) if k != c]
        for k in others:
            factor = float(merged[row, k])
            form = form + forms[k] * (int(factor) if factor in (1, -1) else factor)
        result.append(form)
        flags.append(bool(others))
    return result, flags


def _exchanged(found: _Set, columns: Sequence[str], column: int, keep: Sequence[str]) -> _Set:
    """The same space with another column as representative, if it is not one already and appears in a relation.

    Gaussian elimination on the forms themselves, so letters stay where the pivot is a number.
    """
    free = [row for row, c in enumerate(found.kept) if columns[c] not in keep and found.K[row, column] != 0]
    if column in found.kept or not free:
        return found
    row = max(free, key=lambda k: abs(found.K[k, column]))
    factors = found.K[:, column] / found.K[row, column]
    factors[row] = 0.0
    K = found.K - np.outer(factors, found.K[row])
    K[row] = found.K[row] / found.K[row, column]
    K = numeric.cleared(K)
    forms, flags = list(found.forms), list(found.is_numeric)
    pivot = found.forms[row].terms[columns[column]]
    if isinstance(pivot, int) and pivot in (1, -1):
        lead = found.forms[row] * pivot
        for k in np.flatnonzero(factors):
            forms[k] = forms[k] - lead * forms[k].terms[columns[column]]
            flags[k] |= flags[row]
        forms[row] = lead
    else:
        for k in (*np.flatnonzero(factors), row):
            forms[k], flags[k] = _form_of(K[k], columns), True
    kept = tuple(column if k == row else c for k, c in enumerate(found.kept))
    return replace(found, forms=tuple(forms), K=K, kept=kept, is_numeric=tuple(flags))


def _numeric_set(R: Array, columns: tuple[str, ...], keep: tuple[str, ...]) -> _Set:
    kept = sorted(numeric.independent_columns(R, _order(columns, range(len(columns)), keep)))
    K = numeric.express(R, kept)
    forms = tuple(_form_of(row, columns) for row in K)
    flags = tuple(any(type(c) is float for c in form.terms.values()) for form in forms)
    return _named(_Set((), forms, K, tuple(kept), flags), columns)


def _form_of(row: Array, columns: Sequence[str]) -> Linear:
    numbers = {columns[int(c)]: float(row[c]) for c in np.flatnonzero(row)}
    return Linear({name: int(v) if v == int(v) else v for name, v in numbers.items()})


def _order(columns: Sequence[str], among: Sequence[int], keep: Sequence[str]) -> list[int]:
    """Chosen columns first, then from the tips to the base by preference, effects before links."""

    def key(c: int) -> tuple[int, int, int]:
        symbol, link = split_name(columns[c])
        rank = PREFERENCE.index(symbol) if symbol in PREFERENCE else -1
        return (0 if columns[c] in keep else 1, -link, rank)

    return sorted(among, key=key)


def _named(found: _Set, columns: Sequence[str]) -> _Set:
    names = []
    for c, form in zip(found.kept, found.forms, strict=True):
        alone = form.terms.keys() == {columns[c]}
        names.append(columns[c] if alone else regrouped_name(*split_name(columns[c])))
    return replace(found, names=tuple(names))


def _as_combinations(robot: Robot, columns: tuple[str, ...], found: _Set) -> _Set:
    """The same space spanned by Lin's combinations; where they are too many, some are merged numerically."""
    combinations = minimal_combinations(robot, columns)
    names, forms = list(combinations), list(combinations.values())
    L = matrix_of(forms, columns, robot.symbol_values)
    if len(names) == len(found.names):
        return _Set(tuple(names), tuple(forms), L, found.kept, (False,) * len(names))
    B: Array = np.asarray(np.linalg.lstsq(L.T, found.K.T, rcond=None)[0].T, float)  # K = B L
    chosen = sorted(numeric.independent_columns(B, range(len(names) - 1, -1, -1)))
    merged = numeric.express(B, chosen)
    merged_forms, flags = _merged(forms, chosen, merged)
    return _Set(tuple(names[c] for c in chosen), tuple(merged_forms), merged @ L, found.kept, tuple(flags))


def _sorted(form: Linear, where: Mapping[str, int], own: str) -> Linear:
    """Terms in the order of the columns, the parameter's own column first."""
    names = sorted(form.terms, key=lambda name: (name != own, where[str(name)]))
    return Linear({name: form.terms[name] for name in names})


def _frozen(K: Array) -> Array:
    K = np.array(K)
    K.flags.writeable = False
    return K
