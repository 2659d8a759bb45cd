"""Motions that somebody tampered with: each is refused, before a driver opens, with the reason in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.capsules import length
from minertia.excitation.limits import motion_limits
from minertia.excitation.limits_file import LimitsTable, limits_toml
from minertia.excitation.options import Box, Workspace
from minertia.excitation.sampled import SampledMotion
from minertia.excitation.shapes import box
from minertia.excitation.trajectory import Trajectory
from minertia.excitation.transfer import Transfer
from minertia.io.errors import MinertiaError
from minertia.io.files import write_file
from minertia.robot.robot import Robot
from minertia.running import gate
from minertia.running.gate import STEP, Gate, _step, check_rate, read_route
from minertia.running.gate_limits import gate_limits

ARM, HEAVY, LOOP, SLIDE, WRIST = "panda", "puma560_physical", "five_bar", "emps", "ur10e"
HERE = {
    ARM: np.array([0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0]),
    HEAVY: np.array([0.0, 1.4, -1.4, 0.0, 0.3, 0.0]),
    LOOP: np.array([2.1, 1.05]),
    SLIDE: np.array([0.05]),
    WRIST: np.array([0.0, -1.57, 0.0, 0.0, 0.0, 0.0]),
}
MIDDLE = 50  # a row of the honest motion in full swing


def robot_of(name: str) -> Robot:
    return read_robot(name, letters=False)


def swing(name: str = ARM, by: float = 0.3, seconds: float = 1.0, rate: float = 50.0) -> Trajectory:
    """An honest motion there and back: 101 rows."""
    here = HERE[name]
    return Transfer(np.array([here, here + by, here]), seconds * np.arange(3.0)).at_rate(rate)


def table(path: Trajectory) -> np.ndarray:
    return np.column_stack([path.t, path.q, path.qd, path.qdd])


def saved(place: Path, rows: np.ndarray) -> Path:
    """A file as anybody can write it, without a check."""
    n = (rows.shape[1] - 1) // 3
    names = ["t", *(f"{s}{j + 1}" for s in ("q", "qd", "qdd") for j in range(n))]
    lines = [",".join(repr(float(v)) for v in row) for row in rows]
    place.write_text("\n".join(["# minertia trajectory format 1", ",".join(names), *lines]) + "\n")
    return place


def columns(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Views of q, qd, qdd."""
    n = (rows.shape[1] - 1) // 3
    return rows[:, 1 : 1 + n], rows[:, 1 + n : 1 + 2 * n], rows[:, 1 + 2 * n :]


# ---------------------------------------------------------------------- one file


def jumps_from_here(rows: np.ndarray) -> np.ndarray:
    """1 rad in 20 ms, and back in the next 20 ms."""
    columns(rows)[0][MIDDLE, 3] += 1.0
    return rows


def a_small_spike(rows: np.ndarray) -> np.ndarray:
    columns(rows)[0][MIDDLE - 20, 0] += 0.002
    return rows


def three_rows_that_bend(rows: np.ndarray) -> np.ndarray:
    """Positions and velocities that stand still, and an acceleration that makes 8 rad/s of them."""
    few = rows[[0, 0, 0]].copy()
    few[:, 0] = 0.0, 1.0, 2.0
    columns(few)[2][1] = 40.0
    return few


def three_rows_that_bend_a_little(rows: np.ndarray) -> np.ndarray:
    """Slow enough for every limit, and no motion that anybody wrote down."""
    few = three_rows_that_bend(rows)
    columns(few)[2][1] = 0.5
    return few


def one_wild_acceleration(rows: np.ndarray) -> np.ndarray:
    columns(rows)[2][MIDDLE, 1] = 40.0
    return rows


def zeroed(which: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(rows: np.ndarray) -> np.ndarray:
        columns(rows)[which][:] = 0.0
        return rows

    return change


def times(which: int, factor: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(rows: np.ndarray) -> np.ndarray:
        values = columns(rows)[which]
        values[:] = values[0] + factor * (values - values[0])
        return rows

    return change


def larger(rows: np.ndarray) -> np.ndarray:
    """The same motion five times as far: consistent, and too fast."""
    for values in columns(rows):
        values[:] = values[0] + 5 * (values - values[0])
    return rows


def faster(rows: np.ndarray) -> np.ndarray:
    """The same motion in an eighth of its time."""
    rows[:, 0] /= 8
    columns(rows)[1][:] *= 8
    columns(rows)[2][:] *= 64
    return rows


def faster_stamps(rows: np.ndarray) -> np.ndarray:
    """An eighth of the time, with the velocities of before."""
    rows[:, 0] /= 8
    return rows


def in_degrees(rows: np.ndarray) -> np.ndarray:
    for values in columns(rows):
        values[:] = np.rad2deg(values)
    return rows


def exchanged(rows: np.ndarray) -> np.ndarray:
    """Positions of two joints, and not their velocities: those stand in another order."""
    rows = larger(rows)
    for values in columns(rows):
        values[:, 0] = values[0, 0] - 0.2 * (values[:, 0] - values[0, 0])
        values[:, 1:] = values[0, 1:] + 0.1 * (values[:, 1:] - values[0, 1:])
    q = columns(rows)[0]
    q[:, [0, 1]] = q[:, [1, 0]]
    return rows


def beyond_between_rows(rows: np.ndarray) -> np.ndarray:
    """Every row is inside of the range of joint 4; what is between them is not."""
    top = -0.0698 - 0.02
    few = np.repeat(rows[:1], 5, axis=0)
    few[:, 0] = 0.0, 2.0, 2.5, 3.0, 5.0
    q, qd, qdd = columns(few)
    q[1:4, 3] = top
    qd[1:4, 3] = 0.4, 0.0, -0.4
    qdd[1:4, 3] = 0.0, -0.8, 0.0
    return few


def cell(row: int, column: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(rows: np.ndarray) -> np.ndarray:
        rows[row, column] = value
        return rows

    return change


TAMPERED: list[tuple[Callable[[np.ndarray], np.ndarray], str]] = [
    (jumps_from_here, "exceeds the (position|velocity) limit of joint 'j4'"),
    (a_small_spike, "is inconsistent.*'j1'|exceeds the acceleration limit of joint 'j1'"),
    (three_rows_that_bend, "exceeds the velocity limit of joint .*8"),
    (three_rows_that_bend_a_little, "is inconsistent.*acceleration of joint 'j1' is 0.5"),
    (one_wild_acceleration, "exceeds the acceleration limit of joint 'j2': 40"),
    (zeroed(1), "is inconsistent|exceeds the acceleration limit of"),
    (zeroed(2), "is inconsistent"),
    (times(1, 2.0), "is inconsistent|exceeds the acceleration limit of"),
    (times(1, -1.0), "is inconsistent|exceeds the acceleration limit of"),
    (times(1, 1.1), "is inconsistent|exceeds the acceleration limit of"),
    (times(2, 1.5), "is inconsistent"),
    (times(0, 1.5), "is inconsistent|exceeds the acceleration limit of"),
    (larger, "exceeds the .* limit of"),
    (faster, "exceeds the velocity limit of"),
    (faster_stamps, "exceeds the velocity limit of"),
    (in_degrees, "exceeds the position limit of"),
    (exchanged, "is inconsistent|exceeds the .* limit of"),
    (beyond_between_rows, "exceeds the position limit of joint 'j4': -0.0[0-6]"),
    (cell(MIDDLE, 3, np.nan), "line 53.*finite numbers"),
    (cell(MIDDLE, 12, np.inf), "line 53.*finite numbers"),
    (cell(MIDDLE, 0, 0.98), "the time stamps do not increase at t = 0.98 s"),
    (cell(MIDDLE, 0, 0.5), "the time stamps do not increase at t = 0.5 s"),
    (lambda rows: rows[:1], "it has one row"),
    (lambda rows: rows[[0, MIDDLE]], "does not end where"),
    (lambda rows: rows[: MIDDLE - 10], "does not start and end at rest"),
    (lambda rows: rows[: MIDDLE + 1], "does not end where"),
    (cell(-1, 12, 0.1), "does not start and end at rest"),
    (lambda rows: np.delete(rows, 3, axis=1)[:, :-2], "moves 6 joints, but 'Panda' has 7"),
    (lambda rows: np.delete(rows, 3, axis=1), "columns must be|line 3"),
    (lambda rows: rows * np.r_[1e-9, np.ones(21)], "lasts 2e-09 s|exceeds the .* limit of"),
    (cell(MIDDLE, 1, 1e300), "exceeds the position limit of joint 'j1'"),
    (cell(MIDDLE, 8, 1e300), "exceeds the .* limit of joint 'j1'"),
    (cell(MIDDLE, 15, 1e308), "exceeds the .* limit of joint 'j1'"),
    (lambda rows: rows + np.r_[0.0, 9.0, np.zeros(20)], "exceeds the position limit of joint 'j1': 9"),
]


def test_the_honest_motion_passes(tmp_path: Path) -> None:
    """So that each refusal below is for what was changed; rounded to six decimals, too."""
    rows = table(swing())
    assert read_route(saved(tmp_path / "motion.csv", rows), robot_of(ARM)).duration == pytest.approx(2.0)
    read_route(saved(tmp_path / "rounded.csv", rows.round(6)), robot_of(ARM))
    for name in (HEAVY, LOOP, SLIDE):
        path = saved(tmp_path / f"{name}.csv", table(swing(name, 0.15)))
        assert read_route(path, robot_of(name)).duration == pytest.approx(2.0)


@pytest.mark.parametrize("change, said", TAMPERED, ids=[f"{k}" for k in range(len(TAMPERED))])
def test_a_tampered_file_is_refused(tmp_path: Path, change: Callable[[np.ndarray], np.ndarray], said: str) -> None:
    path = saved(tmp_path / "motion.csv", change(table(swing())))
    with pytest.raises(MinertiaError, match=said) as refusal:
        read_route(path, robot_of(ARM))
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 400


def test_a_file_that_is_no_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "motion.csv", table(swing()))
    whole = path.read_text()
    for text, said in (
        (whole.replace("t,q1", "t,p1"), "columns must be"),
        (whole + "1,2,3\n", "finite numbers"),
        (whole.replace("0.02,", "0,02,", 1), "finite numbers|not a number"),
        (whole.replace("# minertia", "# my"), "not a trajectory file"),
        (whole.replace("format 1", "format 7", 1), "only format 1"),
    ):
        path.write_text(text)
        with pytest.raises(MinertiaError, match=said):
            read_route(path, robot_of(ARM))
    path.write_text(whole)
    monkeypatch.setattr("minertia.excitation.trajectory.MAX_BYTES", 1000)
    with pytest.raises(MinertiaError, match="larger than the limit"):
        read_route(path, robot_of(ARM))


def test_what_is_never_looked_at_is_too_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MOST", 500)
    path = saved(tmp_path / "motion.csv", table(swing(by=0.3)))
    read_route(path, robot_of(ARM))
    monkeypatch.setattr(gate, "STEP", 1e-4)
    with pytest.raises(MinertiaError, match="too far for"):
        read_route(path, robot_of(ARM))


def test_ways_of_all_joints_add_up_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six joints that each go a little move the last link six times as far."""
    robot = read_robot("puma560")
    looked: list[np.ndarray] = []
    held = Gate(robot, gate_limits("nowhere", robot).limits)
    states = held.space.states
    monkeypatch.setattr(held.space, "states", lambda q, *rest: (looked.append(q), states(q, *rest))[1])
    x = np.linspace(0.0, 1.0, 101)[:, None]
    way = np.full(6, 1.0)
    q, qd, qdd = x**3 * (10 - 15 * x + 6 * x**2), 30 * x**2 * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)
    held._space(SampledMotion(Trajectory(x[:, 0], q * way, qd * way, qdd * way)))
    assert np.abs(np.diff(looked[0], axis=0)).sum(axis=1).max() <= STEP * 1.001


@pytest.mark.parametrize("name", ["puma560", "ur10e", "panda", "gantry"])
def test_no_point_gets_through_what_it_keeps_off_between_two_looks(name: str) -> None:
    """Half the way of the farthest point between two looks is less than the distance kept, however long the robot."""
    robot = read_robot(name)
    longer = replace(robot.numeric, joints=tuple(replace(j, p=tuple(8 * v for v in j.p)) for j in robot.numeric.joints))
    for own in (robot, longer):
        limits = gate_limits("nowhere", own).limits
        assert limits.clearance is not None
        slides = sum(abs(v) for v, j in zip(limits.upper, own.joints, strict=True) if j.kind == "prismatic")
        assert 0.5 * _step(own, limits) * (length(own) + slides) <= 0.91 * limits.clearance.margin


def test_no_difference_of_commands_is_larger_than_what_was_bounded(tmp_path: Path) -> None:
    """At any rate and stage, differences of the commands are at most the largest velocity and acceleration."""
    way = read_route(saved(tmp_path / "motion.csv", table(swing(rate=7.0, seconds=2.0))), robot_of(ARM))
    (part,) = (motion for _, motion in way.parts)
    assert isinstance(part, SampledMotion)
    most = [np.maximum(-low, high).max(axis=0) for low, high in (part.hulls(k) for k in (1, 2, 3))]
    for rate in (10.0, 33.0, 125.0, 1000.0):
        for speed in (0.1, 0.37, 1.0):
            q = way.at(np.minimum(np.arange(int(way.duration * rate / speed) + 2) * speed / rate, way.duration))[0]
            for k, largest in enumerate(most, start=1):
                found = np.abs(np.diff(q, k, axis=0)).max(axis=0) * rate**k
                assert (found <= speed**k * largest * 1.001 + 1e-9 * rate**k).all()


def test_hulls_hold_every_value_between_samples() -> None:
    rng = np.random.default_rng(5)
    path = Trajectory(np.cumsum(rng.uniform(0.1, 1, 12)), *rng.normal(size=(3, 12, 2)))
    motion = SampledMotion(path)
    inside = np.linspace(0, 1, 40)[1:-1]
    for order in range(4):
        low, high = motion.hulls(order)
        for k in range(11):
            t = path.t[k] - path.t[0] + inside * (path.t[k + 1] - path.t[k])
            values = motion.jerk(t) if order == 3 else motion.at(t)[order]
            room = 1e-9 * np.abs(values).max()
            assert (values >= low[k] - room).all() and (values <= high[k] + room).all()
            assert (high[k] - low[k] <= 6 * np.ptp(values, axis=0) + 1).all(), "and not much more"


# ---------------------------------------------------------------------- what stands around the robot


def folder_with(place: Path, name: str, rows: np.ndarray, **asked: object) -> Path:
    """A folder as `excite` leaves it, with limits of its own."""
    robot = robot_of(name)
    jerk = asked.pop("jerk", None)
    limits = motion_limits(robot, **asked)  # type: ignore[arg-type]
    place.mkdir()
    saved(place / "excitation.csv", rows)
    write_file(place / "excitation-limits.toml", limits_toml(robot, limits if jerk is None else limits.with_jerk(jerk)))
    (place / "excitation.json").write_text(json.dumps({"format": 1, "limits": "excitation-limits.toml"}))
    return place


def reaching(name: str, joint: int, by: float, seconds: float = 4.0) -> np.ndarray:
    """One joint goes somewhere and back, slowly."""
    here = HERE[name]
    there = here.copy()
    there[joint] += by
    return table(Transfer(np.array([here, there, here]), seconds * np.arange(3.0)).at_rate(50.0))


AROUND: list[tuple[str, np.ndarray, dict[str, object], str]] = [
    (HEAVY, reaching(HEAVY, 1, 2.0, 9.0), {}, "'j6' is .* m below the floor"),
    (WRIST, reaching(WRIST, 4, -2.0, 9.0), {}, "'elbow_joint' and 'wrist_3_joint' are .* m apart"),
    (HEAVY, reaching(HEAVY, 1, 0.4, 0.25), {"velocity": 9.0, "acceleration": 90.0},
     "exceeds the effort limit of joint 'j2'"),
    (HEAVY, reaching(HEAVY, 1, 0.4, 0.25), {"velocity": 9.0, "acceleration": 90.0, "effort": False},
     "exceeds the effort limit of joint 'j2'"),
    (HEAVY, reaching(HEAVY, 0, 1.0, 9.0),
     {"workspace": Workspace(obstacles=[box("post", (0.177, 0.0, 0.857), (0.1, 0.1, 0.1))])}, "'post'"),
    (HEAVY, reaching(HEAVY, 1, 1.5, 9.0), {"workspace": Workspace(floor=0.12)},
     "below the floor, at least .* m is required"),
    (HEAVY, reaching(HEAVY, 0, 1.0, 9.0), {"workspace": Workspace(boxes=[Box("j6", (-1, -0.3, -1), (1, -0.05, 2))])},
     "frame 'j6' is .* outside its box"),
    (HEAVY, reaching(HEAVY, 0, 0.3), {"position": 0.2},
     "exceeds the position limit of joint 'j2'|exceeds the .* limit of joint 'j1'"),
    (HEAVY, reaching(HEAVY, 0, 0.3), {"velocity": 0.1}, "exceeds the velocity limit of joint 'j1'"),
    (HEAVY, reaching(HEAVY, 0, 0.3), {"acceleration": 0.05}, "exceeds the acceleration limit of joint 'j1'"),
    (HEAVY, reaching(HEAVY, 0, 0.3), {"jerk": 0.05}, "exceeds the jerk limit of joint 'j1'"),
    (ARM, reaching(ARM, 0, 0.3, 0.16), {"velocity": 90.0, "acceleration": 900.0},
     "exceeds the velocity limit of joint 'j1'"),
    (ARM, reaching(ARM, 0, 3.0, 12.0), {}, "exceeds the position limit of joint 'j1'"),
    (LOOP, reaching(LOOP, 1, 0.85), {}, "violates a constraint: .* of passive joint 'right_forearm'"),
    (SLIDE, reaching(SLIDE, 0, 0.3), {"position": 0.2}, "exceeds the position limit of joint 'j1': 0.35"),
]  # fmt: skip


@pytest.mark.parametrize("name, rows, asked, said", AROUND, ids=[f"{k}" for k in range(len(AROUND))])
def test_what_stands_around_the_robot_is_looked_at_again(
    tmp_path: Path, name: str, rows: np.ndarray, asked: dict[str, object], said: str
) -> None:
    folder = folder_with(tmp_path / "motion", name, rows, **asked)
    for path in (folder, folder / "excitation.csv"):  # also where only the file is named
        with pytest.raises(MinertiaError, match=said):
            read_route(path, robot_of(name))


def test_a_robot_that_stands_on_nothing_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "motion.csv", table(swing()))
    with pytest.raises(MinertiaError, match="its base floats"):
        read_route(path, read_robot(ARM, letters=False, base="floating"))


def test_speeds_that_nobody_limits_have_a_bound(tmp_path: Path) -> None:
    path = saved(tmp_path / "motion.csv", reaching(SLIDE, 0, 0.3, 0.1))
    with pytest.raises(MinertiaError, match="exceeds the velocity limit of joint 'j1': .* allowed 3"):
        read_route(path, robot_of(SLIDE))


@pytest.mark.parametrize(
    "name, asked, said",
    [
        (
            HEAVY,
            {"velocity": 1000.0},
            "'j1' has no velocity limit in the robot file, and 1000 rad/s "
            "is more than the largest value allowed then, 10",
        ),
        (SLIDE, {"velocity": 3.5, "position": 1.0}, "3.5 m/s is more than the largest value allowed then, 3 m/s"),
        (HEAVY, {"velocity": [1, 1, 1, 1, 1, 11.0]}, "'j6' has no velocity limit"),
        (HEAVY, {"velocity": 1.0, "acceleration": 1e5}, "'j1' has no acceleration limit .* 1000 rad/s2"),
    ],
)
def test_what_is_assumed_cannot_be_lifted_without_end(
    tmp_path: Path, name: str, asked: dict[str, object], said: str
) -> None:
    """Neither by the folder of a motion, nor by options, nor from Python."""
    robot = robot_of(name)
    rows = table(swing(name, 0.1))
    folder = folder_with(tmp_path / "motion", name, rows, **asked)
    plain = saved(tmp_path / "plain.csv", rows)
    options = [LimitsTable({what: values for what, values in asked.items()})]
    for run in (
        lambda: gate_limits(folder, robot),
        lambda: gate_limits(plain, robot, options),
        lambda: read_route(plain, robot, motion_limits(robot, **asked)),  # type: ignore[arg-type]
    ):
        with pytest.raises(MinertiaError, match=said) as refusal:
            run()
        assert "\n" not in str(refusal.value)


def test_limits_from_python_are_not_wider_than_the_file(tmp_path: Path) -> None:
    robot = robot_of(ARM)
    wide = motion_limits(robot, position=9.0, velocity=90.0, acceleration=900.0, beyond_file=True)
    for rows, said in (
        (reaching(ARM, 0, 0.3, 0.16), "exceeds the velocity limit of joint '.*1'"),
        (reaching(ARM, 0, 3.0, 12.0), "exceeds the position limit of joint '.*1'"),
        (reaching(ARM, 1, 0.4, 0.5), "exceeds the acceleration limit of joint '.*2'"),
    ):
        with pytest.raises(MinertiaError, match=said):
            read_route(saved(tmp_path / "motion.csv", rows), robot, wide)


def test_accelerations_that_nobody_limits_have_a_bound(tmp_path: Path) -> None:
    """A step of 10 mrad within 20 ms."""
    few = table(Transfer(np.array([HERE[HEAVY], HERE[HEAVY] + 0.01, HERE[HEAVY]]), [0.0, 0.02, 1.0]).at_rate(500.0))
    with pytest.raises(MinertiaError, match="exceeds the acceleration limit of .* allowed 100"):
        read_route(saved(tmp_path / "motion.csv", few), robot_of(HEAVY))


def test_limits_beside_a_motion_cannot_be_changed_lost_or_lent(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "motion", HEAVY, reaching(HEAVY, 0, 0.2))
    robot = robot_of(HEAVY)
    read_route(folder, robot)
    file = folder / "excitation-limits.toml"
    whole = file.read_text()
    for change, said in (
        (lambda text: text.replace('floor = "base"', "floor = false"), "was changed after"),
        (lambda text: text.replace("self_collision = true", "self_collision = false"), "was changed after"),
        (lambda text: text.split("# minertia wrote")[0], "was changed after"),
        (lambda text: "", "was changed after"),
    ):
        file.write_text(change(whole))
        with pytest.raises(MinertiaError, match=said):
            read_route(folder, robot)
    file.unlink()
    for path in (folder, folder / "excitation.csv"):
        with pytest.raises(MinertiaError, match="has no excitation-limits.toml any more"):
            read_route(path, robot)
    for other, said in (
        (replace(robot, gravity=(0.0, 0.0, 0.0)), "made for gravity 0 0 0"),
        (robot_of("tx40"), "with joints|made for"),
        (robot_of(ARM), "made for 'Panda'"),
    ):
        write_file(file, limits_toml(other, motion_limits(other)))
        if tuple(other.coordinate_names) != robot.coordinate_names or other.gravity != robot.gravity:
            with pytest.raises(MinertiaError, match=said):
                read_route(folder, robot)


def test_what_is_switched_off_is_named(tmp_path: Path) -> None:
    off = Workspace(floor=None, self_collision=False)
    folder = folder_with(tmp_path / "motion", HEAVY, reaching(HEAVY, 1, 2.0, 9.0), workspace=off)
    robot = robot_of(HEAVY)
    found = gate_limits(folder, robot)
    assert "floor (switched off)" in found.sentence and "self collision (switched off)" in found.sentence
    assert "limits of jerk (none given)" in found.sentence
    read_route(folder, robot, found.limits)
    plain = gate_limits(tmp_path, robot)
    assert "velocity limits of 'j1'" in plain.sentence and plain.digest(robot) != found.digest(robot)


def test_limits_travel_through_their_file(tmp_path: Path) -> None:
    """What is written is what is read: for `run`, and for `--limits FILE`."""
    space = Workspace(
        floor=-0.3, obstacles=[box("post", (0.9, 0.9, 0.5), (0.3, 0.3, 1))], boxes=[Box("j6", (-2, -2, -2), (2, 2, 2))],
        margin=0.03, radius=0.07,
    )  # fmt: skip
    asked = {"velocity": 0.7, "acceleration": 2.0, "position": 1.5, "jerk": 30.0, "workspace": space}
    folder = folder_with(tmp_path / "motion", HEAVY, reaching(HEAVY, 0, 0.1), **asked)
    limits = gate_limits(folder, robot_of(HEAVY)).limits
    np.testing.assert_allclose(limits.velocity, 0.7)
    np.testing.assert_allclose(limits.jerk, 30.0)
    assert limits.effort is not None and limits.clearance is not None
    assert (limits.clearance.floor, limits.clearance.margin) == (-0.3, 0.03)
    assert [shape.name for shape in limits.workspace.obstacles] == ["post"] and limits.boxes == space.boxes


# ---------------------------------------------------------------------- rate


@pytest.mark.parametrize("rate, is_refused", [(10.0, True), (20.0, True), (125.0, False)])
def test_a_rate_that_is_another_motion(rate: float, is_refused: bool) -> None:
    """Vibrations of 5 Hz, which 10 commands a second do not show at all."""
    t = np.arange(0, 4.0001, 0.005)
    w, fade = 2 * np.pi * 5, np.sin(np.pi * t / 4) ** 4
    q = 0.05 * fade * np.sin(w * t)
    qd = np.gradient(q, t)
    motion = SampledMotion(Trajectory(t, q[:, None], qd[:, None], np.gradient(qd, t)[:, None]))
    if not is_refused:
        check_rate(motion, np.array([0.1]), rate, ("a",))
        return
    with pytest.raises(MinertiaError, match="too few for this trajectory.*give a --rate of at least"):
        check_rate(motion, np.array([0.1]), rate, ("a",))
