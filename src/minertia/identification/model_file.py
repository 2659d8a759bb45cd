"""The identified model as one TOML file: the robot, its values, and the evidence for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.model import IdentifiedModel, model_text
from minertia.identification.problem.linear import linear_model, link_number, symbol_of
from minertia.identification.problem.terms import EffectSpec, Wanted, at_joints
from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import DescriptionError, expect_path, expected
from minertia.io.files import is_file, why_no_file, write_file
from minertia.io.provenance import read_made_of
from minertia.robot.identified import check_format, nominal_robot
from minertia.robot.reading import MODEL, ReadOptions, is_model_text, read_text
from minertia.robot.robot import Robot

KIND = MODEL
ROUNDING = 1e-6  # of eigenvalues of correlations


def write_model(model: IdentifiedModel, path: str | Path, *, force: bool = False) -> None:
    """Write a model; the file appears whole or not at all.

    force: replace a file that minertia did not write, or that was edited since.
    """
    expected(model, IdentifiedModel, "the model", "read_model")
    write_file(path, model_text(model), force=force)


def is_model_file(path: str | Path) -> bool:
    """Whether a file is an identified model; its first lines say so."""
    file = Path(path)
    if file.suffix.lower() != ".toml" or not is_file(file):
        return False
    with open(file, encoding="utf-8", errors="replace") as text:
        return is_model_text(text.read(400))


def read_model(path: str | Path) -> IdentifiedModel:
    """A model from its file."""
    expect_path(path, "a model")
    if not is_file(path):
        raise DescriptionError(f"{why_no_file(path)}; `minertia identify ... --out DIR` writes a model.toml", file=path)
    try:
        document = toml_document(read_text(Path(path)))
    except DocumentError as err:
        if Path(path).suffix.lower() != ".toml":
            message = f"this is not an {KIND}; `minertia identify ... --out DIR` writes one"
            raise DescriptionError(message, file=path) from None
        raise DescriptionError(str(err), file=path, line=err.line) from None
    if document.get("kind") != KIND:
        raise DescriptionError(f"this is not an {KIND}; it must say kind = '{KIND}'", file=path)
    check_format(document, str(path))
    try:
        return _read(document, path)
    except KeyError as err:
        raise DescriptionError(f"the model is not complete: {err} is missing", file=path) from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as err:
        raise DescriptionError(f"the model is damaged: a value is not what it must be ({err})", file=path) from None


def _read(document: Mapping[str, Any], path: str | Path) -> IdentifiedModel:
    robot = nominal_robot(document, str(path), ReadOptions())
    terms = [_effect(robot, term) for term in document["effects"]["terms"]]
    effects: list[Wanted] = [*_without_twins(document["effects"]["own"]), *terms]
    method = str(document.get("method", "closed-form"))
    linear = linear_model(robot, effects, joints=document["joints"], method=method)
    unknowns = document["unknowns"]
    if list(linear.names) != list(unknowns["names"]):
        raise DescriptionError("the unknowns in the file are not those of its robot and effects", file=path)
    p = linear.count
    lower = np.zeros((p, p))
    for k, row in enumerate(unknowns["covariance"]):
        lower[k, : k + 1] = row
    values, covariance = np.array(unknowns["values"], float), lower + np.tril(lower, -1).T
    if values.shape != (p,) or not np.isfinite(values).all():
        raise ValueError(f"values of unknowns are {p} finite numbers")
    if not _is_covariance(covariance):
        raise ValueError("covariance of unknowns is none: deviations and correlations contradict each other")
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


def _is_covariance(C: NDArray[np.float64]) -> bool:
    """Whether a matrix is finite and has no negative variance in any direction, but for rounding."""
    if not np.isfinite(C).all():
        return False
    deviations = np.sqrt(np.maximum(np.diag(C), 0.0))
    if np.any(C[deviations == 0]):
        return False  # what is known exactly varies with nothing else
    size = np.where(deviations > 0, deviations, 1.0)
    with np.errstate(over="ignore"):
        scaled = C / size[:, None] / size
    return bool(np.isfinite(scaled).all()) and float(np.linalg.eigvalsh(scaled).min(initial=0.0)) > -ROUNDING


def _effect(robot: Robot, term: Mapping[str, Any]) -> EffectSpec:
    """An effect as `term_table` wrote it: its joints are numbers of the robot's joints."""
    constants = {key: value for key, value in term.items() if key not in ("kind", "joints", "known", "tag")}
    found = at_joints(robot, term["kind"], [int(j) - 1 for j in term["joints"]], constants, term.get("tag", ""))
    return replace(found, known=bool(term.get("known", False)))


def _without_twins(own: Sequence[str]) -> list[str]:
    """Names of effects without the motor-side ones that come with a joint's own."""
    twins = {f"{symbol_of(name)}M{link_number(name)}" for name in own}
    return [name for name in own if name not in twins]
