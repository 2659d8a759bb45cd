"""Demonstration of adaptive control: after a payload is picked up, the generated control law restores tracking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.trajectory import Trajectory, frozen
from minertia.robot.inertia import pseudo_inertia
from minertia.simulation.moves import to_and_fro
from minertia.simulation.plant import ControlSample, PlantLog
from minertia.simulation.rig import Rig

Array = NDArray[np.float64]
PASSES = 6  # of the motion; the load is taken up at the beginning of the third
PICK_UP = 2
SLOPE = 20.0  # 1/s: how quickly an error of position is to fade
DAMPING = 20.0  # 1/s
QUICKNESS = 0.05  # s in which the rated load is to be learned, once most of it is
CENTRE = (0.0, 0.0, 0.05)  # m, of the load in the last link's frame
# Adaptation begins with a little of the rated load as a wide ball in the hand: by the natural metric the centre of a
# link moves as quickly as its mass is spread, and a light hand is spread over next to nothing.
BALL, RADIUS = 0.02, 0.4  # part of the load, and m
WINDOW = 0.5  # s of the running mean of the chart


@dataclass(frozen=True)
class Adaptation:
    """Tracking errors of a trajectory repeated to and fro; a payload [kg] is picked up at `picked` [s].

    adapting, fixed: root mean square of all joints' tracking errors [rad or m] in each pass, `passing` [s] long,
    with adaptation and with the same controller without it.  least: smallest eigenvalue of the pseudo-inertia of
    any link at any step, each scaled to a unit diagonal; positive for physically consistent links.  t (N,),
    adapting_error, fixed_error: running root mean square over half a second.  mass (N,): estimated mass of the
    last link [kg]; true_mass: its true mass with the payload.  q (N, n): postures of the adapting arm.  ran_away:
    time at which the adapting arm became unstable [s].
    """

    load: float
    passing: float
    picked: float
    adapting: tuple[float, ...]
    fixed: tuple[float, ...]
    least: float
    true_mass: float
    ran_away: float | None = None
    t: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    adapting_error: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    fixed_error: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    mass: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    q: Array = field(default_factory=lambda: np.zeros((0, 0)), compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("t", "adapting_error", "fixed_error", "mass", "q"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def before(self) -> float:
        """Tracking error [rad or m] of the last pass without the payload."""
        return self.adapting[PICK_UP - 1]

    @property
    def at_pick_up(self) -> float:
        """Tracking error of the pass that begins with the pick-up."""
        return self.adapting[PICK_UP]

    @property
    def after(self) -> float:
        """Tracking error of the last pass."""
        return self.adapting[-1]

    @property
    def seconds_after(self) -> float:
        """Time [s] from the pick-up to the beginning of the last pass."""
        return self.passing * (len(self.adapting) - 1) - self.picked

    @property
    def excess(self) -> float:
        """Fraction of the error caused by the payload that remains in the last pass with adaptation."""
        added = self.fixed[-1] - self.fixed[PICK_UP - 1]
        return (self.after - self.before) / added if added > 0 else 0.0

    def sentence(self) -> str:
        """Result as a message."""
        if self.ran_away is not None:
            return f"the adaptive controller became unstable (at {self.ran_away:.2g} s)"
        before, during, after = (1e3 * e for e in (self.before, self.at_pick_up, self.after))
        return (
            f"with a payload of {self.load:.3g} kg, error {before:.3g} before, {during:.3g} in the pass of the "
            f"pick-up, {after:.3g} mrad or mm {self.seconds_after:.3g} s after; without adaptation "
            f"{1000.0 * self.fixed[-1]:.3g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "load": self.load,
            "picked": self.picked,
            "passing": self.passing,
            "adapting": list(self.adapting),
            "fixed": list(self.fixed),
            "least_eigenvalue": self.least,
            "mass": float(self.mass[-1]) if len(self.mass) else None,
            "true_mass": self.true_mass,
            "ran_away": self.ran_away,
        }


class _AdaptiveController:
    """Generated adaptive control law as a controller; gain: adaptation gain of the last link."""

    def __init__(self, rig: Rig, damping: Array, gain: float) -> None:
        n, links, code = rig.robot.n, rig.robot.n_joints, rig.code
        self.law = code.function("adaptive_law", (n,) * 5 + (links, 16 * links), (n, 10 * links, 16 * links))
        self.damping, self.rate = damping, np.zeros(links)
        self.rate[rig.robot.tip] = gain * rig.period  # a load changes the link that holds it; the others are identified
        mass = BALL * rig.load if gain else 0.0
        inertia = 0.4 * mass * RADIUS**2
        start = rig.known.with_payload(mass, CENTRE, (inertia, 0, 0, inertia, 0, inertia))
        chi = np.array([ten for ten in start.links if ten is not None], float).ravel()
        (self.factors,) = code.function("adaptive_start", (10 * links,), (16 * links,))(chi)
        self.links = list[Array]()

    def __call__(self, s: ControlSample) -> Array:
        qdr = s.qd_ref + SLOPE * (s.q_ref - s.q)
        qddr = s.qdd_ref + SLOPE * (s.qd_ref - s.qd)
        tau, chi, self.factors = self.law(s.q, s.qd, qdr, qddr, self.damping, self.rate, self.factors)
        self.links.append(chi)
        return tau


def show_adaptation(rig: Rig) -> Adaptation:
    """Track a trajectory with the adaptive control law, with and without adaptation, while a payload is picked up."""
    trajectory = to_and_fro(rig.motion, PASSES, rig.period)
    passing = float(trajectory.t[-1]) / PASSES
    loaded = rig.robot.with_payload(rig.load, CENTRE)
    damping = rig.damping(trajectory.q[0], DAMPING)
    gain = _gain(rig, trajectory, damping)
    runs = []
    for chosen in (gain, 0.0):
        controller = _AdaptiveController(rig, damping, chosen)
        events = [(PICK_UP * passing, loaded)]
        runs.append((controller, rig.plant(1).run(controller, trajectory, events=events)))
    (adapting, with_it), (_, without) = runs
    chi = np.array(adapting.links).reshape(len(adapting.links), -1, 10)
    step = max(1, len(with_it.t) // 1000)
    shown = {"adapting_error": _running(with_it, rig), "fixed_error": _running(without, rig)}
    tip = loaded.tip
    mass = np.concatenate([chi[:, tip, 9], np.full(len(with_it.t) - len(chi), chi[-1, tip, 9])])
    last = loaded.links[tip]
    return Adaptation(
        load=rig.load,
        passing=passing,
        picked=PICK_UP * passing,
        adapting=_per_pass(with_it),
        fixed=_per_pass(without),
        least=_least_eigenvalue(chi),
        true_mass=float(last[9]) if last is not None else rig.load,
        ran_away=with_it.ran_away,
        t=with_it.t[::step],
        mass=mass[::step],
        q=with_it.true_q[::step],
        **{name: values[::step] for name, values in shown.items()},
    )


def _gain(rig: Rig, trajectory: Trajectory, damping: Array) -> float:
    """Adaptation gain with which the rated payload is learned with the time constant `QUICKNESS`.

    With a mass error e the velocity errors are s = tau e / (damping load), tau being the payload's efforts, and
    the natural adaptation law gives e' = -gain m^2 tau . s / load, m being the mass of the whole link that holds
    the payload.  So 1 / (gain (m / load)^2 sum of tau^2 / damping) is the time constant; a heavy link learns
    faster.
    """
    states = [x[:: max(1, len(trajectory.t) // 500)] for x in (trajectory.q, trajectory.qd, trajectory.qdd)]
    loaded = rig.known.with_payload(rig.load, CENTRE)
    more = np.asarray(inverse_dynamics(loaded, *states)) - np.asarray(inverse_dynamics(rig.known, *states))
    last = loaded.links[loaded.tip]
    heavier = 1.0 if last is None else float(last[9]) / rig.load
    return 1.0 / (QUICKNESS * heavier**2 * float(np.mean(np.sum(more**2 / damping, axis=1))))


def _per_pass(log: PlantLog) -> tuple[float, ...]:
    edges = np.linspace(0, len(log.t) - 1, PASSES + 1).astype(int)
    return tuple(float(np.sqrt(np.mean(log.error[a:b] ** 2))) for a, b in zip(edges, edges[1:], strict=False))


def _running(log: PlantLog, rig: Rig) -> Array:
    """Running root mean square of the tracking error over half a second, all joints."""
    square = np.concatenate([[0.0], np.cumsum(np.mean(log.error**2, axis=1))])
    width = max(1, round(WINDOW / rig.period))
    k = np.arange(1, len(square))
    before = np.maximum(k - width, 0)
    return np.asarray(np.sqrt(np.maximum(square[k] - square[before], 0.0) / (k - before)))


def _least_eigenvalue(chi: Array) -> float:
    """Smallest eigenvalue of the pseudo-inertias of parameters (steps, links, 10), scaled to a unit diagonal."""
    units = np.array([pseudo_inertia(unit) for unit in np.eye(10).tolist()])  # it is linear
    P = np.einsum("skp,pij->skij", chi, units)
    root = np.sqrt(np.maximum(np.einsum("skii->ski", P), np.finfo(float).tiny))
    return float(np.linalg.eigvalsh(P / (root[..., :, None] * root[..., None, :])).min())
