"""Universal Robots program: `servoj` at every period, after checking the robot's position."""

from __future__ import annotations

from collections.abc import Sequence

from minertia.codegen.targets.names import comment
from minertia.excitation.exports.motion import ControllerMotion, number
from minertia.io.errors import Infeasible

FILE = "excitation.script"
RATES = (125.0, 500.0)  # Hz: CB3, e-Series
NEAR = 0.01  # rad from the first posture at which the program still begins
LOOKAHEAD, GAIN = 0.05, 300  # s; both within what servoj allows (0.03 to 0.2, 100 to 2000)


def texts(motion: ControllerMotion) -> dict[str, str]:
    """File of the program."""
    motion.require_turning(6, "a Universal Robot")
    if motion.rate > RATES[-1] or motion.rate < 1:
        raise Infeasible(
            f"a Universal Robot takes at most {RATES[-1]:g} set points per second, not "
            f"{motion.rate:g}; use a lower --export-rate"
        )
    q, starts = motion.path.q, dict(zip(motion.begins, motion.route.names, strict=True))
    lines = [
        f"# {comment(motion.robot.name)}: {', '.join(motion.route.names)}; {motion.rate:g} Hz. Written by minertia.",
        "# Zeros and directions of the joints must be those of the robot file.",
        "def excitation():",
        f"  first = {_list(q[0])}",
        "  here = get_actual_joint_positions()",
        "  j = 0",
        "  while j < 6:",
        "    off = here[j] - first[j]",
        f"    if off > {NEAR} or off < -{NEAR}:",
        '      popup("The robot is not where this motion begins.", title="minertia", error=True, blocking=True)',
        "      halt",
        "    end",
        "    j = j + 1",
        "  end",
    ]
    for k, posture in enumerate(q):
        if k in starts:
            lines.append(f"  # {starts[k]}")
        lines.append(f"  servoj({_list(posture)}, t={motion.period:.9g}, lookahead_time={LOOKAHEAD:g}, gain={GAIN})")
    lines += ["  stopj(2.0)", "end", ""]
    return {FILE: "\n".join(lines)}


def _list(values: Sequence[float]) -> str:
    return "[" + ", ".join(number(v, 7) for v in values) + "]"
