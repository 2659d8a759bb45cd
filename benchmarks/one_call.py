"""One sample at a time, called from Python: against Pinocchio's bindings and dynibo (Rust behind Python)."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.batches import ARMS, path, paths
from benchmarks.measure import Row, compare
from benchmarks.single_sample import TASKS, Task, check, first_inputs
from minertia.codegen.kernels.kernel import compile_function
from minertia.codegen.programs import build as build_program
from minertia.codegen.setting import Setting
from minertia.robot.formats.urdf.write import write_urdf

CALLS, GOAL, ROUNDS = 10_000, 10.0, 9
PINOCCHIO = {"inverse_dynamics": "rnea", "forward_dynamics": "aba", "mass_matrix": "crba"}
DYNIBO_GRAVITY = 0.0, 0.0, -9.80665  # which cannot be set there


def rows() -> Iterator[Row]:
    for name in ARMS:
        for task in TASKS:
            if task.program in PINOCCHIO:
                yield from _rows(name, task)


def _rows(name: str, task: Task) -> Iterator[Row]:
    sample = first_inputs(name, task)
    out = np.empty(task.arrays(peers.arm(name).n)[0].shape[1:])
    others = dict(_peers(name, task, sample))
    is_main = task.program == "inverse_dynamics"
    for which in paths() if is_main else [w for w in paths() if w.startswith("compiled")]:
        with path(which):
            f = compile_function(build_program(Setting(peers.arm(name)), task.program))
        check(name, task, [x[None] for x in sample], [f(*sample)[None]])
        calls = CALLS if which != "numpy" else 100
        ways = {"array given": [*sample, out]} | ({"new array": sample} if is_main else {})
        for label, arguments in ways.items():
            for peer_name, peer in others.items():
                goal = GOAL if is_main and which.startswith("compiled") and peer_name.startswith("pin.") else None
                subject = f"one call from Python, {'' if is_main else task.title + ', '}{label}, {name}, {which}"
                ours = repeated(f, calls, arguments), calls
                yield compare(subject, ours, (peer, CALLS), peer_name, goal, rounds=ROUNDS)


def repeated(f: Callable[..., Any], calls: int, arguments: Sequence[Any], **named: Any) -> Callable[[], None]:
    """A loop of calls as one writes it, a name for each argument: a list to unpack would cost as much as a call."""
    words = [f"a{k}" for k in range(len(arguments))]
    values = {"f": f, "calls": calls, **dict(zip(words, arguments, strict=True)), **named}
    call = ", ".join([*words, *(f"{name}={name}" for name in named)])
    defaults = ", ".join(f"{name}={name}" for name in values)
    exec(f"def do({defaults}):\n    for _ in range(calls):\n        f({call})", values)
    return values["do"]  # type: ignore[return-value]


def _peers(name: str, task: Task, sample: list[np.ndarray]) -> Iterator[tuple[str, Callable[[], None]]]:
    oracle = peers.oracle(name)
    model, function = oracle.model, PINOCCHIO[task.program]
    yield f"pin.{function}", repeated(getattr(oracle.pin, function), CALLS, [model, oracle.data, *sample])
    if importlib.util.find_spec("dynibo") is None:
        return
    theirs = getattr(dynibo_robot(name), task.program)
    shape = task.arrays(len(sample[0]))[0][:1].shape
    out = np.empty(shape).ravel()
    theirs(*sample, out=out)
    own = model.gravity.linear.copy()
    model.gravity.linear = np.array(DYNIBO_GRAVITY)
    check(name, task, [x[None] for x in sample], [out.reshape(shape)])
    model.gravity.linear = own
    yield f"dynibo {task.program}", repeated(theirs, CALLS, sample, out=out)


def dynibo_robot(name: str) -> Any:
    """The arm in dynibo, which reads URDF."""
    import dynibo

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.urdf"
        write_urdf(peers.arm(name), file)
        return dynibo.Robot.from_urdf(str(file))
