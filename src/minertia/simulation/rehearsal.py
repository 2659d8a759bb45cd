"""`rehearse`: the whole campaign on a simulated robot with known parameters, before the real robot moves."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.generate import TARGETS
from minertia.codegen.kernels.build import CompilerMissing
from minertia.codegen.targets.names import identifier
from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.excite import excite
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.options import MotionSearch
from minertia.excitation.result import Excitation
from minertia.excitation.trajectory import Trajectory
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.evidence.significance import eliminate
from minertia.identification.identify import identify
from minertia.identification.logs.recording import Recording
from minertia.identification.model import with_efforts
from minertia.identification.model_file import write_model
from minertia.identification.problem.terms import robot_effects
from minertia.io.errors import Infeasible, MinertiaError, MissingExtra
from minertia.io.files import folder_at_once, write_file
from minertia.io.resources import one_thread
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.robot import Robot
from minertia.simulation.compiled import CompiledCode, compiled_model
from minertia.simulation.control_comparison import control_tests
from minertia.simulation.control_model import ControlModel, control_model
from minertia.simulation.measured import moving, recording_csv, recording_of, stirred_up
from minertia.simulation.online_payload import watch_payload
from minertia.simulation.options import LOAD, RehearsalOptions
from minertia.simulation.plant import Imperfections, Plant
from minertia.simulation.possible import simulable_robot
from minertia.simulation.rehearsed import DEVIATIONS, RECORD, Rehearsal, RehearsalStep, Returned
from minertia.simulation.rig import Rig
from minertia.simulation.shows import SHOWS, shown_code, shown_robot
from minertia.simulation.soft_loops import soft_loops
from minertia.simulation.sprung_plant import rehearse_springs
from minertia.simulation.tracking import FEEDBACK, Gains, TrackingTable, computed_torque

Array = NDArray[np.float64]
GAINS = Gains(10.0)
VELOCITY_CUTOFF = 20.0  # Hz, of the controller's velocities
LOGS, MODEL, CODE, CONTROLLERS = ("training", "unseen"), "identified.toml", "code", "controllers"  # in the folder
SHOWN_CUTOFF = 80.0  # Hz, of velocities where a collision must be felt within 10 ms
SPRING_RATE = 250.0  # Hz, of logs of elastic joints under position loops
UNSEEN = 1000  # added to the seed for the motion that is only predicted


def rehearse(
    robot: RobotLike,
    options: RehearsalOptions | None = None,
    *,
    limits: MotionLimits | None = None,
    motions: tuple[Excitation, Excitation] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    with_control: bool = True,
    progress: Callable[[RehearsalStep], None] | None = None,
) -> Rehearsal:
    """Simulate a robot with known parameters and run the campaign on it, up to control with the identified model.

    motions: trajectories for training and validation, computed before.  out: folder for the trajectories, the logs, the
    model, the generated code and the results (`RECORD`), which appear together at the end; without one no code is
    written and the controller uses the expression graphs.  force: replace files there that minertia did not write, or
    that were edited since.
    """
    robot = as_robot(robot)
    chosen = options or RehearsalOptions()
    robot = robot.numeric
    if robot.is_floating:
        raise Infeasible("a floating base has no motors; a rehearsal needs a robot with a fixed base")
    robot, notes = simulable_robot(robot)
    if robot.elastic:
        told = ", ".join(robot.coordinate_names[j] for j in robot.elastic)
        notes = (
            *notes,
            (f"{told} elastic: simulated as elastic with the position servo, and as rigid where efforts are measured"),
        )
    bounds = limits or motion_limits(robot)
    if out is None:
        return _RehearsalRun(robot, chosen, bounds, None, progress, notes).run(motions, with_control)
    with folder_at_once(out, force=force) as draft:
        campaign = _RehearsalRun(robot, chosen, bounds, draft, progress, notes)
        result = campaign.run(motions, with_control)
        campaign.write(RECORD, result.to_json() + "\n")
    result.files = [Path(out) / file.relative_to(draft) for file in result.files]
    return result


def file_names(robot: Robot, options: RehearsalOptions | None = None) -> tuple[str, ...]:
    """Names of the files that a rehearsal of a robot writes into its folder."""
    folders = (CODE, CONTROLLERS) if options is not None and options.show else (CODE,)
    code = [name.format(identifier(robot.name)) for name in TARGETS["c"].names]
    return (*(f"{name}-{what}.csv" for name in LOGS for what in ("motion", "log")), MODEL, RECORD,
            *(f"{folder}/{name}" for folder in folders for name in code))  # fmt: skip


class _RehearsalRun:
    """One rehearsal: each step adds to the result and reports its outcome."""

    def __init__(
        self,
        robot: Robot,
        options: RehearsalOptions,
        limits: MotionLimits,
        folder: Path | None,
        progress: Callable[[RehearsalStep], None] | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.robot, self.options, self.limits, self.progress = robot, options, limits, progress
        self.folder = folder
        self.result = Rehearsal(robot, options, notes=notes)

    def run(self, motions: tuple[Excitation, Excitation] | None, with_control: bool) -> Rehearsal:
        result = self.result
        with self._step("excite") as say:
            result.training, result.unseen = motions or self._motions()
            say(f"condition number {result.training.condition:.3g} for {result.training.base.count} base parameters")
            for name, motion in zip(LOGS, (result.training, result.unseen), strict=True):
                self.write(f"{name}-motion.csv", motion.trajectory.to_csv())
        if self.robot.cuts:
            self._look_again(result.training.trajectory)
        try:
            recordings = self._record(result.training, result.unseen)
        except MissingExtra as err:
            result.skipped.append(f"recording, identification and control: {err}")
            self._generate(self.robot)
            return result
        self._identify(*recordings)
        if self.robot.elastic:
            self._springs()
        assert result.model is not None
        model = self._generate(result.model.to_robot())
        if with_control:
            known = model or control_model(result.model.to_robot())
            self._control(known)
            self._weigh(known)
        if self.options.show:
            self._show(result.model.to_robot())
        return result

    @contextmanager
    def _step(self, name: str) -> Iterator[Callable[[str], None]]:
        begun, said = time.perf_counter(), [""]
        yield lambda text: said.__setitem__(0, text)
        step = RehearsalStep(name, time.perf_counter() - begun, said[0])
        self.result.steps.append(step)
        if self.progress is not None:
            self.progress(step)

    def write(self, name: str, text: str) -> None:
        """Write a file of the result if there is an output folder."""
        if self.folder is not None:
            write_file(self.folder / name, text)
            self.result.files.append(self.folder / name)

    # ------------------------------------------------------------------ steps

    def _motions(self) -> tuple[Excitation, Excitation]:
        s = self.options

        def found(seed: int, patience: float) -> Excitation:
            search = MotionSearch(s.starts, seed, patience=patience)
            motion = excite(self.robot, Fourier(s.duration, s.harmonics), limits=self.limits, search=search)
            if motion.interrupted:  # who stops a search alone wants its best; who stops a rehearsal wants it to end
                raise KeyboardInterrupt
            return motion

        return found(s.seed, 1.0), found(s.seed + UNSEEN, 0.3)

    def _look_again(self, motion: Trajectory) -> None:
        """Compare closed chains with MuJoCo, which the plant of such robots does not use."""
        with self._step("loops in MuJoCo") as say:
            try:
                self.result.soft = soft_loops(self.robot, motion)
                say(self.result.soft.sentence())
            except MinertiaError as err:  # massless links, cut slides, or no MuJoCo
                self.result.skipped.append(f"loops in MuJoCo: {err}")
                say("not looked at")

    def _record(self, *motions: Excitation) -> list[Recording]:
        s, names = self.options, self.robot.coordinate_names
        controller = computed_torque(control_model(self.robot), GAINS)
        with self._step("record") as say:
            self.result.floor = self._noise(motions[0].trajectory)
            recordings = []
            for k, (name, motion) in enumerate(zip(LOGS, motions, strict=True)):
                plant = Plant(self.robot, period=1 / s.rate, imperfections=self._flaws, seed=2 * s.seed + k)
                log = plant.run(controller, motion.motion.sample(round(s.duration * s.rate) + 1))
                recordings.append(recording_of(log, names, name))
                self.result.stirred = stirred_up(log, s.rate, s.cutoff)
                self.write(f"{name}-log.csv", recording_csv(recordings[-1]))
            say(
                f"{len(recordings)} trajectories of {s.duration:g} s at {s.rate:g} Hz, {100 * s.noise:g} % torque noise"
            )
        return recordings

    @property
    def _flaws(self) -> Imperfections:
        s, robot = self.options, self.robot
        coulomb = np.array([robot.effects[j].get("FC", 0.0) for j in robot.independent])
        return Imperfections(
            resolution=s.resolutions(robot),
            torque_noise=self.result.floor,
            velocity_cutoff=VELOCITY_CUTOFF,
            delay=s.delay,
            stribeck=s.stribeck * coulomb,
        )

    def _noise(self, trajectory: Trajectory) -> Array:
        """Noise standard deviation of each joint; a joint without effort gets the smallest one of the others."""
        tau = np.asarray(inverse_dynamics(self.robot, trajectory.q, trajectory.qd, trajectory.qdd), float)
        size = np.sqrt(np.mean(tau**2, axis=0))
        smallest = float(size[size > 0].min()) if np.any(size > 0) else 1.0
        return np.asarray(self.options.noise * np.where(size > 0, size, smallest))

    def _identify(self, training: Recording, unseen: Recording) -> None:
        result, s = self.result, self.options
        with self._step("filter") as say:
            moves, others = moving(training, s.cutoff), moving(unseen, s.cutoff)
            say(f"{len(moves.t)} samples retained, {100 * (1 - moves.part):.0f} % excluded near velocity reversals")
        with self._step("identify") as say:
            effects = tuple(robot_effects(self.robot))
            campaign = Campaign(self.robot, moves, Log(others, title="unseen"), effects=effects, estimator="wls")
            found = identify(campaign)
            true = found.linear.nominal()
            result.identification = found
            result.returned = tuple(
                Returned(p.name, float(b), p.value, p.deviation)
                for p, b in zip(found.parameters, true, strict=True)
                if p.name not in found.estimate.not_excited and p.kind != "fixed"
            )
            result.held_out = np.array(found.validation[0].joint_rmse)
            say(
                f"{sum(abs(r.off) <= DEVIATIONS for r in result.returned)} of {len(result.returned)} parameters "
                f"within {DEVIATIONS:g} standard deviations; held-out residual {result.over_floor:.3f} times the "
                "noise floor"
            )
        with self._step("significance") as say:
            result.significance = eliminate(found.observation, counts=False)
            say(
                f"a model with {len(result.significance.essential)} of {found.linear.count} parameters predicts as well"
            )
        with self._step("physical") as say:
            result.model = with_efforts(found.model())
            if self.folder is not None:
                path = self.folder / MODEL
                write_model(result.model, path)
                result.files.append(path)
            say(
                "the parameters are physically consistent"
                if result.model.is_physical
                else ("the parameters are not physically consistent")
            )

    def _springs(self) -> None:
        """Rehearse elastic joints under position servos with two encoders; the other steps take them as rigid."""
        result, s = self.result, self.options
        assert result.training is not None and result.unseen is not None
        rate = min(s.rate, SPRING_RATE)
        motions = [m.motion.sample(round(s.duration * rate) + 1).q for m in (result.training, result.unseen)]
        try:
            with self._step("elastic joints") as say:
                steps = np.array(s.resolutions(self.robot))
                result.springs = rehearse_springs(self.robot, motions, 1 / rate, steps, s.seed)
                say(result.springs.sentence())
        except MinertiaError as err:
            result.skipped.append(f"elastic joints: {err}")

    def _generate(self, robot: Robot) -> ControlModel | None:
        """Generate code for the robot; returns its functions if there is a compiler, else None."""
        if self.folder is None:
            return None
        code, model = self.folder / CODE, None
        with self._step("generate") as say:
            try:
                model = compiled_model(robot, code)
                self.result.is_compiled = True
                say("C code written, compiled, and its self-test passed")
            except CompilerMissing as err:
                self.result.skipped.append(f"compiling the generated code: {err}")
                say("C code written, not compiled")
            self._wrote(code)
        return model

    def _wrote(self, folder: Path) -> None:
        self.result.files += sorted(path for path in folder.glob("*") if path.is_file())

    def _control(self, model: ControlModel) -> None:
        result = self.result
        assert result.unseen is not None
        with self._step("control") as say:
            trajectory = _beginning(result.unseen)
            result.control = control_tests(self.robot, model, self.limits, trajectory)
            by = "the compiled code" if result.is_compiled else "the expression graphs"
            feedback = next(table for table in result.control if table.kind == FEEDBACK)
            say(f"with {by}, {_compared(feedback)}")

    @property
    def _load(self) -> float:
        """Payload mass [kg]."""
        usual = LOAD * sum(ten[9] for ten in self.robot.links if ten is not None)
        return usual if self.options.load is None else self.options.load

    def _weigh(self, model: ControlModel) -> None:
        """Estimate on-line a payload that is picked up and put down, with the identified model and the log's noise."""
        result = self.result
        assert result.unseen is not None
        with self._step("payload") as say:
            result.load = self._load
            loaded = self.robot.with_payload(result.load, (0.0, 0.0, 0.05))
            trajectory = _beginning(result.unseen, 6.0)
            end = float(trajectory.t[-1])
            plant = Plant(self.robot, period=trajectory.period, imperfections=self._flaws, seed=self.options.seed)
            events = [(end / 3, loaded), (2 * end / 3, self.robot)]
            result.weighed = watch_payload(self.robot, trajectory, events, plant, model=model, gains=GAINS)
            values, deviations = result.weighed.at(0.66 * end)
            say(
                f"payload estimate {values[-1]:.3f} kg with a standard deviation of {deviations[-1]:.2g} kg; true "
                f"payload {result.load:.3f} kg"
            )

    def _show(self, identified: Robot) -> None:
        """Demonstrate the generated controllers, and report those that cannot run."""
        result, s = self.result, self.options
        assert result.unseen is not None
        try:
            known = shown_robot(identified)
            with self._step("controllers") as say:
                code = self._controllers(known)
                say(
                    "adaptive controller, momentum observer and gravity generated as C, compiled, and their "
                    "self-test passed"
                )
        except MinertiaError as err:
            result.skipped.append(f"controllers in simulation: {err}")
            return
        flaws = replace(self._flaws, velocity_cutoff=SHOWN_CUTOFF, is_dithered=True)
        motion, period = result.unseen.motion, 1 / s.rate
        rig = Rig(self.robot, known, code, motion, self.limits, flaws, period, self._load, s.seed)
        for name in s.show:
            try:
                with self._step(name) as say, one_thread():
                    result.shown[name] = SHOWS[name](rig, s.watch)
                    say(result.shown[name].sentence())
            except MinertiaError as err:
                result.skipped.append(f"{name}: {err}")

    def _controllers(self, known: Robot) -> CompiledCode:
        if self.folder is None:
            with tempfile.TemporaryDirectory() as place:
                return shown_code(known, Path(place))
        try:
            return shown_code(known, self.folder / CONTROLLERS)
        finally:
            self._wrote(self.folder / CONTROLLERS)


def _compared(feedback: TrackingTable) -> str:
    """Message that compares computed torque with PD + gravity, or names the one that was unstable."""
    best, other = (feedback.row(name) for name in ("computed torque", "PD + gravity"))
    lost = " and ".join(row.name for row in (best, other) if row.ran_away is not None)
    if lost:
        return f"{lost} became unstable with these gains"
    return f"computed torque has {100 * sum(best.rms) / sum(other.rms):.2g} % of the error of PD + gravity"


def _beginning(excitation: Excitation, length: float = 3.0) -> Trajectory:
    """First seconds of the validation trajectory."""
    duration = min(length, excitation.motion.duration)
    t = np.linspace(0.0, duration, round(duration / 2e-3) + 1)
    return Trajectory(t, *excitation.motion.at(t))
