"""MJX steps a batch of the robots of parameter samples (mujoco-mjx, of the extra `ci`)."""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia.robot.formats.mjcf.write import to_mjcf
from minertia.simulation.sample_files import write_samples
from minertia.simulation.sample_mjx import NOT_IN_MJX, mjx_arrays
from minertia.simulation.sample_values import held_robot, held_values
from tests.simulation.test_sample_files import coupled, sprung

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "sample.md"
STEPS = 100
SINGLE = 2e-5  # rad, of positions that MJX computes with 32 bits


@pytest.mark.slow
def test_mjx_steps_each_robot_as_mujoco_steps_its_own_file(tmp_path, monkeypatch):
    """Masses, dry friction, offsets, springs and a coupled motor of a batch, as the page on samples loads it."""
    pytest.importorskip("mujoco.mjx", reason="mujoco-mjx is not installed")
    import jax
    import mujoco
    from jax import numpy as jnp
    from mujoco import mjx

    found = coupled()
    write_samples(tmp_path / "samples", found, ("mjx",))
    monkeypatch.chdir(tmp_path)
    efforts = np.array([30.0, 10.0]) * np.sin(np.outer(np.arange(STEPS), [0.03, 0.05]))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (own for own in blocks if "import mjx" in own)
    page: dict[str, Any] = {}
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)  # the default of JAX
    try:
        exec(block, page)
        data = jax.vmap(lambda _: mjx.make_data(page["first"]))(jnp.arange(len(found)))
        for effort in efforts:
            all_efforts = jnp.tile(jnp.asarray(effort, jnp.float32), (len(found), 1))
            data = page["step"](page["robots"], data.replace(qfrc_applied=all_efforts))
        moved = np.asarray(data.qpos)
    finally:
        jax.config.update("jax_enable_x64", before)
    held = held_values(found, "mjcf", NOT_IN_MJX)
    for k in range(len(found)):
        alone = mujoco.MjModel.from_xml_string(to_mjcf(held_robot(found, k, held)))
        state = mujoco.MjData(alone)
        for effort in efforts:
            state.qfrc_applied[:] = effort
            mujoco.mj_step(alone, state)
        assert np.abs(state.qpos).min() > 0.05
        assert moved[k] == pytest.approx(state.qpos, abs=SINGLE)
    assert np.ptp(moved, axis=0).max() > 50 * SINGLE


@pytest.mark.slow
def test_mjx_steps_elastic_joints_as_mujoco_but_for_the_error_of_the_step():
    """MuJoCo's implicitfast leaves out part of the damping of springs between joints, MJX does not; Euler is one."""
    pytest.importorskip("mujoco.mjx", reason="mujoco-mjx is not installed")
    import jax
    import mujoco
    from jax import numpy as jnp
    from mujoco import mjx

    text, arrays = mjx_arrays(sprung())
    model = mujoco.MjModel.from_xml_string(text)
    for name, values in arrays.items():
        getattr(model, name)[:] = values[0]
    target = 0.5 * np.sin(5 * model.opt.timestep * np.arange(2 * STEPS))[:, None] * np.array([1.0, 0.6])

    def in_mujoco(integrator, parts=1):
        own, data = copy(model), mujoco.MjData(model)
        own.opt.integrator, own.opt.timestep = integrator, model.opt.timestep / parts
        found = []
        for row in target:
            data.ctrl[:] = row
            mujoco.mj_step(own, data, parts)
            found.append(data.qpos.copy())
        return np.array(found)

    def in_mjx(integrator):
        own = copy(model)
        own.opt.integrator = integrator
        there, data, step = mjx.put_model(own), mjx.make_data(own), jax.jit(mjx.step)
        found = []
        for row in target:
            data = step(there, data.replace(ctrl=jnp.asarray(row)))
            found.append(np.asarray(data.qpos))
        return np.array(found)

    euler, fast = mujoco.mjtIntegrator.mjINT_EULER, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert model.opt.integrator == fast and model.tendon_damping[0] > 0.5
    assert in_mjx(euler) == pytest.approx(in_mujoco(euler), abs=SINGLE)
    exact, difference = in_mujoco(euler, 100), in_mjx(fast) - in_mujoco(fast)
    assert 10 * SINGLE < np.abs(difference).max() < np.abs(in_mujoco(fast) - exact).max()
    assert np.abs(in_mjx(fast) - exact).max() < np.abs(in_mujoco(euler) - exact).max()
