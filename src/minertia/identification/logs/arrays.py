"""Logs as arrays: Parquet, NPZ and MATLAB files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from minertia.errors import MinertiaError, RecordingError
from minertia.extras import load
from minertia.identification.logs.file import MAX_COLUMNS, ArrayLog, Block, LogFile
from minertia.identification.logs.lerobot import EPISODE, WORDS, dataset_info, list_names
from minertia.identification.logs.matlab_file import check_matlab
from minertia.memory import room, too_large

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MAX_DEPTH = 4  # of structs inside structs in a MATLAB file
MOST_EPISODES = 1000  # told of one block
MAX_LIST = 200  # numbers in one cell of a Parquet column
MOST_PACKED = 1100  # bytes that one byte of a compressed file can stand for
BUFFER = 1 << 20  # bytes of a column of a Parquet file that are read ahead
BLOCK_BYTES = 64_000_000  # of an array of an archive, read at once
MAGIC, MAX_HEAD = 12, 10_000  # bytes at the start of an array, and of the description behind them


class ParquetLog(LogFile):
    """A Parquet table; a column of lists of numbers becomes one column for each place: state1, state2 ...

    In a dataset of LeRobot the places have the names of the joints, and one episode is read.
    """

    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        with self._file() as file:
            return self.unique(list(self._places(file)))

    def assumed(self) -> tuple[str, ...]:
        """The unit of angles, which datasets of LeRobot do not say."""
        if self._info is None:
            return ()
        unit = {"rad": "radians", "deg": "degrees"}[self.map.angle]
        return (
            f"a dataset of LeRobot does not say its units: angles are taken as {unit} (angle in [columns]); parts of a "
            "range (-100 to 100) must be converted first",
        )

    def weight(self) -> int:
        """Bytes of all numbers."""
        with self._file() as file:
            return 8 * int(file.metadata.num_rows) * len(self._places(file))

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """The wanted columns in blocks of rows."""
        row = 1
        with self._file() as file:
            places = {name: place for name, place in self._places(file).items() if name in wanted}
            episode = _Episode(self, file)
            own = sorted({c for c, _ in places.values()} | episode.column)
            if _largest_group(file) > room():  # Arrow may unpack it at once
                raise self.fail(too_large("in one row group the table holds", _largest_group(file)))
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
        """The description of the dataset of LeRobot that the file belongs to."""
        return dataset_info(self.path)

    @contextmanager
    def _file(self) -> Iterator[Any]:
        """The file, open; whatever Arrow says about it becomes one sentence."""
        parquet = load("pyarrow.parquet", "logs")
        try:
            # read as it is needed: a row group can hold hundreds of megabytes
            with parquet.ParquetFile(str(self.path), buffer_size=BUFFER, pre_buffer=False) as file:
                yield file
        except MinertiaError:
            raise
        except Exception as err:  # OSError, and whatever a broken file makes Arrow raise
            reason = (str(err).splitlines() or [err.__class__.__name__])[0]
            raise self.fail(f"the file cannot be read as Parquet ({reason[:160]})") from None

    def _places(self, file: Any) -> dict[str, tuple[str, int | None]]:
        """Name -> Parquet column and place in its lists."""
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
            return np.asarray(column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float)
        except arrow.ArrowException:
            raise self.fail(f"the values are of type {column.type}, not numbers", name) from None


class _Episode:
    """Which rows of a table of episodes are read: those of the one that is asked for, or of the only one."""

    def __init__(self, log: ParquetLog, file: Any) -> None:
        self.log, self.wanted = log, log.map.episode
        names = set(file.schema_arrow.names)
        self.is_cut = EPISODE in names and (self.wanted is not None or bool(names & set(WORDS)))
        if self.wanted is not None and not self.is_cut:
            raise log.fail(f"an episode is asked for, and there is no column '{EPISODE}'")
        self.seen: set[int] = set()

    @property
    def column(self) -> set[str]:
        """The column that tells the episodes, where it matters."""
        return {EPISODE} if self.is_cut else set()

    def cut(self, columns: dict[str, Array], numbers: Any, row: int) -> Block:
        """The rows of the episode."""
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
        """Refuse an episode that is not there."""
        if self.wanted is not None and self.wanted not in self.seen:
            raise self.log.fail(f"there is no episode {self.wanted}; {self._several()}")

    def _several(self) -> str:
        named = ", ".join(map(str, sorted(self.seen)[:10]))
        return (
            f"the file holds episodes {named} ...; choose one with episode = {min(self.seen, default=0)} in [columns]"
        )


def _largest_group(file: Any) -> int:
    """Bytes of the largest row group once it is unpacked, as the file says.

    What the file says of single columns is not asked for: where that is broken, Arrow ends the process.
    """
    sizes = [file.metadata.row_group(k).total_byte_size for k in range(file.num_row_groups)]
    return max(sizes, default=0)


def _list_length(file: Any, column: str) -> int:
    """Numbers in the first list of a column; 0 for lists that are too long to be channels, such as images."""
    if _largest_group(file) > room():
        return 0
    first = next(iter(file.iter_batches(batch_size=1, columns=[column])), None)
    length = len(first.column(0)[0]) if first is not None and first.num_rows and first.column(0)[0].is_valid else 0
    return length if length <= MAX_LIST else 0


def _row_groups(file: Any, rows: int) -> Iterator[list[int]]:
    """Row groups to be read together, about `rows` at a time: Arrow reads all it is asked for ahead."""
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


class NpzLog(LogFile):
    """A NumPy archive, read in blocks; objects in it are never unpickled."""

    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.unique(list(self._places()))

    def weight(self) -> int:
        """Bytes of all numbers."""
        return 8 * sum(array.size for array in self._arrays())

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """The wanted columns in blocks of rows."""
        places = {name: place for name, place in self._places().items() if name in wanted}
        count = self.same_length({name: place.array.samples for name, place in places.items()})
        columns: dict[_Array, list[int]] = {}
        for place in places.values():
            columns.setdefault(place.array, []).append(place.column)
        rows = min(rows, *(self._rows(array) for array in columns))
        with ExitStack() as stack:
            try:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                readers = {array: _reader(archive, array, own, stack) for array, own in columns.items()}
                for start in range(0, count, rows):
                    size = min(rows, count - start)
                    read = {array: reader(size) for array, reader in readers.items()}
                    yield Block({name: read[p.array][p.column] for name, p in places.items()}, start + 1)
            except Exception:  # whatever a broken archive makes the zip and array readers raise
                raise self._broken() from None

    def _places(self) -> dict[str, _Place]:
        """Name -> array of the archive and its column there."""
        arrays = [a for a in self._arrays() if a.size > 1]
        if not arrays:
            raise self.fail("the file holds no arrays of numbers")
        longest = max(max(a.shape) for a in arrays)
        places: dict[str, _Place] = {}
        for array in arrays:
            if array.ndim == 1:
                places[array.name] = _Place(array, 0)
                continue
            is_turned = array.shape[0] != longest and array.shape[1] == longest
            array = replace(array, is_turned=is_turned)
            places |= {f"{array.name}{k + 1}": _Place(array, k) for k in range(min(array.channels, MAX_COLUMNS))}
        return places

    def _rows(self, array: _Array) -> int:
        """Samples that are read at once: channels that are not wanted stand between those that are."""
        sample = array.channels * array.dtype.itemsize
        if sample > BLOCK_BYTES:
            raise self.fail(f"the array '{array.name}' has {array.channels} channels, too many for a log")
        return max(1, BLOCK_BYTES // max(sample, 1))

    def _arrays(self) -> list[_Array]:
        """The matrices and vectors of numbers in the archive, as their heads describe them."""
        if not zipfile.is_zipfile(self.path):
            raise self.fail("the file is not a NumPy archive (.npz), or it is cut short")
        try:
            with zipfile.ZipFile(self.path) as archive:
                members = [name for name in archive.namelist() if name.endswith(".npy")]
                found = [_head(archive, name) for name in members[:MAX_COLUMNS]]
        except Exception:  # as above
            raise self._broken() from None
        return [array for array in found if array is not None]

    def _broken(self) -> RecordingError:
        return self.fail("the NumPy archive is damaged and cannot be read")


@dataclass(frozen=True)
class _Array:
    """One array of an archive: a vector, or samples by channels; is_turned: channels by samples."""

    name: str
    member: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    offset: int  # bytes of the head
    is_turned: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def samples(self) -> int:
        return self.shape[1] if self.is_turned else self.shape[0]

    @property
    def channels(self) -> int:
        return 1 if self.ndim == 1 else self.shape[0] if self.is_turned else self.shape[1]


@dataclass(frozen=True)
class _Place:
    array: _Array
    column: int


def _head(archive: zipfile.ZipFile, member: str) -> _Array | None:
    """What the head of an array says, None where it holds no vector or matrix of numbers."""
    with archive.open(member) as file:
        _check_head(file.read(MAGIC))
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
        offset = file.tell()
    if dtype.hasobject or dtype.kind not in "fiub" or not 1 <= len(shape) <= 2:
        return None
    if len(shape) == 2 and 1 in shape:
        shape, is_fortran = (shape[0] * shape[1],), False
    return _Array(member.removesuffix(".npy"), member, shape, dtype, is_fortran, offset)


def _check_head(start: bytes) -> None:
    """Refuse a head that would be read into memory whole though no array needs one of that size."""
    wide = len(start) == MAGIC and start[6] > 1
    if int.from_bytes(start[8 : 12 if wide else 10], "little") > MAX_HEAD:
        raise ValueError("the head of an array is too long")


def _reader(
    archive: zipfile.ZipFile, array: _Array, columns: Sequence[int], stack: ExitStack
) -> Callable[[int], dict[int, Array]]:
    """A function that reads the next samples of some columns."""
    item = array.dtype.itemsize
    is_together = array.ndim == 1 or array.is_fortran == array.is_turned
    together = array.channels if is_together else 1
    files = {}
    for k in (0,) if is_together else columns:  # channels that stand one behind the other are read side by side
        files[k] = stack.enter_context(archive.open(array.member))
        files[k].seek(array.offset + k * array.samples * item)

    def read(samples: int) -> dict[int, Array]:
        parts = {
            k: np.frombuffer(_exactly(file, samples * together * item), array.dtype).reshape(samples, together)
            for k, file in files.items()
        }
        return {k: (parts[0][:, k] if is_together else parts[k][:, 0]).astype(float) for k in columns}

    return read


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError("an array ends before its last sample")
    return data


class MatLog(ArrayLog):
    """A MATLAB file: arrays, and arrays inside structs by dotted names (run.q)."""

    def load(self) -> dict[str, Array]:
        """The numeric arrays of the file by name."""
        from scipy.io import loadmat  # here: 0.1 s that only MATLAB files need

        try:
            self._check_size(check_matlab(self._bytes(), room()))
            content = loadmat(str(self.path), squeeze_me=True, struct_as_record=False)
        except NotImplementedError:  # SciPy's word for version 7.3, which is HDF5
            return self._hdf5()
        except MinertiaError:
            raise
        except Exception as err:  # whatever a broken file makes the reader raise
            raise self.fail(f"the file cannot be read as a MATLAB file ({str(err)[:160]})") from None
        arrays: dict[str, Array] = {}
        for name, value in content.items():
            if not name.startswith("__"):
                _collect(arrays, name, value, 0)
        return arrays

    def _bytes(self) -> bytes:
        self._check_size(self.path.stat().st_size)
        return self.path.read_bytes()

    def _check_size(self, size: int) -> None:
        if size > room():
            raise self.fail(too_large("the file is read at once, and its numbers take at least", size))

    def _hdf5(self) -> dict[str, Array]:
        h5py = load("h5py", "mat73")
        arrays: dict[str, Array] = {}
        size, total = self.path.stat().st_size, 0

        def visit(name: str, item: Any) -> None:
            nonlocal total
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu" and not item.external:
                total += item.nbytes
                if item.nbytes > MOST_PACKED * size:
                    raise OSError("it claims more numbers than it can hold")
                self._check_size(total)
                arrays[name.replace("/", ".")] = item[()].T  # MATLAB stores columns first

        try:
            with h5py.File(self.path, "r") as file:
                file.visititems(visit)
        except MinertiaError:
            raise
        except Exception as err:  # whatever a broken file makes the reader raise
            raise self.fail(f"the file cannot be read as a MATLAB 7.3 file ({str(err)[:160]})") from None
        return arrays


def _collect(arrays: dict[str, Array], name: str, value: Any, depth: int) -> None:
    fields = getattr(value, "_fieldnames", None)
    if fields is not None and depth < MAX_DEPTH:
        for field in fields:
            _collect(arrays, f"{name}.{field}", getattr(value, field), depth + 1)
        return
    array = _array(value)
    if array is not None:
        arrays[name] = array


def _array(value: Any) -> Array | None:
    array = np.asarray(value) if isinstance(value, (np.ndarray, np.number)) else None
    return array if array is not None and array.dtype.kind in "fiub" else None


__all__ = ["MatLog", "NpzLog", "ParquetLog"]
