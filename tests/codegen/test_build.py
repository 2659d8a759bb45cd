"""Compiling and the cache: whatever happens to compiler, folder and files, a kernel works or says why not."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from minertia.algebra.expr import Graph
from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import BatchKernel, compile_function, torque_program
from minertia.codegen.program import Port, Program
from minertia.errors import UnknownName
from minertia.robot.read import read_robot
from tests.codegen.kernel_helpers import states

SOURCE = '__attribute__((visibility("default"))) int answer(void) { return 42; }\n'
needs_compiler = pytest.mark.skipif(build.find_compiler() is None, reason="no C compiler")
needs_native = pytest.mark.skipif(build.native() is None, reason="no extension module")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.delenv("MINERTIA_KERNELS", raising=False)
    monkeypatch.setenv("MINERTIA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch) -> list[list[str]]:
    calls: list[list[str]] = []
    real = build.run_compiler

    def counted(command, where):
        calls.append(command)
        return real(command, where)

    monkeypatch.setattr(build, "run_compiler", counted)
    return calls


def doubling() -> Program:
    g = Graph()
    return Program("double", g, (Port("x", (1,)),), (Port("y", (1,)),), (2.0 * g.variables("x", 1)[0],))


def works(kernel: BatchKernel) -> bool:
    return np.array_equal(kernel(np.array([[1.0], [4.0]])), [[2.0], [8.0]])


@needs_compiler
def test_the_second_use_comes_from_the_cache(folder, compilations):
    assert build.load(build.library(SOURCE)).answer() == 42
    assert build.load(build.library(SOURCE)).answer() == 42
    assert len(compilations) == 1
    build.library(SOURCE + "/* another text */\n")
    assert len(compilations) == 2
    assert not list(folder.rglob("*.part"))


@needs_compiler
def test_the_second_use_is_fast(folder):
    program = torque_program(read_robot("puma560"))
    BatchKernel(program)
    least = min(_seconds(lambda: BatchKernel(program)) for _ in range(5))
    assert least < 0.1  # 20 ms when the machine is quiet


def _seconds(do) -> float:
    start = time.thread_time()
    do()
    return time.thread_time() - start


@needs_compiler
@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "rubbish"])
def test_broken_files_are_not_loaded_but_made_again(folder, compilations, damage):
    path = build.library(SOURCE)
    content = path.read_bytes()
    if damage == "rubbish":
        (path.parent / "0123.so").write_bytes(b"rubbish")
        path.unlink()
    else:
        broken = {"cut": content[: len(content) // 2], "changed": content[:-1] + b"!", "empty": b""}[damage]
        path.write_bytes(broken)
    again = build.library(SOURCE)
    assert build.load(again).answer() == 42
    assert len(compilations) == 2
    assert [p.read_bytes() == again.read_bytes() for p in path.parent.glob("*.so")] == [True]


@needs_compiler
@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="the superuser can write anywhere")
def test_a_cache_that_cannot_be_written(folder, compilations):
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert works(BatchKernel(doubling()))
        assert works(BatchKernel(doubling()))
    finally:
        folder.chmod(stat.S_IRWXU)
    assert len(compilations) == 1


@needs_compiler
def test_a_cache_that_is_a_file(tmp_path, monkeypatch, compilations):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("MINERTIA_CACHE", str(tmp_path / "file"))
    monkeypatch.delenv("MINERTIA_KERNELS", raising=False)
    kernel = BatchKernel(doubling())
    assert kernel.path == "compiled" and works(kernel)
    before = len(compilations)
    assert works(BatchKernel(doubling()))
    assert len(compilations) == before  # found in the folder of this process


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="permissions of files")
def test_a_cache_that_others_can_write_is_not_used(folder):
    folder.mkdir()
    folder.chmod(0o777)
    assert not build.library(SOURCE).is_relative_to(folder)
    assert "can be changed by others" in build.status().cache


TWO = """
import numpy as np
from minertia.codegen.kernels.kernel import BatchKernel, torque_program
from minertia.robot.read import read_robot
kernel = BatchKernel(torque_program(read_robot("stanford")))
assert kernel.path == "compiled", kernel.reason
print(kernel(np.ones((3, 6)), np.ones((3, 6)), np.ones((3, 6))).sum().hex())
"""


@needs_compiler
def test_two_processes_at_once(folder):
    env = os.environ | {"MINERTIA_CACHE": str(folder)}
    both = [subprocess.Popen([sys.executable, "-c", TWO], env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    results = {process.communicate(timeout=300)[0] for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(results) == 1
    for path in folder.rglob("*.so"):
        assert build._digest(path.read_bytes()) == path.stem
    assert not list(folder.rglob("*.part"))


@pytest.mark.parametrize("breakage", ["nothing on PATH", "a compiler that fails", "a compiler that lies"])
def test_without_a_working_compiler(folder, monkeypatch, tmp_path, breakage):
    monkeypatch.delenv("CC", raising=False)
    if breakage == "nothing on PATH":
        monkeypatch.setenv("PATH", str(tmp_path))
        assert build.find_compiler() is None
    else:
        fake = tmp_path / "gcc"
        fake.write_text("#!/bin/sh\nexit 1\n" if "fails" in breakage else "#!/bin/sh\n: > kernel.so\n")
        fake.chmod(0o755)
        monkeypatch.setenv("CC", str(fake))
    kernel = BatchKernel(doubling())
    assert kernel.path == ("interpreter" if build.native() else "numpy")
    assert works(kernel) and "compile" in kernel.reason
    assert np.array_equal(compile_function(doubling())([3.0]), [6.0])
    monkeypatch.setenv("MINERTIA_KERNELS", "compiled")
    with pytest.raises(build.CompilerMissing):
        BatchKernel(doubling())
    assert not list(folder.rglob("*.so"))


def test_without_a_compiler_and_without_the_extension(folder, monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build, "native", lambda: None)
    kernel = BatchKernel(doubling())
    assert kernel.path == "numpy" and works(kernel)
    assert "no precompiled interpreter" in kernel.reason
    assert build.status().path == "numpy" and not build.status().native
    assert np.array_equal(compile_function(doubling())([3.0]), [6.0])


@needs_compiler
def test_compiled_without_the_extension(folder, monkeypatch):
    monkeypatch.setattr(build, "native", lambda: None)
    robot = read_robot("puma560")
    kernel = BatchKernel(torque_program(robot))
    assert kernel.path == "compiled"
    state = states(robot, 100)
    wanted = kernel(*state)
    assert np.array_equal(kernel(*state, threads=2), wanted)
    one = compile_function(torque_program(robot))
    assert np.abs(one(*(s[7] for s in state)) - wanted[7]).max() < 1e-12 * np.abs(wanted).max()
    out = np.empty(6)
    assert one(*(s[7] for s in state), out) is out


@needs_compiler
def test_a_compiler_that_does_not_know_the_machine(folder, monkeypatch, compilations):
    monkeypatch.setattr(build, "TARGETS", {name: ("-mno-such-machine",) for name in build.TARGETS})
    kernel = BatchKernel(doubling())
    assert kernel.path == "compiled" and works(kernel)
    assert len(compilations) == 2


@needs_native
def test_programs_too_large_to_compile_are_interpreted(folder, monkeypatch):
    monkeypatch.setattr(build, "MOST_STEPS", 1)
    kernel = BatchKernel(doubling())
    assert kernel.path == "interpreter" and "too many to compile" in kernel.reason and works(kernel)


@needs_compiler
def test_long_programs_are_compiled_in_parts(folder, monkeypatch):
    monkeypatch.setattr("minertia.codegen.kernels.batch.PART", 40)
    robot = read_robot("puma560")
    state = states(robot, 100)
    kernel = BatchKernel(torque_program(robot))
    one = compile_function(torque_program(robot))
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    wanted = BatchKernel(torque_program(robot))(*state)
    assert np.abs(kernel(*state) - wanted).max() < 1e-12 * np.abs(wanted).max()
    assert np.abs(one(*(s[7] for s in state)) - wanted[7]).max() < 1e-12 * np.abs(wanted).max()


def test_status_says_which_path_and_why(folder, monkeypatch):
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    status = build.status()
    assert status.path == "numpy" and "MINERTIA_KERNELS" in status.reason
    assert str(folder) in str(status)
    monkeypatch.setenv("MINERTIA_KERNELS", "nunpy")
    with pytest.raises(UnknownName, match="did you mean 'numpy'"):
        build.choose()


def test_no_name_reaches_the_c_text():
    from minertia.codegen.kernels.batch import batch_source, single_source
    from minertia.codegen.kernels.schedule import schedule

    g = Graph()
    evil = '*/ system("x"); /*'
    program = Program(
        evil, g, (Port("x", (1,), evil),), (Port(evil, (1,)),), (2.0 * g.variables("x", 1)[0],), (), (evil,)
    )
    for source in (batch_source(schedule(program)), single_source(schedule(program))):
        assert "system" not in source
