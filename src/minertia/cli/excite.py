"""`minertia excite`: the motion to run on a robot, for its controller and for a person to look at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.campaigns import Columns, DropTorn, Topic
from minertia.cli.limits import Floor, Limits, SelfCollision, numbers, read_limits, read_posture
from minertia.cli.motions import ComeFrom, Delivery, Exports, Rate, deliver, deliver_sweeps
from minertia.cli.options import AsJson, Force, Gravity, Hold, RobotName, Snap, option, read_given
from minertia.cli.pages import Pdf, check_pages, print_page
from minertia.cli.terminal import diagnose
from minertia.io.errors import MinertiaError, UnknownName

if TYPE_CHECKING:
    from minertia.excitation.optimise import Progress
    from minertia.excitation.trajectory import Family, Trajectory
    from minertia.robot.robot import Robot

FAMILIES = ("fourier", "spline")

After = Annotated[list[str] | None, option("after", "LOG...", "Logs already recorded: find what adds most to them.")]
AfterMotion = Annotated[
    list[Path] | None, option("after-motion", "CSV...", "The same for motions that this command wrote.")
]
MotionFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the motion and its page.")]
Duration = Annotated[float, typer.Option("--duration", metavar="SECONDS", help="Length of the motion.")]
FamilyName = Annotated[
    str, typer.Option("--family", metavar="fourier|spline", help="Fourier series, or splines of degree 5.")
]
Harmonics = Annotated[int, typer.Option("--harmonics", help="Of the Fourier series.")]
Pieces = Annotated[int, typer.Option("--pieces", help="Of the spline.")]
Criterion = Annotated[
    str,
    typer.Option(
        "--criterion", metavar="condition|scaled-condition|logdet|deviation", help="What makes a motion good."
    ),
]
StartPosture = Annotated[
    str | None,
    option(
        "start",
        "Q1,Q2,...|any",
        "Posture at both ends [rad or m] (near the middle of the joints unless told), or any.",
    ),
]
Sweeps = Annotated[bool, typer.Option("--sweeps", help="One motion per joint instead, the others at rest.")]
Samples = Annotated[int, typer.Option("--samples", help="At which the motion is judged.")]
Seed = Annotated[int, typer.Option("--seed", help="Of the search.")]
Starts = Annotated[int, typer.Option("--starts", help="Number of searches; the best one counts.")]
Friction = Annotated[bool, typer.Option("--friction/--no-friction", help="Identify friction and offsets.")]
Rotors = Annotated[bool, typer.Option("--rotors/--no-rotors", help="Identify rotor inertias.")]


def excite(
    robot: RobotName,
    out: MotionFolder = Path("excitation"),
    duration: Duration = 10.0,
    family: FamilyName = "fourier",
    harmonics: Harmonics = 5,
    pieces: Pieces = 10,
    criterion: Criterion = "condition",
    limits: Limits = None,
    floor: Floor = None,
    self_collision: SelfCollision = None,
    gravity: Gravity = None,
    start: StartPosture = None,
    come_from: ComeFrom = None,
    rate: Rate = None,
    exports: Exports = None,
    after: After = None,
    after_motion: AfterMotion = None,
    columns: Columns = None,
    topic: Topic = None,
    drop_torn: DropTorn = False,
    sweeps: Sweeps = False,
    samples: Samples = 200,
    seed: Seed = 0,
    starts: Starts = 3,
    friction: Friction = True,
    rotors: Rotors = True,
    hold: Hold = None,
    snap: Snap = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find the motion that lets a robot's parameters be told apart, inside its limits, from rest to rest."""
    from minertia.excitation import excite as search
    from minertia.excitation.options import MotionSearch, Optimality, RecordedMotions

    check_pages(None, pdf, force=force)
    given = _moving_robot(robot, snap, gravity, hold)
    chosen = _family(family, duration, harmonics, pieces)
    optimality = Optimality(criterion, rotors, friction)
    bounds = None if given.is_floating else read_limits(given, limits or (), floor, self_collision)
    posture = read_posture(start)
    origin = _origin(given, come_from)
    effort = MotionSearch(starts, seed, samples, come_from=None if origin is None else tuple(origin))
    delivery = Delivery(out, rate, origin, tuple(dict.fromkeys(exports or ())), force, as_json)
    if sweeps:
        _check_sweeps(posture, delivery, bool(after or after_motion))
        deliver_sweeps(given, bounds, (duration, harmonics, samples, seed), posture, delivery)
        print_page(out / "sweeps.html", pdf, force=force)
        return
    recorded = _recorded(given, after or (), after_motion or (), (columns, topic), drop_torn)
    delivery.check(given)
    found = search.excite(
        given,
        chosen,
        limits=bounds,
        start=posture,
        optimality=optimality,
        after=RecordedMotions(recorded),
        search=effort,
        progress=_say_progress,
    )
    deliver(found, delivery)
    print_page(out / "excitation.html", pdf, force=force)
    if found.interrupted:  # what follows this command must not go on as if it had been left to its end
        raise KeyboardInterrupt


def _moving_robot(
    name: str, snap: float | None, gravity: tuple[float, float, float] | None, hold: Sequence[str] | None
) -> Robot:
    given = read_given(name, snap=snap, numbers=True, hold=hold)
    if not given.is_floating and not given.n:
        raise MinertiaError(f"'{given.name}' has no joint that can move")
    return given if gravity is None else given.with_gravity(gravity)


def _origin(robot: Robot, text: str | None) -> list[float] | None:
    """The posture of --from."""
    if text is None:
        return None
    found = numbers("--from", text)
    if len(found) != robot.n:
        raise MinertiaError(f"--from needs {robot.n} numbers, one per joint of '{robot.name}', not {len(found)}")
    return found


def _check_sweeps(posture: object, delivery: Delivery, is_after: bool) -> None:
    if is_after:
        raise MinertiaError("--sweeps moves one joint at a time and takes no --after")
    if isinstance(posture, str):
        raise MinertiaError("--sweeps moves about one posture; give it as numbers")
    if delivery.come_from is not None or delivery.exports:
        raise MinertiaError("--sweeps writes CSV files about one posture and takes neither --from nor --export")


def _say_progress(p: Progress) -> None:
    diagnose(f"start {p.start} of {p.starts}: {p.evaluations} evaluations, criterion {p.value:.4g}")


def _family(name: str, duration: float, harmonics: int, pieces: int) -> Family:
    from minertia.excitation.fourier import Fourier
    from minertia.excitation.spline import Spline

    if name not in FAMILIES:
        raise UnknownName("family of motions", name, FAMILIES)
    return Fourier(duration, harmonics) if name == "fourier" else Spline(duration, pieces)


# ---------------------------------------------------------------------- what is there already


def _recorded(
    robot: Robot,
    logs: Sequence[str],
    motions: Sequence[Path],
    how: tuple[Path | None, str | None],
    drop_torn: bool,
) -> tuple[Trajectory, ...]:
    """The motions of logs, filtered as `identify` does, and those of files that `excite` wrote.

    how: the map of columns of the logs, and their topic.
    """
    from minertia.excitation.trajectory import Trajectory

    found = [Trajectory.load(path) for path in motions]
    if logs:
        from minertia.identification.campaigns.campaign import Campaign
        from minertia.identification.campaigns.prepare import prepare_campaign

        campaign = Campaign(robot, list(logs), columns=how[0])
        campaign = campaign if how[1] is None else campaign.on_topic(how[1])
        for log in prepare_campaign(campaign.without_torn_rows() if drop_torn else campaign).train:
            blocks = list(islice(log, 2))
            if len(blocks) > 1:
                raise MinertiaError(f"'{log.name}' is too long for --after; a part of it says as much about a motion")
            found.append(Trajectory(blocks[0].t, blocks[0].q, blocks[0].qd, blocks[0].qdd))
    elif how != (None, None):
        option = "--columns" if how[0] is not None else "--topic"
        raise MinertiaError(f"{option} says how to read the logs of --after; there are none")
    return tuple(found)
