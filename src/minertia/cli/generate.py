"""Commands about generated code: `generate`, `count`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.options import (
    AsJson,
    Floating,
    Force,
    Gravity,
    RobotName,
    Snap,
    Without,
    model_notes,
    read_given,
)
from minertia.cli.terminal import diagnose, say, say_json, say_notes
from minertia.io.errors import MinertiaError

if TYPE_CHECKING:
    from minertia.codegen.generate import GenerationResult
    from minertia.codegen.options import CodeModel
    from minertia.dynamics.frame import ChosenFrame

FORMAT = 1

Parameters = Annotated[
    str,
    typer.Option("--parameters", metavar="standard|base|mlc|baked", help="Which parameters the code takes, and how."),
]
CountedParameters = Annotated[
    str | None,
    typer.Option(
        "--parameters",
        metavar="standard|base|mlc|baked",
        help="Which parameters the code takes, and how.",
        show_default="base, or mlc with that formulation",
    ),
]
Programs = Annotated[
    str | None,
    typer.Option(
        "--programs",
        metavar="NAME,...",
        help="inverse_dynamics, background, synchronous, gravity, mass_matrix, velocity_torque, base_regressor, "
        "forward_dynamics, recursive_update, jacobian ...; docs/programs.md lists all.",
        show_default=False,
    ),
]
Payload = Annotated[bool, typer.Option("--payload", help="Take an arbitrary load at the last link at run time.")]
Rotors = Annotated[bool, typer.Option("--rotors", help="Include rotor inertias.")]
Friction = Annotated[bool, typer.Option("--friction", help="Include friction and offsets.")]
MaybeRotors = Annotated[
    bool | None,
    typer.Option("--rotors/--no-rotors", help="Rotor inertias; those of the robot or model unless told."),
]
MaybeFriction = Annotated[
    bool | None,
    typer.Option(
        "--friction/--no-friction", help="Friction, springs and offsets; those of the robot or model unless told."
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
FrameName = Annotated[
    str | None,
    typer.Option(
        "--frame", metavar="NAME", help="Frame of wrench, Jacobian and pose; the last link.", show_default=False
    ),
]
FrameAxes = Annotated[
    str, typer.Option("--axes", metavar="world|link", help="Axes in which vectors at that frame are given.")
]
ClosingSteps = Annotated[
    int | None,
    typer.Option(
        "--closing-steps",
        metavar="N",
        help="Newton's steps of each call for loops without a closed form (3 unless told).",
        show_default=False,
    ),
]
FormulationName = Annotated[
    str,
    typer.Option(
        "--formulation",
        metavar="newton-euler|mlc",
        help="Recursion of the inverse dynamics: over links, or over composite bodies (Lin 1995).",
    ),
]
Effort = Annotated[
    float,
    typer.Option("--effort", metavar="SECONDS", min=0.0, help="Time to search for fewer operations, per program."),
]


def generate(
    robot: RobotName,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the code.", show_default=False)],
    programs: Programs = None,
    parameters: Parameters = "baked",
    payload: Payload = False,
    rotors: MaybeRotors = None,
    friction: MaybeFriction = None,
    without: Without = None,
    smooth: SmoothFriction = None,
    single: Annotated[bool, typer.Option("--float", help="Single precision.")] = False,
    own_sincos: Annotated[bool, typer.Option("--own-sincos", help="Sines and cosines without a library.")] = False,
    target: Annotated[
        str, typer.Option("--target", metavar="c|cortex-m|cuda|numpy|jax|torch|matlab|fmu|ros2", help="What to write.")
    ] = "c",
    gravity: Gravity = None,
    frame: FrameName = None,
    axes: FrameAxes = "world",
    closing_steps: ClosingSteps = None,
    formulation: FormulationName = "newton-euler",
    effort: Effort = 0.0,
    seed: Annotated[int, typer.Option("--seed", help="Of the search.")] = 0,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="DIR", help="Use the choices saved with code generated before."),
    ] = None,
    floating: Floating = False,
    snap: Snap = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write allocation-free code that computes the robot's torques, with operation counts and a self-test."""
    from minertia.codegen import generate as codegen
    from minertia.codegen.options import Arithmetic, CodeSearch
    from minertia.dynamics.frame import ChosenFrame
    from minertia.robot.variants import smooth_friction

    given = read_given(robot, floating, snap, numbers=True, without=without)
    given = given if smooth is None else smooth_friction(given, smooth)
    given = given if gravity is None else given.with_gravity(gravity)
    say_notes([note for note in model_notes(given) if note.where != "effects" or note.level != "info"], file=sys.stderr)
    result = codegen.generate(
        given,
        out,
        programs=None if programs is None else _listed(programs),
        target=target,
        model=_model(parameters, rotors, friction, payload, ChosenFrame(frame, axes), closing_steps, formulation),
        arithmetic=Arithmetic("float" if single else "double", "own" if own_sincos else "libm"),
        search=CodeSearch(effort, seed, {} if replay is None else codegen.load_representatives(replay)),
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
    programs: Programs = None,
    parameters: CountedParameters = None,
    payload: Payload = False,
    rotors: Rotors = False,
    friction: Friction = False,
    gravity: Gravity = None,
    frame: FrameName = None,
    axes: FrameAxes = "world",
    closing_steps: ClosingSteps = None,
    formulation: FormulationName = "newton-euler",
    effort: Effort = 0.0,
    floating: Floating = False,
    snap: Snap = None,
    as_json: AsJson = False,
) -> None:
    """Count the operations of a robot's programs, read off the code itself."""
    from minertia.codegen import generate as codegen
    from minertia.codegen.options import CodeSearch
    from minertia.dynamics.frame import ChosenFrame

    given = read_given(robot, floating, snap, numbers=True)
    given = given if gravity is None else given.with_gravity(gravity)
    taken = parameters or ("mlc" if formulation == "mlc" else "base")
    result = codegen.count_programs(
        given,
        codegen.COUNTED if programs is None else _listed(programs),
        model=_model(taken, rotors, friction, payload, ChosenFrame(frame, axes), closing_steps, formulation),
        search=CodeSearch(effort),
    )
    _show(given.name, result, as_json)


def _model(
    parameters: str,
    rotors: bool | None,
    friction: bool | None,
    payload: bool,
    frame: ChosenFrame,
    steps: int | None,
    formulation: str,
) -> CodeModel:
    from minertia.codegen.options import CodeModel

    model = CodeModel(parameters, rotors, friction, payload, frame=frame, formulation=formulation)
    return model if steps is None else replace(model, closing_steps=steps)


def _listed(programs: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in programs.split(",") if name.strip())
    if not names:
        raise MinertiaError("--programs names no program; give some, or leave the option out")
    return names


def _show(robot: str, result: GenerationResult, as_json: bool) -> None:
    data: dict[str, Any] = {"format": FORMAT, "robot": robot, **result.to_dict()}
    if as_json:
        say_json(data)
    else:
        say(result)
