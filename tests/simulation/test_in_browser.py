"""Generated C compiled for the page; that it computes what Python does is held in the browser (tests/studio)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.kernels.build import CompilerMissing
from minertia.dynamics.model import inverse_dynamics
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from minertia.simulation import in_browser
from tests.arm import ARM

needs_linker = pytest.mark.skipif(
    shutil.which("clang") is None or shutil.which("wasm-ld") is None, reason="clang and wasm-ld are not here"
)


def arm(folder: Path) -> Robot:
    (folder / "arm.urdf").write_text(ARM.format(name="arm"))
    return read_robot(folder / "arm.urdf", letters=False)


@needs_linker
def test_code_for_the_page_is_small_and_asks_for_functions_of_numbers_alone(tmp_path):
    robot = arm(tmp_path)
    generate(robot, tmp_path / "code", programs=["inverse_dynamics"])
    code = in_browser.web_code(robot, tmp_path / "code")
    assert code[:4] == b"\0asm" and len(code) < 20_000
    assert b"minertia_run" in code and b"malloc" not in code and b"memcpy" not in code


@needs_linker
def test_programs_of_other_inputs_are_refused(tmp_path):
    robot = arm(tmp_path)
    generate(robot, tmp_path / "code", programs=["gravity"])
    with pytest.raises(MinertiaError, match="accelerations"):
        in_browser.web_code(robot, tmp_path / "code")


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    robot = arm(tmp_path)
    generate(robot, tmp_path / "code", programs=["inverse_dynamics"])
    in_browser._compiler.cache_clear()
    monkeypatch.setattr(in_browser.shutil, "which", lambda name: None if name == "wasm-ld" else f"/usr/bin/{name}")
    with pytest.raises(CompilerMissing, match=r"wasm-ld .* apt install clang lld"):
        in_browser.web_code(robot, tmp_path / "code")
    in_browser._compiler.cache_clear()


def test_states_to_compare_with(tmp_path):
    robot = arm(tmp_path)
    found = in_browser.reference_states(robot)
    q, qd, qdd, tau = (np.array(found[name]) for name in ("q", "qd", "qdd", "tau"))
    assert tau.shape == (in_browser.STATES, robot.n)
    assert np.allclose(tau, inverse_dynamics(robot, q, qd, qdd))
