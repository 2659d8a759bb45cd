"""`minertia excite`: optimal excitation trajectory for a robot, as controller files and a report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.campaigns import Columns
from minertia.cli.limits import Floor, Limits, SelfCollision, read_limits
from minertia.cli.motions import Delivery, deliver, deliver_sweeps
from minertia.cli.options import AsJson, Force, RobotName, Snap, option, read_given, refuse_stated
from minertia.cli.pages import Pdf, check_pages, print_page
from minertia.cli.terminal import diagnose, say, say_json
from minertia.excitation.exports.options import MotionFiles
from minertia.excitation.options import MotionSearch, MotionShape, Optimality, SensorPoseOptions
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import MinertiaError
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.excitation.limits import MotionLimits
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
NO_LOGS = "this applies to the logs of --after, but none are given"
Sweeps = Annotated[bool, typer.Option("--sweeps", help="One trajectory per joint, with the other joints at rest.")]


def excite(
    robot: RobotName,
    shape: MotionShape,
    optimality: Optimality,
    search: MotionSearch,
    files: MotionFiles,
    reading: ColumnMap,
    how: RobotOptions,
    rest: SensorPoseOptions,
    out: MotionFolder = Path("excitation"),
    limits: Limits = None,
    floor: Floor = None,
    self_collision: SelfCollision = None,
    after: After = None,
    after_motion: AfterMotion = None,
    columns: Columns = None,
    sweeps: Sweeps = False,
    snap: Snap = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Optimise an excitation trajectory for a robot within its limits, from rest to rest."""
    from minertia.excitation import excite as searching
    from minertia.excitation.trajectory import RecordedMotions

    check_pages(None, pdf, force=force)
    given = _moving_robot(robot, how, snap)
    bounds = read_limits(given, limits or (), floor, self_collision)
    if rest.sensor is not None:
        if given.is_floating:
            raise MinertiaError(f"'{given.name}' has a floating base; poses are planned for a fixed one (--base fixed)")
        _deliver_poses(given, rest, bounds, out, force=force, as_json=as_json)
        return
    _check_origin(given, search.come_from)
    if bounds.feet and (search.come_from is not None or files.exports):
        raise MinertiaError("the motion of a standing robot is written as CSV alone; omit --from and --export")
    delivery = Delivery(out, files, search.come_from, force, as_json)
    if sweeps:
        _check_sweeps(shape, delivery, bool(after or after_motion))
        deliver_sweeps(given, bounds, shape, search, delivery)
        print_page(out / "sweeps.html", pdf, force=force)
        return
    recorded = _recorded(given, after or (), after_motion or (), columns, reading)
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


def _deliver_poses(
    robot: Robot, rest: SensorPoseOptions, bounds: MotionLimits, out: Path, *, force: bool, as_json: bool
) -> None:
    """Plan and write poses of a sensor."""
    from minertia.excitation.sensor_poses import plan_sensor_poses
    from minertia.io.files import make_folder

    assert rest.sensor is not None
    found = plan_sensor_poses(robot, rest.sensor, rest.poses, bounds)
    make_folder(out)
    found.save(out / "poses.csv", force=force)
    if as_json:
        say_json(found.to_dict())
        return
    mass, centre = found.deviations
    say(
        f"{len(found.q)} poses of {found.frame} in {out / 'poses.csv'}: standard deviations for a tool of 1 kg on a "
        f"sensor with noise of 0.1 N and 5 mN m: {1e3 * mass:.2g} g, {1e3 * centre:.2g} mm"
    )


def _moving_robot(name: str, how: RobotOptions, snap: float | None) -> Robot:
    given = read_given(name, how, snap, numbers=True)
    if not given.is_floating and not given.n:
        raise MinertiaError(f"'{given.name}' has no movable joint")
    return given


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
    columns: Path | None,
    reading: ColumnMap,
) -> tuple[Trajectory, ...]:
    """Read the trajectories of logs, filtered as by `identify`, and those of files written by `excite`."""
    from minertia.excitation.trajectory import Trajectory

    found = [Trajectory.load(path) for path in motions]
    if logs:
        from minertia.identification.campaigns.campaign import Campaign
        from minertia.identification.campaigns.prepare import prepare_campaign

        for log in prepare_campaign(Campaign(robot, list(logs), columns=columns).reading(reading)).train:
            blocks = list(islice(log, 2))
            if len(blocks) > 1:
                raise MinertiaError(f"'{log.name}' is too long for --after; use a part of it")
            found.append(Trajectory(blocks[0].t, blocks[0].q, blocks[0].qd, blocks[0].qdd))
    else:
        refuse_stated(reading, NO_LOGS)
        if columns is not None:
            raise MinertiaError(f"--columns: {NO_LOGS}")
    return tuple(found)
