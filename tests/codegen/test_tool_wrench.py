"""C code of a tool on a sensor: its self-test passes, and its counts are those of the equations."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

from minertia.cli.root import app
from minertia.codegen.tool_wrench import ToolLoad, tool_wrench_files
from tests.identification.planted_wrench import PlantedTool, write_poses

LOADS = (np.array([1.2, 0.01, 0.02, 0.06]), np.array([1.2, 0.01, 0.02, 0.06, 0.01, 0.001, 0.002, 0.02, 0.003, 0.015]))


def passes(folder) -> bool:
    """Whether the self-test of a folder compiles without warnings and passes."""
    flags = "-std=c99 -Wall -Wextra -Werror -O2"
    made = subprocess.run(["cc", *flags.split(), "tool_wrench.c", "selftest.c", "-lm", "-o", "t"], cwd=folder)
    return made.returncode == 0 and subprocess.run([folder / "t"]).returncode == 0


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("load", LOADS)
def test_selftest_passes(load, sign, tmp_path):
    axes = Rotation.from_rotvec([0.01, 0.02, 0.005]).as_matrix()
    files, counts = tool_wrench_files(ToolLoad(load, axes, np.array([0.02, -0.01, 9.81]), sign))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert passes(tmp_path)
    assert ("tool_wrench_compensation_moving" in counts) == (len(load) == 10)


def test_counts_of_an_aligned_sensor():
    _, counts = tool_wrench_files(ToolLoad(LOADS[0], np.eye(3), np.array([0.0, 0.0, 9.81]), 1.0))
    found = counts["tool_wrench_compensation"]
    assert (found.multiplications, found.additions) == (9, 15)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_weighed_tool_is_written_with_its_code(tmp_path):
    rng = np.random.default_rng(2)
    poses = PlantedTool.drawn(rng).poses(rng, 12)
    file = write_poses(tmp_path / "a.csv", poses)
    done = CliRunner().invoke(app, ["wrench", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert passes(tmp_path / "out")
