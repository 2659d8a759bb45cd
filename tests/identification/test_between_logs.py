"""Quantiles of residuals in a new log, where logs differ, and which held-out logs tell anything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.identification import bands
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.shown import held_out_rows, noise_of_positions, refitted
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.identification.kind import DrawnOutputs
from minertia.identification.logs.recording import Recording
from minertia.identification.posterior import shown
from minertia.identification.posterior.between import new_log_quantiles
from minertia.identification.posterior.shown import (
    LEVELS,
    UNDETERMINED,
    HeldOut,
    ResidualNoise,
    noise_between_logs,
)
from minertia.identification.problem.ladder import START
from minertia.identification.problem.terms import at_joints
from tests.identification.test_commands import TRUE, commands, theta_of
from tests.identification.test_sample_commands import ASKED, PLANTED

OUTPUTS = ("a", "b", "c", "d")
AT = LEVELS.index(0.95)


def drawn_logs(rng: np.random.Generator, count: int, spread: float) -> list[np.ndarray]:
    """Residuals of logs, each of its own size at each output."""
    sizes = np.exp(spread * rng.normal(size=(count, len(OUTPUTS))))
    return [size * rng.normal(size=(300, len(OUTPUTS))) for size in sizes]


def covered(spread: float, trials: int = 150) -> np.ndarray:
    """Mean share of the residuals of a new log within the 95 % of five others: all rows together, and between logs."""
    rng, found = np.random.default_rng(1), []
    for _ in range(trials):
        logs = drawn_logs(rng, 6, spread)
        held, new = logs[:-1], np.abs(logs[-1])
        fitted = [(np.ones((50, len(OUTPUTS))), 0.01)]
        nothing = np.zeros(len(OUTPUTS))
        between = noise_between_logs(OUTPUTS, fitted, [HeldOut(e, nothing, nothing) for e in held], "logs")
        together = np.quantile(np.abs(np.concatenate(held)), 0.95, axis=0)
        found.append([np.mean(new < own) for own in (together, between.half_widths(0.95))])
    return np.mean(found, axis=0)


def test_a_new_log_is_covered_where_logs_differ() -> None:
    """The rows of five logs together hold too little of a sixth."""
    together, between = covered(0.6)
    assert together < 0.935 and 0.94 < between < 0.965


def test_logs_that_do_not_differ_get_the_quantiles_of_their_rows() -> None:
    rng = np.random.default_rng(0)
    held = drawn_logs(rng, 6, 0.0)
    found = new_log_quantiles([np.abs(e) for e in held], np.ones((6, 4), bool), LEVELS)
    rows = np.quantile(np.abs(np.concatenate(held)), LEVELS, axis=0).T
    assert found == pytest.approx(rows, rel=0.1)
    assert np.all(np.diff(found, axis=1) > 0)


def test_outputs_of_different_sizes_keep_theirs_and_others_share() -> None:
    """Twelve logs tell an output ten times as large; two hardly tell one twice as large."""
    rng = np.random.default_rng(2)
    large = [e * [1, 1, 1, 10] for e in drawn_logs(rng, 12, 0.3)]
    found = new_log_quantiles([np.abs(e) for e in large], np.ones((12, 4), bool), LEVELS)[:, AT]
    assert found[3] / found[:3].mean() == pytest.approx(10, rel=0.35)
    few = [np.abs(rng.normal(size=(300, 4))) * size for size in (0.5, 2.0)]
    few[0][:, 0] *= 2
    found = new_log_quantiles(few, np.ones((2, 4), bool), LEVELS)[:, AT]
    assert found[0] / found[1:].mean() < 1.5


def noise_of(others: float, strange: float = 1.0) -> ResidualNoise:
    """Of four logs, the first of which has strange residuals at output d; others: what is unknown of it without it."""
    rng, small = np.random.default_rng(3), np.full(4, 0.1)
    logs = drawn_logs(rng, 4, 0.0)
    logs[0][:, 3] *= strange
    held = [HeldOut(e, small, small) for e in logs]
    held[0] = replace(held[0], by_others=np.array([0.1, 0.1, 0.1, others]))
    return noise_between_logs(OUTPUTS, [(logs[1], 0.01)], held, "logs")


def test_what_only_the_held_out_log_determines_does_not_count() -> None:
    """Its residuals tell of a fit that does not know the joint, not of one of all logs."""
    beyond = 1.1 * UNDETERMINED**2
    usual, left_out = noise_of(0.1), noise_of(2 * beyond, strange=20.0)
    assert left_out.half_widths(0.95) == pytest.approx(usual.half_widths(0.95), rel=0.1)
    counted = noise_of(0.1, strange=20.0).half_widths(0.95)
    assert counted[3] > 2 * usual.half_widths(0.95)[3] and not left_out.unknown


def test_outputs_of_which_nothing_is_known_are_named_and_get_the_factor_of_the_others() -> None:
    rng, small = np.random.default_rng(4), np.full(4, 0.1)
    none = np.array([0.1, 0.1, 0.1, 100.0])
    logs = [e * [1, 1, 1, 50] for e in drawn_logs(rng, 4, 0.2)]
    found = noise_between_logs(OUTPUTS, [(np.ones((50, 4)), 0.01)], [HeldOut(e, small, none) for e in logs], "logs")
    assert found.unknown == ("d",)
    assert found.half_widths(0.95)[3] == pytest.approx(found.half_widths(0.95)[:3].mean(), rel=0.1)
    assert ResidualNoise.from_dict(found.to_dict()).unknown == ("d",)
    every = noise_between_logs(
        OUTPUTS, [(np.ones((50, 4)), 0.01)], [HeldOut(e, small, 100 * np.ones(4)) for e in logs], "logs"
    )
    assert every.unknown == OUTPUTS and np.isfinite(every.quantiles).all()


def test_a_joint_that_stands_does_not_widen_the_bands_of_the_others() -> None:
    """In all fitted logs, or in one: its residuals are none, and those of other logs any number of times that."""
    rng, small = np.random.default_rng(9), np.full(4, 0.1)
    logs = drawn_logs(rng, 5, 0.2)
    usual = noise_between_logs(OUTPUTS, [(logs[1], 0.01)], [HeldOut(e, small, small) for e in logs], "logs")
    standing = [e * [1, 1, 1, 1e-13] for e in logs]
    none = np.array([0.1, 0.1, 0.1, 0.0])
    fitted = [(standing[1] * [1, 1, 1, 0], 0.01)]
    found = noise_between_logs(OUTPUTS, fitted, [HeldOut(e, none, none) for e in standing], "logs")
    assert found.unknown == ("d",)
    assert found.half_widths(0.95)[:3] == pytest.approx(usual.half_widths(0.95)[:3], rel=0.15)
    once = [e * [1, 1, 1, k > 0] for k, e in enumerate(logs)]
    found = noise_between_logs(OUTPUTS, [(logs[1], 0.01)], [HeldOut(e, small, small) for e in once], "logs")
    assert found.half_widths(0.95) == pytest.approx(usual.half_widths(0.95), rel=0.15)


def test_rows_on_the_ground_have_quantiles_of_their_own() -> None:
    """Residuals are five times as large there: one width for all rows would be too wide or too narrow."""
    rng, small = np.random.default_rng(6), np.full(4, 0.1)
    on = np.arange(300) < 60
    logs = [e * np.where(on, 5.0, 1.0)[:, None] for e in drawn_logs(rng, 6, 0.1)]
    fitted = [(np.ones((50, 4)), 0.01)]
    found = noise_between_logs(OUTPUTS, fitted, [HeldOut(e, small, small, on) for e in logs], "logs")
    free, touching = (found.half_widths(0.95, touching=own) for own in (False, True))
    assert touching / free == pytest.approx(np.full(4, 5.0), rel=0.2)
    assert ResidualNoise.from_dict(found.to_dict()).half_widths(0.95, touching=True) == pytest.approx(touching)
    drawn = DrawnOutputs("log", OUTPUTS, np.arange(300) / 100, logs[0], 0 * logs[0], logs[0][None], (), on)
    widths = bands.half_widths_of_rows(found, drawn, 0.95)
    assert np.array_equal(widths[on], np.tile(touching, (60, 1))) and np.array_equal(widths[~on][0], free)
    free_log = replace(drawn, touching=None)
    assert np.array_equal(bands.half_widths_of_rows(found, free_log, 0.95), free)


def test_contact_without_larger_residuals_has_no_quantiles_of_its_own() -> None:
    rng, small, on = np.random.default_rng(8), np.full(4, 0.1), np.arange(300) < 60
    logs = [HeldOut(e, small, small, on) for e in drawn_logs(rng, 5, 0.4)]
    assert noise_between_logs(OUTPUTS, [(np.ones((50, 4)), 0.01)], logs, "logs").touching is None


def test_one_log_on_the_ground_does_not_tell_how_others_differ() -> None:
    rng, small, on = np.random.default_rng(7), np.full(4, 0.1), np.arange(300) < 60
    logs = [HeldOut(e, small, small, on & (k == 0)) for k, e in enumerate(drawn_logs(rng, 5, 0.1))]
    found = noise_between_logs(OUTPUTS, [(np.ones((50, 4)), 0.01)], logs, "logs")
    assert found.touching is None
    assert np.array_equal(found.half_widths(0.95, touching=True), found.half_widths(0.95))


def swung(seed: int, moves: tuple[float, float]) -> Recording:
    """A log of the planted arm in which each joint moves by a part of its usual motion."""
    t = np.arange(600) / 200.0
    u, zeros, model = commands(t, seed) * moves, np.zeros((600, 2)), loop_model(PLANTED, 0.005)
    plain = LoopLog("plant", None, 0.005, zeros, u, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
    found = simulated(model, theta_of(model), plain, 20, slopes=False)
    assert found is not None
    return Recording(t=t, q=found.q + 1e-4 * np.random.default_rng(seed).normal(size=u.shape), channels={"command": u})


def test_a_joint_that_one_log_moves_is_not_determined_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its friction and gains are those of that log alone: the residuals of a fit without it do not widen the band."""
    logs = [swung(0, (1.0, 1.0)), *(swung(seed, (0.03, 0.0)) for seed in (1, 2))]
    result = mi.identify(replace(PLANTED, command=ASKED, train=logs))
    fit = result.estimate.servo  # type: ignore[attr-defined]
    told = noise_of_positions(fit, result.problem.logs, ())  # type: ignore[attr-defined]
    monkeypatch.setattr(shown, "UNDETERMINED", np.inf)
    every = noise_of_positions(fit, result.problem.logs, ())  # type: ignore[attr-defined]
    assert every.factors(0.95)[1] > 1.2 * told.factors(0.95)[1] and not told.unknown


def test_of_few_logs_each_third_of_their_postures_is_held_out() -> None:
    """Every evaluated row once; where commands stand, or jump between few levels, no third is empty."""
    t = np.arange(601) / 200.0
    swing = np.column_stack([np.sin(t), 0.1 * np.cos(7 * t)])
    for u in (swing, np.sign(swing), 0 * swing):
        log = LoopLog("log", None, 0.005, 0 * u, u, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
        for logs in ([log], [log, log]):
            held = held_out_rows(logs)
            assert [k for k, _ in held] == [k for k in range(len(logs)) for _ in range(3)]
            assert np.array_equal(sum(rows.astype(int) for _, rows in held), np.full(601, len(logs)))
            assert all(len(t) // 3 <= rows.sum() <= len(t) // 3 + 1 for _, rows in held)
        whole = held_out_rows([log] * 3)
        assert [k for k, _ in whole] == [0, 1, 2] and all(rows.all() for _, rows in whole)
    ends = [swing[rows, 0] for _, rows in held_out_rows([replace(log, u=swing)])]  # along the wider joint
    assert max(map(max, ends[::2])) > ends[1].max() > ends[1].min() > min(map(min, ends[::2]))
    assert np.ptp(ends[1]) < 0.7 * np.ptp(swing[:, 0])
    late = held_out_rows([replace(log, u=np.column_stack([t, t]), first=400)])  # a ramp: its first third is not fitted
    assert [(rows[:400].sum(), rows[400:].sum()) for _, rows in late] == [(0, 67)] * 3


def test_a_fit_without_some_rows_fits_the_others_better() -> None:
    """Friction that changes with the position: one step without a third of the postures does not find the optimum."""
    terms = [at_joints(PLANTED.robot, "position_coulomb", [j], {"middle": 0.0}) for j in range(2)]
    plant = loop_model(replace(PLANTED, effects=(*START, *terms)), 0.005)
    values = np.array([TRUE.get(name, 1.0) for name in plant.names])
    u = commands(np.arange(800) / 200.0, 4)
    plain = LoopLog("plant", None, 0.005, 0 * u, u, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
    found = simulated(plant, values, plain, 20, slopes=False)
    assert found is not None
    own = Recording(t=np.arange(800) / 200.0, q=found.q, channels={"command": u})
    result = mi.identify(replace(PLANTED, command=ASKED, effects=START, train=[own]))
    fit, (log,) = result.estimate.servo, result.problem.logs  # type: ignore[attr-defined]
    for k, rows in held_out_rows([log]):
        theta, counts = refitted(fit, [log], k, rows), ~rows[log.rows]
        rests = []
        for one in (fit.theta, theta):
            again = simulated(fit.model, one, with_start(fit.model, one, log, fit.steps[0]), fit.steps[0], slopes=False)
            assert again is not None
            rests.append(np.sqrt(np.mean((log.q - again.q)[log.rows][counts] ** 2, axis=0)))
        assert np.prod(rests[1] / rests[0]) < 1.0


def test_two_logs_that_differ_widely_have_finite_quantiles() -> None:
    """Student's distribution with one degree of freedom has tails beyond the largest number."""
    scores = [np.full((50, 1), 1e-7), np.full((50, 1), 1e7)]
    assert np.isfinite(new_log_quantiles(scores, np.ones((2, 1), bool), LEVELS)).all()
