"""`Entrant`: a prediction of efforts that anybody made, as an identified model, a robot file or tables of efforts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.evidence.extrapolation import unknown_part
from minertia.identification.logs.columns import PATTERNS, TIME_NAMES, filled, time_column
from minertia.identification.logs.options import TIMES, ColumnMap
from minertia.identification.logs.readers import FORMATS, LARGEST, ROWS, open_log
from minertia.identification.model import IdentifiedModel, Model, with_efforts
from minertia.identification.model_file import is_model_file, read_model
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.prediction import predict
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.io.errors import InputError, RecordingError
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot


class Entrant(ABC):
    """Prediction of the efforts of logs.  kind: how it is given."""

    kind: ClassVar[str]

    def covers(self, log: EffortLog) -> bool:
        """Whether the entry predicts a log."""
        return True

    @abstractmethod
    def efforts(self, log: EffortLog, block: Motion) -> Array:
        """Predicted efforts (N, rows) of a block of a log, without the known payload of the log [N m or N]."""

    def unknown(self, log: EffortLog) -> float:
        """Relative uncertainty of the predicted efforts of a log; 0 if the entry does not state it."""
        return 0.0


@dataclass(frozen=True)
class ModelEntrant(Entrant):
    """Identified model."""

    kind: ClassVar[str] = "model"
    model: IdentifiedModel

    def efforts(self, log: EffortLog, block: Motion) -> Array:
        """Efforts by the linear model of the identified parameters."""
        return predict(self.model.linear, self.model.beta, block, samples=log.states)

    def unknown(self, log: EffortLog) -> float:
        """Relative uncertainty by the covariance of the model."""
        return unknown_part(self.model.linear, self.model.beta, self.model.covariance, log.judged)


@dataclass(frozen=True)
class RobotEntrant(Entrant):
    """Robot with masses, inertias and friction, such as a URDF or MJCF.

    order: place of each of its coordinates among those of the logs.
    """

    kind: ClassVar[str] = "robot"
    robot: Robot
    order: tuple[int, ...]

    def efforts(self, log: EffortLog, block: Motion) -> Array:
        """Inverse dynamics of the robot with its effects."""
        order = list(self.order)
        found = np.empty((len(block), len(order)))
        found[:, order] = inverse_dynamics(self.robot, *(np.asarray(a)[:, order] for a in _state(block)))
        return found[:, list(log.rows)]


@dataclass(frozen=True)
class TableEntrant(Entrant):
    """Tables of predicted joint efforts over time, one for each log.

    files: table of each log by the name of the log's file without extensions.  late: delay of the logged efforts, and
    so of the tables [s], that was chosen from the logs, which their author cannot know.
    """

    kind: ClassVar[str] = "efforts"
    linear: LinearModel
    files: Mapping[str, Path]
    late: float = 0.0

    def covers(self, log: EffortLog) -> bool:
        """Whether there is a table for the log that overlaps with its time range."""
        file = self._file(log)
        if file is None:
            return False
        t, _ = self._table(file)
        return any(t[0] <= block.t[-1] and t[-1] >= block.t[0] for block in log.judged)

    def efforts(self, log: EffortLog, block: Motion) -> Array:
        """Efforts of the table, interpolated at the times of the block, without the payload of the log."""
        file = self._file(log)
        if file is None or log.evaluation is None:
            known = ", ".join(self.files)
            raise InputError(f"no table predicts the efforts of {log.name}; there are tables for: {known}")
        t, tau = self._table(file)
        t = t - self.late
        times = block.t if block.instants is None else block.instants
        step, most = float(np.diff(t).max(initial=0.0)), 0.5 / log.evaluation.cutoff_hz
        if t[0] > times[0] + step or t[-1] < times[-1] - step or step > most:
            raise RecordingError(
                f"the predicted efforts must cover {times[0]:.4g} to {times[-1]:.4g} s of {log.name} with steps of at "
                f"most {most:.2g} s; they cover {t[0]:.4g} to {t[-1]:.4g} s with steps of up to {step:.2g} s",
                file=file,
            )
        found = np.column_stack([np.interp(block.t, t, column) for column in tau.T])
        return found if log.carried is None else found - log.carried.efforts(block)[:, list(log.rows)]

    def _file(self, log: EffortLog) -> Path | None:
        return self.files.get(_stem(log.name))

    def _table(self, file: Path) -> tuple[Array, Array]:
        """Times [s] and efforts (N, rows) of a table."""
        table = open_log(file, ColumnMap())
        names = table.names()
        clock, columns = time_column(names), self._columns(names)
        if clock is None or columns is None:
            wanted = ", ".join(f"tau{k + 1}" for k in self.linear.rows)
            raise RecordingError(
                f"a table of predicted efforts needs the columns t [s] and {wanted} [N m or N] on the joint side; it "
                f"has {', '.join(names[:40])}",
                file=file,
            )
        blocks = list(table.blocks((clock, *columns), ROWS))
        t = np.concatenate([block.columns[clock] for block in blocks]) * TIMES[TIME_NAMES[clock.strip().lower()]]
        tau = np.column_stack([np.concatenate([block.columns[name] for block in blocks]) for name in columns])
        if len(t) < 2 or not (np.isfinite(t).all() and np.all(np.abs(tau) <= LARGEST) and np.all(np.diff(t) > 0)):
            raise RecordingError(
                f"times must increase, and all efforts must be numbers of magnitude at most {LARGEST:g}", file=file
            )
        return t, tau

    def _columns(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        """Columns of the efforts, by number or name of the joint."""
        joints = list(zip(self.linear.rows, self.linear.row_names, strict=True))
        for pattern in PATTERNS["effort"]:
            found = tuple(filled(pattern.template, j=k + 1, j0=k, joint=joint) for k, joint in joints)
            if pattern.side == "joint" and pattern.unit in (None, "Nm") and set(found) <= set(names):
                return found
        return None


def entrant_of(
    given: Model | Robot | str | Path, linear: LinearModel, logs: Sequence[EffortLog], late: float = 0.0
) -> Entrant:
    """Entrant from a model, a robot, their file, a table of predicted efforts, or a folder of tables.

    logs: those to be predicted; a single table belongs to the file that they share.  late: see `TableEntrant`.
    """
    if isinstance(given, Model):
        return _model_entry(given, linear)
    if not isinstance(given, Robot) and is_model_file(given):
        return _model_entry(read_model(given), linear)
    if linear.robot.sensors:
        raise InputError(
            "robot files and tables do not predict the wrenches of sensors; give a model.toml, or leave out [[sensor]]"
        )
    if isinstance(given, Robot):
        return _robot_entry(given, linear)
    path = Path(given)
    if path.is_dir():
        tables = {_stem(file.name): file for file in sorted(path.iterdir()) if _is_table(file)}
        if not tables:
            raise InputError(
                f"the folder '{path}' has neither a model.toml nor tables of predicted efforts, named like the logs"
            )
        return TableEntrant(linear, tables, late)
    if _is_table(path):
        files = dict.fromkeys(_stem(log.name) for log in logs)
        if len(files) > 1:
            raise InputError(
                f"the set has {len(files)} validation logs; give a folder with a table for each, named like the logs: "
                f"{', '.join(files)}"
            )
        return TableEntrant(linear, dict.fromkeys(files, path), late)
    return _robot_entry(read_robot(given), linear)


def _model_entry(model: Model, linear: LinearModel) -> ModelEntrant:
    own = with_efforts(model, "score")
    if own.nominal.coordinate_names != linear.robot.coordinate_names or own.row_names != linear.row_names:
        raise InputError(
            f"the model predicts the efforts of {', '.join(own.row_names)} of '{own.nominal.name}', but the logs "
            f"have those of {', '.join(linear.row_names)}; give a model of the same joints"
        )
    return ModelEntrant(own)


def _robot_entry(robot: Robot, linear: LinearModel) -> RobotEntrant:
    own, theirs = linear.robot, robot.coordinate_names
    if own.is_floating or robot.is_floating or sorted(own.coordinate_names) != sorted(theirs):
        raise InputError(
            f"'{robot.name}' has the coordinates {', '.join(theirs)}, the robot of the logs "
            f"{', '.join(own.coordinate_names)}; give a robot with a fixed base and the same joint names"
        )
    if not robot.has_parameters:
        raise InputError(f"'{robot.name}' has no masses, so it predicts no efforts; give a robot file with inertias")
    return RobotEntrant(robot.with_gravity(own.gravity), tuple(own.coordinate_names.index(name) for name in theirs))


def _state(block: Motion) -> tuple[Array, Array, Array]:
    return block.q, block.qd, block.qdd


def _is_table(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(tuple(FORMATS))


def _stem(name: str) -> str:
    """File name of a log without folders, extensions and its time window."""
    last = Path(name.partition(" [")[0]).name
    return last[: -len(max((e for e in FORMATS if last.lower().endswith(e)), key=len, default=""))] or last
