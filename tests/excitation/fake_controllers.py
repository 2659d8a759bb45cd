"""Interpreters of the programs that controllers take, as far as these programs use their languages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOAT = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"


class Halted(Exception):
    """The program stopped itself."""


@dataclass
class UniversalRobot:
    """Runs URScript line by line: assignments, while, if, servoj; anything else is a fault."""

    here: list[float]
    postures: list[list[float]] = field(default_factory=list)
    periods: list[float] = field(default_factory=list)
    popups: list[str] = field(default_factory=list)

    def run(self, text: str) -> None:
        lines = [line.split("#")[0].strip() for line in text.splitlines()]
        self.lines = [line for line in lines if line]
        assert re.fullmatch(r"def \w+\(\):", self.lines[0]) and self.lines[-1] == "end"
        self.names: dict[str, Any] = {}
        assert self._block(1) == len(self.lines)

    def _block(self, k: int, is_run: bool = True) -> int:
        """Run from a line to the end of its block; the line after it."""
        while self.lines[k] != "end":
            k = self._line(k, is_run)
        return k + 1

    def _line(self, k: int, is_run: bool) -> int:
        line = self.lines[k]
        if found := re.fullmatch(r"(while|if) (.+):", line):
            kind, condition = found.groups()
            if not is_run or not self._value(condition):
                return self._block(k + 1, False)
            after = self._block(k + 1)
            return k if kind == "while" else after
        if is_run:
            self._statement(line)
        return k + 1

    def _statement(self, line: str) -> None:
        if line == "halt":
            raise Halted
        if found := re.fullmatch(r"(\w+) = (.+)", line):
            self.names[found[1]] = self._value(found[2])
        elif found := re.fullmatch(rf"servoj\((\[.*\]), t=({FLOAT}), lookahead_time=({FLOAT}), gain=(\d+)\)", line):
            posture = [float(v) for v in found[1].strip("[]").split(",")]
            assert len(posture) == 6 and 0.03 <= float(found[3]) <= 0.2 and 100 <= int(found[4]) <= 2000
            self.postures.append(posture)
            self.periods.append(float(found[2]))
        elif found := re.fullmatch(r'popup\("([^"]*)", title="[^"]*", error=True, blocking=True\)', line):
            self.popups.append(found[1])
        else:
            assert re.fullmatch(rf"stopj\({FLOAT}\)", line), line

    def _value(self, text: str) -> Any:
        assert re.fullmatch(r"[\w\s\[\].,<>=()+-]+", text), text
        names = {**self.names, "get_actual_joint_positions": lambda: self.here}
        return eval(text, {"__builtins__": {}}, names)  # a test's own program, its letters checked above


@dataclass
class Kuka:
    """Runs a .src with its .dat: PTP, PTP_SPLINE with SPTP and time blocks; anything else is a fault."""

    points: dict[str, list[float]] = field(default_factory=dict)
    first: str = ""
    visited: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # of each point visited, of all blocks

    def load(self, text: str, name: str) -> None:
        lines = _statements(text)
        assert lines[0] == f"DEFDAT {name} PUBLIC" and lines[-1] == "ENDDAT"
        for line in lines[1:-1]:
            found = re.fullmatch(r"DECL AXIS (XP\d+)=\{(.+)\}", line)
            assert found is not None, line
            axes = [part.split(" ") for part in found[2].split(",")]
            assert [a for a, _ in axes] == [f"A{j + 1}" for j in range(len(axes))]
            self.points[found[1]] = [float(v) for _, v in axes]

    def run(self, text: str, name: str) -> None:
        lines = _statements(text)
        assert lines[0] == f"DEF {name}()" and lines[-1] == "END"
        body = iter(line for line in lines[1:-1] if not line.startswith("BAS("))
        for line in body:
            if line == "PTP_SPLINE":
                self._spline(body)
            else:
                found = re.fullmatch(r"PTP (XP\d+)", line)
                assert found is not None and not self.first, line
                self.first = found[1]

    def _spline(self, body: Any) -> None:
        points, parts, total = [], [], None
        assert next(body) == "TIME_BLOCK START"
        for line in body:
            if line == "ENDSPLINE":
                break
            if found := re.fullmatch(r"SPTP (XP\d+)", line):
                assert total is None and found[1] in self.points
                points.append(found[1])
            elif found := re.fullmatch(rf"TIME_BLOCK PART = ({FLOAT})", line):
                parts.append(float(found[1]))
            else:
                found = re.fullmatch(rf"TIME_BLOCK END = ({FLOAT})", line)
                assert found is not None, line
                total = float(found[1])
        assert total is not None and len(points) == len(parts) + 1
        ends = np.cumsum([*parts, 100.0 - sum(parts)]) / 100 * total
        begun = self.times[-1] if self.times else 0.0
        self.visited += points
        self.times += [begun + float(t) for t in ends]


def _statements(text: str) -> list[str]:
    lines = [line.split(";")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("&")]


# a libfranka of a few lines: it calls the motion every millisecond and judges the commands as the robot does
FRANKA_EXCEPTION = """#pragma once
#include <stdexcept>
namespace franka { struct Exception : std::runtime_error { using std::runtime_error::runtime_error; }; }
"""
FRANKA_ROBOT = """#pragma once
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <franka/exception.h>
namespace franka {
struct Duration { double s; double toSec() const { return s; } };
struct RobotState { std::array<double, 7> q, q_d; };
struct JointPositions {
  explicit JointPositions(const std::array<double, 7>& values) : q(values) {}
  std::array<double, 7> q;
  bool motion_finished = false;
};
inline JointPositions MotionFinished(JointPositions command) { command.motion_finished = true; return command; }
class Robot {
  RobotState state;
public:
  explicit Robot(const std::string& host) {
    std::string rest = host;  // the fake's host is its posture: numbers between colons
    for (double& value : state.q) {
      value = std::strtod(rest.c_str(), nullptr);
      const size_t colon = rest.find(':');
      rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    }
    state.q_d = state.q;
  }
  RobotState readOnce() { return state; }
  void control(std::function<JointPositions(const RobotState&, Duration)> motion) {
    for (int k = 0; k < 1000000; ++k) {
      const JointPositions command = motion(state, Duration{k == 0 ? 0.0 : 0.001});
      state.q = state.q_d = command.q;
      for (double value : command.q) std::printf("%.15g ", value);
      std::printf("\\n");
      if (command.motion_finished) return;
    }
    throw Exception("the motion has no end");
  }
};
}
"""
