"""The functional mock-up unit: valid, right numbers, same bytes, harmless names, sources alone without a compiler."""

from __future__ import annotations

import contextlib
import io
import shutil
import warnings
import zipfile
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.options import Arithmetic, CodeModel
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.codegen.targets import fmu as target
from minertia.codegen.targets.selftest import reference
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot
from tests.codegen import robots
from tests.codegen.compiled import COMPILERS, STRICT, difference, run

HOSTILE = '*/ system("x"); /* \\\n<a & b>]]> ../../é"\'$(x) ${y} \x00\ud800'
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module")
def fmpy():
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return pytest.importorskip("fmpy")


def problems(path):
    from fmpy.validation import validate_fmu

    return validate_fmu(str(path))


def description(path):
    with zipfile.ZipFile(path) as file:
        return ElementTree.fromstring(file.read("modelDescription.xml"))


def hostile(robot):
    joints = tuple(replace(joint, name=f"{HOSTILE}{k}") for k, joint in enumerate(robot.joints))
    return replace(robot, name=HOSTILE, joints=joints)


class Instance:
    """An FMU that runs, reached by the names of its variables."""

    def __init__(self, fmpy, path, fmi_type):
        self.fmi_type = fmi_type
        self.about = fmpy.read_model_description(str(path))
        self.references = {v.name: v.valueReference for v in self.about.modelVariables}
        self.unit = fmpy.instantiate_fmu(fmpy.extract(str(path)), self.about, fmi_type)
        self.unit.setupExperiment(startTime=0.0)
        self.unit.enterInitializationMode()
        self.unit.exitInitializationMode()

    def set(self, name, values):
        self.unit.setReal([self.references[f"{name}[{k + 1}]"] for k in range(len(values))], list(values))

    def get(self, name, size):
        if self.fmi_type == "CoSimulation":
            self.unit.doStep(currentCommunicationPoint=0.0, communicationStepSize=0.01)
        return np.array(self.unit.getReal([self.references[f"{name}[{k + 1}]"] for k in range(size)]))

    def close(self):
        self.unit.terminate()
        self.unit.freeInstance()


@needs_compiler
@pytest.mark.parametrize(
    ("make", "options", "fmi_type"),
    [
        pytest.param(make, options, fmi_type, marks=() if is_quick else pytest.mark.slow)
        for make, options, quick in (
            (robots.puma560, {}, ()),
            (lambda: read_robot("puma560"), {"payload": True, "rotors": True, "friction": True}, ("ModelExchange",)),
            (robots.stanford, {"payload": True}, ()),
            (robots.planar2r, {"parameters": "base", "payload": True}, ("CoSimulation",)),
        )
        for fmi_type in ("CoSimulation", "ModelExchange")
        for is_quick in (fmi_type in quick,)
    ],
)
def test_torques_are_those_of_the_recursion(tmp_path, fmpy, make, options, fmi_type):
    robot = make()
    result = generate(robot, tmp_path, target="fmu", model=CodeModel(**options))
    path = result.files[0]
    assert not result.notes
    assert problems(path) == []
    setting = Setting(robot, **({"parameters": "baked"} | options))
    program = build(setting, "inverse_dynamics", result.representatives["inverse_dynamics"])
    inputs, wanted = reference(setting, program)
    instance = Instance(fmpy, path, fmi_type)
    for name in program.parameters:
        instance.set(name, inputs[name])
    found = np.empty_like(wanted["tau"])
    for k in range(len(found)):
        for name in ("q", "qd", "qdd"):
            instance.set(name, inputs[name][k])
        found[k] = instance.get("tau", found.shape[1])
    instance.close()
    assert difference(found, wanted["tau"]) < 1e-12


@needs_compiler
def test_simulation_and_misuse(tmp_path, fmpy):
    robot = robots.planar2r()
    path = generate(robot, tmp_path, target="fmu", model=CodeModel("base")).files[0]
    rows = np.zeros(3, [("time", float), ("q[1]", float), ("qdd[2]", float)])
    rows["time"], rows["q[1]"], rows["qdd[2]"] = [0, 0.5, 1.0], 0.3, 2.0
    outputs = ["tau[1]", "tau[2]"]
    found = fmpy.simulate_fmu(str(path), input=rows, stop_time=1.0, step_size=0.5, output=outputs)
    from minertia.dynamics import model

    wanted = np.asarray(model.inverse_dynamics(robot, [0.3, 0.0], [0.0, 0.0], [0.0, 2.0]))  # parameters start nominal
    assert difference(np.array([found[name][-1] for name in outputs]), wanted) < 1e-12
    instance = Instance(fmpy, path, "CoSimulation")
    with pytest.raises(Exception, match="fmi2SetReal"):
        instance.set("tau", [1.0, 1.0])
    instance.close()
    with pytest.raises(Exception, match="nstantiate"):
        about = fmpy.read_model_description(str(path))
        about.guid = "{another}"
        fmpy.instantiate_fmu(fmpy.extract(str(path)), about, "CoSimulation")


def test_units_and_order(tmp_path):
    path = generate(robots.stanford(), tmp_path, target="fmu", model=CodeModel(payload=True)).files[0]
    variables = description(path).findall("ModelVariables/ScalarVariable")
    units = {v.get("name"): v.find("Real").get("unit") for v in variables}
    assert (units["q[2]"], units["q[3]"], units["qdd[3]"], units["tau[2]"], units["tau[3]"]) == (
        "rad", "m", "m/s2", "N.m", "N",
    )  # fmt: skip
    assert (units["load[1]"], units["load[7]"], units["load[10]"]) == ("kg.m2", "kg.m", "kg")
    assert [v.get("valueReference") for v in variables] == [str(k) for k in range(len(variables))]
    assert [v.get("causality") for v in variables] == ["input"] * 18 + ["parameter"] * 10 + ["output"] * 6


def test_same_bytes_and_a_guid_of_the_content(tmp_path):
    first, again = (generate(robots.planar2r(), tmp_path / x, target="fmu").files[0].read_bytes() for x in "ab")
    assert first == again
    other = generate(robots.planar2r().with_gravity((0, 0, -1.6)), tmp_path / "c", target="fmu").files[0]
    assert description(other).get("guid") != description(tmp_path / "a" / "planar_2r.fmu").get("guid")


def test_hostile_names_are_harmless(tmp_path, fmpy):
    result = generate(hostile(robots.planar2r()), tmp_path, target="fmu")
    path = result.files[0]
    assert path.parent == tmp_path
    assert problems(path) == []
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
        file.extractall(tmp_path / "open")
    assert all(".." not in name and name.isascii() and name.replace("/", "").replace(".", "").replace("_", "")
               .replace("-", "").isalnum() for name in names)  # fmt: skip
    assert "<a & b>" in description(path).get("modelName")
    sources = [name.removeprefix("sources/") for name in names if name.endswith(".c")]
    for compiler in COMPILERS:
        run([compiler, *STRICT, "-fsyntax-only", *sources], tmp_path / "open" / "sources")
        prefixed = [*STRICT, "-fsyntax-only", "-DFMI2_FUNCTION_PREFIX=arm_"]
        run([compiler, *prefixed, *sources], tmp_path / "open" / "sources")


def test_without_a_compiler_there_are_sources(tmp_path, fmpy, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = generate(robots.planar2r(), tmp_path, target="fmu")
    assert "no C compiler" in result.notes[0] and "sources only" in result.notes[0]
    assert result.to_dict()["notes"] == list(result.notes)
    assert problems(result.files[0]) == []
    with zipfile.ZipFile(result.files[0]) as file:
        assert not [name for name in file.namelist() if name.startswith("binaries")]


def test_an_unknown_system_gets_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(target.sys, "platform", "plan9")
    assert target.compiled({"a.c": "int a;"}, "a", "") == (
        None, "the interface has no name for this system, so a.fmu holds sources only",
    )  # fmt: skip


def test_a_compiler_that_fails_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "false")
    result = generate(robots.planar2r(), tmp_path, target="fmu")
    assert "failed" in result.notes[0]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_binary_that_computes_wrongly_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "gcc -fsingle-precision-constant")
    result = generate(robots.planar2r(), tmp_path, target="fmu")
    assert "gcc -fsingle-precision-constant' makes code that computes wrongly" in result.notes[0]
    with zipfile.ZipFile(result.files[0]) as file:
        assert not [name for name in file.namelist() if name.startswith("binaries")]


@pytest.mark.parametrize(
    ("machine", "system", "folders"),
    [
        ("x86_64", "linux", ["linux64/a.so"]),
        ("aarch64", "linux", ["linux64/a.so", "aarch64-linux/a.so"]),
        ("arm64", "darwin", ["darwin64/a.dylib", "aarch64-darwin/a.dylib"]),
        ("AMD64", "win32", ["win64/a.dll"]),
        ("riscv64", "plan9", []),
    ],
)
def test_folders(monkeypatch, machine, system, folders):
    monkeypatch.setattr(target.platform, "machine", lambda: machine)
    monkeypatch.setattr(target.sys, "platform", system)
    assert list(target.library_paths("a")) == folders


@pytest.mark.parametrize("options", [{"programs": ("gravity", "mass_matrix")}, {"arithmetic": Arithmetic("float")}])
def test_what_does_not_fit_gets_a_sentence(tmp_path, options):
    with pytest.raises(MinertiaError, match="the target 'fmu'"):
        generate(robots.planar2r(), tmp_path / "x", target="fmu", **options)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "name",
    [
        "mass_matrix",
        "recursive_update",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("forward_dynamics", "friction")),
    ],
)
def test_other_programs(tmp_path, fmpy, name):
    path = generate(robots.planar2r(), tmp_path, target="fmu", programs=(name,), model=CodeModel("base")).files[0]
    assert problems(path) == []
    if name == "mass_matrix":
        assert "D[2,1]" in {v.get("name") for v in description(path).iter("ScalarVariable")}


def test_a_floating_base_starts_upright(tmp_path, fmpy):
    robot = robots.planar2r()
    robot = replace(robot, base="floating", base_link=robot.links[0])
    path = generate(robot, tmp_path, target="fmu").files[0]
    assert problems(path) == []
    starts = {v.get("name"): v.find("Real").get("start") for v in description(path).iter("ScalarVariable")}
    assert [starts[f"q[{k}]"] for k in range(4, 8)] == ["0.0", "0.0", "0.0", "1.0"]
    assert len([name for name in starts if name.startswith("tau")]) == 8
