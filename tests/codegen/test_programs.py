"""Every program gives the numbers of the plain recursion: as a schedule on NumPy and as compiled C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from minertia.codegen.formulation import Formulation
from minertia.codegen.generate import generate
from minertia.codegen.options import Arithmetic, CodeModel
from minertia.codegen.program import Program
from minertia.codegen.programs import BUILDERS, build
from minertia.codegen.search import _OperationSearch, representative
from minertia.codegen.setting import PARAMETERS, Representative, Setting
from minertia.codegen.targets.selftest import reference
from minertia.io.errors import MinertiaError, MissingParameters, UnknownName
from minertia.robot.files import read_robot
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.urdf.read import parse_urdf
from tests.codegen import robots
from tests.codegen.compiled import COMPILERS, call, difference, library
from tests.codegen.kernel_helpers import WITH_CODE, programs_of
from tests.perturbed import perturbed_urdf
from tests.random_robots import random_robot

ROBOTS = {
    "planar2r": robots.planar2r(),
    "puma560": robots.puma560(),
    "stanford": robots.stanford(),
    "prismatic": random_robot(5),
    "tree": random_robot(4, tree=True, mimic=True),
    "floating": random_robot(6, floating=True),
}
LONG = {
    name: pytest.mark.slow for name in ("puma560", "stanford", "floating", "prismatic", "tree")
}  # to compile with every program
LATER = {name: pytest.mark.slow for name in COMPILERS[1:]}  # the same code, by another compiler
TOLERANCE = dict.fromkeys((name for name in BUILDERS if "forward_dynamics" in name), 1e-9)  # condition of D


QUICK = ("tree", "floating")  # with joints that slide and joints that follow others
SCHEDULES = [  # of larger robots one each, they take seconds
    pytest.param(
        *(robot, parameters, effects),
        id=f"{name}-{parameters}-{'effects' if effects else 'links'}",
        marks=() if effects and (name == "planar2r" or parameters == "base" and name in QUICK) else pytest.mark.slow,
    )
    for name, robot in ROBOTS.items()
    for parameters in PARAMETERS
    for effects in (False, True)
]


@pytest.mark.parametrize(("robot", "parameters", "effects"), SCHEDULES)
def test_schedule_equals_recursion(robot, parameters, effects):
    setting = Setting(robot, parameters, rotors=effects, friction=effects, payload=effects)
    for name in programs_of(robot):
        program = build(setting, name, representative(setting, name))
        inputs, wanted = reference(setting, program, seed=3)
        found = program.evaluate(**inputs)
        for port in program.ports:
            assert difference(found[port.name], wanted[port.name]) < TOLERANCE.get(name, 1e-12), (name, port.name)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (1.1, 2.3, -9.2)], ids=["along", "anywhere"])
@pytest.mark.parametrize("unit", [None, 2, 5])
def test_a_unit_of_force_and_gravity_anywhere_change_no_torque(unit, gravity):
    robot = replace(robots.stanford(), gravity=gravity)
    setting = Setting(robot, "baked")
    masses = [name for name in setting.base.kept if name.startswith("M") and name[1:].isdigit()]
    assert masses == ["M3"]  # the other unit is no number, so it is not taken
    choice = Representative(setting.base.kept, Formulation(unit=unit))
    assert Representative.from_dict(choice.to_dict()) == replace(choice, shifts=())
    program = build(setting, "inverse_dynamics", choice)
    inputs, wanted = reference(setting, program, seed=3)
    assert difference(program.evaluate(**inputs)["tau"], wanted["tau"]) < 1e-12
    if unit == 2:
        assert program.operations[0] < build(setting, "inverse_dynamics", Representative(choice.kept)).operations[0]


class Written(NamedTuple):
    """Code of a robot in a folder, and for every program what it is to give for some inputs."""

    folder: Path
    prefix: str
    cases: tuple[tuple[Program, dict[str, np.ndarray], dict[str, np.ndarray]], ...]


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Callable[[str, str], Written]:
    """Code of a robot with some parameters, generated once for all compilers."""

    @cache
    def of(name: str, parameters: str) -> Written:
        robot, folder = ROBOTS[name], tmp_path_factory.mktemp(name)
        arithmetic = Arithmetic(sincos={"baked": "libm", "base": "own"}[parameters])
        programs, model = programs_of(robot), CodeModel(parameters)
        result = generate(robot, folder, programs=programs, model=model, arithmetic=arithmetic)
        has = bool(robot.effect_values)  # what the robot has is in the code
        setting = Setting(robot, parameters, rotors=has, friction=has)
        built = [build(setting, name, result.representatives.get(name)) for name in programs]
        prefix = next(path.stem for path in result.files if path.suffix == ".h")
        return Written(folder, prefix, tuple((p, *reference(setting, p, seed=5)) for p in built))

    return of


@pytest.mark.parametrize(
    ("name", "compiler"),
    [
        pytest.param(name, compiler, id=f"{name}-{compiler}", marks=LONG.get(name, LATER.get(compiler, ())))
        for name in ROBOTS
        for compiler in COMPILERS
    ],
)
def test_compiled_c_equals_recursion(name, compiler, written):
    for parameters in ("baked", "base"):
        code = written(name, parameters)
        lib = library(code.folder, code.prefix, compiler, ("-O1" if ROBOTS[name].n > 2 else "-O0",))
        for program, inputs, wanted in code.cases:
            found = call(lib, code.prefix, program, inputs)
            most = TOLERANCE.get(program.name, 1e-12)
            for port in program.ports:
                assert difference(found[port.name], wanted[port.name]) < most, (program.name, port.name)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in ("puma560", "scara", "palletiser") else pytest.mark.slow) for n in WITH_CODE],
)
def test_bundled_robots(name):
    robot = read_robot(name)
    setting = Setting(robot, "standard", rotors=True, friction=True)
    for program_name in ("inverse_dynamics", "background", "base_regressor_entries"):
        program = build(setting, program_name, representative(setting, program_name))
        inputs, wanted = reference(setting, program)
        found = program.evaluate(**inputs)
        for port in program.ports:
            assert difference(found[port.name], wanted[port.name]) < 1e-12


@pytest.mark.parametrize("name", ["puma560", "stanford", "ur10e"])
def test_columns_of_a_file_with_rounded_angles_are_told_apart(name):
    """What rounding leaves between axes that are meant to be aligned makes no column independent."""
    text = perturbed_urdf(name, "angles of 5 digits", 0)
    search = _OperationSearch(Setting(parse_urdf(text, "x.urdf", ReadOptions(snap=0)), "base"), "inverse_dynamics", 0)
    for shifts in search._shifts():
        kept = [search.columns.index(column) for column in search._from_tips(shifts)]
        assert np.linalg.cond(search._K(shifts)[:, kept]) < 100


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=() if s in (1, 2, 3, 4) else pytest.mark.slow) for s in range(12)]
)
def test_every_representative_and_formulation_has_the_same_torques(seed):
    robot = random_robot(seed, tree=seed % 2 == 0, floating=seed % 3 == 0, n=5) if seed else read_robot("ur10e")
    setting = Setting(robot, "standard")
    search, rng = _OperationSearch(setting, "inverse_dynamics", seed), np.random.default_rng(seed)
    for choice in search.starts():
        point = search._point(choice)
        for _ in range(6):
            point = search._exchanged(point)
        switches = [s for s in search._switches() if rng.random() < 0.6]
        chosen = {kind: frozenset(j for k, j in switches if k == kind) for kind in ("turns", "moments", "forces")}
        names = tuple(search.columns[c] for c in sorted(point.kept))
        choice = Representative(names, Formulation(**chosen), choice.shifts)
        for name in ("inverse_dynamics", "background_parts"):
            program = build(setting, name, choice)
            inputs, wanted = reference(setting, program)
            found = program.evaluate(**inputs)
            for port in program.ports:
                assert difference(found[port.name], wanted[port.name]) < 1e-11


def test_essential_parameters_leave_the_others_out():
    robot = robots.puma560()
    whole = Setting(robot, "base")
    few = replace(whole, essential=whole.base.names[:9])
    programs = [build(s, "inverse_dynamics", representative(s, "inverse_dynamics")) for s in (whole, few)]
    assert programs[1].inputs[-1].size == 9
    assert sum(programs[1].operations) < sum(programs[0].operations) / 2


def test_motor_efforts_through_coupled_drives():
    robot = replace(robots.planar2r(), coupling=((50.0, 0.0), (-20.0, 40.0)), motor_effects=({}, {"IAM": 1e-3}))
    setting = Setting(robot, "base", rotors=True, friction=True, motors=True)
    joints = build(replace(setting, motors=False), "inverse_dynamics")
    inputs, wanted = reference(setting, joints)
    for name in ("inverse_dynamics", "synchronous", "forward_dynamics"):
        program = build(setting, name)
        given, wanted = reference(setting, program)
        for port in program.ports:
            assert difference(program.evaluate(**given)[port.name], wanted[port.name]) < 1e-11
    at_joints = joints.evaluate(**inputs)["tau"]
    at_motors = build(setting, "inverse_dynamics").evaluate(**inputs)["tau"]
    assert np.allclose(at_motors @ np.array(robot.coupling), at_joints)
    with pytest.raises(MinertiaError, match="not coupled"):
        Setting(robots.planar2r(), motors=True)


@pytest.mark.slow
def test_sixty_joints_finish():
    robot = random_robot(1, n=60)
    setting = Setting(robot, "base")
    program = build(setting, "inverse_dynamics", representative(setting, "inverse_dynamics"))
    inputs, wanted = reference(setting, program, samples=2)
    assert difference(program.evaluate(**inputs)["tau"], wanted["tau"]) < 1e-10


def test_wrong_requests_are_named():
    robot = robots.planar2r()
    with pytest.raises(UnknownName, match="did you mean 'gravity'"):
        build(Setting(robot), "gravty")
    with pytest.raises(UnknownName):
        Setting(robot, "bakd")
    with pytest.raises(UnknownName, match="base parameter"):
        build(Setting(robot, "base", essential=("XX9",)), "gravity")
    with pytest.raises(MinertiaError, match="not a finite number"):
        build(Setting(robot, values=(float("nan"),) * 6), "gravity")
    with pytest.raises(MissingParameters):
        build(Setting(read_robot("rx90")), "gravity")
