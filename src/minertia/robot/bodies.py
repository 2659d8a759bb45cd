"""Bodies that cannot exist or have no mass, in the words of readers and checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minertia.robot.inertia import Ten, impossible
from minertia.robot.robot import Note, Robot

IMPOSSIBLE = "no body can have these inertial parameters"
NO_MASS = (
    "no mass, neither its own nor of bodies fixed to it, so torques leave it out; "
    "give its inertial parameters (base parameters need only the geometry)"
)


def impossible_body(name: str, ten: Sequence[float] | None, line: int | None = None) -> Note | None:
    """A warning when no body can have these ten parameters."""
    why = None if ten is None else impossible(ten)
    if why is None:
        return None
    text = f"{IMPOSSIBLE}: {why}; simulators may refuse it, so correct the mass, centre or inertia"
    return Note("warning", link_text(name), text, line)


def missing_masses(robot: Robot) -> list[Note]:
    """A warning for each moving link that has no mass, bodies fixed to it counted; universal and cut joints aside."""
    crosses = {robot.joints[j].link or robot.joints[j].name for j in (*robot.crosses, *robot.pins)}
    empty = [name for name, ten in moving_links(robot) if (ten is None or not any(ten)) and name not in crosses]
    return [Note("warning", link_text(name), NO_MASS) for name in empty]


def moving_links(robot: Robot) -> Iterator[tuple[str, Ten | None]]:
    """Name and ten parameters of each link that moves."""
    if robot.is_floating:
        yield robot.base_name, robot.base_link
    for joint, ten in zip(robot.joints, robot.links, strict=True):
        yield joint.link or joint.name, ten


def link_text(name: str) -> str:
    """A link in a note."""
    return f"link '{name}'"
