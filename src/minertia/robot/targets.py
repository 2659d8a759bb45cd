"""Export formats for other programs: one row for each, with the effects that it can represent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from minertia.robot.formats.mjcf.values import HELD
from minertia.robot.formats.mjcf.write import MOTOR
from minertia.robot.formats.urdf.read import EFFECTS
from minertia.robot.formats.usd.attributes import HELD as IN_USD


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """Format to which a robot is exported.

    suffixes: file extensions.  held: symbols of the effects that programs read from such a file.  engine: program
    with which an exported file is evaluated.
    """

    name: str
    suffixes: tuple[str, ...]
    held: tuple[str, ...]
    engine: str


# what holds most comes first: what it finds of rotors is put into the links of a format that has no place for them
TARGETS = (
    ExportTarget("mjcf", (".mjcf", ".xml"), (*HELD, *MOTOR, "OFFM"), "MuJoCo"),
    ExportTarget("usd", (".usda", ".usd", ".usdc"), IN_USD, "UsdPhysics"),
    ExportTarget("urdf", (".urdf",), tuple(EFFECTS["dynamics"].values()), "Pinocchio"),
)


def target_of(path: str | Path) -> ExportTarget | None:
    """Export format of a file by its extension; None for formats that represent all effects."""
    suffix = Path(path).suffix.lower()
    return next((target for target in TARGETS if suffix in target.suffixes), None)
