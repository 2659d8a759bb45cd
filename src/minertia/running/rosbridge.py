"""ROS 2 robot behind rosbridge (extra `rosbridge`): receives `sensor_msgs/JointState`, sends positions.

The commands (`std_msgs/Float64MultiArray`) are those of a `forward_position_controller` of ros2_control:
positions in the order of its joints.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from time import monotonic
from typing import Any

import numpy as np

from minertia.io.arrays import Array
from minertia.io.documents import DocumentError, json_document
from minertia.io.errors import InputError
from minertia.io.extras import load
from minertia.running.driver import Driver, DriverError, JointReading, RobotIdentity

STATES, COMMANDS = "/joint_states", "/forward_position_controller/commands"
STATE_TYPE, COMMAND_TYPE = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
LONGEST = 1 << 24  # bytes of a message; descriptions of robots are the longest
OPENING = 10.0  # s to reach the robot
MOST = 1000  # messages taken in one period
ASKING = 1.0  # s to wait for the joints of the states, and for those of the controller
ASKED, ASKED_WHICH = "minertia-joints", "minertia-description"  # marks of the questions
PUBLISHER = "/robot_state_publisher"  # node that holds the description of the robot
TEXT, TEXTS = 4, 9  # kinds of parameters that are a text or a list of them, in rcl_interfaces


class RosbridgeDriver(Driver):
    """Driver of the robot at `url` (ws://host:9090), with joints identified by name.

    rate [Hz]: rate of the commands; the state messages must arrive at least at this rate.
    """

    def __init__(
        self,
        url: str,
        names: Sequence[str],
        *,
        rate: float = 100.0,
        states: str = STATES,
        commands: str = COMMANDS,
        wait: float | None = None,
    ) -> None:
        if len(set(names)) != len(names):
            raise InputError("every joint of a ROS 2 robot needs a unique name")
        client = load("websockets.sync.client", "rosbridge")
        self._closed = load("websockets.exceptions", "rosbridge").WebSocketException
        self.names, self.period = tuple(names), 1.0 / rate
        self.wait = self.period if wait is None else wait
        self.states, self.commands = states, commands
        self.last: Array | None = None
        self.open = contextlib.ExitStack()
        try:
            self.link = self.open.enter_context(client.connect(url, open_timeout=OPENING, max_size=LONGEST, proxy=None))
        except (OSError, self._closed) as err:
            raise DriverError(
                f"rosbridge at '{url}' cannot be reached ({err.__class__.__name__}); check the "
                "address and that it is running"
            ) from None
        self._send(op="subscribe", topic=states, type=STATE_TYPE)
        self._send(op="advertise", topic=commands, type=COMMAND_TYPE)

    def identity(self) -> RobotIdentity:
        """Joints in the state messages, joints of the controller in order, and the description, if received."""
        controller = self.commands.rsplit("/", 1)[0]
        for mark, node, name in ((ASKED, controller, "joints"), (ASKED_WHICH, PUBLISHER, "robot_description")):
            self._send(op="call_service", service=f"{node}/get_parameters", id=mark, args={"names": [name]})
        joints: dict[str, None] = {}  # several publishers may tell some each
        answers: dict[str, dict[str, Any]] = {}
        end = monotonic() + ASKING
        while not (len(answers) == 2 and joints.keys() >= set(self.names)) and (left := end - monotonic()) > 0:
            message = _message(self._received(left))
            if message.get("op") == "publish" and message.get("topic") == self.states:
                joints |= dict.fromkeys(_texts(message.get("msg"), "name") or ())
            elif message.get("op") == "service_response" and message.get("id") in (ASKED, ASKED_WHICH):
                answers[message["id"]] = message
        order = _texts(_parameter(answers.get(ASKED, {}), TEXTS), "string_array_value")
        text = _parameter(answers.get(ASKED_WHICH, {}), TEXT).get("string_value")
        description = text if isinstance(text, str) and text else None
        return RobotIdentity(joints=tuple(joints) or None, order=order, description=description)

    def read(self) -> JointReading | None:
        """Latest received state; earlier ones are discarded."""
        newest: JointReading | None = None
        for _ in range(MOST):
            text = self._received(self.wait if newest is None else 0.0)
            if text is None:
                break
            newest = self._reading(text) or newest
        if newest is not None:
            self.last = newest.q
        return newest

    def _received(self, wait: float) -> str | None:
        try:
            data = self.link.recv(timeout=wait)
        except TimeoutError:
            return None
        except (OSError, self._closed):
            raise DriverError("rosbridge closed the connection") from None
        return data if isinstance(data, str) else data.decode("utf-8", "replace")

    def _reading(self, text: str) -> JointReading | None:
        """State of all joints from a message; None for other messages, and for states of other joints."""
        try:
            message = json_document(text)
            if message.get("op") != "publish" or message.get("topic") != self.states:
                return None
            state = message["msg"]
            where = {name: k for k, name in enumerate(state["name"])}
            if len({len(where), len(state["name"]), len(state["position"])}) != 1:
                raise ValueError("repeated names, or more names than positions")
            if not where.keys() >= set(self.names):
                return None
            order = [where[name] for name in self.names]
            stamp = state["header"]["stamp"]
            t = float(stamp["sec"]) + 1e-9 * float(stamp["nanosec"])
            return JointReading(t, _picked(state["position"], order), _efforts(state.get("effort"), order, len(where)))
        except (DocumentError, KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise DriverError(f"rosbridge sent a message on {self.states} that is not a JointState") from None

    def command(self, q: Array, qd: Array) -> None:
        """Send a position command."""
        data = {"layout": {"dim": [], "data_offset": 0}, "data": q.tolist()}
        self._send(op="publish", topic=self.commands, msg=data)

    def stop(self) -> None:
        """Command the last measured position."""
        if self.last is not None:
            self.command(self.last, np.zeros(len(self.names)))

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(DriverError):
            self._send(op="unadvertise", topic=self.commands)
            self._send(op="unsubscribe", topic=self.states)
        self.open.close()

    def _send(self, **message: Any) -> None:
        try:
            self.link.send(json.dumps(message))
        except (OSError, self._closed):
            raise DriverError("rosbridge closed the connection") from None


def _message(text: str | None) -> dict[str, Any]:
    """Parsed message; empty for invalid text, which `read` reports."""
    try:
        found = json_document(text or "{}")
    except DocumentError:
        return {}
    return found if isinstance(found, dict) else {}


def _texts(table: Any, key: str) -> tuple[str, ...] | None:
    """List of texts in a message, None for anything else."""
    values = table.get(key) if isinstance(table, dict) else None
    is_list = isinstance(values, list) and bool(values) and all(isinstance(v, str) for v in values)
    return tuple(values) if is_list else None  # type: ignore[arg-type]


def _parameter(message: dict[str, Any], kind: int) -> dict[str, Any]:
    """Single parameter in the reply of a ROS node; empty if there is none of this type."""
    values = message.get("values")
    first = values.get("values") if isinstance(values, dict) and message.get("result") is not False else None
    entry = first[0] if isinstance(first, list) and first else None
    return entry if isinstance(entry, dict) and entry.get("type") == kind else {}


def _picked(values: Sequence[float], order: Sequence[int]) -> Array:
    return np.array([float(values[k]) for k in order])


def _efforts(values: Sequence[float] | None, order: Sequence[int], count: int) -> Array | None:
    """Efforts of the joints; None where the message has none."""
    return _picked(values, order) if values is not None and len(values) == count else None
