"""The page of a validation without efforts: logs of commands simulated by a model that was fitted to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minertia.identification.commanded import LOOP
from minertia.identification.validate import VALIDATED_STEP, SimulatedLog
from minertia.report.blocks import Block, BlockPage, CellTable, Chart, Part, Words, figures
from minertia.report.commanded_page import AWAY, RELATIVE, lags
from minertia.report.fit_views import SHOWN
from minertia.report.identification_tables import percent
from minertia.version import __version__

if TYPE_CHECKING:
    from minertia.identification.model import IdentifiedModel

FORMAT = 1
LEAD = "Positions simulated from commands by a model that was identified before; nothing was fitted to these logs."


def commanded_validation(model: IdentifiedModel, name: str, logs: Sequence[SimulatedLog]) -> BlockPage:
    """The page; name: of the model's file."""
    own = model.evidence.get("training", {}).get("relative")
    facts = {
        "largest residual": percent(max(one.residuals.relative for one in logs)),
        "on its own logs": "-" if own is None else percent(float(own)),
        "logs": len(logs),
        "law": model.evidence[LOOP]["law"],
        "delay": f"{1e3 * float(model.evidence[LOOP]['delay']):.3g} ms",
        "effects": ", ".join(model.effect_names) or "none",
        "model": name,
        "minertia": __version__,
    }
    parts = [Part("Residuals of positions", _residuals(logs)), *(_curves(one) for one in logs[:SHOWN])]
    left = ", ".join(one.log.name for one in logs[SHOWN:])
    parts += [Part("Not drawn", [Words(left)])] if left else []
    parts.append(Part("Position loops", [_loops(model)]))
    title = f"Validation of {model.nominal.name} from commands"
    return BlockPage(title, "validation", FORMAT, LEAD, facts, parts)


def _residuals(logs: Sequence[SimulatedLog]) -> list[Block]:
    joints = logs[0].residuals.joints
    right = tuple(range(1, len(joints) + 2))
    relative = [
        [one.log.name, percent(one.residuals.relative), *(percent(float(v)) for v in one.residuals.joint_relative)]
        for one in logs
    ]
    rmse = [[one.log.name, "", *(figures(1e3 * float(v), 3) for v in one.residuals.joint_rmse)] for one in logs]
    blocks: list[Block] = [Words(RELATIVE), CellTable(["log", "all joints", *joints], relative, right)]
    blocks += [Words("Root mean square of the residual [mrad or mm]:"), CellTable(["log", "", *joints], rmse, right)]
    return blocks + [Words(f"{one.log.name}: {text}") for one in logs for text in one.residuals.remarks]


def _curves(one: SimulatedLog) -> Part:
    """How far the joints are from their commands, measured and simulated."""
    found = lags(one.model, one.theta, one.log, VALIDATED_STEP)
    if found is None:
        return Part(one.log.name, [Words(AWAY)])
    t, measured, predicted = found
    charts: list[Block] = [Words("Distance from the command, measured and simulated.")]
    for j, joint in enumerate(one.model.output_names):
        title = f"{joint}, residual {percent(float(one.residuals.joint_relative[j]))} of it"
        charts.append(Chart(title, "mrad or mm", t, {"measured": measured[:, j], "simulated": predicted[:, j]}))
    return Part(one.log.name, charts)


def _loops(model: IdentifiedModel) -> CellTable:
    loop = model.evidence[LOOP]
    columns = [key for key in ("kp", "kd", "ki", "limit", "zeros") if key in loop]
    rows = [[joint, *(figures(float(loop[key][j]), 4) for key in columns)] for j, joint in enumerate(loop["joints"])]
    return CellTable(["joint", *columns], rows, tuple(range(1, len(columns) + 1)))
