"""Former names of command-line options, accepted with a warning until 1.0.0."""

from __future__ import annotations

from collections.abc import Sequence

from minertia.cli.terminal import diagnose

# (command, former name): name today; a name has one meaning in all commands
FORMER = {
    ("generate", "--effort"): "--search-time",
    ("count", "--effort"): "--search-time",
    ("rehearse", "--payload"): "--load",
    ("rehearse", "--watch"): "--contact-free",
    ("run", "--watch"): "--levels",
    ("excite", "--rate"): "--export-rate",
    ("identify", "--rate"): "--fit-rate",
}


def with_current_names(command: str, args: Sequence[str]) -> list[str]:
    """Replace former option names in the arguments of a command; a warning names the new one."""
    given = list(args)
    for k, arg in enumerate(given):
        if arg == "--":
            break
        name, sign, value = arg.partition("=")
        today = FORMER.get((command, name))
        if today is not None:
            diagnose(f"warning: {name} of minertia {command} is now {today}; the former name works until 1.0.0")
            given[k] = f"{today}{sign}{value}"
    return given
