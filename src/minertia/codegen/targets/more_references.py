"""Independent reference values for programs of signals, observers and adaptive control."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minertia.codegen.program import Program
from minertia.codegen.setting import Setting
from minertia.codegen.targets.references import Arrays, joint_motion, named
from minertia.dynamics import model
from minertia.dynamics.forward import moving_efforts
from minertia.dynamics.kinematics import State
from minertia.io.arrays import Array
from minertia.robot.effects import ROTOR_SYMBOLS
from minertia.robot.parameters import LINK_SYMBOLS, full_name, split_name

STEP = 1e-30  # of a complex step: the derivative has no rounding of a difference


def _observer(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    """Observer reference: momentum from the mass matrix, its rate from the energy gradient by complex steps."""
    robot, q, qd = setting.robot, inputs["q"], inputs["qd"]
    samples, n = qd.shape
    given = inputs | {"tau": rng.uniform(-20.0, 20.0, (samples, n)), "gain": rng.uniform(10.0, 50.0, (samples, n))}
    given |= {"period": np.full((samples, 1), 1e-3), "momentum": rng.uniform(-1.0, 1.0, (samples, n))}
    g = model.gravity_torques(robot, q, parameters=chi)
    p = np.einsum("kij,kj->ki", model.mass_matrix(robot, q, parameters=chi), qd)
    r = given["gain"] * (p - given["momentum"])
    rate = _without_friction(setting, given, chi) + _energy_slope(setting, q, qd, chi) - g + r
    return named(program, given), {"r": r, "momentum_next": given["momentum"] + 1e-3 * rate}


def _watch_terms(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    given = inputs | {"tau": rng.uniform(-20.0, 20.0, inputs["qd"].shape)}
    return named(program, given), watched_terms(setting, given, chi)


def watched_terms(setting: Setting, given: Arrays, chi: Any) -> Arrays:
    """Monitor reference: robot terms as in the observer, payload terms from the last link's regressor."""
    robot, q, qd = setting.robot, given["q"], given["qd"]
    C, g = (model.coriolis_matrix(robot, q, qd, parameters=chi), model.gravity_torques(robot, q, parameters=chi))
    names = [full_name(symbol, robot.tip + 1) for symbol in LINK_SYMBOLS]
    rest = np.zeros_like(qd)
    options: dict[str, Any] = {"columns": names, "gravity": (0, 0, 0)}
    shifted = model.torque_regressor(robot, q + STEP * 1j * qd, rest, qd, **options).imag / STEP
    whole = model.torque_regressor(robot, q, qd, rest, columns=names)
    return {
        "p": np.einsum("kij,kj->ki", model.mass_matrix(robot, q, parameters=chi), qd),
        "p_rate": _without_friction(setting, given, chi) + np.einsum("kji,kj->ki", C, qd) - g,
        "Yp": np.asarray(model.torque_regressor(robot, q, rest, qd, **options)),
        "Yc": np.asarray(whole - shifted),
    }


def _energy_slope(setting: Setting, q: Array, qd: Array, chi: Any) -> Array:
    """Gradient of qd' D qd / 2 with respect to q; for a floating base C' qd.

    The velocities of a floating base are not the rates of coordinates.
    """
    if setting.robot.is_floating:
        C = model.coriolis_matrix(setting.robot, q, qd, parameters=chi)
        return np.asarray(np.einsum("kji,kj->ki", C, qd))
    moved = [model.mass_matrix(setting.robot, q + STEP * 1j * e, parameters=chi) for e in np.eye(q.shape[1])]
    return np.stack([np.einsum("ki,kij,kj->k", qd, D.imag, qd) / (2 * STEP) for D in moved], axis=1)


def _without_friction(setting: Setting, given: Arrays, chi: Any) -> Array:
    """Efforts minus those of friction and springs."""
    robot, q, qd, warmth = setting.robot, given["q"], given["qd"], given.get("temperature")
    if robot.open_cuts:
        inertial = [{s: v for s, v in x.items() if s in (*LINK_SYMBOLS, *ROTOR_SYMBOLS)} for x in chi]
        rest = np.zeros_like(qd)
        own = model.inverse_dynamics(robot, q, qd, rest, parameters=chi, temperature=warmth)
        return np.asarray(given["tau"] - own + model.inverse_dynamics(robot, q, qd, rest, parameters=inertial))
    still: list[Any] = [0] * qd.shape[1]
    held = None if warmth is None else list(warmth.T)
    state = State(list(q.T), list(qd.T), still)
    return np.stack(moving_efforts(robot.numeric, chi, state, still, list(given["tau"].T), held), axis=1)


def _mixed(setting: Setting, Y: Array) -> Array:
    """Regressor columns of the base parameters, from those of the independent columns."""
    base = setting.base
    return (Y @ np.linalg.inv(base.K[:, base.kept_indices]))[..., setting.essential_rows]


def _momenta(setting: Setting, q: Any, qd: Array) -> Any:
    """D qd for unit parameters: the regressor at rest, without gravity, with the velocities as accelerations."""
    names = setting.base.kept
    moving = np.array([split_name(name)[0] in (*LINK_SYMBOLS, *ROTOR_SYMBOLS) for name in names])
    Y = model.torque_regressor(setting.robot, q, np.zeros_like(qd), qd, columns=names, gravity=(0, 0, 0))
    return np.where(moving, Y, 0.0)


def _momentum_regressor(
    setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any
) -> tuple[Arrays, Arrays]:
    q, qd = inputs["q"], inputs["qd"]
    along = _momenta(setting, q + STEP * 1j * joint_motion(setting.robot, q, qd), qd).imag / STEP
    whole = model.torque_regressor(setting.robot, q, qd, np.zeros_like(qd), columns=setting.base.kept)
    found = {"Yp": _mixed(setting, _momenta(setting, q, qd)), "Yc": _mixed(setting, whole - along)}
    return named(program, inputs), found


def _power_regressor(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    """Reference energies of robots with one non-zero parameter, and power of the columns that are not inertial."""
    robot, q, qd = setting.robot, inputs["q"], inputs["qd"]
    names = setting.base.kept
    Y = model.torque_regressor(robot, q, qd, np.zeros_like(qd), columns=names)
    power = np.einsum("ki,kic->kc", qd, Y)
    energy = np.zeros_like(power)
    half = np.einsum("ki,kic->kc", qd, _momenta(setting, q, qd)) / 2
    for c, name in enumerate(names):
        symbol, link = split_name(name)
        if symbol in LINK_SYMBOLS:
            unit: Any = [dict.fromkeys(LINK_SYMBOLS, 0.0) for _ in range(robot.n_joints + robot.is_floating)]
            unit[link - 1 + robot.is_floating][symbol] = 1.0
            energy[:, c] = model.kinetic_energy(robot, q, qd, parameters=unit)
            energy[:, c] += model.potential_energy(robot, q, parameters=unit)
        elif symbol in ROTOR_SYMBOLS:
            energy[:, c] = half[:, c]
        if symbol in (*LINK_SYMBOLS, *ROTOR_SYMBOLS):
            power[:, c] = 0.0
    return named(program, inputs), {"E": _mixed(setting, energy), "P": _mixed(setting, power)}


def _differentiator(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    """Five positions on random polynomials of degree four, and their exact derivatives."""
    samples, n, h = len(inputs["q"]), setting.robot.n, 1.0 / 8.0
    numbers = rng.uniform(-1.0, 1.0, (5, samples, n))
    t = h * np.arange(-2, 3)
    window = np.stack([sum(c * x**k for k, c in enumerate(numbers)) for x in t], axis=1)
    given = {"window": window, "period": np.full((samples, 1), h)}
    return named(program, given), {"q": numbers[0], "qd": numbers[1], "qdd": 2 * numbers[2]}


def _parabola_differentiator(
    setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any
) -> tuple[Arrays, Arrays]:
    """Five positions that do not lie on a parabola, and the derivatives of their least-squares parabola."""
    samples, n, h = len(inputs["q"]), setting.robot.n, 1.0 / 8.0
    window = rng.uniform(-1.0, 1.0, (samples, 5, n))
    powers = np.vander(h * np.arange(-2, 3), 3, increasing=True)
    q, qd, half = np.einsum("ck,skn->csn", np.linalg.pinv(powers), window)
    given = {"window": window, "period": np.full((samples, 1), h)}
    return named(program, given), {"q": q, "qd": qd, "qdd": 2 * half}


def _low_pass(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    from scipy.signal import butter, lfilter  # here: 0.5 s that only filters need

    samples, n = len(inputs["q"]), setting.robot.n
    b, a = butter(2, 0.1)
    x, memory = rng.normal(size=(samples, n)), rng.normal(size=(samples, 2, n))
    y, after = lfilter(b, a, x[:, None], axis=1, zi=memory)
    given = {"x": x, "coefficients": np.tile([*b, *a[1:]], (samples, 1)), "memory": memory}
    return named(program, given), {"y": y[:, 0], "memory_next": after}


# ------------------------------------------------------------------ adaptive control


def _bodies(samples: int, links: int, rng: np.random.Generator) -> Array:
    """Pseudo-inertia factors of physically consistent random bodies."""
    return np.asarray(0.3 * np.eye(4) + 0.2 * rng.normal(size=(samples, links, 4, 4)))


def ten_of(P: Array) -> Array:
    """Ten inertial parameters of pseudo-inertias (..., 4, 4)."""
    spread, ms, mass = P[..., :3, :3], P[..., :3, 3], P[..., 3, 3]
    J = np.trace(spread, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - spread
    six = [J[..., i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    return np.stack([*six, *np.moveaxis(ms, -1, 0), mass], axis=-1)


def _adaptive_start(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    samples, links = len(inputs["q"]), setting.robot.n_joints + setting.robot.is_floating
    G = _bodies(samples, links, rng)
    P = G @ G.transpose(0, 1, 3, 2)
    wanted = np.array(np.linalg.cholesky(P), float)
    wanted[:, [k + setting.robot.is_floating for k in setting.robot.massless]] = 0.0
    wanted = wanted.reshape(samples, links, 16)
    return named(program, {"chi": ten_of(P)}), {"G": wanted}


def _adaptive_law(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    robot, q, qd = setting.robot, inputs["q"], inputs["qd"]
    samples, n, links = *qd.shape, robot.n_joints + robot.is_floating
    qdr, qddr = rng.uniform(-2.0, 2.0, (samples, n)), rng.uniform(-5.0, 5.0, (samples, n))
    damping, rate = rng.uniform(1.0, 9.0, (samples, n)), rng.uniform(0.0, 0.1, (samples, links))
    G = _bodies(samples, links, rng)
    ten = ten_of(G @ G.transpose(0, 1, 3, 2))
    given = inputs | {"qdr": qdr, "qddr": qddr, "damping": damping, "rate": rate, "G": G.reshape(samples, links, 16)}
    Y = np.asarray(model.slotine_li_regressor(robot, q, qd, qdr, qddr))
    s, tau, after = qd - qdr, np.empty((samples, n)), np.empty_like(G)
    for k in range(samples):
        table = [
            {**{key: v for key, v in x.items() if key not in LINK_SYMBOLS}, **dict(zip(LINK_SYMBOLS, own, strict=True))}
            for x, own in zip(chi, ten[k].tolist(), strict=True)
        ]
        warmth = inputs["temperature"][k] if "temperature" in inputs else None
        state = (q[k], qd[k], qdr[k], qddr[k])
        tau[k] = model.slotine_li_torques(robot, *state, parameters=table, temperature=warmth) - damping[k] * s[k]
        after[k] = [_step(G[k, j], Y[k, :, 10 * j : 10 * j + 10].T @ s[k], rate[k, j]) for j in range(links)]
    return named(program, given), {"tau": tau, "chi": ten, "G_next": after.reshape(samples, links, 16)}


def _step(G: Array, slope: Array, rate: float) -> Array:
    """Pseudo-inertia factor after a step.

    L is the gradient of slope . ten(P) with respect to P, found entry by entry.
    """
    L = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            unit = np.zeros((4, 4))
            unit[i, j] += 0.5
            unit[j, i] += 0.5
            L[i, j] = slope @ ten_of(unit)
    M = rate * G.T @ L @ G
    M = M / np.sqrt(1 + np.trace(M @ M))
    return np.asarray(G @ (np.eye(4) - M / 2 + M @ M / 8))


MORE: dict[str, Callable[..., tuple[Arrays, Arrays]]] = {
    "momentum_observer": _observer,
    "momentum_regressor": _momentum_regressor,
    "power_regressor": _power_regressor,
    "differentiator": _differentiator,
    "parabola_differentiator": _parabola_differentiator,
    "low_pass": _low_pass,
    "watch_terms": _watch_terms,
    "adaptive_start": _adaptive_start,
    "adaptive_law": _adaptive_law,
}
