"""Residual levels for monitoring as a C header, for the code that `generate` writes with the program `watch_terms`."""

from __future__ import annotations

from collections.abc import Iterable

from minertia.codegen.options import Arithmetic
from minertia.codegen.targets.c import CStyle
from minertia.codegen.targets.names import comment, identifier
from minertia.identification.online.evidence import load_doubt
from minertia.identification.online.levels import WatchLevels
from minertia.identification.online.samples import low_pass_section


def levels_header(levels: WatchLevels, robot: str, precision: str = "double") -> str:
    """Text of watch_levels.h; robot: its name."""
    prefix = identifier(robot)
    style, options = CStyle(prefix, Arithmetic(precision)), levels.options
    b, a = low_pass_section(levels)

    def row(values: Iterable[float]) -> str:
        return "{" + ", ".join(style.number(float(v)) for v in values) + "}"

    entries = [
        (style.number(levels.rate), "rate [Hz]"),
        (style.number(options.gain), "gain [1/s]"),
        (row(b), "b"),
        (row(a[1:]), "a"),
        (row(levels.slow), "slow [rad/s, m/s]"),
        (row(levels.sigma), "sigma [N m, N]"),
        (row(levels.alike), "alike"),
        (row(load_doubt(options.heaviest)), "doubt"),
        (style.number(levels.threshold), "threshold"),
        (str(levels.samples), "samples"),
        (str(levels.settling), "settling"),
        (str(int(options.velocities)), "velocities"),
    ]
    lines = "\n".join(f"  {text}, /* {name} */" for text, name in entries)
    return (
        f"/* What is normal for the robot '{comment(robot)}', from {60 * levels.hours:.3g} minutes of motion; by "
        f"minertia.\n   At most {options.per_hour:g} false alarms an hour of all joints together, on average. */\n"
        f'#include "{prefix}.h"\n\nstatic const {prefix}_watch_levels {prefix}_levels = {{\n{lines}\n}};\n'
    )
