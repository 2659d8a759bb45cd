"""`minertia demo`: the main job on a bundled robot, in one command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minertia.cli.options import AsJson, OutFolder
from minertia.cli.terminal import diagnose, say, say_json
from minertia.errors import MissingExtra

if TYPE_CHECKING:
    from minertia.base.grouping import BaseParameters

ROBOT = "puma560"
FORMAT = 1


def demo(out: OutFolder = Path("minertia-demo"), as_json: AsJson = False) -> None:
    """Derive the base parameters of the PUMA 560, explain the certificate, write a page and a JSON file."""
    from minertia.base.derive import base_parameters
    from minertia.files import make_folder
    from minertia.robot.read import read_robot

    folder = make_folder(out)
    found = base_parameters(read_robot(ROBOT))
    written, skipped = [], []
    for name, make in STEPS.items():
        try:
            written.append(str(make(found, folder)))
        except MissingExtra as err:
            skipped.append(f"{name}: {err}")
    if as_json:
        say_json({"format": FORMAT, "robot": ROBOT, "count": found.count, "files": written, "skipped": skipped})
        return
    _tell(found)
    for path in written:
        say(f"wrote {path}")
    for sentence in skipped:
        diagnose(f"skipped {sentence}")


def _page(found: BaseParameters, folder: Path) -> Path:
    from minertia.files import write_text_atomic
    from minertia.report.base_page import base_page

    path = folder / f"base-{ROBOT}.html"
    write_text_atomic(path, base_page(found))
    return path


def _json(found: BaseParameters, folder: Path) -> Path:
    from minertia.files import write_text_atomic

    path = folder / f"base-{ROBOT}.json"
    write_text_atomic(path, found.to_json() + "\n")
    return path


# part of the demo -> what makes it; a part whose extra is not installed is skipped with a sentence
STEPS: dict[str, Callable[[Any, Path], Path]] = {"the page": _page, "the JSON file": _json}


def _tell(found: BaseParameters) -> None:
    from minertia.report.words import certificate_sentences

    say(found)
    say()
    say("What the certificate says:")
    for sentence in certificate_sentences(found):
        say(f"- {sentence}")
    say()
