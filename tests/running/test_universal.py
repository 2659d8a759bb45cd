"""A Universal Robot: the driver against stand-ins for the modules of `ur-rtde`, and itself where it is installed."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.transfer import Transfer
from minertia.io.errors import Infeasible, MissingExtra
from minertia.running.driver import DriverError
from minertia.running.guard import Guard
from minertia.running.identity import check_identity
from minertia.running.ladder import climb
from minertia.running.universal import UniversalDriver

HERE = np.linspace(-0.5, 0.5, 6)
MOTION = Transfer(np.array([HERE, HERE + 0.3, HERE]), np.array([0.0, 0.5, 1.0]))
GUARD = Guard(tuple(f"j{j}" for j in range(6)), np.full(6, 0.1))


class FakeArm:
    """One robot behind both modules."""

    def __init__(self) -> None:
        self.t, self.q, self.calls = 10.0, list(HERE), []
        self.refuses = self.is_stopped = self.is_silent = False
        self.is_connected = True


@pytest.fixture
def arm(monkeypatch):
    arm = FakeArm()

    class RTDEReceiveInterface:
        def __init__(self, hostname, frequency=-1.0):
            if hostname == "nobody":
                raise RuntimeError("Timeout connecting to robot\nmore")
            assert frequency == 125.0

        getTimestamp = lambda self: arm.t  # noqa: E731
        getActualQ = lambda self: list(arm.q)  # noqa: E731
        getActualCurrent = lambda self: [0.5] * 6  # noqa: E731
        isConnected = lambda self: arm.is_connected  # noqa: E731
        isProtectiveStopped = lambda self: arm.is_stopped  # noqa: E731
        isEmergencyStopped = lambda self: False  # noqa: E731
        disconnect = lambda self: arm.calls.append("receive.disconnect")  # noqa: E731

    class RTDEControlInterface:
        def __init__(self, hostname, frequency=-1.0):
            pass

        def servoJ(self, q, speed, acceleration, time, lookahead_time, gain):
            assert time == pytest.approx(0.008) and 0.03 <= lookahead_time <= 0.2 and 100 <= gain <= 2000
            if not arm.is_silent:
                arm.q, arm.t = list(q), arm.t + time
            return not arm.refuses

        servoStop = lambda self, a=10.0: arm.calls.append("servoStop")  # noqa: E731
        stopScript = lambda self: arm.calls.append("stopScript")  # noqa: E731
        disconnect = lambda self: arm.calls.append("disconnect")  # noqa: E731

    for name, kind in (("rtde_receive", RTDEReceiveInterface), ("rtde_control", RTDEControlInterface)):
        module = types.ModuleType(name)
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, name, module)
    return arm


def test_a_motion(arm):
    with UniversalDriver("10.0.0.2", 6) as driver:
        driver.is_simulated = True  # its stamps go on with the commands
        (log,) = climb(driver, MOTION, GUARD, speeds=[1.0])
    assert not log.aborted and driver.effort == "i{j}"
    np.testing.assert_allclose(log.q[1:], log.commanded[:-1])
    np.testing.assert_allclose(np.diff(log.t), 0.008)
    assert arm.calls == ["servoStop", "stopScript", "disconnect", "receive.disconnect"]


@pytest.mark.parametrize(
    "what, said",
    [("refuses", "rejected the command"), ("is_stopped", "stopped by itself"), ("is_silent", "reported no new")],
)
def test_what_ends_it(arm, what, said):
    setattr(arm, what, True)
    (log,) = climb(UniversalDriver("10.0.0.2", 6), MOTION, GUARD, speeds=[0.1])
    assert said in log.aborted and "servoStop" in arm.calls


@pytest.mark.parametrize("call", ["servoJ", "servoStop"])
def test_what_the_package_raises_ends_the_run_and_lets_go_of_the_robot(arm, monkeypatch, call):
    def fails(*_):
        raise RuntimeError("boost::asio: broken pipe")

    driver = UniversalDriver("10.0.0.2", 6)
    monkeypatch.setattr(type(driver.control), call, fails)
    with driver:
        arm.refuses = call == "servoStop"
        (log,) = climb(driver, MOTION, GUARD, speeds=[0.1])
    assert "broken pipe" in log.aborted and ("stopping the robot failed" in log.aborted) == (call == "servoStop")
    assert arm.calls[-3:] == ["stopScript", "disconnect", "receive.disconnect"]


def test_a_connection_that_is_lost(arm):
    driver = UniversalDriver("10.0.0.2", 6)
    assert driver.read() is not None
    assert driver.read() is None
    arm.is_connected = False
    with pytest.raises(DriverError, match="closed the connection"):
        driver.read()


def test_who_cannot_be_reached(arm):
    with pytest.raises(DriverError, match=r"'nobody' cannot be reached \(Timeout connecting to robot\)"):
        UniversalDriver("nobody", 6)
    with pytest.raises(Infeasible, match="6 joints, not 7"):
        UniversalDriver("10.0.0.2", 7)


@pytest.mark.parametrize(
    "model, name, said",
    [("UR10", "ur10e", "model UR10, serial number 20225500001"), ("UR5", "ur10e", "another robot"), ("", "ur10e", "")],
)
def test_the_dashboard_says_which_robot_it_is(arm, monkeypatch, model, name, said):
    class DashboardClient:
        def __init__(self, hostname):
            assert hostname == "10.0.0.2"

        connect = lambda self: arm.calls.append("dashboard")  # noqa: E731
        disconnect = lambda self: arm.calls.append("dashboard.disconnect")  # noqa: E731
        getSerialNumber = lambda self: "20225500001"  # noqa: E731

        def getRobotModel(self):
            if not model:
                raise RuntimeError("unknown command")
            return model

    module = types.ModuleType("dashboard_client")
    module.DashboardClient = DashboardClient
    monkeypatch.setitem(sys.modules, "dashboard_client", module)
    driver, robot = UniversalDriver("10.0.0.2", 6), read_robot(name)
    if said == "another robot":
        with pytest.raises(Infeasible, match=said):
            check_identity(driver, robot)
    else:
        assert said in check_identity(driver, robot)
    assert arm.calls == ["dashboard", "dashboard.disconnect"]


def test_without_a_dashboard_nobody_knows(arm):
    try:
        import dashboard_client  # noqa: F401
    except ImportError:
        assert "cannot identify the robot" in check_identity(UniversalDriver("10.0.0.2", 6), read_robot("ur10e"))


def test_without_the_package():
    if "rtde_receive" in sys.modules:
        pytest.skip("it is installed here")
    try:
        import rtde_receive  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtra, match=r"minertia\[ur\]"):
            UniversalDriver("10.0.0.2", 6)


def test_the_package_itself_talks_to_a_controller():
    """Where it is installed: the real client against a local controller that speaks its protocols."""
    pytest.importorskip("rtde_control")
    program = [sys.executable, str(Path(__file__).with_name("fake_universal.py"))]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as controller:
        try:
            if "READY" not in (controller.stdout.readline() if controller.stdout else ""):
                pytest.skip("the ports of a controller are taken here")
            with UniversalDriver("127.0.0.1", 6) as driver:
                first = until(driver, lambda reading: True)
                np.testing.assert_allclose(first.q, 0.1)
                np.testing.assert_allclose(first.effort, 0.5)
                for k in range(5):
                    driver.command(np.full(6, 0.1 + 0.01 * k), np.zeros(6))
                last = until(driver, lambda reading: reading.q[0] > 0.139)
                np.testing.assert_allclose(last.q, 0.14)
                assert last.t > first.t
                driver.stop()
        finally:
            controller.kill()


def until(driver, is_wanted):
    """The first state that is wanted; however long the other program takes."""
    for _ in range(2000):
        reading = driver.read()
        if reading is not None and is_wanted(reading):
            return reading
    raise AssertionError("it never came")


def test_the_package_has_what_the_driver_calls():
    """Where it is installed: the stand-ins above must not drift from it."""
    control, receive = (pytest.importorskip(name) for name in ("rtde_control", "rtde_receive"))
    source = inspect.getsource(UniversalDriver)
    for owner, kind in (("control", control.RTDEControlInterface), ("receive", receive.RTDEReceiveInterface)):
        called = {part.split("(")[0] for part in source.split(f"self.{owner}.")[1:]}
        assert called and all(hasattr(kind, name) for name in called), called
