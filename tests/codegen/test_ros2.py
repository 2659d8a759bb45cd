"""The ROS 2 plugin: compiles against stubs of what ROS provides, gives the right numbers, harmless names."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import minertia as mi
from minertia.codegen.generate import generate
from minertia.codegen.options import Arithmetic, CodeModel
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.codegen.targets import ros2
from minertia.codegen.targets.selftest import reference
from minertia.dynamics.loops.closing import closing_of
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot
from tests.codegen import robots
from tests.codegen.compiled import STRICT, difference, run
from tests.codegen.ros_stub import write_stub
from tests.codegen.test_fmu import hostile
from tests.codegen.test_loops import servo_motion
from tests.dynamics.test_loops import with_drives
from tests.loop_robots import four_bar, ram, spatial_loops

STRICT_CPP = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-O0")
EIGEN = Path("/usr/include/eigen3")
needs_compiler = pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("g++")), reason="no gcc and g++")


@pytest.fixture(scope="module")
def main(tmp_path_factory) -> Path:
    """The stub's program, which is the same for every plugin."""
    stub = write_stub(tmp_path_factory.mktemp("stub"))
    run(["g++", *STRICT_CPP, "-Iinclude", "-c", "main.cpp", "-o", "main.o"], stub)
    return stub / "main.o"


def compiled(folder: Path, main: Path, eigen: Path | None = None) -> Path:
    """The plugin with the stub's program; eigen: the real library instead of the stub's."""
    stub = main.parent
    package = next((folder / "include").iterdir())
    sources = [str(p.relative_to(folder)) for p in sorted((folder / "src").iterdir())]
    (c,) = (name for name in sources if name.endswith(".c"))
    (cpp,) = (name for name in sources if name.endswith(".cpp"))
    includes = ["-Iinclude", f"-I{package}"]
    if eigen is not None:
        stub, main = write_stub(folder / "stub"), folder / "stub" / "main.cpp"
        shutil.rmtree(stub / "include" / "Eigen")
        includes += ["-isystem", str(eigen)]
    includes += [f"-I{stub / 'include'}"]
    run(["gcc", *STRICT, *includes, "-c", c, "-o", "arm.o"], folder)
    run(["g++", *STRICT_CPP, *includes, cpp, str(main), "arm.o", "-o", "run"], folder)
    return folder / "run"


def text(parameters, states) -> str:
    """What the stub's program reads."""
    words = [len(parameters)]
    for name, values in parameters.items():
        words += [name, len(values), *(repr(float(v)) for v in values)]
    samples, n = states[0].shape
    words += [n, samples]
    for k in range(samples):
        words += [repr(float(v)) for part in states for v in part[k]]
    return " ".join(map(str, words))


def answers(program: Path, parameters, states) -> str:
    done = subprocess.run([str(program)], input=text(parameters, states), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_numbers(program, setting, result):
    """All five methods against the recursion."""
    wanted, inputs = {}, {}
    for name in ros2.PROGRAMS:
        own = build(setting, name, result.representatives.get(name))
        given, found = reference(setting, own)
        inputs |= given
        wanted |= found
    parameters = {name: inputs[name] for name in ("theta", "load") if name in inputs}
    states = [inputs[name] for name in ("q", "qd", "qdd")]
    found = np.array([line.split() for line in answers(program, parameters, states).splitlines()], float)
    start = 0
    for name in ("D", "h", "g", "f", "tau"):
        part = wanted[name].reshape(len(found), -1)
        assert difference(found[:, start : start + part.shape[1]], part) < 1e-12, name
        start += part.shape[1]
    assert start == found.shape[1]
    assert np.any(wanted["f"]) == setting.friction
    whole = np.einsum("kij,kj->ki", wanted["D"], states[2]) + wanted["h"] + wanted["g"] + wanted["f"]
    assert difference(found[:, -whole.shape[1] :], whole) < 1e-11


@needs_compiler
@pytest.mark.parametrize(
    ("make", "options"),
    [
        pytest.param(robots.puma560, {}, marks=pytest.mark.slow),
        pytest.param(
            *(lambda: read_robot("puma560"), {"payload": True, "rotors": True, "friction": True}),
            marks=pytest.mark.slow,
        ),
        (robots.planar2r, {"parameters": "base"}),
    ],
)
def test_numbers_are_those_of_the_recursion(tmp_path, main, make, options):
    robot = make()
    result = generate(robot, tmp_path, target="ros2", model=CodeModel(**options))
    check_numbers(compiled(tmp_path, main), Setting(robot, **({"parameters": "baked"} | options)), result)


@needs_compiler
@pytest.mark.parametrize(
    "make", [pytest.param(four_bar, id="dyad", marks=pytest.mark.slow), pytest.param(lambda: ram("slider"), id="steps")]
)
def test_loops_are_closed_from_call_to_call(tmp_path, main, make):
    """Friction of passive joints depends on positions, which the function of friction does not get: it is in tau."""
    robot = with_drives(make())
    result = generate(robot, tmp_path, target="ros2")
    assert any("leaves out FV2, FC2" in note for note in result.notes)
    program = compiled(tmp_path, main)
    q, qd, qdd = states = servo_motion(robot, 0.02)
    found = np.array([line.split() for line in answers(program, {}, states).splitlines()], float)
    D, g = mi.dynamics.mass_matrix(robot, q), mi.dynamics.gravity_torques(robot, q)
    own = replace(robot, effects=tuple({} if joint.is_passive else robot.effects[0] for joint in robot.joints))
    f = mi.inverse_dynamics(own, q, qd, qdd) - mi.inverse_dynamics(own.without_effects(["friction"]), q, qd, qdd)
    parts = [
        D.reshape(len(q), -1),
        mi.dynamics.velocity_torques(robot, q, qd),
        g,
        f,
        mi.inverse_dynamics(robot, q, qd, qdd),
    ]
    assert difference(found, np.hstack(parts)) < 1e-10
    if closing_of(robot).iterated:
        jump = [np.array([q[0], q[0] + 2.2]), np.zeros((2, 1)), np.zeros((2, 1))]  # steps end on the other branch
        assert "the loops do not close from where they were" in answers(program, {}, jump).splitlines()[1]


@pytest.mark.slow
@needs_compiler
def test_loops_that_do_not_close_are_an_exception(tmp_path, main):
    robot = spatial_loops(6).numeric
    generate(robot, tmp_path, target="ros2")
    seed = closing_of(robot).seed[closing_of(robot).active]
    jump = [np.array([seed, seed + 3.0]), np.zeros((2, robot.n)), np.zeros((2, robot.n))]
    said = answers(compiled(tmp_path, main), {}, jump).splitlines()
    assert len(said[0].split()) == robot.n * (robot.n + 4) and "the loops do not close from where they were" in said[1]


@pytest.mark.slow
@needs_compiler
@pytest.mark.skipif(not EIGEN.is_dir(), reason="Eigen is not installed")
def test_with_the_real_eigen(tmp_path, main):
    robot = robots.planar2r()
    result = generate(robot, tmp_path, target="ros2", model=CodeModel(payload=True))
    check_numbers(compiled(tmp_path, main, EIGEN), Setting(robot, payload=True), result)


@needs_compiler
def test_a_floating_base_compiles(tmp_path, main):
    robot = robots.planar2r()
    result = generate(replace(robot, base="floating", base_link=robot.links[0]), tmp_path, target="ros2")
    assert "quaternion x y z w" in next(path for path in result.files if path.suffix == ".hpp").read_text()
    assert "joint_positions has 2 entries; this robot needs 9" in answers(
        compiled(tmp_path, main), {}, [np.zeros((1, 2))] * 3
    )


@needs_compiler
def test_wrong_sizes_and_parameters_get_a_sentence(tmp_path, main):
    """Parameters of which there are no nominal values must be given."""
    bare = replace(robots.planar2r(), links=(), effects=())
    generate(bare, tmp_path, target="ros2", model=CodeModel("base", payload=True))
    program = compiled(tmp_path, main)
    three = [np.zeros((1, 3))] * 3
    given = {"theta": np.ones(Setting(bare, "base").base.count), "load": np.zeros(10)}
    assert "joint_positions has 3 entries; this robot needs 2" in answers(program, given, three)
    two = [np.zeros((1, 2))] * 3
    wrong = given | {"load": [1, 2, 3]}
    assert "the parameter 'arm.load' has 3 numbers; this robot needs 10" in answers(program, wrong, two)
    assert "'arm.theta' with " in answers(program, {}, two)


@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
@needs_compiler
@pytest.mark.parametrize("is_hostile", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_package_builds_and_passes_its_test(tmp_path, is_hostile):
    robot = hostile(robots.planar2r()) if is_hostile else robots.planar2r()
    generate(robot, tmp_path / "package", target="ros2", model=CodeModel("standard", payload=True))
    stub = write_stub(tmp_path / "stub")
    build_folder = str(tmp_path / "build")
    where = [f"-DCMAKE_PREFIX_PATH={stub / 'cmake'}", f"-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror -I{stub / 'include'}"]
    for name in ("ament_cmake", "Eigen3", "rclcpp", "pluginlib", "inverse_dynamics_solver"):
        where.append(f"-D{name}_DIR={stub / 'cmake' / name}")
    run(["cmake", "-S", str(tmp_path / "package"), "-B", build_folder, *where], tmp_path)
    run(["cmake", "--build", build_folder], tmp_path)
    run(["ctest", "--output-on-failure"], build_folder)
    package = ElementTree.parse(tmp_path / "package" / "package.xml").getroot()
    plugin = ElementTree.parse(tmp_path / "package" / "plugins.xml").getroot()
    assert package.findtext("name") == plugin.get("path")
    assert any(plugin.get("path") in name for name in os.listdir(build_folder) if name.startswith("lib"))


@needs_compiler
def test_hostile_names_are_harmless(tmp_path, main):
    result = generate(hostile(robots.planar2r()), tmp_path, target="ros2", model=CodeModel("standard", friction=True))
    names = [path.relative_to(tmp_path).as_posix() for path in result.files]
    assert all(".." not in name and name.isascii() for name in names)
    for path in result.files:
        content = path.read_text()
        assert "\x00" not in content
        if path.suffix == ".xml":
            ElementTree.fromstring(content)
        if path.name == "CMakeLists.txt":
            assert "$(" not in content and "${y}" not in content and "system(" not in content
    if not shutil.which("cmake"):  # else the test above has built such a package
        compiled(tmp_path, main)


def test_same_bytes(tmp_path):
    first, again = (generate(robots.planar2r(), tmp_path / x, target="ros2") for x in "ab")
    assert [p.read_bytes() for p in first.files] == [p.read_bytes() for p in again.files]


@pytest.mark.parametrize(
    ("options", "word"),
    [({"programs": ("gravity",)}, "mass_matrix"), ({"arithmetic": Arithmetic("float")}, "double precision")],
)
def test_what_does_not_fit_gets_a_sentence(tmp_path, options, word):
    with pytest.raises(MinertiaError, match=word):
        generate(robots.planar2r(), tmp_path / "x", target="ros2", **options)
    assert not (tmp_path / "x").exists()
