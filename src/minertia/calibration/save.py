"""The folder of files that a calibration leaves."""

from __future__ import annotations

from pathlib import Path

from minertia.calibration.result import Calibration
from minertia.files import write_file
from minertia.robot.write import write_robot


def save_calibration(found: Calibration, folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write calibration.json and the corrected robot as robot.toml, and as URDF where it was read from one."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / "calibration.json", folder / "robot.toml"]
    write_file(made[0], found.to_json(), force=force)
    write_robot(found.robot, made[1], force=force)
    source = found.chain.robot.source
    if source is not None and Path(source).suffix.lower() == ".urdf":
        made.append(folder / "robot.urdf")
        write_robot(found.robot, made[-1], template=source, force=force)
    return tuple(made)
