"""File of an identified model in TOML: the robot, its parameters, and the evidence for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.campaigns.options import SensorOptions
from minertia.identification.campaigns.sensed import loads_of_rows, sensed_robot
from minertia.identification.model import IdentifiedModel, Model, model_text, read_unknowns, term_table
from minertia.identification.problem.linear import linear_model, link_number, symbol_of
from minertia.identification.problem.terms import EffectSpec, Wanted, at_joints
from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import DescriptionError, InputError, expect_path, expected
from minertia.io.files import is_file, why_no_file, write_file
from minertia.io.provenance import read_made_of
from minertia.io.schema import restored
from minertia.robot.divided import whole_links
from minertia.robot.files import model_in
from minertia.robot.formats.reading import MODEL, ReadOptions, is_model_text, read_text
from minertia.robot.identified import GEOMETRY, WRENCH, check_format, nominal_robot
from minertia.robot.robot import Robot

KIND = MODEL
OTHERS = {  # readers of other kinds, by their table
    GEOMETRY: "minertia.identification.geometry.model:read_calibrated",
    WRENCH: "minertia.identification.wrench.model:read_wrench",
}


def write_model(model: Model, path: str | Path, *, force: bool = False) -> None:
    """Write a model atomically.

    force: replace a file that minertia did not write, or that was edited since.
    """
    expected(model, Model, "the model", "read_model")
    write_file(path, model_text(model), force=force)


def is_model_file(path: str | Path) -> bool:
    """Whether a file is an identified model, according to its first lines."""
    file = model_in(path)
    if file.suffix.lower() != ".toml" or not is_file(file):
        return False
    with open(file, encoding="utf-8", errors="replace") as text:
        return is_model_text(text.read(400))


def read_model(path: str | Path) -> Model:
    """Read a model from its file, or from the folder that identify wrote."""
    expect_path(path, "a model")
    path = model_in(path)
    if not is_file(path):
        raise DescriptionError(f"{why_no_file(path)}; `minertia identify ... --out DIR` writes a model.toml", file=path)
    return parse_model(read_text(Path(path)), path)


def parse_model(text: str, path: str | Path) -> Model:
    """Read a model from the text of its file; path: name of the file in error messages."""
    try:
        document = toml_document(text)
    except DocumentError as err:
        if Path(path).suffix.lower() != ".toml":
            beside, text = Path(path).with_name("model.toml"), "`minertia identify ... --out DIR` writes one"
            text = f"give '{beside}', which is next to it" if is_file(beside) else text
            raise DescriptionError(f"this is not an {KIND}; {text}", file=path) from None
        raise DescriptionError(str(err), file=path, line=err.line) from None
    if document.get("kind") != KIND:
        raise DescriptionError(f"this is not an {KIND}; it must contain kind = '{KIND}'", file=path)
    check_format(document, str(path))
    try:
        return _read(document, path)
    except KeyError as err:
        raise DescriptionError(f"the model file is incomplete: {err} is missing", file=path) from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as err:
        raise DescriptionError(f"the model file is damaged: a value is invalid ({err})", file=path) from None


def _read(document: Mapping[str, Any], path: str | Path) -> Model:
    robot = nominal_robot(document, str(path), ReadOptions())
    for table, place in OTHERS.items():
        if table in document:
            module, name = place.split(":")
            return getattr(import_module(module), name)(document, robot)  # type: ignore[no-any-return]
    sensors = [restored(SensorOptions, one) for one in document.get("campaign", {}).get("sensors", ())]
    robot = sensed_robot(robot, sensors, loads_of_rows(sensors, document["joints"]))
    terms = [_effect(robot, term) for term in document["effects"]["terms"]]
    effects: list[Wanted] = [*_without_twins(document["effects"]["own"]), *terms]
    method = str(document.get("method", "closed-form"))
    linear = linear_model(robot, effects, joints=document["joints"], method=method)
    unknowns = document["unknowns"]
    if list(linear.names) != list(unknowns["names"]):
        raise DescriptionError(
            "the unknowns in the file do not match its robot and effects; identify the model again", file=path
        )
    values, covariance = read_unknowns(unknowns)
    return IdentifiedModel(
        linear,
        values,
        covariance,
        tuple(document["parameters"]),
        document["not_excited"],
        {name: float(v) for name, v in document["standard"].items()},
        bool(document["physical"]),
        document["evidence"],
        document.get("campaign", {}),
        read_made_of(document),
        document.get("exports", {}),
    )


def joints_alone(model: IdentifiedModel) -> IdentifiedModel:
    """Model of the joints' efforts with whole links, from one with force/torque sensors; others are returned as is.

    The unknowns of whole links are linear combinations of those of their near and far parts.
    """
    old = model.linear
    if not old.robot.sensors:
        return model
    robot = old.robot.without_sensors
    terms = [_effect(robot, term_table(term)) for term in old.choice.terms]
    linear = linear_model(robot, [*_without_twins(old.choice.own), *terms], method=old.base.method)
    whole = whole_links(old.robot, dict(zip(old.standard, np.eye(len(old.standard)), strict=True)))
    wanted = linear.K @ np.stack([whole[name] for name in linear.standard])
    T = wanted @ np.linalg.pinv(old.K)
    if np.abs(T @ old.K - wanted).max() > 1e-8 * np.abs(wanted).max():
        raise InputError("the sensors of this model do not show all that the joints' efforts depend on; fit both")
    asked = {key: value for key, value in model.campaign.items() if key not in ("sensors", "rows")}
    return replace(
        model, linear=linear, beta=T @ model.beta, covariance=T @ model.covariance @ T.T, parameters=(), campaign=asked
    )


def _effect(robot: Robot, term: Mapping[str, Any]) -> EffectSpec:
    """Effect from a table of `term_table`, whose joints are numbered from 1 as in the robot."""
    constants = {key: value for key, value in term.items() if key not in ("kind", "joints", "known", "tag")}
    found = at_joints(robot, term["kind"], [int(j) - 1 for j in term["joints"]], constants, term.get("tag", ""))
    return replace(found, known=bool(term.get("known", False)))


def _without_twins(own: Sequence[str]) -> list[str]:
    """Names of effects without the motor-side counterparts of joint-side ones."""
    twins = {f"{symbol_of(name)}M{link_number(name)}" for name in own}
    return [name for name in own if name not in twins]
