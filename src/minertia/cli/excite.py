"""`minertia excite`: optimal excitation trajectory for a robot, as controller files and a report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.campaigns import Columns, DropTorn, Topic
from minertia.cli.limits import Floor, Limits, SelfCollision, read_limits
from minertia.cli.motions import Delivery, deliver, deliver_sweeps
from minertia.cli.options import AsJson, Force, Gravity, Hold, RobotName, Snap, option, read_given
from minertia.cli.pages import Pdf, check_pages, print_page
from minertia.cli.terminal import diagnose
from minertia.excitation.exports.options import MotionFiles
from minertia.excitation.options import MotionSearch, MotionShape, Optimality
from minertia.io.errors import MinertiaError

if TYPE_CHECKING:
    from minertia.excitation.optimise import Progress
    from minertia.excitation.trajectory import Trajectory
    from minertia.robot.robot import Robot

After = Annotated[
    list[str] | None,
    option("after", "LOG...", "Logs already recorded: find the trajectory that adds most information to them."),
]
AfterMotion = Annotated[
    list[Path] | None,
    option(
        "after-motion",
        "CSV...",
        "Trajectories written earlier by this command, whose information is added to that of the new one.",
    ),
]
MotionFolder = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Output folder for the trajectory and its report page.")
]
Sweeps = Annotated[bool, typer.Option("--sweeps", help="One trajectory per joint, with the other joints at rest.")]


def excite(
    robot: RobotName,
    shape: MotionShape,
    optimality: Optimality,
    search: MotionSearch,
    files: MotionFiles,
    out: MotionFolder = Path("excitation"),
    limits: Limits = None,
    floor: Floor = None,
    self_collision: SelfCollision = None,
    gravity: Gravity = None,
    after: After = None,
    after_motion: AfterMotion = None,
    columns: Columns = None,
    topic: Topic = None,
    drop_torn: DropTorn = False,
    sweeps: Sweeps = False,
    hold: Hold = None,
    snap: Snap = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Optimise an excitation trajectory for a robot within its limits, from rest to rest."""
    from minertia.excitation import excite as searching
    from minertia.excitation.trajectory import RecordedMotions

    check_pages(None, pdf, force=force)
    given = _moving_robot(robot, snap, gravity, hold)
    bounds = None if given.is_floating else read_limits(given, limits or (), floor, self_collision)
    _check_origin(given, search.come_from)
    delivery = Delivery(out, files, search.come_from, force, as_json)
    if sweeps:
        _check_sweeps(shape, delivery, bool(after or after_motion))
        deliver_sweeps(given, bounds, shape, search, delivery)
        print_page(out / "sweeps.html", pdf, force=force)
        return
    recorded = _recorded(given, after or (), after_motion or (), (columns, topic), drop_torn)
    delivery.check(given)
    found = searching.excite(
        given,
        searching.family_of(shape),
        limits=bounds,
        start=shape.start,
        optimality=optimality,
        after=RecordedMotions(recorded),
        search=search,
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
        raise MinertiaError(f"'{given.name}' has no movable joint")
    return given if gravity is None else given.with_gravity(gravity)


def _check_origin(robot: Robot, posture: Sequence[float] | None) -> None:
    """Raise an error if the posture of --from does not have one value per joint of the robot."""
    if posture is not None and len(posture) != robot.n:
        raise MinertiaError(f"--from needs {robot.n} numbers, one per joint of '{robot.name}', not {len(posture)}")


def _check_sweeps(shape: MotionShape, delivery: Delivery, is_after: bool) -> None:
    if is_after:
        raise MinertiaError("--sweeps moves one joint at a time and cannot be combined with --after")
    if isinstance(shape.start, str):
        raise MinertiaError("--sweeps needs one start posture; give it as numbers")
    if delivery.come_from is not None or delivery.files.exports:
        raise MinertiaError(
            "--sweeps writes CSV files about one posture and cannot be combined with --from or --export"
        )


def _say_progress(p: Progress) -> None:
    diagnose(f"start {p.start} of {p.starts}: {p.evaluations} evaluations, criterion {p.value:.4g}")


# ---------------------------------------------------------------------- what is there already


def _recorded(
    robot: Robot,
    logs: Sequence[str],
    motions: Sequence[Path],
    how: tuple[Path | None, str | None],
    drop_torn: bool,
) -> tuple[Trajectory, ...]:
    """Read the trajectories of logs, filtered as by `identify`, and those of files written by `excite`.

    how: column mapping and topic of the logs.
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
                raise MinertiaError(f"'{log.name}' is too long for --after; use a part of it")
            found.append(Trajectory(blocks[0].t, blocks[0].q, blocks[0].qd, blocks[0].qdd))
    elif how != (None, None):
        option = "--columns" if how[0] is not None else "--topic"
        raise MinertiaError(f"{option} applies to the logs of --after, but none are given")
    return tuple(found)
