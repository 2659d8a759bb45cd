"""`minertia run`: the gate, the logs, the record, and clear sentences."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.transfer import Transfer
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import read_recording
from minertia.identification.online.levels import WatchLevels, levels_text
from minertia.identification.online.options import WatchOptions
from minertia.robot.robot import Robot
from minertia.running.gate import read_route
from minertia.running.ladder import RungLog
from minertia.running.record import log_csv, motion_digest, record_of
from tests.conftest import Run

pytest.importorskip("mujoco")
ROBOT = "puma560_physical"
HERE = np.array([0.0, 1.4, -1.4, 0.0, 0.3, 0.0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A motion with its ways, as `excite` writes them."""
    there = HERE + 0.2
    parts = {"approach": (HERE, there), "excitation": (there, there + 0.1, there), "return": (there, HERE)}
    (tmp_path / "motion").mkdir()
    for name, postures in parts.items():
        way = Transfer(np.array(postures), 0.5 * np.arange(len(postures)))
        way.at_rate(50.0).save(tmp_path / "motion" / f"{name}.csv")
    return tmp_path / "motion"


def test_the_ladder_on_the_simulated_robot(run: Run, folder: Path, tmp_path: Path) -> None:
    code, out, err = run("run", ROBOT, folder, "--speeds", "100", "--out", tmp_path / "out", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert data["passed"] is True and data["speeds"] == [1.0] and data["driver"] == "sim"
    assert "efforts are monitored" not in err
    assert {Path(name).name for name in data["files"]} == {"run-100.csv", "run.toml"}
    log = read_recording(tmp_path / "out" / "run-100.csv", read_robot(ROBOT))
    assert log.q.shape[1] == 6 and log.rate_hz == pytest.approx(125, rel=1e-3)
    header = (tmp_path / "out" / "run-100.csv").read_text().splitlines()[0].split(",")
    assert header[:2] == ["t", "q1"] and "q_cmd6" in header and "tau6" in header
    table = np.loadtxt(tmp_path / "out" / "run-100.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[1:, 1:7], table[:-1, 7:13], atol=0.02)

    # the record opens the gate, but for this motion and this robot only
    record = tmp_path / "out" / "run.toml"
    ask = ("--driver", "ros2", "--host", "ws://127.0.0.1:9", "--out", tmp_path / "real", "--rehearsed")
    code, _, err = run("run", ROBOT, folder, *ask, record)
    assert code == 2 and "cannot be reached" in err
    record.write_text(record.read_text().replace("passed = true", "passed = true "))
    code, _, err = run("run", ROBOT, folder, *ask, record)
    assert code == 2 and "it was changed since" in err


def test_a_fault_is_recorded(run: Run, folder: Path, tmp_path: Path) -> None:
    ask = ("run", ROBOT, folder, "--speeds", "100", "--effort", "3", "--out", tmp_path / "out")
    code, out, err = run(*ask)
    assert code == 1 and "needs an effort" in out, err
    record = tomllib.loads((tmp_path / "out" / "run.toml").read_text())
    assert record["passed"] is False and record["speeds"] == [] and "needs an effort" in record["aborted"]
    assert (tmp_path / "out" / "run-100.csv").is_file()
    code, _, err = run("run", ROBOT, folder, "--driver", "ros2", "--rehearsed", tmp_path / "out" / "run.toml")
    assert code == 2 and "did not pass" in err


@pytest.mark.parametrize(
    "args, sentence",
    [
        (("--driver", "abb"), '--driver must be "sim", "ur" or "ros2", not \'abb\''),
        (("--driver", "ur", "--host", "x"), "was not rehearsed"),
        (("--driver", "ros2"), "was not rehearsed"),
        (("--speeds", "0"), "--speeds must be a list of numbers from 1 to 100 [%], not [0.0]"),
        (("--speeds", "fast"), "a list of numbers from 1 to 100 [%], not ['fast']"),
        (("--speeds", "10,10.2"), "contains a stage twice"),
        (("--error", "-1"), "--error must be a number above 0"),
        (("--error", "1,2"), "one finite number or 6"),
        (("--rate", "nan"), "--rate must be a number from 10 to 1000 [Hz], not nan"),
        (("--rate", "5"), "--rate must be a number from 10 to 1000 [Hz], not 5"),
    ],
)
def test_sentences(run: Run, folder: Path, tmp_path: Path, args: tuple[object, ...], sentence: str) -> None:
    code, out, err = run("run", ROBOT, folder, *args, "--out", tmp_path / "never")
    assert code == 2 and out == "" and sentence in err and "Traceback" not in err, err
    assert not (tmp_path / "never").exists()


def test_efforts_that_are_not_watched_are_named(run: Run, folder: Path) -> None:
    _, _, err = run("run", ROBOT, folder, "--driver", "ur", "--host", "x")  # whose efforts are currents
    assert "efforts are monitored at no joint; give bounds with --effort" in err


def test_motions_that_cannot_be_run(run: Run, folder: Path, tmp_path: Path) -> None:
    for args, sentence in (
        (("planar2r", folder), "moves 6 joints"),
        ((ROBOT, tmp_path), "neither a trajectory file nor a folder"),
        ((ROBOT, folder / "approach.csv"), "does not end where"),
    ):
        code, _, err = run("run", *args, "--out", tmp_path / "never")
        assert code == 2 and sentence in err, err
    far = np.array([HERE, HERE + [3.2, 0, 0, 0, 0, 0], HERE])
    (folder / "excitation.csv").unlink()
    Transfer(far, np.array([0.0, 9.0, 18.0])).at_rate(20.0).save(folder / "excitation.csv")
    code, _, err = run("run", ROBOT, folder / "excitation.csv", "--out", tmp_path / "never")
    assert code == 2 and "exceeds the position limit of joint 'j1'" in err


def test_the_gate_knows_motion_robot_and_speed(run: Run, folder: Path, tmp_path: Path) -> None:
    from minertia.io.errors import MinertiaError
    from minertia.io.files import write_file
    from minertia.running.record import require_rehearsed

    robot = read_robot(ROBOT)
    way = read_route(folder, robot)
    log = RungLog(0.5, np.zeros(1), HERE[None], HERE[None], None)
    write_file(tmp_path / "run.toml", record_of(robot, way, "sim", [log]).to_toml())
    require_rehearsed(tmp_path / "run.toml", robot, way, 0.5)
    other = Transfer(np.array([HERE, HERE + 1e-4, HERE]), np.array([0.0, 1.0, 2.0]))
    for args, said in (
        ((robot, way, 1.0), "did not reach 100 %"),
        ((robot, other, 0.5), "another trajectory"),
        ((robot.with_payload(1.0, (0, 0, 0)), way, 0.5), "another robot"),
        ((_longer(robot), way, 0.5), "another robot"),
    ):
        with pytest.raises(MinertiaError, match=said):
            require_rehearsed(tmp_path / "run.toml", *args)
    write_file(tmp_path / "real.toml", record_of(robot, way, "ur", [log]).to_toml())
    with pytest.raises(MinertiaError, match="not run on a simulated robot"):
        require_rehearsed(tmp_path / "real.toml", robot, way, 0.5)


def _longer(robot: Robot) -> Robot:
    """The same robot with its third joint a centimetre farther out."""
    joints = list(robot.numeric.joints)
    x, y, z = joints[2].p
    joints[2] = replace(joints[2], p=(x + 0.01, y, z))
    return replace(robot.numeric, joints=tuple(joints))


def test_the_same_motion_at_another_rate_is_the_same() -> None:
    from minertia.excitation.sampled import SampledMotion

    way = Transfer(np.array([HERE, HERE + 0.4, HERE]), np.array([0.0, 1.0, 2.0]))
    paths = [SampledMotion(way.at_rate(rate)) for rate in (500.0, 1000.0)]
    for path in paths:
        t = np.linspace(0, 2, 777)
        np.testing.assert_allclose(path.at(t)[0], way.at(t)[0], atol=1e-9)
        np.testing.assert_allclose(path.at(t)[1], way.at(t)[1], atol=1e-7)
        np.testing.assert_allclose(path.at(t)[2], way.at(t)[2], atol=1e-4)
    assert motion_digest(way) != motion_digest(Transfer(way.postures, 1.001 * way.ends))


def test_a_log_of_currents_names_them(tmp_path: Path) -> None:
    log = RungLog(1.0, np.arange(30) / 10, np.zeros((30, 2)), np.ones((30, 2)), np.ones((30, 2)))
    text = log_csv(log, "i{j}")
    assert text.splitlines()[0] == "t,q1,q2,q_cmd1,q_cmd2,i1,i2"
    (tmp_path / "log.csv").write_text(text)
    assert read_recording(tmp_path / "log.csv", read_robot("planar2r"), ColumnMap(effort_unit="A")).q.shape == (30, 2)


def test_a_watch_beside_the_run_says_what_it_sees(run: Run, folder: Path, tmp_path: Path) -> None:
    """With levels far below what the simulated robot's friction leaves, so that there is something to say."""
    robot = read_robot(ROBOT)
    names, options = robot.coordinate_names, WatchOptions(per_hour=1e4, block=0.05)
    levels = WatchLevels(names, 125.0, (1e-6,) * 6, (0.0,) * 6, (1e-3,) * 6, 0.1, options)
    (tmp_path / "levels.toml").write_text(levels_text(levels))
    ask = ("run", ROBOT, folder, "--speeds", "100", "--levels", tmp_path / "levels.toml")
    code, _, err = run(*ask, "--out", tmp_path / "out")
    assert code == 0 and re.search(r"residual of joint '\w+' high since", err), err
    code, _, err = run(*ask, "--rate", 250, "--out", tmp_path / "other")
    assert code == 2 and "the noise levels are for 125 samples per second" in err


# ---------------------------------------------------------------------- what opens the gate, and what does not


@pytest.fixture
def rehearsed(folder: Path, tmp_path: Path) -> Path:
    """A record of the motion in the folder, as a rehearsal at full speed leaves it."""
    return _record(tmp_path / "rehearsed.toml", folder, read_robot(ROBOT, letters=False))


def _record(place: Path, folder: Path, robot: Robot, rate: float = 125.0, speed: float = 1.0) -> Path:
    from minertia.io.files import write_file
    from minertia.running.gate_limits import gate_limits

    held = gate_limits(folder, robot)
    log = RungLog(speed, np.zeros(1), HERE[None], HERE[None], None)
    way = read_route(folder, robot, held.limits)
    write_file(place, record_of(robot, way, "sim", [log], rate=rate, limits=held.digest(robot)).to_toml(), force=True)
    return place


REAL = ("--driver", "ros2", "--host", "ws://127.0.0.1:9")


@pytest.mark.parametrize(
    "args, sentence",
    [
        ((), "cannot be reached"),
        (("--rate", "125"), "cannot be reached"),
        (("--speeds", "10,100"), "cannot be reached"),
        (("--speeds", "100"), "must begin with at most 10 % of the speed, not with 100 %; give --speeds 10,50,100"),
        (("--speeds", "100,10"), "must begin with at most 10 %"),
        (("--speeds", "10,1000"), "a list of numbers from 1 to 100"),
        (("--speeds", "10,nan"), "a list of numbers from 1 to 100"),
        (("--speeds", "inf"), "a list of numbers from 1 to 100"),
        (("--speeds", "-10"), "a list of numbers from 1 to 100"),
        (("--speeds", ""), "is empty"),
        (("--speeds", "10;100"), "a list of numbers from 1 to 100"),
        (("--rate", "250"), "used 125 commands per second, not 250"),
        (("--rate", "inf"), "--rate must be a number from 10 to 1000"),
        (("--rate", "10"), "used 125 commands per second, not 10"),
        (("--rate", "10", "--error", "0.02"), "too few for this trajectory"),
        (("--error", "1e6"), "at most 0.5 rad"),
        (("--error", "nan"), "--error must be a number above 0 .*, not nan"),
        (("--effort", "1e6"), "effort limit of 97.6 in the robot file"),
        (("--effort", "inf"), "--effort must be a number above 0 .*, not inf"),
        (("--floor", "none"), "used other limits"),
        (("--self-collision", "none"), "used other limits"),
        (("--limits", "velocity=1.5"), "used other limits"),
        (("--limits", "velocity=0.01"), "exceeds the velocity limit of"),
        (("--limits", "jerk=1"), "exceeds the jerk limit of"),
        (("--gravity", "0", "9.81", "0"), "another robot|exceeds the effort limit of"),
    ],
)
def test_a_real_robot_and_its_rehearsal(
    run: Run, folder: Path, rehearsed: Path, tmp_path: Path, args: tuple[object, ...], sentence: str
) -> None:
    ask = ("run", ROBOT, folder, *REAL, "--rehearsed", rehearsed, "--out", tmp_path / "never")
    code, out, err = run(*ask, *args)
    assert code == 2 and out == "" and re.search(sentence, err.splitlines()[-1]), err
    assert "Traceback" not in err and not (tmp_path / "never").exists()


def test_a_record_opens_the_gate_for_what_it_saw_alone(run: Run, folder: Path, rehearsed: Path, tmp_path: Path) -> None:
    """Tampered records, motions and limits, one after the other; in between everything is as it was."""
    ask = ("run", ROBOT, folder, *REAL, "--out", tmp_path / "never", "--rehearsed")
    motion, record = folder / "excitation.csv", rehearsed.read_text()
    whole = motion.read_text()

    def refused(sentence: str, place: Path = rehearsed) -> None:
        code, _, err = run(*ask, place)
        assert code == 2 and re.search(sentence, err.splitlines()[-1]), err

    refused("cannot be reached")
    for change, sentence in (
        (record.replace("passed = true", "passed = true "), "changed since"),
        (record.replace("1.0", "0.1"), "changed since"),
        (record.split("# minertia")[0], "changed since"),
        ("", "not a record|changed since"),
        ("x" * 2_000_000, "more than 100000 characters|not a record"),
    ):
        rehearsed.write_text(change)
        refused(sentence)
    rehearsed.write_text(record)
    refused("cannot be reached")
    link = tmp_path / "link.toml"
    link.symlink_to(_record(tmp_path / "slow.toml", folder, read_robot(ROBOT, letters=False), speed=0.5))
    refused("did not reach 100 %", link)
    refused("cannot be read", tmp_path)
    rows = whole.splitlines()
    for k in (6, 20, 40):  # one last digit of one cell anywhere is another motion
        cells = rows[k].split(",")
        cells[2] = repr(float(np.nextafter(float(cells[2]), 9)))
        motion.write_text("\n".join([*rows[:k], ",".join(cells), *rows[k + 1 :]]) + "\n")
        refused("another trajectory")
    motion.write_text(whole)
    refused("cannot be reached")


def test_what_lies_between_two_looks_is_another_motion(folder: Path) -> None:
    """0.04 rad within 10 ms of a motion of 100 s, which 400 looks do not see."""
    from minertia.excitation.sampled import SampledMotion
    from minertia.excitation.trajectory import Trajectory

    path = Transfer(np.array([HERE, HERE + 0.2, HERE]), np.array([0.0, 50.0, 100.0])).at_rate(500.0)
    q = path.q.copy()
    k = 60  # 0.12 s, between looks at 0 and at 0.25 s
    q[k - 2 : k + 3, 0] += 0.04
    other = SampledMotion(Trajectory(path.t, q, path.qd, path.qdd))
    looks = np.linspace(0, 100, 400)
    np.testing.assert_array_equal(SampledMotion(path).at(looks)[0], other.at(looks)[0])
    assert motion_digest(SampledMotion(path)) != motion_digest(other)


def test_the_digest_is_of_the_numbers_of_the_file(folder: Path) -> None:
    """Known here, so that another machine that finds another one is seen; -0.0 is 0.0."""
    from minertia.excitation.sampled import SampledMotion
    from minertia.excitation.trajectory import Trajectory

    t = np.array([0.0, 0.5, 1.0])
    still = SampledMotion(Trajectory(t, *np.zeros((3, 3, 1))))
    assert motion_digest(still) == "b896fe3b39e784e8f15ab9bb88d2ecc1e68b5d861364c23a8f6230174f3ee85e"
    assert motion_digest(SampledMotion(Trajectory(t, *-np.zeros((3, 3, 1))))) == motion_digest(still)


class Broken:
    """A real robot in this process; what fails is told by its host.  now: this computer's clock, which it moves on."""

    effort, is_simulated, period, now = "tau{j}", False, 0.008, 0.0

    def __init__(self, host: str) -> None:
        self.host, self.q, self.t = host, HERE.copy(), 0.0

    def __enter__(self) -> Broken:
        return self

    def __exit__(self, *_: object) -> None:
        if self.host == "close":
            raise OSError("no route to host")

    def identity(self) -> object:
        from minertia.running.driver import RobotIdentity

        return RobotIdentity(joints=("a", "b")) if self.host == "other" else RobotIdentity()

    def read(self) -> object:
        from minertia.running.driver import JointReading

        Broken.now += 0.008
        self.t += 0.064 if self.host == "fast" else 0.008
        effort = None if self.host == "silent" else np.zeros(6)
        return JointReading(self.t, self.q, effort)

    def command(self, q: np.ndarray, qd: np.ndarray) -> None:
        self.q = q
        if self.host in ("stop", "close") and self.t > 0.1:
            raise ValueError("no such joint")

    def stop(self) -> None:
        if self.host == "stop":
            raise RuntimeError("the socket is closed")


@pytest.mark.parametrize(
    "host, args, code, sentence",
    [
        ("stop", (), 1, "no such joint.*stopping the robot failed as well .*emergency stop"),
        ("close", (), 1, "could not be closed .OSError: no route to host."),
        ("fast", (), 1, "clock runs faster than this computer's"),
        ("silent", ("--effort", "20"), 1, "are to be monitored, but the robot does not report them; omit --effort"),
        ("other", (), 2, "reports joints 'a', 'b', but not 'j1'"),
    ],
)
def test_a_robot_that_breaks_leaves_its_log(
    run: Run, folder: Path, rehearsed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    host: str, args: tuple[str, ...], code: int, sentence: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("minertia.running.ladder.monotonic", lambda: Broken.now)
    monkeypatch.setattr("minertia.cli.run._remote", lambda name, robot, host, rate: Broken(host))
    ask = ("run", ROBOT, folder, "--driver", "ros2", "--host", host, "--rehearsed", rehearsed)
    found, out, err = run(*ask, *args, "--out", tmp_path / "out")
    assert found == code and re.search(sentence, out + err) and "Traceback" not in err, err
    assert (tmp_path / "out" / "run.toml").is_file() == (code == 1)
    if code == 1:
        record = tomllib.loads((tmp_path / "out" / "run.toml").read_text())
        assert record["passed"] is False and record["aborted"]
        assert (tmp_path / "out" / "run-010.csv").is_file() == (host != "silent")
