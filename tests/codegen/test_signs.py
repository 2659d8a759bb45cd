"""Signs carried along the schedule: results as they were, and no operation that only some vector units have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minertia.algebra.expr import Graph
from minertia.codegen.kernels.kernel import BatchKernel, regressor_program, torque_program
from minertia.codegen.kernels.schedule import schedule
from minertia.codegen.program import Port, Program
from tests.codegen.kernel_helpers import robots_of_every_kind

ROBOTS = robots_of_every_kind()
TURNED = {"neg", "nadd", "nmul", "fms", "fnms", "fmsk"}  # operations that some machines have to build of two


@pytest.mark.parametrize("name", sorted(ROBOTS))
def test_only_outputs_are_turned(name: str) -> None:
    robot = ROBOTS[name]
    columns = [f"{s}{robot.n_joints}" for s in ("XX", "XY", "MX", "M")]
    for program in (torque_program(robot), regressor_program(robot, columns)):
        found = schedule(program)
        entries = {e.value for e in found.entries}
        assert not [s for s in found.steps if s.operation in TURNED and not entries.intersection(s.results)]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 10**6), st.integers(0, 10**6)), min_size=3, max_size=25))
def test_random_programs(recipe: list[tuple[int, int, int]]) -> None:
    """Sums, differences, products, quotients, sines and roots of one another, some of them given out, also negated."""
    g = Graph()
    numbers = np.random.default_rng(0).uniform(0.5, 2.0, 4)
    values: list = list(zip(g.variables("x", 4), numbers, strict=True))
    operations = (
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: -(a * b), lambda a, b: -(a + b) * 2.5,
        lambda a, b: a * b - (a + b), lambda a, b: 1.5 - a * b,
    )  # fmt: skip
    for kind, i, j in recipe:
        (a, x), (b, y) = values[i % len(values)], values[j % len(values)]
        if kind < len(operations):
            values.append((operations[kind](a, b), operations[kind](x, y)))
        elif kind == 6:
            values.append(((-a).sin() + b.cos(), np.sin(-x) + np.cos(y)))
        else:
            values.append((-((a * a + 1.0).sqrt()), -np.sqrt(x * x + 1.0)))
        if abs(values[-1][1]) > 1e3:
            values.pop()
    chosen = values[4:] or values[:1]
    outputs = [*(e for e, _ in chosen), -chosen[0][0]]
    wanted = np.array([*(v for _, v in chosen), -chosen[0][1]])
    program = Program("random", g, (Port("x", (4,)),), (Port("y", (len(outputs),)),), tuple(outputs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINERTIA_KERNELS", "interpreter")
        found = BatchKernel(program)(np.tile(numbers, (3, 1)))
    assert np.allclose(found, wanted, rtol=1e-11, atol=1e-11)
