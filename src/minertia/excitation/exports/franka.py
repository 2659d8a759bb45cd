"""libfranka program that runs samples at 1 kHz, after checking the robot's position."""

from __future__ import annotations

import numpy as np

from minertia.codegen.targets.names import comment
from minertia.excitation.exports.motion import ControllerMotion
from minertia.io.errors import Infeasible

PROGRAM, SAMPLES = "franka_motion.cpp", "franka_motion.csv"
RATE = 1000.0  # Hz
# the smaller of what Panda and FR3 allow (rate_limiting.h of libfranka): beyond it the robot stops by a reflex
VELOCITY = np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61])  # rad/s
ACCELERATION = np.array([10.0, 7.5, 10.0, 10.0, 10.0, 10.0, 10.0])  # rad/s2
JERK = np.array([5000.0, 3750.0, 5000.0, 5000.0, 5000.0, 5000.0, 5000.0])  # rad/s3

TEXT = """// @TITLE@ Written by minertia.
// Build: g++ -std=c++17 franka_motion.cpp -o franka_motion -lfranka    Run: ./franka_motion HOST franka_motion.csv
// It refuses to begin unless the robot stands within 0.01 rad of the first posture.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <franka/exception.h>
#include <franka/robot.h>

using Posture = std::array<double, 7>;

static std::vector<Posture> samples(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // the format
  std::getline(file, line);  // the columns: t, q1..q7, ...
  std::vector<Posture> found;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::getline(cells, cell, ',');  // the time: one row a millisecond
    Posture q{};
    for (double& value : q) {
      std::getline(cells, cell, ',');
      value = std::strtod(cell.c_str(), nullptr);
    }
    found.push_back(q);
  }
  return found;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " HOST SAMPLES" << std::endl;
    return 2;
  }
  const std::vector<Posture> q = samples(argv[2]);
  if (q.size() != @COUNT@) {
    std::cerr << argv[2] << " does not belong to this program" << std::endl;
    return 2;
  }
  try {
    franka::Robot robot(argv[1]);
    const Posture here = robot.readOnce().q;
    for (size_t j = 0; j < 7; ++j) {
      if (!(std::fabs(here[j] - q[0][j]) < 0.01)) {
        std::cerr << "joint " << j + 1 << " is not where this motion begins" << std::endl;
        return 2;
      }
    }
    const Posture held = robot.readOnce().q_d;  // what is commanded now: the motion is joined to it without a step
    double time = 0.0;
    robot.control([&](const franka::RobotState&, franka::Duration period) -> franka::JointPositions {
      time += period.toSec();
      const size_t last = q.size() - 1;
      const size_t k = std::min(static_cast<size_t>(time * 1000.0 + 0.5), last);
      const double x = std::min(time, 1.0);  // the difference fades within the first second
      const double fade = 1.0 - x * x * x * x * (35.0 + x * (-84.0 + x * (70.0 - 20.0 * x)));
      Posture now{};
      for (size_t j = 0; j < 7; ++j) now[j] = q[k][j] + fade * (held[j] - q[0][j]);
      franka::JointPositions command(now);
      return k == last && time >= 1.0 ? franka::MotionFinished(command) : command;
    });
  } catch (const franka::Exception& err) {
    std::cerr << err.what() << std::endl;
    return 1;
  }
  return 0;
}
"""


def texts(motion: ControllerMotion) -> dict[str, str]:
    """Files of the program and its samples."""
    motion.require_turning(7, "a Franka arm")
    if motion.rate != RATE:
        raise Infeasible(f"a Franka arm takes {RATE:g} set points per second, not {motion.rate:g}; omit --export-rate")
    _require_soft(motion)
    title = f"{comment(motion.robot.name)}: {', '.join(motion.route.names)}."
    text = TEXT.replace("@TITLE@", title).replace("@COUNT@", str(len(motion.path.t)))
    return {PROGRAM: text, SAMPLES: motion.path.to_csv()}


def _require_soft(motion: ControllerMotion) -> None:
    """Raise an error for motions that exceed the velocity, acceleration or jerk limits of the Franka arm."""
    path = motion.path
    jerk = np.diff(path.qdd, axis=0) / motion.period
    for what, values, limit, unit in (
        ("velocity", path.qd, VELOCITY, "rad/s"),
        ("acceleration", path.qdd, ACCELERATION, "rad/s2"),
        ("jerk", jerk, JERK, "rad/s3"),
    ):
        largest = np.abs(values).max(axis=0)
        if (largest > limit).any():
            j = int(np.argmax(largest / limit))
            raise Infeasible(
                f"joint '{motion.names[j]}' reaches a {what} of {largest[j]:.4g} {unit}, but a Franka arm stops "
                f"above {limit[j]:g}; give --limits {what}={limit[j]:g} or less"
            )
