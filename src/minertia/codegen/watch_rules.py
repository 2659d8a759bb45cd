"""Constants of the on-line monitor shared by Python and generated C."""

from __future__ import annotations

STEPS = (0.5, 1.0, 2.0)  # deviations by which a joint's residual is supposed to step, to either side
SIGNED = tuple(sign * step for step in STEPS for sign in (1.0, -1.0))
CLIP = 3.0  # deviations: what is further off counts as this, so that no alarm rests on one block
HALF = 0.5  # part of a block's samples in which a joint must slide
BEGINS, BEGINS_AT = 10.0, 1e-3  # mean evidence below which nothing is suspected: this, and this part of the threshold
SKIPPED = 1  # block at the beginning of a suspicion that may hold both loads
NAMED = 25  # blocks of a suspicion after which it is named
BY_LOAD = 0.7  # part of the excess of squares that a load must explain
SURE = 3.0  # deviations by which a mass must have changed
QUIET, RECENT = 1.5, 0.96  # mean square of innovations below which a joint is normal again; forgetting of that mean
FULL = 1e30  # beyond every threshold, within single precision

NOTHING, SUSPECTED, LOAD, RESIDUAL = 0, 1, 2, 3  # what a step returns
