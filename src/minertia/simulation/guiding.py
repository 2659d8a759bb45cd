"""Demonstration of hand guiding: generated code compensates gravity while a human hand guides the arm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.excitation.trajectory import Trajectory, frozen
from minertia.simulation.plant import ControlSample, Plant, PlantLog
from minertia.simulation.rig import Rig

Array = NDArray[np.float64]
GUIDED, HELD, FREE = 3.0, 0.5, 5.0  # s that the hand moves, holds, and is away
WAY = 0.25  # part of the half ranges between the first posture and the one that the hand has in mind
STIFFNESS = 12.0  # rad/s: natural frequency of the hand's grip with the mass that it feels, critically damped
DAMPING = 0.5  # 1/s: that the controller adds, so that a model that is a little wrong makes the arm creep, not run


@dataclass(frozen=True)
class Guiding:
    """Arm guided by a human hand and released at `released` [s].

    force [N]: largest guiding force.  travelled, missed [m]: path length of the gripped point while guided, and
    its distance from the hand's goal at release.  drift [m]: displacement of the point in the `free` [s] after
    release; creep [m/s]: its mean speed in the last second.  drifts: drift of each joint [rad or m].  fallen [m]:
    drift without gravity compensation after release.  t (N,): time [s]; way (N,) [m]: distance from the first
    position; pulled (N,) [N]: guiding force; q (N, n): postures.
    """

    force: float
    travelled: float
    missed: float
    released: float
    free: float
    drift: float
    creep: float
    drifts: tuple[float, ...]
    fallen: float
    t: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    way: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    pulled: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    q: Array = field(default_factory=lambda: np.zeros((0, 0)), compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("t", "way", "pulled", "q"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def sentence(self) -> str:
        """Result as a message."""
        return (
            f"a hand force of at most {self.force:.3g} N moved the arm by {1000.0 * self.travelled:.3g} mm; after "
            f"release it drifted {1000.0 * self.drift:.2g} mm in {self.free:g} s ({1000.0 * self.fallen:.0f} mm "
            "without compensation)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        names = ("force", "travelled", "missed", "released", "free", "drift", "creep", "fallen")
        return {**{name: getattr(self, name) for name in names}, "drifts": list(self.drifts)}


class _GuidingHand:
    """Human hand: a spring and damper between the gripped point and a target that moves to a goal."""

    def __init__(self, start: Array, goal: Array, mass: float) -> None:
        self.start, self.goal = start, goal
        self.stiffness, self.damping = mass * STIFFNESS**2, 2 * mass * STIFFNESS
        self.forces, self.points = list[float](), list[Array]()

    def __call__(self, t: float, point: Array, velocity: Array) -> Array:
        s = min(t / GUIDED, 1.0)
        blend, rate = s**3 * (10 + s * (6 * s - 15)), 30 * s**2 * (1 - s) ** 2 / GUIDED
        place, speed = self.start + blend * (self.goal - self.start), rate * (self.goal - self.start)
        force = self.stiffness * (place - point) + self.damping * (speed - velocity)
        force = force if t <= GUIDED + HELD else np.zeros(3)
        self.forces.append(float(np.linalg.norm(force)))
        self.points.append(point)
        return np.asarray(force)


def show_guiding(rig: Rig) -> Guiding:
    """Guide the arm from the middle of its ranges towards another posture, release it, and measure its drift."""
    log, hand = _guided(rig, is_compensated=True)
    _, loose = _guided(rig, is_compensated=False)
    points = np.array(hand.points)
    k = round((GUIDED + HELD) / rig.period)
    way = np.linalg.norm(points - points[0], axis=1)
    last = max(1, round(1.0 / rig.period))
    return Guiding(
        force=max(hand.forces),
        travelled=float(way[k]),
        missed=float(np.linalg.norm(points[k] - hand.goal)),
        released=GUIDED + HELD,
        free=FREE,
        drift=float(np.linalg.norm(points[-1] - points[k])),
        creep=float(np.linalg.norm(points[-1] - points[-1 - last]) / (last * rig.period)),
        drifts=tuple(float(v) for v in np.abs(log.true_q[-1] - log.true_q[k])),
        fallen=float(np.linalg.norm(np.array(loose.points)[-1] - np.array(loose.points)[k])),
        t=log.t,
        way=way,
        pulled=np.array(hand.forces),
        q=log.true_q,
    )


def _guided(rig: Rig, *, is_compensated: bool) -> tuple[PlantLog, _GuidingHand]:
    """Simulate one guided motion and release; without compensation after release, the arm falls.

    Gravity is compensated in any case while the arm is guided.
    """
    plant, middle = rig.plant(2), rig.limits.middle
    goal = middle + WAY * rig.limits.half * np.where(np.arange(len(middle)) % 2, -1.0, 1.0)
    plant.place(goal)
    there = plant.grip()[0]
    plant.place(middle)
    here, _, jacobian = plant.grip()
    hand = _GuidingHand(here, there, _felt_mass(plant, rig, jacobian, there - here))
    model, damping = rig.code.model, rig.damping(middle, DAMPING)
    still = np.zeros(rig.robot.n)

    def control(s: ControlSample) -> Array:
        if not is_compensated and s.t > GUIDED + HELD:
            return -damping * s.qd
        return model.gravity(s.q) + model.friction(s.q, still, still) - damping * s.qd

    length = GUIDED + HELD + FREE
    t = np.array([0.0, length])
    rest = Trajectory(t, np.tile(middle, (2, 1)), np.zeros((2, len(middle))), np.zeros((2, len(middle))))
    return plant.run(control, rest, touch=hand), hand


def _felt_mass(plant: Plant, rig: Rig, jacobian: Array, towards: Array) -> float:
    """Effective mass [kg] of the gripped point in a direction."""
    J = plant.on_coordinates(jacobian)
    u = towards / max(float(np.linalg.norm(towards)), 1e-9)
    D = rig.code.model.mass_matrix(rig.limits.middle)
    return 1.0 / max(float(u @ J @ np.linalg.solve(D, J.T @ u)), 1e-9)
