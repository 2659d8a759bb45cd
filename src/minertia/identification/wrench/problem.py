"""`WrenchProblem`: wrenches of a force/torque sensor, and the tool and bias that explain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from minertia.codegen.tool_wrench import FILES, ToolLoad, tool_wrench_files
from minertia.identification.campaigns.campaign import Campaign, Log, LogLike
from minertia.identification.campaigns.options import WrenchOptions
from minertia.identification.campaigns.prepare import PreparedCampaign, Tell, refuse_twins
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.measure import WRENCH, Measure
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import LogReading, ModelFacts, Problem, Section
from minertia.identification.logs.recording import Recording
from minertia.identification.model import Model
from minertia.identification.wrench.fit import unknowns
from minertia.identification.wrench.judging import centre, quantile, value_unit, wrench_evidence
from minertia.identification.wrench.load import CHANNELS, INERTIA
from minertia.identification.wrench.model import WrenchModel, wrench_record
from minertia.identification.wrench.poses import PoseLog, read_poses
from minertia.identification.wrench.predict import PredictedWrench, predict_wrenches
from minertia.identification.wrench.samples import SensorPoses
from minertia.identification.wrench.setups import WrenchReading, as_read, settled_reading
from minertia.identification.wrench.solve import WrenchEstimate, refuse_estimators, solve_wrench
from minertia.io.errors import InputError, expected
from minertia.io.files import write_file
from minertia.io.notebook import clipped, plural
from minertia.io.resources import one_thread
from minertia.io.schema import option_of
from minertia.robot.robot import Note

NO_PART = ("effects", "fix", "prior", "joints")  # options of a campaign that a fit of wrenches has no use for
STANDS_FOR = {
    "M": "mass of the tool, including everything attached to the sensor",
    "MX": "mass times x coordinate of the centre of mass",
    "MY": "mass times y coordinate of the centre of mass",
    "MZ": "mass times z coordinate of the centre of mass",
    **{name: f"moment of inertia about the sensor's origin, {name.lower()}" for name in INERTIA},
}
WORDS = {
    "tilt": "rotation of the sensor's axes about its",
    "gravity": "rotation of gravity about the base's",
    "bias": "mean bias of",
    "step": "bias after a tare, less that before the first, of",
    "slope": "bias per step of the order of recording, of",
}


@dataclass(frozen=True, repr=False)
class WrenchProblem(Problem):
    """Wrenches at poses, their interpretation (`reading`), and the unknowns of tool, mount and bias."""

    kind: ClassVar[str] = "wrench"
    measure: ClassVar[Measure] = WRENCH
    has_efforts: ClassVar[bool] = False
    ladder = None
    campaign: Campaign
    logs: tuple[PoseLog, ...]
    unseen: tuple[PoseLog, ...]
    reading: WrenchReading = field(repr=False)

    @classmethod
    def build(cls, campaign: Campaign | PreparedCampaign, tell: Tell) -> WrenchProblem:
        """Read poses and wrenches, and determine axes and sign where they are not given."""
        assert isinstance(campaign, Campaign)  # see `KINDS`
        _refuse_others(campaign)
        refuse_twins(campaign)
        options = campaign.wrench or WrenchOptions()
        tell("reading wrenches")
        fitted = read_poses(campaign, campaign.train, options)
        unseen = tuple(read_poses(campaign, [log], options) for log in campaign.validate)
        reading = settled_reading(fitted.poses, options, np.array(campaign.robot.gravity, float))
        return cls(replace(campaign, wrench=reading.options), (fitted,), unseen, reading)

    @property
    def poses(self) -> SensorPoses:
        """The fitted poses, with wrenches in the axes of the frame."""
        return self._read(self.logs[0])

    def _read(self, log: PoseLog) -> SensorPoses:
        return as_read(log.poses, self.reading.options)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns: load, mount, gravity direction, bias."""
        return unknowns(self.poses, self.reading.mount, self.reading.options.bias)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of forces and moments."""
        return CHANNELS

    @classmethod
    def recording(cls, campaign: Campaign, log: Log) -> Recording:
        """Always raises an error: static poses are not a motion."""
        raise cls.refused("time series to check", "use identify, which tries other interpretations of the wrench")

    def file_values(self) -> dict[str, float]:
        """Return an empty dict, as a robot file contains no parameters of the tool on a sensor."""
        return {}

    def entry(self, value: ParameterEvidence) -> dict[str, Any]:
        """Entry of an estimate in the model file, with its unit and meaning."""
        word, _, own = value.name.partition("_")
        word = "step" if word.startswith("step") else word
        return {
            "name": value.name,
            "value": value.value,
            "deviation": value.deviation,
            "relative_deviation": value.relative_deviation,  # to the size of its kind: an angle may be zero
            "interval": list(value.interval),
            "class": value.kind,
            "relation": value.name,  # typeset by pages
            "stands_for": STANDS_FOR.get(value.name) or f"{WORDS[word]} {own}",
            "unit": value_unit(value.name),
        }

    # ------------------------------------------------------------------ what the verbs ask

    def solve(self, estimator: str | Estimator | None, tell: Tell) -> WrenchEstimate:
        """Estimate all unknowns, with the specified bias model or the one chosen by cross-validation."""
        refuse_estimators(self.campaign.estimator if estimator is None else estimator)
        with one_thread():
            return solve_wrench(self.poses, self.reading, tell)

    def settled(self, estimate: Estimate) -> WrenchProblem:
        """Problem with the chosen bias model."""
        expected(estimate, WrenchEstimate, "the estimate of a fit of wrenches", "solve")
        options = replace(self.reading.options, bias=_of(estimate).choice.bias)
        return replace(
            self, reading=replace(self.reading, options=options), campaign=replace(self.campaign, wrench=options)
        )

    def evidence(self, estimate: Estimate, tell: Tell) -> Evidence:
        """Evidence: residuals of the wrenches at fitted, held-out and validation poses."""
        unseen = [(log.name, self._read(log)) for log in self.unseen]
        return wrench_evidence(_of(estimate), self.reading, unseen)

    def predicted(self, estimate: Estimate, log: PoseLog, residuals: Residuals) -> PredictedWrench:
        """Predicted wrenches of a file."""
        return PredictedWrench(log, residuals, self._read(log), _of(estimate).wrench.carried)

    def model(self, estimate: Estimate, evidence: Evidence, facts: ModelFacts, *, physical: bool) -> WrenchModel:
        """Model of the tool, with bias and mount."""
        return WrenchModel(
            self.campaign.robot,
            estimate.names,
            estimate.beta,
            estimate.covariance,
            facts.parameters,
            wrench_record(_of(estimate).wrench.carried),
            facts.evidence,
            facts.campaign,
        )

    def record(self, estimate: Estimate, evidence: Evidence) -> dict[str, Any]:
        """Load, centre of mass, bias, tilt, gravity direction and interpretation of the file, as plain data."""
        found, options = _of(estimate), self.reading.options
        fit = found.wrench
        c, deviation = centre(fit)
        half, up = quantile(fit), fit.mount.acceleration
        own = [{**value.to_dict(), **self.entry(value)} for value in evidence.parameters]
        return {
            "parameters": own,
            "load": own[: len(fit.load)],
            "com": c.tolist(),
            "com_deviation": deviation.tolist(),
            "com_interval": [[x - half * d, x + half * d] for x, d in zip(c.tolist(), deviation.tolist(), strict=True)],
            "bias": fit.bias.tolist(),
            "bias_model": found.choice.bias,
            "bias_tried": [
                {"bias": word, "force_rms": left.rms[0], "moment_rms": left.rms[1]}
                for word, left in found.choice.tried.items()
            ],
            "drift": np.ptp(fit.curve.values, axis=0).tolist(),
            "tilt_deg": np.degrees(fit.angles[:3]).tolist(),
            "mount": fit.mount.axes.tolist(),
            "gravity": (-up / np.linalg.norm(up)).tolist(),
            "axes": options.axes,
            "of": options.of,
            "poses": len(fit.poses),
            "noise": {"force": float(fit.noise.white[0]), "moment": float(fit.noise.white[3])},
        }

    def sections(self, estimate: Estimate) -> tuple[Section, ...]:
        """Report section on the tool, and the cross-validation residual of each bias model."""
        found = _of(estimate)
        c, deviation = centre(found.wrench)
        place = ", ".join(f"{1e3 * x:.4g} +- {1e3 * d:.2g}" for x, d in zip(c, deviation, strict=True))
        sentences = (
            f"mass {found.wrench.load[0]:.5g} kg, centre of mass ({place}) mm in the sensor's axes",
            f"bias: {found.choice.bias}, of {plural(len(found.wrench.poses), 'pose')}",
        )
        rows = tuple((word, left.rms[0], 1e3 * left.rms[1]) for word, left in found.choice.tried.items())
        return (Section("Tool and bias", sentences, ("bias", "left [N]", "left [mN m]"), rows),)

    # ------------------------------------------------------------------ models that were saved, and files

    def losses(self, model: Model) -> tuple[str, ...]:
        """Message that the robot files do not contain the tool."""
        return ("the tool is in model.toml only: it is attached to the sensor and is not a link of the robot",)

    @classmethod
    def remembers(cls, model: Model) -> bool:
        """Whether a model describes a tool on a force/torque sensor."""
        return isinstance(model, WrenchModel)

    @classmethod
    def predict_logs(
        cls, model: Model, logs: LogLike | Sequence[LogLike], reading: LogReading
    ) -> tuple[PredictedWrench, ...]:
        """Predicted wrenches of other files."""
        assert isinstance(model, WrenchModel)  # `remembers` no other
        return predict_wrenches(model, logs, reading)

    @classmethod
    def file_names(cls, campaign: Campaign) -> tuple[str, ...]:
        """Names of the C files that compensate the tool."""
        return FILES

    def write_files(self, model: Model, draft: Path, out: Path) -> tuple[Note, ...]:
        """Write C code that compensates the tool, with its self-test; the note has its operation counts."""
        assert isinstance(model, WrenchModel)  # made by this kind
        tool = model.tool
        load = ToolLoad(tool.load, tool.mount.axes, tool.mount.acceleration, tool.mount.sign)
        files, counts = tool_wrench_files(load)
        for name, text in files.items():
            write_file(draft / name, text)
        told = ", ".join(f"{name} {n.multiplications} M {n.additions} A" for name, n in counts.items())
        return (Note("info", FILES[1], f"multiplications and additions: {told}; make test runs its self-test"),)

    def __repr__(self) -> str:
        return (
            f"<WrenchProblem of '{clipped(self.campaign.robot.name, 40)}': "
            f"{plural(len(self.poses), 'pose')}, {plural(len(self.names), 'unknown')}>"
        )


def _of(estimate: Estimate) -> WrenchEstimate:
    assert isinstance(estimate, WrenchEstimate)  # `settled` refuses others
    return estimate


def _refuse_others(campaign: Campaign) -> None:
    """Raise an error for options of a campaign that a fit of wrenches would ignore."""
    refuse_estimators(campaign.estimator)
    for name in NO_PART:
        if getattr(campaign, name) != option_of(Campaign, name).default:
            raise InputError(f"{name} does not apply to a fit of wrenches; remove it from the campaign")
