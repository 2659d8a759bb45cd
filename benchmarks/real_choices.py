"""What nothing stated costs on real logs: residual of unseen parts with the filter, effects and estimator of a campaign
file, and with all of them chosen.

    python -m benchmarks.real_choices [NAME ...]     campaigns of examples/logs, with the data of the shared folder

Each set is cut six ways: parts of the fitted logs predict the rest of them.  With several logs, each is left out in
turn (of more than six, the first six); one log is cut in thirds (two fit, one is unseen) and halves, and the last cut
fits the first third only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.efforts.judge import residuals_on
from minertia.identification.identify import build_problem, solve
from minertia.identification.signals.options import Filter

HERE = Path(__file__).resolve().parents[1]
DATA = HERE.parent / "shared" / "data"
CUTS = 6
PARTS = (((0, 2 / 3), (2 / 3, 1)), ((1 / 3, 1), (0, 1 / 3)), ((0, 1 / 2), (1 / 2, 1)), ((1 / 2, 1), (0, 1 / 2)),
         ((0, 1 / 3), (1 / 3, 1)), ((2 / 3, 1), (0, 2 / 3)))  # fmt: skip


def cuts(campaign: Campaign) -> Iterator[Campaign]:
    """A campaign cut six ways into fitted and unseen parts; its validation logs are not used."""
    logs = campaign.train
    if len(logs) >= 3:
        for k in range(min(len(logs), CUTS)):
            yield replace(campaign, train=tuple(x for c, x in enumerate(logs) if c != k), validate=(logs[k],))
        logs = logs[:1]
    left = CUTS - (min(len(campaign.train), CUTS) if len(campaign.train) >= 3 else 0)
    log = logs[0]
    start = log.start or 0.0
    stop = log.stop or _duration(campaign)
    for fitted, unseen in PARTS[:left]:
        parts = [replace(log, start=start + a * (stop - start), stop=start + b * (stop - start)) for a, b in
                 (fitted, unseen)]  # fmt: skip
        yield replace(campaign, train=(parts[0], *logs[1:]), validate=(parts[1],))


def _duration(campaign: Campaign) -> float:
    problem = build_problem(replace(campaign, validate=(), train=campaign.train[:1], effects=("viscous",)))
    recording = problem.logs[0].recording
    return float(recording.t[-1])


def nothing_stated(campaign: Campaign) -> Campaign:
    """The campaign without filter, effects, prior and estimator; what describes the log and the evaluation stays."""
    return replace(campaign, filter=Filter(trim_s=campaign.filter.trim_s), effects=None, prior=None, estimator="auto",
                   options={})  # fmt: skip


def residual(campaign: Campaign) -> tuple[float, str, float]:
    """Relative residual of the unseen logs, what was fitted, and seconds."""
    start = time.process_time()
    problem = build_problem(campaign)
    estimate = solve(problem)
    seconds = time.process_time() - start
    values = [residuals_on(problem.linear, estimate.beta, log)[0].relative for log in problem.unseen]
    kinds = "+".join(sorted({term.name.rstrip("0123456789") for term in problem.linear.choice.terms}))
    return float(np.mean(values)), f"{problem.campaign.filter.cutoff_hz:.3g} Hz {estimate.estimator} {kinds}", seconds


def main(names: list[str]) -> None:
    """Print both residuals of each cut."""
    every = []
    for name in names or [path.stem for path in sorted((HERE / "examples" / "logs").glob("*.toml"))]:
        campaign = read_campaign(HERE / "examples" / "logs" / f"{name}.toml", DATA / name)
        shown = [] if not campaign.validate else [("own", campaign)]
        ratios = []
        for cut, own in (*shown, *((str(k), one) for k, one in enumerate(cuts(campaign)))):
            try:
                stated, _, _ = residual(own)
                chosen, what, seconds = residual(nothing_stated(own))
            except Exception as err:
                print(f"{name} {cut}: {type(err).__name__}: {err}", flush=True)
                continue
            ratios.append(chosen / stated)
            print(f"{name} {cut}: stated {stated:.2%}, chosen {chosen:.2%} ({chosen / stated - 1:+.1%}), {what}; "
                  f"{seconds:.1f} s", flush=True)  # fmt: skip
        every.append(np.mean(np.log(ratios)))
        print(f"{name}: geometric mean {np.exp(every[-1]) - 1:+.1%}", flush=True)
    print(f"all: {np.exp(np.mean(every)) - 1:+.1%}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
