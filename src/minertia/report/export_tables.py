"""Residuals of an identification's logs with the exported robot files, compared with the model itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minertia.identification.efforts.exports import HEAVIEST
from minertia.identification.model import Model
from minertia.identification.problem.linear import symbol_of
from minertia.report.identification_tables import percent
from minertia.robot.effects import BY_SYMBOL, MOTOR_SYMBOLS
from minertia.robot.identified import export_values
from minertia.robot.parameters import full_name
from minertia.robot.robot import Note
from minertia.robot.targets import TARGETS, ExportTarget

OTHER = 1.001 * HEAVIEST  # ratio of a link's mass and that of the robot's file, either way, from which it is told
WORSE = 1.05  # of the residual of the model, or without regularisation, from which it is told
MOST_LINKS = 8  # with other masses that a message lists


def exports_record(model: Model) -> list[dict[str, Any]]:
    """Each export as plain data for JSON: the program that read its file, its residuals by log, and masses."""
    return [
        {
            "target": name,
            "file": export.get("file"),
            "read_by": export["read_by"],
            **{key: export[key] for key in ("not_read_by", "difference") if key in export},
            "left": list(export["left"]),
            "masses": _masses(model, name),
        }
        for name, export in model.exports.items()
    ]


def _masses(model: Model, target: str) -> list[dict[str, Any]]:
    """Mass of each link [kg] for an export target, and its mass in the robot file."""
    found, robot = [], model.nominal
    standard = (export_values(model.exports, target) or {}).get("standard", {})
    for j, (joint, ten) in enumerate(zip(robot.joints, robot.links, strict=True)):
        mass = standard.get(full_name("M", j + 1))
        if mass is not None:
            nominal = None if ten is None else float(ten[9])
            found.append({"link": joint.link or joint.name, "mass": mass, "robot_file": nominal})
    return found


def export_sentences(model: Model) -> list[str]:
    """One message per export target, with its residuals."""
    return [
        f"{_title(model, target)}: {_sentence(model, target)}" for target in TARGETS if target.name in model.exports
    ]


def export_notes(model: Model) -> tuple[Note, ...]:
    """Notes on the exported files; a warning where a file has a larger residual than the model."""
    written = [target for target in TARGETS if "file" in model.exports.get(target.name, {})]
    return tuple(Note(_level(model, t), _title(model, t), _sentence(model, t)) for t in written)


def _title(model: Model, target: ExportTarget) -> str:
    return str(model.exports[target.name].get("file") or f"as {target.name.upper()}")


def _level(model: Model, target: ExportTarget) -> str:
    left = model.exports[target.name]["left"]
    return "warning" if any(e["file"]["relative"] > WORSE * e["model"]["relative"] for e in left) else "info"


def _sentence(model: Model, target: ExportTarget) -> str:
    export = model.exports[target.name]
    each = "; ".join(
        f"{percent(e['file']['relative'])} of {e['log']} (the model {percent(e['model']['relative'])})"
        for e in export["left"]
    )
    parts = [f"read by {export['read_by']} it leaves {each}"]
    if "not_read_by" in export:
        parts.append(f"{export['not_read_by']} is not installed here, or cannot read it")
    if "difference" in export:
        parts.append(f"efforts there are those that were written to {export['difference']:.1g}")
    parts += [text for text in (_lost(model, target), _held(export), _other_masses(model, target)) if text]
    if target.is_whole and model.is_physical and _level(model, target) == "warning":
        parts.append("it has the physically consistent values, the model its base parameters without that constraint")
    return "; ".join(parts)


def _lost(model: Model, target: ExportTarget) -> str:
    """Message on the model's effects that an export format cannot represent; empty without any."""
    symbols = [s for s in dict.fromkeys(symbol_of(name) for name in model.effect_names) if s not in target.held]
    joint = _words(s for s in symbols if s not in MOTOR_SYMBOLS)
    motor = _words(s for s in symbols if s in MOTOR_SYMBOLS)
    parts = [*([joint] if joint else []), *([f"{motor} on the motor side of coupled joints"] if motor else [])]
    return f"it has no place for {', and for '.join(parts)}" if parts else ""


def _words(symbols: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(BY_SYMBOL[s].word.replace("_", " ") for s in symbols))


def _held(export: Mapping[str, Any]) -> str:
    """Message where the regularisation towards the links of the robot's file raises the residual; else empty."""
    cost = export.get("regularised")
    if cost is None or cost["with"] <= WORSE * cost["without"]:
        return ""
    without, held = percent(cost["without"]), "links are regularised towards the robot's file"
    if len(export["left"]) == 1:
        return f"{held}: {without} without that"
    return f"{held}: {percent(cost['with'])} of these logs, {without} without that"


def _other_masses(model: Model, target: ExportTarget) -> str:
    """Message on links that are much heavier or lighter than in the robot's file; empty without any."""
    found = [
        f"{m['link']} {m['mass']:.3g} kg ({m['robot_file']:.3g} kg)"
        for m in _masses(model, target.name)
        if m["robot_file"] and not 1 / OTHER <= m["mass"] / m["robot_file"] <= OTHER
    ]
    rest = f" and {len(found) - MOST_LINKS} more" if len(found) > MOST_LINKS else ""
    told = f"{', '.join(found[:MOST_LINKS])}{rest}"
    return f"masses fitted to the logs, in brackets those of the robot's file: {told}" if found else ""
