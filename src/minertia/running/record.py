"""What a run leaves: a log for each speed, and a sealed record that says whether the ladder was climbed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from minertia.documents import DocumentError, toml_document
from minertia.errors import DescriptionError, MinertiaError
from minertia.excitation.trajectory import ContinuousMotion
from minertia.files import reading
from minertia.robot.robot import Robot
from minertia.running.ladder import RungLog
from minertia.seals import is_ours

Array = NDArray[np.float64]
FORMAT = 1
FILE = "run.toml"
SIMULATED = "sim"
LOOKS = 400  # times at which two motions are compared
ROUND = 6  # decimals: the same motion from another file, or written at another rate, is the same
LARGEST = 1_000_000  # bytes of a record


@dataclass(frozen=True)
class RunRecord:
    """A climbed ladder, or one that was left: whose motion, with which driver, how far."""

    robot: str
    driver: str
    motion: str
    description: str
    speeds: tuple[float, ...]
    aborted: str
    largest_error: tuple[float, ...]

    @property
    def is_passed(self) -> bool:
        """Whether the motion ended at every speed."""
        return not self.aborted

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": FORMAT,
            "robot": self.robot,
            "driver": self.driver,
            "passed": self.is_passed,
            "aborted": self.aborted,
            "speeds": list(self.speeds),
            "largest_error": list(self.largest_error),
            "motion": self.motion,
            "description": self.description,
        }

    def to_toml(self) -> str:
        """The record as a file, which is sealed when it is written."""
        return tomli_w.dumps(self.to_dict())


def record_of(robot: Robot, motion: ContinuousMotion, driver: str, logs: Sequence[RungLog]) -> RunRecord:
    """The record of the logs of a ladder; speeds: those at which the motion ended."""
    errors = np.max([log.largest_error for log in logs], axis=0)
    return RunRecord(
        robot=robot.name,
        driver=driver,
        motion=motion_digest(motion),
        description=robot_digest(robot),
        speeds=tuple(log.speed for log in logs if not log.aborted),
        aborted=logs[-1].aborted,
        largest_error=tuple(float(v) for v in errors),
    )


def motion_digest(motion: ContinuousMotion) -> str:
    """The same for the same motion, whatever rate its file has."""
    q = motion.at(np.linspace(0.0, motion.duration, LOOKS))[0]
    numbers = np.round(q, ROUND) + 0.0
    text = f"{motion.duration:.6f}|{numbers.shape}|" + ",".join(f"{v:.{ROUND}f}" for v in numbers.ravel())
    return hashlib.sha256(text.encode()).hexdigest()


def robot_digest(robot: Robot) -> str:
    """The same for the same joints, where they are, their limits and parameters."""
    joints = [(j.name, j.kind, str(j.limits), str(j.parent)) for j in robot.joints]
    values = robot.parameters() if robot.has_parameters else []
    rounded = [{name: f"{value:.9g}" for name, value in own.items()} for own in values]
    places = [[f"{float(v) + 0.0:.9g}" for part in (*j.R, j.p) for v in part] for j in robot.numeric.joints]
    data = [robot.name, [f"{g:.9g}" for g in robot.gravity], joints, places, rounded]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def log_csv(log: RungLog, effort: str) -> str:
    """A log as `identify` reads it: t, q1.., q_cmd1.., and efforts in columns named after the template."""
    n = log.q.shape[1]
    names = ["t", *(f"{s}{j + 1}" for s in ("q", "q_cmd") for j in range(n))]
    columns = [log.t, log.q, log.commanded]
    if log.effort is not None:
        names += [effort.format(j=j + 1) for j in range(n)]
        columns.append(log.effort)
    rows = np.column_stack(columns).tolist()
    return "\n".join([",".join(names), *(",".join(f"{v:.12g}" for v in row) for row in rows)]) + "\n"


def log_name(speed: float) -> str:
    """Name of the file of a log."""
    return f"run-{round(100 * speed):03d}.csv"


# ---------------------------------------------------------------------- the gate


def require_rehearsed(path: str | Path | None, robot: Robot, motion: ContinuousMotion, speed: float) -> None:
    """Refuse a motion that has not been run on the simulated robot, whole and unchanged, at this speed."""
    how = f"run it with --driver {SIMULATED} first and give its {FILE} with --rehearsed"
    if path is None:
        raise MinertiaError(f"this motion was not rehearsed on a simulated robot: {how}")
    record = read_record(path)
    if record.get("driver") != SIMULATED or record.get("passed") is not True:
        why = record.get("aborted") or "it was not run on a simulated robot"
        raise MinertiaError(f"the rehearsal in '{path}' was not passed ({why}): {how}")
    if record.get("motion") != motion_digest(motion):
        raise MinertiaError(f"the rehearsal in '{path}' is of another motion: {how}")
    if record.get("description") != robot_digest(robot):
        raise MinertiaError(f"the rehearsal in '{path}' is of another robot, or its file was changed since: {how}")
    speeds = record.get("speeds")
    if not isinstance(speeds, list) or not any(isinstance(s, (int, float)) and s >= speed for s in speeds):
        raise MinertiaError(f"the rehearsal in '{path}' did not reach {100 * speed:g} % of the speed: {how}")


def read_record(path: str | Path) -> dict[str, Any]:
    """A record that we wrote and nobody changed."""
    reading(path)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
        document = toml_document(data[:LARGEST].decode("utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise DescriptionError(f"the record cannot be read ({err.__class__.__name__})", file=path) from None
    except DocumentError as err:
        raise DescriptionError(str(err), file=path, line=err.line) from None
    if not is_ours(Path(path)):
        raise MinertiaError(f"'{path}' is not a record that minertia wrote, or it was changed since: rehearse again")
    if document.get("format") != FORMAT:
        raise DescriptionError(f"only format {FORMAT} can be read", file=path)
    return document
