"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
import inspect
import keyword
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.io.errors import InputError
from minertia.io.schema import REQUIRED, Declared, Option, OptionError, options
from minertia.io.tables import shown
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.robot.robot import Note, Robot

LARGEST_SNAP = 0.5  # rad
WORD_LISTS: dict[str, Callable[[], Iterable[str]]] = {}  # {help text of an option: names that it lists}
AXES = "X Y Z"  # values of an option that is a vector
EVERY = "all"  # in place of the names of an option


def complete_robot(incomplete: str) -> list[str]:
    """Complete the names of bundled robots; files are completed by the shell."""
    from minertia.robot.files import bundled_robots

    return [name for name in bundled_robots() if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """Complete the names of methods."""
    from minertia.base.derive import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


def finite(value: float | tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    """Reject inf and nan."""
    numbers = value if isinstance(value, tuple) else () if value is None else (value,)
    if not all(map(math.isfinite, numbers)):
        raise typer.BadParameter("give finite numbers")
    return value


def not_negative(value: float | None) -> float | None:
    """Reject inf, nan and negative values; the parser's own range check would misname the first two."""
    finite(value)
    if value is not None and value < 0:
        raise typer.BadParameter("give a number that is not negative")
    return value


def small_angle(value: float | None) -> float | None:
    """Reject angles that are not small: a larger one would accept anything as a right angle."""
    not_negative(value)
    if value is not None and value > LARGEST_SNAP:
        raise typer.BadParameter(f"give an angle of at most {LARGEST_SNAP:g} rad")
    return value


def whole(text: str) -> int:
    """Parse an integer that no option class declares."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"give an integer, not {shown(text)}") from None


def option(name: str, metavar: str, text: str, **more: Any) -> Any:
    """Typer option whose help text states its default, if any."""
    return typer.Option(f"--{name}", metavar=metavar, help=text, show_default=False, **more)


def told(one: Option, default: Any = REQUIRED) -> str:
    """Help text of an option: first sentence, unit and default value; default: overrides the class's default."""
    is_own = default is REQUIRED or default == one.default
    value = (one.otherwise if is_own else "") or _usual(one.default if is_own else default)
    unit = f" [{one.unit}]" if one.unit else ""
    text = f"{one.sentence.removesuffix('.')}{unit}{f'; default: {value}' if value else ''}."
    return text.replace("`", "")


def _usual(value: Any) -> str:
    if isinstance(value, int | float):
        return ("on" if value else "") if isinstance(value, bool) else f"{value:g}"
    return value if isinstance(value, str) else ""


def as_text(one: Option, metavar: str) -> Any:
    """Typer annotation of an option whose text `Option.of_text` parses."""
    return Annotated[str | None, option(one.command, metavar, told(one))]


def declared(one: Option, default: Any = REQUIRED) -> Any:
    """Typer annotation of a declared option; its value is None (plain flag: False) if it is not given."""
    flag = f"--{one.command or one.name.replace('_', '-')}"
    kinds, name, text = one.kind.scalars, one.name.upper().replace("_", "-"), told(one, default)
    if callable(one.choices):
        WORD_LISTS[text] = lambda: one.names
    if one.switch:
        return Annotated[bool, typer.Option(flag, help=one.sentence)]
    if is_flag(one):
        if not is_plain(one, default):
            return Annotated[bool | None, typer.Option(f"{flag}/--no-{flag[2:]}", help=text, show_default=False)]
        return Annotated[bool, typer.Option(flag, help=text)]
    if one.kind.is_mapping:
        pair = "NAME[=VALUE],..." if one.kind.is_optional else "NAME=VALUE..."
        return Annotated[list[str] | None, option(flag[2:], pair, text)]
    if one.length == len(AXES.split()) and kinds == {"number"}:
        return Annotated[tuple[float, float, float] | None, option(flag[2:], AXES, text, callback=finite)]
    if 1 in one.kind.depths and "number" in kinds:
        return as_text(one, "|".join(("Q1,Q2,..." if one.unit == "rad or m" else "NUMBER,...", *one.words)))
    if one.kind.depths == {1}:
        return Annotated[list[str] | None, option(flag[2:], "NAME,..." if one.choices else f"{name}...", text)]
    number = int if kinds == {"whole"} else float if "number" in kinds else str
    measured = {"s": "SECONDS"}.get(one.unit, one.unit.upper().replace(" OR ", "|"))
    known = "|".join(one.names) if one.choices and not callable(one.choices) else ""
    metavar = known or {int: measured or "N", float: measured or "NUMBER"}.get(number, name)
    parser = None if number is str else functools.partial(_number, one)
    return Annotated[number | None, option(flag[2:], metavar, text, parser=parser)]


def _number(one: Option, text: str) -> Any:
    """Parse the number of an option, or raise an error with what it allows."""
    found = one.of_text(text)
    if isinstance(found, str | list):
        raise InputError(f"--{one.command} must be {one.must}, not {shown(text)}")
    return found


def is_flag(one: Option) -> bool:
    """Whether an option is a flag, which takes no value."""
    return "flag" in one.kind.scalars and not one.kind.scalars & {"whole", "number"}


def is_plain(one: Option, default: Any = REQUIRED) -> bool:
    """Whether a flag can only be switched on, as it is off by default."""
    return (one.default if default is REQUIRED else default) is False


# ---------------------------------------------------------------------- values of options


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add to a command the command-line options that its option classes declare.

    A parameter whose type is an options class is replaced by those of its options that have a command-line name,
    except options that the command defines itself.  Their defaults are those of the parameter's default value,
    if it has one.
    """
    parameters = inspect.signature(command, eval_str=True).parameters
    values = {name: p for name, p in parameters.items() if isinstance(p.annotation, type) and is_options(p.annotation)}
    if not values:
        return command
    made: list[inspect.Parameter] = []
    of: dict[str, dict[str, Option]] = {name: {} for name in values}
    for name, p in parameters.items():
        if name not in values:
            made.append(p.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        for word, one, usual in _commanded(p.annotation() if p.default is p.empty else p.default):
            if word not in parameters:
                off = False if one.switch or (is_flag(one) and is_plain(one, usual)) else None
                of[name][word] = one
                made.append(inspect.Parameter(word, p.KEYWORD_ONLY, default=off, annotation=declared(one, usual)))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, p in values.items():
            stated = [(one, given.pop(word)) for word, one in of[name].items()]
            given[name] = _value(p.annotation() if p.default is p.empty else p.default, stated)
        command(**given)

    run.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in made}
    return run


def _commanded(value: Any) -> Iterator[tuple[str, Option, Any]]:
    """Yield (parameter, option, default) of each command-line option of an options object, also nested ones."""
    for one in options(type(value)):
        usual = getattr(value, one.name)
        if one.kind.record is not None and not one.kind.depths:
            yield from _commanded(usual) if usual is not None else ()
        elif one.command:
            word = one.command.replace("-", "_")
            yield f"{word}_" if keyword.iskeyword(word) else word, one, usual


def is_options(kind: type) -> bool:
    """Whether a class is an options class (derived from `Declared`)."""
    return issubclass(kind, Declared)


def _read(one: Option, given: Any) -> Any:
    """Parse the value given for an option: numbers from a text, names from comma-separated texts."""
    if isinstance(given, str) and "number" in one.kind.scalars:
        return one.of_text(given)
    if one.kind.is_mapping:
        return named_numbers(one, given)
    if isinstance(given, list):
        words = [word.strip() for text in given for word in text.split(",") if word.strip()]
        return one.names if one.choices and words == [EVERY] else words
    return given


def named_numbers(one: Option, texts: Sequence[str]) -> dict[str, float | None]:
    """Parse NAME=VALUE texts, each of one or several separated by commas; a missing value, if allowed, is None."""
    found: dict[str, float | None] = {}
    for text in (part for given in texts for part in given.split(",") if part.strip()):
        name, sign, value = (part.strip() for part in text.partition("="))
        if name in found:
            raise InputError(f"--{one.command} names '{name}' twice")
        number = None if one.kind.is_optional and not sign else one.of_text(value)
        if not one.fits({name: number}):
            raise InputError(f"--{one.command} takes NAME=VALUE with a finite number, not '{text.strip()}'")
        found[name] = number
    return found


def _value(usual: Any, stated: Sequence[tuple[Option, Any]]) -> Any:
    """Update an options object, and those nested in it, with the options given on the command line."""
    own = [one.name for one in options(type(usual))]
    found = {
        one.name: _value(getattr(usual, one.name), stated)
        for one in options(type(usual))
        if one.kind.record is not None and not one.kind.depths and getattr(usual, one.name) is not None
    }
    for one, given in stated:
        if one.name not in own or one not in options(type(usual)) or given is None:
            continue
        if not (given is False and (one.switch or is_plain(one, getattr(usual, one.name)))):
            found[one.name] = one.switch or _read(one, given)
    try:
        return replace(usual, **found)
    except OptionError as err:
        name = {one.key: one.command for one, _ in stated}.get(err.key)
        told_as = f"--{name} must be {err.must}, not {shown(err.value)}{err.guess}"
        raise InputError(told_as if name else str(err)) from None


RobotName = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="A robot file (.urdf, .toml, .xml, .mjcf, .usd, .par), a model or its folder, or a bundled robot.",
        autocompletion=complete_robot,
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout and nothing else there.")]
Numbers = Annotated[bool, typer.Option("--numbers", help="Use numeric lengths instead of symbols.")]
Snap = Annotated[
    float | None,
    typer.Option(
        "--snap",
        metavar="RAD",
        callback=small_angle,
        help="Snap angles within this tolerance [rad] to multiples of 90 degrees; 0: no snapping; default: 0.002.",
        show_default=False,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace files that minertia did not write, or that were changed since; inputs are never replaced.",
    ),
]
Without = Annotated[
    str | None,
    typer.Option(
        "--without",
        metavar="EFFECT,...",
        help="Omit effects of the robot or model: rotors, friction (all but rotors), spring, FS, KS2 ...",
        show_default=False,
    ),
]
OutFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder.")]


def model_notes(robot: Robot) -> list[Note]:
    """Notes on the parameters taken from an identified model."""
    from minertia.robot.identified import taken_notes

    return taken_notes(robot)


def read_given(
    name_or_path: str,
    how: RobotOptions | None = None,
    snap: float | None = None,
    *,
    numbers: bool = False,
    without: str | None = None,
    target: str = "",
) -> Robot:
    """Read the robot named on the command line with its options; an identified model gives the identified robot.

    without: names of effects to exclude, separated by commas.  target: format to be written, for which a model may
    have separate values.
    """
    from minertia.robot.files import read_robot
    from minertia.robot.formats.snap import ANGLE_TOLERANCE
    from minertia.robot.variants import held

    how = how or RobotOptions()
    tolerance = ANGLE_TOLERANCE if snap is None else snap
    robot = read_robot(
        name_or_path,
        base=how.base,
        gravity=how.gravity,
        snap=tolerance,
        letters=not numbers,
        target=target,
        prim=how.prim,
    )
    names = [name.strip() for name in (without or "").split(",") if name.strip()]
    return held(robot.without_effects(names) if names else robot, how.hold)


def refuse_stated(given: Declared, why: str) -> None:
    """Raise an error for options on the command line that have no effect; why: the reason."""
    stated = [f"--{one.command}" for _, one, value in _commanded(given) if value != one.default]
    if stated:
        raise InputError(f"{' and '.join(stated)}: {why}")
