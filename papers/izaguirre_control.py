"""Control with the campaign's model: open loop (figures 6 to 9 of Izaguirre et al. 1992) and the background task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from minertia.simulation.moves import joint_move
from minertia.simulation.plant import Plant, PlantLog
from minertia.simulation.tracking import Gains, TrackingError, compare_update_rates, computed_torque, open_loop
from papers.page import Page
from papers.puma260 import (
    DRIVES,
    FASTEST,
    PREDETERMINED,
    RANDOM,
    SERVO,
    campaign,
    control,
    points_of,
    puma,
    some_open,
    trajectory,
)

Array = np.ndarray[Any, Any]
PERIOD = 2e-3  # s of the servo in the control tests; ours
QUARTER, FAST, SLOW = np.pi / 2, np.pi, np.pi / 6  # section 7.2: 90 degrees, 180 degrees per second; slow is ours
GROUPS = ((0,), (1,), (2,), (0, 1, 2))
POSTURE = np.array([-0.6, -1.2, 0.8, 0.2, 0.5, 0.0])
FRICTION = (0.9, 0.95, 1.0, 1.05, 1.1)  # of the arm after the campaign, over what it was
BACKGROUND = (1, 5, 10, 25, 50, 100)  # servo periods between two updates; 10 are the 20 ms of the paper


# ------------------------------------------------------------------ open loop: figures 6 to 9


@cache
def open_loop_logs(speed: float, gravity_online: bool, friction: float = 1.0) -> tuple[PlantLog, ...]:
    """Moves by 90 degrees in open loop, one per group; joints that do not move are held.

    friction: of the arm, over what it was in the campaign.
    """
    model, _ = model_in_control()
    changed = {f"{s}{j + 1}": friction * DRIVES[s][j] for s in ("FV", "FC") for j in range(6)}
    plant = Plant(puma().with_parameters(changed), period=PERIOD, substeps=2)
    held = computed_torque(model, Gains(30.0))
    return tuple(
        plant.run(
            some_open(open_loop(model, gravity_online=gravity_online), held, joints),
            joint_move(POSTURE, joints, QUARTER, speed, PERIOD),
        )
        for joints in GROUPS
    )


def _error_cells(logs: tuple[PlantLog, ...]) -> list[str]:
    return [f"{100 * e:.2f}" for log, joints in zip(logs, GROUPS, strict=True) for e in largest_errors(log, joints)]


@cache
def model_in_control() -> tuple[Any, str]:
    """The significant parameters as the controller has them."""
    return control(campaign().robot(True))


def largest_errors(log: PlantLog, joints: Sequence[int]) -> list[float]:
    """Largest error of the joints that move, over the angle they travel."""
    found = TrackingError.of("", log).relative
    return [found[j] for j in joints]


def add_open_loop(page: Page) -> None:
    """The section on open loop, with figures 6 to 9."""
    page.heading("Trajectories in open loop (figures 6 to 9)")
    _, how = model_in_control()
    page.text(
        f"The torques of moves by 90 degrees, computed by {how} from the significant parameters, are sent to the arm "
        "in MuJoCo without any feedback: joints 1, 2 and 3 each alone, then together; the joints that do not move "
        f"are held. Fast is {np.degrees(FAST):.0f} degrees per second, slow {np.degrees(SLOW):.0f} (the paper does "
        "not say). With gravity compensation the gravity torque is that of the measured posture. Largest error, in "
        "percent of 90 degrees:"
    )
    rows = []
    for figures, online in (("6 and 7", False), ("8 and 9", True)):
        for word, speed in (("fast", FAST), ("slow", SLOW)):
            logs = open_loop_logs(speed, online)
            rows.append((figures, "on-line" if online else "computed", word, *_error_cells(logs)))
    head = ("figures", "gravity", "speed", "1 alone", "2 alone", "3 alone", "1 of three", "2 of three", "3 of three")
    page.table(head, rows)
    page.text(_open_loop_verdict())
    page.text(
        "Fast moves follow far better here, as the friction of the simulated arm is of the form of the model and "
        "stays what it was; the paper names friction that varies as the likely cause of its differences. The fast "
        "moves again, without gravity compensation, after the friction of the arm has changed since the campaign:"
    )
    rows = []
    for change in FRICTION:
        logs = open_loop_logs(FAST, False, change)
        rows.append((f"{100 * (change - 1):+.0f} %", *_error_cells(logs)))
    page.table(("friction", *head[3:]), rows)
    for number, online, groups in ((6, False, (0, 1, 2)), (7, False, (3,)), (8, True, (0, 1, 2)), (9, True, (3,))):
        what = "joints 1, 2 and 3 each alone" if groups != (3,) else "joints 1, 2 and 3 together"
        page.figure(
            f"open-{number}",
            f"Figure {number}: error in open loop, {what}, {'with' if online else 'without'} gravity compensation.",
            lambda f, o=online, g=groups: _draw_open_loop(f, o, g),
            (7, 2.6),
        )


def _open_loop_verdict() -> str:
    def largest(speed: float, online: bool) -> float:
        logs = open_loop_logs(speed, online)
        return max(e for log, joints in zip(logs, GROUPS, strict=True) for e in largest_errors(log, joints))

    fast, slow = largest(FAST, False), largest(SLOW, False)
    return (
        "Published (section 7.2): below 10 % in fast moves, larger in slow ones, much smaller with gravity "
        f"compensation. Ours: at most {100 * fast:.1f} % in fast moves and {100 * slow:.1f} % in slow ones; with "
        f"gravity compensation {100 * largest(FAST, True):.1f} % and {100 * largest(SLOW, True):.1f} %."
    )


def _draw_open_loop(figure: Any, online: bool, groups: tuple[int, ...]) -> None:
    for axes, (word, speed) in zip(figure.subplots(1, 2), (("fast", FAST), ("slow", SLOW)), strict=True):
        for g in groups:
            log = open_loop_logs(speed, online)[g]
            for j in GROUPS[g]:
                axes.plot(log.t, np.degrees(log.error[:, j]), lw=1.1, color=f"C{j}", label=f"joint {j + 1}")
        axes.set(xlabel="time [s]", ylabel="error [degrees]", title=word)
        axes.legend(fontsize=7)


# ------------------------------------------------------------------ background task


def bandwidth(values: Array, period: float, share: float = 0.95) -> float:
    """Frequency [Hz] below which a share of the power of a signal about its mean lies, largest over the joints."""
    power = np.abs(np.fft.rfft((values - values.mean(axis=0)) * np.hanning(len(values))[:, None], axis=0)) ** 2
    frequency = np.fft.rfftfreq(len(values), period)
    part = np.cumsum(power, axis=0) / power.sum(axis=0)
    return float(frequency[(part < share).sum(axis=0)].max())


def blended(points: Array, acceleration: float, speed: float = FASTEST) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations along straight segments with parabolic blends, at rest at each point.

    The longest joint of a segment goes with this acceleration [rad/s2] up to this speed [rad/s] at most, the others in
    step with it.
    """
    parts = []
    for start, end in zip(points[:-1], points[1:], strict=True):
        way = float(np.abs(end - start).max())
        blend = min(speed / acceleration, math.sqrt(way / acceleration))
        total = way / (acceleration * blend) + blend
        t = np.arange(0, total, SERVO)
        rate = acceleration * np.minimum(np.minimum(t, blend), total - t)
        push = acceleration * ((t < blend) * 1.0 - (t > total - blend))
        near = 0.5 * acceleration * np.minimum(t, total - t) ** 2
        middle = acceleration * blend * (t - 0.5 * blend)
        done = np.where(t < blend, near, np.where(t > total - blend, way - near, middle))
        direction = (end - start) / way
        parts.append((start + np.outer(done, direction), np.outer(rate, direction), np.outer(push, direction)))
    q, qd, qdd = (np.concatenate(part) for part in zip(*parts, strict=True))
    return q, qd, qdd


BLENDS = (3.0, 5.0, 10.0)  # rad/s2


def blended_widths(acceleration: float, share: float = 0.95) -> Array:
    """Bandwidths [Hz] of positions, velocities and accelerations on the points of the ten trajectories, (10, 3)."""
    motions = [blended(points_of(number), acceleration) for number in range(PREDETERMINED + RANDOM)]
    return np.array([[bandwidth(values, SERVO, share) for values in motion] for motion in motions])


def _add_blends(page: Page) -> None:
    page.text(
        "Robots of that time moved along straight segments with parabolic blends, whose accelerations jump. The points "
        "of the ten trajectories, passed so; medians over the trajectories:"
    )
    rows = []
    for acceleration in BLENDS:
        for share in (0.9, 0.95):
            widths = blended_widths(acceleration, share)
            ratio = np.median(widths[:, 2] / widths[:, 1])
            hertz = (f"{np.median(w):.2f} Hz" for w in widths.T)
            rows.append((f"{acceleration:g} rad/s²", f"{100 * share:.0f} %", *hertz, f"{ratio:.1f}"))
    head = ("blends with", "power", "positions", "velocities", "accelerations", "accelerations over velocities")
    page.table(head, rows)
    page.text(
        "There velocities reach little further than positions, and accelerations four times as far as velocities with "
        "90 % of the power and seven times with 95 %. So about five, as published, holds for such motions; for smooth "
        "ones it is less."
    )


def add_background(page: Page) -> None:
    """The section on the two tasks."""
    page.heading("Background task at several rates")
    planned = trajectory(0)
    words = {"positions": planned.q, "velocities": planned.qd, "accelerations": planned.qdd}
    shares = (0.95, 0.99, 0.999)
    rows = [(word, *(f"{bandwidth(x, SERVO, s):.2f} Hz" for s in shares)) for word, x in words.items()]
    page.text(
        "The structure rests on positions and velocities changing more slowly than accelerations (section 3: the "
        "spectra of positions and velocities are alike, that of accelerations about five times as wide, on "
        "trajectories of a PUMA 560). Frequency below which a part of the power lies, on the trajectory of the "
        "figures as planned, the joint with the widest spectrum:"
    )
    page.table(("", *(f"{100 * s:g} % of the power" for s in shares)), rows)
    wide = [bandwidth(x, SERVO, shares[-1]) for x in words.values()]
    page.text(
        f"Accelerations reach {wide[2] / wide[1]:.1f} times as far as velocities where the last thousandth is left "
        "out: the polynomials are smooth, so less than published, but on the same side."
    )
    _add_blends(page)
    rows, table = update_rates(trajectory(0))
    page.text(
        f"Computed torque along it with D, h and g updated every k periods of {1e3 * PERIOD:g} ms and held in "
        "between, while the synchronous task runs in every period; root mean square of all joint errors, and of the "
        "worst joint:"
    )
    page.table(("k", "update every", "all joints [mrad]", "worst joint [mrad]"), rows)
    caption = "Error against the time between two updates of the background task."
    page.figure("background", caption, lambda f: _draw_background(f, table))
    page.text(
        "Published (abstract): the background takes 20 ms. Updated at that rate the error is "
        f"{table[0.02] / table[PERIOD]:.2f} times that of an update in every period; at "
        f"{1e3 * BACKGROUND[-1] * PERIOD:.0f} ms it is {table[BACKGROUND[-1] * PERIOD] / table[PERIOD]:.1f} times as "
        "large."
    )


def update_rates(motion: Any, every: Sequence[int] = BACKGROUND) -> tuple[list[tuple[Any, ...]], dict[float, float]]:
    """Rows of the table, and {time between updates: root mean square error [rad]}."""
    model, _ = model_in_control()
    plant = Plant(puma(), period=PERIOD, substeps=2)
    found = compare_update_rates(plant, model, motion, every, Gains(20.0))
    rows, table = [], {}
    for k, error in zip(every, found.rows, strict=True):
        whole = float(np.sqrt(np.mean(np.square(error.rms))))
        table[k * PERIOD] = whole
        rows.append((k, f"{1e3 * k * PERIOD:g} ms", f"{1e3 * whole:.3f}", f"{1e3 * max(error.rms):.3f}"))
    return rows, table


def _draw_background(figure: Any, table: dict[float, float]) -> None:
    axes = figure.subplots()
    axes.loglog([1e3 * t for t in table], [1e3 * e for e in table.values()], "o-", lw=1.1)
    axes.set(xlabel="time between updates [ms]", ylabel="rms error [mrad]")
