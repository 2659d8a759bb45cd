"""Drift: alarms at the stated rate, with the right cause, and a reason wherever nothing can be told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import fleet_drift as fleet_drift_benchmark
from benchmarks.simulated_fleet import START, FleetChange, SimulatedFleet
from benchmarks.simulated_program import simulated_model

from minertia.fleet.calendar import day_name
from minertia.fleet.day_effects import FLAT, DayEffects, blocks, learn_day_effects
from minertia.fleet.day_stack import DayStack
from minertia.fleet.drift import FleetDrift, TypeFleet, e_bh, fleet_drift
from minertia.fleet.e_process import EvidenceState, advanced, e_process
from minertia.fleet.events import RobotEvent, read_events
from minertia.fleet.evidence import FleetEvidence
from minertia.fleet.fit import fit_fleet
from minertia.fleet.options import DriftOptions, FitOptions
from minertia.fleet.programs import NEW_PROGRAM, movers_distance, program_events
from minertia.fleet.readout import load_directions
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.streams import LevelStream, StreamType
from minertia.io.errors import MinertiaError

EFFECTS = DayEffects((0.015, 0.01), 0.7, 0.7, 40, 30)
LEARNT, CHANGED, DAYS = 18, 21, 28
OPTIONS = DriftOptions(learning=LEARNT)
CHANGES = (
    FleetChange(0, "dry", 0.25, CHANGED, 1),
    FleetChange(1, "viscous", 0.3, CHANGED, 3),
    FleetChange(2, "load", 0.37, CHANGED),
    FleetChange(3, "dry", -0.2, CHANGED, 0),
)


@pytest.fixture(scope="module")
def fleet() -> dict[str, dict[int, RobotDay]]:
    """Fifteen robots; the last one has a new program from day 20 on."""
    made = SimulatedFleet(15, DAYS, 5, CHANGES, programs=8, new_programs={14: 20})
    return {name: made.robot(k) for k, name in enumerate(made.names())}


@pytest.fixture(scope="module")
def kind() -> StreamType:
    return StreamType("arm", load_directions(simulated_model()), 37.0, None, {"j2": 100.0}, {})


@pytest.fixture(scope="module")
def page(fleet: dict[str, dict[int, RobotDay]], kind: StreamType) -> FleetDrift:
    return fleet_drift([TypeFleet(kind, fleet)], OPTIONS)


@pytest.mark.slow
def test_every_change_is_found_with_its_cause_and_nothing_else(page: FleetDrift) -> None:
    found = {(a.robot, a.joint, a.what): a for a in page.alarms}
    assert set(found) == {
        ("r000", "j2", "dry friction"),
        ("r001", "j4", "viscous friction"),
        ("r002", None, "load"),
        ("r003", "j1", "dry friction"),
    }
    for change, alarm in zip(CHANGES, sorted(page.alarms, key=lambda a: a.robot), strict=True):
        assert abs(alarm.change - change.size) < max(3 * alarm.deviation, 0.03)
        assert abs(alarm.since[0] - START - CHANGED) <= 1
        assert alarm.bound == pytest.approx(1 / alarm.e)
    assert found["r002", None, "load"].unit == "kg"
    assert found["r000", "j2", "dry friction"].cost is not None
    assert "preload" in found["r003", "j1", "dry friction"].suggestion
    assert page.statement == "4 of 15 robots need an inspection; on average at most one alarm in ten is false"


def test_the_page_as_plain_data(page: FleetDrift) -> None:
    data = json.loads(json.dumps(page.to_json("here", [], ["one"]), allow_nan=False))
    assert {
        "format",
        "version",
        "store",
        "days",
        "q",
        "horizon",
        "streams",
        "statement",
        "calibration",
        "alarms",
    } <= set(data)
    assert {"not_judged", "faults", "arithmetic", "watch"} <= set(data)
    wanted = {"robot", "joint", "what", "change", "deviation", "unit", "since", "e", "bound", "temperature"}
    assert wanted | {"program_changed", "suggestion", "cost"} == set(data["alarms"][0])
    assert data["days"] == [day_name(START), day_name(START + DAYS - 1)] and data["streams"] == len(page.streams)
    (calibration,) = data["calibration"]
    assert calibration["robots"] == 15 and len(calibration["omega"]) == 7


def test_day_effects_are_learnt(page: FleetDrift) -> None:
    """Those of the simulation: 1.5 % and 1 %, memory 0.7; memory is taken from above."""
    own = page.calibration["arm"]
    omega = np.array([own[f"j{j + 1}"].omega for j in range(6)])
    assert np.all((omega > [0.008, 0.005]) & (omega < [0.03, 0.02]))
    assert all(own[f"j{j + 1}"].phi > own[f"j{j + 1}"].likeliest for j in range(6))


def test_a_new_program_is_seen_and_resets(fleet: dict[str, dict[int, RobotDay]], kind: StreamType) -> None:
    assert [e.day for e in program_events("r014", fleet["r014"])] == [START + 20]
    assert program_events("r001", fleet["r001"]) == ()
    robots = ("r008", "r009", "r010", "r011", "r014")
    early = {r: {d: x for d, x in fleet[r].items() if d < START + 22} for r in robots}
    found = fleet_drift([TypeFleet(kind, early)], OPTIONS)
    (reason,) = {n.reason for n in found.not_judged if n.robot == "r014"}
    assert reason == f"new program on {day_name(START + 20)}: too few days since"


def test_a_new_program_of_like_histograms_is_seen() -> None:
    """Each joint moves as before, at another time: no histogram shows it, the moments of the regressor do."""
    made = SimulatedFleet(2, 6, 5, programs=8, twin_programs={1: 3}, stretches_until=0)
    same, twin = made.robot(0), made.robot(1)
    before, after = twin[START].histograms, twin[START + 3].histograms
    assert before is not None and after is not None and movers_distance(before, after) < 0.2 * NEW_PROGRAM
    assert program_events("r000", same) == ()
    (event,) = program_events("r001", twin)
    assert event.day == START + 3 and "combined in another way" in event.note


def test_maintenance_resets_the_joint_it_was_done_to(
    fleet: dict[str, dict[int, RobotDay]], kind: StreamType, page: FleetDrift
) -> None:
    """The step of a repair is none of wear; the other joints go on."""
    events = [
        RobotEvent("r000", START + CHANGED, "j2", "maintenance"),
        RobotEvent("r002", START + CHANGED, "*", "tool"),
    ]
    some = TypeFleet(kind, {r: fleet[r] for r in ("r000", "r001", "r002", "r003")}, page.calibration["arm"])
    found = fleet_drift([some], OPTIONS, events)
    assert {a.robot for a in found.alarms} == {"r001", "r003"}
    wrong = [replace(events[0], joint="j1"), replace(events[1], robot="r009")]
    assert {a.robot for a in fleet_drift([some], OPTIONS, wrong).alarms} >= {"r000", "r002"}


def test_what_cannot_be_told_is_said(fleet: dict[str, dict[int, RobotDay]], kind: StreamType) -> None:
    cold = {d: replace(x, temperature=np.full(6, np.nan)) for d, x in fleet["r004"].items()}
    short = {d: x for d, x in fleet["r005"].items() if d < START + 12}
    silent = {d: x for d, x in fleet["r006"].items() if d < START + DAYS - 5}
    bare = {d: replace(x, evidence=x.evidence.without_stretches()) for d, x in fleet["r007"].items()}
    some = {r: fleet[r] for r in ("r008", "r009", "r010", "r011", "r012")}
    robots = {**some, "r004": cold, "r005": short, "r006": silent, "r007": bare, "r013": {}}
    found = fleet_drift([TypeFleet(kind, robots)], OPTIONS)
    reasons = {n.robot: n.reason for n in found.not_judged}
    assert "temperatures are missing" in reasons["r004"]
    assert reasons["r005"].startswith("still in training: 12 days")
    assert reasons["r006"] == f"no logs since {day_name(START + DAYS - 6)}"
    assert "no time blocks" in reasons["r007"] and reasons["r013"] == "no logs"
    assert [s.stream.joint for s in found.streams if s.stream.robot == "r004"] == [None]  # its load is judged
    assert not found.alarms


def test_a_joint_that_stands_still_is_named_and_the_others_are_judged(
    fleet: dict[str, dict[int, RobotDay]], kind: StreamType
) -> None:
    def still(evidence: FleetEvidence) -> FleetEvidence:
        triangles = (*evidence.triangles[:5], np.zeros_like(evidence.triangles[5]))
        assert evidence.stretches is not None
        own = evidence.stretches
        scores = (*own.scores[:5], np.zeros_like(own.scores[5]))
        return replace(evidence, triangles=triangles, stretches=replace(own, scores=scores))

    robots = {r: fleet[r] for r in ("r000", "r008", "r009", "r010", "r011", "r012")}
    robots["r000"] = {d: replace(x, evidence=still(x.evidence)) for d, x in fleet["r000"].items()}
    found = fleet_drift([TypeFleet(kind, robots)], OPTIONS)
    assert [(n.robot, n.joint, n.reason) for n in found.not_judged] == [("r000", "j6", "it does not move")]
    (own,) = [s.stream for s in found.streams if (s.stream.robot, s.stream.joint) == ("r000", "j2")]
    assert own.y[-5:, 1].mean() - own.y[:LEARNT, 1].mean() == pytest.approx(0.25, abs=0.05)
    stacks = {r: DayStack.of({d: x.evidence for d, x in days.items()}) for r, days in robots.items()}
    fit = fit_fleet("arm", stacks, FitOptions(("FV", "FC", "OFF"))).robots["r000"]
    assert "FC6" in fit.not_shown and np.isfinite(fit.values[fit.names.index("FC5")])


def test_few_robots_take_an_earlier_calibration(
    fleet: dict[str, dict[int, RobotDay]], kind: StreamType, page: FleetDrift
) -> None:
    few = {r: fleet[r] for r in ("r000", "r008")}
    alone = fleet_drift([TypeFleet(kind, few)], OPTIONS)
    assert not alone.streams and "no calibration" in alone.not_judged[0].reason
    found = fleet_drift([TypeFleet(kind, few, page.calibration["arm"])], OPTIONS)
    assert {a.robot for a in found.alarms} == {"r000"}
    assert any("earlier calibration" in note for note in found.notes)


@pytest.mark.slow
def test_two_hundred_robots_keep_the_stated_rate_and_delays() -> None:
    page = fleet_drift_benchmark.judged(0)
    found = fleet_drift_benchmark.outcome(page, fleet_drift_benchmark.changes())
    assert found.worst_page <= page.options.q and found.false <= 0.1 * found.alarms
    assert all(part <= alpha for alpha, part in found.exceeded.items())
    right, every = found.causes
    assert right >= 0.95 * every and every >= 150
    goals = {way[0]: way[-1] for way in fleet_drift_benchmark.WAYS}
    assert {name: own for name, own in found.delays.items() if np.median(own) > goals[name]} == {}


# ---------------------------------------------------------------------- streams made directly


def streams(
    count: int, days: int, seed: int, *, student: float | None = None, step: Sequence[float] = (0.0, 0.0), at: int = 30
) -> list[LevelStream]:
    """Streams of the model, or with day effects of Student's distribution."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        u = np.zeros((days, 2))
        for d in range(days):
            fresh = rng.normal(size=2) if student is None else rng.standard_t(student, 2) / np.sqrt(3)
            u[d] = 0.7 * u[d - 1] + np.sqrt(1 - 0.49) * fresh if d else fresh
        V = np.array([[1.0, -0.7], [-0.7, 1.0]]) * np.outer([0.01, 0.006], [0.01, 0.006])
        warm = rng.normal(0, 0.3, days)
        y = u * [0.015, 0.01] + rng.multivariate_normal([0, 0], V, days) + 0.02 * warm[:, None]
        y[at:] += step
        own = np.broadcast_to(V, (days, 2, 2))
        found.append(
            LevelStream(f"r{k}", "j1", np.arange(days) + START, y, own, warm, np.zeros((days, 2, 0)), np.zeros((0, 0)))
        )
    return found


def innovations(stream: LevelStream, effects: DayEffects, events: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Whitened levels (D p,) and the factor of their covariance, by one dense matrix of all days."""
    D, p = stream.y.shape
    steps = [np.ones(D), stream.warm, *((stream.days >= e).astype(float) for e in events)]
    memory = effects.phi ** np.abs(np.subtract.outer(stream.days, stream.days))
    J = stream.J.reshape(D * p, -1)
    C = np.kron(FLAT * sum(np.outer(c, c) for c in steps), np.eye(p)) + np.kron(memory, np.diag(effects.omega) ** 2)
    L = np.linalg.cholesky(C + blocks(stream.V) + J @ stream.P @ J.T)
    return np.linalg.solve(L, stream.y.ravel()), L


def test_innovations_are_white_with_the_baseline_inside() -> None:
    w = np.array([innovations(s, EFFECTS, ())[0][8:] for s in streams(60, 50, 0)])
    assert abs(w.std() - 1) < 0.05 and abs(w.mean()) < 0.05


def test_the_filter_has_the_evidence_of_the_dense_covariance() -> None:
    """Day by day equal to the likelihood ratios from the covariance of all days, with events and gaps."""
    rng = np.random.default_rng(7)
    (whole,) = streams(1, 50, 8, step=(0.1, 0.05), at=40)
    kept = np.sort(rng.choice(50, 40, replace=False))
    root = 0.01 * rng.normal(size=(3, 3))
    one = replace(whole, days=whole.days[kept], y=whole.y[kept], V=whole.V[kept], warm=whole.warm[kept],
                  J=rng.normal(size=(40, 2, 3)), P=root @ root.T)  # fmt: skip
    events, first = [START + 20, START + 37], START + 25
    found = e_process(one, EFFECTS, first, events, horizon=90)
    w, L = innovations(one, EFFECTS, events)
    begin, end = int(np.searchsorted(one.days, events[1])), len(one.days)
    rows = slice(2 * begin, 2 * end)
    n = end - begin
    sig = np.linalg.solve(L[rows, rows], np.kron(np.tri(n), 0.1 * np.eye(2)))
    for d in range(n):
        upto, ratios = slice(0, 2 * d + 2), []
        for s in range(d + 1):
            own = sig[upto, 2 * s : 2 * s + 2]
            A, B = np.eye(2) + own.T @ own, own.T @ np.clip(w[rows][upto], -3, 3)
            ratios.append(np.linalg.det(A) ** -0.5 * np.exp(B @ np.linalg.solve(A, B) / 2))
        wanted = sum(ratios) / 90 + 1 - (d + 1) / 90
        assert found.e[len(found.e) - n + d] == pytest.approx(wanted, rel=1e-9)
    assert found.starts.tolist() == one.days[begin:].tolist()


def evidence(own: Sequence[LevelStream]) -> np.ndarray:
    """E-values (streams, days) of streams with the same days."""
    effects = [EFFECTS] * len(own)
    return advanced(EvidenceState.before(own, effects), own, effects, START + 30).e


@pytest.mark.parametrize("student", [3.0, pytest.param(None, marks=pytest.mark.slow)])
def test_healthy_streams_exceed_no_more_than_stated(student: float | None) -> None:
    """Also with day effects that are further off than a Gaussian world has them: that is what clipping is for."""
    top = evidence(streams(200, 60, 1, student=student)).max(axis=1)
    assert np.mean(top >= 10) <= 0.1 and np.mean(top >= 100) <= 0.01


def test_evidence_is_one_on_average() -> None:
    last = evidence(streams(300, 40, 2))[:, -1]
    assert 0.8 < last.mean() < 1.2


def test_clipping_keeps_single_days_out() -> None:
    (stream,) = streams(1, 60, 3)
    stream.y[45] += 0.3
    found = e_process(stream, EFFECTS, START + 30)
    assert found.e.max() < 1e4 < found.raw.max()


def test_a_step_is_found_with_its_size_day_and_cause() -> None:
    for stream in streams(10, 60, 4, step=(0.0, 0.12), at=40):
        found = e_process(stream, EFFECTS, START + 30)
        assert found.last > 1e6 and int(np.argmax(found.causes)) == 1
        assert abs(found.change[1] - 0.12) < 3 * found.deviation[1]
        first, last = found.span()
        assert first - 2 <= START + 40 <= last + 2


def test_evidence_starts_anew_at_events_and_after_the_horizon() -> None:
    (stream,) = streams(1, 60, 5, step=(0.2, 0.2), at=40)
    assert e_process(stream, EFFECTS, START + 30, [START + 40]).last < 20
    assert e_process(stream, EFFECTS, START + 30, horizon=10).days.tolist() == list(range(START + 30, START + 60))
    assert e_process(stream, EFFECTS, START + 100).last == 1.0


def test_memory_is_learnt_from_above() -> None:
    own = streams(30, 30, 6)
    found = learn_day_effects(own, [(START, START + 29)] * len(own))
    assert found.phi >= 0.68 and found.likeliest <= found.phi
    assert found.omega == pytest.approx((0.015, 0.01), rel=0.35)
    with pytest.raises(MinertiaError, match="at least 5 robots"):
        learn_day_effects(own[:3], [(START, START + 29)] * 3)


def test_e_bh_takes_the_most_that_pass() -> None:
    assert e_bh([1.0, 40.0, 20.0, 0.5], 0.1) == [1, 2]  # 4 / (0.1 * 2) = 20, though 20 alone would not pass
    assert e_bh([1.0, 39.0, 1.0, 0.5], 0.1) == []
    assert e_bh([], 0.1) == []


def test_events_of_a_file() -> None:
    text = "robot,day,joint,kind,note\nr1,2026-03-02,j2,maintenance,grease\n\nr0,2026-03-01,,tool,\n"
    first, second = read_events(text)
    assert (first.robot, first.joint, first.concerns(None), first.concerns("j1")) == ("r0", "*", True, False)
    assert second.concerns("j2") and not second.concerns("j3") and not second.concerns(None)
    for line, why in (
        ("r1,2.3.26,*,tool,", "line 2: '2.3.26' is not a date"),
        ("r1,2026-03-02,*,repair,", "line 2: there is no kind of event called 'repair'"),
        (",2026-03-02,*,tool,", "line 2: an event needs the robot"),
    ):
        with pytest.raises(MinertiaError, match=why):
            read_events(f"robot,day,joint,kind,note\n{line}\n")
    with pytest.raises(MinertiaError, match="line 1: the columns must be"):
        read_events("a,b\n")


def test_options_are_checked() -> None:
    with pytest.raises(MinertiaError, match="q of DriftOptions must be a number from 0.0001 to 0.9"):
        DriftOptions(q=1.5)
    with pytest.raises(MinertiaError, match="horizon"):
        DriftOptions(horizon=0)
    with pytest.raises(MinertiaError, match="no robot with records"):
        fleet_drift([])
