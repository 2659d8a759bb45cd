"""Files of a run: a log for each speed, and a marked record of whether all speed stages were completed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from minertia.excitation.route import Route
from minertia.excitation.trajectory import ContinuousMotion
from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import DescriptionError, MinertiaError
from minertia.io.files import reading
from minertia.io.seals import has_seal
from minertia.robot.robot import Robot
from minertia.running.ladder import RungLog

FORMAT = 2
FILE = "run.toml"
SIMULATED = "sim"
USUAL_RATE = 125.0  # Hz of the commands
SAME_RATE = 1e-6  # part by which two rates of commands may differ that are the same
LARGEST = 1_000_000  # bytes of a record


@dataclass(frozen=True)
class RunRecord:
    """Record of completed or aborted speed stages: robot, driver, trajectory, and progress.

    motion, description, limits: digests of the commands, of the robot file, and of the checked limits.  rate
    [Hz]: command rate.
    """

    robot: str
    driver: str
    motion: str
    description: str
    speeds: tuple[float, ...]
    aborted: str
    largest_error: tuple[float, ...]
    rate: float
    limits: str

    @property
    def is_passed(self) -> bool:
        """Whether the trajectory was completed at every speed."""
        return not self.aborted

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
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
            "rate": self.rate,
            "limits": self.limits,
        }

    def to_toml(self) -> str:
        """Record as TOML text, to which an ownership marker is added on writing."""
        return tomli_w.dumps(self.to_dict())


def record_of(
    robot: Robot,
    motion: ContinuousMotion,
    driver: str,
    logs: Sequence[RungLog],
    *,
    rate: float = USUAL_RATE,
    limits: str = "",
) -> RunRecord:
    """Record from the logs of speed stages; rate [Hz]: command rate; limits: digest of the checked limits."""
    errors = np.max([log.largest_error for log in logs], axis=0)
    return RunRecord(
        robot=robot.name,
        driver=driver,
        motion=motion_digest(motion),
        description=robot_digest(robot),
        speeds=tuple(log.speed for log in logs if not log.aborted),
        aborted=logs[-1].aborted,
        largest_error=tuple(float(v) for v in errors),
        rate=rate,
        limits=limits,
    )


def motion_digest(motion: ContinuousMotion) -> str:
    """Digest of all values that define the trajectory, as read, without computed ones.

    Commands are a function of these values, of the rate and of the speed alone.
    """
    digest = hashlib.sha256()
    _digest_into(digest, motion)
    return digest.hexdigest()


def _digest_into(digest: hashlib._Hash, value: Any) -> None:
    """Add a trajectory, its parts and its arrays to a digest; names of parts are ignored."""
    if isinstance(value, Route):
        for _, part in value.parts:
            _digest_into(digest, part)
    elif is_dataclass(value):
        digest.update(f"{type(value).__name__}(".encode())
        for own in fields(value):
            _digest_into(digest, getattr(value, own.name))
        digest.update(b")")
    else:
        numbers = np.ascontiguousarray(value, "<f8") + 0.0  # one zero, whatever its sign
        digest.update(f"{numbers.shape}".encode() + numbers.tobytes())


def robot_digest(robot: Robot) -> str:
    """Digest of the joints, their placement, coupling, limits and parameters."""
    numeric = robot.numeric
    joints = [
        (j.name, j.kind, str(j.limits), str(j.parent), str(j.follows), j.is_passive, j.has_motor, str(j.elastic))
        for j in robot.joints
    ]
    values = robot.parameters() if robot.has_parameters else []
    data = {
        "name": [robot.name, robot.base],
        "joints": joints,
        "places": [[*j.R, j.p] for j in numeric.joints],
        "frames": {name: [str(frame.joint), *frame.pose] for name, frame in numeric.frames.items()},
        "values": [robot.gravity, values, robot.effects, robot.motor_effects, robot.constants, robot.coupling],
        "links": [None if ten is None else list(ten) for ten in numeric.links],
        "seed": robot.seed,  # on which branch loops are assembled
        "loops": [
            [cut.name, cut.kind, str(cut.first), str(cut.second), cut.first_pose, cut.second_pose]
            for cut in numeric.cuts
        ],
    }
    return hashlib.sha256(json.dumps(_plain(data), sort_keys=True).encode()).hexdigest()


def _plain(data: Any) -> Any:
    """Plain data with numbers rounded to nine digits and 12 decimals, so that rounding errors change no digest."""
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    return data if isinstance(data, (str, bool)) or data is None else f"{round(float(data), 12) + 0.0:.9g}"


def log_csv(log: RungLog, effort: str) -> str:
    """Log as CSV for `identify`: t, q1.., q_cmd1.., and effort columns named after the template `effort`."""
    n = log.q.shape[1]
    names = ["t", *(f"{s}{j + 1}" for s in ("q", "q_cmd") for j in range(n))]
    columns = [log.t, log.q, log.commanded]
    if log.effort is not None:
        names += [effort.format(j=j + 1) for j in range(n)]
        columns.append(log.effort)
    rows = np.column_stack(columns).tolist()
    return "\n".join([",".join(names), *(",".join(f"{v:.12g}" for v in row) for row in rows)]) + "\n"


def log_name(speed: float) -> str:
    """File name of a log."""
    return f"run-{round(100 * speed):03d}.csv"


# ---------------------------------------------------------------------- the gate


def require_rehearsed(
    path: str | Path | None,
    robot: Robot,
    motion: ContinuousMotion,
    speed: float,
    *,
    rate: float = USUAL_RATE,
    limits: str | None = None,
) -> None:
    """Raise an error for a trajectory that was not completed unchanged in simulation at this speed and rate.

    limits: digest of the checked limits; None skips the comparison.
    """
    how = f"run it first with --driver {SIMULATED} and give the resulting {FILE} with --rehearsed"
    if path is None:
        raise MinertiaError(f"this trajectory was not rehearsed on a simulated robot: {how}")
    record = read_record(path)
    aborted = record.get("aborted")
    if record.get("driver") != SIMULATED or record.get("passed") is not True or aborted != "":
        why = aborted or "it was not run on a simulated robot"
        raise MinertiaError(f"the rehearsal in '{path}' did not pass ({why}): {how}")
    for key, own, said in (
        ("motion", motion_digest(motion), "belongs to another trajectory"),
        ("description", robot_digest(robot), "belongs to another robot, or the robot file was changed since"),
        ("limits", limits, "used other limits"),
    ):
        if own is not None and record.get(key) != own:
            raise MinertiaError(f"the rehearsal in '{path}' {said}: {how}")
    told = _number(record.get("rate"))
    if told is None or not abs(told - rate) <= SAME_RATE * rate:
        had = "no rate" if told is None else f"{told:g} commands per second"
        raise MinertiaError(f"the rehearsal in '{path}' used {had}, not {rate:g}: give that --rate, or {how}")
    speeds = record.get("speeds")
    reached = [_number(s) for s in speeds] if isinstance(speeds, list) else []
    if not any(s is not None and speed <= s <= 1 for s in reached):
        raise MinertiaError(f"the rehearsal in '{path}' did not reach {100 * speed:g} % of the speed: {how}")


def rehearsed_rate(path: str | Path) -> float | None:
    """Command rate of a rehearsal [Hz]; None if its record does not give it."""
    return _number(read_record(path).get("rate"))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def read_record(path: str | Path) -> dict[str, Any]:
    """Read a record that minertia wrote and that is unchanged."""
    reading(path)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
        document = toml_document(data.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise DescriptionError(f"the record cannot be read ({err.__class__.__name__})", file=path) from None
    except DocumentError as err:
        raise DescriptionError(str(err), file=path, line=err.line) from None
    if len(data) > LARGEST or not has_seal(data):  # of the bytes that were read, whatever the file is by now
        raise MinertiaError(f"'{path}' is not a record that minertia wrote, or it was changed since; rehearse again")
    if document.get("format") != FORMAT:
        raise DescriptionError(f"only format {FORMAT} can be read; rehearse again", file=path)
    return document
