"""Every number that a verdict hangs on, each with its reason.

Parts are of the effort (norm over norm) unless said otherwise.  "The drawn set-ups" are those of
`tests/identification/drawn_setups.py`: half of their robots chose these numbers, the other half was kept to report.
"""

from __future__ import annotations

import math

# beside other models, on unseen logs
WORSE, MORE = 1.25, 0.005  # ratio of errors, and part of the effort, within which two models are comparable
BETTER = 1.05  # ratio from which one is called better
NO_PRAISE = 0.5  # to leave less than a model that leaves half of the effort is nothing to be praised for
OVERFIT = 1.5  # unseen over training error from which the difference is named: folds of right campaigns stay below

# values
POOR = 0.3  # relative deviation from which a value is known in sign at best

# size of what is left beyond the noise of the log
SMALL = 0.1  # right drawn set-ups leave at most 0.078, faults that no set-up explains 0.14 and more
FRICTION = 0.4  # part of friction that the usual effects may leave: Stribeck, temperature, memory at reversals
LARGEST = 1 / 3  # whatever friction takes: a model that leaves a third predicts nothing
LARGE_JOINT = 0.2  # of a joint's effort, from which the joint is a limit

# fits of commands, of how the joints lag
LAG_MOST = 1 / 3  # a model that leaves more on unseen motion is not good
LAG_JOINT = 0.5  # of one joint's, from which the joint is a limit: servos whose friction sticks leave less
TIE = 1.02  # residual over that of a rival up to which a model is no worse, as one within `MORE` of the lag is


def bound(friction: float) -> float:
    """What a model may leave of the effort beyond noise, where friction takes such a part of it."""
    return min(math.hypot(SMALL, FRICTION * friction), LARGEST)
