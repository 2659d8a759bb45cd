"""Logs as arrays: Parquet, NPZ and MATLAB files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from minertia.extras import load
from minertia.identification.logs.file import ArrayLog, Block, LogFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MAX_DEPTH = 4  # of structs inside structs in a MATLAB file
MAX_LIST = 200  # numbers in one cell of a Parquet column


class ParquetLog(LogFile):
    """A Parquet table; a column of lists of numbers becomes one column for each place: state1, state2 ..."""

    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.unique(list(self._places()))

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """The wanted columns in blocks of rows."""
        arrow = load("pyarrow", "logs")
        places = {name: place for name, place in self._places().items() if name in wanted}
        row = 1
        try:
            file, own = self._file(), sorted({c for c, _ in places.values()})
            for groups in _row_groups(file, rows):
                for batch in file.iter_batches(batch_size=rows, columns=own, row_groups=groups):
                    columns = {name: self._column(batch.column(c), name, k) for name, (c, k) in places.items()}
                    yield Block(columns, row)
                    row += batch.num_rows
        except (arrow.ArrowException, OSError) as err:
            raise self.fail(f"the file cannot be read as Parquet ({str(err).splitlines()[0][:160]})") from None

    def _file(self) -> Any:
        arrow, parquet = load("pyarrow", "logs"), load("pyarrow.parquet", "logs")
        try:
            return parquet.ParquetFile(str(self.path))
        except (arrow.ArrowException, OSError) as err:
            raise self.fail(f"the file cannot be read as Parquet ({str(err).splitlines()[0][:160]})") from None

    def _places(self) -> dict[str, tuple[str, int | None]]:
        """Name -> Parquet column and place in its lists."""
        arrow, file = load("pyarrow", "logs"), self._file()
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
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                if not isinstance(archive, np.lib.npyio.NpzFile):
                    raise ValueError("it is a single array")
                return {name: a for name in archive.files if (a := _array(archive[name])) is not None}
        except Exception as err:  # whatever a broken archive makes the zip and array readers raise
            raise self.fail(f"the file cannot be read as NPZ ({str(err)[:160]})") from None


class MatLog(ArrayLog):
    """A MATLAB file: arrays, and arrays inside structs by dotted names (run.q)."""

    def load(self) -> dict[str, Array]:
        """The numeric arrays of the file by name."""
        from scipy.io import loadmat  # here: 0.1 s that only MATLAB files need

        try:
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

        def visit(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu":
                arrays[name.replace("/", ".")] = np.asarray(item[()], dtype=float).T  # MATLAB stores columns first

        try:
            with h5py.File(self.path, "r") as file:
                file.visititems(visit)
        except OSError as err:
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
