"""Arrays that PyTorch or NumPy saved with a pickle: `.pt` and `.npy`, read without executing the pickle."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.logs.file import ArrayLog
from minertia.identification.logs.pickled import (
    MOST_BYTES,
    NUMBERS,
    PickleError,
    Storage,
    Tensor,
    named_arrays,
    unpickled,
)
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.resources import room, too_large

PICKLE, ORDER = "data.pkl", "byteorder"
MOST_MEMBERS = 100_000
OLD = "this is not a file of torch.save since PyTorch 1.6; load it with PyTorch and save it again"
MAX_HEAD = 10_000  # bytes of the description before an array


class TorchLog(ArrayLog):
    """File of `torch.save`: a dictionary of tensors, arrays and numbers."""

    def load(self) -> dict[str, Array]:
        """Numeric arrays of the file by name."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                return self._loaded(archive)
        except MinertiaError:
            raise
        except PickleError as err:
            raise self.fail(f"{err}") from None
        except zipfile.BadZipFile:
            raise self.fail(OLD) from None
        except Exception as err:  # whatever a broken archive makes the zip reader raise
            raise self.fail(f"the file cannot be read as a PyTorch file ({str(err)[:120]})") from None

    def _loaded(self, archive: zipfile.ZipFile) -> dict[str, Array]:
        names = archive.namelist()
        pickles = [name for name in names if name == PICKLE or name.endswith(f"/{PICKLE}")]
        if len(pickles) != 1 or len(names) > MOST_MEMBERS:
            raise self.fail(OLD)
        folder = pickles[0].removesuffix(PICKLE)
        order = _member(archive, folder + ORDER, MAX_HEAD) if folder + ORDER in names else b"little"
        left = room()
        read: dict[str, bytes] = {}

        def numbers(storage: Storage) -> Any:
            nonlocal left
            dtype = np.dtype(storage.kind).newbyteorder(">" if order.strip() == b"big" else "<")
            if storage.key not in read:
                name = f"{folder}data/{storage.key}"
                left -= archive.getinfo(name).file_size
                if left < 0:
                    raise self.fail(too_large("uncompressed its numbers take more than", room()))
                read[storage.key] = _member(archive, name, room())
            values = np.frombuffer(read[storage.key][: storage.count * dtype.itemsize], dtype)
            if len(values) != storage.count:
                raise PickleError("a tensor has fewer numbers than it declares")
            return values

        def filled(tensor: Tensor) -> NDArray[Any]:
            nonlocal left
            left -= 8 * int(np.prod(tensor.shape, dtype=float))  # strides of 0 make many numbers of one
            if left < 0:
                raise self.fail(too_large("its numbers take more than", room()))
            own = numbers(tensor.storage)[tensor.offset :]
            steps = [step * own.itemsize for step in tensor.strides]
            return np.array(np.lib.stride_tricks.as_strided(own, tensor.shape, steps, writeable=False))

        return named_arrays(unpickled(_member(archive, pickles[0], MOST_BYTES)), filled)


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Unpack a member of an archive, limited to a number of bytes."""
    with archive.open(name) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise PickleError(f"'{name[-40:]}' in it is larger than {most / 1e6:g} MB")
    return data


class NpyLog(ArrayLog):
    """File of `numpy.save`: a table with named fields, a matrix, or a dictionary of arrays."""

    def load(self) -> dict[str, Array]:
        """Numeric arrays of the file by name."""
        size = self.path.stat().st_size
        if size > room():
            raise self.fail(too_large("the file is read at once, and its numbers take at least", size))
        try:
            with open(self.path, "rb") as file:
                return self._loaded(file)
        except MinertiaError:
            raise
        except PickleError as err:
            raise self.fail(f"{err}") from None
        except Exception as err:  # whatever a broken head makes NumPy raise
            raise self.fail(f"the file cannot be read as a NumPy array ({str(err)[:120]})") from None

    def _loaded(self, file: Any) -> dict[str, Array]:
        version = np.lib.format.read_magic(file)
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = head(file, max_header_size=MAX_HEAD)
        data = file.read()
        if dtype.hasobject:
            return named_arrays(unpickled(data))
        count = int(np.prod(shape, dtype=float))
        if count * dtype.itemsize != len(data):
            raise self.fail("the file is truncated, or longer than its header declares")
        values = np.frombuffer(data, dtype).reshape(shape, order="F" if is_fortran else "C")
        if dtype.names is None:
            return {"data": values} if dtype.kind in NUMBERS else {}
        return {name: values[name] for name in dtype.names if values[name].dtype.kind in NUMBERS}
