"""95 % intervals of `minertia servo` against what was planted, over servos that are drawn at random.

    python -m benchmarks.planted_servos [SERVOS [FIRST]]     # default: 24 from seed 0, 27 runs of 3 s each

Each servo is simulated apart from the product (tests/identification/planted_servo.py).  Figures: how many intervals
hold the planted value, of each servo and of each unknown, and the root mean square of errors over stated deviations.
"""

from __future__ import annotations

import sys

import numpy as np
from tests.identification.servo_coverage import is_held, misses
from threadpoolctl import threadpool_limits


def main(servos=24, first=0):
    """Print the shares."""
    every = {}
    for seed in range(int(first), int(first) + int(servos)):
        found = misses(seed)
        for name, miss in found.items():
            every.setdefault(name, []).append(miss)
        told = " ".join(f"{name} {miss:+.1f}" for name, miss in found.items())
        print(f"servo {seed}: {np.mean(is_held(found.values())):.0%} held; {told}", flush=True)
    for name, own in every.items():
        rms = np.sqrt(np.mean(np.square(own)))
        print(f"{name}: {np.mean(is_held(own)):.0%} of {len(own)}, errors {rms:.2f} deviations")
    held = is_held([miss for own in every.values() for miss in own])
    print(f"all: {np.mean(held):.1%} of {len(held)} (goal 92 to 98 %)")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*sys.argv[1:])
