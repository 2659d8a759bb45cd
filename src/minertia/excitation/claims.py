"""Statements on a trajectory's verified and unverified limits."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.excitation.collision import CollisionModel
from minertia.excitation.limits import MotionLimits

JOINT_LIMITS = ("position", "velocity", "acceleration", "jerk", "effort")
MOST = 3  # names in a phrase


@dataclass(frozen=True)
class Claims:
    """Phrases on the limits that were checked on the fine grid, and on those that were not, with the reason."""

    checked: tuple[str, ...]
    unchecked: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, str]:
        """Sentences on the verified and the unverified limits."""
        return f"Respects {'; '.join(self.checked)}.", f"Not checked: {'; '.join(self.unchecked)}."

    def __str__(self) -> str:
        return " ".join(self.sentences)


def claims(limits: MotionLimits) -> Claims:
    """Claims of a trajectory that was checked against these limits."""
    held, unknown = _joint_limits(limits)
    space, open_space = _space(limits)
    others = [
        f"{what} ({why})"
        for what, why in limits.missing.items()
        if what not in (*JOINT_LIMITS, "floor", "self collision")
    ]
    boxes = [f"the box of {', '.join(sorted({repr(box.frame) for box in limits.boxes}))}"] if limits.boxes else []
    own = [f"the constraint '{constraint.name}'" for constraint in limits.constraints]
    return Claims(
        checked=(f"limits of {_and(held)}", *space, *boxes, *_loops(limits), *own),
        unchecked=(*unknown, *others, *open_space),
    )


def _loops(limits: MotionLimits) -> list[str]:
    if limits.loops is None:
        return []
    model = limits.loops
    away = (
        f"at least {model.angle:g} deg between {listed(model.names)} and singular postures, where assembly "
        "branches meet"
    )
    whose = {limit.name: None for limit in model.passive}
    kept = [
        f"singular-value ratio of at least {each.least:g} of loop '{each.name}' (0 at singular postures)"
        for each in model.general
    ]
    return [away] * bool(model.names) + kept + [f"limits of passive joints {listed(list(whose))}"] * bool(whose)


def _joint_limits(limits: MotionLimits) -> tuple[list[str], list[str]]:
    held, unknown = [], []
    for what in JOINT_LIMITS:
        assumed = limits.assumed.get(what, ())
        if getattr(limits, what, True) is None:
            unknown.append(f"limits of {what} ({limits.missing.get(what, 'none given')})")
            continue
        if len(assumed) < len(limits.names):
            held.append(what)
        if assumed:
            whose = "" if len(assumed) == len(limits.names) else f" of {listed(assumed)}"
            unknown.append(f"limits of {what}{whose} (the robot file has none)")
    return held or ["what was assumed"], unknown


def _space(limits: MotionLimits) -> tuple[list[str], list[str]]:
    model = limits.clearance
    checked, unchecked = [], []
    for what, told in (("floor", _floor(model)), ("self collision", _self_collision(model))):
        if told is None:
            unchecked.append(f"{what} ({limits.missing.get(what, 'not requested')})")
        else:
            checked += [told[0]] if told[0] else []
            unchecked += told[1:]
    obstacles = [shape.name for shape in model.obstacles] if model is not None else []
    if obstacles:
        checked.append(f"obstacles {listed(obstacles)}")
    else:
        unchecked.append("obstacles (none given)")
    return checked, unchecked


def _floor(model: CollisionModel | None) -> list[str] | None:
    """Phrases on the checked ("" for nothing) and unchecked parts of the floor constraint; None without a floor."""
    if model is None or model.floor is None:
        return None
    plane = "base plane" if model.floor == 0 else f"z = {model.floor:g} m of the base frame"
    held = f"floor ({plane})" if len(model.feet) else ""
    left_out = f"floor for end points of {listed(model.grounded)} (at or below it in every posture)"
    return [held, left_out] if model.grounded else [held]


def _self_collision(model: CollisionModel | None) -> list[str] | None:
    if model is None or not model.among_links:
        return None
    by_file, by_frames = model.body.sources
    along = f"along the frames with radius {model.body.radius:.2g} m"
    kinds = ["from the shapes in the robot file"] * by_file + [along] * by_frames
    apart = [f"self collision of {listed(model.ignored)} (too close in nearly every posture)"] if model.ignored else []
    if not model.keeps_links_apart:
        return ["", *(apart or ["self collision (all links are neighbours)"])]
    return [f"self collision (capsules {' and '.join(kinds)})", *apart]


def listed(names: tuple[str, ...] | list[str]) -> str:
    """Text of the first few names, each in quotes, and the number of the others."""
    shown = [name if name.startswith("'") else f"'{name}'" for name in names[:MOST]]
    return ", ".join(shown) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
