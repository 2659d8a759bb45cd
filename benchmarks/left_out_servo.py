"""Runs of a servo predicted by fits of runs with other loads, then of runs with other gains.

    python -m benchmarks.left_out_servo RUNS

RUNS is a folder with index.csv.  Each fold is fitted as `minertia servo` does: all friction models, one chosen by runs
left out of what is fitted.  Figures are mean absolute errors of the simulated position from the first row on [mrad]:
of all runs, and of each motion.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from minertia.identification.campaigns.prepare import silent
from minertia.identification.closed_loop.servo_problem import ServoProblem
from minertia.identification.servo_options import ServoOptions
from minertia.identification.servo_runs import read_runs

WAYS = {"load [N m]": lambda run: run.moment, "gain": lambda run: run.register}


def left_out(whole, key, value):
    """Simulated runs with one value of a key, under a fit of the others, and its friction model."""
    kept = [key(run) != value for run in whole.own]
    parts = [
        [[one for one, is_own in zip(rows, kept, strict=True) if is_own == way] for rows in (whole.own, whole.logs)]
        for way in (True, False)
    ]
    (own, logs), (others, unseen) = (tuple(map(tuple, part)) for part in parts)
    found = replace(whole, own=own, logs=logs, others=others, unseen=unseen).solve(None, silent)
    return found.validated, found.best.name


def told(runs):
    """Mean errors of runs: of all, and of each motion [mrad]."""
    motions = dict.fromkeys(one.run.motion for one in runs)
    each = {m: np.mean([one.error for one in runs if one.run.motion == m]) for m in motions}
    return ", ".join(f"{1e3 * e:.1f} {m}" for m, e in {"mrad": np.mean([one.error for one in runs]), **each}.items())


def main(folder):
    """Print the figures of each fold, and of all folds of each way."""
    whole = ServoProblem.of(read_runs(folder), [], ServoOptions(), silent)
    for way, key in WAYS.items():
        every = []
        for value in dict.fromkeys(key(run) for run in whole.own):
            runs, name = left_out(whole, key, value)
            every += runs
            print(f"{way} {value:.4g}, {name}: {told(runs)}", flush=True)
        print(f"all, by {way.split()[0]}: {told(every)}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1])
