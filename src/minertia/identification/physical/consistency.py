"""Physical consistency: positive definite pseudo-inertia of each link, non-negative friction.

The fit needs only the R factor of the data, so the length of the logs does not matter (Wensing, Kim, Slotine
2018; Sousa & Cortesao 2014).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minertia.identification.physical.cones import ConeProgram, dual_matrix, link_svec, svec
from minertia.identification.problem.linear import LinearModel, is_nonnegative, link_number, symbol_of
from minertia.identification.problem.marginal import USUAL_ERROR, Groups, PriorDeviations, grouped
from minertia.identification.problem.observation import Observation
from minertia.io.errors import UnknownName
from minertia.io.resources import one_thread
from minertia.robot.inertia import from_com, impossible, nearest_possible, pseudo_inertia, to_com
from minertia.robot.parameters import BIAS_SYMBOLS, LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot
from minertia.robot.shapes import Extent, link_extents

Array = NDArray[np.float64]
MARGIN = 1e-7  # smallest eigenvalue of a pseudo-inertia, over its trace
BOUNDARY = 1e-3  # of the prior's distance from the boundary: closer than this is at it
GAPS_ONLY = 1e-7  # weight of a prior that only fills what the data leave open
UNKNOWN_EFFECT = 1e-4  # weight of zero for effects the prior does not know: nothing where the data show them
EFFECT_ERROR, OFFSET_ERROR = 2.0, 4.0  # relative error of effects in a file over that of masses
STRONGEST = 1e4  # weight of a prior: from there on it is a fixed value
LIGHT = 1e-2  # of the usual mass of a link, for one that has none
THIN = 1e-3  # of the sum of a body's principal second moments: smallest one of a prior
POINT, BALL = 1e-3, 0.05  # m: a body smaller than the first is a point, for which a ball of the second stands
FARTHEST = 1e6  # m, or m2, from a link's frame
AT_WALL = 1e-4  # of a box's diagonal or a largest mass: a centre of mass or a mass nearer than this is at its limit
PRIORS = ("euclidean", "entropic")


@dataclass(frozen=True)
class PhysicalSpace:
    """Convex set of the physically consistent standard parameters of a linear model.

    prior: a physically consistent robot (default: the nominal one, else bodies of 1 kg and 0.1 m); fixed:
    known parameters.  effort: typical effort of each row, which scales effects without a prior.  extents:
    boxes that contain the centres of mass of links, by link number from 1.  heaviest: largest masses of links
    [kg], by link number from 1.  deviations: standard deviations of the prior by name of the parameter, where they
    are known; each counts as `memory` rows of noise.  beyond: errors of the prior by name that exceed these.
    """

    model: LinearModel
    prior: Mapping[str, float]
    fixed: Mapping[str, float] = field(default_factory=dict)
    effort: tuple[float, ...] = ()
    extents: Mapping[int, Extent] = field(default_factory=dict)
    heaviest: Mapping[int, float] = field(default_factory=dict)
    deviations: Mapping[str, float] = field(default_factory=dict)
    memory: float = 0.0  # over the number of rows
    beyond: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def x0(self) -> Array:
        """Prior values in the order of the standard parameters."""
        return np.array([self.prior.get(name, 0.0) for name in self.model.standard])

    @cached_property
    def links(self) -> dict[int, list[int]]:
        """Indices of the ten parameters of each link."""
        where = {name: k for k, name in enumerate(self.model.standard)}
        numbers = sorted({link_number(n) for n in self.model.standard if symbol_of(n) in LINK_SYMBOLS})
        return {link: [where[full_name(s, link)] for s in LINK_SYMBOLS] for link in numbers}

    @cached_property
    def nonnegative(self) -> list[int]:
        """Indices of effect coefficients that cannot be negative."""
        return [k for k, name in enumerate(self.model.standard) if is_nonnegative(symbol_of(name))]

    @cached_property
    def scales(self) -> Array:
        """Typical magnitude of each parameter, from the prior or the typical effort."""
        scale = np.ones(len(self.model.standard))
        for ten in self.links.values():
            P = pseudo_inertia(self.x0[ten].tolist())
            m = P[3, 3]
            size = np.trace(P[:3, :3])
            scale[ten] = [size] * 6 + [np.sqrt(m * size)] * 3 + [m]
        for k in self.effects:
            row = self._row(self.model.standard[k])
            known = len(self.effort) == len(self.model.rows) and row in self.model.rows  # not of rows of power
            usual = self.effort[self.model.rows.index(row)] if known else 0.1
            scale[k] = max(abs(float(self.x0[k])), _effect_part(self.model.standard[k]) * usual, 1e-6)
        return scale

    def _row(self, name: str) -> int | None:
        """Index of the effort in which an effect, or the bias of a sensor, acts; None for a passive joint."""
        robot, joint = self.model.robot, link_number(name) - 1
        if symbol_of(name) in BIAS_SYMBOLS:
            return robot.n_velocity + 6 * (joint - robot.n_joints) + BIAS_SYMBOLS.index(symbol_of(name))
        return None if robot.joints[joint].is_passive else robot.coordinate_of(joint) + 6 * robot.is_floating

    @cached_property
    def effects(self) -> list[int]:
        """Indices of all parameters that are not inertial parameters of a link."""
        inside = {k for ten in self.links.values() for k in ten}
        return [k for k in range(len(self.model.standard)) if k not in inside]

    def pull(self, weight: float) -> Array:
        """Weight of the prior on each parameter in units of `scales`; very small on effects without a prior."""
        near = np.full(len(self.model.standard), weight)
        for k in self.effects:
            if self.x0[k] == 0:
                near[k] = UNKNOWN_EFFECT
        for k, name in enumerate(self.model.standard):
            if name in self.deviations:
                own = self.memory * (self.scales[k] / self.deviations[name]) ** 2
                near[k] = min(max(own, GAPS_ONLY), STRONGEST)
        return near

    @cached_property
    def errors(self) -> Array:
        """Error of each prior parameter for a relative error of 1 of its masses.

        Friction and offsets change from day to day, so their errors are larger; for an effect without a prior it is a
        multiple of the typical effort.
        """
        found = np.array(self.scales)
        for k in self.effects:
            name = self.model.standard[k]
            known = OFFSET_ERROR if _is_offset(name) else EFFECT_ERROR
            found[k] *= known if self.x0[k] != 0 else OFFSET_ERROR / _effect_part(name)
        for k, name in enumerate(self.model.standard):
            own = self.deviations.get(name, USUAL_ERROR * found[k])
            found[k] = max(own, self.beyond.get(name, 0.0)) / USUAL_ERROR
        return found

    @cached_property
    def roots(self) -> dict[int, Array]:
        """Cholesky factor of each link's prior pseudo-inertia."""
        return {link: _root(self.x0[ten]) for link, ten in self.links.items()}

    @cached_property
    def K(self) -> Array:
        """Matrix from standard parameters in units of `scales` to base parameters."""
        return np.asarray(self.model.K * self.scales)

    def body_rows(self, link: int, width: int, margin: float = 0.0) -> Array:
        """Rows for svec of a link's pseudo-inertia, relative to its prior, on variables in units of `scales`."""
        ten = self.links[link]
        rows = np.zeros((10, width))
        rows[:, ten] = link_svec(self.roots[link], margin) * self.scales[ten]
        return rows

    def centre_rows(self, width: int) -> Array:
        """Rows that are non-negative for centres of mass within their boxes: MX - lower M, upper M - MX etc."""
        found = []
        for link in self.bounded:
            ten, extent = self.links[link], self.extents[link]
            for k in range(3):
                for sign, corner in ((1.0, extent.lower[k]), (-1.0, extent.upper[k])):
                    row = np.zeros(width)
                    row[ten[6 + k]], row[ten[9]] = sign * self.scales[ten[6 + k]], -sign * corner * self.scales[ten[9]]
                    found.append(row / np.abs(row).max())
        return np.array(found).reshape(-1, width)

    def mass_rows(self, width: int) -> tuple[Array, Array]:
        """Rows and constants whose sum is non-negative if no link exceeds its largest mass."""
        rows, largest = np.zeros((len(self.heaviest), width)), np.zeros(len(self.heaviest))
        for k, (link, mass) in enumerate(self.heaviest.items()):
            place = self.links[link][9]
            rows[k, place], largest[k] = -1.0, mass / self.scales[place]
        return rows, largest

    @cached_property
    def bounded(self) -> list[int]:
        """Links with a box constraint on the centre of mass; those with known first moments need none."""
        known = {link_number(name) for name in self.fixed if symbol_of(name) in ("MX", "MY", "MZ")}
        return [link for link in self.links if link in self.extents and link not in known]

    def deviating(self, likely: PriorDeviations, problem: Observation) -> PhysicalSpace:
        """Space whose prior has these deviations in a fit of a problem."""
        rows = max(problem.samples * len(problem.row_names), 1)
        return replace(self, deviations=likely.deviations, memory=likely.memory / rows, beyond=likely.errors)

    def free(self) -> PhysicalSpace:
        """Space without boxes for centres of mass."""
        return replace(self, extents={})

    def no_heavier(self, limits: Mapping[int, float]) -> PhysicalSpace:
        """Space with limits of link masses [kg] by link number from 1; known masses need none."""
        limited = {link: mass for link, mass in limits.items() if link in self.links}
        return replace(self, heaviest={k: v for k, v in limited.items() if full_name("M", k) not in self.fixed})

    def of_any_mass(self, *links: int) -> PhysicalSpace:
        """Space without mass limits for the given links; without any limits if none are given."""
        return replace(self, heaviest={k: mass for k, mass in self.heaviest.items() if links and k not in links})

    def at_heaviest(self, x: Array) -> tuple[int, ...]:
        """Links whose mass is at its limit."""
        return tuple(k for k, mass in self.heaviest.items() if x[self.links[k][9]] > (1 - AT_WALL) * mass)

    def at_walls(self, x: Array) -> tuple[str, ...]:
        """Links whose centre of mass is at the boundary of its box."""
        found = []
        for link in self.bounded:
            ten, extent = x[self.links[link]], self.extents[link]
            com, near = ten[6:9] / ten[9], AT_WALL * float(np.linalg.norm(extent.upper - extent.lower))
            if np.any(com < extent.lower + near) or np.any(com > extent.upper - near):
                found.append(f"centre of mass of link {link}")
        return tuple(found)

    def constrain(self, program: ConeProgram, margin: float, origin: Array) -> None:
        """Add the constraints: links consistent with a margin, effects non-negative, fixed parameters fixed.

        The first variables are the standard parameters in units of `scales`, relative to `origin`.
        """
        width, n = program.variables, len(self.model.standard)
        start = np.concatenate([origin, np.zeros(width - n)])
        for link in self.links:
            rows = self.body_rows(link, width, margin)
            program.semidefinite(rows, rows @ start)
        program.nonnegative(np.eye(width)[self.nonnegative], start[self.nonnegative])
        rows = self.centre_rows(width)
        program.nonnegative(rows, rows @ start)
        rows, largest = self.mass_rows(width)
        program.nonnegative(rows, rows @ start + largest)
        A, b = np.zeros((len(self.fixed), width)), np.zeros(len(self.fixed))
        for k, (name, value) in enumerate(self.fixed.items()):
            if name in self.model.standard:
                c = self.model.standard.index(name)
                A[k, c], b[k] = 1.0, value / self.scales[c]
            else:
                A[k, :n], b[k] = self.K[self.model.index(name)], value
        program.equal(A, b - A @ start)

    def margins(self, x: Array) -> dict[str, float]:
        """Smallest eigenvalue over trace of each link's pseudo-inertia; each non-negative effect over its scale."""
        found = {}
        for link, ten in self.links.items():
            eigenvalues = np.linalg.eigvalsh(pseudo_inertia(x[ten].tolist()))
            found[f"link {link}"] = float(eigenvalues[0] / max(eigenvalues.sum(), 1e-300))
        return found | {self.model.standard[k]: float(x[k] / self.scales[k]) for k in self.nonnegative}


def _effect_part(name: str) -> float:
    """Typical fraction of the effort due to an effect at unit speed or acceleration; small for offsets."""
    return 0.01 if _is_offset(name) else 0.1


def _is_offset(name: str) -> bool:
    return symbol_of(name).startswith("OFF")


def _root(ten: Array) -> Array:
    return np.asarray(np.linalg.cholesky(pseudo_inertia(ten.tolist())), float)


def physical_space(
    model: LinearModel,
    prior: Mapping[str, float] | None = None,
    fixed: Mapping[str, float] | None = None,
    effort: Array | None = None,
) -> PhysicalSpace:
    """Set of physically consistent robots around a prior; inconsistent links of the prior are projected."""
    values = {t.name: 1.0 for t in model.choice.terms if t.symbol == "GAS"}  # stated, so near what was stated
    if prior is not None:
        values |= dict(prior)
    elif model.robot.has_parameters:
        values |= values_of_file(model.robot)
    values = model.smooth_values(values) | values
    known = {**model.choice.fixed, **(fixed or {})}
    for name in known:
        if name not in model.standard and name not in model.names:
            raise UnknownName("parameter", name, (*model.names, *model.standard))
    links = sorted({link_number(n) for n in model.standard if symbol_of(n) in LINK_SYMBOLS})
    light = _light({**values, **known}, links)
    for link in links:
        names = tuple(full_name(s, link) for s in LINK_SYMBOLS)
        ten = [known.get(name, values.get(name, 0.0)) for name in names]
        is_told = any(name in values or name in known for name in names)
        values |= dict(zip(names, _made_physical(ten, light if is_told else 1.0), strict=True))
    usual = () if effort is None else tuple(float(e) for e in effort)
    extents = {j + 1: extent for j, extent in link_extents(model.robot).items() if j + 1 in links}
    inside = {full_name(s, link) for link in links for s in LINK_SYMBOLS}  # around bodies that can exist
    return PhysicalSpace(model, values | {k: v for k, v in known.items() if k not in inside}, known, usual, extents)


def prior_groups(problem: Observation, prior: Mapping[str, float] | None, fixed: Mapping[str, float]) -> Groups:
    """Groups of parameters whose prior deviations the logs tell, with the values of a prior or of the robot file."""
    space = physical_space(problem.model, prior, fixed, problem.effort_rms)
    tens = (*problem.model.robot.links, *(one.ten for one in problem.model.robot.sensors))
    told = [k for link, own in space.links.items() for k in own
            if (tens[link - 1] is not None if prior is None else full_name("M", link) in prior)]  # fmt: skip
    return grouped(problem, space.x0, space.scales, told)


def impossible_links(robot: Robot, links: Iterable[int]) -> tuple[str, ...]:
    """Names of links (numbers from 1) whose parameters in the robot file are not physically consistent."""
    found = []
    for link in (one for one in links if one <= robot.n_joints):  # a file has no part beyond a sensor
        ten = robot.links[link - 1]
        if ten is not None and link - 1 not in robot.massless:
            values = [float(v) for v in ten]
            if not values[9] > 0 or impossible(values) is not None:
                found.append(robot.joints[link - 1].link or robot.joints[link - 1].name)
    return tuple(found)


def values_of_file(robot: Robot) -> dict[str, float]:
    """Parameters of the robot file by name, without those of links and parts beyond sensors for which it has none."""
    tens = (*robot.links, *(one.ten for one in robot.sensors))
    unknown = {full_name(s, j + 1) for j, ten in enumerate(tens) if ten is None for s in LINK_SYMBOLS}
    vector = zip(robot.columns(True, True), robot.parameter_vector(True, True).tolist(), strict=True)
    return {name: value for name, value in vector if name not in unknown}


def _light(values: Mapping[str, float], links: Sequence[int]) -> float:
    """Mass [kg] assigned to a body with zero mass in the file, small relative to the other masses."""
    masses = [mass for link in links if (mass := values.get(full_name("M", link), 0.0)) > 0]
    return LIGHT * float(np.median(masses)) if masses else 1.0


def _made_physical(ten: list[float], light: float) -> tuple[float, ...]:
    """The body if consistent, else the nearest consistent one; if massless, `light` kg of gyration radius 0.1 m."""
    if ten[9] <= 0 or max(map(abs, ten[:9])) > FARTHEST * ten[9]:  # a mass without which the rest has no place
        return from_com(light, (0, 0, 0), 0.01 * light * np.eye(3))
    mass, com, inertia = to_com(ten)
    if np.trace(inertia) < 2 * POINT**2 * mass:
        return from_com(mass, com.tolist(), 0.4 * mass * BALL**2 * np.eye(3))
    return nearest_possible(ten, THIN)


@dataclass(frozen=True)
class PhysicalCertificate:
    """Certificate of whether any physically consistent robot has given base parameters.

    slack: largest fraction of the prior's pseudo-inertia that every link can retain (at most 1); negative if
    no such robot exists.  witness: a combination of the base parameters that is non-negative for every
    physically consistent robot; witness_value: its value for the given base parameters.
    """

    is_feasible: bool
    slack: float
    standard: Mapping[str, float]
    witness: Mapping[str, float]
    witness_value: float
    is_witness_checked: bool

    @property
    def sentence(self) -> str:
        """Verdict of the certificate in words."""
        if self.is_feasible:
            return f"physically consistent parameters with these base parameters exist (slack {self.slack:.2g})"
        top = sorted(self.witness, key=lambda n: -abs(self.witness[n]))[:3]
        return (
            f"these base parameters are not physically consistent (slack {self.slack:.2g}); a combination of "
            f"{', '.join(top)} that cannot be negative is negative"
        )


def feasibility(space: PhysicalSpace, beta: Array) -> PhysicalCertificate:
    """Check whether a physically consistent robot has these base parameters: largest slack, or a witness."""
    model, n = space.model, len(space.model.standard)
    program = ConeProgram(n + 1)
    unit = np.maximum(np.linalg.norm(space.K, axis=1), 1e-12)
    program.equal(np.column_stack([space.K / unit[:, None], np.zeros(model.count)]), beta / unit, "base")
    for link in space.links:
        rows = space.body_rows(link, n + 1)
        rows[:, -1] = -svec(np.eye(4))  # the prior, seen from itself
        program.semidefinite(rows)
    rows = np.eye(n + 1)[space.nonnegative]
    rows[:, -1] = -1.0
    program.nonnegative(rows, np.zeros(len(rows)))
    top = np.zeros((1, n + 1))
    top[0, -1] = -1.0
    program.nonnegative(top, np.ones(1))
    q = np.zeros(n + 1)
    q[-1] = -1.0
    with one_thread():
        solution = program.solve(np.zeros((n + 1, n + 1)), q, "the feasibility of base parameters")
    x = np.asarray(solution.x)
    w = np.asarray(solution.z)[program.starts["base"]] / unit
    w = w if w @ beta < 0 else -w
    standard = dict(zip(model.standard, (x[:-1] * space.scales).tolist(), strict=True))
    slack = float(x[-1])
    named = dict(zip(model.names, w.tolist(), strict=True))
    return PhysicalCertificate(slack > 0, slack, standard, named, float(w @ beta), slack < 0 and _is_witness(space, w))


def _is_witness(space: PhysicalSpace, w: Array) -> bool:
    """Check a witness without the solver: non-negative on every physically consistent robot."""
    g = space.model.K.T @ w
    tolerance = 1e-5 * float(np.abs(g * space.scales).max(initial=1e-300))
    for link, ten in space.links.items():
        root = space.roots[link]
        if np.linalg.eigvalsh(root.T @ dual_matrix(g[ten]) @ root)[0] < -tolerance:
            return False
    free = [k for k in space.effects if k not in space.nonnegative]
    good = (g * space.scales)[space.nonnegative] >= -tolerance
    return bool(good.all() and np.all(np.abs((g * space.scales)[free]) <= tolerance))
