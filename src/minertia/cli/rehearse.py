"""`minertia rehearse`: simulate the whole identification campaign before the robot moves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.limits import Floor, Limits, SelfCollision, read_limits
from minertia.cli.options import AsJson, Force, RobotName, Snap, Without, model_notes, read_given
from minertia.cli.pages import Pdf, check_pages, print_page
from minertia.cli.terminal import diagnose, say, say_json, say_notes, say_table
from minertia.robot.options import RobotOptions
from minertia.simulation.options import RehearsalOptions

if TYPE_CHECKING:
    from minertia.robot.robot import Note
    from minertia.simulation.rehearsed import Rehearsal, RehearsalStep

PAGE = "rehearsal.html"


Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder.")]


def rehearse(
    robot: RobotName,
    options: RehearsalOptions,
    how: RobotOptions,
    out: Out = Path("rehearsal"),
    limits: Limits = None,
    floor: Floor = None,
    self_collision: SelfCollision = None,
    without: Without = None,
    snap: Snap = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Simulate the whole identification campaign on a robot with known parameters."""
    from minertia.io.files import check_folder, folder_at_once
    from minertia.simulation.rehearsal import file_names
    from minertia.simulation.rehearsal import rehearse as run

    check_pages(None, pdf, force=force)
    given = read_given(robot, how, snap, numbers=True, without=without)
    say_notes(model_notes(given), file=sys.stderr)
    bounds = None if given.is_floating else read_limits(given, limits or (), floor, self_collision)
    check_folder(out, (PAGE, *file_names(given, options)), force=force)
    with folder_at_once(out, force=force) as draft:
        found = run(given, options, limits=bounds, out=draft, progress=say_step)
        notes = write_rehearsal(found, draft)
    if as_json:
        say_json(found.to_dict())
    else:
        _say(found)
    _diagnose(found, out, notes)
    print_page(out / PAGE, pdf, force=force)


def _say(found: Rehearsal) -> None:
    from minertia.report.tables import Table

    say(f"rehearsal of {found.robot.name}")
    rows = tuple((step.name, f"{step.seconds:.1f}", step.text) for step in found.steps)
    say_table(Table(("step", "time [s]", "what came of it"), rows, right=(1,)))


def _diagnose(found: Rehearsal, out: Path, notes: Sequence[Note]) -> None:
    for note in found.notes:
        diagnose(f"note: {note}")
    for sentence in found.skipped:
        diagnose(f"skipped {sentence}")
    say_notes(notes, file=sys.stderr)
    diagnose(f"wrote {out if notes else out / PAGE}")


def say_step(step: RehearsalStep) -> None:
    """Print one line at the end of each step."""
    diagnose(f"{step.name}: {step.seconds:.1f} s, {step.text}")


def write_rehearsal(found: Rehearsal, folder: Path) -> tuple[Note, ...]:
    """Write the report of a rehearsal into its folder; return a note if it cannot be written."""
    from minertia.report.bundle import write_page
    from minertia.report.rehearsal_page import rehearsal_page

    return write_page(folder / PAGE, lambda: rehearsal_page(found, folder).written())
