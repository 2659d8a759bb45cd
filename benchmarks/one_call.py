"""One sample at a time, called from Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import peers
from benchmarks.batches import ARMS, path, paths
from benchmarks.measure import Row, compare
from minertia.codegen.kernels.kernel import compile_function

CALLS, GOAL = 10_000, 10.0


def rows() -> Iterator[Row]:
    for name in ARMS:
        oracle = peers.oracle(name)
        q, qd, qdd = (s[0].copy() for s in peers.states(name, 100))
        out = np.empty(len(qd))
        rnea, model, data = oracle.pin.rnea, oracle.model, oracle.data

        def peer(q=q, qd=qd, qdd=qdd, rnea=rnea, model=model, data=data) -> None:
            for _ in range(CALLS):
                rnea(model, data, q, qd, qdd)

        for which in paths():
            with path(which):
                f = compile_function(peers.torques(name))
            peers.check(name, f(q, qd, qdd)[None], [q[None], qd[None], qdd[None]])
            calls = CALLS if which != "numpy" else 100

            def given(f=f, calls=calls, q=q, qd=qd, qdd=qdd, out=out) -> None:
                for _ in range(calls):
                    f(q, qd, qdd, out)

            def new(f=f, calls=calls, q=q, qd=qd, qdd=qdd) -> None:
                for _ in range(calls):
                    f(q, qd, qdd)

            goal = GOAL if which.startswith("compiled") else None
            for label, ours in (("array given", given), ("new array", new)):
                subject = f"one call from Python, {label}, {name}, {which}"
                yield compare(subject, (ours, calls), (peer, CALLS), "pin.rnea", goal, rounds=9)
