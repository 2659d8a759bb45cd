"""Output of a trajectory: files for controllers, reports and terminal messages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minertia.cli.terminal import diagnose, say, say_json, say_notes, say_table

if TYPE_CHECKING:
    from minertia.excitation.exports.options import MotionFiles
    from minertia.excitation.limits import MotionLimits
    from minertia.excitation.options import MotionSearch, MotionShape
    from minertia.excitation.result import Excitation
    from minertia.excitation.route import Route
    from minertia.robot.robot import Note, Robot

MOTION_FILES = ("excitation.csv", "excitation.html", "excitation.json", "excitation-limits.toml")
WAY_FILES = ("approach.csv", "return.csv")
SWEEP_FILES = ("sweeps.html", "sweeps.json", "excitation-limits.toml")
WAY_RATE = 100.0  # Hz of the files of approach and return, where none is told


@dataclass(frozen=True)
class Delivery:
    """Output settings of a trajectory: folder and files.

    come_from: posture where the approach trajectory starts and the return trajectory ends.
    """

    out: Path
    files: MotionFiles
    come_from: Sequence[float] | None
    force: bool
    as_json: bool

    def check(self, robot: Robot) -> None:
        """Raise an error before a long search if its result could not be written."""
        from minertia.excitation.exports.table import EXPORTS, export
        from minertia.excitation.route import Route
        from minertia.excitation.transfer import resting
        from minertia.io.files import check_folder

        still = Route((("excitation", resting([0.0] * robot.n)),))
        if self.files.rate is not None:
            still.at_rate(self.files.rate)
        for name in self.files.exports:
            export(robot, still, name, self.files.rate)
        names = [name for form in self.files.exports for name in (*EXPORTS[form].files, *EXPORTS[form].programs)]
        check_folder(self.out, (*MOTION_FILES, *self._ways(), *names), force=self.force)

    def _ways(self) -> tuple[str, ...]:
        return () if self.come_from is None else WAY_FILES

    def texts(self, found: Excitation, way: Route) -> dict[str, str]:
        """{file name: text} of the trajectory, its approach and return trajectories, and the exports."""
        from minertia.excitation.exports.table import EXPORTS, export

        whole, rate = found.joint_motion, self.files.rate
        motion = whole.sample(len(found.trajectory.t)) if rate is None else whole.at_rate(rate)
        texts = {MOTION_FILES[0]: motion.to_csv()}
        for name in self._ways():
            part = dict(way.parts)[name.removesuffix(".csv")]
            texts[name] = part.at_rate(WAY_RATE if self.files.rate is None else self.files.rate).to_csv()
        for form in self.files.exports:
            texts |= {**export(found.base.robot, way, form, self.files.rate), **EXPORTS[form].programs}
        return texts


def deliver(found: Excitation, delivery: Delivery) -> None:
    """Write a trajectory, its report and the requested exports, and print a summary."""
    from minertia.excitation.route import route
    from minertia.report.folders import write_excitation

    way = route(found, delivery.come_from)
    texts = delivery.texts(found, way)
    data = {**found.to_dict(), **_way_data(way, delivery)}
    notes = write_excitation(delivery.out, found, texts=texts, data=data, force=delivery.force)
    files = _written((*MOTION_FILES, *(name for name in texts if name not in MOTION_FILES)), notes)
    if delivery.as_json:
        say_json({**data, "files": [str(delivery.out / name) for name in files]})
    else:
        _say_motion(found)
        _say_way(way)
    say_notes(notes, file=sys.stderr)
    for name in files:
        diagnose(f"wrote {delivery.out / name}")


def _written(files: Sequence[str], notes: Sequence[Note]) -> list[str]:
    """Files except those that, according to notes, could not be written."""
    return [name for name in files if name not in {note.where for note in notes}]


def _way_data(way: Route, delivery: Delivery) -> dict[str, Any]:
    """JSON data of the rate and of the approach and return trajectories, if requested."""
    found: dict[str, Any] = {} if delivery.files.rate is None else {"rate": delivery.files.rate}
    if delivery.come_from is not None:
        found["from"] = list(delivery.come_from)
        found["parts"] = {name: motion.duration for name, motion in way.parts}
    return found


def _say_motion(found: Excitation) -> None:
    from minertia.report.motions import PREDICTED, USE, deviation_table, use_table

    say(found.headline)
    for sentence in found.claim_lines():
        say(sentence)
    say_table(use_table(found), USE, last=False)
    say(found.noise_sentence)
    say_table(deviation_table(found), PREDICTED)
    for sentence in (*found.size_lines(), *found.space_lines(), *found.notes):
        say(sentence)


def _say_way(way: Route) -> None:
    from minertia.excitation.transfer import Transfer

    for name, part in way.parts:
        if isinstance(part, Transfer):
            legs = len(part.postures) - 1
            around = "straight on" if legs == 1 else f"in {legs} segments around obstacles"
            say(f"{name.capitalize()}: {part.duration:.2f} s, {around}; it respects the same limits.")


# ---------------------------------------------------------------------- joint by joint


def deliver_sweeps(
    robot: Robot,
    limits: MotionLimits | None,
    shape: MotionShape,
    search: MotionSearch,
    delivery: Delivery,
) -> None:
    """Write a single-joint excitation for each joint, last to first: a CSV file each, one report, one JSON file."""
    from minertia.excitation.limits_file import limits_toml
    from minertia.excitation.sweep import sweeps
    from minertia.io.files import check_folder, folder_at_once, write_file
    from minertia.report.bundle import write_page
    from minertia.report.motions import sweep_table, sweeps_page

    check_folder(delivery.out, SWEEP_FILES, force=delivery.force)
    found = sweeps(robot, shape, limits=limits, search=search)
    with folder_at_once(delivery.out, force=delivery.force) as draft:
        for sweep in found.sweeps:
            path = sweep.trajectory if delivery.files.rate is None else sweep.motion.at_rate(delivery.files.rate)
            write_file(draft / sweep.file, path.to_csv())
        notes = write_page(draft / "sweeps.html", lambda: sweeps_page(found).written())
        write_file(draft / "sweeps.json", found.to_json() + "\n")
        write_file(draft / "excitation-limits.toml", limits_toml(robot, found.limits))
    files = _written((*(sweep.file for sweep in found.sweeps), *SWEEP_FILES), notes)
    if delivery.as_json:
        say_json({**found.to_dict(), "files": [str(delivery.out / name) for name in files]})
    else:
        say(found.headline)
        for sentence in found.claims.sentences:
            say(sentence)
        say_table(sweep_table(found))
        for remark in found.remarks():
            say(remark)
    say_notes(notes, file=sys.stderr)
    for name in files:
        diagnose(f"wrote {delivery.out / name}")
