"""What the commands about logs share: a campaign from a file, or from a robot and logs, with the options over it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from minertia.cli.options import complete_robot, finite, read_given
from minertia.cli.terminal import say_notes
from minertia.errors import InputError

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.logs.columns import ColumnMap
    from minertia.identification.run import PreparedLog

# options that take all values up to the next option
GREEDY = ("--validate", "--joints", "--fix", "--after", "--after-motion")
SETTLED = ("jitter", "qdd inconsistent")  # findings that repairs settle or that no fit feels; the page has them
WITH_PRIOR = ("ridge", "physical", "sdp")


class GreedyCommand(typer.core.TyperCommand):
    """A command some of whose options take several values: --validate a.csv b.csv."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give each value an option of its own, which the parser understands."""
        return super().parse_args(ctx, repeated(args))


def repeated(args: Sequence[str]) -> list[str]:
    """`--validate a b` as `--validate a --validate b`."""
    given: list[str] = []
    greedy, taken = "", 0
    for k, arg in enumerate(args):
        if arg == "--":
            return [*given, *args[k:]]
        if arg.startswith("--"):
            greedy, taken = (arg, 0) if arg in GREEDY else ("", 0)
        elif greedy:
            taken += 1
            if taken > 1:
                given.append(greedy)
        given.append(arg)
    return given


RobotAndLogs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ROBOT LOG...]",
        help="A robot (file or bundled name) and the logs to fit; neither with --campaign.",
        autocompletion=complete_robot,
        show_default=False,
    ),
]
CampaignFile = Annotated[
    Path | None,
    typer.Option("--campaign", metavar="FILE", help="Everything from one file (docs/campaign.md).", show_default=False),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Where the campaign's logs are, too.", show_default=False),
]
Columns = Annotated[
    Path | None,
    typer.Option(
        "--columns",
        metavar="MAP.toml",
        help="File with the tables 'columns' and 'drive'; else one beside the first log, else names are recognised.",
        show_default=False,
    ),
]
Validate = Annotated[
    list[str] | None,
    typer.Option("--validate", metavar="LOG...", help="Logs that are only predicted.", show_default=False),
]
EstimatorName = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        metavar="E",
        help="auto (usual), weighted, ordinary, robust, total, instrumental, ridge, sequential, offline, recursive, "
        "physical.",
        show_default=False,
    ),
]
Effects = Annotated[
    str | None,
    typer.Option(
        "--effects",
        metavar="A,B,...",
        help="rotor, viscous, coulomb, offset (usual), two_sided_coulomb, smooth_coulomb, stribeck, load_coulomb, "
        "cubic, spring; on one joint: FC3; none.",
        show_default=False,
    ),
]
Physical = Annotated[bool, typer.Option("--physical", help="Only values that a real robot can have.")]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="FILE|robot",
        help="What ridge and physical are drawn to: the robot file's own parameters, or another robot or model.",
        show_default=False,
    ),
]
Fix = Annotated[
    list[str] | None,
    typer.Option("--fix", metavar="NAME=VALUE...", help="Known parameters, not fitted.", show_default=False),
]
Joints = Annotated[
    list[str] | None,
    typer.Option("--joints", metavar="J...", help="Joints to identify: names, or numbers from 1.", show_default=False),
]
Cutoff = Annotated[
    float | None,
    typer.Option("--cutoff", metavar="HZ", callback=finite, help="Low-pass on positions.", show_default=False),
]
Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="HZ", callback=finite, help="Rate after decimation.", show_default=False),
]


DropTorn = Annotated[
    bool,
    typer.Option("--drop-torn", help="Leave out rows of logs that are cut short or no numbers; counted."),
]


@dataclass(frozen=True)
class Choices:
    """The options of a command line that stand over a campaign; None where one was not given."""

    validate: Sequence[str] | None = None
    estimator: str | None = None
    effects: str | None = None
    physical: bool = False
    prior: str | None = None
    fix: Sequence[str] | None = None
    joints: Sequence[str] | None = None
    gravity: tuple[float, float, float] | None = None
    cutoff: float | None = None
    rate: float | None = None
    columns: Path | None = None
    drop_torn: bool = False


def asked_campaign(given: Sequence[str] | None, file: Path | None, data: Path | None, choices: Choices) -> Campaign:
    """The campaign that a command was asked to run."""
    from minertia.identification.campaigns.campaign import read_campaign
    from minertia.identification.campaigns.given import given_campaign

    names = list(given or ())
    if file is not None:
        if names:
            raise InputError("give either --campaign, which names robot and logs, or ROBOT LOG..., not both")
        campaign = read_campaign(file, data)
        if choices.columns is not None:
            campaign = replace(campaign, columns=read_map(choices.columns))
    else:
        if data is not None:
            raise InputError("--data says where the logs of a --campaign are; without one, name the logs themselves")
        if len(names) < 2:
            raise InputError("name a robot and at least one log, or a --campaign")
        campaign = given_campaign(read_given(names[0]), names[1:], choices.columns)
    return overridden(campaign, choices)


def read_map(path: Path) -> ColumnMap:
    """The mapping of columns in a file."""
    from minertia.identification.logs.columns_file import read_columns

    return read_columns(path)


def overridden(campaign: Campaign, choices: Choices) -> Campaign:
    """The campaign with the options over it."""
    changes: dict[str, Any] = {}
    if choices.gravity is not None:
        changes["robot"] = campaign.robot.with_gravity(choices.gravity)
    if choices.effects is not None:
        changes["effects"] = _effects(choices.effects)
    if choices.fix:
        changes["fix"] = {**campaign.fix, **_fixed(choices.fix)}
    if choices.joints:
        changes["joints"] = _joints(campaign, choices.joints)
    if choices.cutoff is not None or choices.rate is not None:
        changes["filter"] = _filter(campaign, choices)
    if choices.drop_torn:
        changes["columns"] = replace(campaign.columns, drop_torn=True)
    changes |= _estimator(campaign, choices)
    campaign = replace(campaign, **changes)
    return campaign if choices.validate is None else campaign.with_validation(choices.validate)


def _effects(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    return () if words == ("none",) else words


def _fixed(texts: Sequence[str]) -> dict[str, float]:
    fixed = {}
    for text in (part for given in texts for part in given.split(",")):
        name, _, value = text.partition("=")
        try:
            fixed[name.strip()] = finite(float(value))
        except (ValueError, typer.BadParameter):
            raise InputError(f"--fix takes NAME=VALUE with a finite number, not '{text}'") from None
    return fixed  # type: ignore[return-value]


def _joints(campaign: Campaign, names: Sequence[str]) -> tuple[int, ...]:
    from minertia.identification.campaigns.effects import joint_list
    from minertia.identification.campaigns.options import Options

    words = [word.strip() for given in names for word in given.split(",") if word.strip()]
    listed = [int(w) if w.isdigit() and w not in campaign.robot.coordinate_names else w for w in words]
    return joint_list(Options({"joints": listed}, "--joints"), "joints", campaign.robot)


def _filter(campaign: Campaign, choices: Choices) -> Any:
    filter_ = campaign.filter
    if choices.cutoff is not None:
        filter_ = replace(filter_, cutoff_hz=choices.cutoff)
    if choices.rate is not None:
        filter_ = replace(filter_, rate_hz=choices.rate, parallel_hz=None)
    return filter_


def _estimator(campaign: Campaign, choices: Choices) -> dict[str, Any]:
    name = choices.estimator
    if choices.physical and name not in (None, "physical", "sdp"):
        raise InputError(f"--physical is an estimator itself and does not go with --estimator {name}")
    name = "physical" if choices.physical else name
    changes: dict[str, Any] = {}
    if name is not None and name != campaign.estimator:
        changes |= {"estimator": name, "options": {}}
    if choices.prior is not None:
        used = name or campaign.estimator
        if used not in WITH_PRIOR:
            raise InputError(f"the estimator '{used}' takes no prior; add --physical or --estimator ridge")
        changes["prior"] = choices.prior if choices.prior == "robot" else _prior(campaign, choices.prior)
    return changes


def _prior(campaign: Campaign, name: str) -> Path:
    from minertia.files import is_file, why_no_file

    path = campaign.find(name)
    if not is_file(path):
        raise InputError(f"the prior '{name}': {why_no_file(path)}")
    return path


def say_findings(logs: tuple[PreparedLog, ...]) -> None:
    """What was assumed about the logs, repaired and found in them, on stderr."""
    from minertia.report.identification_tables import finding_notes
    from minertia.robot.robot import Note

    for text, names in _assumed(logs).items():
        where = names[0] if len(names) == 1 else f"{len(names)} logs"
        say_notes([Note("info", where, text)], file=sys.stderr)
    for log in logs:
        findings = [f for f in log.findings if f.check not in SETTLED]
        say_notes(finding_notes(log.name, findings), file=sys.stderr)


def _assumed(logs: tuple[PreparedLog, ...]) -> dict[str, list[str]]:
    """What readers and repairs noted, each with the logs it was noted of."""
    noted: dict[str, list[str]] = {}
    for log in logs:
        for text in log.recording.notes:
            noted.setdefault(text, []).append(log.name)
    return noted
