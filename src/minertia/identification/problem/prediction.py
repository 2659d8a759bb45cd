"""Predicted efforts of an estimate, and elimination of known parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from minertia.identification.problem.linear import LinearModel, symbol_of
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.path import presliding_of
from minertia.identification.problem.rows import PIECE, Load, MotionLike, absent_columns, projected, temperatures
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.io.errors import InputError, UnknownName
from minertia.robot.effects import BY_SYMBOL

LARGEST = 1e9  # value of a parameter that can be meant, in SI units
NEVER_NEGATIVE = ("M", "XX", "YY", "ZZ", *(symbol for symbol, effect in BY_SYMBOL.items() if effect.is_nonnegative))


def predict(model: LinearModel, beta: Array, motion: MotionLike, *, samples: int | None = None) -> Array:
    """Predicted efforts (N, joints used) of a motion; samples: length of the log that contains it, see `states`.

    beta (unknowns, any): efforts (N, joints used, any), for models without load-dependent effects.
    """
    q, qd, qdd = (np.asarray(a, float) for a in (motion.q, motion.qd, motion.qdd))
    samples = len(q) if samples is None else samples
    load = load_efforts(model, beta, samples) if model.choice.needs_load else None
    warmth, slid, parts = temperatures(model, motion), presliding_of(model, Motion.of(motion)), []
    beta = np.array(beta, float)
    beta[absent_columns(model, np.asarray(motion.tau))] = 0.0
    for start in range(0, len(q), PIECE):
        x, v, a = (part[start : start + PIECE] for part in (q, qd, qdd))
        asked = None if load is None else load(x, v, a)
        warm = None if warmth is None else warmth[start : start + PIECE]
        path = {name: values[start : start + PIECE] for name, values in slid.items()}
        parts.append(model.efforts(beta, (x, v, a), asked, temperature=warm, presliding=path, samples=samples))
    return projected(model, motion, np.concatenate(parts))


def load_efforts(model: LinearModel, beta: Array, samples: int | None = None) -> Load:
    """Function that computes the rigid-body torques of every joint, for load-dependent friction.

    samples: see `states`.
    """
    links = np.array([0.0 if model.is_friction(k) else float(v) for k, v in enumerate(beta)])
    extra = {t.name for t in model.choice.terms}
    inner = replace(model, rows=tuple(range(model.robot.n_velocity)))
    own = np.where([name in extra for name in model.names], 0.0, links)

    def load(q: Array, qd: Array, qdd: Array) -> Array:
        blank = np.zeros((len(q), model.robot.n_velocity))
        return inner.efforts(own, (q, qd, qdd), blank, samples=samples)

    return load


def with_fixed(observation: Observation, values: Mapping[str, float]) -> tuple[Observation, tuple[str, ...]]:
    """Problem with known parameters moved to the right-hand side, and names of the unknowns that this fixes."""
    model = observation.model
    known = np.zeros(model.count)
    K = model.K.copy()
    fixed: dict[int, float] = {}
    for name, value in values.items():
        _check_known(name, float(value), name in model.standard)
        if name in model.names and not (name in model.standard and model.classes[model.index(name)] == "combination"):
            fixed[model.index(name)] = float(value)
        elif name in model.standard:
            c = model.standard.index(name)
            known += model.K[:, c] * float(value)
            K[:, c] = 0.0
        else:
            raise UnknownName("parameter", name, (*model.names, *model.standard))
    gone = [k for k in range(model.count) if not np.any(K[k]) and np.any(model.K[k])]
    for k, value in fixed.items():
        known[k] = value
    done = sorted({*gone, *fixed})
    keep = [k for k in range(model.count) if k not in done]
    return observation.reduced(keep, known), tuple(model.names[k] for k in done)


def _check_known(name: str, value: float, is_standard: bool) -> None:
    """Raise an error for a physically impossible value."""
    if not abs(value) <= LARGEST:
        raise InputError(
            f"'{name}' is fixed to {value:g}; a known parameter must have a magnitude of at most {LARGEST:g}"
        )
    if is_standard and value < 0 and symbol_of(name) in NEVER_NEGATIVE:
        what = "a mass, a moment of inertia, friction or the stiffness of a spring"
        raise InputError(f"'{name}' is fixed to {value:g}; {what} is never negative")
