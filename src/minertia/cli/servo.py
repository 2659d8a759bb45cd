"""`minertia servo`: model of one servo from runs with known loads."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import typer

from minertia.cli.campaigns import Columns, read_map
from minertia.cli.identify import say_result
from minertia.cli.options import AsJson, Force, declared
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json, say_notes
from minertia.identification.logs.options import ColumnMap
from minertia.identification.servo_options import ServoOptions
from minertia.io.documents import json_document
from minertia.io.schema import option_of

DropTorn: Any = declared(option_of(ColumnMap, "drop_torn"))


def servo(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Folder with index.csv (file, inertia and gravity_moment or mass and length, kp) and its logs.",
            show_default=False,
        ),
    ],
    validate: Annotated[
        Path | None, typer.Option("--validate", metavar="FOLDER", help="Folder of runs that are predicted, not fitted.")
    ] = None,
    loads: Annotated[
        Path | None,
        typer.Option(
            "--loads", metavar="FOLDER", help="Folder of runs whose loads are to be found; its index has guesses."
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Folder for model.toml, report.html, result.json, simulated runs and exports."
        ),
    ] = Path("servo"),
    options: ServoOptions = ServoOptions(),
    columns: Columns = None,
    drop_torn: DropTorn = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Identify motor, firmware and friction of a servo from runs of commands and positions with known loads."""
    from minertia.identification.servo import identify_loads, identify_servo
    from minertia.identification.servo_files import FILES
    from minertia.io.files import check_folder
    from minertia.report.folders import IDENTIFICATION_FILES, write_identification

    check_folder(out, (*IDENTIFICATION_FILES, *FILES), force=force)
    with progress(len(options.models) + 6) as tell:
        started = process_time()
        mapping = None if columns is None else read_map(columns)
        found = identify_servo(folder, validate, options, columns=mapping, drop_torn=drop_torn, tell=tell)
        further: dict[str, Any] = {"seconds": process_time() - started}
        if loads is not None:
            further["loads"] = identify_loads(found, loads)
        notes = write_identification(out, found, tell=tell, force=force)
    if as_json:
        say_json(json_document((out / "result.json").read_text(encoding="utf-8")) | further)
    else:
        say_result(found)
        _say_loads(further.get("loads", ()))
    say_notes(notes, file=sys.stderr)
    diagnose(f"wrote {out}")


def _say_loads(loads: Iterable[Mapping[str, float]]) -> None:
    for one in loads:
        say(
            f"load: inertia {one['inertia']:.4g} kg m2, gravity moment {one['gravity_moment']:.4g} N m, "
            f"{one['factor']:.4g} +- {one['deviation']:.2g} of what is stated ({one['runs']} runs)"
        )
