"""What comes back of the PUMA 560 in rehearsals with 1 % torque noise: python benchmarks/rehearsal.py [SEEDS]."""

from __future__ import annotations

import sys

from minertia.robot.files import read_robot
from minertia.simulation.options import RehearsalOptions
from minertia.simulation.rehearsal import rehearse
from minertia.simulation.rehearsed import summary


def main(seeds: int = 20) -> None:
    """Print each seed, then the part of (parameter, seed) pairs within three deviations and the worst residual."""
    robot = read_robot("puma560_physical")
    found = []
    for seed in range(seeds):
        one = rehearse(robot, RehearsalOptions(seed=seed), with_control=False)
        found.append(one)
        far = ", ".join(f"{r.name} {r.off:+.1f}" for r in one.returned if abs(r.off) > 3)
        print(f"seed {seed}: {100 * one.within:.1f} %, residual / noise {one.over_floor:.3f} {far}", flush=True)
    for name, value in summary(found).items():
        print(f"{name}: {value:.4g}")


if __name__ == "__main__":
    main(*(int(arg) for arg in sys.argv[1:]))
