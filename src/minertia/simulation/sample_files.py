"""Export of parameter samples to files for simulators: one row in `FORMATS` for each file format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minertia.identification.samples import FILE, Samples
from minertia.io.errors import InputError
from minertia.io.files import check_folder, folder_at_once, write_file
from minertia.robot.files import write_robot
from minertia.robot.robot import Note
from minertia.simulation.export_files import left_over_notes
from minertia.simulation.sample_events import EVENT_FILES, write_events
from minertia.simulation.sample_mjx import MJX_FILES, write_mjx
from minertia.simulation.sample_values import held_robot, held_values, lost_notes

NO_LOAD = "the load is not part of a servo's model, so all masses are 0 here: add the links that your servo moves"
MOST_FILES = 1000  # robots in files of their own, without --force


@dataclass(frozen=True)
class SampleFormat:
    """File format of parameter samples for a simulator.

    names: function that returns the file names for a number of robots.  write: function that writes the files
    into a folder.  each: whether there is one file per robot.
    """

    names: Callable[[int], tuple[str, ...]]
    write: Callable[[Samples, Path], tuple[Note, ...]]
    each: bool = False


def check_samples(out: Path, formats: Sequence[str], count: int, *, force: bool = False) -> None:
    """Raise an error before the computation where the files cannot be written."""
    rows = [FORMATS[name] for name in formats]
    if count > MOST_FILES and any(row.each for row in rows) and not force:
        text = f"{count} robots would be written to as many files; draw at most {MOST_FILES} with --n, or use --force"
        raise InputError(text)
    check_folder(out, (FILE, *(name for row in rows for name in row.names(count))), force=force)


def write_samples(out: Path, samples: Samples, formats: Sequence[str] = (), *, force: bool = False) -> tuple[Note, ...]:
    """Write samples.npz and the files for simulators atomically; notes list what these cannot represent."""
    notes = [Note("info", FILE, NO_LOAD)] if samples.is_massless else list[Note]()
    with folder_at_once(out, force=force) as draft:
        write_file(draft / FILE, samples.to_bytes())
        for name in formats:
            notes += FORMATS[name].write(samples, draft)
        every = [name for row in FORMATS.values() for name in row.names(len(samples))]
        notes += left_over_notes(out, draft, every)
    return tuple(dict.fromkeys(notes))


# ---------------------------------------------------------------------- a file for each robot


def _names(folder: str, suffix: str) -> Callable[[int], tuple[str, ...]]:
    """Function that returns the names of the files of a number of robots."""
    return lambda count: tuple(f"{folder}/robot_{k:0{len(str(max(count - 1, 1)))}d}{suffix}" for k in range(count))


def _writer(target: str, suffix: str, program: str) -> Callable[[Samples, Path], tuple[Note, ...]]:
    """Function that writes one file of an export target for each robot."""

    def write(samples: Samples, folder: Path) -> tuple[Note, ...]:
        held, notes = held_values(samples, target), list[Note]()
        (folder / target).mkdir(exist_ok=True)
        for k, name in enumerate(_names(target, suffix)(len(samples))):
            notes += write_robot(held_robot(samples, k, held), folder / name)
        return (*lost_notes(samples, target, program), *notes)

    return write


FORMATS = {
    "mjx": SampleFormat(lambda count: MJX_FILES, write_mjx),
    "isaac-lab": SampleFormat(lambda count: EVENT_FILES, write_events),
    "urdf": SampleFormat(_names("urdf", ".urdf"), _writer("urdf", ".urdf", "URDF"), each=True),
    "usd": SampleFormat(_names("usd", ".usda"), _writer("usd", ".usda", "UsdPhysics"), each=True),
}
