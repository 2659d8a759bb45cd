"""`EvidenceRecord`: stored statistics of one log, and the bytes of its Parquet file.

The bytes depend only on the log, the robot type and the floating-point environment: not on where the log is located,
when it is read, by whom, nor in which order.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from minertia.codegen.kernels import build
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence, Stretches
from minertia.fleet.gather import POSITION_BINS, TEMPERATURE_BINS, Gathered
from minertia.fleet.robot_type import RECORD_VERSION, RobotType
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.extras import load
from minertia.version import __version__

EPOCH = 946_684_800.0  # s: stamps before the year 2000 are of a clock that does not know the day
LATEST = 4_102_444_800.0  # s: nor does one that shows a year after 2100
UNEXPLAINED = 0.5  # part of an effort (rms) that no column explains: then the robot, the units or the joints are others
# Parquet type of each column of a record, "[x]" for a list; a record is a row
TYPES = {
    **{"version": "int32", "robot": "string", "robot_type": "string", "day": "string", "content": "string"},
    **{"length": "int64", "key": "string", "kinematics": "string", "columns": "string", "filter": "string"},
    **{"units": "string", "kernels": "string", "arithmetic": "string", "minertia": "string"},
    **{"clock": "string", "first": "float64", "last": "float64", "samples": "int64"},
    **{"rows": "[float64]", "R": "[float64]", "stretch_samples": "[float64]", "scores": "[float32]"},
    **{"diagonals": "[float32]", "correlation": "[float64]", "rest": "[float64]", "unexplained": "[float64]"},
    **{"stretch_R": "[float32]", "stretch_R_samples": "[float64]"},
    **{"positions": "[int32]", "speeds": "[int32]", "temperatures": "[int32]", "temperature": "[float64]"},
    **{"reach": "[float64]", "largest": "[float32]", "programs": "[int64]", "program_samples": "[int64]"},
    **{"load": "[float64]", "remarks": "[string]"},
}
SPLIT = ("R", "scores", "diagonals", "stretch_R")  # columns whose bytes are sorted by their weight: they pack better
DICTIONARIES = [
    "robot",
    "robot_type",
    "day",
    "key",
    "kinematics",
    "columns",
    "filter",
    "units",
    "kernels",
    "arithmetic",
]


@dataclass(frozen=True)
class EvidenceRecord:
    """Stored statistics of one log of one robot.

    day: date in the plant's calendar.  content: SHA-256 of the log, length: its size in bytes.  key: hash
    of the settings of the robot type, with its parts kinematics, columns, filter, units, kernels.  clock:
    "absolute" if stamps are seconds since 1970, else "relative".  first, last: first and last stamp [s].
    samples: number of logged samples.  unexplained: per effort, relative residual of the superset fit.
    positions, speeds (n, 33), temperatures (n, 16): histograms. temperature (n,): mean [degC], empty if not
    logged.  reach (3, n): lowest and highest position, highest speed. programs: {program number: samples}.
    load: mean, lowest and highest mass [kg], empty if not logged.
    """

    version: int
    robot: str
    robot_type: str
    day: str
    content: str
    length: int
    key: str
    kinematics: str
    columns: str
    filter: str
    units: str
    kernels: str
    arithmetic: str
    minertia: str
    clock: str
    first: float
    last: float
    samples: int
    evidence: FleetEvidence
    unexplained: Array
    positions: NDArray[np.int64]
    speeds: NDArray[np.int64]
    temperatures: NDArray[np.int64]
    temperature: Array
    reach: Array
    largest: Array
    programs: Mapping[int, int]
    load: Array
    remarks: tuple[str, ...]
    stretch_R: Array
    stretch_R_samples: Array

    def __repr__(self) -> str:
        return f"<EvidenceRecord of '{self.robot}' on {self.day}: {self.samples} samples, content {self.content[:8]}>"

    def row(self) -> dict[str, Any]:
        """The record as a row of a table."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("evidence", "programs")}
        found, stretches = self.evidence, self.evidence.stretches
        assert stretches is not None
        arrays = {
            "rows": found.samples,
            "R": found.packed(),
            "stretch_samples": stretches.counts,
            "scores": np.concatenate([s.ravel() for s in stretches.scores]),
            "diagonals": np.concatenate([g.ravel() for g in stretches.diagonals]),
            "correlation": stretches.correlation,
            "rest": stretches.rest,
            "programs": np.array(sorted(self.programs), np.int64),
            "program_samples": np.array([self.programs[k] for k in sorted(self.programs)], np.int64),
        }
        flat = {k: v.ravel() if isinstance(v, np.ndarray) else v for k, v in (plain | arrays).items()}
        return {name: list(flat[name]) if name == "remarks" else flat[name] for name in TYPES}

    def to_bytes(self) -> bytes:
        """Parquet bytes of this record alone."""
        return table_bytes(rows_table([self.row()]), rows=1)


def record_of(
    found: Gathered, type: RobotType, robot: str, *, content: str, length: int, key: str, day: str | None
) -> EvidenceRecord:
    """Make the record of a log that was read; day: date in its path, for clocks without a date."""
    told, n = found.told, type.robot.n
    clock = clock_of(found.span[0])
    warm = told.warm_sum / told.warm_samples if told.warm_samples else np.zeros(0)
    load_seen = [told.load[0] / told.load_samples, *told.load[1:]] if told.load_samples else []
    evidence, rest = found.evidence, found.evidence.stretches
    assert rest is not None
    effort = np.array([float(np.sum(R[:, -1] ** 2)) for R in evidence.triangles])
    unexplained = np.sqrt(rest.rest / np.maximum(effort, 1e-300))
    coarse = found.coarse
    packed = [] if coarse is None else [T[:, *np.triu_indices(T.shape[-1])].ravel() for T in coarse.triangles]
    return EvidenceRecord(
        version=RECORD_VERSION,
        robot=robot,
        robot_type=type.name,
        day=day_of(found.span[0], type.zone, day),
        content=content,
        length=length,
        key=key,
        **type.hashes,
        arithmetic=arithmetic(),
        minertia=__version__,
        clock=clock,
        first=found.span[0],
        last=found.span[1],
        samples=found.samples,
        evidence=evidence,
        unexplained=unexplained,
        positions=found.histograms.positions,
        speeds=found.histograms.speeds,
        temperatures=found.histograms.temperatures,
        temperature=np.asarray(warm, float).reshape(-1)[:n],
        reach=found.reach,
        largest=found.largest,
        programs=told.programs,
        load=np.array(load_seen, float),
        remarks=_remarks(found, unexplained, type),
        stretch_R=np.concatenate(packed) if packed else np.zeros(0),
        stretch_R_samples=np.zeros(0) if coarse is None else coarse.counts,
    )


def _remarks(found: Gathered, unexplained: Array, type: RobotType) -> tuple[str, ...]:
    """Notes on the log for users of the record."""
    told, joints = found.told, found.evidence.layout.efforts
    said = []
    if told.gaps:
        said.append(f"{told.gaps} gap{'s' * (told.gaps > 1)} in time: both sides of a gap were filtered separately")
    if told.repeated:
        said.append(f"{told.repeated} samples with a repeated or earlier time stamp were dropped")
    if told.resampled:
        said.append("non-uniform time stamps were resampled")
    if not told.warm_samples:
        said.append("no temperatures")
    bad = [joints[i] for i in np.flatnonzero(unexplained > UNEXPLAINED)]
    if bad:
        said.append(f"more than half of the effort is not explained: {', '.join(bad)}; check robot, units and signs")
    still = [joints[i] for i in np.flatnonzero(found.evidence.samples == 0)]
    if still:
        said.append(f"joints that never move: {', '.join(still)}")
    return tuple(said)


# ---------------------------------------------------------------------- days, arithmetic


def clock_of(stamp: float) -> str:
    """Whether stamps are "absolute" (with date) or "relative"."""
    return "absolute" if EPOCH <= stamp <= LATEST else "relative"


def day_of(stamp: float, zone: str, told: str | None) -> str:
    """Calendar day at the plant of a log's first stamp, or the date in its path for clocks without a date."""
    if clock_of(stamp) == "absolute":
        return datetime.fromtimestamp(stamp, UTC).astimezone(ZoneInfo(zone)).date().isoformat()
    if told is None:
        raise MinertiaError(
            f"the log starts at {stamp:.6g} s, which is not a time since 1970, and its path does not name the "
            "day; put it into a folder such as day=2026-03-31"
        )
    return told


@cache
def arithmetic() -> str:
    """Floating-point environment that determines the last bits: linear algebra, processor, NumPy, kernels."""
    found = sorted(
        {f"{p['internal_api']} {p['version']} {p.get('architecture', '')}".strip() for p in threadpool_info()
         if p["user_api"] == "blas"}
    )  # fmt: skip
    native = build.native()
    width = f"native {native.WIDTH}" if native else "no native module"
    features = getattr(np, "_core", None)
    simd = "+".join(getattr(features._multiarray_umath, "__cpu_features__", {}) and _simd()) if features else ""
    parts = [*found, f"numpy {np.__version__} {simd}".strip(), f"scipy {scipy.__version__}", width]
    return "; ".join([*parts, f"pyarrow {load('pyarrow', 'logs').__version__}"])


def _simd() -> list[str]:
    """Widest vector instructions that NumPy uses on this machine."""
    features: dict[str, bool] = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    return [name for name in ("AVX512_SKX", "AVX512F", "AVX2", "ASIMD") if features.get(name)][:1]


# ---------------------------------------------------------------------- tables


@cache
def schema() -> Any:
    """Arrow schema of records."""
    arrow = load("pyarrow", "logs")

    def kind(name: str) -> Any:
        own = TYPES[name].strip("[]")
        plain = arrow.string() if own == "string" else getattr(arrow, own)()
        is_list = TYPES[name].startswith("[")
        return arrow.list_(arrow.field("element", plain, nullable=False)) if is_list else plain

    # nothing is ever missing: lists of numbers that may be are read half as fast
    return arrow.schema([arrow.field(name, kind(name), nullable=False) for name in TYPES])


def rows_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Arrow table of record rows."""
    arrow = load("pyarrow", "logs")
    return arrow.table({name: arrow.array([row[name] for row in rows], schema().field(name).type) for name in TYPES},
                       schema=schema())  # fmt: skip


def table_bytes(table: Any, rows: int) -> bytes:
    """Reproducible Parquet bytes of a table, with `rows` per row group."""
    parquet = load("pyarrow.parquet", "logs")
    sink = io.BytesIO()
    names = [name for name in DICTIONARIES if len(table) > 1]
    split = [f"{name}.list.element" for name in SPLIT]
    parquet.write_table(
        table, sink, row_group_size=rows, compression="zstd", compression_level=3, use_dictionary=names,
        use_byte_stream_split=split, write_statistics=["robot", "day"] if len(table) > 1 else False,
        store_schema=False, version="2.6", data_page_version="1.0", write_page_checksum=True,
    )  # fmt: skip
    return sink.getvalue()


def records_of(table: Any, layout: EvidenceLayout) -> Iterable[EvidenceRecord]:
    """Records of a table whose rows have one layout."""
    for row in range(len(table)):
        yield _record({name: table.column(name)[row] for name in table.column_names}, layout)


def _record(cells: Mapping[str, Any], layout: EvidenceLayout) -> EvidenceRecord:
    def array(name: str, dtype: type = float) -> NDArray[Any]:
        return np.asarray(cells[name].values.to_numpy(zero_copy_only=False), dtype=dtype)

    single = {name: cells[name].as_py() for name in TYPES if not TYPES[name].startswith("[")}
    counts = array("stretch_samples")
    scores, diagonals = (_by_effort(array(name, np.float32), layout, len(counts)) for name in ("scores", "diagonals"))
    triangles = _stretch_triangles(array("stretch_R"), layout, len(cells["stretch_R_samples"].values))
    stretches = Stretches(scores, diagonals, counts, array("correlation"), array("rest"), triangles)
    programs = zip(array("programs", np.int64).tolist(), array("program_samples", np.int64).tolist(), strict=True)
    return EvidenceRecord(
        **single,
        evidence=FleetEvidence.unpacked(layout, array("R"), array("rows"), stretches),
        unexplained=array("unexplained"),
        positions=array("positions", np.int64).reshape(-1, POSITION_BINS),
        speeds=array("speeds", np.int64).reshape(-1, POSITION_BINS),
        temperatures=array("temperatures", np.int64).reshape(-1, TEMPERATURE_BINS),
        temperature=array("temperature"),
        reach=array("reach").reshape(3, -1),
        largest=array("largest"),
        programs=dict(programs),
        load=array("load"),
        remarks=tuple(cells["remarks"].as_py()),
        stretch_R=array("stretch_R"),
        stretch_R_samples=array("stretch_R_samples"),
    )


def _stretch_triangles(numbers: Array, layout: EvidenceLayout, stretches: int) -> tuple[Array, ...] | None:
    """Triangular factors (blocks, k, k) of each effort from packed ones; None if not stored."""
    if not stretches:
        return None
    found, done = [], 0
    for k in layout.sizes:
        R, size = np.zeros((stretches, k, k)), stretches * k * (k + 1) // 2
        R[:, *np.triu_indices(k)] = numbers[done : done + size].reshape(stretches, -1)
        found.append(R)
        done += size
    return tuple(found)


def _by_effort(numbers: NDArray[np.float32], layout: EvidenceLayout, stretches: int) -> tuple[NDArray[np.float32], ...]:
    """Values (blocks, columns) of each effort from a flat array."""
    found, done = [], 0
    for own in layout.seen:
        size = stretches * len(own)
        found.append(numbers[done : done + size].reshape(stretches, len(own)))
        done += size
    return tuple(found)
