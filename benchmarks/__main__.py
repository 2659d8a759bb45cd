"""`make bench`: every comparison in one run, printed and written to docs/benchmarks.md."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import peers
from benchmarks.measure import Row
from minertia.codegen.kernels import build

SUBJECTS = {
    "batches": "Many samples",
    "single_sample": "One sample at a time, in C",
    "one_call": "One call from Python",
    "fits": "Least squares",
    "excitation": "Exciting motions",
    "long_log": "A long log",
    "building": "Waiting times",
}
TEXT = """Written by `make bench`: ours and the peer in one process, in turns unless said, processor time of one thread,
medians; in brackets the quartiles of the ratio.  All torques are first held against Pinocchio's (1e-12).  Our regressor
has the base columns, Pinocchio's all 10 n; "in cache" means computed, not written to memory.  Goals are for a machine
with AVX-512 (8 lanes); half of those for batches where there is only AVX2 (4 lanes).  NEON has 2 lanes."""
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def main() -> None:
    chosen = sys.argv[1:] or list(SUBJECTS)
    compiler = build.find_compiler()
    lines = [
        "# Benchmarks", "",
        *TEXT.splitlines(), "",
        f"{datetime.now(UTC):%Y-%m-%d}; {_machine()}; {_versions()}.", "",
        f"C compiler for our kernels: {compiler.version if compiler else 'none'}.", "",
    ]  # fmt: skip
    if not peers.cpp_libraries()[0]:
        lines += [f"No comparison with Pinocchio in C++: {peers.cpp_libraries()[1]}.", ""]
    for subject in chosen:
        lines += [
            f"## {SUBJECTS[subject]}",
            "",
            "| what | ours | peer | ratio | goal |",
            "| --- | --- | --- | --- | --- |",
        ]
        for row in importlib.import_module(f"benchmarks.{subject}").rows():
            lines.append(_line(row))
            print(lines[-1], flush=True)
        lines.append("")
    if chosen == list(SUBJECTS):
        PAGE.write_text("\n".join(lines), encoding="utf-8")


def _line(row: Row) -> str:
    peer = "" if row.peer is None else f"{row.peer_name}: {_time(row.peer)}"
    ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
    if row.spread:
        ratio += f" ({row.spread[0]:.1f} to {row.spread[1]:.1f})"
    note = f" ({row.note})" if row.note else ""
    return f"| {row.subject}{note} | {_time(row.ours)} | {peer} | {ratio} | {row.goal or ''} |"


def _time(s: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if s * factor >= 1:
            return f"{s * factor:.3g} {unit}"
    return f"{s * 1e9:.3g} ns"


def _machine() -> str:
    name = platform.processor() or platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        name = next((line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), name)
    except OSError:
        pass
    native = build.native()
    width = f", interpreter built for {native.WIDTH}" if native else ""
    return f"{platform.system()} {platform.machine()} {name}{width}"


def _versions() -> str:
    wanted = ("numpy", "scipy", "pin", "libpinocchio")
    found = []
    for package in wanted:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    compilers = ", ".join(peers.cpp_libraries()[0]) or "none"
    return f"Python {platform.python_version()}, {', '.join(found)}, C++ compilers for the peer: {compilers}"


main()
