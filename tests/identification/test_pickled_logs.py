"""Logs in `.pt` and `.npy` files: numbers come out, code never runs."""

from __future__ import annotations

import collections
import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.pickled import PickleError, named_arrays, unpickled
from minertia.identification.logs.readers import column_names, read_recording
from minertia.io.errors import RecordingError

T = np.arange(50) / 100
Q = np.column_stack([np.sin(3 * T), np.cos(2 * T)])
U = Q + 0.01
FIELDS = {"time": T, "dof_pos": Q.astype(np.float32), "des_dof_pos": U.astype(np.float32)}


class _TorchPickler(pickle._Pickler):  # the one in Python, whose words can be chosen
    """Writes tensors as torch.save does: a call of _rebuild_tensor_v2 on numbers that stand elsewhere."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=2)
        self.storages: dict[str, bytes] = {}

    def save(self, obj, save_persistent_id=True):  # type: ignore[no-untyped-def]
        if not isinstance(obj, np.ndarray):
            return super().save(obj, save_persistent_id)
        kind = {"f4": "FloatStorage", "f8": "DoubleStorage", "i8": "LongStorage"}[obj.dtype.str[1:]]
        key = str(len(self.storages))
        self.storages[key] = np.ascontiguousarray(obj).tobytes()
        self.write(b"ctorch._utils\n_rebuild_tensor_v2\n(")
        self.write(b"(")
        super().save("storage")
        self.write(b"ctorch\n" + kind.encode() + b"\n")
        for part in (key, "cpu", obj.size):
            super().save(part)
        self.write(b"tQ")
        strides = tuple(s // obj.itemsize for s in np.ascontiguousarray(obj).strides)
        for part in (0, obj.shape, strides, False, collections.OrderedDict()):
            super().save(part)
        self.write(b"tR")
        return None


def saved(path: Path, data: object, *, order: bytes = b"little", cut: int = 0) -> Path:
    """A file of torch.save, made without torch."""
    file = io.BytesIO()
    pickler = _TorchPickler(file)
    pickler.dump(data)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("log/data.pkl", file.getvalue())
        archive.writestr("log/byteorder", order)
        for key, numbers in pickler.storages.items():
            archive.writestr(f"log/data/{key}", numbers[: len(numbers) - cut])
    return path


def test_a_file_of_pytorch(tmp_path):
    path = saved(tmp_path / "log.pt", {**FIELDS, "note": "hello", "more": {"gain": np.arange(50.0)}})
    assert set(column_names(path)) == {"time", "dof_pos1", "dof_pos2", "des_dof_pos1", "des_dof_pos2", "more.gain"}
    log = read_recording(path, read_robot("planar2r"), ColumnMap(t="time"), effort=False)
    np.testing.assert_allclose(log.q, Q, atol=1e-6)
    np.testing.assert_allclose(log.t, T)


def test_pytorch_itself_wrote_the_same(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({name: torch.tensor(values) for name, values in FIELDS.items()}, tmp_path / "log.pt")
    log = read_recording(tmp_path / "log.pt", read_robot("planar2r"), ColumnMap(t="time"), effort=False)
    np.testing.assert_allclose(log.q, Q, atol=1e-6)


def test_big_endian_numbers(tmp_path):
    data = {"time": T, "q": Q}
    path = saved(tmp_path / "log.pt", {k: v.byteswap() for k, v in data.items()}, order=b"big")
    np.testing.assert_allclose(read_recording(path, read_robot("planar2r"), effort=False).q, Q)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_dictionary_that_numpy_saved(tmp_path, protocol):
    array = np.array({"time": T, "q": Q, "rate": np.float64(3), "name": "x", "list": T.tolist()}, dtype=object)
    with open(tmp_path / "log.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": ()})
        pickle.dump(array, file, protocol=protocol)
    log = read_recording(tmp_path / "log.npy", read_robot("planar2r"), effort=False)
    np.testing.assert_allclose(log.q, Q)


def test_as_numpy_saves_it(tmp_path):
    np.save(tmp_path / "log.npy", {"time": T, "q": np.asfortranarray(Q)}, allow_pickle=True)
    np.testing.assert_allclose(read_recording(tmp_path / "log.npy", read_robot("planar2r"), effort=False).q, Q)


def test_tables_and_matrices_of_numpy(tmp_path):
    table = np.zeros(50, dtype=[("t", "f8"), ("q1", ">f4"), ("q2", "f8"), ("what", "U3")])
    table["t"], table["q1"], table["q2"] = T, Q[:, 0], Q[:, 1]
    np.save(tmp_path / "log.npy", table)
    np.testing.assert_allclose(
        read_recording(tmp_path / "log.npy", read_robot("planar2r"), effort=False).q, Q, atol=1e-6
    )
    np.save(tmp_path / "plain.npy", Q)
    assert column_names(tmp_path / "plain.npy") == ("data1", "data2")


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil-was-here",)


class Sneaky:
    def __reduce__(self):
        return eval, ("__import__('os')",)


@pytest.mark.parametrize("what", [Evil(), {"a": Evil(), **FIELDS}, Sneaky(), {"q": Path("x")}, {1: {2: Sneaky()}}])
@pytest.mark.parametrize("kind", ["pt", "npy"])
def test_code_is_never_run(tmp_path, monkeypatch, what, kind):
    monkeypatch.chdir(tmp_path)
    if kind == "pt":
        path = saved(tmp_path / "log.pt", what)
    else:
        path = tmp_path / "log.npy"
        np.save(path, np.array(what, dtype=object), allow_pickle=True)
    with pytest.raises(RecordingError, match=r"requests the import of '(posix|nt|_*builtins?_*|pathlib)[\w.]*', which"):
        column_names(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "broken"), (b"\x80\x04", "broken|no end"), (b"0.", "broken|opcode POP"), (b"garbage", "broken|word"),
        (b"\x80\x02]q\x00(K\x01K\x02u.", "not a dictionary"), (b"N.", None), (b"(K\x01K\x02t.", None),
        (b"\x80\x02ccollections\nOrderedDict\nK\x01R.", "calls an object that is not a name"), (b"t.", "broken"),
        (b"\x80\x02cnumpy\ndtype\n(X\x02\x00\x00\x00O8tR.", None), (b"h\x07.", "broken"), (b"\x85.", "broken"),
        (b"\x80\x02(U\x07storagectorch\nBFloat16Storage\nU\x010U\x03cpuK\x05tQ.", "requests the import of"),
    ],
)  # fmt: skip
def test_broken_pickles_are_sentences(data, said):
    if said is None:
        named_arrays(unpickled(data))
    else:
        with pytest.raises(PickleError, match=said):
            unpickled(data)


def test_tables_inside_tables_without_end():
    table = b"}q\x01(" + b"".join(b"K%ch\x00" % k for k in range(40)) + b"uq\x00"
    with pytest.raises(PickleError, match="nested too deeply"):
        named_arrays(unpickled(b"\x80\x02}q\x00" + 30 * table + b"."))


HEAD = (  # of a tensor of so many numbers
    b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
    b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK%ctQ"
)


def test_a_text_is_not_made_into_bytes_again_and_again(monkeypatch):
    monkeypatch.setattr("minertia.identification.logs.pickled.MOST_BYTES", 50_000)
    text = b"X\x10\x27\x00\x00" + b"a" * 10_000 + b"q\x00"  # ten thousand letters, remembered
    once = b"c_codecs\nencode\nh\x00\x85R"
    assert unpickled(b"\x80\x02" + text + 4 * once + b".") == b"a" * 10_000
    with pytest.raises(PickleError, match="expands to more than"):
        unpickled(b"\x80\x02" + text + 6 * once + b".")


def test_a_tensor_that_reaches_beyond_its_numbers(tmp_path):
    with pytest.raises(RecordingError, match="fewer numbers than it declares"):
        column_names(saved(tmp_path / "log.pt", FIELDS, cut=8))
    for offset, size, step in ((1, 5, 1), (0, 6, 1), (0, 3, 3), (0, 2, 5)):
        tail = b"K%c" % offset + b"K%c\x85" % size + b"K%c\x85" % step + b"\x89NtR."
        with pytest.raises(PickleError, match="reaches beyond"):
            unpickled(HEAD % 5 + tail)


def test_a_stride_of_nothing_makes_no_gigabytes(tmp_path, monkeypatch):
    monkeypatch.setenv("MINERTIA_MEMORY", "10MB")
    with zipfile.ZipFile(tmp_path / "log.pt", "w") as archive:
        archive.writestr("log/data.pkl", HEAD % 1 + b"K\x00J\xff\xff\xff\x7f\x85K\x00\x85\x89NtR.")
        archive.writestr("log/data/0", b"\0" * 4)
    with pytest.raises(RecordingError, match="MINERTIA_MEMORY"):
        column_names(tmp_path / "log.pt")


def test_a_packed_bomb(tmp_path, monkeypatch):
    monkeypatch.setenv("MINERTIA_MEMORY", "10MB")
    data = {"q": np.zeros(4)}
    saved(tmp_path / "log.pt", data)
    with (
        zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as bomb,
        zipfile.ZipFile(tmp_path / "log.pt") as log,
    ):
        bomb.writestr("log/data.pkl", log.read("log/data.pkl"))
        bomb.writestr("log/data/0", b"\0" * 20_000_000)
    with pytest.raises(RecordingError, match="MINERTIA_MEMORY"):
        column_names(tmp_path / "bomb.pt")


def test_other_files_are_sentences(tmp_path):
    for name, data in (
        ("a.pt", b"\x80\x02old"),
        ("b.npy", b"nonsense"),
        ("c.npy", b""),
        ("d.pt", b"PK\x05\x06" + b"\0" * 18),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(RecordingError, match="PyTorch|NumPy"):
            column_names(tmp_path / name)


@pytest.mark.parametrize("kind", ["pt", "npy"])
def test_damaged_files_are_sentences(tmp_path, kind):
    """Bytes turned, cut and doubled at random: a log, or one sentence."""
    path = tmp_path / f"log.{kind}"
    if kind == "pt":
        saved(path, {**FIELDS, "n": [1, 2.5, None]})
    else:
        np.save(path, {"time": T[:5], "q": Q[:5]}, allow_pickle=True)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    robot = read_robot("planar2r")
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(int(rng.integers(1, 6))):
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
        path.write_bytes(bytes(data[: int(rng.integers(1, len(data)))] if rng.random() < 0.3 else data))
        try:
            read_recording(path, robot, effort=False)
        except RecordingError as err:
            assert "\n" not in str(err)
