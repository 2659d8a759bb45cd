"""Small files that stand for a great deal, of every format of logs; run as a program it reads them, one by one.

`python -m tests.fuzz.bombs FOLDER` reads those of a folder, and says how many MB each took, and what was said.
"""

from __future__ import annotations

import io
import json
import sqlite3
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

MB = 1_000_000
UNPACKED = 200 * MB  # bytes of each bomb
SAMPLES = UNPACKED // 8 // 7
NAMES = ("t", "q1", "q2", "dq1", "dq2", "tau1", "tau2")
HEAD = ",".join(NAMES).encode() + b"\n"
MAGIC = b"\x89MCAP0\r\n"


def repeated(piece: bytes, size: int = UNPACKED) -> Iterator[bytes]:
    block = piece * max(1, MB // len(piece))
    return (block for _ in range(size // len(block)))


def gzipped(chunks: Iterable[bytes]) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(chunk) for chunk in chunks), packer.flush()])


def archive(**shapes: tuple[tuple[int, ...], bool]) -> bytes:
    """A NumPy archive of zeros: shape and order of each array."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, (shape, fortran) in shapes.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                head = {"descr": "<f8", "fortran_order": fortran, "shape": shape}
                np.lib.format.write_array_header_1_0(member, head)
                for chunk in repeated(bytes(MB), 8 * int(np.prod(shape))):
                    member.write(chunk)
                member.write(bytes(8 * int(np.prod(shape)) % MB))
    return out.getvalue()


def long_head() -> bytes:
    """An archive with one array whose description alone takes all."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file, file.open("q.npy", "w") as member:
        member.write(b"\x93NUMPY\x02\x00" + struct.pack("<I", UNPACKED))
        for chunk in repeated(b" " * MB):
            member.write(chunk)
    return out.getvalue()


def parquet() -> bytes:
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    part = pyarrow.table({name: np.zeros(500_000) for name in NAMES})
    with pyarrow.parquet.ParquetWriter(out, part.schema, compression="zstd") as writer:
        for _ in range(SAMPLES // 500_000):
            writer.write_table(part)
    return out.getvalue()


def matlab(kind: str) -> bytes:
    from scipy.io import savemat

    out = io.BytesIO()
    n = SAMPLES * (8 if kind == "i1" else 1)
    arrays = {"t": np.zeros(n, kind), "q": np.zeros((n, 2), kind), "tau": np.zeros((n, 2), kind)}
    savemat(out, arrays, do_compression=True)
    return out.getvalue()


def matlab73() -> bytes:
    import h5py

    out = io.BytesIO()
    with h5py.File(out, "w", userblock_size=512) as file:
        for name in ("t", "q", "tau"):
            data = file.create_dataset(
                name, (2, SAMPLES), "f8", compression="gzip", compression_opts=1, chunks=(2, 500_000)
            )
            for first in range(0, SAMPLES, 500_000):
                data[:, first : first + 500_000] = 0.0
    content = bytearray(out.getvalue())
    content[:128] = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    return bytes(content)


def mcap(compression: str) -> bytes:
    """One chunk, which says the truth about its size."""

    def record(code: int, content: bytes) -> bytes:
        return bytes([code]) + struct.pack("<Q", len(content)) + content

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode()

    packed = _packed(compression)
    chunk = struct.pack("<QQQI", 0, 1, UNPACKED, 0) + text(compression) + struct.pack("<Q", len(packed)) + packed
    parts = [MAGIC, record(1, text("ros2") + text("")), record(6, chunk), record(2, bytes(20)), MAGIC]
    return b"".join(parts)


def _packed(compression: str) -> bytes:
    from rosbags.rosbag2 import storage_mcap

    if compression == "zstd":
        return bytes(storage_mcap.zstd.compress(bytes(UNPACKED)))
    import lz4.frame

    return bytes(lz4.frame.compress(bytes(UNPACKED)))


TABLES = """
CREATE TABLE schema(schema_version INTEGER, ros_distro TEXT);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT,
    offered_qos_profiles TEXT, type_description_hash TEXT);
INSERT INTO schema VALUES(4, 'humble');
INSERT INTO topics VALUES(1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr', '', '');
"""
ENDLESS = """CREATE VIEW messages AS WITH RECURSIVE k(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM k)
    SELECT id, 1 AS topic_id, id AS timestamp, zeroblob(100) AS data FROM k;"""
COMPUTED = f"""CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER,
    data BLOB GENERATED ALWAYS AS (zeroblob({UNPACKED})) VIRTUAL);
INSERT INTO messages(id, topic_id, timestamp) VALUES(1, 1, 1);"""


def database(path: Path, messages: str) -> bytes:
    connection = sqlite3.connect(path)
    connection.executescript(TABLES + messages)
    connection.commit()
    connection.close()
    return path.read_bytes()


def bombs(folder: Path) -> dict[str, Callable[[], bytes]]:
    """Name of the file -> its content."""
    n = SAMPLES
    work = folder / "work.db"
    return {
        "rows.csv.gz": lambda: gzipped([HEAD, *repeated(b"0,0,0,0,0,0,0\n")]),
        "spaces.txt": lambda: HEAD.replace(b",", b" ") + b"0 0 0 0 0 0 0\n" * (20 * MB // 14),
        "cells.csv.gz": lambda: gzipped([HEAD, *repeated(b"0,")]),
        "word.csv.gz": lambda: gzipped([HEAD, *repeated(b"0")]),
        "zeros.npz": lambda: archive(t=((n,), False), q=((n, 2), False), tau=((n, 2), False)),
        "columns.npz": lambda: archive(t=((n,), False), q=((n, 2), True), tau=((n, 2), True)),
        "head.npz": long_head,
        "zeros.parquet": parquet,
        "zeros.mat": lambda: matlab("f8"),
        "bytes.mat": lambda: matlab("i1"),
        "hdf5.mat": matlab73,
        "zstd.mcap": lambda: mcap("zstd"),
        "lz4.mcap": lambda: mcap("lz4"),
        "endless.db3": lambda: database(work, ENDLESS),
        "computed.db3": lambda: database(work.with_name("other.db"), COMPUTED),
    }


def memory(name: str) -> float:
    """What Linux says about the memory of this process [MB]: VmHWM is the most it had, VmRSS what it has."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1e3 for line in lines if line.startswith(name))


def _read(path: Path, robot: Any) -> str:
    from minertia.identification.logs.readers import read_recording
    from minertia.io.errors import MinertiaError

    try:
        return f"read {len(read_recording(path, robot))} samples"
    except MinertiaError as err:
        return str(err)


def main(folder: Path) -> None:
    """Read the files of a folder; what reading each of them took is a line of JSON."""
    from tests.identification.logs import chain

    robot = chain("RR")
    for name in (name for name in bombs(folder) if (folder / name).exists()):
        small = folder / f"small-{name}"  # so that what a format loads is there before
        if small.exists():
            _read(small, robot)
        Path("/proc/self/clear_refs").write_text("5")  # the most counts from here
        before = memory("VmRSS")
        said = _read(folder / name, robot)
        print(json.dumps({"name": name, "taken": memory("VmHWM") - before, "said": said}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
