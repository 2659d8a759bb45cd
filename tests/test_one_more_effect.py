"""An effect is one row: rows that a module of your own adds reach all that computes with effects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import minertia

ROOT = Path(__file__).parents[1]
MODULE = """
import minertia as mi
from minertia.algebra.scalar import absolute, add, cos, mul

mi.dynamics.add_effects(
    mi.dynamics.Effect("XSQ", "square", "N m s2/rad2", "N s2/m2", "square friction", "XSQ qd |qd|",
           lambda s, c: mul(s.qd, absolute(s.qd)), fleet="robot"),
    mi.dynamics.Effect("XRC", "ripple", "N m", "N", "Coulomb friction that changes with the teeth",
           "XRC (1 + cos(teeth q)) sign(qd)",
           lambda s, c: mul(add(1, cos(mul(c["teeth"], s.q))), s.direction), ("q", "qd"), constants={"teeth": None},
           scan=(3.0, 5.0), is_dry=True, fleet="robot"),
    mi.dynamics.Effect("XHS", "hard_spring", "N m/rad3", "N/m3", "spring that hardens", "XHS q^3",
           lambda s, c: mul(s.q, mul(s.q, s.q)), ("q",)),
)
"""  # smooth and bent, dry with a constant, of the position alone


def test_rows_reach_efforts_commands_code_plant_and_fleet(tmp_path: Path) -> None:
    (tmp_path / "own_effects.py").write_text(MODULE, encoding="utf-8")
    places = (str(tmp_path), str(Path(minertia.__file__).parents[1]), str(ROOT))
    given = os.environ | {"PYTHONPATH": os.pathsep.join(places), "MINERTIA_EFFECTS": "own_effects"}
    script = [sys.executable, str(ROOT / "tests" / "one_more_effect.py"), str(tmp_path)]
    done = subprocess.run(script, env=given, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


LATE = """
import minertia as mi
mi.read_robot("planar2r")
try:
    import own_effects
except mi.MinertiaError as error:
    assert "before minertia is used" in str(error)
else:
    raise AssertionError
"""
CLASH = """
import minertia as mi
mi.dynamics.add_effects(mi.dynamics.Effect("FC", "mine", "N m", "N", "friction", "FC qd", lambda s, c: s.qd))
try:
    mi.read_robot("planar2r")
except mi.MinertiaError as error:
    assert "symbol 'FC' already" in str(error)
else:
    raise AssertionError
"""


@pytest.mark.parametrize("script", [LATE, CLASH])
def test_effects_added_late_or_twice_are_refused(tmp_path: Path, script: str) -> None:
    (tmp_path / "own_effects.py").write_text(MODULE, encoding="utf-8")
    given = os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(Path(minertia.__file__).parents[1])))}
    given.pop("MINERTIA_EFFECTS", None)
    done = subprocess.run([sys.executable, "-c", script], env=given, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
