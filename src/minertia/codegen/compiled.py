"""Programs as Python functions: on the CPU, on a CUDA device, in JAX and in PyTorch."""

from __future__ import annotations

import builtins
import linecache
from collections.abc import Callable
from typing import Any

from minertia.codegen.device import CudaKernel
from minertia.codegen.kernels.kernel import BatchKernel
from minertia.codegen.options import PRECISIONS, CodeModel, CodeSearch
from minertia.codegen.program import Program
from minertia.codegen.programs import build
from minertia.codegen.search import representative
from minertia.codegen.setting import setting_of
from minertia.codegen.targets import arrays
from minertia.io.errors import MinertiaError, UnknownName, expected
from minertia.io.extras import load
from minertia.robot.files import RobotLike, as_robot

DEVICES = ("cpu", "cuda")
MODEL, SEARCH = CodeModel(), CodeSearch()


def program(robot: RobotLike, name: str, *, model: CodeModel = MODEL, search: CodeSearch = SEARCH) -> Program:
    """Build a program of a robot (`inverse_dynamics`, `forward_dynamics`, `base_regressor` ...), for `compile` etc."""
    robot = as_robot(robot)
    setting = setting_of(model, robot)
    if model.parameters == "baked":
        robot.require_values("a program with its numbers")
    choice = search.representatives.get(name) or representative(setting, name, effort=search.effort, seed=search.seed)
    return build(setting, name, choice)


def compile(program: Program, *, device: str = "cpu", precision: str = "double") -> Callable[..., Any]:
    """Compile a program to a function that takes one array per input, with samples along the first axis.

    Inputs that are parameters have no sample axis.  device: "cpu" for NumPy arrays in double precision,
    "cuda" for arrays of CuPy, PyTorch or JAX on the device, without copying.
    """
    expected(program, Program, "the program", "program(robot, name)")
    if device not in DEVICES:
        raise UnknownName("device", device, DEVICES)
    if precision not in PRECISIONS:
        raise UnknownName("precision", precision, PRECISIONS)
    if device == "cuda":
        return CudaKernel(program, precision)
    if precision != "double":
        raise MinertiaError("CPU kernels use double precision only; omit precision, or use device cuda")
    if program.tail is not None:  # its loops are quick on arrays as they are
        return _evaluated(program)
    return BatchKernel(program)


def _evaluated(program: Program) -> Callable[..., Any]:
    """Evaluate a program with NumPy, through the interface of a kernel."""

    def function(*arrays: Any) -> Any:
        names = [port.name for port in program.inputs]
        found = program.evaluate(**dict(zip(names, arrays, strict=True)))
        outputs = [found[port.name] for port in program.ports]
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    return function


def to_jax(program: Program) -> Callable[..., Any]:
    """Convert a program to a pure function of JAX arrays, samples first if any, for jit, vmap and grad.

    The precision is that of the arrays; doubles need `jax.config.update("jax_enable_x64", True)`.
    """
    load("jax", "jax")
    return _function(program, "jax")


def to_torch(program: Program) -> Callable[..., Any]:
    """Convert a program to a differentiable function of PyTorch tensors, samples first if any, on their device."""
    load("torch", "torch")
    return _function(program, "torch")


def _function(program: Program, framework: str) -> Callable[..., Any]:
    expected(program, Program, "the program", "program(robot, name)")
    text = arrays.render([program], f"Program {program.name}", "", framework)
    name = f"<minertia {framework} {program.name} {id(program)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # so that tracebacks show the lines
    names: dict[str, Any] = {}
    exec(builtins.compile(text, name, "exec"), names)
    found: Callable[..., Any] = names[program.name]
    return found
