"""Export formats for other programs: one row for each, with the effects that it can represent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from minertia.robot.effects import BY_SYMBOL
from minertia.robot.formats.mjcf.values import HELD
from minertia.robot.formats.mjcf.write import MOTOR
from minertia.robot.formats.urdf.read import EFFECTS
from minertia.robot.formats.usd.attributes import HELD as IN_USD

STAGES = (".usda", ".usd", ".usdc")  # of USD, whose layers their own reader opens


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """Program or format to which a robot is exported.

    suffixes: file extensions.  held: symbols of the effects that programs read from such a file.  engine: program
    with which an exported file is evaluated.  file: name of the file, or folder, in a result.  variant: whether
    another target is the default for these extensions, so that this one is chosen with `--export`.
    """

    name: str
    suffixes: tuple[str, ...]
    held: tuple[str, ...]
    engine: str
    file: str
    variant: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the target represents every effect, so that it gets the values of the model itself."""
        return set(self.held) >= set(BY_SYMBOL)


# what holds most comes first: what it finds of rotors is put into the links of a format that has no place for them
TARGETS = (
    ExportTarget("mjcf", (".mjcf", ".xml"), (*HELD, *MOTOR, "OFFM"), "MuJoCo", "robot.mjcf"),
    ExportTarget("newton", STAGES, (*IN_USD, "OFF"), "Newton", "newton.usda", variant=True),
    ExportTarget("usd", STAGES, IN_USD, "UsdPhysics", "robot.usda"),
    ExportTarget("isaac-lab", STAGES, IN_USD, "Isaac Lab", "isaac_lab.usda", variant=True),
    ExportTarget("urdf", (".urdf",), tuple(EFFECTS["dynamics"].values()), "Pinocchio", "robot.urdf"),
    ExportTarget("c", (".c",), tuple(BY_SYMBOL), "compiled C", "code"),
    ExportTarget("fmu", (".fmu",), tuple(BY_SYMBOL), "FMPy", "fmu"),
)
BY_NAME = {target.name: target for target in TARGETS}


def target_of(path: str | Path, export: str = "") -> ExportTarget | None:
    """Export target of a file by its extension; None for formats that represent all effects.

    export: name of a variant for the same extension, such as "newton" for a USD file.
    """
    suffix = Path(path).suffix.lower()
    found = [target for target in TARGETS if suffix in target.suffixes and not target.is_whole]
    return next((t for t in found if (t.name == export if export else not t.variant)), None)
