"""`minertia excite`: the motion to run on a robot, for its controller and for a person to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.options import AsJson, Gravity, RobotName, Snap, read_given
from minertia.cli.terminal import diagnose, say, say_json
from minertia.errors import MinertiaError

if TYPE_CHECKING:
    from minertia.excitation.optimise import Progress

NAMES = ("position", "velocity", "acceleration", "effort", "effort_margin")

Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limits",
        metavar="NAME=VALUES|FILE",
        help="position=2, velocity=1.5,1,2 ..., acceleration=4, effort=file (those of the robot's file) or numbers; or "
        "a TOML file with these names and [[box]] tables (frame, lower, upper). May be repeated.",
        show_default=False,
    ),
]


def excite(
    robot: RobotName,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the motion and its page.")] = Path(
        "excitation"
    ),
    duration: Annotated[float, typer.Option("--duration", metavar="SECONDS", help="Length of the motion.")] = 10.0,
    harmonics: Annotated[int, typer.Option("--harmonics", help="Of the Fourier series.")] = 5,
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion", metavar="condition|scaled-condition|logdet|deviation", help="What makes a motion good."
        ),
    ] = "condition",
    limits: Limits = None,
    gravity: Gravity = None,
    start: Annotated[
        str | None,
        typer.Option("--start", metavar="Q1,Q2,...", help="Posture at both ends [rad or m].", show_default=False),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", help="At which the motion is judged.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Of the search.")] = 0,
    starts: Annotated[int, typer.Option("--starts", help="Number of searches; the best one counts.")] = 3,
    friction: Annotated[bool, typer.Option("--friction/--no-friction", help="Identify friction and offsets.")] = True,
    rotors: Annotated[bool, typer.Option("--rotors/--no-rotors", help="Identify rotor inertias.")] = True,
    snap: Snap = None,
    as_json: AsJson = False,
) -> None:
    """Find the motion that lets a robot's parameters be told apart, inside its limits, from rest to rest."""
    from minertia.excitation import excite as search
    from minertia.files import make_folder, write_text_atomic
    from minertia.report.excite_page import excite_page

    given = read_given(robot, snap=snap, numbers=True)
    if not given.is_floating and not given.n:
        raise MinertiaError(f"'{given.name}' has no joint that can move")
    found = search.excite(
        given,
        duration=duration,
        harmonics=harmonics,
        criterion=criterion,
        limits=None if given.is_floating else read_limits(given, limits or ()),
        gravity=gravity,
        start=None if start is None else _numbers("--start", start),
        seed=seed,
        starts=starts,
        friction=friction,
        rotors=rotors,
        n_samples=samples,
        progress=_say_progress,
    )
    folder = make_folder(out)
    files = {name: folder / f"excitation.{name}" for name in ("csv", "html", "json")}
    found.save(files["csv"])
    write_text_atomic(files["html"], excite_page(found))
    write_text_atomic(files["json"], found.to_json() + "\n")
    if as_json:
        say_json({**found.to_dict(), "files": [str(path) for path in files.values()]})
    else:
        say(found)
    for path in files.values():
        diagnose(f"wrote {path}")


def _say_progress(p: Progress) -> None:
    diagnose(f"start {p.start} of {p.starts}: {p.evaluations} evaluations, criterion {p.value:.4g}")


# ---------------------------------------------------------------------- limits


def read_limits(robot: Any, given: tuple[str, ...] | list[str]) -> Any:
    """Limits from the robot's file, changed by NAME=VALUES and by files."""
    from minertia.excitation.limits import Box, motion_limits

    table: dict[str, Any] = {}
    for text in given:
        name, sign, values = text.partition("=")
        table |= {name.strip(): _value(name.strip(), values)} if sign else _table(Path(text))
    boxes = table.pop("box", [])
    for name in table:
        if name not in NAMES:
            raise MinertiaError(f"'{name}' is no limit; choose from: {', '.join(NAMES)}")
    try:
        frames = [Box(str(b["frame"]), _corner(b["lower"]), _corner(b["upper"])) for b in boxes]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise MinertiaError("a box needs frame, lower and upper, the corners as three numbers [m]") from None
    try:
        return motion_limits(robot, boxes=frames, **table)
    except (TypeError, ValueError, OverflowError):
        raise MinertiaError(
            "these limits cannot be read: each takes one number or one per joint, position also lower and upper ones"
        ) from None


def _corner(values: Any) -> tuple[float, float, float]:
    x, y, z = map(float, values)
    return x, y, z


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


def _table(path: Path) -> dict[str, Any]:
    from minertia.files import is_file
    from minertia.identification.campaigns.options import load_toml

    if not is_file(path):
        raise MinertiaError(f"'{path}' is neither NAME=VALUES nor a file that can be read")
    return dict(load_toml(path).entries)
