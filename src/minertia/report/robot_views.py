"""Robots and their base parameters as plain data for the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from minertia.base.derive import base_parameters
from minertia.base.grouping import FORMAT, BaseParameters
from minertia.io.errors import MinertiaError
from minertia.report.robot_data import robot_data
from minertia.report.shapes import drawn_robot
from minertia.report.tables import class_counts, unit_of
from minertia.report.words import CLASS_WORDS, certificate_sentences
from minertia.robot.check import check_robot
from minertia.robot.effects import ROTOR_SYMBOLS, STANDARD_SYMBOLS
from minertia.robot.parameters import split_name
from minertia.robot.robot import Note, Robot
from minertia.version import __version__


def robot_view(robot: Robot, *, rotors: bool, friction: bool) -> dict[str, Any]:
    """Structure, drawing, what is odd in the file, and base parameters where they can be derived."""
    return {
        "robot": robot_data(robot),
        "drawing": drawn_robot(robot),
        "notes": [_note(robot, note) for note in check_robot(robot)],
        "base": _base(robot, rotors, friction),
    }


def _note(robot: Robot, note: Note) -> dict[str, Any]:
    """A note with the joint (from 0) whose link it names, if it names one."""
    words = note.where.replace("'", " ").split()
    named = [j for j, joint in enumerate(robot.joints) if {joint.name, joint.link or joint.name} & set(words)]
    return {**asdict(note), "joint": named[0] if named else None}


def _base(robot: Robot, rotors: bool, friction: bool) -> dict[str, Any]:
    try:
        return base_view(base_parameters(robot, rotors=rotors, friction=friction))
    except MinertiaError as err:
        return {"error": str(err)}


def base_view(base: BaseParameters, frames: str = "joint") -> dict[str, Any]:
    """Each base parameter with its relation, the links (from 1) in it, its unit and its nominal value.

    frames: "joint" or "file", in which the classes are given.
    """
    values = base.values().tolist() if base.robot.has_parameters else [None] * base.count
    texts, latex = base.relation_texts(), base.relation_latex()
    parameters = [
        {
            "name": name,
            "text": texts[name],
            "latex": latex[name],
            "links": sorted({split_name(base.columns[c])[1] for c in np.flatnonzero(base.K[k])}),
            "columns": [base.columns[c] for c in np.flatnonzero(base.K[k])],
            "unit": unit_of(base.robot, name),
            "nominal": values[k],
            "is_numeric": bool(base.is_numeric[k]),
        }
        for k, name in enumerate(base.names)
    ]
    return {
        "count": base.count,
        "method": base.method,
        "parameters": parameters,
        "columns": list(base.columns),
        "classes": base.classes(frames),
        "class_words": dict(CLASS_WORDS),
        "class_counts": dict(class_counts(base, frames)),
        "certificate": list(certificate_sentences(base)),
    }


def base_facts(base: BaseParameters, frames: str) -> dict[str, object]:
    """How base parameters were found."""
    symbols = {split_name(name)[0] for name in base.columns}
    pairs: dict[str, object] = {
        "minertia": __version__,
        "page format": FORMAT,
        "method": base.method,
        "rotor inertias": "yes" if "IA" in symbols else "no",
        "friction and offsets": "yes" if symbols & set(STANDARD_SYMBOLS) - set(ROTOR_SYMBOLS) else "no",
        "gravity [m/s\u00b2]": "(" + ", ".join(f"{g:g}" for g in base.robot.gravity) + ")",
        "classes in": f"{frames} frames",
        "random states": f"{base.certificate.states}, seed {base.certificate.seed}",
    }
    if base.robot.source:
        pairs["robot file"] = base.robot.source
    return pairs
