"""Logs in MATLAB files, of version 5 and of 7.3 (HDF5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minertia.identification.logs.file import ArrayLog
from minertia.identification.logs.matlab_file import check_matlab
from minertia.io.errors import MinertiaError
from minertia.io.extras import load
from minertia.io.resources import room, too_large

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MAX_DEPTH = 4  # of structs inside structs
MOST_PACKED = 1100  # bytes that one byte of a compressed file can stand for


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
