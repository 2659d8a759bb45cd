"""The simulated robot behind its socket: it follows, and each fault of it ends the run."""

from __future__ import annotations

import json
import socket

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.transfer import Transfer
from minertia.io.errors import UnknownName
from minertia.running.driver import DriverError
from minertia.running.guard import Guard
from minertia.running.ladder import WATCHDOG, climb
from minertia.running.simulated import LONGEST, Fault, LoopbackDriver, RobotServer, SimulatedRobot

pytest.importorskip("mujoco")
PERIOD = 0.008
HERE = np.array([0.0, 1.4, -1.4, 0.0, 0.3, 0.0])
MOTION = Transfer(np.array([HERE, HERE + 0.4, HERE]), np.array([0.0, 0.8, 1.6]))


def ran(fault=None, wait=60.0, guard=None):
    """The log of a run of the PUMA, and its server."""
    robot = read_robot("puma560_physical")
    simulated = SimulatedRobot(robot, HERE, period=PERIOD, fault=fault)
    with RobotServer(simulated) as server, LoopbackDriver(server.address, 6, period=PERIOD, wait=wait) as driver:
        (log,) = climb(driver, MOTION, guard or Guard.of(robot, 0.05), speeds=[1.0])
    return log, server


def test_it_follows():
    log, server = ran()
    assert not log.aborted and server.stops == 0
    assert log.largest_error.max() < 0.02
    np.testing.assert_allclose(np.diff(log.t), PERIOD)
    assert np.abs(log.effort).max() > 1, "the arm has weight"


@pytest.mark.parametrize("fault", [Fault("stick", 0.4, 1), Fault("jump", 0.4, 2, 0.04)], ids=lambda f: f.kind)
def test_it_is_stopped_within_a_period_of_its_own_time(fault):
    """Efforts are not watched here, which would tell, too."""
    log, server = ran(fault, guard=Guard(read_robot("puma560_physical").coordinate_names, np.full(6, 0.05)))
    assert f"'j{fault.joint + 1}'" in log.aborted
    assert log.t[-1] <= fault.at + PERIOD + 1e-9
    assert len(log.t) == round(log.t[-1] / PERIOD) + 1, "every row up to there"


def test_a_silent_one_is_given_up():
    log, _ = ran(Fault("silent", 0.4), wait=0.02)
    assert f"reported no new state for {WATCHDOG} periods" in log.aborted
    assert log.t[-1] == pytest.approx(0.4 - PERIOD, abs=1e-6)


def test_faults_have_names():
    with pytest.raises(UnknownName, match="stick"):
        Fault("melt", 1.0)


# ---------------------------------------------------------------------- strangers


def talk(*messages: bytes):
    """A server that says these things, whatever it hears; the driver that reads them."""
    server = socket.create_server(("127.0.0.1", 0))
    driver = LoopbackDriver(server.getsockname(), 2, wait=60.0)
    client, _ = server.accept()
    client.sendall(b"".join(messages))
    client.close()
    server.close()
    return driver


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense\n", b"[]\n", b"null\n", b"{}\n", b'{"t": 0, "q": [1], "effort": [0, 0]}\n',
        b'{"t": "a", "q": [1, 2], "effort": [0, 0]}\n', b'{"t": 0, "q": 5, "effort": null}\n',
        b"\xff\xfe\n", b"[" * 5000 + b"\n", b'{"t": 0, "q": [1, {}], "effort": [0, 0]}\n', b"",
    ],
)  # fmt: skip
def test_what_is_no_state_is_a_sentence(line):
    with talk(line) as driver, pytest.raises(DriverError, match="not a valid state|closed the connection"):
        driver.read()


def test_a_line_without_end_is_not_kept():
    with talk(b"1" * (2 * LONGEST)) as driver, pytest.raises(DriverError, match="more than"):
        driver.read()


def test_nobody_there():
    free = socket.create_server(("127.0.0.1", 0))
    address = free.getsockname()
    free.close()
    with pytest.raises(DriverError, match="cannot be reached"):
        LoopbackDriver(address, 2)


def test_a_client_that_talks_nonsense_is_left():
    simulated = SimulatedRobot(read_robot("puma560_physical"), HERE)
    with RobotServer(simulated) as server:
        for said in (b"{}\n", b"nonsense\n", b'{"q": [1], "qd": [1]}\n', b"5\n"):
            with socket.create_connection(server.address, timeout=60) as client:
                assert json.loads(client.makefile().readline())["t"] == 0
                client.sendall(said)
                assert client.recv(100) == b""
        with LoopbackDriver(server.address, 6) as driver:
            assert driver.read() is not None
