"""Residuals of an identification's logs with the exported robot files, compared with the model itself."""

from __future__ import annotations

from typing import Any

from minertia.identification.efforts.exports import HEAVIEST
from minertia.identification.model import Model
from minertia.identification.problem.linear import symbol_of
from minertia.report.identification_tables import percent
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.identified import export_values
from minertia.robot.parameters import full_name
from minertia.robot.robot import Note
from minertia.robot.targets import TARGETS, ExportTarget

HEAVY = 1.001 * HEAVIEST  # mass of a link over that of the robot's file, from which it is told
WORSE = 1.05  # of what the model leaves, from which a file is warned of


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
    lost = _lost(model, target)
    if lost:
        parts.append(f"it has no place for {', '.join(lost)}")
    parts += [
        f"{m['link']} weighs {m['mass']:.3g} kg, {m['robot_file']:.3g} kg in the robot's file: the logs ask for it"
        for m in _masses(model, target.name)
        if m["robot_file"] and m["mass"] > HEAVY * m["robot_file"]
    ]
    return "; ".join(parts)


def _lost(model: Model, target: ExportTarget) -> list[str]:
    """Names of the model's effects that an export format cannot represent."""
    symbols = dict.fromkeys(symbol_of(name) for name in model.effect_names)
    return list(dict.fromkeys(BY_SYMBOL[s].word.replace("_", " ") for s in symbols if s not in target.held))
