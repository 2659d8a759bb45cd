"""One table of effects: whatever computes efforts computes the same ones, for a robot that has all of them."""

from __future__ import annotations

import importlib.util
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.kernels import build as kernels
from minertia.codegen.kernels.kernel import BatchKernel, compile_function
from minertia.codegen.program import gradient
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.dynamics.model import forward_dynamics, inverse_dynamics, torque_regressor
from minertia.identification.identify import identify
from minertia.identification.model_file import read_model, write_model
from minertia.identification.problem.terms import robot_effects
from minertia.io.errors import InputError, UnknownName
from minertia.robot.effect import INPUTS, JointState
from minertia.robot.effects import EFFECTS, TABLE, WORDS
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from tests.codegen.compiled import COMPILERS, call, library
from tests.codegen.kernel_helpers import PATHS
from tests.every_effect import (
    VALUES,
    coupled_robot,
    plain_constants,
    presliding_efforts,
    robot_with_every_effect,
    temperatures,
)
from tests.identification.motions import Motion, fourier_motion

TIGHT = 1e-12


@pytest.fixture(scope="module")
def robot() -> Robot:
    return robot_with_every_effect()


@pytest.fixture(scope="module")
def motion(robot: Robot) -> Motion:
    found = fourier_motion(robot, 600, 1)
    return with_efforts(robot, replace(found, channels={"temperature": temperatures(len(found.t))}))


def with_efforts(robot: Robot, motion: Motion) -> Motion:
    return replace(motion, tau=efforts(robot, motion))


def efforts(robot: Robot, motion: Motion) -> np.ndarray:
    warmth = motion.channels["temperature"]
    return np.asarray(inverse_dynamics(robot, motion.q, motion.qd, motion.qdd, temperature=warmth))


def inputs(motion: Motion) -> dict[str, np.ndarray]:
    return {"q": motion.q, "qd": motion.qd, "qdd": motion.qdd, "temperature": motion.channels["temperature"]}


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def python_module(folder: Path, name: str):
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------------- the judges of the table


@pytest.fixture(scope="module")
def model(robot: Robot, motion: Motion, tmp_path_factory):
    """Identified without noise, written, and read again."""
    path = tmp_path_factory.mktemp("model") / "model.toml"
    motion = replace(motion, tau=motion.tau + presliding_efforts(robot, motion.q, motion.qd))
    write_model(identify(robot, [motion], effects=robot_effects(robot), estimator="wls").model(), path)
    return path


def test_a_model_loses_nothing_on_its_way_to_code(robot, motion, model, tmp_path):
    """Prediction, inverse dynamics, NumPy code and compiled C of one identified model agree to 1e-9 on a motion."""
    known, given = read_model(model), read_robot(model)
    again = known.to_robot()
    assert again.effect_values == given.effect_values and again.constants == given.constants
    assert set(VALUES) <= set(given.effect_values)
    motion = with_efforts(robot, replace(fourier_motion(robot, 80, 5), channels={"temperature": temperatures(80)}))
    predicted, along = efforts(given, motion), presliding_efforts(given, motion.q, motion.qd)
    assert relative(known.predict(motion), predicted + along) < 1e-9
    assert relative(predicted, motion.tau) < 0.05  # and they are about right
    generate(given, tmp_path, programs=["inverse_dynamics"], target="numpy")
    code = python_module(tmp_path, given.name)
    assert relative(code.inverse_dynamics(**inputs(motion)), predicted) < 1e-9
    result = generate(given, tmp_path, programs=["inverse_dynamics"])
    assert result.effects == given.effect_values
    assert result.notes == ("FP1 are taken as in steady sliding: the code has no memory of the path",)
    program = build(Setting(given, rotors=True, friction=True), "inverse_dynamics")
    for compiler in COMPILERS:
        found = call(library(tmp_path, given.name, compiler), given.name, program, inputs(motion))
        assert relative(found["tau"], predicted) < 1e-9
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in readme for name in given.effect_values)
    generate(given, tmp_path / "m", programs=["inverse_dynamics"], target="matlab")
    text = next((tmp_path / "m").iterdir()).read_text(encoding="utf-8")
    assert all(word in text for word in ("tanh(", "exp(", "abs(", "sign(", "sqrt(", "temperature"))


@pytest.mark.parametrize("name", ["inverse_dynamics", "friction", "synchronous", "forward_dynamics"])
@pytest.mark.parametrize("parameters", ["baked", "standard", "base"])
def test_programs_are_the_recursion(robot, motion, name, parameters):
    from minertia.codegen.targets.selftest import reference

    setting = Setting(robot, parameters, rotors=True, friction=True)
    program = build(setting, name)
    given, wanted = reference(setting, program)
    for port, values in program.evaluate(**given).items():
        assert relative(values, wanted[port]) < 1e-9


@pytest.mark.parametrize("path", PATHS)
def test_kernels_of_every_path_agree(robot, motion, path, monkeypatch):
    monkeypatch.setenv(kernels.PATH_VARIABLE, path)
    program = build(Setting(robot, rotors=True, friction=True), "inverse_dynamics")
    wanted = efforts(robot, motion)
    given = [inputs(motion)[port.name] for port in program.inputs]
    assert relative(BatchKernel(program)(*given), wanted) < TIGHT
    one = compile_function(program)
    assert relative(np.array([one(*row) for row in zip(*given, strict=True)][:50]), wanted[:50]) < TIGHT
    slopes = BatchKernel(gradient(program, ("q", "qd")))
    assert np.isfinite(slopes(*given, np.ones_like(wanted))[0]).all()


def test_gradients_are_differences(robot, motion):
    program = build(Setting(robot, rotors=True, friction=True), "inverse_dynamics")
    swept = gradient(program, ("q", "qd", "qdd"))
    given, step = inputs(motion), 1e-6
    weights = np.random.default_rng(0).normal(size=motion.tau.shape)
    found = swept.evaluate(**given, w_tau=weights)
    fast = np.abs(motion.qd) > 1e-3  # at a turn friction has no slope
    for name in ("q", "qd", "qdd"):
        for j in range(robot.n):
            move = step * np.eye(robot.n)[j]
            ahead, behind = (program.evaluate(**given | {name: given[name] + s * move})["tau"] for s in (1, -1))
            wanted = (weights * (ahead - behind)).sum(axis=1) / (2 * step)
            difference = np.abs(found[f"d_{name}"][:, j] - wanted)[fast.all(axis=1)]
            assert np.median(difference) < 1e-5 * np.abs(wanted).max()
            assert np.mean(difference < 1e-4 * np.abs(wanted).max()) > 0.98  # but where a load changes its sign


def test_forward_dynamics_inverts(robot, motion):
    warmth = motion.channels["temperature"]
    qdd = forward_dynamics(robot, motion.q, motion.qd, motion.tau, temperature=warmth)
    assert relative(qdd, motion.qdd) < 1e-9


def test_the_regressor_times_the_values_is_the_effort(robot, motion):
    warmth = motion.channels["temperature"]
    names = (*robot.columns(True, True), *robot.other_effects)
    values = dict(zip(robot.columns(True, True), robot.parameter_vector(True, True), strict=True))
    chi = np.array([(values | dict(robot.effect_values))[name] for name in names])
    Y = torque_regressor(robot, motion.q, motion.qd, motion.qdd, columns=names, temperature=warmth)
    assert relative(Y @ chi, motion.tau) < TIGHT


def test_motors_that_turn_with_several_joints(motion):
    robot = coupled_robot()
    q, qd, qdd = (a[:, :2] for a in (motion.q, motion.qd, motion.qdd))
    tau = inverse_dynamics(robot, q, qd, qdd)
    assert relative(forward_dynamics(robot, q, qd, tau), qdd) < 1e-9
    G = np.array(robot.coupling)
    v = qd @ G.T
    more = {s: robot.effect_values[f"{s}M2"] for s in ("FCT", "FVC", "FS")}
    without = inverse_dynamics(robot.without_effects(["FCTM2", "FVCM2", "FSM2"]), q, qd, qdd)
    shape = more["FCT"] * np.tanh(v[:, 1] / 0.02) + more["FVC"] * v[:, 1] ** 3
    shape += more["FS"] * np.sign(v[:, 1]) * np.exp(-((v[:, 1] / 0.2) ** 2))
    np.testing.assert_allclose(tau - without, shape[:, None] * G[1], atol=1e-11)


# ---------------------------------------------------------------------- the table itself


@pytest.mark.parametrize("effect", TABLE, ids=lambda e: e.name)
def test_a_row_says_what_its_shape_reads(effect):
    """A shape depends on its inputs and on nothing else; friction dissipates, and by load in proportion."""
    rng = np.random.default_rng(0)
    constants = plain_constants(effect)
    base = {name: rng.uniform(0.2, 1.0) for name in INPUTS}
    start = effect.shape(JointState(**base), constants)
    for name in INPUTS[::-1]:
        if name == "qd":  # the direction of motion matters where the path is unknown
            del base["presliding"]
            start = effect.shape(JointState(**base), constants)
        moved = effect.shape(JointState(**base | {name: -0.5 * base[name]}), constants)
        assert (moved != start) == (name in effect.inputs), name
    if "load" in effect.inputs:
        twice = effect.shape(JointState(**base | {"load": 2 * base["load"]}), constants)
        assert twice == pytest.approx(2 * start)
    if "qd" in effect.inputs and effect.is_nonnegative:
        for qd in (-0.3, 0.3):
            for load in (-2.0, 2.0):
                assert effect.shape(JointState(0.1, qd, 0.0, load, 40.0), constants) * qd >= 0
    if effect.is_bounded:
        every = [effect.shape(JointState(0.0, qd, 0.0), constants) for qd in np.linspace(-3, 3, 101)]
        assert np.abs(every).max() <= 1


@pytest.mark.parametrize("effect", TABLE, ids=lambda e: e.name)
def test_dry_friction_is_told_by_its_row(effect):
    """Dry rows jump with the direction, are its bounds at standstill and nothing without one; others are smooth."""
    constants = plain_constants(effect)

    def at(qd: float, sliding: float | None = None) -> float:
        return effect.shape(JointState(0.3, qd, 0.2, 0.4, 40.0, sliding), constants)

    if effect.is_dry:
        assert at(1e-9) - at(-1e-9) > 0.1 and at(0.0) == 0
        for sliding in (1, -1):
            assert at(0.0, sliding) == pytest.approx(at(1e-9 * sliding))
    else:
        assert at(1e-9) == pytest.approx(at(-1e-9), abs=1e-6)
        assert at(0.4, -1) == at(0.4)
    assert "qdd" not in effect.inputs or effect.inputs == ("qdd",)


def test_driving_and_back_driving_are_the_two_halves_of_friction_by_load():
    by_name = {effect.name: effect.shape for effect in EFFECTS}
    for qd in (-1.0, 0.0, 1.0):
        for load in (-2.0, 2.0):
            s = JointState(0.0, qd, 0.0, load)
            driving, driven, both = (by_name[name](s, {}) for name in ("FLD", "FLB", "FCL"))
            assert driving + driven == both
            assert (driving == 0) == (load * qd <= 0) and (driven == 0) == (load * qd >= 0)


def test_names_words_and_units_are_complete():
    names = [effect.name for effect in EFFECTS]
    assert len(set(names)) == len(names)
    assert [s for symbols in WORDS.values() for s in symbols] == sorted(names, key=lambda n: list(WORDS).index(
        next(e.word for e in EFFECTS if e.name == n)))  # fmt: skip
    assert all(e.unit and e.sliding_unit and e.meaning and e.formula.lstrip("-").startswith(e.name) for e in EFFECTS)


# ---------------------------------------------------------------------- the robot that holds them


def test_robots_travel_between_processes(robot):
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot and again.constants == robot.constants
    with pytest.raises(TypeError):
        again.constants[0]["FS"]["velocity"] = 1.0


def test_effects_are_left_out_by_any_of_their_names(robot):
    assert "KS1" not in robot.without_effects(["KS1"]).effect_values
    assert not {"FCP3", "FCN3"} & set(robot.without_effects(["two_sided_coulomb"]).effect_values)
    assert set(robot.without_effects(["rotors"]).effect_values) == {
        name for name in robot.effect_values if not name.startswith("IA")
    }
    assert {name[:2] for name in robot.without_effects(["friction"]).effect_values} == {"IA"}
    with pytest.raises(UnknownName):
        robot.without_effects(["magic"])


def test_constants_that_must_be_stated_are_asked_for(robot):
    with pytest.raises(InputError, match="FS2.* needs velocity"):
        robot.with_parameters({"FS2": 1.0})
    slow = robot.with_parameters({"FS2": 1.0}, {"FS2": {"velocity": 0.1}})
    assert slow.effect_constants(1, "FS") == {"velocity": 0.1}
