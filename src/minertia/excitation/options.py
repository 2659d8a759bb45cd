"""What a search for an exciting motion is asked: by which criterion, after which recordings, how long it may take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from minertia.excitation.trajectory import MOST, Trajectory
from minertia.io.errors import Infeasible, UnknownName, expect_kinds

CRITERIA = ("condition", "scaled-condition", "logdet", "deviation")


@dataclass(frozen=True)
class Optimality:
    """What makes a motion good.

    criterion: of the base regressor over the motion: "condition" number, "scaled-condition" (columns of length one),
    "logdet" (D-optimality) or "deviation" (largest predicted relative deviation).  rotors, friction: whether rotor
    inertias, and friction and offsets, are to be identified, too.  noise [N m or N]: of the measured efforts, one or
    (n,); by default a part of the largest nominal efforts.
    """

    criterion: str = "condition"
    rotors: bool = True
    friction: bool = True
    noise: ArrayLike | None = None

    def __post_init__(self) -> None:
        expect_kinds(self)
        if self.criterion not in CRITERIA:
            raise UnknownName("criterion", self.criterion, CRITERIA)


@dataclass(frozen=True)
class RecordedMotions:
    """What was recorded before, to which the new motion adds most.

    motions: each second of one counts as one of the new motion.  information (p, p): matrix of the base parameters, or
    its triangle, of rows over their noise.
    """

    motions: Sequence[Trajectory] = ()
    information: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "motions", tuple(self.motions))


@dataclass(frozen=True)
class MotionSearch:
    """How a motion is searched for.

    starts: searches from random motions, the best of which counts.  seed: of the first one.  n_samples: times at which
    a motion is judged.  patience: factor on the iterations.  come_from: posture (n,) [rad or m] in which the robot
    stands: where no way leads from there to the start of the motion, that is refused before the search.
    """

    starts: int = 3
    seed: int = 0
    n_samples: int = 200
    patience: float = 1.0
    come_from: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        expect_kinds(self)
        if self.seed < 0:
            raise Infeasible(f"the seed of a search is a whole number from 0, not {self.seed}")
        if not (1 <= self.starts <= MOST and 1 <= self.n_samples <= MOST):
            raise Infeasible(
                f"a search has from 1 to {MOST} starts and samples: {self.starts:.3g} and {self.n_samples:.3g} were "
                "asked for"
            )
        if not (math.isfinite(self.patience) and self.patience > 0):
            raise Infeasible(f"the patience of a search is a positive factor on its iterations, not {self.patience:g}")
