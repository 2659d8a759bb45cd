"""`minertia watch`: replay logs through the on-line monitor, and estimate its noise levels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import Columns, map_for
from minertia.cli.options import AsJson, Force, declared, option
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.identification.logs.options import ColumnMap
from minertia.identification.online.options import WatchOptions
from minertia.io.errors import InputError
from minertia.io.schema import option_of

if TYPE_CHECKING:
    from minertia.identification.model import IdentifiedModel
    from minertia.identification.online.levels import WatchLevels
    from minertia.identification.watch import WatchResult

FORMAT = 1
LEVELS, HEADER = "levels.toml", "watch_levels.h"


ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file (model.toml of identify), or its folder.", show_default=False)
]
LogsToWatch = Annotated[
    list[str] | None, typer.Argument(metavar="[LOG...]", help="Logs to monitor.", show_default=False)
]
Normal = Annotated[
    list[str] | None,
    option("normal", "LOG...", "Reference logs without faults or payload, from which noise levels are estimated."),
]
LevelsFile = Annotated[Path | None, option("levels", "FILE", "File of noise levels, as written by --out.")]
PerHour: Any = declared(option_of(WatchOptions, "per_hour"))
Velocities: Any = declared(option_of(WatchOptions, "velocities"))
Single = Annotated[bool, typer.Option("--float", help="C header in single precision.")]
LevelsPlace = Annotated[Path | None, option("out", "DIR", f"Folder for {LEVELS} and, for generated C, {HEADER}.")]


def watch(
    model: ModelFile,
    reading: ColumnMap,
    logs: LogsToWatch = None,
    normal: Normal = None,
    levels: LevelsFile = None,
    per_hour: PerHour = None,
    velocities: Velocities = False,
    single: Single = False,
    columns: Columns = None,
    out: LevelsPlace = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Monitor load and residuals in logs sample by sample, as on a controller; exit code 1 on alarms."""
    from minertia.identification.model import with_efforts
    from minertia.identification.model_file import read_model
    from minertia.identification.watch import watch_log
    from minertia.io.files import check_folder

    if out is not None:
        check_folder(out, (LEVELS, HEADER), force=force)
    known = with_efforts(read_model(model), "a watch")
    mapping = map_for(known, columns, reading)
    with progress(len(normal or ()) + len(logs or ()) + 1) as tell:
        level = _levels(known, normal, levels, velocities, mapping, tell)
        level = level if per_hour is None else level.at(per_hour=per_hour)
        found = [watch_log(known, log, level, columns=mapping, tell=tell) for log in logs or ()]
    if out is not None:
        _write(out, known, level, "float" if single else "double", force)
    if as_json:
        seen = [one.to_dict() for one in found]
        say_json({"format": FORMAT, "robot": known.robot.name, "levels": level.to_dict(), "watched": seen})
    else:
        _say(level, found)
    if any(one.alarms for one in found):
        raise typer.Exit(1)


def _levels(
    model: IdentifiedModel, normal: list[str] | None, file: Path | None, velocities: bool, columns: Any, tell: Any
) -> WatchLevels:
    from minertia.identification.online.levels import read_levels
    from minertia.identification.watch import learn_levels

    if bool(normal) == (file is not None):
        raise InputError("noise levels are missing; give --normal LOG..., or a file written by --out with --levels")
    if file is not None:
        return read_levels(file)
    return learn_levels(model, normal or (), options=WatchOptions(velocities=velocities), columns=columns, tell=tell)


def _write(out: Path, model: IdentifiedModel, levels: WatchLevels, precision: str, force: bool) -> None:
    from minertia.identification.online.c_levels import levels_header
    from minertia.identification.online.levels import levels_text
    from minertia.io.files import folder_at_once, write_file

    with folder_at_once(out, force=force) as draft:
        write_file(draft / LEVELS, levels_text(levels))
        write_file(draft / HEADER, levels_header(levels, model.robot.name, precision))
    diagnose(f"wrote {out}")


def _say(levels: WatchLevels, found: list[WatchResult]) -> None:
    from minertia.report.tables import Table

    rows = tuple(
        (joint, f"{sigma:.3g}", f"{alike:.2f}", f"{slow:.2g}")
        for joint, sigma, alike, slow in zip(levels.joints, levels.sigma, levels.alike, levels.slow, strict=True)
    )
    headers = ("joint", "residual [N m or N]", "likeness", "moves above [rad/s or m/s]")
    say(
        f"normal levels over {levels.options.block:g} s, from {60 * levels.hours:.2g} min of motion; on average "
        f"at most {levels.options.per_hour:g} false alarms per hour over all joints"
    )
    say_table(Table(headers, rows, right=(1, 2, 3)))
    for one in found:
        for sentence in one.sentences():
            say(f"{one.log}: {sentence}")
        for caution in () if one.load is None else one.load.cautions:
            say(f"{one.log}: warning: {caution}")
