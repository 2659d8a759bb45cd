"""`minertia servo`: model of one servo from runs with known loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.options import AsJson, Force
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.identification.servo_options import ServoOptions

if TYPE_CHECKING:
    from minertia.identification.servo import ServoResult


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
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for values, runs and exports.")] = Path(
        "servo"
    ),
    options: ServoOptions = ServoOptions(),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Identify motor, firmware and friction of a servo from runs of commands and positions with known loads."""
    from minertia.identification.servo import identify_loads, identify_servo
    from minertia.identification.servo_files import FILES, write_servo
    from minertia.io.files import check_folder, folder_at_once

    check_folder(out, FILES, force=force)
    with progress(len(options.models) + 3) as tell:
        found = identify_servo(folder, validate, options, tell=tell)
    record = found.to_dict()
    if loads is not None:
        record["loads"] = identify_loads(found, loads)
    with folder_at_once(out, force=force) as draft:
        write_servo(draft, found)
    if as_json:
        say_json(record)
    else:
        _say(found, record)
    diagnose(f"wrote {out}")


def _say(found: ServoResult, record: dict[str, Any]) -> None:
    from minertia.report.tables import Table

    for name, error in record["score"].items():
        say(f"{name}: mean error of the simulated position {1e3 * error:.3g} mrad")
    say_table(
        Table(
            ("value", "estimate", "2.5 %", "97.5 %"),
            tuple((k, f"{v['value']:.5g}", f"{v['low']:.4g}", f"{v['high']:.4g}") for k, v in found.values.items()),
            right=(1, 2, 3),
        )
    )
    for one in record.get("loads", ()):
        say(
            f"load: inertia {one['inertia']:.4g} kg m2, gravity moment {one['gravity_moment']:.4g} N m, "
            f"{one['factor']:.4g} +- {one['deviation']:.2g} of what is stated ({one['runs']} runs)"
        )
    for note in found.notes:
        say(f"- {note}")
