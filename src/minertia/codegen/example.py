"""The example of use in the README of generated C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minertia.codegen.c import Rendered, Style
from minertia.codegen.program import Program


def usage(style: Style, programs: Sequence[Program], rendered: Mapping[str, Rendered]) -> str:
    """A servo loop with both tasks where they were generated, else a plain call of the first program."""
    found = {program.name: program for program in programs}
    if {"background", "synchronous"} <= found.keys():
        return _servo_loop(style, found, rendered)
    return _plain(style, programs[0], rendered[programs[0].name]) if programs else ""


def _servo_loop(style: Style, found: Mapping[str, Program], rendered: Mapping[str, Rendered]) -> str:
    real, prefix = style.precision, style.prefix
    background, synchronous = found["background"], found["synchronous"]
    sizes = {port.name: port.size for port in (*background.inputs, *background.ports, *synchronous.inputs)}
    prepared = {
        name: ", &of_parameters" if rendered[name].has_prepare else "" for name in ("background", "synchronous")
    }
    once = ""
    if prepared["background"]:
        names = ", ".join(background.parameters)
        once = (
            f"static {prefix}_background_prepared of_parameters;\n"
            f"{prefix}_background_prepare({names}, &of_parameters); /* once, and when the parameters change */\n\n"
        )
    friction = ", qd" if "qd" in {port.name for port in synchronous.inputs} else ""
    extra = prepared["synchronous"].replace("of_parameters", "of_friction")
    return (
        f'#include "{prefix}.h"\n\n'
        f"static {real} D[2][{sizes['D']}], b[2][{sizes['b']}]; /* one is read while the other is written */\n"
        "static volatile int ready = 0;\n"
        f"{once}\n"
        "/* background task, as often as there is time: everything that depends on q and qd */\n"
        "void background_task(void)\n{\n"
        f"  const int other = 1 - ready;\n  read_encoders(q, qd);\n"
        f"  {prefix}_background(q, qd{prepared['background']}, D[other], b[other]);\n"
        "  ready = other;\n}\n\n"
        "/* synchronous task, every servo period: n multiplications and n additions per joint */\n"
        "void servo_interrupt(void)\n{\n"
        "  desired_acceleration(qdd); /* reference plus feedback */\n"
        f"  {prefix}_synchronous(D[ready], b[ready], qdd{friction}{extra}, tau);\n"
        "  write_torques(tau);\n}\n"
    )


def _plain(style: Style, program: Program, rendered: Rendered) -> str:
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
