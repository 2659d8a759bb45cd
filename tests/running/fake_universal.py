"""A controller of Universal Robots, as far as the package `ur-rtde` talks to one: RTDE, dashboard, scripts.

It runs as a program of its own (`python fake_universal.py`), since the package holds Python's lock while it waits, and
says READY when all ports are open.  Whatever position `servoJ` asks for is where the arm is.
"""

from __future__ import annotations

import socket
import struct
import threading
import time

PORTS = {"rtde": 30004, "dashboard": 29999, "script": 30003}
VERSION, CONTROLLER, OUTPUTS, INPUTS, START, PAUSE, DATA = 86, 118, 79, 73, 83, 80, 85  # kinds of packages
VECTORS = """
    target_q target_qd target_qdd target_current target_moment actual_q actual_qd actual_current joint_control_output
    actual_TCP_pose actual_TCP_speed actual_TCP_force target_TCP_pose target_TCP_speed joint_temperatures
    actual_joint_voltage ft_raw_wrench actual_current_as_torque payload_inertia external_force_torque
"""
DOUBLES = """
    timestamp actual_execution_time speed_scaling target_speed_fraction actual_momentum actual_main_voltage
    actual_robot_voltage actual_robot_current standard_analog_input0 standard_analog_input1 standard_analog_output0
    standard_analog_output1 payload tcp_force_scalar speed_slider_fraction
"""
TYPES = {
    **dict.fromkeys(VECTORS.split(), "VECTOR6D"),
    **dict.fromkeys(DOUBLES.split(), "DOUBLE"),
    **dict.fromkeys(("actual_tool_accelerometer", "payload_cog"), "VECTOR3D"),
    **dict.fromkeys(("actual_digital_input_bits", "actual_digital_output_bits"), "UINT64"),
    **dict.fromkeys(("robot_mode", "safety_mode", "safety_status"), "INT32"),
    **dict.fromkeys(("robot_status_bits", "safety_status_bits", "runtime_state", "speed_slider_mask"), "UINT32"),
    **dict.fromkeys(("output_bit_registers0_to_31", "output_bit_registers32_to_63"), "UINT32"),
    "joint_mode": "VECTOR6INT32",
}
FORMS = {
    "VECTOR6D": "6d", "DOUBLE": "d", "VECTOR3D": "3d", "VECTOR6INT32": "6i", "UINT64": "Q", "UINT32": "I", "INT32": "i",
    "BOOL": "?", "UINT8": "B",
}  # fmt: skip
ANSWERS = {
    "polyscopeversion": "URSoftware 5.12.0.1101319 (Mar 10 2022)", "get serial number": "20225500001",
    "stop": "Stopped", "play": "Starting program", "robotmode": "Robotmode: RUNNING",
}  # fmt: skip
IDLE, SERVOJ, STOP_SCRIPT = 0, 11, 255  # commands of the package's script
READY, DONE = 1, 2  # what its script answers


class Arm:
    """What all connections share."""

    def __init__(self) -> None:
        self.t, self.q, self.answer, self.is_running = 100.0, [0.1] * 6, READY, True

    def values(self, name: str) -> list[float] | None:
        """A variable; None for those that stay 0."""
        return {
            "timestamp": [self.t],
            "actual_q": self.q,
            "actual_current": [0.5] * 6,
            "robot_mode": [7],
            "safety_mode": [1],
            "safety_status_bits": [1],
            "runtime_state": [2 if self.is_running else 1],
            "robot_status_bits": [3 if self.is_running else 1],
            "output_int_register_0": [self.answer],
        }.get(name)

    def take(self, command: dict[str, float]) -> None:
        """A command of the package to its script."""
        kind = command.get("input_int_register_0")
        if kind == STOP_SCRIPT:
            self.is_running, self.answer = False, 0
        elif kind == IDLE:
            self.answer = READY if self.is_running else 0
        elif kind == SERVOJ:
            self.q = [command[f"input_double_register_{j}"] for j in range(6)]
        else:
            self.answer = DONE


ARM = Arm()


def type_of(name: str) -> str:
    for part, kind in (("int_register", "INT32"), ("double_register", "DOUBLE"), ("bit_register", "BOOL")):
        if part in name:
            return TYPES.get(name, kind)
    return TYPES.get(name, "UINT8")


class Rtde:
    """One connection of RTDE."""

    def __init__(self, link: socket.socket) -> None:
        self.link, self.lock = link, threading.Lock()
        self.names: list[str] = []
        self.recipes: dict[int, list[str]] = {}
        self.rate, self.is_started = 125.0, False
        threading.Thread(target=self.stream, daemon=True).start()
        while True:
            size, kind = struct.unpack(">HB", self.exactly(3))
            self.answer(kind, self.exactly(size - 3))

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.link.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def send(self, kind: int, data: bytes) -> None:
        with self.lock:
            self.link.sendall(struct.pack(">HB", 3 + len(data), kind) + data)

    def stream(self) -> None:
        while True:
            time.sleep(1 / self.rate)
            if self.is_started:
                ARM.t += 1 / self.rate
                try:
                    self.send(DATA, b"\x01" + b"".join(map(self.packed, self.names)))
                except OSError:
                    return

    @staticmethod
    def packed(name: str) -> bytes:
        form = ">" + FORMS[type_of(name)]
        count = int(form[1]) if form[1].isdigit() else 1
        return struct.pack(form, *(ARM.values(name) or [0] * count))

    def answer(self, kind: int, data: bytes) -> None:
        if kind == CONTROLLER:
            self.send(kind, struct.pack(">4I", 5, 12, 0, 0))
        elif kind == OUTPUTS:
            self.rate, self.names = struct.unpack(">d", data[:8])[0], self.listed(data[8:])
            self.send(kind, b"\x01" + ",".join(map(type_of, self.names)).encode())
        elif kind == INPUTS:
            names = self.listed(data)
            self.recipes[len(self.recipes) + 1] = names
            self.send(kind, bytes([len(self.recipes)]) + ",".join(map(type_of, names)).encode())
        elif kind == DATA:
            names = self.recipes[data[0]]
            form = ">" + "".join(FORMS[type_of(name)] for name in names)
            ARM.take(dict(zip(names, struct.unpack(form, data[1:]), strict=False)))
        else:
            self.is_started = kind == START or (self.is_started and kind != PAUSE)
            self.send(kind, b"\x01")

    @staticmethod
    def listed(data: bytes) -> list[str]:
        return [name for name in data.decode().split(",") if name]


def dashboard(link: socket.socket) -> None:
    link.sendall(b"Connected: Universal Robots Dashboard Server\n")
    for line in link.makefile():
        link.sendall(ANSWERS.get(line.strip().lower(), "true").encode() + b"\n")


def script(link: socket.socket) -> None:
    while link.recv(65536):
        ARM.is_running, ARM.answer = True, READY


def served(server: socket.socket, talk) -> None:
    def kept(link: socket.socket) -> None:
        try:
            talk(link)
        except (OSError, EOFError):
            link.close()

    while True:
        link, _ = server.accept()
        threading.Thread(target=kept, args=(link,), daemon=True).start()


if __name__ == "__main__":
    for name, talk in (("rtde", Rtde), ("dashboard", dashboard), ("script", script)):
        server = socket.create_server(("127.0.0.1", PORTS[name]))
        threading.Thread(target=served, args=(server, talk), daemon=True).start()
    print("READY", flush=True)
    time.sleep(60)
