"""ROS 2 through rosbridge, against a local server that speaks its protocol."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from minertia.io.errors import InputError
from minertia.running.driver import DriverError
from minertia.running.ladder import climb
from minertia.running.rosbridge import COMMANDS, STATES, RosbridgeDriver
from tests.running.followers import GUARD, HERE, NAMES, motion

server_module = pytest.importorskip("websockets.sync.server")
PERIOD = 0.01


class FakeRosbridge:
    """Topics of one robot: after each command it publishes a state, a period later; others' messages come between."""

    def __init__(
        self,
        *,
        silent_after: int | None = None,
        says: str | None = None,
        answers: dict | None = None,
        description: str | None = None,
    ) -> None:
        self.heard: list[dict] = []
        self.silent_after, self.says, self.answers, self.description = silent_after, says, answers, description
        self.server = server_module.serve(self._talk, "127.0.0.1", 0)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join(timeout=60)

    def _talk(self, link) -> None:
        q, k = HERE, 0
        for text in link:
            message = json.loads(text)
            self.heard.append(message)
            if message["op"] == "subscribe":
                assert message["topic"] == STATES and message["type"] == "sensor_msgs/msg/JointState"
            elif message["op"] == "publish":
                assert message["topic"] == COMMANDS
                q, k = np.array(message["msg"]["data"]), k + 1
            elif message["op"] == "call_service":
                self._answer(link, message)
                continue
            else:
                continue
            if self.says is not None:
                link.send(self.says)
            elif self.silent_after is None or k < self.silent_after:
                link.send(json.dumps({"op": "status", "level": "info"}))
                link.send(self._state(q, k))

    def _answer(self, link, message) -> None:
        answer = self.answers
        if message["args"] == {"names": ["robot_description"]}:
            assert message["service"] == "/robot_state_publisher/get_parameters"
            answer = {"values": {"values": [{"type": 4, "string_value": self.description}]}, "result": True}
            answer = answer if self.description is not None else None
        if answer is not None:
            head = {"op": "service_response", "id": message["id"], "service": message["service"]}
            link.send(json.dumps({**head, **answer}))

    @staticmethod
    def _state(q, k: int) -> str:
        t = 1000 + k * PERIOD
        stamp = {"sec": int(t), "nanosec": round(1e9 * (t - int(t)))}
        msg = {
            "header": {"stamp": stamp, "frame_id": ""},
            "name": ["gripper", NAMES[1], NAMES[0]],  # in an order of its own
            "position": [9.0, q[1], q[0]],
            "velocity": [],
            "effort": [0.0, 2.0, 1.0],
        }
        return json.dumps({"op": "publish", "topic": STATES, "msg": msg})


def test_a_motion_through_rosbridge():
    with FakeRosbridge() as robot, RosbridgeDriver(robot.url, NAMES, wait=60.0) as driver:
        driver.is_simulated = True  # its stamps go on with the commands
        (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert not log.aborted and len(log.t) > 200
    np.testing.assert_allclose(np.diff(log.t), PERIOD, atol=1e-6)
    np.testing.assert_allclose(log.q[1:], log.commanded[:-1], atol=1e-12)
    np.testing.assert_allclose(log.effort, [[1.0, 2.0]] * len(log.t))
    assert [m["op"] for m in robot.heard[:3]] == ["subscribe", "advertise", "publish"]


def test_a_silent_robot_is_told_to_stay():
    with FakeRosbridge(silent_after=30) as robot, RosbridgeDriver(robot.url, NAMES, wait=0.05) as driver:
        driver.is_simulated = True  # its stamps go on with the commands
        (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert "reported no new state for 5 periods" in log.aborted and len(log.t) == 30
    stays = [m for m in robot.heard if m["op"] == "publish"][-1]["msg"]["data"]
    np.testing.assert_allclose(stays, log.q[-1])


@pytest.mark.parametrize(
    "says",
    [
        "nonsense", "5", '"x"', json.dumps({"op": "publish", "topic": STATES, "msg": {}}),
        json.dumps({"op": "publish", "topic": STATES, "msg": {"name": list(NAMES), "position": []}}),
        json.dumps({"op": "publish", "topic": STATES, "msg": {"name": 5}}),
        json.dumps({"op": "publish", "topic": STATES, "msg": {
            "name": list(NAMES), "position": ["a", "b"], "header": {"stamp": {"sec": 0, "nanosec": 0}}}}),
    ],
)  # fmt: skip
def test_what_is_no_state_is_a_sentence(says):
    with FakeRosbridge(says=says) as robot, RosbridgeDriver(robot.url, NAMES, wait=60.0) as driver:
        (log,) = climb(driver, motion(), GUARD, speeds=[0.1])
    assert "not a JointState" in log.aborted


def test_states_of_other_joints_are_passed_over():
    with FakeRosbridge() as robot, RosbridgeDriver(robot.url, ["hip", "wrist"], wait=0.05) as driver:
        assert driver.read() is None


def test_nobody_there_and_names_twice():
    with pytest.raises(DriverError, match="cannot be reached"):
        RosbridgeDriver("ws://127.0.0.1:9", NAMES)
    with pytest.raises(InputError, match="a unique name"):
        RosbridgeDriver("ws://127.0.0.1:9", ["a", "a"])


def order(*names: str) -> dict:
    """The answer of a controller that is asked for its joints."""
    return {"result": True, "values": {"values": [{"type": 9, "string_array_value": list(names)}]}}


@pytest.mark.parametrize(
    "answers, found",
    [
        (order("hip", "knee"), ("hip", "knee")),
        (order("knee", "hip"), ("knee", "hip")),
        ({"result": False, "values": "no such service"}, None),
        ({"result": True, "values": {"values": [{"type": 0}]}}, None),
        ({"result": True, "values": {"values": [{"type": 9, "string_array_value": [1, 2]}]}}, None),
        ({"values": []}, None),
    ],
)
def test_the_controller_is_asked_for_its_joints(answers, found):
    with (
        FakeRosbridge(answers=answers, description="<robot/>") as robot,
        RosbridgeDriver(robot.url, NAMES, wait=60.0) as driver,
    ):
        told = driver.identity()
    assert told.joints == ("gripper", "knee", "hip") and told.order == found and told.description == "<robot/>"
    asked, _ = (m for m in robot.heard if m["op"] == "call_service")
    assert asked["service"] == "/forward_position_controller/get_parameters" and asked["args"] == {"names": ["joints"]}


def test_joints_in_another_order_or_of_another_robot(monkeypatch):
    from minertia import read_robot
    from minertia.io.errors import Infeasible
    from minertia.running.identity import check_identity

    robot_file = read_robot("planar2r")  # whose joints are j1 and j2
    monkeypatch.setattr("minertia.running.rosbridge.ASKING", 0.3)
    with (
        FakeRosbridge() as robot,
        RosbridgeDriver(robot.url, ["j1", "j2"]) as driver,
        pytest.raises(Infeasible, match="reports joints 'gripper', 'knee', 'hip', but not 'j1', 'j2'"),
    ):
        check_identity(driver, robot_file)
    with FakeRosbridge(says="nonsense") as robot, RosbridgeDriver(robot.url, ["j1", "j2"], wait=60.0) as driver:
        assert "cannot identify the robot" in check_identity(driver, robot_file)
    swapped = order("j2", "j1")
    with (
        FakeRosbridge(says="5", answers=swapped) as robot,
        RosbridgeDriver(robot.url, ["j1", "j2"]) as driver,
        pytest.raises(Infeasible, match="order j2, j1"),
    ):
        check_identity(driver, robot_file)


def test_the_description_of_another_robot_is_refused():
    """It has the same names of joints, tells its states and takes commands; its forearm is 10 cm longer."""
    from dataclasses import replace

    from minertia import read_robot
    from minertia.io.errors import Infeasible
    from minertia.robot.formats.urdf.new import new_urdf
    from minertia.running.identity import check_identity

    names = dict(zip(("j1", "j2"), NAMES, strict=True))
    robot_file = read_robot("planar2r", letters=False).numeric
    robot_file = replace(
        robot_file, joints=tuple(replace(joint, name=names[joint.name]) for joint in robot_file.joints)
    )
    first, second = robot_file.joints
    longer = replace(robot_file, joints=(first, replace(second, p=(float(second.p[0]) + 0.1, *second.p[1:]))))
    for own, is_refused in ((robot_file, False), (longer, True)):
        with (
            FakeRosbridge(answers=order(*NAMES), description=new_urdf(own)[0]) as robot,
            RosbridgeDriver(robot.url, NAMES, wait=60.0) as driver,
        ):
            if is_refused:
                with pytest.raises(Infeasible, match="'hip' and 'knee' have a different distance between their axes"):
                    check_identity(driver, robot_file)
            else:
                assert "a description of the same axes" in check_identity(driver, robot_file)
