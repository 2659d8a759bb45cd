"""Model-based control and its tracking error: open loop, feedback control, and low model update rates.

Open loop and the two tasks after Izaguirre, Hashimoto, Paul and Hayward 1992; computed torque after Khosla 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.excitation.trajectory import Trajectory
from minertia.io.errors import Infeasible
from minertia.simulation.control_model import ControlModel
from minertia.simulation.moves import joint_move
from minertia.simulation.plant import Controller, ControlSample, Plant, PlantLog

Array = NDArray[np.float64]
MOVES, FEEDBACK, UPDATES = "moves", "feedback", "updates"  # kinds of experiments


@dataclass(frozen=True)
class Gains:
    """Desired closed-loop behaviour of every joint: natural frequency [rad/s] and damping ratio."""

    frequency: float = 20.0
    damping: float = 1.0

    def correction(self, s: ControlSample) -> Array:
        """Corrective acceleration of the feedback law."""
        w = self.frequency
        return np.asarray(w**2 * (s.q_ref - s.q) + 2 * self.damping * w * (s.qd_ref - s.qd))


# ------------------------------------------------------------------ controllers


def open_loop(model: ControlModel, *, gravity_online: bool = False) -> Controller:
    """Feedforward efforts of the reference, no feedback; gravity_online: gravity at the measured posture instead."""

    def control(s: ControlSample) -> Array:
        tau = model.rigid(s.q_ref, s.qd_ref, s.qdd_ref) + model.friction(s.q_ref, s.qd_ref, s.qdd_ref)
        return tau + model.gravity(s.q) - model.gravity(s.q_ref) if gravity_online else tau

    return control


def computed_torque(model: ControlModel, gains: Gains) -> Controller:
    """Computed torque: tau = D (qdd_ref + correction) + h + g at the measured state; friction at the reference."""

    def control(s: ControlSample) -> Array:
        return model.rigid(s.q, s.qd, s.qdd_ref + gains.correction(s)) + model.friction(s.q_ref, s.qd_ref, s.qdd_ref)

    return control


def pd_gravity(model: ControlModel, gains: Gains, posture: ArrayLike) -> Controller:
    """PD control plus gravity: independent joints, inertias at one posture, the same closed-loop behaviour."""
    inertia = np.diag(model.mass_matrix(np.asarray(posture, float))).copy()
    return lambda s: inertia * gains.correction(s) + model.gravity(s.q)


def pd_alone(model: ControlModel, gains: Gains, posture: ArrayLike) -> Controller:
    """PD control of independent joints without gravity compensation."""
    inertia = np.diag(model.mass_matrix(np.asarray(posture, float))).copy()
    return lambda s: inertia * gains.correction(s)


def two_tasks(model: ControlModel, gains: Gains, every: int) -> Controller:
    """Two-task control: tau = D qdd + h + g in every period, with D, h and g updated every `every` periods.

    The background task updates D, h and g; the synchronous task runs at the full rate.
    """
    if every < 1:
        raise Infeasible("the period of the background task must be at least one control period")
    held: tuple[Array, Array] | None = None
    count = 0

    def control(s: ControlSample) -> Array:
        nonlocal held, count
        if held is None or count % every == 0:
            held = model.mass_matrix(s.q), model.velocity(s.q, s.qd) + model.gravity(s.q)
        count += 1
        D, bias = held
        return D @ (s.qdd_ref + gains.correction(s)) + bias + model.friction(s.q_ref, s.qd_ref, s.qdd_ref)

    return control


# ------------------------------------------------------------------ results


@dataclass(frozen=True)
class TrackingError:
    """Tracking error of a run, per joint [rad or m]."""

    name: str
    rms: tuple[float, ...]
    largest: tuple[float, ...]
    final: tuple[float, ...]
    span: tuple[float, ...]  # distance between the ends of the reference's range
    t: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)  # (N,) [s]
    error: Array = field(default_factory=lambda: np.zeros((0, 0)), compare=False, repr=False)  # (N, n)
    ran_away: float | None = None  # when the arm went out of control [s]; errors are those up to then

    @staticmethod
    def of(name: str, log: PlantLog) -> TrackingError:
        """Tracking errors of a run."""
        e = log.error
        return TrackingError(
            name=name,
            rms=_numbers(np.sqrt(np.mean(e**2, axis=0))),
            largest=_numbers(np.abs(e).max(axis=0)),
            final=_numbers(np.abs(e[-1])),
            span=_numbers(np.ptp(log.reference, axis=0)),
            t=log.t,
            error=e,
            ran_away=log.ran_away,
        )

    @property
    def title(self) -> str:
        """Name, with a mark if the arm became unstable."""
        return self.name if self.ran_away is None else f"{self.name} (unstable at {self.ran_away:.2g} s)"

    @property
    def relative(self) -> tuple[float, ...]:
        """Largest error over the distance travelled; 0 for joints at rest."""
        return tuple(e / s if s > 0 else 0.0 for e, s in zip(self.largest, self.span, strict=True))


@dataclass(frozen=True)
class TrackingTable:
    """Errors of several runs of the same motion; kind: `MOVES`, `FEEDBACK` or `UPDATES`."""

    title: str
    rows: tuple[TrackingError, ...]
    kind: str = ""

    def row(self, name: str) -> TrackingError:
        """Run with this name."""
        return next(row for row in self.rows if row.name == name)

    def to_dict(self) -> dict[str, object]:
        """Return as a dict of plain data, for JSON."""
        return {
            "title": self.title,
            "rows": [
                {
                    "name": r.name,
                    "rms": list(r.rms),
                    "largest": list(r.largest),
                    "final": list(r.final),
                    "ran_away": r.ran_away,
                }
                for r in self.rows
            ],
        }

    def __str__(self) -> str:
        width = max((len(row.title) for row in self.rows), default=0)
        joints = len(self.rows[0].rms) if self.rows else 0
        head = f"{'':<{width}}  " + "".join(f"{f'joint {j + 1}':>12}" for j in range(joints))
        lines = [f"{row.title:<{width}}  " + "".join(f"{1e3 * v:>12.4g}" for v in row.rms) for row in self.rows]
        return "\n".join([f"{self.title}: rms error [mrad or mm]", head, *lines])


def follow(
    plant: Plant, trajectory: Trajectory, controllers: Mapping[str, Callable[[], Controller]], title: str, kind: str
) -> TrackingTable:
    """Run a trajectory under several controllers, each created anew for its run."""
    rows = [TrackingError.of(name, plant.run(make(), trajectory)) for name, make in controllers.items()]
    return TrackingTable(title, tuple(rows), kind)


# ------------------------------------------------------------------ experiments


def compare_feedback(
    plant: Plant, model: ControlModel, trajectory: Trajectory, gains: Gains | None = None
) -> TrackingTable:
    """Tracking errors of computed torque, PD + gravity and PD alone, with the same gains (Khosla 1987)."""
    g = gains or Gains()
    posture = trajectory.q[0]
    return follow(
        plant,
        trajectory,
        {
            "computed torque": lambda: computed_torque(model, g),
            "PD + gravity": lambda: pd_gravity(model, g, posture),
            "PD alone": lambda: pd_alone(model, g, posture),
        },
        "closed loop",
        FEEDBACK,
    )


def compare_update_rates(
    plant: Plant, model: ControlModel, trajectory: Trajectory, every: Sequence[int], gains: Gains | None = None
) -> TrackingTable:
    """Tracking error against the number of periods between updates of the background task."""
    g = gains or Gains()
    makers = {f"every {k}": (lambda k=k: two_tasks(model, g, k)) for k in every}  # type: ignore[misc]
    return follow(plant, trajectory, makers, "background task every k periods", UPDATES)


def open_loop_moves(
    plant: Plant,
    model: ControlModel,
    posture: ArrayLike,
    groups: Sequence[Sequence[int]],
    *,
    angle: float = np.pi / 2,
    speed: float = np.pi,
) -> tuple[TrackingTable, ...]:
    """Moves of single joints and of several together in open loop, with and without on-line gravity compensation.

    groups: joints (from 0) that move together in each run, such as [0], [1], [2], [0, 1, 2]; speed: largest [rad/s].
    """
    tables = []
    for joints in groups:
        trajectory = joint_move(posture, joints, angle, speed, plant.period)
        named = " and ".join(str(j + 1) for j in joints)
        makers = {
            "computed": lambda: open_loop(model),
            "gravity on-line": lambda: open_loop(model, gravity_online=True),
        }
        title = f"open loop, joint {named}, {np.degrees(speed):.0f} deg/s"
        tables.append(follow(plant, trajectory, makers, title, MOVES))
    return tuple(tables)


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
