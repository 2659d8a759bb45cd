"""Scanned constants: of the columns for several values of one, the best stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import weighted_solution
from minertia.identification.problem.triangles import triangle
from minertia.io.arrays import Array

ROUNDS = 3


def best_terms(observation: Observation) -> Observation:
    """Keep one column of each scanned effect (Stribeck velocities), joint by joint, by the sum of squares.

    All candidates were streamed together, so nothing is read again.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    where = {name: k for k, name in enumerate(observation.names)}
    for term in observation.model.choice.terms:
        if term.tag and term.name in where:
            groups.setdefault((term.symbol, term.joint), []).append(where[term.name])
    if not groups:
        return observation
    chosen = {key: group[len(group) // 2] for key, group in groups.items()}
    every = {k for group in groups.values() for k in group}
    others = [k for k in range(observation.count) if k not in every]
    part = observation.reduced(sorted([*others, *chosen.values()]))
    part = part.reduced(excitation(part).independent)
    _, _, sigma = weighted_solution(part)
    R = observation.triangle(sigma)
    for _ in range(ROUNDS):
        before = dict(chosen)
        for key, group in groups.items():
            rest = [*others, *(c for other, c in chosen.items() if other != key)]
            costs = [_cost(R, [*rest, candidate]) for candidate in group]
            chosen[key] = group[int(np.argmin(costs))]
        if chosen == before:
            break
    return _without(observation, sorted([*others, *chosen.values()]))


def _cost(R: Array, columns: list[int]) -> float:
    """Smallest sum of squares with these columns."""
    return float(abs(triangle(R[:, [*columns, R.shape[1] - 1]])[-1, -1]))


def _without(observation: Observation, keep: list[int]) -> Observation:
    """The observation of a model without the other columns."""
    model = observation.model
    part = observation.reduced(keep)
    names = tuple(model.names[k] for k in keep)
    dropped = {model.names[k] for k in range(model.count)} - set(names)
    terms = tuple(t for t in model.choice.terms if t.name not in dropped)
    standard = [c for c, name in enumerate(model.standard) if name not in dropped]
    position = {c: k for k, c in enumerate(standard)}
    smaller = replace(
        model,
        names=names,
        standard=tuple(model.standard[c] for c in standard),
        K=model.K[np.ix_(keep, standard)],
        kept=tuple(position[model.kept[k]] for k in keep),
        choice=replace(model.choice, terms=terms),
        reference=model.reference[keep],
    )
    every = observation.rest

    def rest(beta: Array) -> Iterator[tuple[int, Array]]:
        full = np.zeros(model.count)
        full[keep] = beta
        return every(full)

    return replace(part, model=smaller, rest=rest, keep=tuple(range(len(keep))), shift=np.zeros(len(keep)))
