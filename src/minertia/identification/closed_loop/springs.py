"""Initial values of elastic joints: stiffness by least squares on two encoders, or by a scan of resonances with one.

The spring's effort is that of the link, tau_link = KJ (theta - q - RJ) + DJ (thetad - qd), so that with both encoders
theta - q = RJ + CJ tau_link, CJ = 1 / KJ, is linear with little noise in its regressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.kernels.kernel import BatchKernel, compile_function, regressor_program, torque_program
from minertia.identification.campaigns.options import STIFFNESS
from minertia.identification.closed_loop.law import filtered_signals
from minertia.identification.closed_loop.logs import SKIPPED, LoopLog
from minertia.identification.closed_loop.model import JointGroup, ServoModel
from minertia.identification.closed_loop.simulate import simulated
from minertia.robot.effect import JointState
from minertia.robot.effects import BY_SYMBOL

Array = NDArray[np.float64]
RESONANCES = np.geomspace(1.5, 60.0, 12)  # Hz, of the link against a held motor, that are tried
DAMPED = 0.1  # part of critical damping that a fit starts with
ROTORS, USUAL_ROTOR = (0.01, 3.0), 0.2  # inertia of a rotor over that of its link: between which it is believed, else
STEADY = 1.2  # damping times delay over the inertia of a rotor, below which its loop does not swing by itself
MOST_STEADY = 20.0  # times that inertia: up to which a rotor is believed, however light its link
APART = np.log(3.0)  # of compliances of two starts
STARTS = 3  # that are followed from each set of other values
ROUNDS = 2  # of the scan over all elastic joints
LONGEST = 8.0  # s of a log that the scan simulates
STEP = 2e-3  # s, of the scan


def with_springs(model: ServoModel, logs: Sequence[LoopLog], theta: Array) -> list[Array]:
    """Initial values with stiffness and damping of elastic joints, the others unchanged; the best comes first.

    Several candidates are returned if resonances are seen by one encoder only, as a fit may converge to the wrong
    one.
    """
    if not model.layout.elastic:
        return [theta]
    found = theta.copy()
    inertia = link_inertias(model, theta, logs[0])
    held = steady_rotors(model, theta)
    for j in model.layout.elastic:  # rotors that least squares does not tell from their links
        if f"IA{j + 1}" in model.names:
            k = model.names.index(f"IA{j + 1}")
            is_believed = ROTORS[0] * inertia[j] <= found[k] <= max(ROTORS[1] * inertia[j], MOST_STEADY * held[j])
            found[k] = max(found[k] if is_believed else USUAL_ROTOR * inertia[j], held[j])
    for j in model.layout.elastic:
        own = model.begin[j].stiffness
        stiff = inertia[j] * (2 * np.pi * RESONANCES[-1]) ** 2 if own is None else own
        found = placed(model, found, inertia, j, stiff)
    if model.layout.encoder == "both":
        return [_from_both_sides(model, logs, found, inertia)]
    return _scanned(model, logs[0], found, inertia)


def steady_rotors(model: ServoModel, theta: Array) -> Array:
    """Smallest rotor inertia of a stable servo with delayed effort [kg m2 or kg]; zero without effort delay."""
    if model.command.delay_of != "effort":
        return np.zeros(model.robot.n)
    values = model.atom_values(theta)
    delay = max(float(values[model.places["delay"][0]]), 0.0)
    return np.asarray(STEADY * delay * (model.of_kind("kd", values) + delay * model.of_kind("kp", values)))


def link_inertias(model: ServoModel, theta: Array, log: LoopLog) -> Array:
    """Link inertia at each joint at the median positions of a log [kg m2 or kg], without its rotor; never zero."""
    values = model.atom_values(theta)
    middle = np.median(log.q, axis=0)
    found = np.zeros(model.robot.n)
    for group in model.groups:
        D = _mass(model, group, values, middle[list(group.joints)])
        found[list(group.joints)] = np.diag(D)[: len(group.joints)]
    least = 1e-3 * float(found.max(initial=0.0)) or 1e-3
    return np.maximum(found, least)


def _mass(model: ServoModel, group: JointGroup, values: Array, q: Array) -> Array:
    wide = np.zeros(group.kernel.size)
    wide[: len(q)] = q
    given = model.inputs(values, STEP)
    x = (given,) if len(given) else ()
    return np.asarray(compile_function(group.kernel.terms)(wide, 0 * wide, *x)[0])


def placed(model: ServoModel, theta: Array, inertia: Array, j: int, stiffness: float) -> Array:
    """Parameter values with this stiffness at joint j, and its given or a default damping."""
    found, k = theta.copy(), float(np.clip(stiffness, *STIFFNESS))
    rotor = max(float(model.atom_values(theta)[model.index("IA", j)]), 0.02 * inertia[j])
    usual = 2 * DAMPED * np.sqrt(k * inertia[j] * rotor / (inertia[j] + rotor))
    own = model.begin[j].damping
    for name, value in ((f"CJ{j + 1}", 1 / k), (f"DJ{j + 1}", usual if own is None else own)):
        if name in model.names:
            found[model.names.index(name)] = value
    return found


# ---------------------------------------------------------------------- two encoders


def _from_both_sides(model: ServoModel, logs: Sequence[LoopLog], theta: Array, inertia: Array) -> Array:
    """Stiffness by least squares of the spring deflection (motor minus link position) on the link effort."""
    found, n = theta.copy(), model.layout.n
    parts = [filtered_signals(log) for log in logs]
    efforts = [link_efforts(model, theta, *(x[:, :n] for x in signals)) for signals in parts]
    for j in model.layout.elastic:
        wound = np.concatenate([x[0][:, model.layout.motor(j)] - x[0][:, j] for x in parts])
        tau = np.concatenate([effort[:, j] for effort in efforts])
        columns = np.stack([np.ones_like(tau), tau], axis=1)
        (rest, compliance), *_ = np.linalg.lstsq(columns, wound, rcond=None)
        if compliance > 1 / STIFFNESS[1]:
            found = placed(model, found, inertia, j, 1 / compliance)
        if f"RJ{j + 1}" in model.names:
            found[model.names.index(f"RJ{j + 1}")] = rest
    return found


def link_efforts(model: ServoModel, theta: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """Link-side efforts of the rigid-body dynamics (N, n), with the effects that act on the link side."""
    values = model.atom_values(theta)
    at = q + model.of_kind("zero", values)
    spring = np.zeros_like(q)  # and what else acts at the links
    for k, atom in enumerate(model.atoms):
        if atom.is_effect and BY_SYMBOL[atom.kind].is_at_link:
            j = atom.place
            spring[:, j] += values[k] * model.shape(atom, JointState(q[:, j], qd[:, j], qdd[:, j]))
    if model.keeps_links:
        robot = model.robot.without_effects(tuple(model.robot.effect_values))
        return np.asarray(BatchKernel(torque_program(robot), compiling=False)(at, qd, qdd) + spring)
    Y = BatchKernel(regressor_program(model.robot, model.links), compiling=False)(at, qd, qdd)
    return np.asarray(Y @ model.of_kind("link", values) + spring)


# ---------------------------------------------------------------------- one encoder


def _scanned(model: ServoModel, log: LoopLog, theta: Array, inertia: Array) -> list[Array]:
    """Candidates from a resonance scan of each elastic joint in turn: the best, and distinct alternatives."""
    rows = min(len(log.q), round(LONGEST / log.period))
    short = replace(log, q=log.q[:rows], u=log.u[:rows], ud=None if log.ud is None else log.ud[:rows])
    best, lowest = theta, _cost(model, theta, short)
    seen = [(lowest, best)]
    for _ in range(ROUNDS):
        for j in model.layout.elastic:
            for hertz in RESONANCES:
                tried = placed(model, best, inertia, j, inertia[j] * (2 * np.pi * hertz) ** 2)
                seen.append((_cost(model, tried, short), tried))
                if seen[-1][0] < lowest:
                    lowest, best = seen[-1]
    return _distinct(model, seen)


def _distinct(model: ServoModel, seen: Sequence[tuple[float, Array]]) -> list[Array]:
    """Best candidates of a scan that differ in some resonance."""
    own = [model.names.index(f"CJ{j + 1}") for j in model.layout.elastic if f"CJ{j + 1}" in model.names]
    found: list[Array] = []
    for _, theta in sorted(seen, key=lambda pair: pair[0]):
        far = [np.abs(np.log(theta[own] / other[own])).max(initial=0.0) > APART for other in found]
        if all(far) and len(found) < STARTS:
            found.append(theta)
    return found


def _cost(model: ServoModel, theta: Array, log: LoopLog) -> float:
    """Simulation cost of a log: sum of log mean square residuals; infinite where the simulation diverges."""
    found = simulated(model, theta, log, max(1, int(np.ceil(log.period / STEP))), slopes=False)
    if found is None:
        return float("inf")
    rest = (log.q - found.q)[round(SKIPPED / log.period) :]
    return float(np.sum(np.log(np.maximum(np.mean(rest**2, axis=0), 1e-24))))
