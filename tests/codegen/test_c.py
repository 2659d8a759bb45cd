"""The C files: strict compilers, sanitizers, hostile names, single precision, same bytes, reviewed text."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.codegen.generate import generate, load_representatives, write_files
from minertia.codegen.options import Arithmetic, CodeModel, CodeSearch
from minertia.codegen.programs import BUILDERS, build
from minertia.codegen.setting import Setting
from minertia.codegen.targets.c import CStyle, render
from minertia.codegen.targets.names import comment, identifier
from minertia.codegen.targets.selftest import reference
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.online.c_levels import levels_header
from minertia.identification.online.levels import WatchLevels
from minertia.io.errors import MinertiaError
from minertia.robot.variants import smooth_friction
from tests.codegen import robots
from tests.codegen.compiled import COMPILERS, STRICT, call, difference, library, run
from tests.random_robots import random_robot

GOLDEN = Path(__file__).parents[1] / "golden"
HOSTILE = '*/ system("x"); /* \\\n??/ \u00e9"""'
ALL = tuple(BUILDERS)


def _selftest(folder, name, compiler, flags=("-O0",)):
    run([compiler, *STRICT, *flags, f"{name}.c", "selftest.c", "-o", f"test_{compiler}", "-lm"], folder)
    return run([f"./test_{compiler}"], folder)


@pytest.mark.parametrize(
    ("make", "precision", "compiler"),
    [
        *((robots.planar2r, precision, COMPILERS[0]) for precision in ("double", "float") if COMPILERS),
        *(
            pytest.param(robots.puma560, precision, compiler, marks=pytest.mark.slow)
            for precision in ("double", "float")
            for compiler in COMPILERS
        ),
    ],
)
def test_selftest_passes_under_strict_flags(tmp_path, make, compiler, precision):
    for parameters, sincos in (("baked", "own"), ("standard", "libm")):
        folder = tmp_path / parameters
        model, arithmetic = CodeModel(parameters, True, True, payload=True), Arithmetic(precision, sincos)
        programs = ALL if sincos == "own" else ALL[:6]  # each is compiled once in each precision
        robot = make()
        generate(robot, folder, programs=programs, model=model, arithmetic=arithmetic)
        assert "FAILED" not in _selftest(folder, identifier(robot.name), compiler)


def test_selftest_fails_when_the_code_is_wrong(tmp_path):
    generate(robots.planar2r(), tmp_path)
    source = tmp_path / "planar_2r.c"
    source.write_text(source.read_text().replace(" + ", " - ", 1))
    with pytest.raises(AssertionError, match="FAILED"):
        _selftest(tmp_path, "planar_2r", "gcc")


@pytest.mark.parametrize(
    "compiler", [*COMPILERS[:1], *(pytest.param(c, marks=pytest.mark.slow) for c in COMPILERS[1:])]
)
def test_sanitizers_are_quiet(tmp_path, compiler):
    for robot in (robots.planar2r(), random_robot(4, n=4, tree=True)):
        folder = tmp_path / robot.name
        programs = ("inverse_dynamics", "background", "synchronous", "forward_dynamics", "base_regressor_entries")
        generate(robot, folder, programs=programs, model=CodeModel("base"), arithmetic=Arithmetic(sincos="own"))
        flags = ["-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        trial = [compiler, *flags, "-x", "c", "-", "-o", tmp_path / "a.out"]
        if subprocess.run(trial, input=b"int main(void){return 0;}", capture_output=True).returncode:
            pytest.skip("no sanitizers here")
        _selftest(folder, identifier(robot.name), compiler, flags)


def test_angles_stand_as_among_the_inputs(tmp_path):
    """Whatever the recursion needs first: inputs side by side are loaded at once."""
    generate(robots.puma560(), tmp_path, programs=("inverse_dynamics",), arithmetic=Arithmetic(sincos="own"))
    text = (tmp_path / "puma560.c").read_text()
    taken = [k for k in range(6) if f"q[{k}]" in text.partition("_put(&angle[0]")[2].partition("_sincos(")[0]]
    assert len(taken) > 4
    assert f"_put(&angle[0], {', '.join(f'q[{k}]' for k in taken[:4])});" in text


def test_own_sines_keep_their_stated_error_and_never_fail(tmp_path):
    robot = robots.puma560()
    for precision, dtype, reach, error in (("double", np.float64, 1.6e6, 3e-16), ("float", np.float32, 3000.0, 2e-7)):
        folder = tmp_path / precision
        generate(robot, folder, arithmetic=Arithmetic(precision=precision, sincos="own"))
        source = folder / "puma560.c"
        source.write_text(source.read_text().replace("static void puma560_sincos", "void puma560_sincos"))
        lib = library(folder, "puma560", "gcc", ("-O2", "-Wno-missing-prototypes"))
        rng = np.random.default_rng(0)
        x = np.concatenate([rng.uniform(-7, 7, 20000), rng.uniform(-reach, reach, 20000), np.arange(-9, 9) * np.pi / 4])
        x = x[: len(x) // 4 * 4].astype(dtype)
        s, c = np.empty_like(x), np.empty_like(x)
        lib.puma560_sincos(len(x), *(ctypes.c_void_p(a.ctypes.data) for a in (x, s, c)))
        exact = x.astype(np.longdouble)
        assert np.abs(s - np.sin(exact)).max() < error and np.abs(c - np.cos(exact)).max() < error
        far = np.array([1e30, -1e30, np.finfo(dtype).max, 1e9], dtype)
        lib.puma560_sincos(4, *(ctypes.c_void_p(a.ctypes.data) for a in (far, s, c)))
        assert np.all(np.isfinite(s[:4])) and np.all(np.isfinite(c[:4]))


def test_float_is_close_enough(tmp_path):
    robot = robots.puma560(True)
    result = generate(
        robot, tmp_path, programs=("inverse_dynamics",), arithmetic=Arithmetic(precision="float", sincos="own")
    )
    lib = library(tmp_path, "puma560", "gcc")
    setting = Setting(robot)
    program = build(setting, "inverse_dynamics", result.representatives["inverse_dynamics"])
    inputs, wanted = reference(setting, program, samples=200)
    assert difference(call(lib, "puma560", program, inputs, np.float32)["tau"], wanted["tau"]) < 1e-4


def test_a_large_program_warns(monkeypatch):
    assert not generate(robots.planar2r(), None, programs=("gravity",)).notes
    monkeypatch.setattr("minertia.codegen.generate.LONG", 20)
    (note,) = generate(robots.puma560(), None, programs=("inverse_dynamics",)).notes
    assert "the function of inverse_dynamics has" in note and "more than 20" in note


def test_hostile_names_stay_in_comments(tmp_path):
    robot = robots.planar2r()
    joints = tuple(replace(joint, name=f"{HOSTILE}{k}") for k, joint in enumerate(robot.joints))
    robot = replace(robot, name=HOSTILE, joints=joints)
    result = generate(robot, tmp_path, model=CodeModel("standard"))
    prefix = next(path.stem for path in result.files if path.suffix == ".h")
    for compiler in COMPILERS:
        _selftest(tmp_path, prefix, compiler, ["-trigraphs"])
    for target in ("numpy", "matlab"):
        for path in generate(robot, tmp_path / target, target=target).files:
            if path.suffix == ".py":
                compile(path.read_text(), path.name, "exec")


@pytest.mark.parametrize("name", ["selftest", "Self-Test", "SELFTEST", "con", "Main", "README", "*/"])
def test_a_robot_may_have_the_name_of_one_of_our_files(tmp_path, name):
    result = generate(replace(robots.planar2r(), name=name), tmp_path)
    sources = sorted(path.name for path in result.files if path.suffix == ".c")
    assert len(sources) == 2 and "selftest.c" in sources, sources
    (own,) = (path for path in result.files if path.suffix == ".c" and path.name != "selftest.c")
    assert f"{own.stem}_inverse_dynamics(" in own.read_text() and own.stem not in ("con", "main")


@pytest.mark.parametrize("text", ["", "123", "int", "class", "ÄÖ", "a" * 300, "x*/y", "_", "π", "9-lives"])
def test_identifiers_and_comments(text):
    name = identifier(text)
    assert name.isidentifier() and name.isascii() and len(name) <= 60 and name not in ("int", "class")
    written = comment(f"{text}*/ \\ ??/ /* // \r\n\0**//")
    assert not any(bad in written for bad in ("*/", "/*", "//", "\\", "??", "\n", "\r", "\0")) and written.isascii()


@pytest.mark.parametrize("model", [CodeModel(), CodeModel("base", friction=True, payload=True)], ids=["baked", "run"])
def test_the_example_of_the_readme_compiles(tmp_path, model):
    generate(robots.planar2r(), tmp_path, model=model)
    examples = (tmp_path / "README.md").read_text().split("```c\n")[1:]
    assert len(examples) == 2  # one loop, and two rates
    for example in examples:
        (tmp_path / "example.c").write_text(example.split("```")[0])
        run(["gcc", *STRICT, "-c", "example.c"], tmp_path)


@pytest.mark.parametrize(
    ("target", "precision", "parameters"),
    [
        ("c", "double", "base"),
        ("cortex-m", "float", "baked"),
        pytest.param("c", "double", "baked", marks=pytest.mark.slow),
        pytest.param("cortex-m", "float", "base", marks=pytest.mark.slow),
    ],
)
def test_the_watch_passes_its_selftest_and_its_example_compiles(tmp_path, target, precision, parameters):
    robot = replace(robots.planar2r(), effects=({"FC": 0.7, "FV": 0.1}, {"FC": 0.4, "IA": 0.2}))
    generate(robot, tmp_path, programs=["watch_terms"], target=target, model=CodeModel(parameters))
    run(["gcc", *STRICT, "-O1", "selftest.c", "planar_2r.c", "-o", "selftest", "-lm"], tmp_path)
    said = run(["./selftest"], tmp_path)
    assert said.count(" ok ") == 6 and "watch evidence" in said
    source = (tmp_path / "planar_2r.c").read_text()
    (tmp_path / "planar_2r.c").write_text(source.replace("share * input + past * y", "share * input - past * y"))
    run(["gcc", *STRICT, "-O1", "selftest.c", "planar_2r.c", "-o", "selftest", "-lm"], tmp_path)
    assert subprocess.run([tmp_path / "selftest"], capture_output=True).returncode != 0  # it can fail
    levels = WatchLevels(robot.coordinate_names, 200.0, (1.0, 1.0), (0.5, 0.5), (0.1, 0.1), 1.0)
    (tmp_path / "watch_levels.h").write_text(levels_header(levels, robot.name, precision))
    page = (tmp_path / "README.md").read_text()
    assert "do not enter them in a controller" in page
    (tmp_path / "example.c").write_text(page.split("```c\n")[1].split("```")[0])
    run(["gcc", *STRICT, "-c", "example.c"], tmp_path)
    (tmp_path / "use.c").write_text('#include "planar_2r.h"\nint main(void) { return PLANAR_2R_LOAD_MZ - 8; }\n')
    run(["gcc", *STRICT, "use.c", "-o", "use"], tmp_path)
    run(["./use"], tmp_path)


def test_the_readme_of_code_with_a_load_says_what_not_to_enter(tmp_path):
    generate(robots.planar2r(), tmp_path, programs=["inverse_dynamics"], model=CodeModel(payload=True))
    assert "were not determined: take the load for a point mass" in (tmp_path / "README.md").read_text()


def test_the_header_names_every_entry(tmp_path):
    programs = ("inverse_dynamics", "base_regressor", "base_regressor_entries", "recursive_update")
    result = generate(robots.planar2r(), tmp_path, programs=programs, model=CodeModel("standard", payload=True))
    checks = [f"PLANAR_2R_THETA_{name} == {k}" for k, name in enumerate(result.names)]
    checks += ["PLANAR_2R_LOAD_LENGTH == 10", "PLANAR_2R_LOAD_MZ == 8", "PLANAR_2R_BETA_ZZR1 == 0"]
    checks += [f"PLANAR_2R_THETA_LENGTH == {len(result.names)}", "PLANAR_2R_BETA_LENGTH == 6"]
    body = " && ".join(checks)
    (tmp_path / "use.c").write_text(f'#include "planar_2r.h"\nint main(void) {{ return ({body}) ? 0 : 1; }}\n')
    run(["gcc", *STRICT, "use.c", "-o", "use"], tmp_path)
    run(["./use"], tmp_path)
    assert "row 1, entries" in (tmp_path / "planar_2r.h").read_text()


def test_code_has_a_comment_for_every_link_and_the_readme_its_sizes(tmp_path):
    robot = robots.puma560()
    generate(robot, tmp_path, programs=("inverse_dynamics",))
    source, page = (tmp_path / "puma560.c").read_text(), (tmp_path / "README.md").read_text()
    for k, name in enumerate(robot.coordinate_names, start=1):
        assert f"/* joint {k} ({name}) and its link */" in source
        assert f"/* effort of joint {k} ({name}) */" in source
    assert "| function | flash [bytes] | instructions a call |" in page and "`make stack`" in page


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", ["-std=c99 -O2", "-std=c99 -O0"])
def test_the_stack_is_what_the_compiler_measures(tmp_path, compiler, flags):
    """No figure is stated that a compiler has not measured with the flags named beside it."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    generate(robots.puma560(), tmp_path, programs=("inverse_dynamics", "mass_matrix"))
    assert not re.search(r"\|[^\n|]*stack", (tmp_path / "README.md").read_text())
    said = run(["make", "-s", "stack", f"CC={compiler}", f"CFLAGS={flags}"], tmp_path).splitlines()
    assert compiler in said[0] and flags in said[0]
    stated = {name: int(size) for name, size in (line.split() for line in said[1:])}
    run([compiler, *flags.split(), "-fstack-usage", "-c", "puma560.c", "-o", "own.o"], tmp_path)
    rows = [line.split() for line in (tmp_path / "own.su").read_text().splitlines()]
    measured = {row[0].rsplit(":", 1)[-1]: int(row[1]) for row in rows}
    assert stated == measured and {"puma560_inverse_dynamics", "puma560_mass_matrix"} <= set(stated)
    assert flags.endswith("O2") or stated["puma560_inverse_dynamics"] > 560


def test_smooth_friction_is_an_option():
    robot = replace(robots.planar2r(), effects=({"FC": 0.7, "FV": 0.1}, {"FC": 0.4}))
    smooth = smooth_friction(robot, 0.05)
    q, qd = np.zeros((1, 2)), np.array([[0.01, -3.0]])
    wanted = np.array([[0.7 * np.tanh(0.2), -0.4]])
    free = replace(robot, effects=({"FV": 0.1}, {}))
    found = inverse_dynamics(smooth, q, qd, q) - inverse_dynamics(free, q, qd, q)
    assert np.allclose(found, wanted, atol=1e-9)
    assert "tanh(" in render(build(Setting(smooth, friction=True), "inverse_dynamics"), CStyle("x")).definition
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(MinertiaError, match="width of smooth friction"):
            smooth_friction(robot, wrong)
    both = robot.with_parameters({"FCT1": 0.1})
    with pytest.raises(MinertiaError, match="FC1 and FCT1"):
        smooth_friction(both, 0.1)


def test_header_is_cpp(tmp_path):
    generate(robots.planar2r(), tmp_path, model=CodeModel("base"))
    (tmp_path / "use.cpp").write_text('#include "planar_2r.h"\nint main() { return PLANAR_2R_JOINTS == 2 ? 0 : 1; }\n')
    for compiler in ("g++", "clang++"):
        if subprocess.run(["which", compiler], capture_output=True).returncode == 0:
            run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "use.cpp", "-o", "use"], tmp_path)


def test_same_robot_same_bytes_and_replay(tmp_path):
    robot = robots.puma560()
    first = generate(robot, tmp_path / "a", programs=("inverse_dynamics",), search=CodeSearch(effort=0.5))
    kept = load_representatives(tmp_path / "a")
    again = generate(robot, tmp_path / "b", programs=("inverse_dynamics",), search=CodeSearch(representatives=kept))
    assert [p.name for p in first.files] == [p.name for p in again.files]
    for a, b in zip(first.files, again.files, strict=True):
        assert a.read_bytes() == b.read_bytes()
    with pytest.raises(MinertiaError, match="no usable search result"):
        load_representatives(tmp_path / "nothing")


def test_no_half_written_files(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(MinertiaError, match="the folder cannot be created"):
        write_files(tmp_path / "file" / "below", {"a": "text"})
    write_files(tmp_path / "new", {"a": "text"})
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a"]


def test_golden_c(tmp_path):
    """Generated text is reviewed; MINERTIA_UPDATE_GOLDEN=1 accepts a change."""
    programs = ("inverse_dynamics", "background", "synchronous")
    for path in generate(robots.planar2r(), tmp_path, programs=programs, model=CodeModel("base")).files:
        golden = GOLDEN / "planar_2r" / path.name
        lines = path.read_text().splitlines(keepends=True)
        text = "".join(line for line in lines if "minertia wrote this file" not in line)  # without the seal
        if os.environ.get("MINERTIA_UPDATE_GOLDEN"):
            golden.write_text(text)
        assert text == golden.read_text(), f"{path.name} differs from tests/golden"
