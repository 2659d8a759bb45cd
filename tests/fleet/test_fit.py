"""Fits of fleets: what robots share, each one's friction, and deviations that hold under day effects."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.simulated_fleet import FleetChange, SimulatedFleet
from benchmarks.simulated_program import nominal_values, simulated_model

from minertia.fleet.day_memory import DayMemory, day_memory
from minertia.fleet.day_stack import DayStack
from minertia.fleet.evidence import FleetEvidence
from minertia.fleet.fit import fit_fleet
from minertia.fleet.fit_result import FleetFit
from minertia.fleet.levels import LOAD
from minertia.fleet.options import FitOptions
from minertia.fleet.readout import load_directions
from minertia.io.errors import MinertiaError
from minertia.io.schema import OptionError

ROBOTS, DAYS = 8, 12
PLAIN = ("FV", "FC", "OFF", "FCL")


@pytest.fixture(scope="module")
def fleet() -> SimulatedFleet:
    return SimulatedFleet(ROBOTS, DAYS, 11, programs=ROBOTS, plain=True)


@pytest.fixture(scope="module")
def days(fleet: SimulatedFleet) -> dict[str, dict[int, FleetEvidence]]:
    return {n: {d: x.evidence for d, x in fleet.robot(k).items()} for k, n in enumerate(fleet.names())}


@pytest.fixture(scope="module")
def stacks(days: dict[str, dict[int, FleetEvidence]]) -> dict[str, DayStack]:
    return {robot: DayStack.of(own) for robot, own in days.items()}


@pytest.fixture(scope="module")
def found(stacks: dict[str, DayStack]) -> FleetFit:
    return fit_fleet("arm", stacks, FitOptions(PLAIN, load=load_directions(simulated_model())))


def truth(fleet: SimulatedFleet, k: int, name: str) -> float:
    return float(np.mean([fleet.true_values(k, d)[name] for d in range(DAYS)]))


def test_friction_of_each_robot_is_found_beside_shared_inertia(fleet: SimulatedFleet, found: FleetFit) -> None:
    wrong, right = [], []
    for k, own in enumerate(found.robots.values()):
        for name in own.names:
            if name[:2] in ("FV", "FC") and name[2].isdigit():
                place = own.names.index(name)
                error = own.values[place] - truth(fleet, k, name)
                wrong.append(abs(error) > 3.5 * own.deviation[place])
                right.append(abs(error) < 0.05 * abs(truth(fleet, k, name)))
    assert np.mean(wrong) < 0.05 and np.mean(right) > 0.95


def test_the_type_is_that_with_the_mean_load(fleet: SimulatedFleet, found: FleetFit) -> None:
    directions = load_directions(simulated_model())
    assert directions is not None
    loads = np.array([_load(fleet, k) for k in range(ROBOTS)])
    wanted = nominal_values() + directions[:, [0, 3]] @ [loads.mean(), 0.1 * loads.mean()]
    size = np.maximum(np.abs(wanted), np.abs(nominal_values()).max() * 1e-2)
    assert np.median(np.abs(found.type.values - wanted) / size) < 0.02
    own = np.array([robot.values[robot.names.index(LOAD)] for robot in found.robots.values()])
    np.testing.assert_allclose(own, loads - loads.mean(), atol=0.1)


def _load(fleet: SimulatedFleet, k: int) -> float:
    values, nominal = fleet.true_values(k, 0), dict(zip(simulated_model().names, nominal_values(), strict=True))
    directions = load_directions(simulated_model())
    assert directions is not None
    place = int(np.argmax(np.abs(directions[:, 0])))
    name = simulated_model().names[place]
    return float((values[name] - nominal[name]) / directions[place, 0])


def test_effects_are_chosen_by_what_the_evidence_asks_for(stacks: dict[str, DayStack]) -> None:
    """The plain robots have load-dependent friction and nothing else beside FV, FC, OFF."""
    assert fit_fleet("arm", stacks).symbols == PLAIN


def test_robots_differ_as_they_were_made_to(found: FleetFit) -> None:
    for own in found.between.values():
        assert np.all(own.spread < 0.3 * own.mean)
    with pytest.raises(MinertiaError, match="at least 10 robots"):
        found.outliers()


def test_a_physical_robot_is_fitted_to_what_is_pooled(stacks: dict[str, DayStack]) -> None:
    options = FitOptions(PLAIN, load=load_directions(simulated_model()), physical=True)
    own = fit_fleet("arm", stacks, options, simulated_model()).type
    assert own.physical is not None and 0 <= own.physical.excess < 0.1
    with pytest.raises(MinertiaError, match="needs a linear model of the robot"):
        fit_fleet("arm", stacks, options)


def test_few_days_take_deviations_from_their_stretches(
    fleet: SimulatedFleet, days: dict[str, dict[int, FleetEvidence]], stacks: dict[str, DayStack]
) -> None:
    first = min(days["r000"])
    short = {**stacks, "r000": stacks["r000"].only(first, first)}
    alone = fit_fleet("arm", short, FitOptions(PLAIN)).robots["r000"]
    assert (
        np.all(np.isnan(alone.deviation)) and "are too few to estimate the variation between days" in alone.remarks[0]
    )
    told = fit_fleet("arm", short, FitOptions(PLAIN), one_day=lambda robot: days[robot][first]).robots["r000"]
    assert np.all(told.deviation > 0) and "within a day" in told.remarks[0]
    place = told.names.index("FC1")
    assert abs(told.values[place] - fleet.true_values(0, 0)["FC1"]) < 0.1 * told.values[place]


def test_forgetting_follows_the_newest_days() -> None:
    """Dry friction grows by 0.4 on the seventh of ten days: all days alike see 0.16 of it, the last ones all."""
    made = SimulatedFleet(1, 10, 12, (FleetChange(0, "dry", 0.4, 6),), 1, (0.0, 0.0, 0.0), plain=True)
    stack = DayStack.of({d: x.evidence for d, x in made.robot(0).items()})
    before = made.true_values(0, 0)["FC1"]
    for half_life, part in ((None, 0.16), (0.4, 0.4)):
        own = fit_fleet("arm", {"r000": stack}, FitOptions(PLAIN, half_life)).robots["r000"]
        assert own.values[own.names.index("FC1")] / before - 1 == pytest.approx(part, abs=0.05)
    assert stack.forgotten(1.0).samples[0].max() < 0.01 * stack.samples[0].max()


def test_a_robot_with_other_columns_is_named_and_left_out(
    days: dict[str, dict[int, FleetEvidence]], stacks: dict[str, DayStack]
) -> None:
    other = DayStack.of({d: own.columns(["FV1", "FC1"]) for d, own in days["r001"].items()})
    fit = fit_fleet("arm", {**stacks, "r001": other}, FitOptions(PLAIN))
    assert "r001" not in fit.robots and "other columns" in fit.faults["r001"]


def test_the_fit_as_plain_data(found: FleetFit) -> None:
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert set(data) == {"format", "type", "effects", "day_effects", "robots", "between", "faults"}
    assert set(data["robots"][0]["values"]["FV1"]) == {"value", "deviation"}


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="symbols of FitOptions must be a list of"):
        FitOptions(("FX",))
    with pytest.raises(MinertiaError, match="half_life of FitOptions must be a number above 0"):
        FitOptions(half_life=0.0)
    with pytest.raises(MinertiaError, match="no robot"):
        fit_fleet("arm", {})


def test_means_over_days_are_covered_under_day_effects() -> None:
    """Day effects of memory 0.7 under as much noise without any: textbook deviations would hold in half the cases."""
    rng = np.random.default_rng(0)
    robots, D = 200, 30
    u = np.zeros((robots, D))
    u[:, 0] = rng.normal(size=robots)
    for d in range(1, D):
        u[:, d] = 0.7 * u[:, d - 1] + np.sqrt(0.51) * rng.normal(size=robots)
    x = u + 0.7 * rng.normal(size=(robots, D))
    memory = day_memory([own[:, None] for own in x])
    assert 0.55 < memory.memory < 0.85 and 0.5 < memory.part < 0.85
    part = memory.of_mean(D)
    deviation = x.std(axis=1) * np.sqrt(part / (1 - part))
    assert 0.88 < np.mean(np.abs(x.mean(axis=1)) < 2.2 * deviation) < 0.99
    assert np.mean(np.abs(x.mean(axis=1)) < 1.96 * x.std(axis=1) / np.sqrt(D)) < 0.75
    assert day_memory([]) == DayMemory() and DayMemory(0.0, 0.5).of_mean(10) == pytest.approx(0.1)
