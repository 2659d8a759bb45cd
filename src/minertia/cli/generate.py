"""Commands about generated code: `generate`, `count`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.options import (
    AsJson,
    Force,
    RobotName,
    Snap,
    Without,
    model_notes,
    option,
    read_given,
)
from minertia.cli.terminal import diagnose, say, say_json, say_notes
from minertia.codegen.options import PARAMETERS, Arithmetic, CodeModel, CodeSearch
from minertia.codegen.targets.options import CodeFiles, CodePrograms
from minertia.io.schema import option_of
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.codegen.generate import GenerationResult

FORMAT = 1
RIGID, SEARCH = CodeModel("base", rotors=False, friction=False), CodeSearch()  # what is counted

CountedParameters = Annotated[
    str | None,
    option(
        "parameters",
        "|".join(PARAMETERS),
        f"{option_of(CodeModel, 'parameters').sentence[:-1]}; default: base, or mlc with that formulation.",
    ),
]
SmoothFriction = Annotated[
    float | None,
    typer.Option(
        "--smooth-friction",
        metavar="WIDTH",
        help="Coulomb friction as tanh(qd / WIDTH) [rad/s or m/s] instead of sign(qd).",
        show_default=False,
    ),
]


def generate(
    robot: RobotName,
    how: RobotOptions,
    model: CodeModel,
    arithmetic: Arithmetic,
    search: CodeSearch,
    code: CodeFiles,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder for the code.", show_default=False)],
    without: Without = None,
    smooth: SmoothFriction = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="DIR", help="Reuse the search result saved with previously generated code."),
    ] = None,
    snap: Snap = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Generate allocation-free code for the robot's inverse dynamics, with operation counts and a self-test."""
    from minertia.codegen import generate as codegen
    from minertia.robot.variants import smooth_friction

    given = read_given(robot, how, snap, numbers=True, without=without)
    given = given if smooth is None else smooth_friction(given, smooth)
    say_notes([note for note in model_notes(given) if note.where != "effects" or note.level != "info"], file=sys.stderr)
    result = codegen.generate(
        given,
        out,
        programs=code.programs,
        target=code.target,
        model=model,
        arithmetic=arithmetic,
        search=search if replay is None else replace(search, representatives=codegen.load_representatives(replay)),
        force=force,
    )
    _show(given.name, result, as_json)
    if not as_json:
        diagnose(f"wrote {len(result.files)} files to {out}")
    taken = ", ".join(f"{name} = {value:.4g}" for name, value in result.effects.items())
    diagnose(f"effects in the code: {taken or 'none'}")
    for note in result.notes:
        diagnose(note)


def count(
    robot: RobotName,
    how: RobotOptions,
    code: CodePrograms,
    parameters: CountedParameters = None,
    model: CodeModel = RIGID,
    search: CodeSearch = SEARCH,
    snap: Snap = None,
    as_json: AsJson = False,
) -> None:
    """Count the operations of a robot's generated programs."""
    from minertia.codegen import generate as codegen

    given = read_given(robot, how, snap, numbers=True)
    taken = parameters or ("mlc" if model.formulation == "mlc" else "base")
    result = codegen.count_programs(
        given,
        codegen.COUNTED if code.programs is None else code.programs,
        model=replace(model, parameters=taken),
        search=search,
    )
    _show(given.name, result, as_json)


def _show(robot: str, result: GenerationResult, as_json: bool) -> None:
    data: dict[str, Any] = {"format": FORMAT, "robot": robot, **result.to_dict()}
    if as_json:
        say_json(data)
    else:
        say(result)
