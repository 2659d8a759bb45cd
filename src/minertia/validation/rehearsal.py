"""`rehearse`: the whole campaign on a plant whose parameters are known, before the real robot moves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import inverse_dynamics
from minertia.errors import Infeasible, MissingExtra
from minertia.excitation.excite import excite
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.result import Excitation
from minertia.excitation.trajectory import Trajectory
from minertia.files import make_folder, write_text_atomic
from minertia.identification.identify import Identification, identify
from minertia.identification.logs.recording import Recording
from minertia.identification.model import IdentifiedModel, identified_model, write_model
from minertia.identification.significance import Significance, eliminate
from minertia.robot.inertia import impossible, nearest_possible
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from minertia.validation.compiled import NoCompiler, compiled_model
from minertia.validation.control_model import ControlModel, control_model
from minertia.validation.control_test import control_tests
from minertia.validation.measured import moving, recording_csv, recording_of, stirred_up
from minertia.validation.online_payload import OnlinePayload, watch_payload
from minertia.validation.plant import Imperfections, Plant
from minertia.validation.tracking import Gains, TrackingTable, computed_torque

Array = NDArray[np.float64]
FORMAT = 1
DEVIATIONS = 3.0  # how many stated deviations an estimate may be off
GAINS = Gains(10.0)
VELOCITY_CUTOFF = 20.0  # Hz, of the controller's velocities
TURN_STEP, SLIDE_STEP = 1e-5, 1e-6  # rad and m: encoders
LOAD = 0.05  # part of the moving mass
UNSEEN = 1000  # added to the seed for the motion that is only predicted


@dataclass(frozen=True, slots=True)
class Setting:
    """What is rehearsed.

    noise: deviation of the measured efforts as a part of each joint's root mean square effort.  rate [Hz] of the
    controller and the log.  duration [s] of each motion.  resolution [rad or m] of the encoders, by default 1e-5 rad
    where a joint turns and 1e-6 m where it slides.  cutoff [Hz] of the filter on positions.  delay [s] from command to
    effort.  stribeck: how much friction at standstill exceeds Coulomb friction, as a part of it.  load [kg]: taken up
    by the hand while it is weighed, by default a part of the moving mass.
    """

    noise: float = 0.01
    rate: float = 1000.0
    duration: float = 10.0
    harmonics: int = 5
    starts: int = 1
    resolution: float | None = None
    cutoff: float = 20.0
    seed: int = 0
    delay: float = 0.0
    stribeck: float = 0.0
    load: float | None = None

    def __post_init__(self) -> None:
        for name in ("noise", "rate", "duration", "cutoff"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise Infeasible(f"a rehearsal needs a positive {name}, not {value:g}")
        for name in ("resolution", "delay", "stribeck"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise Infeasible(f"the {name} of a rehearsal must be finite and not negative; it is {value:g}")
        if self.load is not None and not (np.isfinite(self.load) and self.load > 0):
            raise Infeasible(f"a load needs a positive mass, not {self.load:g} kg")
        if self.rate * self.duration < 500:
            count = round(self.rate * self.duration)
            raise Infeasible(f"{self.rate:g} Hz over {self.duration:g} s are {count} samples; take at least 500")
        if self.cutoff >= 0.4 * self.rate:
            raise Infeasible(
                f"a filter at {self.cutoff:g} Hz needs a rate above {2.5 * self.cutoff:g} Hz, not {self.rate:g}"
            )

    def resolutions(self, robot: Robot) -> Array:
        """Steps of the encoders of every joint."""
        kinds = [robot.joints[j].kind for j in robot.independent]
        usual = np.array([SLIDE_STEP if kind == "prismatic" else TURN_STEP for kind in kinds])
        return usual if self.resolution is None else np.full(len(kinds), self.resolution)


@dataclass(frozen=True, slots=True)
class Step:
    """One part of the campaign: how long it took and what came of it, in a sentence."""

    name: str
    seconds: float
    text: str


@dataclass(frozen=True, slots=True)
class Returned:
    """One base parameter: planted, estimated, stated deviation, and how many deviations lie between."""

    name: str
    true: float
    value: float
    deviation: float

    @property
    def off(self) -> float:
        """Error over deviation."""
        return (self.value - self.true) / self.deviation if self.deviation > 0 else 0.0


@dataclass
class Rehearsal:
    """What a rehearsal found; parts whose tool is missing are None and named in `skipped`.

    held_out: rms residual per joint on the motion that was not used [N m or N]; floor: of the noise alone; stirred:
    of efforts faster than the filter, which the controller makes of the steps of the encoders.  load: mass
    [kg] that was picked up and put down again while it was weighed.
    """

    robot: Robot
    setting: Setting
    steps: list[Step] = field(default_factory=list)
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

    @property
    def within(self) -> float:
        """Part of the parameters that came back within three stated deviations."""
        return float(np.mean([abs(r.off) <= DEVIATIONS for r in self.returned])) if self.returned else float("nan")

    @property
    def over_floor(self) -> float:
        """Held-out residual over the noise floor, all joints in units of their noise."""
        return float(np.sqrt(np.mean((self.held_out / self.floor) ** 2))) if len(self.held_out) else float("nan")

    @property
    def seconds(self) -> float:
        """Time of all steps."""
        return sum(step.seconds for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        s = self.setting
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
            "files": [path.name for path in self.files],
        }

    def _weighed_data(self) -> dict[str, Any] | None:
        if self.weighed is None:
            return None
        w = self.weighed
        shown = {"t": w.t, "mass": w.mass, "deviation": w.mass_deviation}
        return {"load": self.load, "changes": list(w.changes), **{k: v[::10].tolist() for k, v in shown.items()}}

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        lines = [f"{step.name:<14}{step.seconds:>7.1f} s  {step.text}" for step in self.steps]
        return "\n".join([f"rehearsal of {self.robot.name}", *lines])


def rehearse(
    robot: Robot,
    setting: Setting | None = None,
    *,
    limits: MotionLimits | None = None,
    motions: tuple[Excitation, Excitation] | None = None,
    out: str | Path | None = None,
    with_control: bool = True,
    progress: Callable[[Step], None] | None = None,
) -> Rehearsal:
    """Plant a robot's own parameters in MuJoCo and run the campaign on it, up to control with what came back.

    motions: for training and to be predicted, found before.  out: folder for the motions, the logs, the model and the
    generated code; without one no code is written and the controller uses the expression graphs.
    """
    chosen = setting or Setting()
    robot = robot.numeric
    if robot.is_floating:
        raise Infeasible("a floating base has no motors: a rehearsal needs a robot with a fixed base")
    robot.parameters()  # says what is missing
    robot, notes = _possible(robot)
    return _Campaign(robot, chosen, limits or _own_limits(robot), out, progress, notes).run(motions, with_control)


def _possible(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    """The robot with inertias that bodies can have, since MuJoCo moves no others, and what was changed.

    Published files often have inertias that break the triangle inequality; a rehearsal only needs some truth.
    """
    changed: dict[str, float] = {}
    links = []
    for j, (joint, ten) in enumerate(zip(robot.joints, robot.links, strict=True)):
        if ten is None or ten[9] <= 0 or impossible(ten) is None:
            continue
        links.append(f"'{joint.link or joint.name}'")
        changed |= {f"{s}{j + 1}": float(v) for s, v in zip(LINK_SYMBOLS, nearest_possible(ten), strict=True)}
    if not links:
        return robot, ()
    text = f"no body can have the inertia that the file gives {', '.join(links)}; the nearest possible one is rehearsed"
    return robot.with_parameters(changed), (text,)


def _own_limits(robot: Robot) -> MotionLimits:
    has_efforts = all(robot.joints[j].limits.effort is not None for j in robot.independent)
    return motion_limits(robot, effort=has_efforts)


class _Campaign:
    """One rehearsal: each step adds to the result and says what came of it."""

    def __init__(
        self,
        robot: Robot,
        setting: Setting,
        limits: MotionLimits,
        out: str | Path | None,
        progress: Callable[[Step], None] | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.robot, self.setting, self.limits, self.progress = robot, setting, limits, progress
        self.folder = None if out is None else make_folder(out)
        self.result = Rehearsal(robot, setting, notes=notes)

    def run(self, motions: tuple[Excitation, Excitation] | None, with_control: bool) -> Rehearsal:
        result = self.result
        with self._step("excite") as say:
            result.training, result.unseen = motions or self._motions()
            say(f"condition number {result.training.condition:.3g} for {result.training.base.count} base parameters")
            self._write("training-motion.csv", result.training.trajectory.to_csv())
            self._write("unseen-motion.csv", result.unseen.trajectory.to_csv())
        try:
            recordings = self._record(result.training, result.unseen)
        except MissingExtra as err:
            result.skipped.append(f"recording, identification and control: {err}")
            self._generate(self.robot)
            return result
        self._identify(*recordings)
        assert result.model is not None
        model = self._generate(result.model.to_robot())
        if with_control:
            known = model or control_model(result.model.to_robot())
            self._control(known)
            self._weigh(known)
        return result

    @contextmanager
    def _step(self, name: str) -> Iterator[Callable[[str], None]]:
        begun, said = time.perf_counter(), [""]
        yield lambda text: said.__setitem__(0, text)
        step = Step(name, time.perf_counter() - begun, said[0])
        self.result.steps.append(step)
        if self.progress is not None:
            self.progress(step)

    def _write(self, name: str, text: str) -> None:
        if self.folder is not None:
            write_text_atomic(self.folder / name, text)
            self.result.files.append(self.folder / name)

    # ------------------------------------------------------------------ steps

    def _motions(self) -> tuple[Excitation, Excitation]:
        s = self.setting

        def found(seed: int, patience: float) -> Excitation:
            motion = excite(
                self.robot, duration=s.duration, harmonics=s.harmonics, limits=self.limits, seed=seed,
                starts=s.starts, patience=patience,
            )  # fmt: skip
            if motion.interrupted:  # who stops a search alone wants its best; who stops a rehearsal wants it to end
                raise KeyboardInterrupt
            return motion

        return found(s.seed, 1.0), found(s.seed + UNSEEN, 0.3)

    def _record(self, *motions: Excitation) -> list[Recording]:
        s, names = self.setting, self.robot.coordinate_names
        controller = computed_torque(control_model(self.robot), GAINS)
        with self._step("record") as say:
            self.result.floor = self._noise(motions[0].trajectory)
            recordings = []
            for k, (name, motion) in enumerate(zip(("training", "unseen"), motions, strict=True)):
                plant = Plant(self.robot, period=1 / s.rate, imperfections=self._flaws, seed=2 * s.seed + k)
                log = plant.run(controller, motion.motion.sample(round(s.duration * s.rate) + 1))
                recordings.append(recording_of(log, names, name))
                self.result.stirred = stirred_up(log, s.rate, s.cutoff)
                self._write(f"{name}-log.csv", recording_csv(recordings[-1]))
            say(f"{len(recordings)} motions of {s.duration:g} s at {s.rate:g} Hz, {100 * s.noise:g} % torque noise")
        return recordings

    @property
    def _flaws(self) -> Imperfections:
        s, robot = self.setting, self.robot
        coulomb = np.array([robot.effects[j].get("FC", 0.0) for j in robot.independent])
        return Imperfections(
            resolution=s.resolutions(robot),
            torque_noise=self.result.floor,
            velocity_cutoff=VELOCITY_CUTOFF,
            delay=s.delay,
            stribeck=s.stribeck * coulomb,
        )

    def _noise(self, trajectory: Trajectory) -> Array:
        """Deviation of the noise of each joint; a joint without effort has that of the smallest other one."""
        tau = np.asarray(inverse_dynamics(self.robot, trajectory.q, trajectory.qd, trajectory.qdd), float)
        size = np.sqrt(np.mean(tau**2, axis=0))
        smallest = float(size[size > 0].min()) if np.any(size > 0) else 1.0
        return np.asarray(self.setting.noise * np.where(size > 0, size, smallest))

    def _identify(self, training: Recording, unseen: Recording) -> None:
        result, s = self.result, self.setting
        with self._step("filter") as say:
            moves, others = moving(training, s.cutoff), moving(unseen, s.cutoff)
            say(f"{len(moves.t)} samples kept, {100 * (1 - moves.part):.0f} % left out where a joint turns back")
        with self._step("identify") as say:
            found = identify(self.robot, [moves], validation=[others], estimator="wls", validation_names=["unseen"])
            true = found.model.nominal()
            result.identification = found
            result.returned = tuple(
                Returned(p.name, float(b), p.value, p.deviation)
                for p, b in zip(found.parameters, true, strict=True)
                if p.name not in found.estimate.not_excited and p.kind != "fixed"
            )
            result.held_out = np.array(found.validation[0].joint_rmse)
            say(
                f"{sum(abs(r.off) <= DEVIATIONS for r in result.returned)} of {len(result.returned)} parameters within "
                f"{DEVIATIONS:g} deviations; held-out residual {result.over_floor:.3f} times the noise floor"
            )
        with self._step("significance") as say:
            assert found.observation is not None
            result.significance = eliminate(found.observation)
            say(f"{len(result.significance.essential)} of {found.model.count} parameters predict as well")
        with self._step("physical") as say:
            result.model = identified_model(found)
            if self.folder is not None:
                path = self.folder / "identified.toml"
                write_model(result.model, path)
                result.files.append(path)
            say("a robot with these parameters can exist" if result.model.is_physical else "no real robot has these")

    def _generate(self, robot: Robot) -> ControlModel | None:
        """Code for the robot; its functions where there is a compiler."""
        if self.folder is None:
            return None
        code, model = self.folder / "code", None
        with self._step("generate") as say:
            try:
                model = compiled_model(robot, code)
                self.result.is_compiled = True
                say("C code written, compiled, and its self-test passed")
            except NoCompiler as err:
                self.result.skipped.append(f"compiling the generated code: {err}")
                say("C code written, not compiled")
            self.result.files += sorted(path for path in code.iterdir() if path.is_file())
        return model

    def _control(self, model: ControlModel) -> None:
        result = self.result
        assert result.unseen is not None
        with self._step("control") as say:
            trajectory = _beginning(result.unseen)
            result.control = control_tests(self.robot, model, self.limits, trajectory)
            by = "the compiled code" if result.is_compiled else "the expression graphs"
            feedback = next(table for table in result.control if table.title == "closed loop")
            say(f"with {by}, {_compared(feedback)}")

    def _weigh(self, model: ControlModel) -> None:
        """A load is picked up and put down; the estimator knows the identified model and the log's noise."""
        result = self.result
        assert result.unseen is not None
        with self._step("payload") as say:
            usual = LOAD * sum(ten[9] for ten in self.robot.links if ten is not None)
            result.load = usual if self.setting.load is None else self.setting.load
            loaded = self.robot.with_payload(result.load, (0.0, 0.0, 0.05))
            trajectory = _beginning(result.unseen, 6.0)
            end = float(trajectory.t[-1])
            plant = Plant(self.robot, period=trajectory.period, imperfections=self._flaws, seed=self.setting.seed)
            events = [(end / 3, loaded), (2 * end / 3, self.robot)]
            result.weighed = watch_payload(self.robot, trajectory, events, plant, model=model, gains=GAINS)
            values, deviations = result.weighed.at(0.66 * end)
            say(f"{values[-1]:.3f} kg with a deviation of {deviations[-1]:.2g} kg found of {result.load:.3f} kg")


def _compared(feedback: TrackingTable) -> str:
    """Computed torque beside PD + gravity, where both keep the arm under control."""
    best, other = (feedback.row(name) for name in ("computed torque", "PD + gravity"))
    lost = " and ".join(row.name for row in (best, other) if row.ran_away is not None)
    if lost:
        return f"{lost} with these gains did not keep the arm under control"
    return f"computed torque has {100 * sum(best.rms) / sum(other.rms):.2g} % of the error of PD + gravity"


def _beginning(excitation: Excitation, length: float = 3.0) -> Trajectory:
    """The first seconds of a motion that is not the one the model was fitted on."""
    duration = min(length, excitation.motion.duration)
    t = np.linspace(0.0, duration, round(duration / 2e-3) + 1)
    return Trajectory(t, *excitation.motion.at(t))


def summary(rehearsals: Sequence[Rehearsal]) -> dict[str, float]:
    """Over several seeds: part of (parameter, seed) pairs within three deviations, and the worst held-out ratio."""
    pairs = [abs(r.off) <= DEVIATIONS for one in rehearsals for r in one.returned]
    return {
        "pairs": len(pairs),
        "within": float(np.mean(pairs)),
        "worst_over_floor": max(one.over_floor for one in rehearsals),
        "worst_joint_over_floor": max(float(np.max(one.held_out / one.floor)) for one in rehearsals),
    }
