"""Logs in Parquet files: columns of numbers or of lists, one episode of a LeRobot dataset.

The list elements of a LeRobot dataset are named in `meta/info.json` beside it.  `observation.state` contains
the measured positions and `action` the commanded ones (or, in teleoperation, those of the leader arm).  Both
are in degrees, or normalised to a range (-100 to 100), unless the robot's software was configured otherwise:
the file does not specify it, so the user must.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.logs.file import Block, LogFile, float_column
from minertia.io.arrays import Array
from minertia.io.documents import DocumentError, json_document
from minertia.io.errors import MinertiaError
from minertia.io.extras import load
from minertia.io.files import is_file, reading
from minertia.io.resources import room, too_large

STATE, ACTION, EPISODE = "observation.state", "action", "episode_index"
WORDS = {STATE: "position", ACTION: "action"}  # as columns are called, with the joint's name behind
INFO = Path("meta") / "info.json"
HIGHER = 4  # folders above a file in which its dataset is looked for
LARGEST = 10_000_000  # bytes of the description


def dataset_info(path: Path) -> dict[str, Any] | None:
    """Description of the dataset that a file belongs to; None if it is missing or unreadable."""
    for folder in list(path.resolve().parents)[:HIGHER]:
        file = folder / INFO
        if is_file(file):
            reading(file)
            try:
                with open(file, "rb") as opened:
                    found = json_document(opened.read(LARGEST).decode("utf-8"))
            except (OSError, UnicodeDecodeError, DocumentError):
                return None
            return found if isinstance(found, dict) and "features" in found else None
    return None


def list_names(info: dict[str, Any] | None, column: str, count: int) -> list[str]:
    """Names of the list elements of a column: by joint if the dataset names them, else by index."""
    plain = [f"{column}{k + 1}" for k in range(count)]
    if info is None or column not in WORDS:
        return plain
    features = info["features"]
    feature = features.get(column) if isinstance(features, dict) else None
    names = _flat(feature.get("names")) if isinstance(feature, dict) else []
    if len(names) != count or len(set(names)) != count:
        return [f"{WORDS[column]}{k + 1}" for k in range(count)]
    return [f"{WORDS[column]}_{name}" for name in names]


def _flat(names: Any) -> list[str]:
    """Names of a feature, given as a list or a dictionary of lists, without the suffix after the joint name."""
    if isinstance(names, dict):
        names = [name for part in names.values() if isinstance(part, list) for name in part]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return []
    return [name.removesuffix(".pos") for name in names]


# -------------------------------------------------------------------------------------------------------------- files


MOST_EPISODES = 1000  # told of one block
MAX_LIST = 200  # numbers in one cell of a column
BUFFER = 1 << 20  # bytes of a column that are read ahead
LONG = 64_000_000  # bytes of a file from which columns are not read whole


class ParquetLog(LogFile):
    """Parquet table; a column of lists becomes one column for each list element: state1, state2 ...

    In a LeRobot dataset the elements have the names of the joints, and one episode is read.
    """

    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        with self._file() as file:
            return self.unique(list(self._places(file)))

    def assumed(self) -> tuple[str, ...]:
        """Assumed unit of angles, which LeRobot datasets do not specify."""
        if self._info is None:
            return ()
        unit = {"deg": "degrees", "mrad": "milliradians"}.get(self.map.angle or "", "radians")
        return (
            f"a LeRobot dataset does not give its units: angles are assumed to be in {unit} (angle in [columns]); "
            "convert values in a range such as -100 to 100 first",
        )

    def weight(self) -> int:
        """Size of all values [bytes]."""
        with self._file() as file:
            return 8 * int(file.metadata.num_rows) * len(self._places(file))

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """Iterate over the wanted columns in blocks of rows."""
        row = 1
        with self._file() as file:
            places = {name: place for name, place in self._places(file).items() if name in wanted}
            episode = _Episode(self, file)
            own = sorted({c for c, _ in places.values()} | episode.column)
            if _largest_group(file) > room():  # Arrow may unpack it at once
                raise self.fail(too_large("in one row group the table contains", _largest_group(file)))
            for groups in _row_groups(file, rows):
                for batch in file.iter_batches(batch_size=rows, columns=own, row_groups=groups):
                    columns = {name: self._column(batch.column(c), name, k) for name, (c, k) in places.items()}
                    block = episode.cut(columns, batch.column(EPISODE) if episode.is_cut else None, row)
                    if len(next(iter(block.columns.values()), ())):
                        yield block
                    row += batch.num_rows
            episode.check()

    @cached_property
    def _info(self) -> dict[str, Any] | None:
        """Description of the LeRobot dataset that the file belongs to."""
        return dataset_info(self.path)

    @contextmanager
    def _file(self) -> Iterator[Any]:
        """Context manager of the open file that converts Arrow errors to one-sentence errors."""
        parquet = load("pyarrow.parquet", "logs")
        try:
            # a long file is read as it is needed, for a row group can hold hundreds of megabytes; not a short one, as
            # Arrow takes memory for a page as large as the file says, and a broken one says gigabytes
            ahead = BUFFER if self.path.stat().st_size > LONG else 0
            with parquet.ParquetFile(str(self.path), buffer_size=ahead, pre_buffer=False) as file:
                yield file
        except MinertiaError:
            raise
        except Exception as err:  # OSError, and whatever a broken file makes Arrow raise
            reason = (str(err).splitlines() or [err.__class__.__name__])[0]
            raise self.fail(f"the file cannot be read as Parquet ({reason[:160]})") from None

    def _places(self, file: Any) -> dict[str, tuple[str, int | None]]:
        """Map from column name to the Parquet column and the list index."""
        arrow = load("pyarrow", "logs")
        places: dict[str, tuple[str, int | None]] = {}
        for field in file.schema_arrow:
            if arrow.types.is_list(field.type) or arrow.types.is_fixed_size_list(field.type):
                count = min(_list_length(file, field.name), MAX_LIST)
                names = list_names(self._info, field.name, count)
                places |= {name: (field.name, k) for k, name in enumerate(names)}
            else:
                places[field.name] = (field.name, None)
        return places

    def _column(self, column: Any, name: str, place: int | None) -> Array:
        arrow, compute = load("pyarrow", "logs"), load("pyarrow.compute", "logs")
        if place is not None:
            column = compute.list_element(column, place)
        try:
            return float_column(column.cast(arrow.float64(), safe=False))
        except arrow.ArrowException:
            raise self.fail(f"the values are of type {column.type}, not numbers", name) from None


class _Episode:
    """Selection of the rows of the requested episode, or of the only episode."""

    def __init__(self, log: ParquetLog, file: Any) -> None:
        self.log, self.wanted = log, log.map.episode
        names = set(file.schema_arrow.names)
        self.is_cut = EPISODE in names and (self.wanted is not None or bool(names & set(WORDS)))
        if self.wanted is not None and not self.is_cut:
            raise log.fail(f"an episode is requested, but there is no column '{EPISODE}'")
        self.seen: set[int] = set()

    @property
    def column(self) -> set[str]:
        """Name of the episode column, as a set; empty unless episodes must be separated."""
        return {EPISODE} if self.is_cut else set()

    def cut(self, columns: dict[str, Array], numbers: Any, row: int) -> Block:
        """Select the rows of the episode; numbers: episode number of each row."""
        if not self.is_cut:
            return Block(columns, row)
        episodes = self.log._column(numbers, EPISODE, None)
        self.seen |= {int(v) for v in np.unique(episodes[np.isfinite(episodes)])[:MOST_EPISODES]}
        if self.wanted is None:
            if len(self.seen) > 1:
                raise self.log.fail(self._several())
            return Block(columns, row)
        kept = np.flatnonzero(episodes == self.wanted)
        return Block({name: a[kept] for name, a in columns.items()}, row + (int(kept[0]) if len(kept) else 0))

    def check(self) -> None:
        """Raise an error for an episode that does not exist."""
        if self.wanted is not None and self.wanted not in self.seen:
            raise self.log.fail(f"there is no episode {self.wanted}; {self._several()}")

    def _several(self) -> str:
        named = ", ".join(map(str, sorted(self.seen)[:10]))
        return (
            f"the file contains episodes {named} ...; choose one with episode = {min(self.seen, default=0)} in "
            "[columns]"
        )


def _largest_group(file: Any) -> int:
    """Unpacked size of the largest row group [bytes], from the file's metadata.

    The metadata of single columns are not read: Arrow crashes the process if they are broken.
    """
    sizes = [file.metadata.row_group(k).total_byte_size for k in range(file.num_row_groups)]
    return max(sizes, default=0)


def _list_length(file: Any, column: str) -> int:
    """Length of the first list of a column; 0 for lists that are too long to be channels, such as images."""
    if _largest_group(file) > room():
        return 0
    first = next(iter(file.iter_batches(batch_size=1, columns=[column])), None)
    length = len(first.column(0)[0]) if first is not None and first.num_rows and first.column(0)[0].is_valid else 0
    return length if length <= MAX_LIST else 0


def _row_groups(file: Any, rows: int) -> Iterator[list[int]]:
    """Row groups to be read together, about `rows` rows at a time, because Arrow reads ahead."""
    groups: list[int] = []
    count = 0
    for k in range(file.num_row_groups):
        groups.append(k)
        count += file.metadata.row_group(k).num_rows
        if count >= rows:
            yield groups
            groups, count = [], 0
    if groups:
        yield groups
