"""`rehearse_calibration`: calibrate simulated robots with known geometric errors and compare the estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minertia.calibration.plan import USUAL, plan_postures, told_deviation
from minertia.identification.evidence.intervals import NORMAL
from minertia.identification.geometry.base import exact_readings
from minertia.identification.geometry.chain import Array, Chain, chain_of, exponential, moved
from minertia.identification.geometry.choice import groups_of
from minertia.identification.geometry.fit import FREE, JOINT_PRIOR, PRIOR, rms
from minertia.identification.geometry.folds import GeometryRows
from minertia.identification.geometry.joints import columns_at, joint_columns
from minertia.identification.geometry.layout import GeometryLayout, GeometryState, Postures
from minertia.identification.geometry.spread import spread_of
from minertia.io.errors import UnknownName
from minertia.io.notebook import clipped
from minertia.io.resources import one_thread
from minertia.robot.corrections import SHAPES
from minertia.robot.files import RobotLike, as_robot

REHEARSED = ("points", "point")  # kinds of measurement
READINGS, JOINTS = 1e-4, 2e-5  # m, rad: a camera or a simple tracker, and an arm that repeats well
UNSEEN = 40  # postures to predict
DRAWS = 20
FORMAT = 1


@dataclass(frozen=True, repr=False)
class CalibrationRehearsal:
    """Result of simulated calibrations of a robot with known geometric errors.

    coverage: fraction of the 95 % confidence intervals that contain the true value.  deviations: typical
    standard deviation of each group [m, rad].  left: error at validation postures [m] over all draws with
    all corrections. nominal: the same error if only the placements of base and tool are fitted.
    """

    robot: str
    measure: str
    postures: int
    draws: int
    levels: tuple[str, ...]
    coverage: float
    deviations: dict[str, float]
    left: float
    nominal: float

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        names = ("robot", "measure", "postures", "draws", "coverage", "deviations", "left", "nominal")
        return {"format": FORMAT, **{name: getattr(self, name) for name in names}, "levels": list(self.levels)}

    def __repr__(self) -> str:
        return (
            f"<CalibrationRehearsal of '{clipped(self.robot, 40)}': error reduced from "
            f"{1000.0 * self.nominal:.3g} mm to {1000.0 * self.left:.3g} mm, {100 * self.coverage:.0f} % of the "
            "confidence intervals contain the true value>"
        )

    def sentences(self) -> tuple[str, ...]:
        """Summary of the result, in whole sentences."""
        return (
            f"{self.postures} postures of {self.robot}, {self.measure} measured to {1000.0 * READINGS:g} mm, "
            f"joint repeatability {1000.0 * JOINTS:g} mrad, {self.draws} draws of simulated errors",
            f"errors at validation postures: {1000.0 * self.left:.3g} mm, with base and tool fitted alone "
            f"{1000.0 * self.nominal:.3g} mm",
            f"95 % confidence intervals contain {100 * self.coverage:.0f} % of the simulated errors",
            *(told_deviation(group, size) for group, size in self.deviations.items()),
        )


def rehearse_calibration(
    robot: RobotLike,
    count: int = 40,
    measure: str = "points",
    *,
    levels: Sequence[str] = USUAL,
    tip: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> CalibrationRehearsal:
    """Calibrate simulated robots with random errors of typical size, and compare estimates with true values.

    count: number of planned postures to fit.  measure: one of `REHEARSED`.  levels: levels of corrections
    that are both simulated and estimated.
    """
    if measure not in REHEARSED:
        raise UnknownName("kind of measurement for a rehearsal", measure, REHEARSED)
    chain = chain_of(as_robot(robot), tip)
    planned = plan_postures(chain.robot, count, measure, levels=levels, tip=tip).q
    rng = np.random.default_rng(seed)
    with one_thread():
        found = [_draw(chain, planned, measure, groups_of(levels), rng) for _ in range(draws)]
    spread = {
        g: rms(np.concatenate([one.deviations.get(g, np.zeros(0)) for one in found])) for g in found[0].deviations
    }
    return CalibrationRehearsal(
        chain.robot.name,
        measure,
        count,
        draws,
        tuple(levels),
        float(np.mean(np.concatenate([one.hits for one in found]))),
        spread,
        rms(np.concatenate([one.left for one in found])),
        rms(np.concatenate([one.nominal for one in found])),
    )


@dataclass(frozen=True)
class _Draw:
    hits: Array
    deviations: dict[str, Array]
    left: Array
    nominal: Array


def _draw(chain: Chain, planned: Array, measure: str, groups: Sequence[str], rng: np.random.Generator) -> _Draw:
    """Calibrate a robot with random errors at the planned postures; evaluate it at random ones in their range."""
    low, high = planned.min(axis=0), planned.max(axis=0)
    q = np.concatenate([planned, rng.uniform(low, high, (UNSEEN, planned.shape[1]))])
    gravity = np.array(chain.robot.gravity, float)
    fitted = joint_columns(chain, [g for g in groups if g in SHAPES], planned, gravity)
    columns = tuple(columns_at(chain, fitted, q, gravity))
    blank = exact_readings(measure, np.broadcast_to(np.eye(4), (len(q), 4, 4)), rng)[0]
    layout = GeometryLayout(chain, Postures(q, blank), columns)
    state = _planted(layout, groups, rng)
    at = moved(
        state.placements, chain.is_hinge, layout.moved_positions(state) + JOINTS * rng.normal(size=(len(q), chain.n))
    )
    made = tuple(
        replace(m, values=m.values + READINGS * rng.normal(size=m.values.shape))
        for m in exact_readings(measure, at.tool, rng)[0]
    )
    rows = GeometryRows(chain, Postures(q, made), columns)
    chosen, unseen = np.arange(len(planned)), np.arange(len(planned), len(q))
    nominal = rows.fit((), chosen)
    found = rows.fit(groups, chosen, nominal.state)
    truth = dict(zip(layout.columns, layout.values(state), strict=True))
    own = [k for k, group in enumerate(found.groups) if group not in FREE]
    deviation = spread_of(found).deviations
    errors = np.array([found.values[k] - truth[found.names[k]] for k in own])
    by_group = {str(g): deviation[[k for k in own if found.groups[k] == g]] for g in found.groups[own]}
    hits = np.abs(errors) < NORMAL * deviation[own]
    return _Draw(hits, by_group, rows.errors(found, unseen), rows.errors(nominal, unseen))


def _planted(layout: GeometryLayout, groups: Sequence[str], rng: np.random.Generator) -> GeometryState:
    """Random corrections of typical size in the fitted groups, on a robot with a random base placement."""
    sizes = np.array([PRIOR.get(g, JOINT_PRIOR) if g in groups else 0.0 for g in layout.groups])
    state = layout.stepped(layout.start(), sizes * rng.normal(size=len(sizes)))
    placements = state.placements.copy()
    placements[0] = exponential(0.5 * rng.normal(size=6)) @ placements[0]
    return replace(state, placements=placements)
