"""Efforts that are logged late: the delay is found, taken from all logs, and kept for logs that are read later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.identify import build_problem, identify, solve
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.logs.readers import read_recording
from minertia.identification.logs.recording import Recording
from minertia.identification.payload import identify_payload
from minertia.identification.score import score_model
from minertia.identification.validate import validate
from minertia.identification.watch import OnlineWatch, learn_levels, watch_log
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from tests.identification.coverage import forgotten
from tests.identification.fits import unseen_part
from tests.identification.logs import write_csv
from tests.identification.motions import fourier_motion

FINE, EACH = 1000.0, 10  # Hz of the simulation, and its samples in one of the log
STATED = {"effects": ("rotor", "viscous", "coulomb", "offset"), "estimator": "wls"}


def robot() -> Robot:
    """An arm with the friction that a fit knows."""
    full = read_robot("puma560_physical")
    return replace(full, effects=tuple({"IA": 0.5, "FV": 2.0, "FC": 1.0, **own} for own in full.effects))


def log(late: float, draw: int, noise: float = 0.02, arm: Robot | None = None) -> Recording:
    """A log at 100 Hz whose efforts come late [s], with correlated noise."""
    arm, shift = robot() if arm is None else arm, round(abs(late) * FINE)
    motion = fourier_motion(arm, 20_000, draw, duration=20.0, size=0.5)
    count = len(motion.t) - shift
    here = slice(shift, None) if late > 0 else slice(0, count)
    there = slice(0, count) if late > 0 else slice(shift, None)
    t, q, tau = motion.t[here][::EACH], motion.q[here][::EACH], motion.tau[there][::EACH]
    rng = np.random.default_rng(draw)
    size = noise * np.sqrt(np.mean(tau**2, axis=0))
    return Recording(t - t[0], q, tau + size * forgotten(rng, tau.shape, 0.1, FINE / EACH))


@pytest.mark.parametrize("late", [0.015, 0.025, -0.012])
def test_a_delay_is_found_and_predictions_are_as_good_as_with_the_true_one(late: float) -> None:
    asked = Campaign(robot(), log(late, 0), log(late, 1), **STATED)
    problem = build_problem(asked)
    found = problem.campaign.map.drive.delay
    assert found == pytest.approx(late, abs=2.5e-3)
    estimate = solve(problem)
    (told,) = (note for note in estimate.notes if "the efforts" in note and "shifted" in note)
    read = problem.logs[0].recording
    assert read is not None  # both notes call the delay the same
    size = f"{1e3 * abs(found):.3g} ms "
    assert f" by about {size}and " in told and f" {size}" in " ".join(read.notes)
    assert [one.is_selected for one in problem.tried if one.choice == "delay"] == [True]
    left = unseen_part(problem, estimate)
    true, none = (build_problem(replace(asked, columns=ColumnMap(drive=Drive(delay=x)))) for x in (late, 0.0))
    assert left < 1.02 * unseen_part(true, solve(true))
    assert none.campaign.map.drive.delay == 0.0 and unseen_part(none, solve(none)) > 1.2 * left


def test_a_delay_of_which_the_fit_makes_up_for_a_part_is_found_whole() -> None:
    """The part differs between joints, here of a slide and five hinges; with it predictions hardly gain."""
    full = read_robot("stanford")
    arm = replace(full, links=read_robot("puma560_physical").links, effects=({"FV": 2.0, "FC": 1.0},) * full.n_joints)
    logs = [log(0.008, draw, noise=0.05, arm=arm) for draw in (0, 1)]
    found = build_problem(Campaign(arm, logs, **STATED)).campaign.map.drive.delay
    assert found == pytest.approx(0.008, abs=1e-3)


def test_efforts_that_are_not_late_are_not_shifted() -> None:
    for draw in range(6):
        problem = build_problem(Campaign(robot(), log(0.0, draw, noise=0.1), **STATED))
        assert problem.campaign.map.drive.delay is None, draw
        assert [one.is_selected for one in problem.tried if one.choice == "delay"] == [False]


def test_a_model_reads_later_logs_with_the_delay_of_its_own(tmp_path: Path) -> None:
    """From a file and from memory alike."""
    fitted, later = log(0.02, 0), log(0.02, 1)

    def written(name: str, one: Recording) -> Path:
        table = {"t": one.t, **{f"q{j + 1}": x for j, x in enumerate(one.q.T)}}
        return write_csv(tmp_path / name, table | {f"tau{j + 1}": x for j, x in enumerate(one.efforts().T)})

    result = identify(Campaign(robot(), written("fitted.csv", fitted), **STATED))
    held = identify(Campaign(robot(), fitted, **STATED))
    assert held.problem.campaign.map.drive.delay == pytest.approx(result.problem.campaign.map.drive.delay, abs=1e-6)
    (of_file,) = validate(result.model(), written("later.csv", later))
    (of_memory,) = validate(result.model(), later)
    assert of_file.relative == pytest.approx(of_memory.relative, rel=1e-3) and of_file.relative < 0.03
    columns = ColumnMap(t="t")
    (other,) = validate(result.model(), written("later.csv", later), columns=columns)
    assert other.relative == of_file.relative  # columns that state no delay change none
    (stated,) = validate(result.model(), later, columns=replace(columns, drive=Drive(delay=0.0)))
    assert stated.relative > 1.2 * of_file.relative


def test_logs_of_different_delays_are_not_shifted_by_their_mean() -> None:
    late = [log(0.02, draw) for draw in range(3)]
    mixed, alike = (build_problem(Campaign(robot(), [*late, log(x, 4)], **STATED)) for x in (0.0, 0.015))
    assert mixed.campaign.map.drive.delay is None
    assert [one.reason for one in mixed.tried if one.choice == "delay"] == ["it differs between logs"]
    assert alike.campaign.map.drive.delay == pytest.approx(0.019, abs=2e-3)


def test_a_delay_that_no_filter_has_is_left_to_the_verdict() -> None:
    problem = build_problem(Campaign(robot(), log(0.08, 0), **STATED))
    assert problem.campaign.map.drive.delay is None
    assert [one.is_selected for one in problem.tried if one.choice == "delay"] == [False]


def test_a_recording_that_was_read_with_a_stated_delay_is_not_shifted(tmp_path: Path) -> None:
    late = log(0.02, 0)
    table = {"t": late.t, **{f"q{j + 1}": x for j, x in enumerate(late.q.T)}}
    path = write_csv(tmp_path / "late.csv", table | {f"tau{j + 1}": x for j, x in enumerate(late.efforts().T)})
    for stated in (0.0, 0.01, 0.02):
        read = read_recording(path, robot(), ColumnMap(drive=Drive(delay=stated)))
        problem = build_problem(Campaign(robot(), read, **STATED))
        assert problem.campaign.map.drive.delay is None and len(problem.logs[0].recording or ()) == len(read)


def test_a_stated_delay_acts_on_recordings_as_on_files() -> None:
    stated = ColumnMap(drive=Drive(delay=0.02))
    problem = build_problem(Campaign(robot(), log(0.02, 0), log(0.02, 1), columns=stated, **STATED))
    assert unseen_part(problem, solve(problem)) < 0.03
    assert not [one for one in problem.tried if one.choice == "delay"]


@pytest.mark.parametrize("late", [0.02, -0.02])
def test_a_table_that_predicts_the_log_is_not_charged_with_its_delay(tmp_path: Path, late: float) -> None:
    """Who predicts the logged efforts exactly scores 0, whether their delay was chosen or there is none."""
    fitted, unseen = log(late, 0), log(late, 1)
    table = {"t": unseen.t, **{f"tau{j + 1}": x for j, x in enumerate(unseen.efforts().T)}}
    path = write_csv(tmp_path / "predicted.csv", table)
    for delay in (None, 0.0):
        drive = ColumnMap(drive=Drive(delay=delay))
        problem = build_problem(Campaign(robot(), fitted, unseen, columns=drive, **STATED))
        assert bool(problem.campaign.map.drive.delay) == (delay is None)
        assert score_model(path, problem).validation[0].relative < 1e-4


def test_a_payload_is_found_from_late_logs_as_from_others() -> None:
    mass, stated = 2.0, {"effects": STATED["effects"]}
    arm = robot().with_payload(mass, (0.02, -0.03, 0.1), (0.01, 0.001, 0.0, 0.012, 0.0, 0.008))
    without, loaded = log(0.02, 0, noise=0.005), log(0.02, 1, noise=0.005, arm=arm)
    none, chosen = (
        identify_payload(Campaign(robot(), without, columns=ColumnMap(drive=Drive(delay=x)), **stated), loaded)
        for x in (0.0, None)
    )
    assert chosen.mass == pytest.approx(mass, abs=3 * chosen.mass_deviation)
    assert chosen.mass_deviation < 0.5 * none.mass_deviation
    assert all(any("efforts were shifted" in note for note in one.recording.notes) for one in chosen.logs)


def test_a_monitor_knows_its_levels_from_efforts_as_late_as_it_gets_them() -> None:
    model = identify(Campaign(robot(), log(0.02, 0, noise=0.005), **STATED)).model()
    levels, later = learn_levels(model, log(0.02, 1, noise=0.005)), log(0.02, 2, noise=0.005).select(slice(800))
    watch = OnlineWatch(model, levels)
    for q, tau in zip(later.q, later.efforts(), strict=True):
        watch.step(q, tau)
    assert not watch.alarms and watch_log(model, later, levels).largest == pytest.approx(watch.largest)
