"""Result folders: the files of identifications and trajectories, each set written atomically."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minertia.excitation.limits_file import FILE as LIMITS_FILE
from minertia.excitation.limits_file import limits_toml
from minertia.excitation.result import Excitation
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.identify import Identification
from minertia.identification.kinds import kind_of
from minertia.identification.model_file import write_model
from minertia.io.files import check_folder, folder_at_once, reading, write_file
from minertia.io.provenance import made_of
from minertia.report.bundle import write_page
from minertia.report.export_tables import export_notes, exports_record
from minertia.report.pages import fit_page, motion_page
from minertia.robot.robot import Note
from minertia.robot.targets import BY_NAME
from minertia.simulation.export_files import export_names, left_over_notes, write_exports
from minertia.simulation.read_back import read_back

IDENTIFICATION_FILES = ("model.toml", "result.json", "report.html")
MOTION_FILES = ("excitation.csv", "excitation.html", "excitation.json", LIMITS_FILE)


# ---------------------------------------------------------------------- motions


def write_excitation(
    out: Path,
    found: Excitation,
    *,
    texts: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
    force: bool = False,
) -> tuple[Note, ...]:
    """Write the trajectory for the controller, its page and its data atomically.

    texts: files for controllers by name, including the trajectory (by default only the trajectory).  data:
    content of the data file.  Returns a note if the page could not be written.
    """
    motion, page, numbers, limits = MOTION_FILES
    with folder_at_once(out, force=force) as draft:
        for name, text in (texts or {motion: found.trajectory.to_csv()}).items():
            write_file(draft / name, text)
        notes = write_page(draft / page, lambda: motion_page(found))
        content = {**(data or found.to_dict()), "limits": limits}
        write_file(draft / numbers, json.dumps(content, indent=1, allow_nan=False) + "\n")
        write_file(draft / limits, limits_toml(found.base.robot, found.limits))
    return notes


# ---------------------------------------------------------------------- identifications


def check_identification(out: Path, asked: Campaign, exports: Sequence[str] = (), *, force: bool = False) -> None:
    """Raise an error before the computation where the result cannot be written; exports: names of export targets."""
    reading(*(log.file for log in (*asked.train, *asked.validate) if log.file is not None))
    names = (*IDENTIFICATION_FILES, *kind_of(asked).file_names(asked), *export_names(exports))
    check_folder(out, names, force=force)


def write_identification(
    out: Path,
    result: Identification,
    *,
    names: Mapping[str, str] | None = None,
    exports: Sequence[str] = (),
    tell: Tell = silent,
    force: bool = False,
) -> tuple[Note, ...]:
    """Write all files of a result atomically.

    names: titles of logs by file name, for the page.  exports: names of further programs for which files are written
    (`robot/targets.py`).  Returns notes on the exported files: what their formats
    cannot represent, and their residuals.
    """
    model_file, data, page = IDENTIFICATION_FILES
    tell("finding physical parameters")
    model = result.model(exports=True, tell=tell).made_from(made_of(out))
    tell("writing")
    problem = result.problem
    with folder_at_once(out, force=force) as draft:
        unheld = problem.write_files(model, draft, out)
        further = [name for name in exports if not (draft / BY_NAME[name].file).exists()]
        unheld += write_exports(model, draft, further)
        model = read_back(model, problem, draft, exports)
        write_model(model, draft / model_file)
        left = exports_record(model)
        record = result.to_dict() | ({"exports": left} if left else {})
        write_file(draft / data, json.dumps(record, indent=1, allow_nan=False) + "\n")
        notes = write_page(draft / page, lambda: fit_page(result, model, names))
        return (*notes, *unheld, *export_notes(model), *left_over_notes(out, draft, export_names(list(BY_NAME))))
