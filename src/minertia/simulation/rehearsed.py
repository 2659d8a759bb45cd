"""Results of a rehearsal: its steps, and the recovered parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from minertia.excitation.result import Excitation
from minertia.identification.evidence.significance import Significance
from minertia.identification.identify import Identification
from minertia.identification.model import IdentifiedModel
from minertia.io.arrays import Array
from minertia.io.notebook import clipped, html_table, plural
from minertia.robot.robot import Robot
from minertia.simulation.online_payload import OnlinePayload
from minertia.simulation.options import RehearsalOptions
from minertia.simulation.shows import Shown
from minertia.simulation.soft_loops import SoftLoops
from minertia.simulation.sprung_plant import SpringsRehearsed
from minertia.simulation.tracking import TrackingTable

FORMAT = 1
DEVIATIONS = 3.0  # how many stated deviations an estimate may be off
RECORD = "rehearsal.json"  # the file of all that was found


@dataclass(frozen=True, slots=True)
class RehearsalStep:
    """One step of the campaign: its duration and its outcome, in a sentence."""

    name: str
    seconds: float
    text: str


@dataclass(frozen=True, slots=True)
class Returned:
    """One base parameter: its true value, estimate and standard deviation."""

    name: str
    true: float
    value: float
    deviation: float

    @property
    def off(self) -> float:
        """Normalised error: error over standard deviation."""
        return (self.value - self.true) / self.deviation if self.deviation > 0 else 0.0


@dataclass
class Rehearsal:
    """Results of a rehearsal; steps whose tool is missing are None and listed in `skipped`.

    held_out: rms residual per joint on the validation trajectory [N m or N].  floor: rms residual that the
    measurement noise alone would cause.  stirred: rms of efforts above the filter's cut-off, which the
    controller generates from encoder quantisation.  load: payload mass [kg] of the on-line estimation.  soft:
    cross-check of closed chains with MuJoCo.  springs: results for elastic joints.  shown: results of the
    controllers of `RehearsalOptions.show`.
    """

    robot: Robot
    options: RehearsalOptions
    steps: list[RehearsalStep] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    files: list[Path] = field(default_factory=list)
    training: Excitation | None = None
    unseen: Excitation | None = None
    identification: Identification | None = None
    significance: Significance | None = None
    model: IdentifiedModel | None = None
    returned: tuple[Returned, ...] = ()
    held_out: Array = field(default_factory=lambda: np.zeros(0))
    floor: Array = field(default_factory=lambda: np.zeros(0))
    stirred: Array = field(default_factory=lambda: np.zeros(0))
    is_compiled: bool = False
    control: tuple[TrackingTable, ...] = ()
    load: float = 0.0
    weighed: OnlinePayload | None = None
    soft: SoftLoops | None = None
    springs: SpringsRehearsed | None = None
    shown: dict[str, Shown] = field(default_factory=dict)

    @property
    def within(self) -> float:
        """Fraction of the parameters recovered within three standard deviations."""
        return float(np.mean([abs(r.off) <= DEVIATIONS for r in self.returned])) if self.returned else float("nan")

    @property
    def over_floor(self) -> float:
        """Validation residual over the noise floor, each joint normalised by its noise."""
        return float(np.sqrt(np.mean((self.held_out / self.floor) ** 2))) if len(self.held_out) else float("nan")

    @property
    def seconds(self) -> float:
        """Total time of all steps [s]."""
        return sum(step.seconds for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        s = self.options
        return {
            "format": FORMAT,
            "robot": self.robot.name,
            "noise": s.noise,
            "rate": s.rate,
            "duration": s.duration,
            "seed": s.seed,
            "steps": [{"name": x.name, "seconds": round(x.seconds, 3), "text": x.text} for x in self.steps],
            "skipped": list(self.skipped),
            "notes": list(self.notes),
            "parameters": [
                {"name": r.name, "true": r.true, "value": r.value, "deviation": r.deviation, "off": r.off}
                for r in self.returned
            ],
            "within_three_deviations": self.within if self.returned else None,
            "held_out": self.held_out.tolist(),
            "noise_floor": self.floor.tolist(),
            "stirred_up": self.stirred.tolist(),
            "held_out_over_floor": self.over_floor if len(self.held_out) else None,
            "essential": list(self.significance.essential) if self.significance else None,
            "is_physical": self.model.is_physical if self.model else None,
            "is_compiled": self.is_compiled,
            "control": [table.to_dict() for table in self.control],
            "payload": self._weighed_data(),
            "springs": None if self.springs is None else self.springs.to_dict(),
            "loops_in_mujoco": None if self.soft is None else self.soft.to_dict(),
            "shown": {name: found.to_dict() for name, found in self.shown.items()},
            "files": [path.name for path in self.files],
        }

    def _weighed_data(self) -> dict[str, Any] | None:
        if self.weighed is None:
            return None
        w = self.weighed
        shown = {"t": w.t, "mass": w.mass, "deviation": w.mass_deviation}
        return {"load": self.load, "changes": list(w.changes), **{k: v[::10].tolist() for k, v in shown.items()}}

    def to_json(self) -> str:
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        back = f", {100 * self.within:.0f} % of {len(self.returned)} values back" if self.returned else ""
        held = f", residual {self.over_floor:.3g} times the noise" if len(self.held_out) else ""
        return (
            f"<Rehearsal of '{clipped(self.robot.name, 40)}': {plural(len(self.steps), 'step')} in "
            f"{self.seconds:.0f} s{back}{held}>"
        )

    def _repr_html_(self) -> str:
        rows = [(step.name, f"{step.seconds:.1f}", step.text) for step in self.steps]
        title = f"Rehearsal of {self.robot.name}"
        return html_table(title, ("step", "time [s]", "found"), rows, right=(1,), notes=(*self.notes, *self.skipped))

    def __str__(self) -> str:
        lines = [f"{step.name:<14}{step.seconds:>7.1f} s  {step.text}" for step in self.steps]
        return "\n".join([f"rehearsal of {self.robot.name}", *lines])


def summary(rehearsals: Sequence[Rehearsal]) -> dict[str, float]:
    """Summary over several seeds.

    pairs: number of (parameter, seed) pairs; within: fraction of them within three standard deviations.
    worst_over_floor, worst_joint_over_floor: largest ratio of validation residual to noise floor, over all joints
    and of a single joint.
    """
    pairs = [abs(r.off) <= DEVIATIONS for one in rehearsals for r in one.returned]
    return {
        "pairs": len(pairs),
        "within": float(np.mean(pairs)),
        "worst_over_floor": max(one.over_floor for one in rehearsals),
        "worst_joint_over_floor": max(float(np.max(one.held_out / one.floor)) for one in rehearsals),
    }
