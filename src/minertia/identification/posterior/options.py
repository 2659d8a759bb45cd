"""Options for sampling robots from the posterior of an identification."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.io.schema import Declared, option

MOST = 1_000_000
FEWEST_FOR_BANDS = 100  # draws of which 95 % are a statement


@dataclass(frozen=True, slots=True, repr=False)
class SampleOptions(Declared):
    """Number of robots to draw, and the prior of parameters that the logs do not determine."""

    n: int = option(4096, "Number of robots to sample.", range=(1, MOST), command="n")
    seed: int = option(0, "Seed of the random numbers.", range=(0, 2**32 - 1), command="seed")
    prior: float = option(
        0.3,
        "Prior standard deviation of link inertial parameters about the robot file, on a logarithmic scale. With 0.3, "
        "masses that the logs do not determine are within -45 and +80 % of the file's in about 95 % of the draws.",
        above=0,
        range=(0, 3),
        command="prior",
    )
    joint_prior: float = option(
        0.7,
        "Prior standard deviation of rotor inertia and friction about the robot file, on a logarithmic scale.",
        above=0,
        range=(0, 5),
        command="joint-prior",
    )
