"""The order of straight-line code: the same steps, operands first, with no more values in memory."""

from __future__ import annotations

import pytest

from minertia.codegen.kernels.kernel import regressor_program, torque_program
from minertia.codegen.kernels.order import LATENCY, REGISTERS, in_turns, interleaved, most_alive
from minertia.codegen.kernels.schedule import schedule
from minertia.codegen.kernels.steps import KernelStep
from minertia.codegen.options import Arithmetic
from minertia.codegen.targets.c import CStyle
from minertia.codegen.targets.c import schedule as statements
from tests.codegen.kernel_helpers import robots_of_every_kind

ROBOTS = robots_of_every_kind()


def waits(steps: list[KernelStep]) -> int:
    """Cycles that a processor which starts one step a cycle, each in its turn, takes for all of them."""
    done: dict[int, int] = {}
    cycle = 0
    for step in steps:
        cycle = max([cycle + 1, *(done.get(v, 0) for v in step.reads)])
        done |= dict.fromkeys(step.results, cycle + LATENCY)
    return cycle


@pytest.mark.parametrize("name", sorted(ROBOTS))
def test_order_of_a_robot(name: str) -> None:
    robot = ROBOTS[name]
    columns = [f"{s}{robot.n_joints}" for s in ("XX", "XY", "MX", "M")]
    for program in (torque_program(robot), regressor_program(robot, columns)):
        for plain, _ in schedule(program).stages():
            order = interleaved(plain)
            assert sorted(order) == sorted(plain)
            made = {v for step in plain for v in step.results}
            seen: set[int] = set()
            for step in order:
                assert seen.issuperset(made.intersection(step.reads))
                seen.update(step.results)
            assert most_alive(order) <= max(REGISTERS, most_alive(plain))
            assert waits(order) <= waits(plain)


@pytest.mark.parametrize("name", ["puma560", "tree", "follower"])
def test_statements_of_c_take_turns(name: str) -> None:
    program = torque_program(ROBOTS[name])
    graph, outputs = program.graph, [output.id for output in program.expressions]
    plain = statements(graph, program.expressions)
    order = in_turns(graph, plain, outputs)
    assert sorted(order) == sorted(plain)
    place = {node: k for k, node in enumerate(order)}
    assert all(place[a] < place[node] for node in order for a in graph.arguments[node])
    sines = [place[node] for node in order if graph.nodes[node][0] in ("sin", "cos")]
    early = [node for node in order[: max(sines)] if graph.nodes[node][0] in ("+", "-", "*")]
    assert len(early) < 0.1 * len(order)  # sums of angles alone
    steps = {node: KernelStep(graph.nodes[node][0], (node,), graph.arguments[node]) for node in order}
    assert waits([steps[node] for node in order]) < 0.9 * waits([steps[node] for node in plain])


def test_only_code_for_processors_takes_turns() -> None:
    own, single = Arithmetic(sincos="own"), Arithmetic(precision="float", sincos="own")
    assert CStyle("x", own, True).takes_turns
    assert not any(
        s.takes_turns for s in (CStyle("x", own), CStyle("x", single, True), CStyle("x", Arithmetic(), True))
    )


def test_chains_take_turns() -> None:
    """Two chains, one after the other, wait at every step; by turns at half of them."""
    chains = [[KernelStep("load", (10 * c,), (0, c))] for c in range(2)]
    for c, chain in enumerate(chains):
        chain += [KernelStep("mul", (10 * c + k,), (10 * c + k - 1,) * 2) for k in range(1, 9)]
    steps = [*chains[0], *chains[1]]
    assert waits(interleaved(steps)) < 0.6 * waits(steps)
