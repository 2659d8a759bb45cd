"""Result pages that need no server: the studio's own components with embedded data (`bundle.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minertia.base.grouping import FORMAT as BASE_FORMAT
from minertia.base.grouping import BaseParameters
from minertia.excitation.result import FORMAT as MOTION_FORMAT
from minertia.excitation.result import Excitation
from minertia.identification.evidence.significance import Significance
from minertia.identification.kinds import kind_of_model
from minertia.report.bundle import filled, finite
from minertia.report.fit_views import (
    FIT_FORMAT,
    SHOWN,
    audit_lines,
    fit_view,
    judged_view,
    made_facts,
    measure_view,
    physical_sentences,
    titled,
    validation_view,
)
from minertia.report.motions import motion_view
from minertia.report.robot_views import base_facts, base_view, drawn_robot, robot_data
from minertia.report.tables import unit_of

if TYPE_CHECKING:
    from minertia.identification.comparison import ComparedValue, ModelComparison
    from minertia.identification.identify import Identification
    from minertia.identification.kind import PredictedLog, Problem
    from minertia.identification.loads.gains import DriveGains
    from minertia.identification.loads.payload import Payload
    from minertia.identification.model import Model
    from minertia.identification.significance import SignificantParameters
    from minertia.robot.robot import Robot

CURVE = 1500  # points of a curve in a file
PAGE_FORMAT = 1  # of pages without a format of their own


# ---------------------------------------------------------------------- identifications


def fit_page(result: Identification, model: Model, names: Mapping[str, str] | None = None) -> str:
    """Page of an identification: verdict, parameters, residuals, curves and patterns of some logs, settings.

    names: titles of log files, by file name.
    """
    view = fit_view(result, {}, points=CURVE)
    view |= {
        **_some(view["logs"]),
        "physical": physical_sentences(result, model),
        "unexcited": list(dict.fromkeys(result.estimate.not_excited.values())),
        "audits": audit_lines(result),
        "made": _pairs(made_facts(result, model)),
    }
    title = f"{result.problem.title} of {result.problem.campaign.name}"
    return filled("fit", title, titled(view, names or {}), format_version=FIT_FORMAT, scene="drawn" in view)


def validation_page(model: Model, name: str, logs: Sequence[PredictedLog]) -> str:
    """Page of the validation of a model; name: file name of the model."""
    view = validation_view(model, logs, points=CURVE)
    view |= {**_some(view["logs"]), "made": _pairs({"model": name, "robot": model.nominal.source or "in the model"})}
    return filled(
        "validation", f"Validation of {model.nominal.name}", view, format_version=PAGE_FORMAT, scene="drawn" in view
    )


def _some(logs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All logs for the tables, validation logs first; the first ones keep their curves, the others are listed."""
    order = sorted(logs, key=lambda log: bool(log["is_fitted"]))
    bare = map(_bare, order[SHOWN:])
    return {"logs": [*order[:SHOWN], *bare], "not_drawn": [str(log["log"]) for log in order[SHOWN:]]}


def _bare(log: Mapping[str, Any]) -> dict[str, Any]:
    """Log without its curves."""
    return {**log, "t": [], "curves": {}, "samples": None, "spectrum": None, "arrows": None}


def comparison_page(found: ModelComparison, predicted: Sequence[Sequence[PredictedLog]] = ()) -> str:
    """Page of the comparison of two models; predicted: the same logs as each of them predicts them."""
    robot, measure = found.first.nominal, kind_of_model(found.first).measure
    logs = [[judged_view(log, measure, log.name, is_fitted=False, points=CURVE) for log in own] for own in predicted]
    outputs = list(predicted[0][0].outputs) if predicted else []
    view = found.to_dict() | {
        "units": {v.name: _unit(robot, v) for v in found.values},
        "measure": measure_view(measure),
        "joints": outputs,
        "logs": [[*own[:SHOWN], *map(_bare, own[SHOWN:])] for own in logs],
    }
    return filled("comparison", f"Two models of {robot.name}", view, format_version=PAGE_FORMAT)


def _unit(robot: Robot, value: ComparedValue) -> str:
    stated = value.first or value.second or {}
    return str(stated.get("unit") or unit_of(robot, value.name))


# ---------------------------------------------------------------------- loads and significance


def payload_page(found: Payload, robot: str = "") -> str:
    """Page of a payload: mass, centre of mass and inertia with intervals, and controller fields.

    robot: name of the robot.
    """
    view = {**found.to_dict(), "robot": robot, "logs": [log.name for log in found.logs]}
    return filled("payload", f"Load of {robot or found.frame}", view, format_version=PAGE_FORMAT)


def gains_page(found: DriveGains, robot: str) -> str:
    """Page of drive gains with their intervals; robot: name of the robot."""
    view = {**found.to_dict(), "robot": robot, "logs": [log.name for log in found.logs]}
    return filled("gains", f"Drive gains of {robot}", view, format_version=PAGE_FORMAT)


def significance_page(found: SignificantParameters, problem: Problem | None = None) -> str:
    """Page of essential parameters, and of the cost of using fewer."""
    title = f"Significant parameters of {found.robot}"
    return filled("significance", title, significance_view(found, problem), format_version=PAGE_FORMAT)


def significance_view(found: SignificantParameters, problem: Problem | None = None) -> dict[str, Any]:
    """Results of both significance rules as plain data.

    With a problem also units, joint names, and whether the errors are on validation logs.
    """
    view = {
        "robot": found.robot,
        "one_percent": _rule(found.one_percent),
        "elimination": _rule(found.elimination),
        "joints": [str(j + 1) for j in range(found.one_percent.contributions.shape[1])],
        "units": {},
        "is_unseen": False,
        "logs": [],
    }
    if problem is None:
        return view
    robot = problem.campaign.robot
    return view | {
        "joints": list(problem.outputs),
        "units": {name: unit_of(robot, name) for name in found.one_percent.names},
        "is_unseen": bool(problem.unseen),
        "logs": [log.name for log in problem.logs],
    }


def _rule(found: Significance) -> dict[str, Any]:
    conditions = {"condition_before": finite(found.condition_before), "condition_after": finite(found.condition_after)}
    return found.to_dict() | conditions


# ---------------------------------------------------------------------- robots and motions


def base_page(base: BaseParameters, frames: str = "joint") -> str:
    """Page of base parameters: classes, relations, certificate.

    frames: "joint" or "file", in which the classes are given.
    """
    view = {
        "robot": robot_data(base.robot),
        "base": base_view(base, frames),
        "frames": frames,
        "made": _pairs(base_facts(base, frames)),
    }
    return filled("base", f"Base parameters of {base.robot.name}", view, format_version=BASE_FORMAT)


def robot_page(robot: Robot) -> str:
    """Page of a robot in 3-D, with a slider for each coordinate."""
    view = {"robot": robot_data(robot), "drawing": drawn_robot(robot)}
    return filled("robot", robot.name, view, format_version=PAGE_FORMAT, scene=True)


def motion_page(found: Excitation) -> str:
    """Page of an excitation trajectory: animation, curves, use of the limits and predicted standard deviations."""
    title = f"Exciting motion of {found.base.robot.name}"
    return filled("motion", title, motion_view(found), format_version=MOTION_FORMAT, scene=True)


def _pairs(facts: Mapping[str, object]) -> list[list[str]]:
    return [[name, str(value)] for name, value in facts.items()]
