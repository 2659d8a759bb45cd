"""Simulation of logs under their commands, by joint group, with sensitivities to all unknowns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.rollout.task import OF_TARGET, Rollout
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import JointGroup, ServoModel
from minertia.io.resources import processors

Array = NDArray[np.float64]
STEEPEST = 1e9  # derivatives of a motion that is still determined by its values
STARTS = 6  # steps towards the start of a log that is only predicted


@dataclass(frozen=True)
class GroupSlopes:
    """Sensitivities of one group: values (N, outputs, columns), derivatives of outputs with respect to unknowns.

    Columns are the unknowns, followed by the initial positions and velocities of all coordinates.
    """

    outputs: list[int]
    columns: list[int]
    values: Array

    def weighted(self, rows: Array) -> GroupSlopes:
        """Sensitivities times the weights of the positions (N, all outputs)."""
        own = rows[:, self.outputs]
        return self if np.all(own == 1.0) else replace(self, values=self.values * own[:, :, None])


@dataclass(frozen=True)
class Simulated:
    """Simulated positions of one log (N, outputs), and their sensitivities by joint group."""

    q: Array
    slopes: tuple[GroupSlopes, ...]

    @property
    def is_steady(self) -> bool:
        """Whether all sensitivities are bounded, so that the parameters still determine the motion."""
        ends = [(s.values.min(initial=0.0), s.values.max(initial=0.0)) for s in self.slopes]
        return all(-STEEPEST < least <= most < STEEPEST for least, most in ends)


def simulated(model: ServoModel, theta: Array, log: LoopLog, steps: int, *, slopes: bool = True) -> Simulated | None:
    """Simulate a log from its initial state, `steps` steps per row; None where the simulation diverges."""
    G = model.mixing(log.carried)
    values = model.with_carried(model.constant + G @ theta, log.carried)
    layout, size, count = model.layout, model.layout.size, model.count
    q = np.empty((len(log.u), len(layout.outputs)))
    parts = []
    for group in model.groups:
        found = model_rollout(model, group, values, log, steps, slopes=slopes)
        if found is None:
            return None
        simulates = layout.coordinates(group.joints)
        own = layout.outputs_of(group.joints)
        shown = [simulates.index(layout.outputs[k]) for k in own]
        q[:, own] = found[0][:, shown]
        if slopes:
            known, mixing = len(group.atoms), G[list(group.atoms)]
            columns = np.flatnonzero(mixing.any(axis=0))
            every = shown == list(range(found[1].shape[1]))
            carried = (found[1] if every else found[1][:, shown]).reshape(len(q) * len(own), -1)
            S = np.concatenate([carried[:, :known] @ mixing[:, columns], carried[:, known:]], axis=1)
            starts = [*(count + j for j in simulates), *(count + size + j for j in simulates)]
            parts.append(GroupSlopes(own, [*columns.tolist(), *starts], S.reshape(len(q), len(own), -1)))
    return Simulated(q, tuple(parts))


def each_simulated(
    model: ServoModel, theta: Array, logs: Sequence[LoopLog], steps: Sequence[int], *, slopes: bool = True
) -> Iterator[Simulated | None]:
    """Simulate logs as `simulated` does, in order; on all processors, as compiled simulations run side by side."""

    def one(log: LoopLog, count: int) -> Simulated | None:
        return simulated(model, theta, log, count, slopes=slopes)

    threads = min(processors(), len(logs))
    if threads == 1:
        yield from map(one, logs, steps)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(one, logs, steps)
        finally:
            pool.shutdown(cancel_futures=True)  # of the logs after one that diverges


def model_rollout(
    model: ServoModel, group: JointGroup, values: Array, log: LoopLog, steps: int, *, slopes: bool
) -> tuple[Array, Array] | None:
    """Positions of a group at the rows of a log, and sensitivities to its parameters and its initial state."""
    command, own = model.command, list(model.layout.coordinates(group.joints))
    delay = float(values[model.places["delay"][0]]) if command.delay_of == "command" else 0.0
    joints = (*group.joints, *model.layout.inside(group.joints))
    target = tuple(model.of_kind(kind, values)[list(joints)] for kind in OF_TARGET)
    told = log.command(
        steps, delay, joints, linear=command.hold == "linear", by_rate=command.velocity_reference, target=target,
        follow=group.kernel.followed,
    )  # fmt: skip
    unknowns = model.unknowns[group.joints] if slopes else ()
    h = log.period / steps
    task = Rollout(model.loop_values(group, values, h), told, h, steps, log.q0[own], log.v0[own], unknowns)
    return group.kernel.run(task)


def with_start(model: ServoModel, theta: Array, log: LoopLog, steps: int) -> LoopLog:
    """Log with the initial state that best fits its first rows, which are not part of the cost."""
    rows = log.first + 1
    begin = replace(log, q=log.q[:rows], u=log.u[:rows], ud=None if log.ud is None else log.ud[:rows])
    n, best, lowest, fastest = model.layout.size, log, np.inf, log.fastest_start(model.layout)
    for _ in range(STARTS):
        found = simulated(model, theta, begin, steps)
        if found is None:
            break
        e = begin.q - found.q
        cost = float(np.sum(e**2))
        if not cost < lowest:
            break
        best, lowest = replace(log, q0=begin.q0, v0=begin.v0), cost
        S = np.zeros((*e.shape, 2 * n))
        for part in found.slopes:
            starts = [(k, c - model.count) for k, c in enumerate(part.columns) if c >= model.count]
            own, places = (list(x) for x in zip(*starts, strict=True))
            S[np.ix_(range(len(e)), part.outputs, places)] = part.values[:, :, own]
        step, *_ = np.linalg.lstsq(S.reshape(-1, 2 * n), e.ravel(), rcond=1e-6)
        begin = replace(begin, q0=begin.q0 + step[:n], v0=np.clip(begin.v0 + step[n:], -fastest, fastest))
    return best
