"""Shared by commands on logs: build a campaign from a file, or from a robot and logs, with option overrides."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from minertia.cli.former_options import with_current_names
from minertia.cli.options import (
    WORD_LISTS,
    complete_robot,
    declared,
    named_numbers,
    option,
    read_given,
    told,
)
from minertia.cli.terminal import say_notes
from minertia.identification.campaigns.options import CampaignOptions
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import InputError
from minertia.io.schema import option_of, options
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.campaigns.prepared import PreparedLog
    from minertia.identification.model import Model

# options that take all values up to the next option
GREEDY = ("--validate", "--joints", "--fix", "--after", "--after-motion", "--normal")
SETTLED = ("jitter", "qdd inconsistent")  # findings that repairs settle or that no fit feels; the page has them


class GreedyCommand(typer.core.TyperCommand):
    """Command with options that take several values: --validate a.csv b.csv."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option name before each value, as the parser requires."""
        return super().parse_args(ctx, repeated(with_current_names(ctx.info_name or "", args)))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text, including the known values of options whose value lists are loaded only for it."""
        for given in self.params:
            text: str | None = getattr(given, "help", None)
            words = WORD_LISTS.get(text or "")
            if words is not None and text is not None and (known := ", ".join(words())) not in text:
                given.help = f"{text.removesuffix('.')}. Known: {known}."  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def _effect_words() -> list[str]:
    from minertia.robot.effects import WORDS

    return list(WORDS)


def _estimator_words() -> list[str]:
    from minertia.identification.estimators import ESTIMATORS

    return list(ESTIMATORS)


for word, names in (("effects", _effect_words), ("estimator", _estimator_words)):
    WORD_LISTS[told(option_of(CampaignOptions, word))] = names


def repeated(args: Sequence[str]) -> list[str]:
    """Expand `--validate a b` to `--validate a --validate b`."""
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
        help="A robot (file, model or bundled name) and the training logs; neither with --campaign.",
        autocompletion=complete_robot,
        show_default=False,
    ),
]
CampaignFile = Annotated[
    Path | None,
    typer.Option(
        "--campaign",
        metavar="FILE",
        help="Campaign file: robot, logs, columns, drives, filter, estimator.",
        show_default=False,
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Additional folder in which to search for the campaign's logs.",
        show_default=False,
    ),
]
Columns = Annotated[
    Path | None,
    typer.Option(
        "--columns",
        metavar="MAP.toml",
        help="File with the tables 'columns' and 'drive'; default: one next to the first log, else columns are "
        "recognised by name.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class CommandOption:
    """Command-line option that overrides a campaign: its type, and how its value changes the campaign."""

    annotation: Any
    change: Callable[[Campaign, Any], Campaign]
    default: Any = None


def _effects(campaign: Campaign, text: str) -> Campaign:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    return replace(campaign, effects=() if words == ("none",) else words)


def _fix(campaign: Campaign, texts: Sequence[str]) -> Campaign:
    fixed = named_numbers(option_of(CampaignOptions, "fix"), texts)
    known = {name: value for name, value in fixed.items() if value is not None}
    return replace(campaign, fix={**campaign.fix, **known})


def _joints(campaign: Campaign, names: Sequence[str]) -> Campaign:
    words = [word.strip() for given in names for word in given.split(",") if word.strip()]
    known = campaign.robot.coordinate_names
    return replace(campaign, joints=[int(w) if w.isdigit() and w not in known else w for w in words])  # type: ignore[arg-type]


def _estimator(campaign: Campaign, name: str) -> Campaign:
    is_other = name != campaign.estimator
    return replace(campaign, estimator=name, options={} if is_other else campaign.options)


def _physical(campaign: Campaign, wanted: bool) -> Campaign:
    return _estimator(campaign, "physical") if wanted else campaign


def _prior(campaign: Campaign, name: str) -> Campaign:
    from minertia.io.files import is_file, why_no_file
    from minertia.robot.files import model_in

    path = model_in(campaign.find(name))
    if name != "robot" and not is_file(path):
        raise InputError(f"the prior '{name}': {why_no_file(path)}")
    return replace(campaign, prior=name if name == "robot" else path)


def _rate(campaign: Campaign, hz: float) -> Campaign:
    return replace(campaign, filter=replace(campaign.filter, rate_hz=hz, parallel_hz=None))


# options whose text on a command line is no value yet, or which change more than their own
CHANGES: dict[str, Callable[[Campaign, Any], Campaign]] = {
    "estimator": _estimator, "effects": _effects, "prior": _prior, "fix": _fix, "joints": _joints, "rate": _rate,
}  # fmt: skip


def _declared_options() -> dict[str, CommandOption]:
    """All campaign options that have a command-line name; those of the columns are a `ColumnMap` of the command."""
    found = {}
    for one in options(CampaignOptions):
        if one.name == "columns":
            continue
        record = one.kind.own_table
        for inner in (one,) if record is None else options(record):
            if inner.command:
                change = CHANGES.get(inner.command, _setter(inner.name, one.name if record is not None else None))
                default = False if inner.kind.scalars == {"flag"} else None
                found[inner.command.replace("-", "_")] = CommandOption(declared(inner), change, default)
    return found


def _setter(name: str, part: str | None) -> Callable[[Campaign, Any], Campaign]:
    """Function that sets an option of a campaign, or of one of its nested options objects."""

    def change(campaign: Campaign, value: Any) -> Campaign:
        if part is None:
            return replace(campaign, **{name: value})
        return replace(campaign, **{part: replace(getattr(campaign, part), **{name: value})})

    return change


# in the order in which they change a campaign
CAMPAIGN_OPTIONS: dict[str, CommandOption] = {
    "validate": CommandOption(
        Annotated[list[str] | None, option("validate", "LOG...", "Validation logs, never fitted.")],
        lambda campaign, logs: replace(campaign, validate=logs),
    ),
    "physical": CommandOption(
        Annotated[bool, typer.Option("--physical", help="Constrain the estimate to physically consistent values.")],
        _physical,
        False,
    ),
    **_declared_options(),
}
ESTIMATION = ("estimator", "physical", "prior")  # options that only a fit has a use for
GIVEN = {"robot_and_logs": RobotAndLogs, "campaign": CampaignFile, "data": Data, "columns": Columns}
READ = {"reading": ColumnMap, "how": RobotOptions}  # of logs and robot


def campaign_command(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command whose first argument is the `Campaign` that the command line specifies.

    The campaign's arguments and options, except those named in `without`, precede the command's own.
    """
    chosen = {name: option for name, option in CAMPAIGN_OPTIONS.items() if name not in without}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, locals={"Campaign": object}, eval_str=True).parameters.values())[1:]
        keyword = inspect.Parameter.KEYWORD_ONLY
        shared = [inspect.Parameter(n, keyword, default=None, annotation=a) for n, a in GIVEN.items()]
        shared += [inspect.Parameter(n, keyword, annotation=a) for n, a in READ.items()]
        shared += [
            inspect.Parameter(n, keyword, default=option.default, annotation=option.annotation)
            for n, option in chosen.items()
        ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            robot_and_logs, file, data, columns = (given.pop(name) for name in GIVEN)
            reading, how = (given.pop(name) for name in READ)
            stated = {name: given.pop(name) for name in chosen}
            asked = campaign_of(robot_and_logs or (), (file, data), columns, how).reading(reading)
            command(changed(asked, stated), **given)

        parameters = [*shared, *(p.replace(kind=keyword) for p in own)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorated


def campaign_of(
    names: Sequence[str], file: tuple[Path | None, Path | None], columns: Path | None, how: RobotOptions
) -> Campaign:
    """Campaign of a robot and logs, or of a file; file: the campaign, and the folder of its logs."""
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.campaigns.read import is_campaign_file, read_campaign

    path, data = file
    if path is not None:
        if names:
            raise InputError("give either --campaign, which names robot and logs, or ROBOT LOG..., not both")
        campaign = read_campaign(path, data, how)
        return campaign if columns is None else replace(campaign, columns=read_map(columns))
    if data is not None:
        raise InputError(
            "--data is the folder of the logs of a --campaign; without a campaign, name the logs themselves"
        )
    if names and is_campaign_file(names[0]):
        raise InputError(
            f"{names[0]}: this is a campaign file, which names robot and logs; give it with --campaign {names[0]}"
        )
    if len(names) < 2:
        raise InputError("name a robot and at least one log, or a --campaign")
    return Campaign(read_given(names[0], how), list(names[1:]), columns=columns)  # type: ignore[arg-type]


def changed(campaign: Campaign, stated: Mapping[str, Any]) -> Campaign:
    """Campaign with the overrides of the command line."""
    _refuse_contradictions(campaign, stated)
    for name, value in stated.items():
        if value is not None and value != CAMPAIGN_OPTIONS[name].default:
            campaign = CAMPAIGN_OPTIONS[name].change(campaign, value)
    return campaign


def _refuse_contradictions(campaign: Campaign, stated: Mapping[str, Any]) -> None:
    from minertia.identification.estimators import table_name, takes_prior

    name = stated.get("estimator")
    if stated.get("physical") and name is not None and table_name(name) != "physical":
        raise InputError(f"--physical selects an estimator and cannot be combined with --estimator {name}")
    used = "physical" if stated.get("physical") else name or campaign.estimator
    if stated.get("prior") is not None and isinstance(used, str) and not takes_prior(used):
        raise InputError(f"the estimator '{used}' does not use a prior; add --physical or --estimator ridge")


def read_map(path: Path) -> ColumnMap:
    """Read a column mapping from a file."""
    from minertia.identification.logs.columns_file import read_columns

    return read_columns(path)


def map_for(model: Model, columns: Path | None, reading: ColumnMap) -> ColumnMap | None:
    """Column mapping for the logs of a model, from a file, with the options of the command line; None: its own."""
    from minertia.identification.remembered import campaign_like

    found = None if columns is None else read_map(columns)
    return found if reading == ColumnMap() else campaign_like(model, (), found).reading(reading).map


def say_findings(logs: tuple[PreparedLog, ...]) -> None:
    """Print assumptions, repairs and audit findings of the logs to stderr."""
    from minertia.report.identification_tables import finding_notes
    from minertia.robot.robot import Note

    for text, names in _assumed(logs).items():
        where = names[0] if len(names) == 1 else f"{len(names)} logs"
        say_notes([Note("info", where, text)], file=sys.stderr)
    for log in logs:
        findings = [f for f in log.findings if f.check not in SETTLED]
        say_notes(finding_notes(log.name, findings), file=sys.stderr)


def _assumed(logs: tuple[PreparedLog, ...]) -> dict[str, list[str]]:
    """Notes of readers and repairs, each with the logs that it concerns."""
    noted: dict[str, list[str]] = {}
    for log in logs:
        for text in () if log.recording is None else log.recording.notes:
            noted.setdefault(text, []).append(log.name)
    return noted
