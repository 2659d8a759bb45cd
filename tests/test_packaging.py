"""The package installs without a C compiler, and with one it has the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import setuptools

from minertia.codegen.kernels import build

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "setup.py").is_file() or int(setuptools.__version__.partition(".")[0]) < 77,
    reason="needs the source tree and a setuptools that reads its pyproject.toml",
)


def build_extension(folder: Path, **environment: str) -> list[Path]:
    command = [sys.executable, "setup.py", "-q", "build_ext", "-b", str(folder / "lib"), "-t", str(folder / "temp")]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(folder.rglob("_native*"))


def test_without_a_compiler_it_is_left_out(tmp_path):
    missing = str(tmp_path / "no-such-compiler")
    assert not [p for p in build_extension(tmp_path, CC=missing, PATH="") if p.suffix in (".so", ".pyd")]


@pytest.mark.slow  # test_wheel.py builds it too
@pytest.mark.skipif(build.find_compiler() is None, reason="no C compiler")
def test_with_a_compiler_it_has_the_interpreter(tmp_path):
    (module,) = (p for p in build_extension(tmp_path) if p.suffix in (".so", ".pyd"))
    script = "import importlib.util as u; s = u.spec_from_file_location('minertia.codegen.kernels._native', {!r}); m = "
    script += "u.module_from_spec(s); s.loader.exec_module(m); print(m.WIDTH, m.INTERPRET > 0)"
    told = subprocess.run(
        [sys.executable, "-c", script.format(str(module))], capture_output=True, text=True, check=True
    )
    assert told.stdout.split()[1] == "True"


def test_the_manifest_names_files_that_exist():
    for line in (ROOT / "MANIFEST.in").read_text().splitlines():
        command, folder, *patterns = line.split()
        assert command == "recursive-include"
        assert all(list((ROOT / folder).rglob(pattern)) for pattern in patterns), line
