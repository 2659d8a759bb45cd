"""Programs as functions of Python: NumPy, JAX, PyTorch; the CUDA ones where there is a device."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import minertia as mi
from minertia.base.numeric import random_states
from minertia.io.errors import MinertiaError, MissingExtra, ShapeError, UnknownName
from tests.codegen import robots
from tests.random_robots import random_robot

has = importlib.util.find_spec
needs_jax = pytest.mark.skipif(has("jax") is None, reason="JAX is not installed")
needs_torch = pytest.mark.skipif(has("torch") is None, reason="PyTorch is not installed")


def robot_of(name: str) -> mi.Robot:
    robot = mi.read_robot(name)
    if robot.has_parameters:
        return robot
    values = np.random.default_rng(0).uniform(0.5, 1.5, len(robot.columns(False, False)))
    return robot.with_parameters(dict(zip(robot.columns(False, False), values.tolist(), strict=True)))


@pytest.fixture(scope="module")
def state():
    robot = robot_of("puma560_physical")
    return robot, [np.asarray(part) for part in random_states(robot, 20, 3)]


def test_on_the_processor(state):
    robot, (q, qd, qdd) = state
    torques = mi.compile(mi.codegen.build_program(robot, "inverse_dynamics"))
    np.testing.assert_allclose(torques(q, qd, qdd), mi.inverse_dynamics(robot, q, qd, qdd), rtol=1e-11, atol=1e-11)


@pytest.fixture
def jax():
    found = pytest.importorskip("jax")
    found.config.update("jax_enable_x64", True)
    return found


@needs_jax
def test_jax_values_and_gradients(jax):
    robot = random_robot(3, n=2)  # derivatives of more joints take JAX many seconds
    q, qd, qdd = (np.asarray(part) for part in random_states(robot, 20, 3))
    program = mi.codegen.build_program(robot, "inverse_dynamics", model=mi.options.CodeModel("base"))
    theta = mi.base_parameters(robot, rotors=True, friction=True).values()
    torques = mi.codegen.to_jax(program)
    wanted = np.asarray(mi.inverse_dynamics(robot, q, qd, qdd))
    np.testing.assert_allclose(jax.jit(torques)(q, qd, qdd, theta), wanted, rtol=1e-10, atol=1e-10)
    one = jax.vmap(torques, in_axes=(0, 0, 0, None))(q, qd, qdd, theta)
    np.testing.assert_allclose(one, wanted, rtol=1e-10, atol=1e-10)
    *found, columns = jax.jacobian(torques, argnums=(0, 1, 2, 3))(q[0], qd[0], qdd[0], theta)
    np.testing.assert_allclose(columns @ theta, wanted[0], rtol=1e-9, atol=1e-9)  # linear: the regressor
    np.testing.assert_allclose(found[2], mi.dynamics.mass_matrix(robot, q[0], rotors=True), rtol=1e-9, atol=1e-9)
    for slope, ours in zip(found, mi.dynamics.inverse_dynamics_derivatives(robot, q[0], qd[0], qdd[0]), strict=True):
        np.testing.assert_allclose(slope, ours, rtol=1e-9, atol=1e-9)


@needs_jax
def test_jax_takes_many_samples(state, jax):
    robot, _ = state
    q, qd, qdd = (np.asarray(part) for part in random_states(robot, 100_000, 4))
    found = np.asarray(jax.jit(mi.codegen.to_jax(mi.codegen.build_program(robot, "inverse_dynamics")))(q, qd, qdd))
    np.testing.assert_allclose(found, mi.inverse_dynamics(robot, q, qd, qdd), rtol=1e-9, atol=1e-9)


@needs_jax
@pytest.mark.slow
def test_jax_has_the_dynamics_of_a_floating_base(jax):
    """Poses are quaternions there, rates are not: one number fewer."""
    robot = random_robot(6, floating=True, tree=True, n=1)
    q, qd, qdd = (np.asarray(part) for part in random_states(robot, 3, 4))
    efforts, accelerations = (
        jax.jit(mi.codegen.to_jax(mi.codegen.build_program(robot, name)))
        for name in ("inverse_dynamics", "forward_dynamics")
    )
    found = np.asarray(efforts(q, qd, qdd))
    np.testing.assert_allclose(found, mi.inverse_dynamics(robot, q, qd, qdd), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(accelerations(q, qd, found), qdd, rtol=1e-8, atol=1e-8)


@needs_torch
def test_torch_values_and_gradients(state):
    import torch

    robot, (q, qd, qdd) = state
    torques = mi.codegen.to_torch(
        mi.codegen.build_program(robot, "inverse_dynamics", model=mi.options.CodeModel("base"))
    )
    theta = torch.tensor(mi.base_parameters(robot, rotors=True, friction=True).values(), requires_grad=True)
    tensors = [torch.tensor(x) for x in (q, qd, qdd)]
    found = torques(*tensors, theta)
    wanted = np.asarray(mi.inverse_dynamics(robot, q, qd, qdd))
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-10, atol=1e-10)
    (found**2).sum().backward()
    columns = torch.func.jacrev(torques, argnums=3)(*tensors, theta.detach())
    slope = 2 * np.einsum("kij,ki->j", columns.numpy(), wanted)
    np.testing.assert_allclose(theta.grad, slope, rtol=1e-9, atol=1e-9 * np.abs(slope).max())


@needs_jax
def test_generated_module_of_jax(tmp_path, state, jax):
    robot, (q, qd, qdd) = state
    mi.generate(robot, tmp_path / "code", programs=["inverse_dynamics", "mass_matrix"], target="jax")
    (path,) = [p for p in (tmp_path / "code").iterdir() if p.suffix == ".py"]
    spec = importlib.util.spec_from_file_location("generated_jax", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    D = np.asarray(jax.jit(module.mass_matrix)(q))
    np.testing.assert_allclose(D, mi.dynamics.mass_matrix(robot, q, rotors=True), rtol=1e-10, atol=1e-10)


def test_what_cannot_be_compiled(state, monkeypatch):
    robot, (q, qd, qdd) = state
    program = mi.codegen.build_program(robot, "inverse_dynamics")
    with pytest.raises(UnknownName, match="device"):
        mi.compile(program, device="tpu")
    with pytest.raises(MinertiaError, match="double precision"):
        mi.compile(program, precision="float")
    with pytest.raises(MinertiaError, match="program"):
        mi.compile("inverse_dynamics")
    with pytest.raises(UnknownName, match="program"):
        mi.codegen.build_program(robot, "no_such_program")
    if has("cupy") is None:
        with pytest.raises(MissingExtra, match=r"minertia\[gpu\]"):
            mi.compile(program, device="cuda")


# ---------------------------------------------------------------- on a CUDA device


@pytest.fixture(scope="module")
def cupy():
    found = pytest.importorskip("cupy")
    try:
        found.cuda.runtime.getDeviceCount()
    except found.cuda.runtime.CUDARuntimeError:
        pytest.skip("no CUDA device")
    return found


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "base_regressor", "mass_matrix"])
@pytest.mark.parametrize("parameters", ["baked", "base"])
@pytest.mark.parametrize("is_joint_major", [False, True])
def test_device_equals_processor(cupy, state, name, parameters, is_joint_major):
    robot, _ = state
    program = mi.codegen.build_program(robot, name, model=mi.options.CodeModel(parameters))
    rng = np.random.default_rng(0)
    given = {
        p.name: rng.uniform(-1, 1, p.shape if p.name in program.parameters else (1000, *p.shape))
        for p in program.inputs
    }
    if "theta" in given:
        given["theta"] = np.asarray(mi.base_parameters(robot, rotors=True, friction=True).values())
    wanted = mi.compile(program)(*given.values())

    def put(x):
        if x.ndim == 1 or not is_joint_major:
            return cupy.asarray(x)
        return cupy.moveaxis(cupy.ascontiguousarray(cupy.moveaxis(cupy.asarray(x), 0, -1)), -1, 0)

    found = mi.compile(program, device="cuda")(*(put(x) for x in given.values()))
    np.testing.assert_allclose(cupy.asnumpy(found), wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("joints", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("precision", ["double", "float"])
def test_rows_of_any_length_on_the_device(cupy, joints, precision):
    """Rows are read in vectors or through shared memory, by their length; arrays may start anywhere."""
    robot = robots.general(joints)
    states = [np.asarray(x) for x in random_states(robot, 1001, 0)]
    wanted = mi.inverse_dynamics(robot, *states)
    torques = mi.compile(mi.codegen.build_program(robot, "inverse_dynamics"), device="cuda", precision=precision)
    dtype, error = {"double": ("float64", 1e-11), "float": ("float32", 1e-4)}[precision]

    def shifted(x):
        """The same rows, one entry behind the start of the memory."""
        memory = cupy.zeros(x.size + 1, dtype)
        memory[1:] = cupy.asarray(x, dtype).ravel()
        return memory[1:].reshape(x.shape)

    for put in (lambda x: cupy.asarray(x, dtype), lambda x: cupy.asarray(np.ascontiguousarray(x.T), dtype).T, shifted):
        found = cupy.asnumpy(torques(*(put(x) for x in states)))
        np.testing.assert_allclose(found, wanted, rtol=error, atol=error * np.abs(wanted).max())
    out = shifted(np.zeros((1001, joints)))
    torques(*(shifted(x) for x in states), out=out)
    np.testing.assert_allclose(cupy.asnumpy(out), wanted, rtol=error, atol=error * np.abs(wanted).max())


@pytest.mark.parametrize("name", ["palletiser", "five_bar", "delta"])
def test_loops_on_the_device(cupy, name):
    """In closed form, and by Newton's steps, which hand on what they found."""
    robot = mi.read_robot(name)
    q, qd, qdd = random_states(robot, 1000, 0)
    program = mi.codegen.build_program(robot, "inverse_dynamics")
    passive = [mi.dynamics.passive_start(robot, q)] if len(program.inputs) > 3 else []
    wanted = mi.compile(program)(q, qd, qdd, *passive)
    found = mi.compile(program, device="cuda")(*(cupy.array(x, order="C") for x in (q, qd, qdd, *passive)))
    for ours, theirs in zip(wanted, found, strict=True) if passive else ((wanted, found),):
        assert np.abs(cupy.asnumpy(theirs) - ours).max() < 1e-12 * max(1.0, np.abs(ours).max())


def test_other_frameworks_keep_their_arrays(cupy, state):
    torch = pytest.importorskip("torch")
    robot, (q, qd, qdd) = state
    torques = mi.compile(mi.codegen.build_program(robot, "inverse_dynamics"), device="cuda")
    found = torques(*(torch.tensor(x, device="cuda") for x in (q, qd, qdd)))
    assert isinstance(found, torch.Tensor) and found.is_cuda
    np.testing.assert_allclose(found.cpu(), mi.inverse_dynamics(robot, q, qd, qdd), rtol=1e-11, atol=1e-11)


def test_wrong_arrays_on_the_device(cupy, state):
    robot, (q, qd, qdd) = state
    torques = mi.compile(mi.codegen.build_program(robot, "inverse_dynamics"), device="cuda")
    arrays = [cupy.asarray(x) for x in (q, qd, qdd)]
    with pytest.raises(MinertiaError, match="q is not on a CUDA device"):
        torques(q, *arrays[1:])
    with pytest.raises(ShapeError, match="float32"):
        torques(arrays[0].astype("float32"), *arrays[1:])
    with pytest.raises(ShapeError, match="qd has shape"):
        torques(arrays[0], arrays[1][:, :3], arrays[2])
    with pytest.raises(ShapeError, match="samples"):
        torques(arrays[0], arrays[1][:5], arrays[2])
    with pytest.raises(ShapeError, match="neither row by row"):
        torques(arrays[0][:, ::-1], *arrays[1:])


@pytest.mark.parametrize("name", ["differentiator", "parabola_differentiator", "low_pass"])
def test_programs_whose_inputs_are_matrices_are_compiled(name: str) -> None:
    """A window of positions and the memory of a filter have rows; NumPy's runner, which checks kernels, takes them."""
    built = mi.codegen.build_program(mi.read_robot("puma560_physical"), name)
    rng = np.random.default_rng(0)
    given = [rng.uniform(0.5, 1.0, (4, *port.shape)) for port in built.inputs]
    found = mi.compile(built)(*given)
    assert [part.shape[1:] for part in found] == [port.shape for port in built.ports]
