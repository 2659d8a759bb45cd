from __future__ import annotations

import numpy as np
import pytest

from minertia.codegen.program import gradient
from minertia.codegen.programs import BUILDERS, build
from minertia.codegen.setting import Setting
from minertia.codegen.targets.c import CStyle, render
from minertia.codegen.targets.selftest import reference
from minertia.io.errors import MinertiaError, UnknownName
from tests.codegen import robots
from tests.codegen.kernel_helpers import programs_of
from tests.random_robots import random_robot

ROBOTS = [robots.planar2r(), random_robot(4, tree=True, mimic=True), random_robot(6, floating=True)]
QUICK = ("inverse_dynamics", "forward_dynamics", "base_regressor_entries", "friction")  # of all but the first


@pytest.mark.parametrize(
    ("robot", "name"),
    [
        pytest.param(robot, name, id=f"{robot}-{name}", marks=pytest.mark.slow if k and name not in QUICK else ())
        for k, robot in enumerate(ROBOTS)
        for name in BUILDERS
        if name != "recursive_update"
    ],
)
def test_gradient_equals_finite_differences(robot, name):
    if name not in programs_of(robot):
        pytest.skip("for robots that stand on the ground")
    setting = Setting(robot, "base")
    program = build(setting, name)
    swept = gradient(program)
    inputs, _ = reference(setting, program, samples=1)
    inputs = {k: v if k in program.parameters else v[0] for k, v in inputs.items()}
    rng = np.random.default_rng(0)
    weights = {f"w_{port.name}": rng.normal(size=port.shape) for port in program.ports}
    found = swept.evaluate(**inputs, **weights)

    def scalar(values):
        outputs = program.evaluate(**values)
        return sum((outputs[port.name] * weights[f"w_{port.name}"]).sum() for port in program.ports)

    for port in swept.ports:
        own, h = port.name.removeprefix("d_"), 1e-6
        steps = h * np.eye(port.size)
        slope = [
            (scalar(inputs | {own: inputs[own] + e}) - scalar(inputs | {own: inputs[own] - e})) / 2 / h for e in steps
        ]
        assert np.abs(found[port.name] - slope).max() < 1e-6 * max(1.0, np.abs(slope).max())


def test_a_gradient_is_a_program_like_others():
    setting = Setting(robots.puma560(), "base")
    swept = gradient(build(setting, "base_regressor_entries"), ("q", "qdd"))
    assert [port.name for port in swept.ports] == ["d_q", "d_qdd"]
    assert "base_regressor_entries_gradient" in render(swept, CStyle("x")).definition
    with pytest.raises(UnknownName):
        gradient(build(setting, "gravity"), ("qd",))
    with pytest.raises(MinertiaError, match="computes outputs in loops"):
        gradient(build(setting, "recursive_update"))
