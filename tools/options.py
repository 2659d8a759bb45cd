"""Write what is made of the declarations of options: tables of the documentation, and types and forms of the studio.

python -m tools.options            writes them
python -m tools.options --check    ends with 1 and names the files that are not as they would be written
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from minertia.codegen.generate import TARGETS, Target
from minertia.codegen.options import Arithmetic, CodeModel, CodeSearch
from minertia.excitation.exports.table import EXPORTS, Export
from minertia.excitation.options import (
    Foot,
    FrameBoxes,
    LimitOptions,
    MotionSearch,
    MotionShape,
    Obstacle,
    Optimality,
    Workspace,
)
from minertia.fleet.options import DriftOptions, FitOptions, FleetEntries, RobotEntry, TypeEntries
from minertia.identification.campaigns.campaign import Log
from minertia.identification.campaigns.options import MEASURED, ContactOptions, MeasureColumns, SensorOptions
from minertia.identification.campaigns.read import file_options
from minertia.identification.estimators import ESTIMATORS, estimator_class, estimator_options
from minertia.identification.loads.load import Load
from minertia.identification.online.options import WatchOptions
from minertia.io.schema import REQUIRED, Option, options, plain
from minertia.simulation.options import RehearsalOptions
from minertia.studio.options import JOBS, job_options

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *("campaign.md", "output-error.md", "elastic.md", "excitation.md", "fleets.md", "codegen.md"),
    *("howto/run.md", "howto/watch.md", "howto/calibrate.md", "howto/wrench.md", "howto/legs.md"),
)
VALUES: dict[str, type] = {
    **{
        "entry": Log,
        "load": Load,
        "measure": MeasureColumns,
        "contact": ContactOptions,
        "sensor": SensorOptions,
        "limits": LimitOptions,
        "box": FrameBoxes,
        "obstacle": Obstacle,
        "foot": Foot,
    },
    **{"motion": MotionShape, "optimality": Optimality, "search": MotionSearch, "workspace": Workspace},
    **{"rehearsal": RehearsalOptions, "code": CodeModel, "arithmetic": Arithmetic, "code-search": CodeSearch},
    **{"fleet": FleetEntries, "type": TypeEntries, "robot-entry": RobotEntry, "drift": DriftOptions},
    **{"fit": FitOptions, "watch": WatchOptions},
}
HEAD = "// Made of the declarations in Python by `python -m tools.options`; not to be edited.\n"
TYPES = {"flag": "boolean", "whole": "number", "number": "number", "text": "string"}
BOUNDLESS = re.compile(r" from -1e\+12 to 1e\+12| and at most 1e\+(12|06)")  # bounds that nobody meets
PLACE = re.compile(r"(<!-- options: (\S+) -->\n)(.*?)(<!-- end of options -->)", re.DOTALL)


def table_of(name: str) -> str:
    """The table of a page: of a table of campaign files, "top", "entry", "load", "measure" or "estimators"."""
    if name == "estimators":
        return estimator_table()
    if name == "targets":
        return rows_of(("`--target`", "what is written"), ((f"`{key}`", row.what) for key, row in TARGETS.items()))
    if name == "measured":
        kinds = ((f"`{kind}`", row.columns, row.measured) for kind, row in MEASURED.items())
        return rows_of(("kind", "columns", "measured"), kinds)
    if name == "exports":
        return rows_of(("`--export`", "files", "notes"), (export_row(key, row) for key, row in EXPORTS.items()))
    found = options(VALUES[name]) if name in VALUES else file_options()["" if name == "top" else name].values()
    rows = [(f"`{one.key}`", one.help.removesuffix("."), values(one), default(one)) for one in found]
    return rows_of(("key", "meaning", "values", "default"), rows)


def export_row(name: str, row: Export) -> tuple[str, str, str]:
    """A row of the files for controllers."""
    files = ", ".join(f"`{file}`" for file in (*row.files, *row.programs))
    return f"`{name}`", files, row.what


def estimator_table() -> str:
    """Every estimator with its options."""
    rows = []
    for name in ESTIMATORS:
        about = (estimator_class(name).__doc__ or "").split("\n\n")[0]
        own = [
            f"`{one.key}`: {one.help.removesuffix('.')} ({values(one)}; default {default(one)})"
            for one in estimator_options(name)
        ]
        rows.append((f"`{name}`", " ".join(about.split()).removesuffix("."), "; ".join(own)))
    return rows_of(("name", "what it does", "options"), rows)


def rows_of(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def values(one: Option) -> str:
    """The values of an option, for a table."""
    if one.kind.is_free or one.kind.is_mapping or one.kind.record is not None:
        return ""
    return BOUNDLESS.sub("", one.must) if one.choices or one.kind.scalars != {"text"} else ""


def default(one: Option) -> str:
    """The default of an option, for a table."""
    if one.otherwise:
        return one.otherwise
    if one.default is REQUIRED:
        return "required"
    is_none = one.default in (None, (), "", {}) or one.kind.record is not None
    return "none" if is_none else f"`{literal(one.default)}`"


def literal(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def page(text: str) -> str:
    """A page with its tables anew."""
    return PLACE.sub(lambda found: f"{found[1]}{table_of(found[2])}{found[4]}", text)


# ---------------------------------------------------------------------- TypeScript


def typescript() -> str:
    """Types of the tables of a campaign, and their options for forms."""
    found = {name: own for name, own in file_options().items() if name}
    parts = [HEAD]
    for name, own in found.items():
        rows = "".join(f"  {one.key}?: {type_of(one)} | null;\n" for one in own.values())
        parts.append(f"export interface {name.capitalize()}Table {{\n{rows}  [key: string]: unknown;\n}}\n")
    rows = "".join(f"  {name}: {name.capitalize()}Table;\n" for name in found)
    parts.append(f"export interface CampaignTables {{\n{rows}}}\n")
    data = {name: {one.key: option_data(one, one.default) for one in own.values()} for name, own in found.items()}
    parts.append(constant("OPTIONS", data))
    parts.append(jobs())
    about = {name: titled(name) for name in ("auto", *ESTIMATORS)}
    parts.append(constant("ESTIMATORS", about))
    parts.append(constant("TARGETS", {name: target_data(row) for name, row in TARGETS.items()}))
    return "\n".join(parts)


def constant(name: str, data: Any) -> str:
    """Data as a constant."""
    return f"export const {name} = {json.dumps(data, indent=2, ensure_ascii=False)} as const;\n"


def titled(name: str) -> str:
    """An estimator in a form: its name, and the beginning of the sentence about it."""
    about = "chosen by prediction" if name == "auto" else (estimator_class(name).__doc__ or "").split("\n\n")[0]
    return f"{name}: {re.split(r'[.,:;] | [(]', ' '.join(about.split()))[0].removesuffix('.')}"


def target_data(row: Target) -> dict[str, Any]:
    """What a form needs to know of a target: its name, its programs, and whether others can be asked for."""
    return {"title": row.title, "programs": list(row.programs), "others": not (row.needs or row.is_block)}


def jobs() -> str:
    """Types and options of the settings of jobs."""
    parts, data = [], {}
    for kind in JOBS:
        own = job_options(kind)
        rows = "".join(f"  {key}?: {setting_type(one)} | null;\n" for key, (one, _) in own.items())
        parts.append(f"export interface {kind.capitalize()}Settings {{\n{rows}}}\n")
        data[kind] = {key: option_data(one, default, lone=True) for key, (one, default) in own.items()}
    rows = "".join(f"  {kind}: {kind.capitalize()}Settings;\n" for kind in JOBS)
    parts.append(f"export interface JobSettings {{\n{rows}}}\n")
    return "\n".join([*parts, constant("JOBS", data)])


def setting_type(one: Option) -> str:
    """The type of a setting; of a table that of its options."""
    if one.kind.record is None:
        return type_of(one, unknown=False)
    inner = "; ".join(f"{own.key}?: {setting_type(own)} | null" for own in options(one.kind.record))
    return f"{{ {inner} }}" + "[]" * bool(one.kind.depths)


def type_of(one: Option, *, unknown: bool = True) -> str:
    """The type of an option in TypeScript; unknown: "?" stands for what is not known yet."""
    kind = one.kind
    if kind.is_free:
        return "unknown"
    names = [json.dumps(name, ensure_ascii=False) for name in one.names] if one.choices else []
    plain_types = [TYPES[scalar] for scalar in sorted(kind.scalars) if not (scalar == "text" and one.choices)]
    words = [json.dumps(word) for word in one.words] + ['"?"'] * unknown
    scalar = " | ".join(dict.fromkeys([*names, *plain_types, *words]))
    if kind.is_mapping:
        return f"Record<string, {scalar}>"
    shapes = {0: scalar, 1: f"({scalar})[]", 2: f"({scalar})[][]"}
    return " | ".join(shapes[depth] for depth in sorted(kind.depths))


def option_data(one: Option, default: Any, *, lone: bool = False) -> dict[str, Any]:
    """What a form needs to know of an option; lone: one number may stand for a list of them."""
    found: dict[str, Any] = {"help": one.sentence, "unit": one.unit, "type": form_of(one, lone)}
    found |= {"label": one.label} if one.label else {}
    found |= {"choices": list(one.names)} if one.choices else {}
    titles = one.titles() if callable(one.titles) else one.titles
    found |= {"titles": dict(titles)} if titles else {}
    found |= {name: value for name, value in (("low", one.low), ("high", one.high)) if math.isfinite(value)}
    found |= {"otherwise": one.otherwise.replace("`", "").replace('"', "")} if one.otherwise and lone else {}
    found |= {"example": plain(one.example)} if one.example is not None else {}
    if lone and one.kind.record is not None:
        found["options"] = {
            inner.key: option_data(inner, inner.default, lone=True) for inner in options(one.kind.record)
        }
    elif default is not REQUIRED and not one.kind.record and not one.kind.is_mapping:
        found["default"] = plain(default)
    return found


def form_of(one: Option, lone: bool = False) -> str:
    """How a form asks for an option; "file" for what only the file can state, "key" for files of a project."""
    if lone and 0 in one.kind.depths and one.kind.scalars == {"number"} and not one.words:
        return "number"
    if lone and one.choices and one.kind.depths == {1}:
        return "choices"
    if one.pattern:
        return "key"
    if lone and one.kind.depths == {1} and one.kind.scalars == {"text"}:
        return "texts"
    if lone and one.kind.depths == {1} and one.kind.scalars == {"number"}:
        return "numbers"
    if one.kind.is_free or one.kind.is_mapping or one.kind.depths != {0}:
        return "file"
    return "choice" if one.choices else "-".join(sorted(one.kind.scalars))


def written() -> dict[Path, str]:
    """Every file with declarations in it, as it should be."""
    pages = {ROOT / "docs" / name: page((ROOT / "docs" / name).read_text(encoding="utf-8")) for name in PAGES}
    return {**pages, ROOT / "studio" / "src" / "options.ts": typescript()}


def main(check: bool) -> int:
    """Write the files, or name those that differ."""
    different = [
        path for path, text in written().items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in different:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
        if not check:
            path.write_text(written()[path], encoding="utf-8")
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
