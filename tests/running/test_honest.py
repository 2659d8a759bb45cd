"""Motions that nobody tampered with pass the gate: from `excite` to the simulated robot, and from any rate of files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from minertia import excite, read_robot
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import motion_limits
from minertia.excitation.limits_file import limits_toml
from minertia.excitation.options import MotionSearch
from minertia.excitation.transfer import Transfer
from minertia.io.files import write_file
from minertia.running.gate import read_route
from tests.conftest import Run
from tests.shared import SHARED, needs_shared

SHORT = ("--duration", 3, "--harmonics", 3, "--starts", 1, "--samples", 30)


@pytest.mark.parametrize(
    "name, asked, told",
    [
        ("emps", ("--limits", "position=0.2", "--limits", "jerk=20", "--from", "0.05"), "obstacles (none given)"),
        pytest.param("five_bar", (), "obstacles (none given)", marks=pytest.mark.slow),
        pytest.param("puma560_physical", ("--floor", "none"), "floor (switched off)", marks=pytest.mark.slow),
        pytest.param("stanford", ("--limits", "position=0.5"), "", marks=pytest.mark.slow),
        pytest.param("parallelogram_arm", ("--rate", 50), "", marks=pytest.mark.slow),
        pytest.param("palletiser", ("--self-collision", "none"), "switched off", marks=pytest.mark.slow),
    ],
)
def test_from_excite_to_the_simulated_robot(
    run: Run, tmp_path: Path, name: str, asked: tuple[object, ...], told: str
) -> None:
    """Slides, closed loops, and what was switched off, which is said again."""
    pytest.importorskip("mujoco")
    code, _, err = run("excite", name, *SHORT, *asked, "--out", tmp_path / "motion")
    assert code == 0, err
    code, out, err = run("run", name, tmp_path / "motion", "--speeds", "100", "--out", tmp_path / "run", "--json")
    assert code == 0, err
    assert json.loads(out)["passed"] and told in err and "not checked before the run" in err


@needs_shared
def test_a_published_file_with_impossible_inertias_is_run_as_it_is_rehearsed(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    name = SHARED / "robots" / "kinova_gen3.urdf"
    here = np.array([0.0, 0.5, 0.0, 1.2, 0.0, 0.9, 0.0])
    Transfer(np.array([here, here + 0.1, here]), np.arange(3.0)).at_rate(50.0).save(tmp_path / "motion.csv")
    code, _, err = run("run", name, tmp_path / "motion.csv", "--speeds", "100", "--out", tmp_path / "run")
    assert code == 0 and "in the robot file is not physically consistent" in err, err


@pytest.mark.parametrize("name, position", [("planar2r", 0.5), ("five_bar", None), ("emps", 0.2)])
@pytest.mark.parametrize(
    "family", [Fourier(2.0, 4), pytest.param(Fourier(8.0, 3), marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_files_of_any_rate_pass(tmp_path: Path, name: str, position: float | None, family: Fourier) -> None:
    """Few samples of the search and few in the file: what lies between them is within what is allowed."""
    robot = read_robot(name, letters=False)
    limits = motion_limits(robot, position=position).with_jerk(30.0)
    found = excite(robot, family, limits=limits, search=MotionSearch(1, 0, 20))
    write_file(tmp_path / "excitation-limits.toml", limits_toml(robot, limits))
    slowest = 8 * family.harmonics / family.duration  # eight samples in a period of the fastest part
    for rate in (None, slowest, 4 * slowest, 500.0):
        path = found.trajectory if rate is None else found.motion.at_rate(rate)
        path.save(tmp_path / "excitation.csv", force=True)
        assert read_route(tmp_path, robot).duration == pytest.approx(family.duration, abs=0.1)
