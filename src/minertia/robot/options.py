"""Options of reading robots."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.io.schema import Declared, option


@dataclass(frozen=True, slots=True, repr=False)
class StageOptions(Declared):
    """Where the robot is in a USD stage."""

    prim: str = option(
        "",
        "Path of the robot's prim in a USD stage, such as /World/arm.",
        pattern=r"(/[^\s/]+)+|",
        command="prim",
        otherwise="the only robot of the stage",
    )
