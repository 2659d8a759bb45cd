"""Names of array entries for the header: `theta`, `load`, `passive`, columns of regressors (`Y`, `beta`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from minertia.codegen.draft import PASSIVE
from minertia.codegen.program import Program
from minertia.codegen.setting import LOAD, THETA, Setting
from minertia.codegen.targets.c import CStyle
from minertia.codegen.targets.names import comment
from minertia.dynamics.loops.closing import closing_of
from minertia.robot.parameters import LINK_SYMBOLS

WIDTH = 110


def entry_names(style: CStyle, setting: Setting, programs: Sequence[Program]) -> str:
    """C enumerations with one name for each entry, and lengths; "" if no program has such an array."""
    guard = style.prefix.upper()
    used = {port.name for program in programs for port in program.inputs}
    parts = []
    if THETA in used:
        parts.append(_enumeration(guard, "THETA", setting.names, "Entries of theta."))
    if LOAD in used or any(program.name == "watch_terms" for program in programs):
        parts.append(_enumeration(guard, "LOAD", LINK_SYMBOLS, "Entries of load."))
    if PASSIVE in used:
        parts.append(_passive(guard, style, setting))
    regressors = [p for p in programs if p.shape[1]]
    if regressors:
        rows, columns = regressors[0].shape[0], regressors[0].columns
        text = f"Base parameters: entries of beta, and columns of Y, which has {rows} rows (one for each effort)."
        parts.append(_enumeration(guard, "BETA", columns, text))
    parts += [_pattern(guard, program) for program in programs if program.pattern]
    return "\n".join(parts) + ("\n" if parts else "")


def _enumeration(guard: str, array: str, names: Sequence[str], text: str) -> str:
    seen: dict[str, int] = {}
    entries = []
    for k, name in enumerate(names):
        plain = re.sub(r"[^A-Z0-9]+", "_", comment(name).upper()).strip("_") or str(k)
        seen[plain] = seen.get(plain, 0) + 1
        entries.append(f"{guard}_{array}_{plain}" + (f"_{seen[plain]}" if seen[plain] > 1 else "") + f" = {k}")
    entries.append(f"{guard}_{array}_LENGTH = {len(names)}")
    return f"/* {text} */\nenum {{\n{_filled(entries)}\n}};"


def _passive(guard: str, style: CStyle, setting: Setting) -> str:
    """Entries of `passive`, and their values in the closed configuration of the robot file."""
    closing = closing_of(setting.robot.numeric)
    where = ", ".join(f"{value + 0.0:.6g}" for value in closing.seed[closing.active])
    values = ", ".join(style.number(float(value) + 0.0) for value in closing.seed[closing.iterated])
    text = f"Passive joints that Newton's steps find; {guard}_PASSIVE_SEED is closed at q = {where}."
    return f"{_enumeration(guard, 'PASSIVE', closing.iterated_names, text)}\n#define {guard}_PASSIVE_SEED {{{values}}}"


def _filled(entries: Sequence[str]) -> str:
    """Wrap entries into lines."""
    lines, line = [], " "
    for k, entry in enumerate(entries):
        piece = f" {entry}" + ("," if k < len(entries) - 1 else "")
        if len(line) + len(piece) > WIDTH:
            lines.append(line)
            line = " "
        line += piece
    return "\n".join([*lines, line])


def _pattern(guard: str, program: Program) -> str:
    """Sparsity pattern of a regressor as constants."""
    rows = sorted({row for row, _ in program.pattern})
    lines = []
    for row in rows:
        own = [(k, program.columns[c]) for k, (r, c) in enumerate(program.pattern) if r == row]
        first, last = own[0][0], own[-1][0]
        names = [comment(name) for _, name in own]
        lines.append(f"   row {row}, entries {first} to {last}: " + " ".join(names))
    head = f"/* Y of {program.name}: its non-zero entries, row by row"
    length = f"#define {guard}_{program.name.upper()}_LENGTH {len(program.pattern)}"
    return "\n".join([head, *lines, "*/", length])
