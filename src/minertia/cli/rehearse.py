"""`minertia rehearse`: the whole campaign in simulation, before the robot moves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.limits import Floor, Limits, SelfCollision, read_limits
from minertia.cli.options import AsJson, Force, Hold, RobotName, Snap, Without, model_notes, read_given
from minertia.cli.pages import Pdf, check_pages, print_page
from minertia.cli.terminal import diagnose, say, say_json, say_notes, say_table

if TYPE_CHECKING:
    from minertia.robot.robot import Note
    from minertia.simulation.rehearsed import Rehearsal, RehearsalStep

PAGE = "rehearsal.html"


Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for everything it writes.")]
Noise = Annotated[
    float, typer.Option("--noise", metavar="PART", help="Of each joint's rms effort, on the measured efforts.")
]
Rate = Annotated[float, typer.Option("--rate", metavar="HZ", help="Of the controller and the log.")]
Duration = Annotated[float, typer.Option("--duration", metavar="SECONDS", help="Of each motion.")]
Resolution = Annotated[
    float | None,
    typer.Option(
        "--resolution",
        metavar="RAD|M",
        help="Of the encoders; 0 for perfect ones (1e-5 rad, and 1e-6 m where a joint slides, unless told).",
        show_default=False,
    ),
]
Delay = Annotated[float, typer.Option("--delay", metavar="SECONDS", help="From a command to its effort.")]
Stribeck = Annotated[
    float, typer.Option("--stribeck", metavar="PART", help="Friction at standstill beyond Coulomb friction.")
]
Load = Annotated[
    float | None,
    typer.Option(
        "--payload",
        metavar="KG",
        help="That is picked up (5 % of the moving mass unless told).",
        show_default=False,
    ),
]
Show = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="NAMES",
        help="Generated controllers to try: adaptive, collision, guiding, or several with commas, or all.",
        show_default=False,
    ),
]
Watch = Annotated[
    float, typer.Option("--watch", metavar="SECONDS", help="Of motion in which false alarms are counted.")
]


def rehearse(
    robot: RobotName,
    out: Out = Path("rehearsal"),
    noise: Noise = 0.01,
    rate: Rate = 1000.0,
    duration: Duration = 10.0,
    resolution: Resolution = None,
    delay: Delay = 0.0,
    stribeck: Stribeck = 0.0,
    load: Load = None,
    show: Show = None,
    watch: Watch = 60.0,
    cutoff: Annotated[float, typer.Option("--cutoff", metavar="HZ", help="Of the filter on positions.")] = 20.0,
    harmonics: Annotated[int, typer.Option("--harmonics", help="Of the motions.")] = 5,
    limits: Limits = None,
    floor: Floor = None,
    self_collision: SelfCollision = None,
    without: Without = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the motions and the noise.")] = 0,
    hold: Hold = None,
    snap: Snap = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Run the whole campaign on a simulated robot whose parameters are known, before the real one moves."""
    from minertia.io.files import check_folder, folder_at_once
    from minertia.simulation.rehearsal import file_names
    from minertia.simulation.rehearsal import rehearse as run
    from minertia.simulation.rehearsed import RehearsalOptions

    options = RehearsalOptions(
        noise, rate, duration, harmonics, resolution=resolution, cutoff=cutoff, seed=seed, delay=delay,
        stribeck=stribeck, load=load, show=shown_names(show), watch=watch,
    )  # fmt: skip
    check_pages(None, pdf, force=force)
    given = read_given(robot, snap=snap, numbers=True, without=without, hold=hold)
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


def shown_names(text: str | None) -> tuple[str, ...]:
    """The controllers that are named, all of them for "all"."""
    from minertia.simulation.shows import SHOWS

    words = tuple(word.strip() for word in (text or "").split(",") if word.strip())
    return tuple(SHOWS) if words == ("all",) else words


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
    """One line as each step ends."""
    diagnose(f"{step.name}: {step.seconds:.1f} s, {step.text}")


def write_rehearsal(found: Rehearsal, folder: Path) -> tuple[Note, ...]:
    """The page of a rehearsal beside its other files; a note where no page can be written."""
    from minertia.report.bundle import write_page
    from minertia.report.rehearsal_page import rehearsal_page

    return write_page(folder / PAGE, lambda: rehearsal_page(found, folder).written())
