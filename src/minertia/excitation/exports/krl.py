"""KUKA controller program: a spline of axis postures timed by a time block (KSS 8.3 and later)."""

from __future__ import annotations

import numpy as np

from minertia.codegen.targets.names import comment
from minertia.excitation.exports.motion import ControllerMotion, number
from minertia.io.errors import Infeasible

NAME = "EXCITATION"
FILES = ("excitation.src", "excitation.dat")
MOST_AXES = 6
MOST_POINTS = 2000  # a data list of more is refused by many controllers
FRAME_DIGITS = 5  # degrees, or mm of an axis that slides
SLOW = 10  # percent of the axes' speed to the first posture


def texts(motion: ControllerMotion) -> dict[str, str]:
    """Files of the program and its data list."""
    n, q = motion.robot.n, motion.path.q
    if n > MOST_AXES:
        raise Infeasible(f"a KUKA program can have at most {MOST_AXES} axes, but '{motion.robot.name}' has {n} joints")
    if len(q) > MOST_POINTS:
        raise Infeasible(
            f"a KUKA program can have at most {MOST_POINTS} points, but this trajectory has {len(q)}; use a lower "
            "--export-rate"
        )
    scale = np.where(motion.is_sliding, 1000.0, 180.0 / np.pi)
    points = [_axes(row) for row in q * scale]
    head = f"; {comment(motion.robot.name)}: {', '.join(motion.route.names)}; {motion.rate:g} Hz. Written by minertia."
    return dict(zip(FILES, (_program(motion, head), _data(points, head)), strict=True))


def _program(motion: ControllerMotion, head: str) -> str:
    """Program text; each part is at rest at its ends and becomes a separate spline block."""
    count, starts = len(motion.path.t), [*motion.begins, len(motion.path.t) - 1]
    lines = [
        "&ACCESS RVP",
        f"DEF {NAME}()",
        head,
        "; Zeros and directions of the axes must be those of the robot file.",
        "BAS(#INITMOV, 0)",
        f"BAS(#VEL_PTP, {SLOW})",
        "PTP XP1",
    ]
    for name, first, last in zip(motion.route.names, starts[:-1], starts[1:], strict=True):
        lines += [f"; {name}", "PTP_SPLINE", "TIME_BLOCK START"]
        shares = _shares(last - first)
        for k in range(first + 1, last + 1):
            lines.append(f"SPTP XP{k + 1}")
            end = f"TIME_BLOCK END = {number((last - first) * motion.period, 6)}"
            lines.append(end if k == last else f"TIME_BLOCK PART = {shares[k - first - 1]}")
        lines.append("ENDSPLINE")
    assert starts[-1] == count - 1
    return "\n".join([*lines, "END", ""])


def _shares(count: int) -> list[str]:
    """Percentage of a block's time for each of its parts."""
    return [number(100.0 / count, 9)] * count


def _data(points: list[str], head: str) -> str:
    lines = ["&ACCESS RVP", f"DEFDAT {NAME} PUBLIC", head]
    lines += [f"DECL AXIS XP{k}={{{point}}}" for k, point in enumerate(points, start=1)]
    return "\n".join([*lines, "ENDDAT", ""])


def _axes(row: np.ndarray) -> str:
    return ",".join(f"A{j} {number(value, FRAME_DIGITS)}" for j, value in enumerate(row, start=1))
