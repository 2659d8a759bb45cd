"""The wheel in an empty environment on a machine without a C compiler: every step runs, or says what it lacks."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import setuptools

from minertia.codegen.kernels import build
from minertia.version import __version__
from tests.arm import recorded_arm
from tests.test_examples import BLOCKS, README_LINES, files_of_the_readme

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
OFFLINE = re.compile(r"Connection|Temporary failure|Max retries|satisfies the requirement numpy", re.IGNORECASE)
pytestmark = [
    pytest.mark.skipif(
        not (ROOT / "setup.py").is_file() or int(setuptools.__version__.partition(".")[0]) < 77,
        reason="needs the source tree and a setuptools that reads its pyproject.toml",
    ),
    pytest.mark.skipif(sys.platform == "win32", reason="paths of a POSIX environment"),
]
Run = Callable[..., subprocess.CompletedProcess[str]]


def called(*command: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment or None, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, made from a copy: a build leaves folders behind."""
    place = tmp_path_factory.mktemp("sdist")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, place / name, ignore=shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
            )
        else:
            shutil.copy(ROOT / name, place)
    script = "from setuptools.build_meta import build_sdist; build_sdist('dist')"
    done = called(sys.executable, "-c", script, cwd=place)
    assert done.returncode == 0, done.stderr
    (file,) = (place / "dist").glob("*.tar.gz")
    return file


@pytest.fixture(scope="module")
def plain_wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a machine without a C compiler, built from the source distribution alone."""
    place = tmp_path_factory.mktemp("plain")
    with tarfile.open(sdist) as file:
        file.extractall(place, filter="data")
    (source,) = place.iterdir()
    script = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    done = called(sys.executable, "-c", script, cwd=source, CC=str(place / "no-such-compiler"), PATH="")
    assert done.returncode == 0, done.stderr
    (file,) = place.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution alone."""
    place = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", place)
    done = called(sys.executable, "-m", "pip", "wheel", *options, sdist, cwd=place)
    assert done.returncode == 0, done.stderr
    (file,) = place.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`minertia` of an empty environment with the wheel, without a compiler and without anything else on the path."""
    place = tmp_path_factory.mktemp("bare")
    venv.create(place / "venv", with_pip=False)
    python = place / "venv" / "bin" / "python"
    done = called(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wheel, cwd=place)
    if done.returncode and OFFLINE.search(done.stderr):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    nowhere, home = place / "nowhere", place / "home"
    nowhere.mkdir()
    home.mkdir()

    def run(
        *args: object, command: str = "minertia", cwd: Path = home, **more: str
    ) -> subprocess.CompletedProcess[str]:
        return called(python.with_name(command), *args, cwd=cwd, PATH=str(nowhere), HOME=str(home), **more)

    return run


def test_source_distribution_is_complete(sdist: Path) -> None:
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    tree = ROOT / "src" / "minertia"
    kinds = ("*.py", "*.toml", "*.c", "*.h", "py.typed")
    expected = {f"src/{path.relative_to(ROOT / 'src').as_posix()}" for kind in kinds for path in tree.rglob(kind)}
    assert expected | {"pyproject.toml", "setup.py", "LICENSE", "README.md"} <= names


def test_wheel_without_a_compiler_is_complete(plain_wheel: Path) -> None:
    names = holds_the_package(plain_wheel)
    assert not any(name.endswith((".so", ".pyd")) for name in names)


@pytest.mark.slow
def test_wheel_is_complete(wheel: Path) -> None:
    names = holds_the_package(wheel)
    if build.find_compiler() is not None:
        assert "abi3" in wheel.name and any("_native" in name for name in names)


def holds_the_package(wheel: Path) -> set[str]:
    """The names in a wheel: modules, robots, types and pages, and nothing else."""
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"minertia/py.typed", "minertia/robot/library/puma560.toml"} <= names
    assert not any(name.startswith("tests") for name in names)
    source = ROOT / "src"
    places = (source / "minertia" / part / "static" for part in ("studio", "report"))
    built = {p.relative_to(source).as_posix() for place in places for p in place.rglob("*") if p.is_file()}
    assert built <= names  # where `make studio` was run, users need no Node.js
    return names


@pytest.mark.slow
def test_version_and_doctor(bare: Run) -> None:
    assert bare("--version").stdout == f"minertia {__version__}\n"
    found = json.loads(bare("doctor", "--json").stdout)
    assert found["compiler"] is None and not any(found["extras"].values())
    if build.find_compiler() is not None:  # there was one when the wheel was built
        assert found["kernels"].startswith("interpreter")


@pytest.mark.slow
def test_main_job(bare: Run, tmp_path: Path) -> None:
    assert json.loads(bare("base", "puma560", "--json").stdout)["count"] == 36
    arm, out = recorded_arm(tmp_path), tmp_path / "out"
    done = bare("identify", arm / "arm.urdf", arm / "a.csv", "--validate", arm / "c.csv", "--out", out)
    assert done.returncode == 0 and "the model is good" in done.stdout, done.stderr
    assert {path.name for path in out.iterdir()} == {
        "model.toml",
        "report.html",
        "result.json",
        "robot.mjcf",
        "robot.urdf",
    }


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the README's lines name."""
    return files_of_the_readme(tmp_path_factory.mktemp("logs"))


@pytest.mark.slow
@pytest.mark.parametrize("line", README_LINES)
def test_commands_of_the_readme(bare: Run, logs: Path, tmp_path: Path, line: str) -> None:
    """Each runs, or names the extra that it needs; the comment says which lines need one."""
    shutil.copytree(logs, tmp_path, dirs_exist_ok=True)
    done = bare(*line.split("#")[0].split()[1:], cwd=tmp_path)
    assert "Traceback" not in done.stderr
    if "(extra sim)" in line:
        assert "pip install 'minertia[sim]'" in done.stderr, done.stderr
    else:
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=["campaign", "parts"])
def test_python_of_the_readme(bare: Run, tmp_path: Path, block: str) -> None:
    done = bare("-c", block, command="python", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.slow
def test_demo_says_what_it_leaves_out(bare: Run, tmp_path: Path) -> None:
    done = bare("demo", "--out", tmp_path / "demo")
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert "pip install 'minertia[sim]'" in done.stderr and "no C compiler on this machine" in done.stderr
    assert (tmp_path / "demo" / "base-puma560.html").is_file() and (tmp_path / "demo" / "rehearsal").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, extra", [("arm.mjcf", "sim"), ("log.parquet", "logs"), ("log.mcap", "logs"), ("log.mat", "mat73")]
)
def test_files_that_need_an_extra(bare: Run, tmp_path: Path, name: str, extra: str) -> None:
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(400)
    (tmp_path / name).write_bytes(header if extra == "mat73" else b"<mujoco/>")
    done = bare("check", tmp_path / name)
    assert done.returncode == 2 and f"pip install 'minertia[{extra}]'" in done.stderr, done.stderr


@pytest.mark.slow
def test_completion(bare: Run) -> None:
    asked = {"_MINERTIA_COMPLETE": "complete_bash", "COMP_WORDS": "minertia base puma", "COMP_CWORD": "2"}
    assert bare(**asked).stdout.split() == ["puma260", "puma560", "puma560_physical"]
    told = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # the shell that runs the tests may be another
    assert "_minertia_completion" in bare("--show-completion", "bash", **told).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "args, seconds",
    [(("-c", "import minertia"), 0.3), (("-m", "minertia", "--help"), 0.4)],
    ids=["import", "help"],
)
def test_quick_to_start(bare: Run, args: tuple[str, ...], seconds: float) -> None:
    """Processor time of the best of five: what the machine does besides is not counted."""

    def cost() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert bare(*args, command="python").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(cost() for _ in range(5)) < seconds
