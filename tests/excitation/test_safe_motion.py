"""Motions under drawn limits: nothing below the floor, no self collision, every limit held, or a refusal that names."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from minertia.codegen.kernels.build import native
from minertia.robot.files import bundled_robots, read_robot
from tests.excitation.draws import DRAWS, draws_of, files, lacks_values, outcome
from tests.shared import SHARED, needs_shared

pytest.importorskip("mujoco")

# the world of these draws does not know that links of loops pass beside one another; test_loops.py holds those
TREES = [name for name in bundled_robots() if not read_robot(name).cuts]
NAMED = re.compile(
    r"give values for|joint '|frame '|' is [\d.e-]+ m (above|below) the floor|' cannot rise above the floor"
    r"|symbols without a value \(|' and '.+' (are|overlap by) [\d.e-]+ m"
)


def held(name: str, seeds: range) -> Counter[str]:
    """What came of some draws; each must be a motion without a fault, or a refusal that names what is in the way."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        found = outcome(name, seed)
        assert not found.faults, (seed, found.faults)
        assert found.motion is not None or NAMED.search(found.refusal), (seed, found.refusal)
        seen["motions" if found.motion is not None else "refusals"] += 1
    return seen


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch):
    """These searches are too short for compiled code to pay, and there are many robots."""
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")


@pytest.mark.parametrize("name", ["puma560_physical", "ur10e", "scara", "planar2r"])
def test_a_sample_of_draws(name):
    held(name, range(2))


@needs_shared
@pytest.mark.parametrize("name", ["double_pendulum.urdf", "kuka_lwr4.urdf"])
def test_a_sample_of_draws_of_files(name):
    held(str(SHARED / "robots" / name), range(1))


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_draws(name):
    seen = held(name, range(100, 100 + DRAWS))
    assert seen["motions"] >= (0 if lacks_values(name) else 0.6 * DRAWS)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", files(), ids=lambda name: Path(name).name)
def test_draws_of_files(name):
    count = draws_of(name)
    seen = held(name, range(100, 100 + count))
    assert seen["motions"] >= (0 if lacks_values(name) else 0.5 * count)


def test_draws_are_many():
    """At least two hundred over the bundled robots and the files."""
    counted = sum(draws_of(name) for name in [*TREES, *files()])
    assert counted >= (200 if SHARED.is_dir() else 100)
