"""An effect is one row of the table: rows added to a copy of the package reach all that computes with effects."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import minertia

ROOT = Path(__file__).parents[1]
ROWS = """
    Effect("XSQ", "square", "N m s2/rad2", "N s2/m2", "square friction", "XSQ qd |qd|",
           lambda s, c: mul(s.qd, absolute(s.qd)), fleet="robot"),
    Effect("XRC", "ripple", *COULOMB, "Coulomb friction that changes with the teeth", "XRC (1 + cos(teeth q)) sign(qd)",
           lambda s, c: mul(add(1, cos(mul(c["teeth"], s.q))), s.direction), ("q", "qd"), constants={"teeth": None},
           scan=(3.0, 5.0), is_dry=True, fleet="robot"),
    Effect("XHS", "hard_spring", "N m/rad3", "N/m3", "spring that hardens", "XHS q^3",
           lambda s, c: mul(s.q, mul(s.q, s.q)), ("q",)),
"""  # smooth and bent, dry with a constant, of the position alone


def test_rows_reach_efforts_commands_code_plant_and_fleet(tmp_path: Path) -> None:
    copy = tmp_path / "src" / "minertia"
    shutil.copytree(Path(minertia.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    table = copy / "robot" / "effects.py"
    text = table.read_text(encoding="utf-8")
    assert text.count("\n)  # fmt: skip\n") == 1
    table.write_text(text.replace("\n)  # fmt: skip\n", f"{ROWS})  # fmt: skip\n"), encoding="utf-8")
    given = os.environ | {"PYTHONPATH": os.pathsep.join((str(copy.parent), str(ROOT)))}
    work = tmp_path / "work"
    work.mkdir()
    script = [sys.executable, str(ROOT / "tests" / "one_more_effect.py"), str(work)]
    done = subprocess.run(script, env=given, cwd=work, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).parent == copy
