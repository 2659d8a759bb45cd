"""Residual of unseen motion under the effects a campaign states, and under those that the ladder of friction chooses.

    python -m benchmarks.chosen_friction CAMPAIGN.toml DATA [SECONDS PART ...]

Unseen are the campaign's own validation logs.  With parts, the first SECONDS of its first training log are cut instead:
that part of them from the front predicts the rest, then that part from the back (0.5: halves).  One cut tells little of
a short log; the last line has the mean over all.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from minertia.identification.campaigns.read import read_campaign
from minertia.identification.identify import identify


def cuts(campaign, seconds, parts):
    """(title, campaign) of every cut of the first training log."""
    log = campaign.train[0]
    for part in parts:
        front, back = part * seconds, (1 - part) * seconds
        for fitted, left in (((0.0, front), (front, seconds)), ((back, seconds), (0.0, back))):
            pieces = [replace(log, start=a, stop=b) for a, b in (fitted, left)]
            title = f"{fitted[0]:.1f} to {fitted[1]:.1f} s fitted, {left[0]:.1f} to {left[1]:.1f} s unseen"
            yield title, replace(campaign, train=(pieces[0],), validate=(pieces[1],))


def main(file, data, seconds=0.0, *parts):
    """Print both residuals of every unseen log, and the mean ratio."""
    campaign = read_campaign(file, data)
    ratios = []
    for title, own in cuts(campaign, seconds, parts) if parts else [("as written", campaign)]:
        pairs = [[r.relative for r in identify(replace(own, effects=e)).evidence.unseen] for e in (own.effects, None)]
        for stated, chosen in zip(*pairs, strict=True):
            ratios.append(chosen / stated)
            print(f"{title}: {stated:.2%} stated, {chosen:.2%} chosen ({chosen / stated - 1:+.1%})", flush=True)
    if ratios:
        print(f"geometric mean of {len(ratios)}: {np.exp(np.mean(np.log(ratios))) - 1:+.1%}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:]))
