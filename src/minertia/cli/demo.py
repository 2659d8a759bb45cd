"""`minertia demo`: the complete workflow on a bundled robot, in one command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minertia.cli.options import AsJson, Force, OutFolder
from minertia.cli.rehearse import PAGE
from minertia.cli.terminal import diagnose, say, say_json
from minertia.io.errors import MissingExtra

if TYPE_CHECKING:
    from minertia.base.grouping import BaseParameters
    from minertia.robot.robot import Note

ROBOT = "puma560"
REHEARSED, RATE, DURATION = "puma560_physical", 1000.0, 10.0  # robot, Hz, s
FORMAT = 1
FILES, REHEARSAL, CAMPAIGN = (f"base-{ROBOT}.html", f"base-{ROBOT}.json"), "rehearsal", "campaign.toml"


def demo(out: OutFolder = Path("minertia-demo"), force: Force = False, as_json: AsJson = False) -> None:
    """Demonstrate the PUMA 560 from base parameters to control, with a simulated identification campaign.

    Writes a report of all results and compiles C code, in about half a minute.
    """
    from minertia.base.derive import base_parameters
    from minertia.io.files import check_folder, folder_at_once
    from minertia.robot.files import read_robot
    from minertia.simulation.rehearsal import file_names

    rehearsed = (PAGE, *file_names(read_robot(REHEARSED)))
    check_folder(out, (*FILES, CAMPAIGN, *(f"{REHEARSAL}/{name}" for name in rehearsed)), force=force)
    found = base_parameters(read_robot(ROBOT))
    if not as_json:
        _tell(found)
    written, skipped = list[str](), list[str]()
    with folder_at_once(out, force=force) as draft:
        for name, make in STEPS.items():
            try:
                written += [str(out / file) for file in make(found, draft, skipped)]
            except MissingExtra as err:
                skipped.append(f"{name}: {err}")
    if as_json:
        say_json({"format": FORMAT, "robot": ROBOT, "count": found.count, "files": written, "skipped": skipped})
        return
    for path in written:
        say(f"wrote {path}")
    for sentence in skipped:
        diagnose(f"skipped {sentence}")
    if str(out / FILES[0]) in written:  # else the studio's page is not built, and `minertia studio` would say so
        say(f"open it in the browser: {_command()} studio {out}", wrap=False)


def _command() -> str:
    """Name of the program as it was called, if by a relative path."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "minertia" and not called.is_absolute() else "minertia"


def _page(found: BaseParameters, folder: Path, skipped: list[str]) -> list[str]:
    from minertia.report.bundle import write_page
    from minertia.report.pages import base_page

    return _shown(FILES[0], write_page(folder / FILES[0], lambda: base_page(found)), skipped)


def _json(found: BaseParameters, folder: Path, skipped: list[str]) -> list[str]:
    from minertia.io.files import write_file

    write_file(folder / FILES[1], found.to_json() + "\n")
    return [FILES[1]]


def _rehearsal(found: BaseParameters, folder: Path, skipped: list[str]) -> list[str]:
    from minertia.cli.rehearse import say_step, write_rehearsal
    from minertia.robot.files import read_robot
    from minertia.simulation.options import RehearsalOptions
    from minertia.simulation.rehearsal import rehearse

    place = folder / REHEARSAL
    options = RehearsalOptions(rate=RATE, duration=DURATION)
    result = rehearse(read_robot(REHEARSED), options, out=place, progress=say_step)
    skipped += result.skipped
    notes = write_rehearsal(result, place)
    _write_campaign(folder, place)
    return _shown(f"{REHEARSAL}/{PAGE}", notes, skipped)


def _shown(page: str, notes: Sequence[Note], skipped: list[str]) -> list[str]:
    """Return [page] if it was written; otherwise append the reasons to `skipped` and return an empty list."""
    skipped += [f"{note.where}: {note.text}" for note in notes]
    return [] if notes else [page]


def _write_campaign(folder: Path, place: Path) -> None:
    """Write the campaign of the rehearsal's logs, if any, for `identify --campaign` and the studio."""
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.campaigns.write import write_campaign
    from minertia.simulation.rehearsal import LOGS

    logs = [place / f"{name}-log.csv" for name in LOGS]
    if all(log.is_file() for log in logs):
        write_campaign(Campaign(REHEARSED, logs[0], logs[1]), folder / CAMPAIGN)


# part of the demo -> what makes it and names its files; what needs an absent extra is skipped with a sentence
STEPS: dict[str, Callable[[Any, Path, list[str]], list[str]]] = {
    "the page": _page,
    "the JSON file": _json,
    "the rehearsal": _rehearsal,
}


def _tell(found: BaseParameters) -> None:
    from minertia.report.tables import certificate_sentences

    say(found)
    say()
    say("The certificate:")
    for sentence in certificate_sentences(found):
        say(f"- {sentence}")
    say()
