"""Records, robots and drivers that somebody tampered with, in ways that a seal does not show."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from minertia import read_robot
from minertia.excitation.transfer import Transfer
from minertia.io.errors import MinertiaError
from minertia.io.files import write_file
from minertia.robot.robot import Robot
from minertia.running.driver import JointReading
from minertia.running.gate import read_route
from minertia.running.gate_limits import gate_limits
from minertia.running.guard import Guard
from minertia.running.ladder import RungLog, climb
from minertia.running.record import record_of, require_rehearsed, robot_digest
from tests.running.followers import GUARD, HERE, NAMES, PERIOD, Follower, motion

ARM = "puma560_physical"
STAND = np.array([0.0, 1.4, -1.4, 0.0, 0.3, 0.0])
NAN = float("nan")


# ---------------------------------------------------------------------- each field of a record, sealed anew


def without(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.pop(key)  # type: ignore[return-value]


def with_value(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.update({key: value})


RECORDS = [
    *((with_value("passed", value), "did not pass") for value in (False, 1, "true", [True])),
    *((with_value("driver", value), "did not pass") for value in ("ur", "ros2", "SIM", "sim ", "", ["sim"])),
    *((with_value("aborted", value), "did not pass") for value in ("'j1' jumped", " ", True, 0, ["x"])),
    *((with_value("speeds", v), "did not reach 100 %") for v in ([], [0.5], [2.0], ["1"], [True], [NAN], "1.0", 1.0)),
    *((with_value("rate", v), "commands per second|no rate") for v in (NAN, 250.0, "125", True, -125.0, float("inf"))),
    *((with_value("motion", value), "another trajectory") for value in ("", "0" * 64, ["x"], True)),
    *((with_value("description", value), "another robot") for value in ("", "0" * 64, 1)),
    *((with_value("limits", value), "other limits") for value in ("", "0" * 64, False)),
    *((with_value("format", value), "only format") for value in (1, 3, "2", [2])),
    *((without(key), "rehears") for key in
      ("format", "passed", "driver", "aborted", "speeds", "rate", "motion", "description", "limits")),
]  # fmt: skip


@pytest.fixture
def rehearsal(tmp_path: Path) -> tuple[Path, Callable[[], None]]:
    """A good record, and what asks it."""
    robot = read_robot(ARM, letters=False)
    way = Transfer(np.array([STAND, STAND + 0.1, STAND]), np.array([0.0, 0.5, 1.0]))
    log = RungLog(1.0, np.zeros(1), STAND[None], STAND[None], None)
    place = tmp_path / "run.toml"
    write_file(place, record_of(robot, way, "sim", [log], rate=125.0, limits="abc").to_toml())
    return place, lambda: require_rehearsed(place, robot, way, 1.0, rate=125.0, limits="abc")


@pytest.mark.parametrize("change, said", RECORDS, ids=[f"{k}" for k in range(len(RECORDS))])
def test_every_field_of_a_record_counts(
    rehearsal: tuple[Path, Callable[[], None]], change: Callable[[dict[str, Any]], None], said: str
) -> None:
    place, ask = rehearsal
    ask()
    record = tomllib.loads(place.read_text())
    change(record)
    write_file(place, tomli_w.dumps(record), force=True)
    with pytest.raises(MinertiaError, match=said) as refusal:
        ask()
    assert "\n" not in str(refusal.value)


# ---------------------------------------------------------------------- robots


def test_the_digest_knows_everything_that_moves_differently() -> None:
    """A robot that is assembled the other way, or has another mass in one link only, is another robot."""
    loop = read_robot("five_bar", letters=False)
    assert loop.seed is not None
    assert robot_digest(loop) != robot_digest(replace(loop, seed=tuple(-v for v in loop.seed)))
    arm = read_robot(ARM, letters=False)
    links = list(arm.links)
    assert links[2] is not None
    heavier = replace(arm, links=(None, None, tuple(1.01 * v for v in links[2]), *links[3:]))
    partly = replace(arm, links=(None, None, *links[2:]))
    assert robot_digest(partly) != robot_digest(heavier)


def with_limits(**values: float) -> Robot:
    arm = read_robot(ARM, letters=False)
    return replace(arm, joints=tuple(replace(j, limits=replace(j.limits, **values)) for j in arm.joints))


@pytest.mark.parametrize("velocity", [100.0, 1000.0, 1e8, 0.0])
def test_limits_that_no_joint_has_are_not_believed(tmp_path: Path, velocity: float) -> None:
    """Exporters of URDF write such numbers where nobody knows one."""
    found = gate_limits(tmp_path, with_limits(velocity=velocity))
    np.testing.assert_allclose(found.limits.velocity, 10.0)
    assert "velocity limits of 'j1'" in found.sentence and "assumed: 10 rad/s" in found.sentence
    np.testing.assert_allclose(gate_limits(tmp_path, with_limits(velocity=45.0)).limits.velocity, 45.0)


@pytest.mark.parametrize("values", [{"velocity": -1.0}, {"acceleration": NAN}, {"velocity": float("inf")}])
def test_limits_that_are_no_numbers_never_let_a_motion_pass(tmp_path: Path, values: dict[str, float]) -> None:
    fast = Transfer(np.array([STAND, STAND + 0.3, STAND]), np.array([0.0, 0.03, 1.0])).at_rate(500.0)
    fast.save(tmp_path / "motion.csv")
    with pytest.raises(MinertiaError):
        read_route(tmp_path / "motion.csv", with_limits(**values))


# ---------------------------------------------------------------------- drivers


class OneBuffer(Follower):
    """Tells every state from the same arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.effort = np.zeros(2), np.zeros(2)

    def read(self) -> JointReading:
        found = super().read()
        assert found is not None
        self.q[:] = found.q
        self.effort[:] = self.k
        return JointReading(found.t, self.q, self.effort)


def test_a_driver_that_tells_from_one_buffer_has_a_whole_log() -> None:
    (log,) = climb(OneBuffer(), motion(), Guard(NAMES, GUARD.error), speeds=[1.0])
    assert not log.aborted
    np.testing.assert_allclose(log.q[1:], log.commanded[:-1], atol=1e-12)
    assert log.effort is not None
    np.testing.assert_allclose(log.effort[:, 0], np.arange(len(log.t)))


def test_a_jump_in_one_buffer_is_seen() -> None:
    class Jumping(OneBuffer):
        def read(self) -> JointReading:
            found = super().read()
            found.q[0] += 0.06 * (self.k >= 60)
            return found

    (log,) = climb(Jumping(), motion(), Guard(NAMES, GUARD.error), speeds=[1.0])
    assert "'hip' jumped by" in log.aborted


def test_a_driver_that_writes_into_its_commands_changes_nothing() -> None:
    class Scribbling(Follower):
        def command(self, q: np.ndarray, qd: np.ndarray) -> None:
            super().command(q.copy(), qd)
            q[:] = 7.0
            qd[:] = 7.0

    (log,) = climb(Scribbling(), motion(), GUARD, speeds=[1.0])
    assert not log.aborted and np.abs(log.commanded).max() < 1


@pytest.mark.parametrize("q", [[0.1, -0.2], (0.1, -0.2), np.array([0.1, -0.2], np.float32)])
def test_readings_of_other_kinds_are_numbers(q: Any) -> None:
    driver = Follower(lambda k, r: JointReading(np.float32(r.t), q if k == 0 else list(r.q), [0.0, 0.0]))  # type: ignore[arg-type]
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert log.q.shape == log.commanded.shape and log.q.dtype == float


@pytest.mark.parametrize("q", [["a", "b"], [1j, 2], None, [[0.1], [-0.2]], object()])
def test_readings_that_are_no_numbers_end_the_run(q: Any) -> None:
    driver = Follower(lambda k, r: JointReading(r.t, q if k == 30 else r.q, r.effort))
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert log.aborted and driver.stopped_at == 30 and len(log.t) == 30 and "\n" not in log.aborted


def test_a_motion_that_does_not_begin_where_the_robot_stands_by_a_turn() -> None:
    driver = Follower(lambda k, r: r._replace(q=r.q + 2 * np.pi))
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert "the trajectory begins at" in log.aborted and driver.k == 0
    assert PERIOD < 1 and HERE.shape == (2,)
