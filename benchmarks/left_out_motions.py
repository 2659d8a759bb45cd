"""Each log of a campaign of commands predicted by a fit of the others, pooled.

    python -m benchmarks.left_out_motions CAMPAIGN.toml DATA [SECONDS [STEP]]

Only the first SECONDS of each log count, and the motion is simulated at STEP [s] (2 ms unless told; 0: halved as far as
it tells).  Relative figures are norm(q - simulated) over norm(q - command): of all rows, and of those in which nothing
else pushes the robot, as the fit of the other logs finds it.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from minertia.identification.campaigns.read import read_campaign
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.contact import pushed_rows, told_times, usual_rest
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.logs import loop_log
from minertia.identification.closed_loop.simulate import simulated, with_start


def rest_of(fit, log, steps):
    """Measured less simulated positions."""
    found = simulated(fit.model, fit.theta, with_start(fit.model, fit.theta, log, steps), steps, slopes=False)
    return log.q - found.q


def left_out(model, logs, k, step):
    """Sums of squares (joints) of one log under a fit of the others: residual, lag, the same of rows without a push."""
    others = [log for c, log in enumerate(logs) if c != k]
    steps = [max(1, round(log.period / step)) for log in others] if step else None
    fit = output_error(model, others, steps=steps)
    count = round(logs[k].period / min(log.period / s for log, s in zip(others, fit.steps, strict=True)))
    usual = usual_rest(model, others, [rest_of(fit, log, s) for log, s in zip(others, fit.steps, strict=True)])
    rest = rest_of(fit, logs[k], count)
    rows = pushed_rows(model, logs[k], rest, usual)
    own = logs[k].rows
    e, lag, free = rest[own], (logs[k].q - logs[k].u)[own], ~rows[own]
    sums = np.array([np.sum(x**2, axis=0) for x in (e, lag, e * free, lag * free)])
    parts = 100 * np.sqrt(sums[::2].sum(axis=1) / sums[1::2].sum(axis=1))
    print(f"{logs[k].name}: {parts[0]:.1f} % of all rows, {parts[1]:.1f} % of {free.all(axis=1).mean():.0%} of them"
          + (f"; pushed {told_times(logs[k], rows)}" if rows.any() else ""), flush=True)  # fmt: skip
    return sums


def main(file, data, seconds=np.inf, step=2e-3):
    """Print the figures of each log and of all."""
    campaign = read_campaign(file, data)
    campaign = replace(campaign, train=tuple(replace(log, stop=min(log.stop or np.inf, seconds))
                                             if np.isfinite(seconds) else log for log in campaign.train))  # fmt: skip
    logs = [loop_log(campaign, log) for log in campaign.train]
    model = loop_model(campaign, min(log.period for log in logs))
    sums = sum(left_out(model, logs, k, step) for k in range(len(logs)))
    for what, (e, lag) in (("all rows", sums[:2]), ("rows without a push", sums[2:])):
        joints = ", ".join(f"{100 * x:.1f}" for x in np.sqrt(e / lag))
        print(f"pooled, {what}: {100 * np.sqrt(e.sum() / lag.sum()):.1f} % (joints {joints} %)")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:]))
