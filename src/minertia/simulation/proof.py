"""Verification of a USD file: the robot read from it has the same efforts as the original robot.

The file is read twice: with minertia's double-precision attributes, and with only the standard attributes
(mostly 32 bits) that other programs read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minertia.dynamics.model import inverse_dynamics
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.usd.read import parse_usd
from minertia.robot.parameters import split_name
from minertia.robot.robot import Robot
from minertia.robot.targets import ExportTarget, target_of

STATES = 50  # random ones, at which efforts are compared
READ_BACK, SINGLE = 1e-9, 1e-6  # differences of efforts above which a file fails


@dataclass(frozen=True)
class Proof:
    """Largest difference of efforts between a robot and its USD file, relative to the largest effort.

    read_back: with the file as minertia reads it.  single: with only the standard attributes, most of them
    with 32 bits, which other programs read; without the effects that the format cannot represent, `not_held`.
    """

    read_back: float
    single: float
    not_held: tuple[str, ...]

    @property
    def is_held(self) -> bool:
        """Whether both differences are within rounding errors."""
        return self.read_back <= READ_BACK and self.single <= SINGLE

    def record(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON: None for a difference that is infinite."""
        read_back, single = (x if np.isfinite(x) else None for x in (self.read_back, self.single))
        return {"read_back": read_back, "single": single, "not_held": list(self.not_held)}


def prove(robot: Robot, file: Path, prim: str = "") -> Proof:
    """Compare the efforts of a robot with those of the robot read from its USD file."""
    own, theirs = (
        parse_usd("", str(file), ReadOptions(robot.base, 0.0, False, prim=prim, single=s)) for s in (False, True)
    )
    target = target_of(file, "newton" if any(effects.get("OFF") for effects in theirs.effects) else "")  # its actuators
    assert target is not None
    whole, held = robot.numeric, held_by(robot, target).numeric
    lost = tuple(name for name in robot.effect_values if name not in held.effect_values)
    # names count only where ours are read: other programs see those of the prims, which cannot be any text
    same = (whole.coordinate_names, whole.base) == (own.coordinate_names, own.base)
    return Proof(_difference(whole, own) if same else float("inf"), _difference(held, theirs), lost)


def _difference(robot: Robot, other: Robot) -> float:
    """Largest difference of efforts over the largest effort, at random states; infinite for other coordinates."""
    if (robot.n_position, robot.n_velocity) != (other.n_position, other.n_velocity):
        return float("inf")
    rng = np.random.default_rng(0)
    q = rng.normal(size=(STATES, robot.n_position))
    if robot.is_floating:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    qd, qdd = rng.normal(size=(2, STATES, robot.n_velocity))
    here, there = (np.asarray(inverse_dynamics(one.with_gravity(robot.gravity), q, qd, qdd)) for one in (robot, other))
    return float(np.abs(here - there).max() / max(float(np.abs(here).max()), 1e-300))


def held_by(robot: Robot, target: ExportTarget) -> Robot:
    """Robot without the effects that a file format cannot represent."""
    return robot.without_effects([n for n in robot.effect_values if split_name(n)[0] not in target.held])
