"""Reference vectors from the plain recursion (never from the generated graph), and the self-test with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from string import Template
from typing import Any, NamedTuple

import numpy as np

from minertia.algebra.matrix import square_root_update
from minertia.base.numeric import random_states
from minertia.codegen.draft import PASSIVE
from minertia.codegen.program import Program
from minertia.codegen.setting import LOAD, Setting
from minertia.codegen.targets import more_references, references
from minertia.codegen.targets.c import CStyle
from minertia.codegen.targets.references import Arrays, named
from minertia.dynamics import model
from minertia.dynamics.loops.closing import closing_of
from minertia.io.arrays import Array
from minertia.robot.effects import ROTOR_SYMBOLS

SAMPLES = 8
OFF = 5e-4  # rad, or part of a loop's size: how far passive joints start from closed, as between calls at a servo rate


# the largest difference, and whether it is small; a difference that is no number counts as large
COMPARED = """  double worst = 0.0, largest = 0.0;
  for (int i = 0; i < n; ++i) {
    const double d = distance((double)found[i], (double)wanted[i]), size = distance((double)wanted[i], 0.0);
    worst = d > worst ? d : (d == d ? worst : 1e300);
    largest = size > largest ? size : largest;
  }
  const int is_good = worst <= tolerance * (largest > 0.0 ? largest : 1.0);
"""

SELFTEST = Template("""/* Self-test of $name: results against reference values from the recursion on numbers. */
#include "$name.h"
#include <stdio.h>

$tables
static double distance(double a, double b) { return a > b ? a - b : b - a; }

static int check(const char *name, const $real *found, const $real *wanted, int n, double tolerance)
{
$compared  printf("%-40s %s  (largest difference %.3g of %.3g)\\n", name, is_good ? "ok" : "FAILED", worst, largest);
  return is_good ? 0 : 1;
}

int main(void)
{
  int failed = 0;
$calls  return failed;
}
""")


def reference(setting: Setting, program: Program, seed: int = 0, samples: int = SAMPLES) -> tuple[Arrays, Arrays]:
    """Random inputs of a program and its expected outputs, samples first."""
    state = random_states(setting.robot, samples, seed)
    rng = np.random.default_rng(seed + 1)
    inputs: Arrays = dict(zip(("q", "qd", "qdd"), (np.asarray(part) for part in state), strict=True))
    if samples >= SAMPLES and not setting.robot.open_cuts:  # loops do not close everywhere
        _special_postures(setting, inputs["q"][:, 7 * setting.robot.is_floating :])
    inputs |= parameter_inputs(setting, rng)
    if setting.takes("temperature"):
        inputs["temperature"] = rng.uniform(15.0, 60.0, (samples, setting.robot.n))
    closed = _closed(setting, program, inputs, rng)
    has_chi = setting.robot.has_parameters or setting.parameters != "baked"  # else programs of frames alone are built
    chi = setting.standard_parameters(inputs) if has_chi else None
    found = (_FIND | references.FIND | more_references.MORE)[program.name](setting, program, inputs, chi, rng)
    return found[0], found[1] | closed


def _closed(setting: Setting, program: Program, inputs: Arrays, rng: np.random.Generator) -> Arrays:
    """Reference solutions of programs with Newton iteration; adds initial values near them to the inputs."""
    if PASSIVE not in [port.name for port in program.inputs]:
        return {}
    closing = closing_of(setting.robot.numeric)
    closed = closing.close(inputs["q"][:, 7 * setting.robot.is_floating :])
    q = closed[:, closing.iterated]
    inputs[PASSIVE] = q + closing.sizes[closing.iterated] * rng.uniform(-OFF, OFF, q.shape)
    return {"passive_next": q, "residual": np.zeros((len(q), 1)), "branch": closing.branch(closed)}


def _special_postures(setting: Setting, q: Array) -> None:
    """Set the first samples to special postures: stretched, at right angles (wrist singularities), at joint limits."""
    limits = [setting.robot.joints[j].limits for j in setting.robot.independent]
    q[0] = 0.0
    q[1] = np.pi / 2
    q[2] = [-1.0 if each.lower is None else each.lower for each in limits]
    q[3] = [1.0 if each.upper is None else each.upper for each in limits]


def parameter_inputs(setting: Setting, rng: np.random.Generator) -> Arrays:
    """Values of the parameter inputs; a payload, if any, large enough to be significant."""
    if setting.robot.has_parameters or setting.parameters == "baked":
        found = setting.nominal_inputs()
    else:
        found = {"theta": rng.uniform(0.1, 1.0, len(setting.names))}
        found |= {LOAD: np.zeros(10)} if setting.payload is not False else {}
    if LOAD in found:
        found[LOAD] = rng.uniform(0.05, 0.2, 10)
    return found


def _recursion(setting: Setting, inputs: Arrays, chi: Any) -> dict[str, Array]:
    robot, q, qd, qdd = setting.robot, inputs["q"], inputs["qd"], inputs["qdd"]
    rest = np.zeros_like(qd)
    warmth = inputs.get("temperature")
    tau = np.asarray(model.inverse_dynamics(robot, q, qd, qdd, parameters=chi, temperature=warmth))
    links = [{s: v for s, v in x.items() if s in LINKS} for x in chi]
    rigid = np.asarray(model.inverse_dynamics(robot, q, qd, rest, parameters=links))
    g = np.asarray(model.inverse_dynamics(robot, q, rest, rest, parameters=links))
    counted = setting.friction_values(chi)
    moving = [{s: v for s, v in x.items() if s in (*LINKS, *ROTOR_SYMBOLS)} for x in chi]
    f = np.asarray(model.inverse_dynamics(robot, q, qd, qdd, parameters=counted, temperature=warmth))
    f = f - np.asarray(model.inverse_dynamics(robot, q, qd, qdd, parameters=moving))
    D = np.asarray(model.mass_matrix(robot, q, parameters=chi, rotors=setting.rotors))
    if setting.motors:
        first = 6 * robot.is_floating
        tau = np.hstack([tau[:, :first], tau[:, first:] @ setting.to_motors.T])
    return {"tau": tau, "b": rigid, "g": g, "h": rigid - g, "f": f, "D": D}


def _from_recursion(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    found = _recursion(setting, inputs, chi)
    return named(program, inputs), {port.name: found[port.name] for port in program.ports if port.name in found}


def _synchronous(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    found = _recursion(setting, inputs, chi)
    if not setting.friction:  # rotors are in D
        tau = np.einsum("kij,kj->ki", found["D"], inputs["qdd"]) + found["b"]
        found["tau"] = tau @ setting.to_motors.T if setting.motors else tau
    return named(program, inputs | found), {"tau": found["tau"]}


def _forward(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    tau = _recursion(replace(setting, motors=False), inputs, chi)["tau"]
    return named(program, inputs | {"tau": tau}), {"qdd": inputs["qdd"]}


def _regressor(setting: Setting, inputs: Arrays) -> Array:
    return setting.base.regressor(inputs["q"], inputs["qd"], inputs["qdd"])[..., setting.essential_rows]


def _dense(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    return named(program, inputs), {"Y": _regressor(setting, inputs)}


def _sparse(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    rows, columns = np.array(program.pattern, dtype=int).reshape(-1, 2).T
    return named(program, inputs), {"Y": _regressor(setting, inputs)[:, rows, columns]}


def _recursive(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    Y = _regressor(setting, inputs)
    samples, n, p = Y.shape
    upper = np.triu_indices(p)
    S = np.triu(0.1 * rng.normal(size=(samples, p, p))) + np.eye(p)
    given = inputs | {
        "tau": rng.normal(size=(samples, n)),
        "beta": rng.normal(size=(samples, p)),
        "forgetting": np.full((samples, 1), 0.98),
        "S": S[:, upper[0], upper[1]],
    }
    betas, factors = [], []
    for k in range(samples):
        root: Any = S[k].tolist()
        beta: Any = given["beta"][k].tolist()
        for i in range(n):
            root, beta = square_root_update(root, beta, Y[k, i].tolist(), given["tau"][k, i], 0.98 if i == 0 else 1)
        betas.append(beta)
        factors.append(np.array(root)[upper])
    return named(program, given), {"beta_next": np.array(betas, float), "S_next": np.array(factors, float)}


LINKS = frozenset({"XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M"})
_FIND: dict[str, Callable[..., tuple[Arrays, Arrays]]] = {
    "inverse_dynamics": _from_recursion,
    "background": _from_recursion,
    "background_parts": _from_recursion,
    "coefficients": _from_recursion,
    "gravity": _from_recursion,
    "mass_matrix": _from_recursion,
    "velocity_torque": _from_recursion,
    "friction": _from_recursion,
    "synchronous": _synchronous,
    "forward_dynamics": _forward,
    "base_regressor": _dense,
    "base_regressor_entries": _sparse,
    "recursive_update": _recursive,
}


class MoreTests(NamedTuple):
    """Further constant arrays and statements of a self-test, as text."""

    tables: str = ""
    calls: str = ""


NO_MORE = MoreTests()


def render_selftest(
    style: CStyle, cases: Sequence[tuple[Program, Arrays, Arrays, bool]], more: MoreTests = NO_MORE
) -> str:
    """Text of the self-test; each case: program, inputs, expected outputs, whether it has a prepare function."""
    texts = (
        "\n".join(tables(style, program.name, inputs, outputs) for program, inputs, outputs, _ in cases) + more.tables
    )
    calls = "".join(_calls(style, *case) for case in cases) + more.calls
    return SELFTEST.substitute(compared=COMPARED, name=style.prefix, real=style.precision, tables=texts, calls=calls)


def tables(style: CStyle, name: str, inputs: Arrays, outputs: Arrays) -> str:
    """Inputs and expected outputs of a function as constant arrays."""
    lines = []
    for kind, arrays in (("in", inputs), ("out", outputs)):
        for part, array in arrays.items():
            values = [style.number(float(v) + 0.0) for v in np.asarray(array, float).ravel()]
            label = f"static const {style.precision} {name}_{kind}_{part}[{len(values)}] = {{"
            lines += [label, *(f"  {', '.join(values[k : k + 6])}," for k in range(0, len(values), 6)), "};"]
    return "\n".join(lines) + "\n"


def _calls(style: CStyle, program: Program, inputs: Arrays, outputs: Arrays, has_prepare: bool) -> str:
    function = f"{style.prefix}_{program.name}"
    sizes = {port.name: port.size for port in program.inputs}
    lines = ["  {"]
    arguments = [f"{program.name}_in_{n} + k * {sizes[n]}" for n in inputs if n not in program.parameters]
    if has_prepare:
        lines.append(f"    {function}_prepared prepared;")
        given = [f"{program.name}_in_{name}" for name in program.parameters]
        lines.append(f"    {function}_prepare({', '.join([*given, '&prepared'])});")
        arguments.append("&prepared")
    samples = len(next(iter(outputs.values())))
    for port in program.ports:
        lines.append(f"    {style.precision} {port.name}[{samples * port.size}];")
        arguments.append(f"{port.name} + k * {port.size}")
    tolerance = "1e-11" if style.precision == "double" else "1e-4"
    lines += [f"    for (int k = 0; k < {samples}; ++k)", f"      {function}({', '.join(arguments)});"]
    for port in program.ports:
        wanted, size = f"{program.name}_out_{port.name}", samples * port.size
        lines.append(f'    failed += check("{program.name} {port.name}", {port.name}, {wanted}, {size}, {tolerance});')
    return "\n".join([*lines, "  }"]) + "\n"
