"""Logs as arrays: Parquet, NPZ and MATLAB files."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from minertia.errors import MinertiaError
from minertia.extras import load
from minertia.identification.logs.file import ArrayLog, Block, LogFile
from minertia.identification.logs.matlab_file import check_matlab

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MAX_DEPTH = 4  # of structs inside structs in a MATLAB file
MAX_LIST = 200  # numbers in one cell of a Parquet column
MOST_PACKED = 1100  # bytes that one byte of a compressed file can stand for


class ParquetLog(LogFile):
    """A Parquet table; a column of lists of numbers becomes one column for each place: state1, state2 ..."""

    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        with self._file() as file:
            return self.unique(list(self._places(file)))

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """The wanted columns in blocks of rows."""
        row = 1
        with self._file() as file:
            places = {name: place for name, place in self._places(file).items() if name in wanted}
            own = sorted({c for c, _ in places.values()})
            for groups in _row_groups(file, rows):
                for batch in file.iter_batches(batch_size=rows, columns=own, row_groups=groups):
                    columns = {name: self._column(batch.column(c), name, k) for name, (c, k) in places.items()}
                    yield Block(columns, row)
                    row += batch.num_rows

    @contextmanager
    def _file(self) -> Iterator[Any]:
        """The file, open; whatever Arrow says about it becomes one sentence."""
        parquet = load("pyarrow.parquet", "logs")
        try:
            with parquet.ParquetFile(str(self.path)) as file:
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
        first = None
        for field in file.schema_arrow:
            if arrow.types.is_list(field.type) or arrow.types.is_fixed_size_list(field.type):
                if first is None:
                    first = next(iter(file.iter_batches(batch_size=1)), None)
                if first is not None and first.num_rows:
                    value = first.column(field.name)[0].as_py() or []
                    places |= {f"{field.name}{k + 1}": (field.name, k) for k in range(min(len(value), MAX_LIST))}
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


class NpzLog(ArrayLog):
    """A NumPy archive; objects in it are never unpickled."""

    def load(self) -> dict[str, Array]:
        """The numeric arrays of the file by name."""
        if not zipfile.is_zipfile(self.path):
            raise self.fail("the file is not a NumPy archive (.npz), or it is cut short")
        try:
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                return {name: a for name in archive.files if (a := _array(_member(archive, name))) is not None}
        except Exception:  # whatever a broken archive makes the zip and array readers raise
            raise self.fail("the NumPy archive is damaged and cannot be read") from None


def _member(archive: Any, name: str) -> Any:
    """An array of an archive, None where it holds objects instead of numbers."""
    with archive.zip.open(name if name in archive.zip.namelist() else f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        is_object = read_header(file)[2].hasobject
    return None if is_object else archive[name]


class MatLog(ArrayLog):
    """A MATLAB file: arrays, and arrays inside structs by dotted names (run.q)."""

    def load(self) -> dict[str, Array]:
        """The numeric arrays of the file by name."""
        from scipy.io import loadmat  # here: 0.1 s that only MATLAB files need

        try:
            check_matlab(self.path.read_bytes())
            content = loadmat(str(self.path), squeeze_me=True, struct_as_record=False)
        except NotImplementedError:
            return self._hdf5()
        except Exception as err:  # whatever a broken file makes the reader raise
            raise self.fail(f"the file cannot be read as a MATLAB file ({str(err)[:160]})") from None
        arrays: dict[str, Array] = {}
        for name, value in content.items():
            if not name.startswith("__"):
                _collect(arrays, name, value, 0)
        return arrays

    def _hdf5(self) -> dict[str, Array]:
        h5py = load("h5py", "mat73")
        arrays: dict[str, Array] = {}
        size = self.path.stat().st_size

        def visit(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu":
                if item.nbytes > MOST_PACKED * size:
                    raise OSError("it claims more numbers than it can hold")
                arrays[name.replace("/", ".")] = np.asarray(item[()], dtype=float).T  # MATLAB stores columns first

        try:
            with h5py.File(self.path, "r") as file:
                file.visititems(visit)
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
    return array.astype(float) if array is not None and array.dtype.kind in "fiub" else None


__all__ = ["MatLog", "NpzLog", "ParquetLog"]
