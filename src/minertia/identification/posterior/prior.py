"""Prior of a robot's parameters: near the values of its file if given, else wide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minertia.identification.physical.consistency import (
    PhysicalSpace,
    impossible_links,
    physical_space,
    values_of_file,
)
from minertia.identification.posterior.density import Density
from minertia.identification.posterior.options import SampleOptions
from minertia.identification.posterior.shown import Shown
from minertia.identification.posterior.space import RobotSpace, robot_space
from minertia.identification.problem.linear import LinearModel, is_nonnegative, link_number, symbol_of
from minertia.io.arrays import Array
from minertia.robot.parameters import LINK_SYMBOLS

VAGUE = 2.0  # prior deviation of a value that the file does not state, over its estimate
EXACT = 1e-4  # deviation of a value that is known, over its size
FILE, FIT = "the robot's file", "the identified values: the robot's file has no masses"


@dataclass(frozen=True)
class Posterior:
    """Posterior density of the parameters of a robot, and the fit's unknowns as linear combinations of them.

    unknowns (unknowns, values): coefficients of each unknown of the fit.  centre: origin of the prior values.
    mended: links whose inertial parameters in the file are not physically consistent; their prior is the
    nearest consistent one.
    """

    density: Density
    unknowns: Array
    centre: str
    mended: tuple[str, ...]

    @property
    def space(self) -> RobotSpace:
        """Coordinates of the parameters."""
        return self.density.space


def posterior_of(
    linear: LinearModel,
    shown: Shown,
    standard: Mapping[str, float],
    known: tuple[Mapping[str, float], Array],
    options: SampleOptions,
) -> Posterior:
    """Posterior density of a fit.

    standard: identified standard parameters, the centre of the prior if the robot file has no masses.  known:
    fixed values by name, and the typical effort of each joint.
    """
    fixed, effort = known
    has_file = linear.robot.has_parameters
    centre = {**values_of_file(linear.robot), **_beyond(linear, shown)} if has_file else standard
    bodies = physical_space(linear, centre, dict(fixed), effort)
    names = (*linear.standard, *shown.own)
    unknowns = _unknowns(linear, shown, names)
    first = np.append(bodies.x0, [shown.own[name] for name in shown.own])
    is_exact = shown.keeps_links and not shown.file_links
    links = () if is_exact else tuple(tuple(bodies.links[k]) for k in _moving(linear, bodies))
    if shown.keeps_links:
        kept = range(len(linear.standard)) if is_exact else bodies.effects
        first[kept] = [standard.get(linear.standard[k], 0.0) for k in kept]
    told = set(np.flatnonzero(unknowns.any(axis=0)).tolist())
    for k in bodies.effects:
        if k not in told:
            first[k] = standard.get(linear.standard[k], 0.0)
    alone = _estimates(shown, unknowns[:, : len(linear.standard)] * options.prior * bodies.scales)
    scaled, shifted, bent = _others(linear, bodies, shown, alone, first, (fixed, told), options)
    space = robot_space(names, first, links, scaled, shifted, link_width=options.prior, bent=bent)
    rows, values = shown.whitened()
    more, exact = _exact(linear, bodies, space, fixed)
    density = Density(space, np.concatenate([rows @ unknowns, more]), np.append(values, exact))
    return Posterior(
        density,
        unknowns,
        FILE if has_file else FIT,
        () if is_exact else impossible_links(linear.robot, bodies.links),
    )


def _beyond(linear: LinearModel, shown: Shown) -> dict[str, float]:
    """Estimates for the parts beyond force/torque sensors: no file has them, so they are the centre of their prior."""
    found = {name: _estimate(shown, k) for k, name in enumerate(shown.names) if name in linear.standard}
    return {n: own[0] for n, own in found.items() if own is not None and link_number(n) > linear.robot.n_joints}


def _unknowns(linear: LinearModel, shown: Shown, names: tuple[str, ...]) -> Array:
    """Unknowns of a fit as linear combinations of the parameters, (unknowns, parameters)."""
    found = np.zeros((len(shown.names), len(names)))
    for k, name in enumerate(shown.names):
        if name in shown.file_links:
            found[k, : len(linear.standard)] = _link_row(linear, name)
        elif name in shown.own or shown.keeps_links:
            found[k, names.index(name)] = 1.0
        else:
            found[k, : len(linear.standard)] = linear.K[linear.index(name)]
    return found


def _link_row(linear: LinearModel, name: str) -> Array:
    """Coefficients of the standard parameters in a retained parameter of a link, without those of rotors."""
    K = linear.K if linear.mixing is None else linear.mixing @ linear.K
    of_links = np.array([symbol_of(own) in LINK_SYMBOLS for own in linear.standard])
    return np.asarray(np.where(of_links, K[linear.kept.index(linear.standard.index(name))], 0.0))


def _moving(linear: LinearModel, bodies: PhysicalSpace) -> list[int]:
    """Numbers of the links that have mass; intermediate frames without mass remain massless."""
    return [link for link, ten in bodies.links.items() if linear.standard[ten[9]] not in linear.robot.massless_columns]


def _others(
    linear: LinearModel,
    bodies: PhysicalSpace,
    shown: Shown,
    alone: Mapping[str, tuple[float, float] | None],
    first: Array,
    known: tuple[Mapping[str, float], set[int]],
    options: SampleOptions,
) -> tuple[list[tuple[int, float]], list[tuple[int, float]], list[tuple[int, float, float]]]:
    """Places and prior deviations of values that vary by a factor, by a sum and bent; `first` gets their centres.

    alone: estimate and standard deviation of each unknown.  known: fixed values, and places of the values that are part
    of an unknown: no other effect varies.
    """
    fixed, told = known
    scaled, shifted, bent = list[tuple[int, float]](), list[tuple[int, float]](), list[tuple[int, float, float]]()
    for k in bodies.effects:
        name = linear.standard[k]
        if name in fixed:
            first[k] = fixed[name]
            continue
        if k not in told:
            continue
        value, deviation = alone.get(name) or (0.0, float(bodies.scales[k]))
        if not is_nonnegative(symbol_of(name)):
            shifted.append((k, max(float(bodies.errors[k]), abs(value - first[k]) + deviation)))
        elif bodies.x0[k] > 0:
            first[k] = bodies.x0[k]
            scaled.append((k, options.joint_prior))
        else:
            first[k] = max(value, deviation)
            bent.append((k, VAGUE * float(first[k]), deviation))
    for k, (name, value) in enumerate(shown.own.items(), len(linear.standard)):
        found = alone.get(name)
        if found is None or not found[1] > 0:
            continue  # the motion does not show it: it stays as it was fitted
        if name in shown.positive:
            first[k] = max(value, found[1])
            bent.append((k, VAGUE * float(first[k]), found[1]))
        else:
            shifted.append((k, VAGUE * max(abs(value), found[1])))
    return scaled, shifted, bent


def _estimates(shown: Shown, by_links: Array) -> dict[str, tuple[float, float] | None]:
    """Estimate and standard deviation of each unknown; None for those that the logs do not determine.

    by_links (unknowns, parameters): prior deviations of the unknowns due to each parameter.  Where the fit kept the
    links, their prior and the logs make estimates more uncertain than exact links would.
    """
    found = {name: _estimate(shown, k) for k, name in enumerate(shown.names)}
    if not shown.file_links:
        return found
    rows, _ = shown.whitened()
    links = [shown.names.index(name) for name in shown.file_links]
    prior = np.eye(len(shown.names))[links] / np.maximum(np.linalg.norm(by_links[links], axis=1), 1e-300)[:, None]
    every = np.concatenate([rows, prior])
    size = np.maximum(np.linalg.norm(every, axis=0), 1e-300)
    deviations = np.linalg.norm(np.linalg.pinv(every / size), axis=1) / size
    both = zip(found.items(), deviations.tolist(), strict=True)
    return {name: None if own is None else (own[0], max(own[1], wider)) for (name, own), wider in both}


def _estimate(shown: Shown, k: int) -> tuple[float, float] | None:
    """Estimate and standard deviation of an unknown from the logs; None if they do not determine it."""
    own = np.flatnonzero(shown.rows[:, k])
    if not len(own):
        return None
    row = int(own[np.argmax(np.abs(shown.rows[own, k]))])
    by_links = sum(shown.rows[row, shown.names.index(name)] * value for name, value in shown.file_links.items())
    return float(shown.values[row] - by_links), float(np.sqrt(max(shown.covariance[row, row], 0.0)))


def _exact(
    linear: LinearModel, bodies: PhysicalSpace, space: RobotSpace, fixed: Mapping[str, float]
) -> tuple[Array, Array]:
    """Equations of known link parameters and known combinations, weighted by a small standard deviation."""
    rows, values = [], []
    varied = set(space.varied)
    for name, value in fixed.items():
        row = np.zeros(len(space.names))
        if name in linear.standard:
            k = linear.standard.index(name)
            if k not in varied:
                continue
            row[k], size = 1.0, float(bodies.scales[k])
        else:
            row[: len(linear.standard)] = linear.K[linear.index(name)]
            size = float(np.abs(row[: len(linear.standard)] * bodies.scales).max())
        deviation = EXACT * max(abs(value), size)
        rows.append(row / deviation)
        values.append(value / deviation)
    return np.array(rows).reshape(-1, len(space.names)), np.array(values)
