"""The order of straight-line code: operations that do not wait for one another take turns.

A processor looks ahead over some hundred operations, fewer where two threads share a core.  In the order in which
outputs ask for values (`schedule.py`) most of these wait for the one before them.  Here the longest way to an output
goes first, as long as the values that are needed later fit the registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from minertia.codegen.kernels.steps import KernelStep

LATENCY, LOAD_LATENCY = 4, 8  # cycles from operands to result
AT_ONCE = 2  # operations that start in one cycle
REGISTERS = 24  # for values that are needed later; the others hold constants and what is loaded


def interleaved(steps: Sequence[KernelStep]) -> list[KernelStep]:
    """The steps in an order that keeps more of them going at a time, unless more values would wait in memory for it."""
    order = _Order(steps).run(max(REGISTERS, most_alive(steps)))
    return list(steps) if order is None else order


def most_alive(steps: Sequence[KernelStep]) -> int:
    """The largest number of values that are made and still to be read."""
    last = {v: k for k, step in enumerate(steps) for v in step.reads}
    alive: set[int] = set()
    most = 0
    for k, step in enumerate(steps):
        alive.update(v for v in step.results if v in last)
        alive.difference_update(v for v in step.reads if last[v] == k)
        most = max(most, len(alive))
    return most


class _Order:
    """Steps are taken one by one, as a processor that starts `AT_ONCE` operations in a cycle could start them."""

    def __init__(self, steps: Sequence[KernelStep]) -> None:
        self.steps = steps
        made = {v: k for k, step in enumerate(steps) for v in step.results}
        self.inside = [{v for v in step.reads if v in made} for step in steps]  # values read that are made here
        self.uses = Counter(v for values in self.inside for v in values)
        self.waiting = [len({made[v] for v in values}) for values in self.inside]
        self.after: list[list[int]] = [[] for _ in steps]
        for k, values in enumerate(self.inside):
            for before in {made[v] for v in values}:
                self.after[before].append(k)
        self.height = [0] * len(steps)  # cycles from the start of a step to the last result that needs it
        for k in reversed(range(len(steps))):
            self.height[k] = self._latency(k) + max((self.height[j] for j in self.after[k]), default=0)
        self.start = [0] * len(steps)  # cycle in which a step has its operands
        self.ready = [k for k, count in enumerate(self.waiting) if not count]
        self.alive: set[int] = set()
        self.cycle = self.started = 0

    def run(self, most: int) -> list[KernelStep] | None:
        """The order, None where more values than `most` would be alive in it."""
        order = []
        while self.ready:
            chosen = self._choose()
            self._take(chosen)
            order.append(self.steps[chosen])
            if len(self.alive) > most:
                return None
        return order

    def _latency(self, k: int) -> int:
        return LOAD_LATENCY if self.steps[k].operation == "load" else LATENCY

    def _choose(self) -> int:
        """The step with the longest way to go; where registers run out, the one that frees most of them."""
        first = min(self.start[k] for k in self.ready)
        if first > self.cycle:
            self.cycle, self.started = first, 0
        now = [k for k in self.ready if self.start[k] <= self.cycle]
        if len(self.alive) < REGISTERS:
            return max(now, key=lambda k: (self.height[k], -k))
        return max(now, key=lambda k: (self._freed(k), self.height[k], -k))

    def _freed(self, k: int) -> int:
        freed = sum(self.uses[v] == 1 for v in self.inside[k])
        return freed - any(self.uses[v] for v in self.steps[k].results)

    def _take(self, k: int) -> None:
        self.ready.remove(k)
        if self.steps[k].operation != "load":
            self.started += 1
            if self.started == AT_ONCE:
                self.cycle, self.started = self.cycle + 1, 0
        for v in self.inside[k]:
            self.uses[v] -= 1
        self.alive.difference_update(v for v in self.inside[k] if not self.uses[v])
        self.alive.update(v for v in self.steps[k].results if self.uses[v])
        for j in self.after[k]:
            self.waiting[j] -= 1
            self.start[j] = max(self.start[j], self.cycle + self._latency(k))
            if not self.waiting[j]:
                self.ready.append(j)
