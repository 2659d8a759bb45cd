"""`minertia excite`: the motion to run on a robot, for its controller and for a person to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import Columns, DropTorn
from minertia.cli.options import AsJson, Force, Gravity, RobotName, Snap, read_given
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.errors import MinertiaError, UnknownName

if TYPE_CHECKING:
    from minertia.excitation.limits import MotionLimits
    from minertia.excitation.limits_table import LimitsTable
    from minertia.excitation.optimise import Progress
    from minertia.excitation.result import Excitation
    from minertia.excitation.trajectory import Family, Trajectory
    from minertia.robot.robot import Robot

FAMILIES = ("fourier", "spline")
FORMAT = 1
SWEEP_FILES = ("sweeps.html", "sweeps.json")

Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limits",
        metavar="NAME=VALUES|FILE",
        help="position=2, velocity=1.5,1,2 ..., acceleration=4, effort=file (those of the robot's file) or numbers; or "
        "a TOML file with these names, boxes for frames, obstacles, a table, self_collision (docs/excitation.md). May "
        "be repeated.",
        show_default=False,
    ),
]


Floor = Annotated[
    str | None,
    typer.Option(
        "--floor",
        metavar="Z|none",
        help="Height in the base frame [m] that every link stays above (the base plane unless told), or none.",
        show_default=False,
    ),
]
SelfCollision = Annotated[
    str | None,
    typer.Option(
        "--self-collision", metavar="on|none", help="Whether links keep apart (on unless told).", show_default=False
    ),
]
After = Annotated[
    list[str] | None,
    typer.Option(
        "--after", metavar="LOG...", help="Logs already recorded: find what adds most to them.", show_default=False
    ),
]
AfterMotion = Annotated[
    list[Path] | None,
    typer.Option(
        "--after-motion", metavar="CSV...", help="The same for motions that this command wrote.", show_default=False
    ),
]


def excite(
    robot: RobotName,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the motion and its page.")] = Path(
        "excitation"
    ),
    duration: Annotated[float, typer.Option("--duration", metavar="SECONDS", help="Length of the motion.")] = 10.0,
    family: Annotated[
        str, typer.Option("--family", metavar="fourier|spline", help="Fourier series, or splines of degree 5.")
    ] = "fourier",
    harmonics: Annotated[int, typer.Option("--harmonics", help="Of the Fourier series.")] = 5,
    pieces: Annotated[int, typer.Option("--pieces", help="Of the spline.")] = 10,
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion", metavar="condition|scaled-condition|logdet|deviation", help="What makes a motion good."
        ),
    ] = "condition",
    limits: Limits = None,
    floor: Floor = None,
    self_collision: SelfCollision = None,
    gravity: Gravity = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--start",
            metavar="Q1,Q2,...|any",
            help="Posture at both ends [rad or m] (near the middle of the joints unless told), or any.",
            show_default=False,
        ),
    ] = None,
    after: After = None,
    after_motion: AfterMotion = None,
    columns: Columns = None,
    drop_torn: DropTorn = False,
    sweeps: Annotated[bool, typer.Option("--sweeps", help="One motion per joint instead, the others at rest.")] = False,
    samples: Annotated[int, typer.Option("--samples", help="At which the motion is judged.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Of the search.")] = 0,
    starts: Annotated[int, typer.Option("--starts", help="Number of searches; the best one counts.")] = 3,
    friction: Annotated[bool, typer.Option("--friction/--no-friction", help="Identify friction and offsets.")] = True,
    rotors: Annotated[bool, typer.Option("--rotors/--no-rotors", help="Identify rotor inertias.")] = True,
    snap: Snap = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find the motion that lets a robot's parameters be told apart, inside its limits, from rest to rest."""
    from minertia.excitation import excite as search
    from minertia.excitation.options import MotionSearch, Optimality, Recorded
    from minertia.files import check_folder
    from minertia.report.folders import MOTION_FILES

    given = read_given(robot, snap=snap, numbers=True)
    if not given.is_floating and not given.n:
        raise MinertiaError(f"'{given.name}' has no joint that can move")
    chosen = _family(family, duration, harmonics, pieces)
    optimality = Optimality(criterion, rotors, friction)
    effort = MotionSearch(starts, seed, samples)
    given = given if gravity is None else given.with_gravity(gravity)
    bounds = None if given.is_floating else read_limits(given, limits or (), floor, self_collision)
    posture = _posture(start)
    recorded = () if sweeps else _recorded(given, after or (), after_motion or (), columns, drop_torn)
    check_folder(out, SWEEP_FILES if sweeps else MOTION_FILES, force=force)
    if sweeps:
        if after or after_motion:
            raise MinertiaError("--sweeps moves one joint at a time and takes no --after")
        if isinstance(posture, str):
            raise MinertiaError("--sweeps moves about one posture; give it as numbers")
        _sweep(given, bounds, (duration, harmonics, samples, seed), posture, (out, force), as_json)
        return
    found = search.excite(
        given,
        chosen,
        limits=bounds,
        start=posture,
        optimality=optimality,
        after=Recorded(recorded),
        search=effort,
        progress=_say_progress,
    )
    _write(out, found, force, as_json)


def _write(out: Path, found: Any, force: bool, as_json: bool) -> None:
    from minertia.report.folders import MOTION_FILES, write_excitation

    write_excitation(out, found, force=force)
    if as_json:
        say_json({**found.to_dict(), "files": [str(out / name) for name in MOTION_FILES]})
    else:
        _say_motion(found)
    for name in MOTION_FILES:
        diagnose(f"wrote {out / name}")
    if found.interrupted:  # what follows this command must not go on as if it had been left to its end
        raise KeyboardInterrupt


def _say_motion(found: Excitation) -> None:
    from minertia.report.excitation_tables import PREDICTED, USE, deviation_table, use_table

    say(found.headline)
    for sentence in found.claim_lines():
        say(sentence)
    say_table(use_table(found), USE, last=False)
    say(found.noise_sentence)
    say_table(deviation_table(found), PREDICTED)
    for sentence in (*found.size_lines(), *found.space_lines(), *found.notes):
        say(sentence)


def _say_progress(p: Progress) -> None:
    diagnose(f"start {p.start} of {p.starts}: {p.evaluations} evaluations, criterion {p.value:.4g}")


def _family(name: str, duration: float, harmonics: int, pieces: int) -> Family:
    from minertia.excitation.fourier import Fourier
    from minertia.excitation.spline import Spline

    if name not in FAMILIES:
        raise UnknownName("family of motions", name, FAMILIES)
    return Fourier(duration, harmonics) if name == "fourier" else Spline(duration, pieces)


# ---------------------------------------------------------------------- joint by joint


def _sweep(
    robot: Robot,
    limits: MotionLimits | None,
    setting: tuple[float, int, int, int],
    posture: list[float] | None,
    place: tuple[Path, bool],
    as_json: bool,
) -> None:
    """A motion of each joint, from the last to the first: a CSV file each, one page, one JSON file."""
    from minertia.excitation.sweep import sweeps
    from minertia.files import folder_at_once, write_file
    from minertia.report.excitation_tables import sweep_table
    from minertia.report.sweeps_page import sweeps_page

    duration, harmonics, samples, seed = setting
    found = sweeps(
        robot, limits=limits, duration=duration, harmonics=harmonics, posture=posture, n_samples=samples, seed=seed
    )
    out, force = place
    with folder_at_once(out, force=force) as draft:
        for sweep in found.sweeps:
            sweep.trajectory.save(draft / sweep.file)
        write_file(draft / "sweeps.html", sweeps_page(found))
        write_file(draft / "sweeps.json", found.to_json() + "\n")
    files = [*(sweep.file for sweep in found.sweeps), *SWEEP_FILES]
    if as_json:
        say_json({**found.to_dict(), "files": [str(out / name) for name in files]})
    else:
        say(found.headline)
        for sentence in found.claims.sentences:
            say(sentence)
        say_table(sweep_table(found))
        for remark in found.remarks():
            say(remark)
    for name in files:
        diagnose(f"wrote {out / name}")


# ---------------------------------------------------------------------- what is there already


def _recorded(
    robot: Robot, logs: Sequence[str], motions: Sequence[Path], columns: Path | None, drop_torn: bool
) -> tuple[Trajectory, ...]:
    """The motions of logs, filtered as `identify` does, and those of files that `excite` wrote."""
    from minertia.excitation.trajectory import Trajectory

    found = [Trajectory.load(path) for path in motions]
    if logs:
        from minertia.identification.campaigns.campaign import Campaign
        from minertia.identification.campaigns.prepare import prepare_campaign
        from minertia.identification.signals.filtering import Motion

        campaign = Campaign(robot, list(logs), columns=columns)
        for log in prepare_campaign(campaign.without_torn_rows() if drop_torn else campaign).train:
            if not isinstance(log.motion, Motion):
                raise MinertiaError(f"'{log.name}' is too long for --after; a part of it says as much about a motion")
            found.append(Trajectory(log.motion.t, log.motion.q, log.motion.qd, log.motion.qdd))
    elif columns is not None:
        raise MinertiaError("--columns says how to read the logs of --after; there are none")
    return tuple(found)


# ---------------------------------------------------------------------- limits


def read_limits(
    robot: Robot, given: Sequence[str], floor: str | None = None, self_collision: str | None = None
) -> MotionLimits:
    """Limits from the robot's file, changed by NAME=VALUES and by files; obstacles and boxes of all files count.

    floor, self_collision: texts of the options, which count more than the files.
    """
    from minertia.excitation.limits_table import JOINT_LIMITS, LimitsTable, limits_from_tables

    tables = []
    for text in given:
        name, sign, values = text.partition("=")
        name = name.strip()
        if sign and name not in JOINT_LIMITS and not Path(text).is_file():
            raise UnknownName("limit", name, JOINT_LIMITS)
        is_option = sign and name in JOINT_LIMITS
        tables.append(LimitsTable({name: _value(name, values)}) if is_option else _limits_file(Path(text)))
    options: dict[str, Any] = {} if floor is None else {"floor": _height(floor)}
    if self_collision is not None:
        if self_collision not in ("on", "none"):
            raise UnknownName("choice of --self-collision", self_collision, ("on", "none"))
        options["self_collision"] = self_collision == "on"
    return limits_from_tables(robot, [*tables, LimitsTable(options)])


def _height(text: str) -> float | bool:
    if text.strip() == "none":
        return False
    try:
        return float(text)
    except ValueError:
        raise MinertiaError(f"--floor needs a height in the base frame [m] or none, not '{text}'") from None


def _posture(text: str | None) -> list[float] | str | None:
    if text is None or text.strip() == "any":
        return None if text is None else "any"
    return _numbers("--start", text)


def _value(name: str, text: str) -> Any:
    if name == "effort" and text.strip() in ("file", "none"):
        return text.strip() == "file"
    found = _numbers(name, text)
    return found[0] if len(found) == 1 else found


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise MinertiaError(f"{name} needs numbers separated by commas, not '{text}'") from None


def _limits_file(path: Path) -> LimitsTable:
    from minertia.excitation.limits_table import LimitsTable
    from minertia.files import is_file
    from minertia.tables import load_toml

    if not is_file(path):
        raise MinertiaError(f"'{path}' is neither NAME=VALUES nor a file that can be read")
    return load_toml(path, LimitsTable)
