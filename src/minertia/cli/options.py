"""Arguments and options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.io.schema import Option

if TYPE_CHECKING:
    from minertia.robot.robot import Note, Robot

LARGEST_SNAP = 0.5  # rad


def complete_robot(incomplete: str) -> list[str]:
    """Bundled robots whose name begins so; files are completed by the shell."""
    from minertia.robot.files import bundled_robots

    return [name for name in bundled_robots() if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """Methods that begin so."""
    from minertia.base.derive import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


def finite(value: float | tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    """Refuse inf and nan at the border."""
    numbers = value if isinstance(value, tuple) else () if value is None else (value,)
    if not all(map(math.isfinite, numbers)):
        raise typer.BadParameter("give finite numbers")
    return value


def not_negative(value: float | None) -> float | None:
    """Refuse inf, nan and what is below 0 at the border; a range of the parser's own would misname the first two."""
    finite(value)
    if value is not None and value < 0:
        raise typer.BadParameter("give a number that is not negative")
    return value


def small_angle(value: float | None) -> float | None:
    """Refuse what is no small angle: a larger one would take anything for a right angle."""
    not_negative(value)
    if value is not None and value > LARGEST_SNAP:
        raise typer.BadParameter(f"give an angle of at most {LARGEST_SNAP:g} rad")
    return value


def option(name: str, metavar: str, text: str, **more: Any) -> Any:
    """An option whose default, if it has one, its text tells."""
    return typer.Option(f"--{name}", metavar=metavar, help=text, show_default=False, **more)


def declared(one: Option) -> Any:
    """The type of a command's option as it is declared, to be None (of a flag: False) where it is not given."""
    flag = f"--{one.command or one.name.replace('_', '-')}"
    kinds, name = one.kind.scalars, one.name.upper().replace("_", "-")
    unit = f" [{one.unit}]" if one.unit else ""
    otherwise = f"; default: {one.otherwise.replace('`', '')}" if one.otherwise else ""
    text = f"{one.sentence.removesuffix('.').replace('`', '')}{unit}{otherwise}."
    if kinds == {"flag"}:
        return Annotated[bool, typer.Option(flag, help=text)]
    if one.kind.is_mapping:
        return Annotated[list[str] | None, option(flag[2:], "NAME=VALUE...", text)]
    if one.kind.depths == {1}:
        return Annotated[list[str] | None, option(flag[2:], f"{name}...", text)]
    number = int if kinds == {"whole"} else float if "number" in kinds else str
    metavar = "|".join(one.names) if one.choices else one.unit.upper() if number is float and one.unit else name
    return Annotated[number | None, option(flag[2:], metavar, text)]


RobotName = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="A robot file (.urdf, .toml, .xml, .mjcf, .par), an identified model, or a bundled robot.",
        autocompletion=complete_robot,
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout and nothing else there.")]
Floating = Annotated[bool, typer.Option("--floating", help="Let the base move freely, whatever the file says.")]
Numbers = Annotated[bool, typer.Option("--numbers", help="Use numbers for lengths instead of letters.")]
Snap = Annotated[
    float | None,
    typer.Option(
        "--snap",
        metavar="RAD",
        callback=small_angle,
        help="Angles this near a right angle are taken for it; 0 takes them as written (0.002 unless told).",
        show_default=False,
    ),
]
Gravity = Annotated[
    tuple[float, float, float] | None,
    typer.Option(
        "--gravity",
        metavar="X Y Z",
        callback=finite,
        help="Gravity in the base frame in m/s2 instead of the file's, for instance 0 0 -9.81.",
        show_default=False,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace files that minertia did not write, or that were changed since; never what it reads.",
    ),
]
Without = Annotated[
    str | None,
    typer.Option(
        "--without",
        metavar="EFFECT,...",
        help="Leave out effects of the robot or model: rotors, friction (all but rotors), spring, FS, KS2 ...",
        show_default=False,
    ),
]
Hold = Annotated[
    list[str] | None,
    typer.Option(
        "--hold",
        metavar="JOINT[=VALUE],...",
        help="Joints that stay where they are [rad or m], such as those of a gripper (0, or near it, unless told).",
        show_default=False,
    ),
]
OutFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the files it writes.")]


def model_notes(robot: Robot) -> list[Note]:
    """What was taken from an identified model."""
    from minertia.robot.identified import taken_notes

    return taken_notes(robot)


def read_given(
    name_or_path: str,
    floating: bool = False,
    snap: float | None = None,
    *,
    numbers: bool = False,
    without: str | None = None,
    hold: Sequence[str] | None = None,
    target: str = "",
) -> Robot:
    """The robot that a command was asked for, read as its options say; that of an identified model has its values.

    without: names of effects that are left out, with commas between them.  hold: joints that do not move, likewise.
    target: the format that it is written to, for which a model may have values of its own.
    """
    from minertia.robot.files import read_robot
    from minertia.robot.snap import ANGLE_TOLERANCE

    base = "floating" if floating else None
    tolerance = ANGLE_TOLERANCE if snap is None else snap
    robot = read_robot(name_or_path, base=base, snap=tolerance, letters=not numbers, target=target)
    names = [name.strip() for name in (without or "").split(",") if name.strip()]
    return with_held(robot.without_effects(names) if names else robot, hold or ())


def with_held(robot: Robot, hold: Sequence[str]) -> Robot:
    """The robot with the joints of --hold locked."""
    from minertia.robot.variants import held

    words = [word.strip() for given in hold for word in given.split(",") if word.strip()]
    return held(robot, words) if words else robot
