"""SAGE folders: `control.csv` and `state_motor.csv` with lists in quotes, joints named in `joint_list.txt`.

Times are microseconds, as the tool writes them, or seconds.  Each state gets the latest command before
it; states before the first command are dropped.  Columns of velocities and torques have names that are
not recognised automatically, because robots without such sensors write other signals there (raw currents
without a sign).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from minertia.identification.logs.file import MAX_COLUMNS, ArrayLog
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError
from minertia.io.files import is_file
from minertia.io.resources import room, too_large

CONTROL, STATE, JOINTS = "control.csv", "state_motor.csv", "joint_list.txt"
KINDS = {CONTROL: "CONTROL", STATE: "STATE_MOTOR"}  # of the rows that count
FURTHER = {"velocities": "logged_velocity", "torques": "logged_torque"}
LONGEST_LIST = 100_000  # characters
LONGEST_STEP = 1.0  # s between rows: larger steps of the clock are microseconds


def is_sage(path: str | Path) -> bool:
    """Whether a path is a SAGE folder."""
    return all(is_file(Path(path) / name) for name in (CONTROL, STATE))


class SageLog(ArrayLog):
    """SAGE folder of one motion."""

    def load(self) -> dict[str, Array]:
        """Times [s], positions, commands, and other logged signals, a column for each joint."""
        if (size := self.weight()) > room():
            raise self.fail(too_large("the folder is read at once, and its numbers take at least", size))
        control, state = self._table(CONTROL), self._table(STATE)
        t, told = _seconds(state["timestamp"][:, 0]), _seconds(control["timestamp"][:, 0])
        q, u = state["positions"], control["positions"]
        if q.shape[1] != u.shape[1]:
            raise self.fail(f"{STATE} has {q.shape[1]} positions per row, but {CONTROL} has {u.shape[1]}")
        last = np.searchsorted(told, t, side="right") - 1
        known = last >= 0
        names = self._joints(q.shape[1])
        measured, told_as = ("position", "command") if names[0].startswith("_") else ("q", "q_cmd")
        found = {"t": t[known]}
        for k, name in enumerate(names):
            found[f"{measured}{name}"], found[f"{told_as}{name}"] = q[known, k], u[last[known], k]
        for word, title in FURTHER.items():
            if word in state and state[word].shape[1] == len(names):
                found |= {f"{title}{name}": state[word][known, k] for k, name in enumerate(names)}
        return found

    def assumed(self) -> tuple[str, ...]:
        """Messages on assumptions about what SAGE folders do not specify."""
        return (
            "positions and commands are assumed to be in radians, and torques are not used as efforts; name "
            "effort in [columns] to use them",
        )

    def _joints(self, count: int) -> list[str]:
        """Suffixes of the column names: joint names of the list, else numbers."""
        file = self.path / JOINTS
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n") if is_file(file) else []
        names = [line.strip() for line in lines[:MAX_COLUMNS] if line.strip()]
        if len(names) != count or len(set(names)) != count:
            return [str(k + 1) for k in range(count)]
        return [f"_{name}" for name in names]

    def _table(self, name: str) -> dict[str, Array]:
        """Columns of one of the two files, each (rows, values per row)."""
        rows: dict[str, list[list[float]]] = {}
        for number, row in self._rows(name):
            for word in ("timestamp", "positions", *FURTHER):
                text = row.get(word)
                if text is not None:
                    rows.setdefault(word, []).append(self._numbers(name, word, number, text))
        if not rows.get("timestamp") or not rows.get("positions"):
            raise self._wrong(name, f"the file has no rows of {KINDS[name]} with timestamp and positions")
        for word, values in rows.items():
            if len({len(v) for v in values}) > 1 or len(values) != len(rows["timestamp"]):
                raise self._wrong(name, "its lists differ in length from row to row", word)
        return {word: np.array(values) for word, values in rows.items()}

    def _rows(self, name: str) -> Iterator[tuple[int, dict[str, str]]]:
        """Relevant rows of a file, numbered from 1."""
        with open(self.path / name, newline="", encoding="utf-8", errors="replace") as file:
            try:
                for number, row in enumerate(csv.DictReader(file), 1):
                    if (row.get("type") or KINDS[name]) == KINDS[name]:
                        yield number, {key: value for key, value in row.items() if key and isinstance(value, str)}
            except csv.Error as err:
                raise self._wrong(name, f"the file cannot be read as a table ({err})") from None

    def _numbers(self, name: str, word: str, row: int, text: str) -> list[float]:
        try:
            if len(text) > LONGEST_LIST:
                raise ValueError
            return [float(x) for x in text.strip().removeprefix("[").removesuffix("]").split(",")]
        except ValueError:
            raise self._wrong(name, f"'{text[:30]}' is not a list of numbers", word, row) from None

    def _wrong(self, name: str, message: str, column: str | None = None, row: int | None = None) -> RecordingError:
        return RecordingError(message, file=self.path / name, column=column, row=row)


def _seconds(stamps: Array) -> Array:
    """Time stamps converted to seconds."""
    step = float(np.median(np.diff(stamps))) if len(stamps) > 1 else 0.0
    return np.asarray(stamps * (1e-6 if step > LONGEST_STEP else 1.0))
