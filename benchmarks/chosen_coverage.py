"""Share of 95 % intervals that hold the truth after everything was chosen: cut-off, effects and estimator.

    python -m benchmarks.chosen_coverage                all reported robots, three campaigns each
    python -m benchmarks.chosen_coverage 0,2,4 5        some robots, so many campaigns of each

Robots, motions, files and noise of efforts are those of `simulated_campaigns`; friction is of the kinds that are fitted
(smooth Coulomb, viscous and load-dependent friction, springs where the travel is limited), and positions are exact, so
that every value has a truth.  Intervals are value +- 1.96 standard deviations.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import minertia as mi
from benchmarks.simulated_campaigns import LOGS, MOTIONS, ROBOTS, CampaignDraw, is_reported
from minertia.identification.problem.ladder import candidates
from minertia.identification.problem.linear import symbol_of

Array = Any
NORMAL = 1.96  # deviations on each side of a 95 % interval
WIDTHS = (0.003, 0.01, 0.03, 0.1)  # of the highest speed
EXACT = 1e-7  # rad or m: steps of the encoders
PER_ROBOT = 3


def planted_campaign(robot: int, number: int) -> tuple[mi.Campaign, dict[str, float]]:
    """Campaign whose robot has effects of the kinds that are fitted, and the true parameters by name."""
    own = CampaignDraw(robot, number)
    kinds = list(MOTIONS)
    own.rng.shuffle(kinds)
    count = int(own.rng.choice([k for k, _ in LOGS], p=[p for _, p in LOGS]))
    duration = max(own.log((5.0, 40.0)), 5.0 / own.speed)
    runs = [own.motion(kinds[k % 2], duration, 1.0) for k in range(count)]
    truth, arm = _planted(own, runs)
    logs = []
    for t, *state in runs:
        tau = np.asarray(mi.inverse_dynamics(arm, *state))
        noise = own.effort_noise(np.sqrt(np.mean(tau**2, axis=0)), tau.shape)
        logs.append(mi.Recording(t, EXACT * np.round(state[0] / EXACT), tau + noise))
    return mi.Campaign(own.file, logs), truth


def _planted(own: CampaignDraw, runs: Any) -> tuple[dict[str, float], mi.Robot]:
    """True parameters by name, and the robot that has them."""
    parts, true = own.friction.parts, own.true
    q, qd, qdd = (np.concatenate([run[k] for run in runs]) for k in (1, 2, 3))
    rigid = np.asarray(mi.inverse_dynamics(true, q, qd, qdd))
    size = np.sqrt(np.mean(rigid**2, axis=0))
    size = np.maximum(size, 0.05 * size.max()) * (0.1 if own.is_behind else 1.0)
    fastest, sharpest = np.abs(qd).max(axis=0), np.abs(qdd).max(axis=0)
    sprung = {name for spec in candidates(own.file, np.stack([q.min(axis=0), q.max(axis=0), fastest]))
              if spec.kind == "spring" for name in spec.joints}  # fmt: skip
    truth, effects, constants = {}, [], []
    for j, joint in enumerate(true.joints):
        spring = own.friction.spring[j] if joint.name in sprung else 0.0
        values = {
            "IA": parts["rotor"][j] * size[j] / sharpest[j], "FV": parts["viscous"][j] * size[j] / fastest[j],
            "FCT": parts["coulomb"][j] * size[j], "OFF": parts["offset"][j] * size[j],
            "FCL": own.friction.load[j], "KS": spring * size[j] / own.reach[j],
        }  # fmt: skip
        width = float(f"{own.rng.choice(WIDTHS) * fastest[j]:.2g}")
        truth |= {f"{symbol}{j + 1}": float(value) for symbol, value in values.items()}
        effects.append({symbol: float(value) for symbol, value in values.items() if value})
        constants.append({"FCT": {"width": width}})
    links = dict(zip(true.columns(), true.parameter_vector().tolist(), strict=True))
    return truth | links, replace(true, effects=tuple(effects), constants=tuple(constants))


def held(robot: int, number: int) -> dict[str, list[bool]]:
    """Whether each interval of a campaign holds, of links, friction and springs."""
    campaign, truth = planted_campaign(robot, number)
    result = mi.identify(campaign)
    linear = result.linear
    values = np.array([_true_value(name, truth) for name in linear.standard])
    told = {p["name"]: p for p in result.to_dict()["parameters"]}
    found: dict[str, list[bool]] = {"links": [], "friction": [], "springs": []}
    for name, true in zip(linear.names, linear.K @ values, strict=True):
        deviation = told[name]["deviation"]
        if not deviation:
            continue  # known, or not excited
        symbol = symbol_of(name)
        kind = "springs" if symbol == "KS" else "friction" if symbol[0] in "FO" else "links"
        found[kind].append(bool(abs(told[name]["value"] - true) <= NORMAL * deviation))
    return found


def _true_value(name: str, truth: dict[str, float]) -> float:
    """True value of a standard parameter; sharp and smooth Coulomb friction have the same level."""
    return truth.get(name.replace("FC", "FCT", 1) if symbol_of(name) == "FC" else name, 0.0)


def main(robots: str = "", per_robot: str = str(PER_ROBOT)) -> None:
    """Print the shares."""
    drawn = [int(k) for k in robots.split(",")] if robots else [k for k in range(len(ROBOTS)) if is_reported(k)]
    every: dict[str, list[bool]] = {}
    for k in drawn:
        for number in range(int(per_robot)):
            found = held(k, number)
            for kind, own in found.items():
                every.setdefault(kind, []).extend(own)
            shares = ", ".join(f"{kind} {sum(own)} of {len(own)}" for kind, own in found.items() if own)
            print(f"{k}.{number} {ROBOTS[k]}: {shares}", flush=True)
    for kind, own in every.items():
        print(f"{kind}: {np.mean(own) if own else np.nan:.1%} of {len(own)} (goal 93 to 97 %)")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*sys.argv[1:])
