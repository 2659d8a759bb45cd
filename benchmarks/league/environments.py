"""Rivals at pinned versions, each in an environment of its own under build/league."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"  # robots and logs of others, where they are
FOLDER = ROOT / "build" / "league"
PACKAGES = {
    "figaroh": ("figaroh==1.0.2",),
    "sysid": ("mujoco[sysid]==4.0.0",),
    "cvxpy": ("cvxpy==1.7.3", "clarabel==0.11.1", "pin==4.1.0", "scipy"),
    "casadi": ("casadi==3.8.2",),
    "robots": ("example-robot-data==6.0.0",),  # files alone
    "eigen": ("cmeel-eigen==3.4.1",),  # headers alone, for Pinocchio in C++
    "bam": ("optuna==5.0.0", "cmaes==0.13.1", "numpy", "colorama"),
}
# states Python 3.12 alone; the parts used here run on others, too
ANY_PYTHON = {"bam": ("--no-deps", "--ignore-requires-python", "better-actuator-models==1.0.2")}
WITHOUT_DEPENDENCIES = ("casadi", "robots", "eigen")  # used beside our own environment: its NumPy is ours
LIMIT = 900  # s of a rival


class Unavailable(Exception):
    """A rival or a set of data that cannot be had here, with the reason in a sentence."""


def python_of(name: str) -> str:
    """Python of a rival's environment, which is made where it is missing."""
    folder = FOLDER / name
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        more = ("--no-deps",) if name in WITHOUT_DEPENDENCIES else ()
        for wanted in ((*more, *PACKAGES[name]), ANY_PYTHON.get(name)):
            if wanted:
                _install(python, wanted)
        (folder / ".ready").touch()
    return str(python)


def _install(python: Path, wanted: Sequence[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", *wanted]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        names = " ".join(name for name in wanted if not name.startswith("-"))
        raise Unavailable(f"{names} cannot be installed here ({why[:200]})")


def packages_of(name: str) -> str:
    """Folder of a rival's packages, to be put beside our own."""
    return str(next((Path(python_of(name)).parents[1] / "lib").glob("python*/site-packages")))


def with_ours(name: str) -> dict[str, str]:
    """Environment variables with which a rival's Python also finds minertia and this benchmark."""
    folders = dict.fromkeys([sysconfig.get_paths()["purelib"], *_site_folders()])
    calls = "; ".join(f"site.addsitedir({folder!r})" for folder in folders)
    (Path(packages_of(name)) / "zz_minertia.pth").write_text(f"import site; {calls}\n", encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}


def _site_folders() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages") and "build/league" not in path]


def run(python: str, arguments: Sequence[str], more: dict[str, str] | None = None, limit: float = LIMIT) -> Any:
    """JSON of the last line that a program prints, with one thread of linear algebra."""
    settings = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"} | (more or {})
    try:
        done = subprocess.run(
            [python, *arguments], capture_output=True, text=True, timeout=limit, env=settings, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{' '.join(arguments[:2])} does not end within {limit:g} s") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Unavailable(f"{' '.join(arguments[:2])} fails: {why[:300]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def data(name: str) -> Path:
    """Folder of a public set of logs or robots, which this repository does not hold."""
    folder = SHARED / name
    if not folder.exists():
        raise Unavailable(f"the folder {name} of public logs and robots is not here")
    return folder


def user_lines(path: Path) -> int:
    """Lines of a user's code: without blank lines, comments and docstrings."""
    text, count, quoted = path.read_text(encoding="utf-8"), 0, False
    for line in map(str.strip, text.splitlines()):
        marks = line.count('"""')
        if not quoted and marks == 0 and line and not line.startswith("#"):
            count += 1
        quoted ^= marks == 1
    return count
