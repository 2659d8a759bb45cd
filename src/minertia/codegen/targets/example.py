"""Usage example in the README of generated C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template

from minertia.codegen.draft import PASSIVE
from minertia.codegen.program import Program
from minertia.codegen.setting import LOAD
from minertia.codegen.targets.c import CStyle, Rendered

LOAD_CAUTION = (
    "`load` is what `minertia payload` found, about the origin of the frame of its joint. Moments of inertia that its "
    "cautions name\nwere not determined: take the load for a point mass at its centre there, rather than enter numbers "
    "that nobody knows.\n\n"
)


def usage(style: CStyle, programs: Sequence[Program], rendered: Mapping[str, Rendered]) -> str:
    """Example loops at 1 kHz and at two rates, if their programs were generated; else a call of the first program."""
    found = {program.name: program for program in programs}
    parts = []
    if "inverse_dynamics" in found:
        text = "Everything in one loop, for example at 1 kHz:"
        parts.append((text, _one_loop(style, found["inverse_dynamics"], rendered["inverse_dynamics"])))
    if {"background", "synchronous"} <= found.keys() and not _has_steps(found["background"]):
        text = "Two rates, where the processor has no time for all of it in every period:"
        parts.append((text, _servo_loop(style, found, rendered)))
    if "watch_terms" in found:
        text = (
            "The on-line watch, at the rate of its levels. Moments of inertia of a load that the motion does not "
            "determine have deviations\n(the root of the sum of squares of their row of `root`) as large as they are: "
            "do not enter them in a controller."
        )
        parts.append((text, _watch(style, found["watch_terms"], rendered["watch_terms"])))
    if not parts and programs:
        parts.append(("One call:", _plain(style, programs[0], rendered[programs[0].name])))
    told = LOAD_CAUTION if any(port.name == LOAD for program in programs for port in program.inputs) else ""
    return told + "\n".join(f"{text}\n\n```c\n{example}```\n" for text, example in parts)


WATCH = Template("""#include "watch_levels.h" /* of `minertia watch MODEL --normal LOGS --out DIR`; has $prefix.h */

/* yours: sensors, what to do */
void read_drives($real *q, $real *tau);$sensor
void load_changed(const $real *load);
void stop(int joint);

static ${prefix}_watch watch; /* ${prefix}_watch_start(&watch) once, while the robot stands */
$once
void control_loop(void)
{
  $real q[$n], tau[$n]$warm; /* efforts at the joints: currents times gains and ratios */
  read_drives(q, tau);$measured
  switch (${prefix}_watch_step(&${prefix}_levels, &watch, q, tau, 0$given)) {
  case ${guard}_WATCH_SUSPECTED: break; /* watch.joint; it is named some seconds later */
  case ${guard}_WATCH_LOAD: load_changed(watch.load); break;
  case ${guard}_WATCH_RESIDUAL: stop(watch.joint); break;
  }
}
""")


def _watch(style: CStyle, program: Program, rendered: Rendered) -> str:
    is_warm = any(port.name == "temperature" for port in program.inputs)
    n = str(program.ports[0].size)
    given = ", temperature" * is_warm + f", &for_{program.name}" * rendered.has_prepare
    return WATCH.substitute(
        _warmth(style, n, is_warm),
        prefix=style.prefix,
        guard=style.prefix.upper(),
        real=style.precision,
        n=n,
        once=_once(style, {program.name: program}, [program.name]) if rendered.has_prepare else "",
        given=given,
    )


LOOP = Template("""#include "$prefix.h"

/* yours: sensors, controller, drives */
void read_encoders($real *q, $real *qd);$sensor
void desired_acceleration(const $real *q, const $real *qd, $real *qdd); /* reference plus feedback */
void write_torques(const $real *tau);

static $real D[2][$n_D], b[2][$n_b]; /* one copy is read while the other is written */
static volatile int ready = 0;
$once
/* background task, as often as there is time: everything that depends on positions and velocities */
void background_task(void)
{
  $real q[$n_q], qd[$n_qd];
  const int other = 1 - ready;
  read_encoders(q, qd);
  ${prefix}_background(q, qd$background, D[other], b[other]);
  ready = other;
}

/* synchronous task, every servo period: n multiplications and n additions per joint */
void servo_interrupt(void)
{
  $real q[$n_q], qd[$n_qd], qdd[$n_qd], tau[$n_qd]$warm;
  read_encoders(q, qd);$measured
  desired_acceleration(q, qd, qdd);
  ${prefix}_synchronous(D[ready], b[ready], qdd$synchronous, tau);
  write_torques(tau);
}
""")


ONE_LOOP = Template("""#include "$prefix.h"

/* yours: sensors, controller, drives */
void read_encoders($real *q, $real *qd);$sensor
void desired_acceleration(const $real *q, const $real *qd, $real *qdd); /* reference plus feedback */
void write_torques(const $real *tau);
$memory$once
/* every millisecond */
void control_loop(void)
{
  $real q[$n_q], qd[$n_qd], qdd[$n_qd], tau[$n_tau]$warm$more;
  read_encoders(q, qd);$measured
  desired_acceleration(q, qd, qdd);
  ${prefix}_inverse_dynamics($arguments, tau$outputs);$kept
  write_torques(tau);
}
""")


def _one_loop(style: CStyle, program: Program, rendered: Rendered) -> str:
    sizes = {f"n_{port.name}": str(port.size) for port in (*program.inputs, *program.ports)}
    task = {program.name: program}
    arguments = [port.name for port in program.inputs if port.name not in program.parameters]
    arguments += [f"&for_{program.name}"] if rendered.has_prepare else []
    is_warm = "temperature" in arguments
    return ONE_LOOP.substitute(
        sizes | _warmth(style, sizes.get("n_temperature", ""), is_warm) | _steps(style, program),
        prefix=style.prefix,
        real=style.precision,
        once=_once(style, task, [program.name]) if rendered.has_prepare else "",
        arguments=", ".join(arguments),
    )


def _warmth(style: CStyle, size: str, is_warm: bool) -> dict[str, str]:
    return {
        "sensor": f"\nvoid read_temperatures({style.precision} *temperature);" * is_warm,
        "warm": f", temperature[{size}]" * is_warm,
        "measured": "\n  read_temperatures(temperature);" * is_warm,
    }


def _has_steps(program: Program) -> bool:
    return any(port.name == PASSIVE for port in program.inputs)


def _steps(style: CStyle, program: Program) -> dict[str, str]:
    """State of a program with Newton iteration, and the handling of loops that did not close."""
    if not _has_steps(program):
        return dict.fromkeys(("memory", "more", "outputs", "kept"), "")
    size, sets = program.ports[-3].size, program.ports[-1].size  # passive_next, residual, branch
    seed, real = f"{style.prefix.upper()}_PASSIVE_SEED", style.precision
    limit = "1e-6" if real == "double" else "1e-4f"
    return {
        "memory": (
            "void stop(void); /* the loops were not closed, or have left their branch */\n\n"
            f"static {real} passive[{size}] = {seed}; /* what the last call gave */\n"
        ),
        "more": f", passive_next[{size}], residual[1], branch[{sets}]",
        "outputs": ", passive_next, residual, branch",
        "kept": (
            f"\n  for (int k = 0; k < {size}; ++k) passive[k] = passive_next[k];"
            f"\n  if (!(residual[0] < {limit})) {{ stop(); return; }} /* at first: call again until it has closed */"
            f"\n  for (int k = 0; k < {sets}; ++k) if (!(branch[k] > 0)) {{ stop(); return; }}"
        ),
    }


def _servo_loop(style: CStyle, found: Mapping[str, Program], rendered: Mapping[str, Rendered]) -> str:
    tasks = {name: found[name] for name in ("background", "synchronous")}
    sizes = {f"n_{p.name}": str(p.size) for task in tasks.values() for p in (*task.inputs, *task.ports)}
    prepared = [name for name in tasks if rendered[name].has_prepare]
    extra = {name: f", &for_{name}" if name in prepared else "" for name in tasks}
    state = [p.name for p in tasks["synchronous"].inputs if p.name in ("qd", "q", "temperature")]
    extra["synchronous"] = "".join(f", {name}" for name in state) + extra["synchronous"]
    once = _once(style, tasks, prepared) if prepared else ""
    is_warm = "temperature" in state
    warmth = _warmth(style, sizes["n_q"], is_warm)
    return LOOP.substitute(sizes | extra | warmth, prefix=style.prefix, real=style.precision, once=once)


def _once(style: CStyle, tasks: Mapping[str, Program], prepared: Sequence[str]) -> str:
    """C text of the function to call when parameters change."""
    names = list(dict.fromkeys(name for task in prepared for name in tasks[task].parameters))
    arguments = ", ".join(f"const {style.precision} *{name}" for name in names)
    lines = [f"static {style.prefix}_{task}_prepared for_{task};" for task in prepared]
    lines += ["", "/* once, and whenever the parameters change */", f"void set_parameters({arguments})", "{"]
    for task in prepared:
        lines.append(f"  {style.prefix}_{task}_prepare({', '.join(tasks[task].parameters)}, &for_{task});")
    return "\n".join([*lines, "}", ""])


def _plain(style: CStyle, program: Program, rendered: Rendered) -> str:
    prefix, real = style.prefix, style.precision
    lines = [f'#include "{prefix}.h"', ""]
    inputs = [port for port in program.inputs if port.name not in program.parameters]
    lines += [f"{real} {port.name}[{port.size}];" for port in (*program.inputs, *program.ports)]
    arguments = [port.name for port in inputs]
    if rendered.has_prepare:
        names = ", ".join(program.parameters)
        lines += [f"{prefix}_{program.name}_prepared prepared;"]
        lines += [f"{prefix}_{program.name}_prepare({names}, &prepared); /* when the parameters change */"]
        arguments.append("&prepared")
    arguments += [port.name for port in program.ports]
    return "\n".join([*lines, f"{prefix}_{program.name}({', '.join(arguments)});"]) + "\n"
