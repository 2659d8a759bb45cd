"""C code that removes a tool's weight and a sensor's bias from a measured wrench, at rest and in motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.scalar import Scalar, neg, structural, sub
from minertia.algebra.vec3 import Mat, Vec, apply, cross, matmul, scale, transpose, vadd
from minertia.codegen.count import Count, count_c
from minertia.codegen.program import Port, Program
from minertia.codegen.targets import c, layout, selftest
from minertia.codegen.targets.references import Arrays
from minertia.io.arrays import Array

PREFIX = "tool"
FILES = (f"{PREFIX}_wrench.h", f"{PREFIX}_wrench.c", "selftest.c", "Makefile")
STYLE = c.CStyle(f"{PREFIX}_wrench")
SAMPLES = 8
TURN = Port("R", (9,), "rotation from the axes of the sensor's frame to those of the base, row by row")
MEASURED = Port("wrench", (6,), "measured force [N] and moment [N m] in the sensor's axes")
BIAS = Port("bias", (6,), "bias of the sensor [N, N m]")
SPIN = Port("spin", (3,), "angular velocity of the frame, in its axes [rad/s]")
SPIN_RATE = Port("spin_rate", (3,), "its rate [rad/s2]")
ACCELERATION = Port("acceleration", (3,), "acceleration of its origin without gravity, in its axes [m/s2]")
LEFT = "wrench without load and bias, in the sensor's axes [N, N m]"
OUTSIDE = "force [N] and moment [N m] of the environment on the tool at the sensor's origin, in base axes"


@dataclass(frozen=True)
class ToolLoad:
    """Identified tool: load (4,) or (10,) [kg, kg m, kg m2] about the sensor's origin, in its axes.

    axes (3, 3): columns are the sensor's axes in its frame.  up (3,): minus gravity in base axes [m/s2].  sign: 1 if
    the measured wrench acts on the tool, -1 if it acts on the sensor.
    """

    load: Array
    axes: Array
    up: Array
    sign: float


def tool_wrench_files(tool: ToolLoad) -> tuple[dict[str, str], dict[str, Count]]:
    """Text of the C files by name, with a self-test, and the operation count of each function."""
    programs = tool_programs(tool)
    rendered = [c.render(program, STYLE) for program in programs]
    title = "Wrench of a tool on a force/torque sensor"
    source = layout.source(STYLE, title, rendered)
    counts = count_c(source)
    told = [(name, layout.count_text(count)) for name, count in counts.items()]
    pairs = zip(programs, rendered, strict=True)
    cases = [(program, *reference(tool, program), own.has_prepare) for program, own in pairs]
    texts = (
        layout.header(STYLE, title, layout.facts(told), 0, rendered),
        source,
        selftest.render_selftest(STYLE, cases),
        layout.makefile(STYLE),
    )
    return dict(zip(FILES, texts, strict=True)), counts


def tool_programs(tool: ToolLoad) -> list[Program]:
    """Programs: compensation at rest, external wrench at rest and, with inertias, compensation in motion."""
    made = [_compensation(tool, moving=False), _external(tool)]
    return [*made, _compensation(tool, moving=True)] if len(tool.load) > 4 else made


def _numbers(A: Array) -> Mat:
    return tuple(tuple(structural(float(v)) for v in row) for row in A)  # type: ignore[return-value]


def _three(values: Sequence[Scalar]) -> Vec:
    return values[0], values[1], values[2]


def _turn(R: Sequence[Expr]) -> Mat:
    return _three(R[:3]), _three(R[3:6]), _three(R[6:])  # type: ignore[return-value]


def _weight(tool: ToolLoad, R: Mat) -> tuple[Vec, Vec]:
    """Measured force and moment of the tool at rest; its mass is in the constant vector."""
    M = float(tool.load[0])
    up = _three([structural(float(v)) for v in tool.sign * M * tool.up])
    force = apply(transpose(_numbers(tool.axes)), apply(transpose(R), up))
    centre = _three([structural(float(v)) for v in tool.load[1:4] / M])
    return force, cross(centre, force)


def _inertial(tool: ToolLoad, w: Vec, wd: Vec, a: Vec) -> tuple[Vec, Vec]:
    """Measured force and moment of the tool's motion, without gravity."""
    inward = transpose(_numbers(tool.axes))
    w, wd, a = (apply(inward, v) for v in (w, wd, a))
    xx, xy, xz, yy, yz, zz = (float(v) for v in tool.sign * tool.load[4:])
    J: Mat = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    s = _three([float(v) for v in tool.sign * tool.load[1:4]])
    force = vadd(scale(a, tool.sign * float(tool.load[0])), cross(wd, s), cross(w, cross(w, s)))
    moment = vadd(apply(J, wd), cross(w, apply(J, w)), cross(s, a))
    return force, moment


def _left(wrench: Sequence[Scalar], bias: Sequence[Scalar], load: Sequence[Scalar]) -> list[Scalar]:
    return [sub(sub(w, b), x) for w, b, x in zip(wrench, bias, load, strict=True)]


def _program(name: str, graph: Graph, inputs: Sequence[Port], port: Port, outputs: Sequence[Scalar]) -> Program:
    found = tuple(value if isinstance(value, Expr) else float(value) for value in outputs)
    return Program(name, graph, tuple(inputs), (port,), found)


def _compensation(tool: ToolLoad, *, moving: bool) -> Program:
    graph = Graph()
    inputs = [TURN, *([SPIN, SPIN_RATE, ACCELERATION] if moving else []), MEASURED, BIAS]
    read = {port.name: graph.variables(port.name, port.size) for port in inputs}
    force, moment = _weight(tool, _turn(read["R"]))
    if moving:
        more = _inertial(tool, *(_three(read[port.name]) for port in (SPIN, SPIN_RATE, ACCELERATION)))
        force, moment = vadd(force, more[0]), vadd(moment, more[1])
    left = _left(read["wrench"], read["bias"], (*force, *moment))
    name = "compensation_moving" if moving else "compensation"
    return _program(name, graph, inputs, Port("compensated", (6,), LEFT), left)


def _external(tool: ToolLoad) -> Program:
    graph, inputs = Graph(), [TURN, MEASURED, BIAS]
    read = {port.name: graph.variables(port.name, port.size) for port in inputs}
    R = _turn(read["R"])
    load = _weight(tool, R)
    left = _left(read["wrench"], read["bias"], (*load[0], *load[1]))
    turn = matmul(R, _numbers(tool.axes))
    found = (*apply(turn, _three(left[:3])), *apply(turn, _three(left[3:])))
    outside = [neg(value) if tool.sign > 0 else value for value in found]  # what holds the tool balances it
    return _program("external", graph, inputs, Port("external", (6,), OUTSIDE), outside)


# ---------------------------------------------------------------------------------------------------------- references


def reference(tool: ToolLoad, program: Program) -> tuple[Arrays, Arrays]:
    """Random inputs and expected outputs, from the equations on numbers."""
    rng = np.random.default_rng(0)
    R = np.linalg.qr(rng.normal(size=(SAMPLES, 3, 3)))[0]
    R *= np.linalg.det(R)[:, None, None]
    given = {port.name: rng.normal(size=(SAMPLES, port.size)) * 5 for port in program.inputs}
    given["R"] = R.reshape(SAMPLES, 9)
    a = np.einsum("nji,j->ni", R, tool.up)
    still = np.zeros((SAMPLES, 3))
    w, wd = given.get("spin", still), given.get("spin_rate", still)
    a, w, wd = ((x @ tool.axes) for x in (a + given.get("acceleration", still), w, wd))
    M, s = tool.load[0], tool.load[1:4]
    force, moment = M * a, np.cross(s, a)
    if program.name == "compensation_moving":
        xx, xy, xz, yy, yz, zz = tool.load[4:]
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        force = force + np.cross(wd, s) + np.cross(w, np.cross(w, s))
        moment = moment + wd @ J + np.cross(w, w @ J)
    left = given["wrench"] - given["bias"] - tool.sign * np.hstack([force, moment])
    if program.name != "external":
        return given, {"compensated": left}
    turn = R @ tool.axes
    parts = [np.einsum("nij,nj->ni", turn, left[:, k : k + 3]) for k in (0, 3)]
    return given, {"external": -tool.sign * np.hstack(parts)}


__all__ = ["FILES", "ToolLoad", "tool_programs", "tool_wrench_files"]
