"""Friction models of servos, M1 to M6, fitted one after the other and chosen by runs left out.

The names are those of BAM (Duclusaud et al.), but for backlash.  Each model starts from the optimum of a simpler one,
and is kept only if runs with other loads and other gains, which were not fitted, gain from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import lsq_linear

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import Tell
from minertia.identification.closed_loop.askew import with_angles
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import DAMPING, moved, output_error
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.problem.terms import at_joints
from minertia.identification.problem.triangles import triangle
from minertia.io.arrays import Array
from minertia.io.schema import UNKNOWN

STEP = 5e-3  # s, of simulations; the last fit halves it while that changes the result
IRREGULAR = 0.1  # of a step by which it may be longer
SOME = 15  # iterations of a fit that is compared
COMPARED = 1e-4  # of its sum of squares that its last iteration may save: else a model gains by what its start lacked
FINISHED = 1e-5  # the same of the last fit: a tenth of a deviation of a dozen values, by ten thousand independent rows
WARMER = 3.0  # K between runs from which a motor's temperature shows: sensors read whole degrees
EVERY = 3  # runs of which one counts in the first iterations
FIRST_STEPS = 10  # iterations from each of several starts, of which the first may all be too long
FAST_FOR = 0.05  # s over which the highest speed of a joint is taken
VELOCITIES = (0.1, 0.15, 0.3)  # rad/s at which Stribeck friction is tried; half its height is at 0.83 of them
FIRST = {"IA": 0.01, "FV": 0.05, "FC": 0.1, "FCL": 0.1, "FS": 0.02, "FSL": 0.2, "CURVE": 0.5, "START": 0.01,
         "SAG": 0.1, "PLAY": 0.01, "LAPSE": 0.02}  # fmt: skip
STARTS = (0.25, 0.5, 1.0)  # N m/V, of the effort of a volt
STALL = 2.0  # rad/s a volt: ratio of back-EMF to the effort of a volt at the start


@dataclass(frozen=True)
class FrictionModel:
    """Friction of a servo: words of its effects, and the simpler model.

    is_directional: whether both sides of the gear count apart.  is_quadratic: whether the load counts more than
    proportionally.  has_play: whether the gear has backlash.
    """

    words: tuple[str, ...]
    is_directional: bool = False
    is_quadratic: bool = False
    has_play: bool = False
    after: str = ""


M4 = ("coulomb", "stribeck", "load_coulomb", "load_stribeck")
MODELS: Mapping[str, FrictionModel] = {
    "m1": FrictionModel(("coulomb",)),
    "m2": FrictionModel(("coulomb", "stribeck"), after="m1"),
    "m3": FrictionModel(("coulomb", "load_coulomb"), after="m1"),
    "m4": FrictionModel(M4, after="m3"),
    "m5": FrictionModel(M4, True, after="m4"),
    "m6": FrictionModel(M4, True, True, after="m5"),
    "m4b": FrictionModel(M4, has_play=True, after="m4"),
}


@dataclass(frozen=True)
class ServoFit:
    """Fit of one friction model: its errors in runs left out, one for each run and way of leaving it out [rad]."""

    name: str
    velocity: float
    fit: LoopFit
    left_out: Array

    @property
    def values(self) -> dict[str, float]:
        """Values of the unknowns."""
        return dict(zip(self.fit.model.names, self.fit.theta.tolist(), strict=True))


@dataclass(frozen=True)
class ServoRuns:
    """Runs of one servo: campaign, logs, and the groups of runs that are left out together."""

    campaign: Campaign
    logs: tuple[LoopLog, ...]
    folds: tuple[tuple[int, ...], ...]

    @property
    def is_warmed(self) -> bool:
        """Whether motors were warmer in some runs than in others, by the logs."""
        usual = [np.median(log.supply.heat, axis=0) for log in self.logs if log.supply is not None]
        return bool(np.ptp(usual, axis=0).max() >= WARMER)

    def campaign_with(self, name: str, velocity: float) -> Campaign:
        """Campaign with a friction model of the table."""
        own, robot = MODELS[name], self.campaign.robot
        slow = {"velocity": velocity}
        effects = ["rotor", "viscous"]
        effects += [w if "stribeck" not in w else at_joints(robot, w, [0], slow) for w in own.words]  # type: ignore[misc]
        command = replace(
            self.campaign.command,
            load_share=UNKNOWN if own.is_directional else 0.5,
            load_curve=UNKNOWN if own.is_quadratic else 0.0,
            warming=UNKNOWN if self.is_warmed else 0.0,
            backlash=UNKNOWN if own.has_play else 0.0,
        )
        return replace(self.campaign, effects=tuple(effects), command=command)

    def model(self, name: str, velocity: float) -> ServoModel:
        """Servo model with a friction model of the table, and unknown angles of the loads."""
        model = loop_model(self.campaign_with(name, velocity), min(log.period for log in self.logs))
        return with_angles(model, self.logs)


def fit_models(runs: ServoRuns, names: Sequence[str], tell: Tell) -> Iterator[ServoFit]:
    """Fits of friction models, simpler ones first, each from the optimum of the one that it extends."""
    done: dict[str, ServoFit] = {}
    for name in (name for name in MODELS if name in names or not MODELS[name].after):
        tell(f"fitting {name}")
        before = MODELS[name].after
        while before and before not in done:
            before = MODELS[before].after
        done[name] = _fitted(runs, name, done.get(before))
        yield done[name]


def _fitted(runs: ServoRuns, name: str, before: ServoFit | None) -> ServoFit:
    """Best fit of a model from several starts, with its errors in runs left out."""
    steps = steps_of(runs.logs, STEP)
    tried = []
    for velocity, start in _starts(runs, name, before):
        model = runs.model(name, velocity)
        point = moved(model, runs.logs[::EVERY], start(model), steps[::EVERY], FIRST_STEPS)
        error = np.mean(
            [mean_error(model, point.theta[: model.count], log, k) for log, k in zip(runs.logs, steps, strict=True)]
        )
        tried.append((float(error), velocity, model, point.theta[: model.count]))
    _, velocity, model, theta = min(tried, key=lambda one: one[0])
    fit = output_error(model, runs.logs, theta, steps=steps, most=SOME, fall=COMPARED, deviations=False)
    return ServoFit(name, velocity, fit, left_out_errors(runs, fit, steps))


Start = Callable[[ServoModel], Array]


def _starts(runs: ServoRuns, name: str, before: ServoFit | None) -> Iterator[tuple[float, Start]]:
    """Velocities of Stribeck friction and initial values that are tried for a model."""
    has_stribeck = "stribeck" in MODELS[name].words
    if before is None:
        for scale in STARTS:
            yield VELOCITIES[0], lambda model, scale=scale: _first(model, runs.logs, scale)  # type: ignore[misc]
        return
    is_new = has_stribeck and "stribeck" not in MODELS[before.name].words
    for velocity in VELOCITIES if is_new else (before.velocity,):
        yield velocity, lambda model: _from(model, before)


def _first(model: ServoModel, logs: Sequence[LoopLog], scale: float) -> Array:
    """Initial values for an effort of a volt; the speed of the target is the highest speed of the joint."""
    fastest = max(_fastest(log) for log in logs)
    own = {"KP1": scale, "KD1": STALL * scale, "SPEED1": fastest, "delay": 0.01, "ZERO1": 0.0}
    return np.array([own.get(name, FIRST.get(name[:-1], 0.0)) for name in model.names])


def _fastest(log: LoopLog) -> float:
    """Highest speed of a joint, but for 2 % of the rows [rad/s]; rows may be more frequent than new positions."""
    rows = max(1, round(FAST_FOR / log.period))
    return float(np.percentile(np.abs(log.q[rows:, 0] - log.q[:-rows, 0]), 98) / (rows * log.period))


def _from(model: ServoModel, before: ServoFit) -> Array:
    """Values of a simpler model, and small ones of what it does not have."""
    known = before.values
    return np.array([known.get(n, 0.5 if n == "SHARE1" else 0.5 * FIRST.get(n[:-1], 0.0)) for n in model.names])


def steps_of(logs: Sequence[LoopLog], h: float) -> list[int]:
    """Number of steps between rows of each log, of about h [s]: stamps are never quite regular."""
    return [max(1, int(np.ceil(log.period / h - IRREGULAR))) for log in logs]


def mean_error(model: ServoModel, theta: Array, log: LoopLog, steps: int) -> float:
    """Mean absolute error of the simulated position of a run, from its first row on [rad]."""
    found = simulated(model, theta, log, steps, slopes=False)
    return float("inf") if found is None else float(np.mean(np.abs(log.q - found.q)))


def left_out_errors(runs: ServoRuns, fit: LoopFit, steps: Sequence[int]) -> Array:
    """Mean absolute error of each run, by fits without the runs of its load, then of its gain [rad]."""
    return np.array([mean_error(fit.model, x, runs.logs[k], steps[k]) for k, x in left_out_values(runs, fit)])


def left_out_values(runs: ServoRuns, fit: LoopFit) -> Iterator[tuple[int, Array]]:
    """Each run that is left out, with the values of a fit without its fold.

    These fits are one damped Gauss-Newton step away from that of all runs.
    """
    model, parts = fit.model, _triangles(fit)
    places = [place for place, k in enumerate(fit.kept) if k < model.count]
    own, prior = [fit.kept[place] for place in places], fit.sigma[0] * fit.prior[:, [*places, -1]]
    for fold in runs.folds:
        R = triangle(np.concatenate([*(R for k, R in enumerate(parts) if k not in fold), prior]))
        theta, held = fit.theta.copy(), np.sqrt(DAMPING) * np.linalg.norm(R[:-1, :-1], axis=0)
        A = np.concatenate([R[:-1, :-1], np.diag(held)])
        r = np.concatenate([R[:-1, -1], held * theta[own]])
        theta[own] = lsq_linear(A, r, (model.lower[own], model.upper[own])).x
        yield from ((k, theta) for k in fold)


def _triangles(fit: LoopFit) -> list[Array]:
    """Triangles of the linear problems of each run, for the unknowns of the model alone: its start is eliminated."""
    own = [place for place, k in enumerate(fit.kept) if k < fit.model.count]
    found = []
    for block in fit.part.stream():
        rows = np.concatenate([block.Y, block.tau[:, :, None]], axis=2).reshape(-1, block.Y.shape[2] + 1)
        starts = [c for c in range(rows.shape[1] - 1) if c not in own and np.any(rows[:, c])]
        R = triangle(rows[:, [*starts, *own, -1]])
        found.append(R[len(starts) :, len(starts) :])
    return found


def chosen_model(fits: Sequence[ServoFit]) -> ServoFit:
    """The simplest model whose runs left out are not worse than those of the best by more than a standard error.

    Errors are compared run by run, as logarithms: a fall that ends elsewhere must not decide.
    """
    logs = [np.log(np.maximum(fit.left_out, 1e-9)) for fit in fits]
    best = int(np.argmin([x.mean() for x in logs]))
    for fit, own in zip(fits, logs, strict=True):
        worse = own - logs[best]
        if worse.mean() <= worse.std() / np.sqrt(max(len(worse), 1)):
            return fit
    return fits[best]


def finished(runs: ServoRuns, found: ServoFit, tell: Tell) -> LoopFit:
    """Last fit of a chosen model, with steps of the simulation that no longer matter, from its optimum."""
    tell(f"fitting {found.name} with finer steps")
    model, steps = found.fit.model, steps_of(runs.logs, STEP)
    return output_error(model, runs.logs, found.fit.theta, steps=steps, halve=True, fall=FINISHED)
