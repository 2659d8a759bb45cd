"""MJX steps a batch of the robots of parameter samples (mujoco-mjx, of the extra `ci`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia.robot.formats.mjcf.write import to_mjcf
from minertia.simulation.sample_files import write_samples
from minertia.simulation.sample_mjx import NOT_IN_MJX
from minertia.simulation.sample_values import held_robot, held_values
from tests.simulation.test_sample_files import coupled

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
