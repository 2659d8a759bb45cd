"""Compiling and the cache: whatever happens to compiler, folder and files, a kernel works or says why not."""

from __future__ import annotations

import functools
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.algebra.expr import Graph
from minertia.codegen.kernels import build, cache
from minertia.codegen.kernels.kernel import BatchKernel, compile_function, torque_program
from minertia.codegen.kernels.selfcheck import difference
from minertia.codegen.program import Port, Program
from minertia.io.errors import UnknownName
from minertia.robot.files import read_robot
from tests.codegen.kernel_helpers import states

SOURCE = '__attribute__((visibility("default"))) int answer(void) { return 42; }\n'
needs_compiler = pytest.mark.skipif(build.find_compiler() is None, reason="no C compiler")
needs_native = pytest.mark.skipif(build.native() is None, reason="no extension module")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.delenv("MINERTIA_KERNELS", raising=False)
    for name in ("usual", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("MINERTIA_CACHE", str(tmp_path / "usual" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))  # where libraries go that the cache cannot have
    monkeypatch.setattr(cache, "own_folder", functools.cache(cache.own_folder.__wrapped__))
    return tmp_path / "usual" / "cache"


@pytest.fixture
def compilations(monkeypatch) -> list[list[str]]:
    calls: list[list[str]] = []
    real = build.run_compiler

    def counted(command, where):
        calls.append(command)
        return real(command, where)

    monkeypatch.setattr(build, "run_compiler", counted)
    return calls


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders of killed processes stay on Windows")
def test_folders_of_killed_processes_are_removed(folder) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    places = {}
    for word, process, age in (("old", ended.pid, 2e5), ("young", ended.pid, 0.0), ("alive", os.getpid(), 2e5)):
        places[word] = Path(tempfile.mkdtemp(prefix=f"{cache.OWN}{process}-"))
        (places[word] / "kernel.so").touch()
        os.utime(places[word], (os.stat(places[word]).st_mtime - age,) * 2)
    (places["old"].parent / f"{cache.OWN}x-y").symlink_to(places["young"])
    assert cache.own_folder().is_dir()
    assert [word for word, place in places.items() if place.is_dir()] == ["young", "alive"]


def doubling() -> Program:
    g = Graph()
    return Program("double", g, (Port("x", (1,)),), (Port("y", (1,)),), (2.0 * g.variables("x", 1)[0],))


def pendulum() -> Program:
    g = Graph()
    x, y, z = g.variables("x", 3)
    outputs = (2.1 * x.sin() - 0.7 * (x + 0.3 * y).cos() + 0.1 * z, (x * y - 0.1) / (1.3 + z * z))
    return Program("pendulum", g, (Port("x", (3,)),), (Port("y", (2,)),), outputs)


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
def test_the_second_use_compiles_nothing(folder, compilations):
    program = torque_program(read_robot("puma560"))
    BatchKernel(program)
    first = len(compilations)
    BatchKernel(program)
    assert first > 0 and len(compilations) == first


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
def test_a_cache_that_is_a_file(folder, compilations):
    folder.write_text("not a folder")
    kernel = BatchKernel(doubling())
    assert kernel.path == "compiled" and works(kernel)
    before = len(compilations)
    assert works(BatchKernel(doubling()))
    assert len(compilations) == before  # found in the folder of this process


# ---------------------------------------------------------------------- libraries of others

OTHER = 54321  # number of a user that is not us
needs_modes = pytest.mark.skipif(os.name != "posix", reason="permissions of files")
needs_root = pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only the superuser gives files away")


def planted(folder: Path) -> Path:
    """A library in the cache, rightly named, that was not made from the text it stands for."""
    place = build.library(SOURCE)
    evil = build.library(SOURCE.replace("42", "666")).read_bytes()
    path = place.with_name(cache._name(place.parent.name, evil))
    path.write_bytes(evil)
    path.chmod(0o600)
    place.unlink()
    return path


def moved_and_linked(path: Path, folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))
    os.lchown(folder, OTHER, OTHER)


def linked(path: Path, folder: Path) -> None:
    target = folder.with_name("target.so")
    path.rename(target)
    path.symlink_to(target)


EXPOSED = {
    "the folder is open to the group": lambda path, folder: folder.chmod(0o775),
    "the folder is open to all": lambda path, folder: folder.chmod(0o1777),
    "the folder above is open to all": lambda path, folder: folder.parent.chmod(0o777),
    "the folder of the program is open to the group": lambda path, folder: path.parent.chmod(0o770),
    "the file is open to the group": lambda path, folder: path.chmod(0o660),
    "the file is a link": linked,
}
FOREIGN = {
    "the file": lambda path, folder: os.chown(path, OTHER, OTHER),
    "the folder of the program": lambda path, folder: os.chown(path.parent, OTHER, OTHER),
    "the folder": lambda path, folder: os.chown(folder, OTHER, OTHER),
    "the folder above": lambda path, folder: os.chown(folder.parent, OTHER, OTHER),
    "a link to the folder": moved_and_linked,
}


@needs_compiler
@needs_modes
def test_a_planted_library_would_be_loaded_where_nobody_else_can_plant(folder):
    planted(folder)
    assert build.load(build.library(SOURCE)).answer() == 666  # so that the tests below can fail


@needs_compiler
@needs_modes
@pytest.mark.parametrize("how", EXPOSED)
def test_what_others_can_write_is_not_loaded(folder, how):
    EXPOSED[how](planted(folder), folder)
    assert build.load(build.library(SOURCE)).answer() == 42
    assert build.load(build.library(SOURCE)).answer() == 42


@needs_compiler
@needs_root
@pytest.mark.parametrize("what", FOREIGN)
def test_what_belongs_to_another_user_is_not_loaded(folder, what):
    FOREIGN[what](planted(folder), folder)
    assert build.load(build.library(SOURCE)).answer() == 42
    assert build.load(build.library(SOURCE)).answer() == 42


@needs_compiler
@needs_modes
def test_the_status_says_why_the_cache_is_not_used(folder):
    folder.mkdir()
    folder.chmod(0o775)
    assert not build.library(SOURCE).is_relative_to(folder)
    assert f"'{folder}' can be changed by others; chmod go-w" in build.status().cache
    second = Path(tempfile.gettempdir()) / f"minertia-kernels-{os.getuid()}"
    assert build.library(SOURCE).is_relative_to(second)  # kept from process to process all the same
    second.chmod(0o777)
    assert not build.library(SOURCE).is_relative_to(second)


@needs_compiler
@needs_modes
def test_without_any_folder_of_our_own_nothing_is_compiled(folder):
    folder.parent.parent.chmod(0o777)
    kernel = BatchKernel(doubling())
    assert kernel.path != "compiled" and works(kernel) and "can be changed by others" in kernel.reason


@needs_compiler
@needs_modes
def test_the_cache_is_private_whatever_the_umask(folder):
    before = os.umask(0o002)
    try:
        path = build.library(SOURCE)
    finally:
        os.umask(before)
    for place in (path, path.parent, folder):
        assert place.is_relative_to(folder) and not place.stat().st_mode & 0o077, place


PLANT = """
for place in "$1" "$1/$2"; do
    touch "$place/evil.so" 2>/dev/null && echo "could write $place"
    mv "$place" "$place-away" 2>/dev/null && echo "could move $place"
done
id -u
"""


@needs_compiler
@needs_root
def test_another_user_cannot_get_at_the_cache(monkeypatch):
    with tempfile.TemporaryDirectory() as name:  # below folders that others may enter, as a home is
        home = Path(name)
        home.chmod(0o755)
        monkeypatch.setenv("MINERTIA_CACHE", str(home / "cache"))
        before = os.umask(0o002)
        try:
            path = build.library(SOURCE)
        finally:
            os.umask(before)
        assert path.is_relative_to(home)
        command = ["/bin/sh", "-c", PLANT, "sh", str(home / "cache"), path.parent.name]
        as_other = {"user": OTHER, "group": os.getgid(), "extra_groups": []}
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **as_other)
        assert (done.stdout, done.stderr) == (f"{OTHER}\n", "")


# ---------------------------------------------------------------------- compilers that compute wrongly

LIE = """#!/bin/sh
sed 's/2\\.0/2.5/' kernel.c > changed.c && mv changed.c kernel.c
exec "$REAL_CC" "$@"
"""


@needs_compiler
@needs_modes
def test_a_compiler_that_computes_wrongly_is_refused(folder, monkeypatch, tmp_path):
    found = build.find_compiler()
    assert found is not None
    wrapper = tmp_path / "liar"
    wrapper.write_text(LIE)
    wrapper.chmod(0o755)
    monkeypatch.setenv("REAL_CC", found.command[0])
    monkeypatch.setenv("CC", f"{wrapper} -DHARMLESS")
    for make in (BatchKernel, compile_function):
        with pytest.raises(build.WrongKernel, match=r"liar -DHARMLESS.* must be .*MINERTIA_KERNELS=interpreter"):
            make(doubling())
    assert not list(folder.rglob("*.so"))
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    assert works(BatchKernel(doubling()))


DANGEROUS = (
    "-ffast-math",
    "-Ofast",
    "-funsafe-math-optimizations",
    "-fassociative-math -fno-signed-zeros -fno-trapping-math",
    "-ffinite-math-only",
    "-fsingle-precision-constant",
    "-freciprocal-math",
    "-mfpmath=387",
    "-fwhole-program",
)
WORST = ("-ffast-math", "-fsingle-precision-constant", "-fwhole-program")


@needs_compiler
@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("clang", "-ffast-math"),
        *(pytest.param("gcc", flags, marks=() if flags in WORST else pytest.mark.slow) for flags in DANGEROUS),
    ],
)
def test_flags_that_change_arithmetic(folder, monkeypatch, name, flags):
    """Every kernel computes what it must, or the compiler is refused by name; the process is left as it was."""
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    program, state = pendulum(), [np.linspace(-40, 40, 30).reshape(10, 3)]
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    wanted = BatchKernel(program)(*state)
    monkeypatch.delenv("MINERTIA_KERNELS")
    monkeypatch.setenv("CC", f"{name} {flags}")
    for make in (BatchKernel, compile_function):
        try:
            kernel = make(program)
        except build.WrongKernel as err:
            assert flags in str(err) and name in str(err)
            continue
        found = kernel(*state) if make is BatchKernel else np.array([kernel(*row) for row in zip(*state, strict=True)])
        assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()
    assert not build._flushes()


@needs_compiler
def test_the_check_leaves_hopeless_programs_alone(folder):
    """What is singular differs by rounding alone, and is no fault of a compiler."""
    g = Graph()
    x, y = g.variables("x", 2)
    outputs = (1.0 / ((x + y) * (x + y) - x * x - 2.0 * (x * y) - y * y), x / ((x + y) - x - y), (1.0 - x) / x)
    kernel = BatchKernel(Program("odd", g, (Port("x", (2,)),), (Port("y", (3,)),), outputs))
    assert kernel.path == "compiled"


def test_a_sample_that_rounding_decides_tells_nothing():
    """Also where one of its results is the same by chance; the samples beside it are held as before."""
    wanted = np.array([[1.0, -2.0, 3.0], [1.0, -2.0, 3.0]])
    rough = np.array([[1.0, 5e3, 3.0], [1.0, -2.0, 3.0]])
    assert difference(np.array([[7.0, 1.0, 4.0], [1.0, -2.0, 3.0]]), wanted, rough) == ""
    assert "is 3.001 where it must be 3" in difference(np.array([[1.0, -2.0, 3.0], [1.0, -2.0, 3.001]]), wanted, rough)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_newtons_steps_from_states_that_do_not_close_are_no_fault_of_a_compiler(folder, monkeypatch, name):
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    monkeypatch.setenv("CC", name)
    program = mi.codegen.build_program(mi.read_robot("delta"), "base_regressor")
    assert BatchKernel(program).path == "compiled"


# ----------------------------------------------------------------------


TWO = """
import numpy as np
from minertia.codegen.kernels.kernel import BatchKernel, torque_program
from minertia.robot.files import read_robot
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
        assert cache._name(path.parent.name, path.read_bytes()) == path.name
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
