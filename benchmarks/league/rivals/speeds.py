"""Times of one evaluation for a Panda: our generated C, Pinocchio in C++ and Python, C of CasADi, as JSON.

`--without-cpp` leaves Pinocchio's C++ out, whose headers take minutes to compile.
"""

from __future__ import annotations

import contextlib
import json
import sys

from benchmarks import batches, one_call, peers, single_sample
from benchmarks.measure import Row

ARM = "panda"
TASKS = single_sample.TASKS


def main() -> list[tuple[str, str, float, float]]:
    """(program, peer, seconds of ours, seconds of the peer); the faster build of either counts."""
    found: dict[tuple[str, str], Row] = {}
    many = batches.rows((ARM,), [which for which in batches.paths() if which.startswith("compiled")])
    for row in (*single_sample.rows((ARM,), TASKS), *one_call._rows(ARM, TASKS[0]), *many):
        key = row.subject.partition(f", {ARM}")[0], row.peer_name.partition(" (")[0]
        if row.peer is not None and (key not in found or row.ours < found[key].ours):
            found[key] = row
    return [(*key, row.ours, row.peer) for key, row in found.items() if row.peer is not None]


if __name__ == "__main__":
    if "--without-cpp" in sys.argv:
        peers.cpp_libraries = lambda: ({}, "not compiled in this run")  # type: ignore[assignment]
    with contextlib.redirect_stdout(sys.stderr):
        result = main()
    print(json.dumps({"rows": result, "missing": peers.missing()}))
