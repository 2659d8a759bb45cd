"""Command `minertia`: the list of its commands, and their execution."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from minertia.cli.base import base
from minertia.cli.calibrate import calibrate
from minertia.cli.campaigns import GreedyCommand
from minertia.cli.compare import compare
from minertia.cli.demo import demo
from minertia.cli.doctor import doctor
from minertia.cli.excite import excite
from minertia.cli.fleet import FLEET_COMMANDS, fleet
from minertia.cli.fleet_alarms import ALARM_COMMANDS
from minertia.cli.fleet_judging import JUDGING_COMMANDS
from minertia.cli.generate import count, generate
from minertia.cli.guard import DEBUG, NOBODY_READS, Stopped, explain, guarded
from minertia.cli.identify import identify, validate
from minertia.cli.logs import campaign, new
from minertia.cli.options import with_options
from minertia.cli.payload import payload
from minertia.cli.rehearse import rehearse
from minertia.cli.robots import check, convert, robots, show
from minertia.cli.run import run as run_motion
from minertia.cli.sample import sample
from minertia.cli.score import score
from minertia.cli.servo import servo
from minertia.cli.significance import significance
from minertia.cli.stop import was_stopped
from minertia.cli.studio import studio
from minertia.cli.terminal import diagnose, drop_stdout, forgiving_streams, say
from minertia.cli.watch import watch
from minertia.cli.wrench import wrench
from minertia.io.errors import InputError
from minertia.version import __version__

COMMANDS: tuple[Callable[..., None], ...] = (
    *(base, robots, show, check, convert),
    *(identify, validate, score, sample, compare, payload, servo, watch, significance, calibrate, wrench),
    *(excite, rehearse, run_motion, generate, count, studio, demo, doctor),
)
GROUPS = ((campaign, (new,)), (fleet, (*FLEET_COMMANDS, *JUDGING_COMMANDS, *ALARM_COMMANDS)))
OLD = {"--floating": ("--base", "floating")}  # options that still work, with what is written instead
LONGEST = 1000  # characters of a sentence in the list of commands


class WholeGroup(typer.core.TyperGroup):
    """Typer group whose command list shows whole first sentences."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first sentence of every command."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, found.get_short_help_str(limit=LONGEST)) for name, found in commands if found is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    name="minertia",
    cls=WholeGroup,
    help="Robot dynamic modelling and identification: certified symbolic base parameters; models from logs.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: boxes break words and cut them short in 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command(cls=GreedyCommand)(guarded(with_options(command)))
for group, commands in GROUPS:
    for command in commands:
        group.command()(guarded(with_options(command)))
    app.add_typer(group, cls=WholeGroup)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"minertia {__version__}")
        raise typer.Exit


@app.callback()
@guarded
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks (also: MINERTIA_DEBUG=1); accepted anywhere on the line.")
    ] = False,
) -> None:
    """Global options before the command; `main` has already removed --debug."""
    if context.invoked_subcommand is None:
        say(context.get_help())


def run(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code; raises KeyboardInterrupt if stopped."""
    args = list(sys.argv[1:] if argv is None else argv)
    before, after = (args[: args.index("--")], args[args.index("--") :]) if "--" in args else (args, [])
    DEBUG.set("--debug" in before)
    forgiving_streams()
    try:
        _refuse_nothing(before)
        return _run([word for arg in before if arg != "--debug" for word in _today(arg)] + after)
    except Stopped:
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        drop_stdout()
        return NOBODY_READS
    except Exception as err:
        if was_stopped():
            raise KeyboardInterrupt from None
        return explain(err)


def _today(arg: str) -> tuple[str, ...]:
    """Words of an argument, with a warning if its name is out of date."""
    if arg in OLD:
        diagnose(f"minertia: {arg} will be removed; write {' '.join(OLD[arg])}")
    return OLD.get(arg, (arg,))


def _refuse_nothing(args: Sequence[str]) -> None:
    """Reject an option with an empty value: an empty name would mean the current folder."""
    for arg, value in pairwise((*args, None)):
        if arg is not None and arg.startswith("--") and (arg.endswith("=") or ("=" not in arg and value == "")):
            raise InputError(f"the value of {arg.rstrip('=')} is empty; check that the shell variable is set")


@cache
def _parser() -> Any:
    """Command-line parser; built once, as it examines the options of every command."""
    return typer.main.get_command(app)


def _run(args: Sequence[str]) -> int:
    try:
        code = _parser()(args=args, prog_name="minertia", standalone_mode=False)
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    return code if isinstance(code, int) else int(code is not None)
