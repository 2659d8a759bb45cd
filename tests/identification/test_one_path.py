"""The same identification from Python, the command and the file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.identification.efforts.judge import _spread
from minertia.identification.problem.ladder import (
    FRACTIONS,
    LADDER,
    POWER,
    PUSHES,
    STATIC,
    Ladder,
    Taken,
    _Selection,
    candidates,
)
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.tried import Tried
from minertia.identification.signals.filtering import Motion
from minertia.robot.joint import Limits
from tests.arm import recorded_arm
from tests.identification.motions import fourier_motion, noisy
from tests.random_robots import random_robot
from tests.shared import SHARED, needs_shared

ROOT = Path(__file__).parents[2]
QUICK = ("emps",)
SLOW = ("dvrk_psm", "panda_gaz2019", "tx40_gautier", "ur10e_innopolis", "xmate7_nku", "airbot_play", "kr300_weigand",
        "double_pendulum_dfki")  # fmt: skip
NAMES = (*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW))


@needs_shared
@pytest.mark.parametrize("name", NAMES)
def test_command_and_python_agree_on_real_logs(run, name):
    file, data = ROOT / "examples" / "logs" / f"{name}.toml", SHARED / "data" / name
    code, out, _ = run("identify", "--campaign", file, "--data", data, "--json")
    assert code == 0
    assert json.loads(out) == json.loads(mi.identify(mi.read_campaign(file, data)).to_json())


@pytest.mark.parametrize("stated", ["viscous,coulomb", pytest.param("", marks=pytest.mark.slow)])
def test_command_python_and_file_agree_on_a_simulated_arm(run, tmp_path: Path, stated: str):
    """A robot and paths, a campaign made in Python, its file, and the command; with effects stated, or chosen."""
    effects = stated.split(",") if stated else None
    recorded_arm(tmp_path, 6.0)
    robot, logs = tmp_path / "arm.urdf", [tmp_path / name for name in ("a.csv", "b.csv")]
    code, out, _ = run(
        "identify", robot, logs[0], "--validate", logs[1], *(("--effects", stated) if stated else ()), "--json"
    )
    assert code == 0
    told = json.loads(out)
    direct = mi.identify(robot, logs[0], validate=logs[1], effects=effects)
    plan = mi.Campaign(mi.read_robot(robot), logs[0], logs[1], effects=effects)
    *_, file = plan.save(tmp_path / "plan.toml")
    read = mi.identify(mi.read_campaign(file))
    steps = mi.build_problem(plan)
    for result in (direct, mi.identify(plan), read, mi.judge(steps, mi.solve(steps))):
        assert json.loads(result.to_json()) == told
    recordings = [mi.read_recording(log, mi.read_robot(robot)) for log in logs]
    again = mi.identify(robot, recordings[0], validate=recordings[1], effects=effects)
    assert again.training == direct.training and np.array_equal(again.beta, direct.beta)


def test_a_campaign_takes_what_people_have():
    robot = mi.read_robot(ROOT / "examples" / "robots" / "double_pendulum.toml")
    motion = fourier_motion(robot, 300, 1)
    recording = mi.Recording(motion.t, motion.q, motion.tau)
    for logs in (recording, [recording], mi.Log(recording), motion):
        assert len(mi.Campaign(robot, logs).train) == 1
    assert mi.Campaign(robot, recording, joints=2).joints == robot.coordinate_names[1:]
    with pytest.raises(mi.MinertiaError, match="a log must be the path of a file, a recording or a motion, not int"):
        mi.Campaign(robot, [3])
    with pytest.raises(mi.MinertiaError, match="a campaign must be a robot"):
        mi.Campaign(3, recording)
    with pytest.raises(mi.MinertiaError, match="the campaign already names the robot and the logs"):
        mi.identify(mi.Campaign(robot, recording), recording)
    wider = replace(recording, q=np.c_[recording.q, recording.q], tau=np.c_[recording.tau, recording.tau])
    with pytest.raises(mi.MinertiaError, match="has 4 joints, but .* has 2 coordinates"):
        mi.identify(robot, wider)


def measured(robot: mi.Robot, seed: int, samples: int, noise: float) -> Motion:
    motion = fourier_motion(robot, samples, seed, duration=samples / 50)
    tau = mi.inverse_dynamics(robot, motion.q, motion.qd, motion.qdd)
    return noisy(replace(motion, tau=tau), np.random.default_rng(seed), noise)


@pytest.mark.slow
def test_springs_of_the_file_stay():
    """A counterbalance is no friction: no ladder finds it, the file tells."""
    robot = mi.read_robot("puma560_physical").with_parameters({"KS2": 40.0}, {"KS2": {"rest": 0.3}})
    problem = mi.build_problem(mi.Campaign(robot, [measured(robot, k, 500, 0.2) for k in (1, 2)]))
    assert problem.ladder is not None and "spring" in problem.ladder.notes[0]
    assert problem.ladder.to_dict()["start"] == ["rotor", "viscous", "coulomb", "offset"]
    assert mi.solve(problem).value("KS2") == pytest.approx(40.0, rel=0.1)


def has_rotors(robot: mi.Robot, seed: int, samples: int, noise: float) -> bool:
    """Whether the ladder keeps rotor inertia."""
    return "rotor" in mi.build_problem(mi.Campaign(robot, measured(robot, seed, samples, noise))).ladder.start


def behind_gears(robot: mi.Robot) -> mi.Robot:
    """The same robot, its efforts measured where rotors do not show."""
    return robot.with_parameters({f"IA{j}": 0.0 for j in range(1, robot.n + 1)})


@pytest.mark.slow
def test_rotors_stay_where_they_show():
    """Without them nothing is lost and nothing gained by their columns: that is no evidence for rotors."""
    robot = replace(random_robot(3, n=3), gravity=(0.0, 0.0, -9.81))
    assert all(has_rotors(robot, seed, 600, 0.05) for seed in range(2))
    assert not any(has_rotors(behind_gears(robot), seed, 600, 0.05) for seed in range(2))


@pytest.mark.slow
def test_rotors_that_no_sensor_sees_are_left_out():
    """Short logs under noise as large as the efforts: rotors that are together positive stay, gain or not."""
    robot = mi.read_robot("puma560_physical")
    assert all(has_rotors(robot, seed, 300, 1.0) for seed in range(2))
    assert sum(not has_rotors(behind_gears(robot), seed, 300, 1.0) for seed in range(4)) >= 3


@pytest.mark.slow
def test_the_ladder_takes_what_is_there_and_nothing_else():
    """Friction planted on one joint is found there, on left-out folds; without any nothing is taken."""
    robot = mi.read_robot("puma560_physical")
    rng = np.random.default_rng(0)
    motions = [fourier_motion(robot, 1500, k, duration=20.0) for k in (1, 2)]

    def steps(change) -> set[tuple[str, str]]:
        logs = [noisy(replace(m, tau=m.tau + change(m)), rng, 0.02) for m in motions]
        ladder = mi.build_problem(mi.Campaign(robot, logs)).ladder
        return {(robot.joints[j].name, t.step.word) for t in ladder.steps for j in t.joints}

    none = steps(lambda m: 0.0)
    assert len(none) <= 1  # of 24 steps that noise could take
    third = np.arange(6) == 2
    cubic = steps(lambda m: 0.6 * third * m.qd**3)
    assert (robot.joints[2].name, "cubic") in cubic
    smooth = steps(lambda m: 3.0 * third * (np.tanh(m.qd / 0.1) - np.sign(m.qd)))
    assert (robot.joints[2].name, "smooth_coulomb") in smooth


def test_an_effect_is_told_with_the_change_of_the_error_whatever_its_sign():
    """Smooth friction is selected even where sharp friction predicts alike, or a little better."""
    robot = random_robot(3, n=1)
    smooth = next(step for step in LADDER if step.replaces)
    (name,) = [joint.name for joint in robot.joints]
    for gain, said in ((0.0312, "-3.1 %"), (-0.004, "+0.4 %"), (1.8e-8, "unchanged"), (-1.8e-8, "unchanged")):
        taken = Taken(smooth, (0,), (0.35,), gain)
        assert taken.sentence(robot) == f"{name}: smooth_coulomb (width 0.35), {said}"
        assert f"with the change of the error of predictions: {name}" in Ladder(robot, (taken,)).notes[0]
    assert [Tried("effects", "", gain).percent for gain in (0.0312, -1.8e-8)] == ["3.1 %", "0 %"]


def test_smooth_friction_of_any_width_is_not_taken_for_other_friction():
    """Where noise is small, Stribeck and other friction made up for widths further apart than by a factor of two."""
    robot = replace(random_robot(3, n=3), gravity=(0.0, 0.0, -9.81), effects=({},) * 3)
    motions = [fourier_motion(robot, 2000, k, duration=20.0) for k in (1, 2)]
    fastest = np.max([np.abs(m.qd).max(axis=0) for m in motions], axis=0)
    size = np.sqrt(np.mean(motions[0].tau ** 2, axis=0))
    width = np.array([0.005, 0.006, 0.018]) * fastest
    logs = [
        noisy(replace(m, tau=m.tau + 0.3 * size * np.tanh(m.qd / width)), np.random.default_rng(k), 0.02)
        for k, m in enumerate(motions)
    ]
    ladder = mi.build_problem(mi.Campaign(robot, logs)).ladder
    assert ladder is not None
    assert {taken.step.word for taken in ladder.steps} == {"smooth_coulomb"}


def test_the_gain_of_an_effect_is_that_of_the_joints_at_which_it_was_selected(monkeypatch: pytest.MonkeyPatch):
    """It was that of all joints, before those that do not have it were removed."""
    robot = replace(random_robot(3, n=3), gravity=(0.0, 0.0, -9.81))
    motion = fourier_motion(robot, 600, 1, duration=12.0)
    tau = motion.tau + np.array([0.0, 1.0, 0.0]) * 0.3 * motion.qd**3
    log = noisy(replace(motion, tau=tau), np.random.default_rng(1), 0.05)
    ends: list[_Selection] = []
    monkeypatch.setattr(_Selection, "_unselected", lambda end: ends.append(end))
    ladder = mi.build_problem(mi.Campaign(robot, log)).ladder
    assert ladder is not None and any(len(taken.joints) < 3 for taken in ladder.steps)
    (end,) = ends
    for taken in ladder.steps:
        fell = end.found.likelihood - end.likelihood.maximised(end._without(taken.step, taken.joints)).likelihood
        assert taken.gain == pytest.approx(1 - np.exp(-fell / end.rows), rel=0.1, abs=1e-4), taken


def test_effects_too_small_to_select_widen_intervals():
    """Load-dependent friction of a hundredth of the effort is not selected; intervals of friction allow for it."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    rng, motion = np.random.default_rng(1), fourier_motion(robot, 300, 1, duration=6.0)
    tau = motion.tau + np.sign(motion.qd) * (1.0 + 0.01 * np.abs(motion.tau))
    log = noisy(replace(motion, tau=tau), rng, 0.05)
    chosen = mi.identify(mi.Campaign(robot, [log]))
    ladder = chosen.problem.ladder
    assert "FCL" not in {taken.step.symbol for taken in ladder.steps}
    alone, _ = _spread(chosen.problem, chosen.estimate)
    ratios = dict(zip(chosen.estimate.part.names, chosen.evidence.spread.inflation / alone.inflation, strict=True))
    assert min(ratios.values()) > 0.999 and ratios["FCT1"] > 1.2, ratios
    names, more = ladder.unselected
    scale = np.sqrt(np.maximum(np.diag(more), 1e-300))
    assert (
        "FCT1" in {name.partition("@")[0] for name in names}
        and np.linalg.eigvalsh(more / np.outer(scale, scale))[0] > -1e-6
    )


@pytest.mark.parametrize("excess", [0.5, 3.0])
def test_static_friction_is_at_most_twice_that_of_sliding(excess: float):
    """A larger excess at low speeds is something else, which other motion need not repeat: it is not selected."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    rng, motion = np.random.default_rng(1), fourier_motion(robot, 600, 1, duration=6.0)
    slow = 0.03 * np.abs(motion.qd).max(axis=0)
    tau = motion.tau + np.sign(motion.qd) * (1.0 + excess * np.exp(-((motion.qd / slow) ** 2)) * (np.arange(2) == 0))
    ladder = mi.build_problem(mi.Campaign(robot, [noisy(replace(motion, tau=tau), rng, 0.01)])).ladder
    assert (0 in {j for taken in ladder.steps if taken.step.symbol == "FS" for j in taken.joints}) == (excess < 1)
    refused = {one.option for one in ladder.tried if one.reason == STATIC}
    assert refused == (set() if excess < 1 else {f"stribeck at {robot.joints[0].name}"})


@pytest.mark.parametrize("change", [0.4, 0.9])
def test_friction_that_would_push_a_little_further_on_is_not_selected(change: float):
    """Friction that falls to a tenth at one end of the motion would be negative beyond it, where other motion goes."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    rng, motion = np.random.default_rng(1), fourier_motion(robot, 600, 1, duration=6.0)
    q = motion.q[:, 0]
    place = (q - 0.5 * (q.min() + q.max())) / (0.5 * np.ptp(q))
    tau = motion.tau + np.sign(motion.qd) * np.column_stack([1.0 + change * place, np.ones(len(q))])
    ladder = mi.build_problem(mi.Campaign(robot, [noisy(replace(motion, tau=tau), rng, 0.01)])).ladder
    assert (0 in {j for taken in ladder.steps if taken.step.symbol == "FCQ" for j in taken.joints}) == (change < 0.5)
    refused = {one.option for one in ladder.tried if one.reason == PUSHES}
    assert refused == (set() if change < 0.5 else {f"position_coulomb at {robot.joints[0].name}"})


@pytest.mark.parametrize("limit", [None, 60.0])
def test_cubic_friction_that_would_push_below_the_speed_limit_is_not_selected(limit: float | None):
    """Friction that grows ever slower in slow logs would add power at the speeds that the file allows."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    joints = (replace(robot.joints[0], limits=Limits(velocity=limit)), robot.joints[1])
    robot, rng, motion = replace(robot, joints=joints), np.random.default_rng(1), fourier_motion(robot, 600, 1)
    v = motion.qd / np.abs(motion.qd).max(axis=0)
    tau = motion.tau + np.tanh(v / 0.03) + 3.0 * v - 0.7 * v**3 * (np.arange(2) == 0)
    ladder = mi.build_problem(mi.Campaign(robot, [noisy(replace(motion, tau=tau), rng, 0.01)])).ladder
    assert (0 in {j for taken in ladder.steps if taken.step.symbol == "FVC" for j in taken.joints}) == (limit is None)
    refused = {one.option for one in ladder.tried if one.reason == POWER}
    assert refused == (set() if limit is None else {f"cubic at {robot.joints[0].name}"})


def test_viscous_friction_that_thins_predicts_at_twice_the_speed():
    """Friction of a Carreau fluid is found where it acts, and extrapolates, unlike a cubic that fits it as well."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    rng, motion = np.random.default_rng(1), fourier_motion(robot, 600, 1)
    speed = np.abs(motion.qd).max(axis=0)
    planted = {"FC1": 1.0, "FV1": 1.0 / speed[0], "FVS1": 20.0 / speed[0], "FC2": 1.0, "FV2": 3.0 / speed[1]}
    planted_robot = robot.with_parameters(planted, {"FVS1": {"velocity": 0.1 * speed[0]}})
    log = noisy(replace(motion, tau=np.asarray(mi.inverse_dynamics(planted_robot, motion.q, motion.qd, motion.qdd))),
                rng, 0.01)  # fmt: skip
    result = mi.identify(robot, [log])
    assert [taken.joints for taken in result.problem.ladder.steps if taken.step.symbol == "FVS"] == [(0,)]
    rest = np.zeros(2)
    fast = [np.asarray(mi.inverse_dynamics(one, rest, 2 * speed, rest)) - np.asarray(mi.inverse_dynamics(
        one, rest, 2 * speed * [0, 1], rest)) for one in (planted_robot, result.model())]  # fmt: skip
    assert abs(fast[1][0] / fast[0][0] - 1) < 0.03


def test_springs_are_looked_for_where_travel_is_limited():
    """A joint that may turn on has no cable or hose: a spring would pull ever more beyond the fitted range."""
    free = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    for width, joints in ((None, set()), (6.0, {"j1"}), (20.0, set())):
        limits = Limits() if width is None else Limits(-width / 2, width / 2)
        first, second = (replace(joint, kind="revolute", limits=Limits()) for joint in free.joints)
        robot = replace(free, joints=(replace(first, name="j1", limits=limits), second))
        found = candidates(robot, np.array([[-1.0, -1.0], [1.0, 1.0], [2.0, 2.0]]))
        assert {name for spec in found if spec.kind == "spring" for name in spec.joints} == joints


def test_smooth_friction_where_none_is_clearer():
    """Sharp and hardly smoothed friction look alike in motion, and differ where noise is the velocity of a joint."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    rng, motion = np.random.default_rng(1), fourier_motion(robot, 300, 1, duration=6.0)
    log = noisy(replace(motion, tau=motion.tau + np.sign(motion.qd)), rng, 0.3)
    smooth = mi.build_problem(mi.Campaign(robot, [log])).names
    assert {"FCT1", "FCT2"} <= set(smooth) and not {"FC1", "FC2"} & set(smooth)
    known = mi.build_problem(mi.Campaign(robot, [log], fix={"FC1": 1.0})).names
    assert {"FC1", "FCT2"} <= set(known) and "FCT1" not in known


def test_a_joint_that_never_turns_back_keeps_sharp_friction():
    """There friction and an offset look alike; a start from rest would make smooth friction an offset."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    rng, motion = np.random.default_rng(1), fourier_motion(robot, 300, 1, duration=6.0)
    onward = np.array([1.1 * np.abs(motion.qd[:, 0]).max(), 0.0])  # rad/s, of the first joint
    q, qd = motion.q + onward * motion.t[:, None], motion.qd + onward
    tau = np.asarray(mi.inverse_dynamics(robot, q, qd, motion.qdd)) + np.sign(qd)
    found = mi.build_problem(mi.Campaign(robot, [noisy(replace(motion, q=q, qd=qd, tau=tau), rng, 0.3)])).names
    assert {"FC1", "FCT2"} <= set(found) and "FCT1" not in found


@pytest.mark.parametrize("travel", [0.0, 1e-4])
def test_a_joint_that_stands_still_keeps_plain_friction(travel):
    """It keeps plain friction; with tiny widths, the friction of other joints was merged into combinations."""
    robot = replace(mi.read_robot("puma560_physical"), effects=tuple({} for _ in range(6)))
    rng, motion = np.random.default_rng(1), fourier_motion(robot, 2000, 1, duration=20.0)
    q, qd, qdd = (np.array(part) for part in (motion.q, motion.qd, motion.qdd))
    q[:, 5], qd[:, 5], qdd[:, 5] = (
        0.3 + travel * np.sin(motion.t),
        travel * np.cos(motion.t),
        -travel * np.sin(motion.t),
    )
    drives = {f"{s}{j + 1}": v for s, v in (("IA", 0.1), ("FV", 0.3), ("FC", 0.2)) for j in range(6)}
    tau = np.asarray(mi.inverse_dynamics(robot.with_parameters(drives), q, qd, qdd))
    log = noisy(replace(motion, q=q, qd=qd, qdd=qdd, tau=tau), rng, 0.02)
    problem = mi.build_problem(mi.Campaign(robot, [replace(log, q=q + 1e-6 * rng.normal(size=q.shape))]))
    beta = dict(zip(problem.names, mi.solve(problem).beta.tolist(), strict=True))
    assert {f"IA{j}" for j in (4, 5)} <= set(beta) and {f"FV{j}" for j in range(1, 6)} <= set(beta)
    for j in (4, 5):
        assert beta[f"IA{j}"] == pytest.approx(0.1, rel=0.15)
        assert sum(v for n, v in beta.items() if n in (f"FC{j}", f"FCT{j}")) == pytest.approx(0.2, rel=0.1)
    assert "FC6" in beta


@pytest.mark.parametrize("speed", [1e-5, 1e-3, 0.1])
def test_friction_of_joints_of_any_speed_is_told_apart(speed):
    """Random states were so fast that the friction of slow joints looked alike, and was merged."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81), effects=({},) * 2)
    reach = np.array([[-1.0, -1.0], [1.0, 1.0], [2.0, speed]])
    names = linear_model(robot, candidates(robot, reach)).names
    assert {f"{s}{j}" for s in ("FV", "FC", "OFF") for j in (1, 2)} <= set(names)
    assert len([name for name in names if name.startswith("FCT2@")]) == len(FRACTIONS["FCT"])
