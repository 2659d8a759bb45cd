"""The linear model of a robot's efforts: its unknowns, and the regressor for a motion.

tau = Y(q, qd, qdd) beta, where beta = K chi are the identifiable combinations of the standard parameters and extra
effects, for this choice of effects and joints.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from minertia.base import numeric
from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.base.numeric import Sample
from minertia.dynamics.effects import UnitEffects
from minertia.dynamics.kinematics import State
from minertia.dynamics.loops.projection import project
from minertia.identification.problem.regressor import Places, regressor_columns, regressor_entries
from minertia.identification.problem.terms import (
    DEFAULT_EFFECTS,
    STANDARD,
    EffectChoice,
    Term,
    Wanted,
    chosen_effects,
)
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, UnknownName
from minertia.io.notebook import clipped, plural
from minertia.io.resources import one_thread
from minertia.robot.effects import BY_SYMBOL, ROTOR_SYMBOLS
from minertia.robot.parameters import LINK_SYMBOLS, full_name, regrouped_name, split_name
from minertia.robot.robot import Robot

Presliding: TypeAlias = Mapping[str, Array]  # displacement (N,) over the largest, by the name of the effect
NO_PATH: Presliding = MappingProxyType({})
SLOWEST = 1e-3  # states over usual ones, that show friction; or the smallest constant, where that is less
OF_SPEED = ("width", "velocity")  # constants of friction
REMEMBERED = 4  # sets of base parameters that are kept
BASE_ROWS = ("base fx", "base fy", "base fz", "base mx", "base my", "base mz")


@dataclass(frozen=True)
class LinearModel:
    """Unknowns and their regressor columns.

    names: the unknowns.  standard: the parameters they combine, chi, with beta = K chi.  kept: standard columns
    from which Y is computed (Y = Y_standard[:, kept] K[:, kept]^-1).  rows: indices of the efforts used.  choice:
    effects, with extra ones as its `terms`.  reference: typical norm of each column, from random states, to
    assess excitation.
    """

    robot: Robot
    base: BaseParameters
    names: tuple[str, ...]
    standard: tuple[str, ...]
    K: Array
    kept: tuple[int, ...]
    rows: tuple[int, ...]
    choice: EffectChoice
    reference: Array

    def __repr__(self) -> str:
        return (
            f"<LinearModel of '{clipped(self.robot.name, 40)}': {plural(self.count, 'unknown')} of "
            f"{len(self.standard)} parameters, efforts of {plural(len(self.rows), 'joint')}>"
        )

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the joints whose efforts are used."""
        every = row_names(self.robot)
        return tuple(every[r] for r in self.rows)

    @property
    def joint_rows(self) -> tuple[int, ...]:
        """Positions, among the efforts used, of those of joints and of the base: all but those of sensors."""
        return tuple(k for k, row in enumerate(self.rows) if row < self.robot.n_velocity)

    @cached_property
    def mixing(self) -> Array | None:
        """Matrix K[:, kept]^-1; None if it is the identity."""
        K = self.K[:, self.kept]
        return None if np.array_equal(K, np.eye(len(self.kept))) else np.asarray(np.linalg.inv(K))

    def columns(
        self,
        q: Array,
        qd: Array,
        qdd: Array,
        load: Array | None = None,
        *,
        temperature: Array | None = None,
        presliding: Presliding = NO_PATH,
        samples: int | None = None,
    ) -> Array:
        """Regressor Y, shape (N, rows, unknowns).

        load (N, efforts): rigid-body torques, for load-dependent effects.  temperature (N, coordinates) [degC].
        presliding: displacements (N,) of effects over the largest, by name; default: those of steady sliding.  samples:
        total number in the pass that these samples belong to, to choose the fastest method; default: these alone.
        """
        names = [self.standard[k] for k in self.kept]
        Y = standard_columns(self, (q, qd, qdd), load, names, samples, temperature, presliding)
        return Y if self.mixing is None else np.asarray(Y @ self.mixing)

    def entries(
        self,
        state: tuple[Array, Array, Array],
        load: Array | None = None,
        *,
        temperature: Array | None = None,
        presliding: Presliding = NO_PATH,
        samples: int | None = None,
    ) -> tuple[Places, tuple[Array, Array]] | None:
        """Entries of Y that may differ from zero: places in a flat (rows, unknowns), and values; see `columns`.

        The values are those of links (N, entries) and, after these, of effects (N, entries).  None if unknowns are
        combinations of columns (`mixing`), or more than these, as with a payload.  An effect acts in one row: most of
        its entries are zero.
        """
        if self.mixing is not None or len(self.kept) != self.count:
            return None
        rows, columns, links = self._link_entries(state, samples)
        where = {self.standard[c]: k for k, c in enumerate(self.kept)}
        wanted = [t for t in self.choice.terms if t.name in where]
        acting = list(_term_efforts(self, wanted, state, load, temperature, presliding))
        efforts = np.empty((len(links), len(acting)))
        for k, (_, _, effort) in enumerate(acting):
            efforts[:, k] = effort
        places = [row * self.count + where[name] for name, row, _ in acting]
        return np.concatenate([rows * self.count + columns, np.array(places, int)]), (links, efforts)

    def _link_entries(self, state: tuple[Array, Array, Array], samples: int | None) -> tuple[Places, Places, Array]:
        """Rows, unknowns (entries,) and values (N, entries) of the entries of Y of links that may differ from zero."""
        names, terms = [self.standard[k] for k in self.kept], {t.name for t in self.choice.terms}
        own = np.array([k for k, name in enumerate(names) if name not in terms], int)
        (rows, columns), links = regressor_entries(self.robot, [names[k] for k in own], state, samples)
        if len(self.rows) < self.robot.n_efforts:
            shown = np.isin(rows, self.rows)
            rows, columns, links = np.searchsorted(self.rows, rows[shown]), columns[shown], links[:, shown]
        return rows, own[columns], links

    def efforts(
        self,
        beta: Array,
        state: tuple[Array, Array, Array],
        load: Array | None = None,
        *,
        temperature: Array | None = None,
        presliding: Presliding = NO_PATH,
        samples: int | None = None,
    ) -> Array:
        """Efforts Y beta of values beta (unknowns, any), shape (N, rows, any); see `columns`, which takes more time."""
        if self.mixing is not None or len(self.kept) != self.count or beta.ndim > 1:
            Y = self.columns(*state, load, temperature=temperature, presliding=presliding, samples=samples)
            return np.asarray(Y @ beta)
        rows, columns, links = self._link_entries(state, samples)
        weights = np.zeros((len(rows), len(self.rows)))
        weights[np.arange(len(rows)), rows] = beta[columns]
        found = np.asarray(links @ weights)
        value = {self.standard[c]: float(beta[k]) for k, c in enumerate(self.kept)}
        wanted = [t for t in self.choice.terms if value.get(t.name)]
        for name, row, effort in _term_efforts(self, wanted, state, load, temperature, presliding):
            found[:, row] += value[name] * effort
        return found

    def values(self, parameters: Mapping[str, float]) -> Array:
        """Unknowns beta from standard parameters by name; missing ones count as 0."""
        return np.asarray(self.K @ np.array([parameters.get(name, 0.0) for name in self.standard]))

    def file_values(self) -> dict[str, float]:
        """Unknowns of the robot file (`nominal`) by name; empty if it has no masses."""
        return dict(zip(self.names, self.nominal().tolist(), strict=True)) if self.robot.has_parameters else {}

    def nominal(self) -> Array:
        """Unknowns beta from the robot's parameters; extra effects take their given value, the robot's, or 0.

        Smooth Coulomb friction that replaces the robot's Coulomb friction takes its value.
        """
        own = dict(zip(self.robot.columns(True, True), self.robot.parameter_vector(True, True).tolist(), strict=True))
        return self.values(self.smooth_values(own) | dict(self.robot.effect_values) | own | self.choice.fixed)

    def smooth_values(self, values: Mapping[str, float]) -> dict[str, float]:
        """Smooth Coulomb friction by name where it replaces that of `values`, or may (candidates have a tag)."""
        terms = [(t, full_name("FC", t.joint + 1)) for t in self.choice.terms if t.symbol == "FCT"]
        return {t.name: values.get(sharp, 0.0) for t, sharp in terms if t.tag or sharp not in self.standard}

    def standard_values(self, beta: Array) -> dict[str, float]:
        """Standard parameters with the same efforts; zero except for the retained columns."""
        chi = np.zeros(len(self.standard))
        chi[list(self.kept)] = beta if self.mixing is None else self.mixing @ beta
        return dict(zip(self.standard, chi.tolist(), strict=True))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Class of each unknown: "alone" (a standard parameter by itself) or "combination"."""
        return tuple("alone" if np.count_nonzero(row) == 1 else "combination" for row in self.K)

    def link_of(self, unknown: int) -> int:
        """Number (from 1) of the link that an unknown belongs to: the link of its retained column."""
        return link_number(self.standard[self.kept[unknown]])

    def is_friction(self, unknown: int) -> bool:
        """Whether an unknown consists of friction and offsets alone."""
        return all(
            symbol_of(self.standard[c]) not in (*LINK_SYMBOLS, *ROTOR_SYMBOLS) for c in np.flatnonzero(self.K[unknown])
        )

    def index(self, name: str) -> int:
        """Index of an unknown."""
        if name not in self.names:
            raise UnknownName("parameter", name, self.names)
        return self.names.index(name)


def row_names(robot: Robot) -> tuple[str, ...]:
    """Names of all efforts: the six of a floating base, if any, one per coordinate, the six of each sensor."""
    measured = tuple(name for one in robot.sensors for name in one.row_names)
    return (BASE_ROWS if robot.is_floating else ()) + robot.coordinate_names + measured


def symbol_of(name: str) -> str:
    """Symbol of a standard or extra column."""
    return name.split("@")[0].rstrip("0123456789")


def is_nonnegative(symbol: str) -> bool:
    """Whether the coefficient of an effect cannot be negative."""
    return symbol in BY_SYMBOL and BY_SYMBOL[symbol].is_nonnegative


def link_number(name: str) -> int:
    """Link or joint number of a standard or extra column, from 1."""
    return int(name.split("@")[0][len(symbol_of(name)) :])


def linear_model(
    robot: Robot,
    effects: Sequence[Wanted] = DEFAULT_EFFECTS,
    *,
    joints: Sequence[str | int] | None = None,
    method: str = "closed-form",
    seed: int = 0,
) -> LinearModel:
    """Linear model for a choice of effects and of joints whose efforts are used (names, or numbers from 1).

    With a subset of joints the unknowns are those that are identifiable from these efforts.
    """
    choice = chosen_effects(robot, effects)
    symbols = {symbol_of(name).removesuffix("M") for name in choice.own}
    with one_thread():
        rotors = bool(symbols & set(ROTOR_SYMBOLS))
        friction = bool(symbols - set(ROTOR_SYMBOLS)) or bool(robot.sensors)  # sensors have biases
        base = _base(robot, method, rotors, friction)
        return _complete(robot, base, choice, chosen_rows(robot, joints), seed)


_derived: list[tuple[weakref.ref[Robot], tuple[str, bool, bool], BaseParameters]] = []  # the one used last stands first


def _base(robot: Robot, method: str, rotors: bool, friction: bool) -> BaseParameters:
    """Base parameters of a robot, derived once for the models that differ in their effects only."""
    key = method, rotors, friction
    found = next((one for one in _derived if one[0]() is robot and one[1] == key), None)
    if found is None:
        found = weakref.ref(robot), key, base_parameters(robot, method, rotors=rotors, friction=friction)
    _derived[:] = [found, *(one for one in _derived if one is not found and one[0]() is not None)][:REMEMBERED]
    return found[2]


def chosen_rows(robot: Robot, joints: Sequence[str | int] | None) -> tuple[int, ...]:
    """Indices of the efforts of the given joints (all by default), in the robot's order."""
    every = row_names(robot)
    if joints is None:
        return tuple(range(len(every)))
    first = robot.n_velocity - robot.n
    rows = set()
    for joint in joints:
        if isinstance(joint, int) or str(joint).isdigit():
            if not 1 <= int(joint) <= robot.n:
                raise MinertiaError(f"there is no joint {joint}; '{robot.name}' has coordinates 1 to {robot.n}")
            rows.add(first + int(joint) - 1)
        elif joint in every:
            rows.add(every.index(joint))
        else:
            raise UnknownName("joint", joint, every)
    if not rows:
        raise MinertiaError("no joint remains to be identified")
    return tuple(sorted(rows))


def _complete(
    robot: Robot, base: BaseParameters, choice: EffectChoice, rows: tuple[int, ...], seed: int
) -> LinearModel:
    """Restrict the base parameters to the chosen effects and rows, add the extra columns, and reduce by rank."""
    chosen = [c for c, name in enumerate(base.columns) if _is_chosen(name, choice)]
    standard = (*(base.columns[c] for c in chosen), *(t.name for t in choice.terms))
    K0 = base.K[:, chosen]
    alive = np.flatnonzero(np.abs(K0).max(axis=1, initial=0.0) > 0)
    n_extra = len(choice.terms)
    K = np.block(
        [
            [K0[alive], np.zeros((alive.size, n_extra))],
            [np.zeros((n_extra, len(chosen))), np.eye(n_extra)],
        ]
    )
    names = (*(base.names[r] for r in alive), *(t.name for t in choice.terms))
    preferred = [standard.index(base.kept[r]) for r in alive if base.kept[r] in standard]
    others = [c for c in range(len(standard)) if c not in preferred]
    kept = _matched(K, Sample.of_relations(K).chosen([*preferred, *others], len(K)))
    model = LinearModel(robot, base, names, standard, K, kept, rows, choice, np.ones(len(names)))
    return _independent(model, seed)


def _matched(K: Array, kept: Sequence[int]) -> tuple[int, ...]:
    """Kept columns in the order of their unknowns, matched by the largest entry of K."""
    left = list(kept)
    result = []
    for row in K:
        c = max(left, key=lambda k: abs(row[k]))
        left.remove(c)
        result.append(c)
    return tuple(result)


def _is_chosen(name: str, choice: EffectChoice) -> bool:
    return symbol_of(name) not in STANDARD or name in choice.own


def _independent(model: LinearModel, seed: int) -> LinearModel:
    """Merge unknowns that these rows cannot distinguish for any motion, and drop unidentifiable ones."""
    states = numeric.enough_states(model.robot, 2 * model.count)
    state = numeric.random_states(model.robot, states, seed)
    rng = np.random.default_rng(seed)
    load = rng.normal(size=(states, model.robot.n_velocity))
    q, qd, qdd = (np.asarray(a) for a in state)
    speeds = [v for t in model.choice.terms for k, v in t.settings.items() if k in OF_SPEED and v > 0]
    slow = 10 ** rng.uniform(np.log10(min([SLOWEST, *speeds])), 0, states)  # these show friction
    qd = qd * np.where(np.arange(states) % 2, 1.0, slow)[:, None]
    warmth = rng.uniform(20.0, 60.0, (states, model.robot.n)) if model.choice.needs("temperature") else None
    slid = {t.name: rng.uniform(-1.0, 1.0, states) for t in model.choice.remembering}
    W = model.columns(q, qd, qdd, load, temperature=warmth, presliding=slid).reshape(-1, model.count)
    R = numeric.triangle(np.ascontiguousarray(W))
    reference = np.linalg.norm(W, axis=0) / np.sqrt(states)
    rank, _ = numeric.rank_and_gap(R)
    if rank == model.count:
        return _replace(model, names=model.names, K=model.K, kept=model.kept, reference=reference)
    fixed = [c for c in range(model.count) if model.names[c] in model.choice.fixed]
    order = [*(c for c in range(model.count) if c not in fixed), *fixed]
    sample = Sample.of_matrix(R)
    chosen = sorted(sample.chosen(order, rank))
    merged = sample.express(chosen)
    names = tuple(_merged_name(model.names[c], int(np.count_nonzero(merged[k])) > 1) for k, c in enumerate(chosen))
    kept = tuple(model.kept[c] for c in chosen)
    return _replace(model, names=names, K=merged @ model.K, kept=kept, reference=reference[chosen])


def _replace(
    model: LinearModel, *, names: tuple[str, ...], K: Array, kept: tuple[int, ...], reference: Array
) -> LinearModel:
    return LinearModel(model.robot, model.base, names, model.standard, K, kept, model.rows, model.choice, reference)


def _merged_name(name: str, is_merged: bool) -> str:
    try:
        symbol, link = split_name(name)
    except ValueError:
        return name
    return regrouped_name(symbol, link) if is_merged else name


def standard_columns(
    model: LinearModel,
    state: tuple[Array, Array, Array],
    load: Array | None,
    names: Sequence[str],
    samples: int | None = None,
    temperature: Array | None = None,
    presliding: Presliding = NO_PATH,
) -> Array:
    """Columns of standard parameters and extra effects by name, shape (N, rows, names); samples: see `columns`."""
    terms = {t.name: t for t in model.choice.terms}
    own = [name for name in names if name not in terms]
    full = regressor_columns(model.robot, own, state, samples)
    every = len(model.rows) == full.shape[1]
    Y = full if every else full[:, list(model.rows)]
    if not terms:
        return Y
    where = {name: k for k, name in enumerate(names)}
    Y, links = np.zeros((len(full), len(model.rows), len(names))), Y
    places = np.array([where[name] for name in own], int)
    for run in np.split(np.arange(len(own)), np.flatnonzero(np.diff(places) != 1) + 1):
        if len(run):  # slices are copied several times as fast as single columns
            Y[:, :, places[run[0]] : places[run[-1]] + 1] = links[:, :, run[0] : run[-1] + 1]
    wanted = [terms[name] for name in names if name in terms]
    for name, row, effort in _term_efforts(model, wanted, state, load, temperature, presliding):
        Y[:, row, where[name]] = effort
    return Y


def combined_columns(
    model: LinearModel,
    state: tuple[Array, Array, Array],
    load: Array | None,
    temperature: Array | None,
    links: Callable[[list[str]], Array],
    weights: Array | None = None,
    presliding: Presliding = NO_PATH,
) -> Array:
    """Regressor Y (N, rows, unknowns) of equations other than effort equations, such as momentum or power.

    links(names): returns the columns of standard parameters.  weights (N, rows): factors with which the efforts
    of an extra effect are summed to one row; by default each effort is its own row.
    """
    names, terms = [model.standard[k] for k in model.kept], {t.name: t for t in model.choice.terms}
    own = [name for name in names if name not in terms]
    inner = links(own)
    Y = np.zeros((*inner.shape[:2], len(names)))
    Y[:, :, [k for k, name in enumerate(names) if name not in terms]] = inner
    wanted = [terms[name] for name in names if name in terms]
    for name, row, effort in _term_efforts(model, wanted, state, load, temperature, presliding):
        if weights is None:
            Y[:, row, names.index(name)] = effort
        else:
            Y[:, 0, names.index(name)] += weights[:, row] * effort
    return Y if model.mixing is None else np.asarray(Y @ model.mixing)


def _term_efforts(
    model: LinearModel,
    terms: Sequence[Term],
    state: tuple[Array, Array, Array],
    load: Array | None,
    temperature: Array | None,
    presliding: Presliding,
) -> Iterator[tuple[str, int, Array]]:
    """Name, row and effort (N,) of extra effects, in the rows of the coordinates that drive its joint or its motor."""
    robot, first = model.robot, 6 * model.robot.is_floating
    if load is None and any("load" in term.effect.inputs for term in terms):
        raise MinertiaError("load-dependent friction needs the rigid-body torques; fit without it first")
    closed = project(robot.numeric, State(*(list(np.ascontiguousarray(values.T)) for values in state)))
    unit = UnitEffects(
        closed.tree,
        closed.state,
        closed.of_active(None if load is None else list(load.T[first:])),
        closed.of_active(None if temperature is None else list(temperature.T)),
    )
    for term in terms:
        efforts = unit.of(term.joint, term.symbol, term.settings, presliding.get(term.name))
        for (row, _), effort in closed.entries({(first + c, ""): effort for c, effort in efforts.items()}).items():
            if row in model.rows:
                yield term.name, model.rows.index(row), np.asarray(effort)
