"""What nothing stated costs: the residual of unseen motion under automatic choices, over that of the best in hindsight.

    python -m benchmarks choices            all robots, ten campaigns each: some hours of one core
    python -m benchmarks.choices 0,2,4 4    some robots, so many campaigns of each

Campaigns are drawn by `simulated_campaigns` (seed 34); rules are chosen on even robots and reported on odd ones.
The best in hindsight is the smallest residual of the unseen motions over a menu that a user could have stated:
cut-offs, effects on all joints, and regularisation towards the file's links, of each several.  Regret is the residual
of the automatic choice over that, less 1.  Every fit of the menu is algebra on normal equations of the evaluated
efforts.  Such a menu has thousands of models, so the best of them for some motions is partly luck.  How much is told by
three other choices: each unseen motion predicted with the model that is best for the other unseen motions; the model
that only a hundredth of the menu surpasses; and a fit that is told which effects are simulated at each joint, and their
constants, so that nothing is left to choose but the filter and the estimator.
"""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row
from benchmarks.simulated_campaigns import ROBOTS, CampaignDraw, draw_campaign, is_reported
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.efforts.judge import residuals_on
from minertia.identification.identify import build_problem, solve
from minertia.identification.logs.recording import Recording
from minertia.identification.physical.consistency import physical_space
from minertia.identification.problem.linear import LinearModel, linear_model, symbol_of
from minertia.identification.problem.prediction import load_efforts
from minertia.identification.problem.terms import EffectSpec, at_joints, everywhere
from minertia.identification.signals.filtering import evaluated_at, evaluation_times, prepared
from minertia.identification.signals.options import Evaluation, Filter
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Array = Any
PER_ROBOT = 10
CUTOFFS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)  # Hz
CYCLES, HIGHEST = 20.0, 0.4  # of the cut-off in a log, and of its rate
START = ("rotor", "viscous", "coulomb", "offset")
# of the highest speed: of smooth Coulomb friction; the middle one of Stribeck friction, too, the last of shear thinning
WIDTHS = (0.01, 0.03, 0.1)
FURTHER = (("FCL",), ("FVC", "FVS"), ("KS",), ("FS",), ("FCQ",))  # one of each tuple on all joints, or none
ERRORS = (None, 0.5, 0.1)  # relative, of the file's links; None: they are not looked at
MEMORY = 20.0  # rows that count as one, as noise is not white, where the file's links are weighed
HUNDREDTH = 0.01  # of the menu
GOALS = {"median": 0.02, "90 %": 0.10}
CHOICES = ("regret", "of a choice by the other unseen motions", "of the best hundredth of the menu",
           "of a fit that is told the effects")  # fmt: skip


def rows() -> Iterator[Row]:
    """Rows of the page: quantiles of the regret on the reported half; seconds of an automatic choice."""
    regrets, times = regret_of(range(len(ROBOTS)), PER_ROBOT)
    reported = np.array([r for (robot, _), r in regrets.items() if is_reported(robot)])
    found = (f"{what}: median {np.median(x):.1%}, 90 % below {np.quantile(x, 0.9):.1%}" for what, x in
             zip(CHOICES, reported.T, strict=True))  # fmt: skip
    told = f"{'; '.join(found)} ({len(reported)} campaigns)"
    yield Row("automatic choices, campaigns of robots never seen", float(np.median(times)), note=told)


def regret_of(robots: Any, per_robot: int) -> tuple[dict[tuple[int, int], list[float]], list[float]]:
    """Regret of each of `CHOICES` in each campaign, printed as they come; seconds."""
    regrets, times = {}, []
    for robot, number in itertools.product(robots, range(per_robot)):
        campaign = draw_campaign(robot, number)
        told, _ = automatic(CampaignDraw(robot, number).told())
        start = time.process_time()
        chosen, what = automatic(campaign)
        times.append(time.process_time() - start)
        best, menu, others, hundredth = hindsight(campaign)
        regrets[robot, number] = [x / min(best, chosen) - 1 for x in (chosen, others, hundredth, told)]
        half = "reported" if is_reported(robot) else "choosing"
        print(f"{half} {robot}.{number} {campaign.robot.name}: {chosen:.2%} by {what}; in hindsight {best:.2%} by "
              f"{menu}, {others:.2%} by the other motions; told {told:.2%}; {times[-1]:.1f} s", flush=True)  # fmt: skip
    return regrets, times


def automatic(campaign: Campaign) -> tuple[float, str]:
    """Relative residual of the unseen logs with nothing stated, and what was chosen."""
    problem = build_problem(campaign)
    estimate = solve(problem)
    settled = problem.campaign
    extras = {symbol_of(term.name) for term in problem.linear.choice.terms}
    what = f"{settled.filter.cutoff_hz:.3g} Hz, {estimate.estimator}, {'+'.join(sorted(extras)) or 'no further effect'}"
    found = [residuals_on(problem.linear, estimate.beta, log)[0] for log in problem.unseen]
    rest, effort = (np.linalg.norm(x) for x in zip(*((r.rmse, r.rmse / r.relative) for r in found), strict=True))
    return float(rest / effort), what


# ---------------------------------------------------------------------- the menu


def hindsight(campaign: Campaign) -> tuple[float, str, float, float]:
    """The smallest relative residual of the unseen logs over the menu, what left it, the residual of a choice for each
    of these logs by the others, and that of the best hundredth of the menu."""
    recordings = [log.source for log in (*campaign.train, *campaign.validate)]
    shortest, rate = min(r.duration for r in recordings), min(r.rate_hz for r in recordings)
    cutoffs = [c for c in CUTOFFS if CYCLES / shortest <= c <= HIGHEST * rate] or [HIGHEST * rate]
    menu = [one for cutoff in cutoffs for one in _menu_at(campaign, recordings, cutoff)]
    rests = np.array([rest for _, rest in menu])  # (models, logs)
    whole = rests.sum(axis=1)
    best = int(np.argmin(whole))
    others = sum(rest[np.argmin(whole - rest)] for rest in rests.T)
    hundredth = float(np.sqrt(np.quantile(whole, HUNDREDTH)))
    return float(np.sqrt(whole[best])), menu[best][0], float(np.sqrt(others)), hundredth


def _menu_at(campaign: Campaign, recordings: list[Recording], cutoff: float) -> Iterator[tuple[str, Array]]:
    """Models of the menu at a cut-off: what each is, and squares that it leaves of each unseen log."""
    robot, evaluation = campaign.robot, campaign.evaluation
    motions = [prepared(r, Filter(cutoff_hz=cutoff), edges=True) for r in recordings]
    motions, others = motions[: len(campaign.train)], motions[len(campaign.train) :]
    plain = linear_model(robot, [everywhere(robot, word) for word in START])
    model = linear_model(robot, _candidates(robot, motions))
    first = sum(_normal(plain, m, evaluation, None) for m in motions)
    load = load_efforts(plain, _weighted(first, list(range(plain.count)))[0])
    fitted = sum(_normal(model, m, evaluation, load) for m in motions)
    unseen = np.stack([_normal(model, m, evaluation, load).sum(axis=0) for m in others])
    columns = _Columns(model)
    _, sigma = _weighted(fitted, columns.of(("IA", "FV", "FC", "OFF")))
    total = np.sum(fitted / sigma[:, None, None], axis=0)
    unseen /= unseen[:, -1, -1].sum()
    pulls = {None: None}
    if robot.has_parameters:
        pulls |= {e: columns.pull(e / np.sqrt(MEMORY)) for e in ERRORS if e is not None}
    for (told, own), (error, pull) in itertools.product(columns.menu(), pulls.items()):
        v = np.zeros(model.count + 1)
        v[own], v[-1] = -_solved(total, own, pull), 1.0
        yield f"{cutoff:g} Hz, {told}, file {error or 'not looked at'}", np.maximum(unseen @ v @ v, 0.0)


def _candidates(robot: Robot, motions: Any) -> list[EffectSpec]:
    fastest = np.max([np.abs(m.qd).max(axis=0) for m in motions], axis=0)
    middle = np.mean([m.q.mean(axis=0) for m in motions], axis=0)
    found = [everywhere(robot, word) for word in START]
    for c, j in enumerate(robot.driven):
        for part in WIDTHS:
            width = {"width": float(part * fastest[c])}
            found.append(at_joints(robot, "smooth_coulomb", [j], width, f"@{part:g}"))
        slow = {"velocity": float(WIDTHS[1] * fastest[c])}
        found += [at_joints(robot, "stribeck", [j], slow, "@"), at_joints(robot, "load_coulomb", [j], {}, "@")]
        found.append(at_joints(robot, "shear_thinning", [j], {"velocity": float(WIDTHS[2] * fastest[c])}, "@"))
        found += [at_joints(robot, "cubic", [j], {}, "@"), at_joints(robot, "spring", [j], {}, "@")]
        found.append(at_joints(robot, "position_coulomb", [j], {"middle": float(middle[c])}, "@"))
    return found


class _Columns:
    """Columns of the menu's effects in a model of all of them."""

    def __init__(self, model: LinearModel) -> None:
        self.model, self.groups = model, dict[str, list[int]]()
        for k, name in enumerate(model.names):
            match = re.fullmatch(r"(IA|FV|FC|OFF|FCT|FS|FCL|FVC|FVS|KS|FCQ)\d+(@.*)?", name)
            key = "" if match is None else match[1] + (match[2] or "").replace("@", "" if match[1] != "FCT" else "@")
            self.groups.setdefault(key, []).append(k)

    def of(self, keys: Any) -> list[int]:
        return [k for key in ("", *keys) for k in self.groups.get(key, [])]

    def menu(self) -> Iterator[tuple[str, list[int]]]:
        dry = ("FC", *(f"FCT@{part:g}" for part in WIDTHS))
        further = itertools.product(*(((), *((name,) for name in one)) for one in FURTHER))
        for one, rotor, more in itertools.product(dry, (("IA",), ()), list(further)):
            keys = ("FV", "OFF", one, *rotor, *(name for part in more for name in part))
            yield "+".join(keys), self.of(keys)

    def pull(self, error: float) -> tuple[list[int], Array, Array]:
        """Unknowns of links, the precision of the file's values at a relative error, and that times these values."""
        model = self.model
        space = physical_space(model, None, {}, np.ones(len(model.rows)))
        links = [k for k, name in enumerate(model.standard) if symbol_of(name) in LINK_SYMBOLS]
        K = model.K[:, links]
        own = [k for k in self.groups[""] if np.any(K[k])]
        root = K[own] * space.scales[links] * error
        unit = np.linalg.norm(root, axis=1)
        shape = root @ root.T / np.outer(unit, unit) + 1e-9 * np.eye(len(own))
        precision = np.linalg.inv(shape) / np.outer(unit, unit)
        return own, precision, precision @ (K[own] @ space.x0[links])


def _normal(model: LinearModel, motion: Any, evaluation: Evaluation, load: Any) -> Array:
    """Normal equations (efforts, unknowns + 1, unknowns + 1) of a motion through the evaluation filter."""
    step = max(1, int(motion.rate_hz / max(8 * evaluation.cutoff_hz, 5 * motion.filter.cutoff_hz)))
    times = evaluation_times(motion.t, evaluation)
    t, *state = (np.asarray(x)[::step] for x in (motion.t, motion.q, motion.qd, motion.qdd))
    Y = model.columns(*state, None if load is None else load(*state))
    flat = Y.reshape(len(Y), -1)
    shown = np.flatnonzero(np.abs(flat).max(axis=0) > 0)
    W = np.zeros((len(times), len(model.rows) * model.count))
    W[:, shown] = evaluated_at(times, t, np.ascontiguousarray(flat[:, shown]), evaluation)
    tau = evaluated_at(times, motion.t, np.asarray(motion.tau)[:, list(model.rows)], evaluation)
    A = np.concatenate([W.reshape(len(times), *Y.shape[1:]), tau[:, :, None]], axis=2).swapaxes(0, 1)
    return np.matmul(A.transpose(0, 2, 1), A)


def _weighted(normal: Array, own: list[int]) -> tuple[Array, Array]:
    """Values, and the mean square of what they leave of each effort."""
    square = np.maximum(normal[:, -1, -1], 1e-12)
    for _ in range(5):
        beta = _solved(np.sum(normal / square[:, None, None], axis=0), own)
        v = np.zeros(normal.shape[-1])
        v[own], v[-1] = -beta, 1.0
        square = np.maximum(np.einsum("i,nij,j->n", v, normal, v), 1e-8 * normal[:, -1, -1] + 1e-300)
    return beta, square


def _solved(total: Array, own: list[int], pull: Any = None) -> Array:
    if pull is not None:
        where, precision, values = pull
        total = total.copy()
        total[np.ix_(where, where)] += precision
        total[where, -1] += values
    A, b = total[np.ix_(own, own)], total[own, -1]
    size = np.sqrt(np.maximum(np.diag(A), 1e-12))
    scaled = A / np.outer(size, size) + 1e-10 * np.eye(len(A))
    return np.asarray(cho_solve(cho_factor(scaled, check_finite=False), b / size) / size)


def main(robots: str, per_robot: str) -> None:
    """Print the quantiles of the regret of some robots."""
    regrets, times = regret_of([int(k) for k in robots.split(",")], int(per_robot))
    found = np.array(list(regrets.values())).T
    for what, x in zip(CHOICES, found, strict=True):
        print(f"{what}: median {np.median(x):.1%} (goal {GOALS['median']:.0%}), 90 % below {np.quantile(x, 0.9):.1%} "
              f"(goal {GOALS['90 %']:.0%}), mean of logarithms {np.mean(np.log1p(x)):.3f}")  # fmt: skip
    print(f"{len(regrets)} campaigns, {np.median(times):.1f} s each")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*sys.argv[1:])
