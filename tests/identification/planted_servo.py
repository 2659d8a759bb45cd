"""A servo with planted values that turns a pendulum, simulated apart from the product, by small explicit steps.

Intervals are compared with what is planted, so its error must be far below what the runs tell: steps are of second
order (explicit midpoint), in two parts where the joint stops, and the target is followed exactly, at any delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, sin
from pathlib import Path

import numpy as np

from minertia.identification.campaigns.campaign import Log
from minertia.identification.loads.load import Load
from minertia.identification.logs.recording import Recording
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot

GRAVITY = 9.81
STEP, ROW = 2e-4, 0.01  # s
NEAR = 2e-3  # rad of error in which the duty that starts a motor grows
NOISE, COUNT = 5e-4, 2 * np.pi / 4096  # rad, of the encoder
PENDULUM = Robot(
    "pendulum",
    (Joint("servo", "revolute", None, ((0, -1, 0), (0, 0, 1), (-1, 0, 0)), (0, 0, 0), link="arm"),),
    links=((0.0,) * 10,),
    gravity=(0.0, 0.0, -GRAVITY),
)


def within(x: float, most: float) -> float:
    """Number between -most and most; on plain numbers ten times as fast as that of arrays."""
    return max(-most, min(x, most))


@dataclass(frozen=True)
class PlantedServo:
    """Planted values, joint side: effort of a volt, back-EMF, friction, speed of the target, delay.

    start: duty that any position error adds; warming: of the motor's effort, a kelvin over 25 degrees; sag: of the
    supply, by effort times duty; lapse: part of its speed that the target loses while commands change; play: between
    the gear and the shaft, which carries the encoder.  askew: angle at which the load is mounted.
    """

    per_volt: float = 0.5
    back: float = 1.0
    inertia: float = 0.02
    viscous: float = 0.03
    coulomb: float = 0.12
    by_load: float = 0.2
    speed: float = 4.0
    delay: float = 0.013
    error_gain: float = 0.16
    duty_limit: float = 0.95
    start: float = 0.015
    warming: float = -0.008
    sag: float = 0.2
    lapse: float = 0.05
    play: float = 0.0
    askew: float = 0.0

    def __call__(
        self,
        told: np.ndarray,
        arm: tuple[float, float],
        register: float,
        on: np.ndarray,
        temperature: float = 25.0,
        step: float = STEP,
    ) -> np.ndarray:
        """Positions each 10 ms under held commands; arm: inertia [kg m2], gravity moment [N m]."""
        every, is_on = round(ROW / step), on.tolist()
        t = step * np.arange((len(told) - 1) * every + 2)
        ends, middles = self.target(told, t), self.target(told, t[:-1] + 0.5 * step)
        q, v, shaft, seen = 0.0, 0.0, 0.0, []
        volts, whole, warm = 12.0, arm[0] + self.inertia, 1 + self.warming * (temperature - 25.0)

        def after(h: float, v: float, at: float, rate: float, shaft: float, target: float, on: float) -> float:
            """Velocity h after v, under the efforts of a position and a velocity; past a stop that of sliding on."""
            error = target - shaft
            duty = self.error_gain * register * error + self.start * within(error / NEAR, 1.0)
            duty = within(duty, self.duty_limit)
            asked = on * warm * (self.per_volt * volts * duty - self.back * rate)
            motor = asked / (1 + self.sag * warm * self.per_volt * duty**2)
            pull = arm[1] * sin(at - self.askew)
            bound = h * (self.coulomb + self.by_load * abs(0.5 * (motor + pull))) / whole
            free = v + h * (motor - pull - self.viscous * rate) / whole
            return free - (copysign(bound, v) if v else within(free, bound))

        def moved(
            h: float, q: float, v: float, shaft: float, targets: tuple[float, ...], on: float
        ) -> tuple[float, ...]:
            """Gear, velocity and shaft after a step with the targets at its start, middle and end."""
            rate = after(0.5 * h, v, q, v, shaft, targets[0], on)
            at = q + 0.25 * h * (v + rate)
            new = after(h, v, at, rate, at + within(shaft - at, self.play / 2), targets[1], on)
            if v * new >= 0.0:
                q += 0.5 * h * (v + new)
                return q, new, q + within(shaft - q, self.play / 2)
            part = v / (v - new)  # it stops within the step, and stays or turns back
            q += 0.5 * part * h * v
            begin = targets[0] + part * (targets[2] - targets[0])
            rest = begin, 0.5 * (begin + targets[2]), targets[2]
            return moved((1 - part) * h, q, 0.0, q + within(shaft - q, self.play / 2), rest, on)

        for k in range(len(middles)):
            if k % every == 0:
                seen.append(shaft)
            q, v, shaft = moved(step, q, v, shaft, (ends[k], middles[k], ends[k + 1]), is_on[k // every])
        return np.array(seen)

    def target(self, told: np.ndarray, t: np.ndarray) -> list[float]:
        """Target of the motor at times, which follows the delayed commands at its speed."""
        speeds = self.speed * (1 - self.lapse * (np.diff(told, prepend=told[0]) != 0))
        starts = [float(told[0])]
        for command, speed in zip(told.tolist(), speeds.tolist(), strict=True):
            starts.append(starts[-1] + within(command - starts[-1], ROW * speed))
        late = t - self.delay
        row = np.clip(np.floor(late / ROW + 1e-9).astype(int), 0, len(told) - 1)
        reach = speeds[row] * np.maximum(late - ROW * row, 0.0)
        begun = np.array(starts)[row]
        found: list[float] = (begun + np.clip(told[row] - begun, -reach, reach)).tolist()
        return found


def commands(kind: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Commands of a run, and whether the motor is on."""
    t, on = ROW * np.arange(rows), np.ones(rows)
    if kind == "steps":
        return np.where(t < 0.3, 0.0, 1.2 * np.sign(np.sin(3.0 * t - 0.9))), on
    if kind == "drop":
        on[t > 1.5] = 0.0
        return 1.4 * np.minimum(t, 1.0), on
    return 0.9 * np.sin(t + 0.9 * t * t), on


def planted_run(
    servo: PlantedServo, kind: str, arm: tuple[float, float], register: float, *, rows: int = 301, seed: int = 0
) -> Log:
    """Log of a run, with an encoder of 4096 counts; its load is that of the arm."""
    told, on = commands(kind, rows)
    temperature = 30.0 + 7.0 * (seed % 3)
    q = servo(told, arm, register, on, temperature)
    noisy = COUNT * np.rint((q + np.random.default_rng(seed).normal(0, NOISE, rows)) / COUNT)
    recording = Recording(
        t=ROW * np.arange(rows), q=noisy[:, None], joints=PENDULUM.coordinate_names, source=f"{kind} {register:g}",
        channels={"command": told[:, None], "volts": np.full((rows, 1), 12.0), "enabled": on[:, None],
                  "temperature": np.full((rows, 1), temperature)},
    )  # fmt: skip
    moment = arm[1] / GRAVITY
    mass = 2 * moment**2 / arm[0]
    rest = arm[0] - moment**2 / mass
    load = Load(mass, (moment / mass, 0.0, 0.0), (rest / 2, 0.0, 0.0, rest / 2, 0.0, rest))
    return Log(recording, load=load, register=register)


def written_runs(
    folder: Path,
    servo: PlantedServo,
    arms: Sequence[tuple[float, float]],
    registers: Sequence[float],
    kinds: Sequence[str],
    *,
    stated: float = 1.0,
    rows: int = 301,
) -> None:
    """Folder of runs with their index; stated: factor on the loads that it states.  rows: of each log."""
    folder.mkdir()
    index = ["file,motion,inertia,gravity_moment,kp"]
    for k, (arm, register, kind) in enumerate((a, r, m) for a in arms for r in registers for m in kinds):
        recording = planted_run(servo, kind, arm, register, rows=rows, seed=k).source
        assert isinstance(recording, Recording)
        name = f"{kind}_{arm[0]:g}_{register:g}.csv"
        others = [recording.channels[key][:, 0] for key in ("command", "volts", "enabled", "temperature")]
        table = np.column_stack([recording.t, recording.q[:, 0], *others])
        lines = ["t,q1,q_cmd1,volts,enabled1,temperature1"]
        lines += [",".join(f"{x:.6f}" for x in row) for row in table.tolist()]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        index.append(f"{name},{kind},{stated * arm[0]},{stated * arm[1]},{register}")
    (folder / "index.csv").write_text("\n".join(index) + "\n", encoding="utf-8")
