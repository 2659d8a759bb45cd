"""What a closed loop is, in the words of the field: parallelogram, four-bar, five-bar, ram, or a general loop."""

from __future__ import annotations

from minertia.algebra.vec3 import cross, dot
from minertia.robot.closure_rows import cut_joints, cut_sides
from minertia.robot.loop import PARALLELOGRAM, Cut
from minertia.robot.robot import Robot

PARALLEL = 1e-9  # sine of the angle between axes that count as parallel, cosine of those that count as normal
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
    return is_planar(robot.numeric, cut.at(robot.symbol_values))


def is_planar(robot: Robot, cut: Cut) -> bool:
    """Whether the hinges of a loop (of a robot without letters) are parallel and its slides normal to them.

    Axes are then so in every posture; a revolute cut is parallel to them as it closes.
    """
    if cut.kind not in ("revolute", "spherical"):
        return False
    axes = {hinge.joint: hinge.axis for side in cut_sides(robot, cut, [0] * robot.n_joints) for hinge in side.hinges}
    hinges = [axis for j, axis in axes.items() if robot.joints[j].kind == "revolute"]
    slides = [axis for j, axis in axes.items() if robot.joints[j].kind == "prismatic"]
    tilts = [s for axis in hinges for s in cross(hinges[0], axis)] + [dot(hinges[0], axis) for axis in slides]
    return all(abs(float(s)) < PARALLEL for s in tilts)


def _bars(robot: Robot, cut: Cut) -> str:
    """The name of a planar loop by its joints."""
    inside = cut_joints(robot, cut)
    slides = [j for j in inside if robot.joints[j].kind == "prismatic"]
    hinges = len(inside) - len(slides) + 1
    if len(slides) == 1:
        return "slider-crank" if robot.joints[slides[0]].parent not in inside else "ram"
    return BARS.get((hinges, len(slides)), "planar loop")
