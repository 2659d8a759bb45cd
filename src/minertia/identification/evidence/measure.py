"""`Measure`: the reference quantity of the residuals of a kind of problem, and the thresholds of a good model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from minertia.identification.evidence import thresholds as at


@dataclass(frozen=True)
class Measure:
    """Reference quantity of the residuals of a kind of problem, its texts, and the thresholds of the verdict.

    word: name of the quantity.  unit: unit of its residuals.  predicts: name of the outputs that a model
    predicts. about: how the relative residual is computed, for reports.  curves: name of the quantity plotted
    over time.  worse, better: ratio to a reference model's residual above which a model is worse, and up to
    which it is better.  most: largest relative residual of a good model, as a function of the friction
    fraction.  joint: largest relative residual of one joint, as a function of the overall one.  output:
    relative residual of one joint above which the model is worse than no model.  knows_noise: whether the
    noise of logs can be estimated, so that joints with hardly more than noise are not counted.  advice:
    possible causes of a large residual, and where to look.  each: word for one output.
    """

    word: str
    unit: str
    predicts: str
    about: str
    curves: str
    worse: float
    better: float
    most: Callable[[float], float]
    joint: Callable[[float], float]
    knows_noise: bool
    advice: str
    output: float = 1.0
    each: str = "joint"


EFFORT = Measure(
    word="effort",
    unit="N m (N for prismatic joints); as logged if gains are unknown",
    predicts="efforts",
    about="Norm of the residual over norm of the effort, prediction and measurement through the same evaluation "
    "filter. Logs named here were not fitted; the nominal model has the robot file's own parameters.",
    curves="Efforts",
    worse=at.WORSE,
    better=1 / at.BETTER,
    most=at.bound,
    joint=lambda left: at.LARGE_JOINT if left < at.SMALL else at.SMALL,
    knows_noise=True,
    advice="a robot with this much friction may have: check the curves (columns, units, a payload, limits of the "
    "drives, coupled joints, a base that moves)",
)
LAG = Measure(
    word="lag",
    unit="rad or m",
    predicts="positions",
    about="Norm of measured less simulated positions over norm of the tracking errors, in free-run simulation of "
    "each log from its initial state; 100 % corresponds to a joint that follows its command immediately.",
    curves="Tracking error",
    worse=at.TIE,
    better=1.0,
    most=lambda friction: at.LAG_MOST,
    joint=lambda left: at.LAG_JOINT,
    knows_noise=False,
    advice="a servo model may have: check the curves (control law, limits and delay of the servos, columns of "
    "the commands, contact, elastic joints)",
)
WRENCH = Measure(
    word="tool's wrench",
    unit="N, N m for moments",
    predicts="wrenches",
    about="Norm of measured less predicted wrenches over norm of the tool's own (measured less bias); 100 % "
    "corresponds to no compensation of the tool.",
    curves="Wrench of the tool, bias removed",
    worse=at.WORSE,
    better=1 / at.BETTER,
    most=lambda friction: at.WRENCH_MOST,
    joint=lambda left: 1.0,  # a channel that the tool hardly loads has noise alone
    knows_noise=False,
    advice="a compensated tool may have: check the curves (contact during the measurement, a cable that pulls, "
    "axes, sign, a bias that jumps)",
    output=math.inf,
    each="channel",
)
GEOMETRY = Measure(
    word="error without corrections",
    unit="m, rad or pixels",
    predicts="readings",
    about="Norm of the errors of readings over norm of those of the robot file, with base and tool fitted as "
    "well; 100 % corresponds to a robot without corrections.",
    curves="Errors of readings without corrections",
    worse=at.WORSE,
    better=1 / at.BETTER,
    most=lambda friction: at.WORTH,
    joint=lambda left: 1.0,  # what corrections do not change stays as it was
    knows_noise=False,
    advice="useful corrections have",
    output=math.inf,  # a coordinate, which may have had no error
    each="coordinate",
)
