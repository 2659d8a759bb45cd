"""What was measured, one file for each instruction set: `results/<set>.json`.

A run on one machine leaves the files of the others as they are; the page (`page.py`) is written from all of them.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measure import Row

FOLDER = Path(__file__).parent / "results"
# in the order of the page: file name -> what it is called there
SETS = {
    "avx512_fp16": "AVX-512 with FP16",  # from Sapphire Rapids on; before, processors clock lower in 512-bit code
    "avx512": "AVX-512",
    "avx2": "AVX2",
    "sse2": "SSE2",
    "neon": "NEON",
}
FLAGS = {"avx512_fp16": "avx512_fp16", "avx512": "avx512f", "avx2": "avx2"}  # of /proc/cpuinfo, widest first
DIGITS = 4  # of a time: more is noise
PACKAGES = ("numpy", "scipy", "pin", "libpinocchio", "casadi", "dynibo")


def instruction_set() -> str:
    """The widest vectors of this processor."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        return "neon"
    flags = _cpuinfo("flags").split()
    return next((name for name, flag in FLAGS.items() if flag in flags), "sse2")


def machine() -> str:
    """The processor in words."""
    name = _cpuinfo("model name") or platform.processor() or platform.machine()
    return f"{platform.system()} {platform.machine()} {name}"


def versions() -> list[str]:
    """Python and the packages that take part."""
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def save(subject: str, rows: Sequence[Row], about: dict[str, Any]) -> Path:
    """Put the rows of one subject into the file of this machine's set; what else is in it stays."""
    path = FOLDER / f"{instruction_set()}.json"
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"subjects": {}}
    content |= about
    content["subjects"][subject] = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "rows": [to_json(row) for row in rows]}
    return write(path, content)


def save_device(name: str, rows: Sequence[dict[str, Any]], about: dict[str, Any]) -> Path:
    """Put rows of a GPU into its file; those of other programs stay."""
    path = FOLDER / f"{name}.json"
    old = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
    fresh = {_device_key(row) for row in rows}
    kept = [row for row in old if _device_key(row) not in fresh]
    digits = [{key: float(f"{v:.{DIGITS}g}") if isinstance(v, float) else v for key, v in row.items()} for row in rows]
    return write(path, {**about, "date": f"{datetime.now(UTC):%Y-%m-%d}", "rows": [*digits, *kept]})


def _device_key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["program"], row["arrays"], row["precision"]


def write(path: Path, content: dict[str, Any]) -> Path:
    """A file of results: one line for each row, so that changes can be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(content) + "\n", encoding="utf-8")
    return path


def read(name: str) -> dict[str, Any] | None:
    """The results of one set, None where nobody measured it."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def to_json(row: Row) -> dict[str, Any]:
    """A row without what is empty."""
    found = {key: value for key, value in asdict(row).items() if value not in (None, "")}
    for key in ("ours", "peer", "middle"):
        if key in found:
            found[key] = float(f"{found[key]:.{DIGITS}g}")
    if row.spread is not None:
        found["spread"] = [float(f"{x:.{DIGITS}g}") for x in row.spread]
    return found


def from_json(found: dict[str, Any]) -> Row:
    """The row again."""
    return Row(**{key: tuple(value) if key == "spread" else value for key, value in found.items()})


def _text(value: Any, indent: str = "") -> str:
    """JSON with every row on one line."""
    inner = indent + "  "
    if isinstance(value, dict) and any(isinstance(v, (dict, list)) for v in value.values()) and "ours" not in value:
        parts = [f"{inner}{json.dumps(key)}: {_text(v, inner)}" for key, v in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"{inner}{_text(v, inner)}" for v in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)


def _cpuinfo(key: str) -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith(key)), "")
