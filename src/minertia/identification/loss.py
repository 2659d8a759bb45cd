"""What other programs miss of an identified model that they read from a URDF."""

from __future__ import annotations

import numpy as np

from minertia.identification.model import IdentifiedModel
from minertia.identification.problem.linear import symbol_of
from minertia.identification.result import Identification
from minertia.robot.parameters import LINK_SYMBOLS

IN_URDF = (*LINK_SYMBOLS, "FV", "FC")  # masses and inertias, damping and friction
SMALL = 1.05  # of the whole model's residual: what is lost does not show


def urdf_loss(result: Identification, model: IdentifiedModel) -> str | None:
    """A sentence where a URDF loses something that the fitted logs show: how much of the effort, and what of it."""
    linear, observation = result.linear, result.observation
    lost = [name for name, value in model.standard.items() if value and symbol_of(name) not in IN_URDF]
    if not lost or not observation.count:
        return None
    x = np.array([model.standard[name] for name in linear.standard])
    without = np.where([name in lost for name in linear.standard], 0.0, x)
    effort = float(np.linalg.norm(observation.totals[:, :, -1]))
    whole, part = (float(np.linalg.norm(observation.residuals(linear.K @ v))) / effort for v in (x, without))
    if part < SMALL * whole:
        return None
    return (
        f"read by other programs it leaves {100 * part:.3g} % of the effort of the fitted logs, where all that was "
        f"identified leaves {100 * whole:.3g} %: a URDF has no place for {', '.join(_kinds(lost))}"
    )


def _kinds(names: list[str]) -> list[str]:
    """Symbols with the joints that have them: IA1 to IA6."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(symbol_of(name), []).append(name)
    return [own[0] if len(own) == 1 else f"{own[0]} to {own[-1]}" for own in found.values()]
