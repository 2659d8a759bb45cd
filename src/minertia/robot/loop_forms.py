"""What a closed loop is, in the words of the field: parallelogram, four-bar, five-bar, ram, or a general loop."""

from __future__ import annotations

import numpy as np

from minertia.robot.closure import joint_frames
from minertia.robot.loop import PARALLELOGRAM, Cut
from minertia.robot.robot import Robot
from minertia.robot.seeds import cut_joints

PARALLEL = 1e-6  # sine of the angle between axes that count as parallel, cosine of those that count as normal
GENERAL = "general loop"
BARS = {(4, 0): "four-bar", (5, 0): "five-bar"}  # by hinges and slides, the cut joint counted


def loop_forms(robot: Robot) -> tuple[str, ...]:
    """A name for each cut of a robot with a seed; "(dyad)" follows where two passive hinges have a closed form."""
    forms = [PARALLELOGRAM if cut.form else GENERAL for cut in robot.cuts]
    open_loops = {k: robot.uncut(cut) for k, cut in enumerate(robot.cuts) if not cut.form}
    solved: set[int] = set()
    while True:  # a loop may be a dyad once those that move it are closed
        ready = [k for k, cut in open_loops.items() if _is_dyad(robot, cut, solved)]
        if not ready:
            return tuple(forms)
        for k in ready:
            cut = open_loops.pop(k)
            forms[k] = f"{_bars(robot, cut)} (dyad)"
            solved |= cut_joints(robot, cut)


def _is_dyad(robot: Robot, cut: Cut, solved: set[int]) -> bool:
    """Whether a loop lies in a plane and two passive hinges of it are left to be found."""
    inside = cut_joints(robot, cut)
    unknown = [j for j in inside if j in robot.passive and j not in solved]
    leaders = {k for j in inside if (follows := robot.joints[j].follows) is not None for k in follows.joints}
    if len(unknown) != 2 or leaders & set(unknown) or any(robot.joints[j].kind != "revolute" for j in unknown):
        return False
    return _is_planar(robot, cut, inside)


def _is_planar(robot: Robot, cut: Cut, inside: set[int]) -> bool:
    if cut.kind not in ("revolute", "spherical"):
        return False
    assert robot.seed is not None
    axes = joint_frames(robot, robot.seed).R[:, :, 2]
    hinges = [axes[j] for j in inside if robot.joints[j].kind == "revolute"]
    slides = [axes[j] for j in inside if robot.joints[j].kind == "prismatic"]
    return all(np.linalg.norm(np.cross(hinges[0], axis)) < PARALLEL for axis in hinges) and all(
        abs(float(hinges[0] @ axis)) < PARALLEL for axis in slides
    )


def _bars(robot: Robot, cut: Cut) -> str:
    """The name of a planar loop by its joints."""
    inside = cut_joints(robot, cut)
    slides = [j for j in inside if robot.joints[j].kind == "prismatic"]
    hinges = len(inside) - len(slides) + 1
    if len(slides) == 1:
        return "slider-crank" if robot.joints[slides[0]].parent not in inside else "ram"
    return BARS.get((hinges, len(slides)), "planar loop")
