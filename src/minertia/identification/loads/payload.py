"""Payload identification from logs without and with it, or from a model and logs with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from minertia.identification.evidence.intervals import spread
from minertia.identification.loads.body import body_columns, loaded_model
from minertia.identification.physical.cones import ConeProgram, link_svec
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.prediction import load_efforts
from minertia.identification.problem.rows import Load, LogMotion
from minertia.identification.problem.solve import inverse, noise_levels, solution, weighted_solution
from minertia.identification.problem.triangles import triangle
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, UnknownName
from minertia.io.notebook import clipped, frame, html_table
from minertia.io.resources import one_thread
from minertia.robot.flange import Flange, NoFlange, find_flange
from minertia.robot.inertia import from_com, impossible, pseudo_inertia, symmetric, to_com
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

VENDORS = ("ur", "kuka", "franka")
MOMENTS = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
LOOSE = 0.05  # m: deviation from which a centre is not to be relied on
ROUNDS = 4  # in which friction by load and the load it depends on are found
UNDETERMINED = 0.5  # of the largest moment of inertia: deviation from which a moment is not to be relied on
UNKNOWN = 10.0  # deviation, in sizes of the body, of what the motion does not show


@dataclass(frozen=True)
class Payload:
    """Identified payload in a frame of the robot.

    mass [kg], com [m], inertia [kg m2] about the centre of mass, with standard deviations; ten, covariance: its
    ten parameters about the frame's origin.  not_excited: parameters that the motion does not excite, with a
    message each. cautions: warnings on unreliable parameters.  95 % intervals are 1.96 standard deviations to
    either side. flange: the frame in which controllers expect the payload, or a message if it is not known.
    residuals: norm of the residual of each effort over the norm of the effort in the loaded logs, without and with the
    payload; all: of all efforts together.
    """

    frame: str
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, ...]  # Ixx Ixy Ixz Iyy Iyz Izz about the centre of mass
    mass_deviation: float
    com_deviation: tuple[float, float, float]
    inertia_deviation: tuple[float, ...]
    ten: Array
    covariance: Array
    is_physical: bool
    not_excited: Mapping[str, str]
    cautions: tuple[str, ...] = ()
    logs: tuple[Any, ...] = field(default=(), repr=False)  # as they were read
    residuals: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    flange: Flange | str = "the file has no flange frame"

    def to_frame(self) -> Any:
        """A pandas DataFrame of mass, centre of mass and inertia, with standard deviations and units."""
        names, values, deviations, units = zip(*self._rows(), strict=True)
        return frame({"name": names, "value": values, "deviation": deviations, "unit": units}, "name", frame=self.frame)

    def _rows(self) -> list[tuple[str, float, float, str]]:
        """(name, value, standard deviation, unit) of each quantity of the payload."""
        centre = zip(("x", "y", "z"), self.com, self.com_deviation, strict=True)
        about = zip(MOMENTS, self.inertia, self.inertia_deviation, strict=True)
        return [
            ("mass", self.mass, self.mass_deviation, "kg"),
            *((name, value, deviation, "m") for name, value, deviation in centre),
            *((name, value, deviation, "kg m2") for name, value, deviation in about),
        ]

    def __repr__(self) -> str:
        x, y, z = self.com
        return (
            f"<Payload at '{clipped(self.frame, 40)}': {self.mass:.4g} kg (deviation {self.mass_deviation:.2g}), "
            f"centre of mass ({x:.3g}, {y:.3g}, {z:.3g}) m{'' if self.is_physical else '; no possible body'}>"
        )

    def _repr_html_(self) -> str:
        rows = [(name, f"{value:.5g}", f"{deviation:.2g}", unit) for name, value, deviation, unit in self._rows()]
        headers, title = ("", "value", "deviation", "unit"), f"Load in the frame of {self.frame}"
        return html_table(title, headers, rows, right=(1, 2), notes=(*self.not_excited.values(), *self.cautions))

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {
            "frame": self.frame,
            "mass": self.mass,
            "mass_deviation": self.mass_deviation,
            "com": list(self.com),
            "com_deviation": list(self.com_deviation),
            "inertia": list(self.inertia),
            "inertia_deviation": list(self.inertia_deviation),
            "physical": self.is_physical,
            "not_excited": dict(self.not_excited),
            "cautions": list(self.cautions),
            "residuals": {name: list(pair) for name, pair in self.residuals.items()},
            "fields": {vendor: self.fields(vendor) for vendor in VENDORS if self.fields_frame is not None},
            "fields_frame": self.fields_frame,
            "no_fields": self.flange if isinstance(self.flange, str) else None,
        }

    @property
    def fields_frame(self) -> str | None:
        """Name of the flange frame that controllers expect; None if it is not known."""
        return None if isinstance(self.flange, str) else self.flange.name

    def fields(self, vendor: str) -> dict[str, Any]:
        """Payload in the fields and units of a vendor's controller: centre and axes in the flange frame."""
        if vendor not in VENDORS:
            raise UnknownName("arm maker", vendor, VENDORS)
        if isinstance(self.flange, str):
            raise NoFlange(self.flange)
        J = self.flange.tensor(symmetric(self.inertia))
        xx, xy, xz, yy, yz, zz = J[np.triu_indices(3)].tolist()
        x, y, z = self.flange.centre(self.com)
        if vendor == "ur":  # set_target_payload(m, cog, inertia): about the centre of mass, tool flange frame
            return {"mass": self.mass, "cog": [x, y, z], "inertia": [xx, yy, zz, xy, xz, yz]}
        if vendor == "franka":  # setLoad(mass, F_x_Cload, load_inertia): column-major 3x3 about the centre of mass
            return {"mass": self.mass, "F_x_Cload": [x, y, z], "load_inertia": [xx, xy, xz, xy, yy, yz, xz, yz, zz]}
        moments, angles = _principal(J)  # $LOAD: millimetres, angles of the principal axes, principal moments
        cm = dict(zip("XYZABC", [1e3 * x, 1e3 * y, 1e3 * z, *np.degrees(angles).tolist()], strict=True))
        return {"M": self.mass, "CM": cm, "J": dict(zip("XYZ", moments.tolist(), strict=True))}


@dataclass(frozen=True)
class KnownRobot:
    """Identified robot without payload: values of a linear model and their covariance."""

    model: LinearModel
    beta: Array
    covariance: Array


def payload_beside(
    model: LinearModel,
    unloaded: Sequence[LogMotion],
    loaded: Sequence[LogMotion],
    *,
    physical: bool,
    at: str | None = None,
    gains: Array | None = None,
) -> Payload:
    """Payload from loaded and unloaded logs, fitted together.

    at: link or frame in which the payload is given; default: the frame of the last link.  physical: make the
    result physically consistent.  gains: relative standard deviation of the gain of each effort, if efforts
    are computed from gains.
    """
    with one_thread():
        empty = full = _no_load(model)
        for _ in range(ROUNDS if model.choice.needs_load else 1):  # the first one finds the rigid-body torques
            without = observe(loaded_model(model, at, False), unloaded, load=empty)
            carrying = observe(loaded_model(model, at, True), loaded, load=full)
            problem = without.appended(carrying)
            values, covariance, silent = _from_logs(problem, gains)
            if model.choice.needs_load:
                own = values[:-10]
                empty, full = load_efforts(model, own), _efforts(model, own, at, values[-10:])
    found = payload_of(model.robot, at, values[-10:], covariance[-10:, -10:], silent, physical)
    return replace(found, residuals=_residuals(carrying, values[:-10], found.ten))


def payload_on(
    known: KnownRobot,
    loaded: Sequence[LogMotion],
    *,
    physical: bool,
    at: str | None = None,
    gains: Array | None = None,
) -> Payload:
    """Payload from logs of a robot whose parameters without payload are known; see `payload_beside`."""
    model, ten = known.model, np.zeros(10)
    with one_thread():
        for _ in range(ROUNDS if model.choice.needs_load else 1):  # friction by load needs the load to be found
            load = _efforts(model, known.beta, at, ten) if model.choice.needs_load else None
            problem = observe(loaded_model(model, at, True), loaded, load=load)
            ten, covariance, silent = _from_model(problem, known.beta, known.covariance, gains)
    found = payload_of(model.robot, at, ten, covariance, silent, physical)
    return replace(found, residuals=_residuals(problem, known.beta, found.ten))


def _residuals(loaded: Observation, own: Array, ten: Array) -> dict[str, tuple[float, float]]:
    """Relative residual of each effort, and of all, without and with a payload of ten parameters."""
    bare, whole = (np.append(np.append(own, body), -1.0) for body in (np.zeros(10), ten))
    columns = [*(np.linalg.norm(loaded.totals @ values, axis=1) for values in (bare, whole)),
               np.linalg.norm(loaded.totals[:, :, -1], axis=1)]  # fmt: skip
    rows = np.vstack([np.column_stack(columns), [np.linalg.norm(column) for column in columns]])
    named = zip((*loaded.row_names, "all"), rows.tolist(), strict=True)
    return {name: (without / effort, with_it / effort) for name, (without, with_it, effort) in named if effort > 0}


def _efforts(model: LinearModel, values: Array, at: str | None, ten: Array) -> Load:
    """Function that returns the rigid-body efforts of the robot with a body of these ten parameters."""
    own, rows = load_efforts(model, values), range(model.robot.n_velocity)

    def load(q: Array, qd: Array, qdd: Array) -> Array:
        return np.asarray(own(q, qd, qdd) + body_columns(model.robot, rows, q, qd, qdd, at) @ ten)

    return load


def _no_load(model: LinearModel) -> Load | None:
    if not model.choice.needs_load:
        return None
    return lambda q, qd, qdd: np.zeros((len(q), model.robot.n_velocity))


def _from_logs(problem: Observation, gains: Array | None) -> tuple[Array, Array, dict[str, str]]:
    """Estimates of all unknowns, covariance under correlated residuals, and payload parameters not excited."""
    found = excitation(problem)
    part = problem if found.is_complete else problem.reduced(found.independent)
    beta, R, sigma = weighted_solution(part)
    inv = inverse(R[:-1, :-1])
    covariance = spread(part, beta, sigma).stated + _by_gains(part, inv, sigma, part.totals[:, :, -1], gains)
    return part.expand(beta), part.expand_covariance(covariance), _silent(found.not_excited)


def _from_model(
    problem: Observation, values: Array, covariance: Array, gains: Array | None
) -> tuple[Array, Array, dict[str, str]]:
    """Estimate with the robot's known parameters as additional measurements with their covariance."""
    p = problem.count - 10
    found = excitation(problem.reduced(range(p, p + 10)))  # the robot's own values are known
    seen = [p + k for k in found.independent]
    problem = problem.reduced([*range(p), *seen])
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-18 * np.maximum(np.abs(values), 1e-6) ** 2))
    shape = covariance / np.outer(scale, scale) + 1e-9 * np.eye(p)
    root = inverse(np.linalg.cholesky(shape).T).T / scale
    rows = np.column_stack([root, np.zeros((p, len(seen))), root @ values])
    sigma = np.maximum(problem.effort_rms, 1e-12)
    for _ in range(10):
        R = triangle(np.concatenate([problem.triangle(sigma), rows]))
        beta = solution(R)
        updated = noise_levels(problem, beta, R, sigma)
        if np.all(np.abs(updated / sigma - 1) < 1e-3):
            break
        sigma = updated
    stated = spread(problem, beta, sigma, rows[:, :-1]).stated
    by_load = problem.totals[:, :, p:-1] @ beta[p:]  # the robot's own values were found with the same gains
    stated = stated + _by_gains(problem, inverse(R[:-1, :-1]), sigma, by_load, gains)
    ten, own_covariance = np.zeros(10), np.zeros((10, 10))
    shown = [k - p for k in seen]
    ten[shown] = beta[p:]
    own_covariance[np.ix_(shown, shown)] = stated[p:, p:]
    return ten, own_covariance, _silent(found.not_excited)


def _by_gains(problem: Observation, inv: Array, sigma: Array, efforts: Array, gains: Array | None) -> Array:
    """Parameter covariance due to gain uncertainty.

    efforts (efforts, k): the part of each effort that its gain scales, as a column of the effort's R factor.
    gains: relative standard deviation of the gain of each effort.
    """
    if gains is None:
        return np.zeros((problem.count, problem.count))
    each = zip(problem.totals[:, :, :-1], efforts, sigma, gains, strict=True)
    D = np.column_stack([inv @ (inv.T @ (Y.T @ tau)) * (u / s**2) for Y, tau, s, u in each])
    return np.asarray(D @ D.T)


def _silent(not_excited: Mapping[str, str]) -> dict[str, str]:
    return {n.removeprefix("load "): why for n, why in not_excited.items() if n.startswith("load ")}


def payload_of(
    robot: Robot, at: str | None, ten: Array, covariance: Array, silent: Mapping[str, str], physical: bool
) -> Payload:
    """Payload from its ten parameters: mass, centre and inertia, standard deviations by linear propagation.

    The flange is that of the robot file.
    """
    if "M" in silent or ten[9] <= 0:
        why = silent.get("M", f"the identified mass is {ten[9]:.3g} kg")
        raise MinertiaError(f"these logs do not determine the payload: {why}")
    hidden = [k for k, symbol in enumerate(LINK_SYMBOLS) if symbol in silent]
    covariance = np.array(covariance)
    covariance[hidden, hidden] = (UNKNOWN * _sizes(ten)[hidden]) ** 2
    if physical and impossible(ten.tolist()) is not None:
        ten = nearest_body(ten, covariance)
    mass, com, inertia = to_com(ten.tolist())
    entries = np.triu_indices(3)

    def derived(x: Array) -> Array:
        m, c, J = to_com(x.tolist())
        return np.concatenate([[m], c, J[entries]])

    step = 1e-6 * np.maximum(np.sqrt(np.diag(covariance)), 1e-9)
    J = np.column_stack(
        [(derived(ten + s * u) - derived(ten - s * u)) / (2 * s) for s, u in zip(step, np.eye(10), strict=True)]
    )
    deviation = np.sqrt(np.maximum(np.diag(J @ covariance @ J.T), 0.0)).tolist()
    frame = at or robot.joints[robot.tip].link or robot.joints[robot.tip].name
    try:
        known: Flange | str = find_flange(robot, at)
    except NoFlange as err:
        known = str(err)
    return Payload(
        frame=frame,
        mass=mass,
        com=(float(com[0]), float(com[1]), float(com[2])),
        inertia=tuple(inertia[entries].tolist()),
        mass_deviation=deviation[0],
        com_deviation=(deviation[1], deviation[2], deviation[3]),
        inertia_deviation=tuple(deviation[4:]),
        ten=ten,
        covariance=covariance,
        is_physical=impossible(ten.tolist()) is None,
        not_excited=dict(silent),
        cautions=_cautions(inertia, deviation[1:4], deviation[4:]),
        flange=known,
    )


def _cautions(inertia: Array, centre: Sequence[float], deviations: Sequence[float]) -> tuple[str, ...]:
    """Warnings on payload values that the logs do not determine well enough for use in a controller."""
    size = float(np.linalg.eigvalsh(inertia).max())
    open_ = [name for name, d in zip(MOMENTS, deviations, strict=True) if d >= UNDETERMINED * size]
    told = []
    if open_:
        told.append(
            f"these logs do not determine {', '.join(open_)}: leave the inertia in the controller at its default, "
            "or move the wrist faster and identify again"
        )
    loose = [axis for axis, d in zip("xyz", centre, strict=True) if d >= LOOSE]
    if loose:
        told.append(
            f"the centre of mass is known to no better than {max(centre):.2g} m along {', '.join(loose)}: rotate "
            "the payload to more directions relative to gravity"
        )
    return tuple(told)


def _sizes(ten: Array) -> Array:
    """Typical magnitude of each of the ten parameters, for scaling."""
    mass = max(float(ten[9]), 1e-6)
    size = max(float(np.abs(ten[:6]).max()) / mass, 1e-4)
    return np.array([mass * size] * 6 + [mass * np.sqrt(size)] * 3 + [mass])


def nearest_body(ten: Array, covariance: Array, margin: float = 1e-6) -> Array:
    """Physically consistent body nearest to ten parameters, in the metric of their covariance."""
    scale = _sizes(ten)
    mass, size = float(scale[9]), float(scale[0] / scale[9])
    W = np.linalg.inv(covariance / np.outer(scale, scale) + 1e-12 * np.eye(10))
    root = np.asarray(
        np.linalg.cholesky(pseudo_inertia(from_com(mass, (0, 0, 0), 0.4 * mass * size * np.eye(3)))), float
    )
    program = ConeProgram(10)
    program.semidefinite(link_svec(root, margin) * scale)
    x = program.solve(
        W / np.abs(W).max(), -W @ (ten / scale) / np.abs(W).max(), "the nearest physically consistent payload"
    ).x
    return np.asarray(np.asarray(x) * scale)


def _principal(J: Array) -> tuple[Array, Array]:
    """Principal moments of inertia, and the angles A, B, C (about z, y, x) of their axes."""
    moments, axes = np.linalg.eigh(J)
    if np.linalg.det(axes) < 0:
        axes[:, 2] = -axes[:, 2]
    a = np.arctan2(axes[1, 0], axes[0, 0])
    b = np.arctan2(-axes[2, 0], np.hypot(axes[0, 0], axes[1, 0]))
    c = np.arctan2(axes[2, 1], axes[2, 2])
    return moments, np.array([a, b, c])
