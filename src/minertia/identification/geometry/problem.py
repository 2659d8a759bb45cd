"""`GeometryProblem`: measurements of the tool at postures, and corrections of frames and joints that explain them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from minertia.algebra.show import text
from minertia.identification.campaigns.campaign import Campaign, Log, LogLike
from minertia.identification.campaigns.options import LEVELS, CalibrationOptions
from minertia.identification.campaigns.prepare import PreparedCampaign, Tell
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.intervals import NORMAL
from minertia.identification.evidence.measure import GEOMETRY, Measure
from minertia.identification.evidence.parameters import PRIOR, ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.geometry.chain import Chain, chain_of
from minertia.identification.geometry.choice import groups_of
from minertia.identification.geometry.errors import ReadingResiduals, error_arrows, output_names
from minertia.identification.geometry.files import ZEROS, corrected_files, write_corrected, zeros_table
from minertia.identification.geometry.fit import FREE
from minertia.identification.geometry.folds import GeometryRows, without_groups
from minertia.identification.geometry.joints import joint_columns
from minertia.identification.geometry.judging import geometry_evidence, residuals_at
from minertia.identification.geometry.layout import GeometryLayout
from minertia.identification.geometry.measures import SHOWN, told
from minertia.identification.geometry.model import CalibratedModel, geometry_record, like, pose_matrix
from minertia.identification.geometry.predict import MeasuredLog, PredictedReadings, predict_readings, read_logs
from minertia.identification.geometry.solve import GeometryEstimate, refuse_estimators, solve_geometry
from minertia.identification.kind import LogReading, ModelFacts, Problem, Section
from minertia.identification.logs.recording import Recording
from minertia.identification.model import Model
from minertia.io.errors import InputError, expected
from minertia.io.files import write_file
from minertia.io.notebook import clipped, plural
from minertia.io.resources import one_thread
from minertia.io.schema import option_of
from minertia.robot.corrections import SHAPES
from minertia.robot.robot import Note

FEWEST = 4  # postures
DIGITS = 6  # of a position [rad, m] by which postures differ
NO_PART = ("effects", "fix", "prior", "joints")  # options of a campaign that a calibration has no use for


@dataclass(frozen=True, repr=False)
class GeometryProblem(Problem):
    """Readings of the tool at postures, and the candidate corrections.

    rows_of_tool: the readings with all corrections of joint positions.  levels: levels of correction, as
    requested or as selected by a fit.
    """

    kind: ClassVar[str] = "geometry"
    measure: ClassVar[Measure] = GEOMETRY
    has_efforts: ClassVar[bool] = False
    title: ClassVar[str] = "Calibration"
    ladder = None
    campaign: Campaign
    logs: tuple[MeasuredLog, ...]
    unseen: tuple[MeasuredLog, ...]
    rows_of_tool: GeometryRows = field(repr=False)
    levels: tuple[str, ...]

    @classmethod
    def build(cls, campaign: Campaign | PreparedCampaign, tell: Tell) -> GeometryProblem:
        """Read the measurements, and determine the corrections to be fitted."""
        assert isinstance(campaign, Campaign)  # see `KINDS`
        _refuse_others(campaign)
        options = campaign.calibration or CalibrationOptions()
        chain = chain_of(campaign.robot, options.tip, options.root)
        tell("reading measurements")
        fitted = read_logs(campaign, campaign.train, chain)
        known = fitted.measurements.fixed
        unseen = tuple(read_logs(campaign, [log], chain, known) for log in campaign.validate)
        _refuse_postures(chain, fitted)
        levels = tuple(LEVELS) if options.levels is None else tuple(options.levels)
        return cls(replace(campaign, calibration=options), (fitted,), unseen, _rows(chain, fitted, levels), levels)

    @property
    def chain(self) -> Chain:
        """Kinematic chain from root to tip."""
        return self.rows_of_tool.chain

    @property
    def options(self) -> CalibrationOptions:
        """Calibration options of the campaign."""
        assert self.campaign.calibration is not None  # `build` states it
        return self.campaign.calibration

    @cached_property
    def layout(self) -> GeometryLayout:
        """Layout of all unknowns at the fitted postures."""
        return self.rows_of_tool.layout(groups_of(self.levels))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns: corrections, base and tool."""
        of = np.isin(self.layout.groups, [*FREE, *groups_of(self.levels)])
        return tuple(name for name, inside in zip(self.layout.columns, of, strict=True) if inside)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the error components of each target."""
        return output_names(self.rows_of_tool.postures.measures)

    @classmethod
    def recording(cls, campaign: Campaign, log: Log) -> Recording:
        """Raise an error, as postures are not a motion."""
        raise cls.refused(
            "time series to check",
            "use identify, which counts missing readings and tries other interpretations of the columns",
        )

    def file_values(self) -> dict[str, float]:
        """Return an empty dict, as a robot file contains no corrections."""
        return {}

    def entry(self, value: ParameterEvidence) -> dict[str, Any]:
        """Entry of a correction in the parameter list, with its relation, unit and group."""
        group = self._groups[value.name]
        return {
            "name": value.name,
            "value": value.value,
            "deviation": value.deviation,
            "relative_deviation": value.relative_deviation,
            "interval": list(value.interval),
            "class": value.kind,
            "relation": self._relations[value.name],
            "unit": self.layout.units[value.name],
            "group": group,
        }

    @cached_property
    def _groups(self) -> dict[str, str]:
        return dict(zip(self.layout.columns, self.layout.groups.tolist(), strict=True))

    @cached_property
    def _relations(self) -> dict[str, str]:
        """Meaning of each correction: its symbolic relation, or a description for those of joint positions."""
        kept = self.layout.kept
        return dict(zip(kept.columns, (text(form) for form in kept.forms), strict=True)) | {
            c.name: c.words for c in self.layout.joint_columns
        }

    # ------------------------------------------------------------------ what the verbs ask

    def solve(self, estimator: str | Estimator | None, tell: Tell) -> GeometryEstimate:
        """Estimate the corrections of the requested levels, or of levels selected on held-out regions."""
        refuse_estimators(self.campaign.estimator if estimator is None else estimator)
        with one_thread():
            return solve_geometry(self.rows_of_tool, self.options, tell)

    def settled(self, estimate: Estimate) -> GeometryProblem:
        """Problem with the selected levels."""
        expected(estimate, GeometryEstimate, "the estimate of a fit of geometry", "solve")
        return replace(self, levels=_of(estimate).choice.levels)

    def evidence(self, estimate: Estimate, tell: Tell) -> Evidence:
        """Evidence: residuals of readings, of held-out regions, and with joint zeros alone."""
        unseen = [(log.name, like(self.rows_of_tool, log.measurements)) for log in self.unseen]
        return geometry_evidence(self.rows_of_tool, unseen, _of(estimate))

    def predicted(self, estimate: Estimate, log: MeasuredLog, residuals: Residuals) -> PredictedReadings:
        """Readings of a log with their errors at the estimate."""
        rows, found = like(self.rows_of_tool, log.measurements), _of(estimate)
        left, nominal = rows.misses(found.geometry), rows.misses(found.nominal)
        layout = rows.layout([c.group for c in found.geometry.layout.joint_columns])
        drawn = error_arrows(layout, without_groups(found.geometry).state, nominal, left)
        return PredictedReadings(log, residuals, left, nominal, drawn)

    def model(self, estimate: Estimate, evidence: Evidence, facts: ModelFacts, *, physical: bool) -> CalibratedModel:
        """Calibrated model: the corrected robot, and the corrections of joint positions."""
        found = _of(estimate)
        own = [estimate.names.index(value.name) for value in evidence.parameters]
        record = self._geometry(found)
        return CalibratedModel(
            self.campaign.robot,
            tuple(estimate.names[k] for k in own),
            estimate.beta[own],
            estimate.covariance[np.ix_(own, own)],
            facts.parameters,
            record,
            facts.evidence,
            facts.campaign,
        )

    def _geometry(self, found: GeometryEstimate) -> dict[str, Any]:
        """Fit as plain data, with the ordered names of fixed points, planes and marks."""
        options, names = self.options, self.logs[0].measurements.fixed
        made = geometry_record(
            self.chain, found.geometry, found.nominal, options.root, zeros_in_file=options.zeros == "file"
        )
        return made | {"fixed": {name: list(own) for name, own in names.items()}}

    def record(self, estimate: Estimate, evidence: Evidence) -> dict[str, Any]:
        """Entries of the result: corrections with their relations, base, tool, noise, levels and certificate."""
        found = _of(estimate)
        made = self._geometry(found)
        return {
            "tip": self.chain.tip,
            "joints": list(self.chain.names),
            "levels": list(found.choice.levels),
            "count": found.shown.count,
            "shown_here": found.shown.here,
            "parameters": [self._told(value) for value in evidence.parameters],
            "base": pose_matrix(made["base"]).tolist(),
            "points": made["points"],
            "zeros": made["zeros"],
            "noise": {"readings": found.spread.rows, "joints": found.spread.joints},
            "prior": dict(found.geometry.sizes.groups),
            "levels_tried": [
                {"levels": list(levels), "rms": left.rms, "by_region": left.by_region.tolist()}
                for levels, left in found.choice.tried
            ],
            "certificate": found.shown.to_dict(),
            "notes": [note for log in (*self.logs, *self.unseen) for note in log.measurements.notes],
        }

    def _told(self, value: ParameterEvidence) -> dict[str, Any]:
        entry = self.entry(value)
        more = {"stands_for": entry.pop("relation"), "decided_by_prior": value.kind == PRIOR}
        return {**entry, **value.to_dict(), **more}

    def sections(self, estimate: Estimate) -> tuple[Section, ...]:
        """Report sections: errors, noise, and the number of parameters identifiable at these postures."""
        found, shown = _of(estimate), _of(estimate).shown
        noise = ", ".join(told(size, unit) for unit, size in found.spread.rows.items())
        levels = ", ".join(found.choice.levels) or "none"
        sentences = [
            f"corrections: {levels}; {shown.count} parameters are identifiable in general, {shown.here} from these "
            "postures",
            f"noise: readings {noise}, joints {told(found.spread.joints, 'rad')}",
            *_compliance(found),
        ]
        logs = [("fitted", self.rows_of_tool)]
        logs += [(log.name, like(self.rows_of_tool, log.measurements)) for log in self.unseen]
        rows = tuple(_error_row(residuals_at(name, own, found)) for name, own in logs)
        unit = SHOWN[self.rows_of_tool.postures.measures[0].unit][0]
        headers = ("readings", "number", "rms", "median", "95 %", "largest", "base and tool", "zeros")
        errors = Section(f"Errors of readings [{unit}]", tuple(sentences), headers, rows)
        zeros = self._geometry(found)["zeros"]
        if not zeros:
            return (errors,)
        told_zeros = tuple((name, f"{zero:.8g}") for name, zero in zeros.items())
        about = ("these are added to encoder readings by the controller, and are not in the corrected robot",)
        return errors, Section("Zeros for the controller [rad, m]", about, ("joint", "add to reading"), told_zeros)

    # ------------------------------------------------------------------ models that were saved, and files

    def losses(self, model: Model) -> tuple[str, ...]:
        """Message on corrections of joint positions, which robot files cannot represent."""
        lost = [c.name for c in self.layout.joint_columns]
        if not lost:
            return ()
        return (
            (
                f"{plural(len(lost), 'correction')} of joint positions are in model.toml only: robot files cannot "
                "represent them"
            ),
        )

    @classmethod
    def remembers(cls, model: Model) -> bool:
        """Whether a model has corrected geometry."""
        return isinstance(model, CalibratedModel)

    @classmethod
    def predict_logs(
        cls, model: Model, logs: LogLike | Sequence[LogLike], reading: LogReading
    ) -> tuple[PredictedReadings, ...]:
        """Predict the readings of other files."""
        assert isinstance(model, CalibratedModel)  # `remembers` no other
        return predict_readings(model, logs, reading)

    @classmethod
    def file_names(cls, campaign: Campaign) -> tuple[str, ...]:
        """Names of the files of the corrected robot."""
        options = campaign.calibration or CalibrationOptions()
        return (*corrected_files(campaign.robot), *((ZEROS,) if options.zeros == "controller" else ()))

    def write_files(self, model: Model, draft: Path, out: Path) -> tuple[Note, ...]:
        """Write the corrected robot as TOML, and in the format of its own file."""
        assert isinstance(model, CalibratedModel)  # `model` makes no other
        if self.options.zeros == "controller":
            write_file(draft / ZEROS, zeros_table(model.nominal, model.geometry["zeros"]))
        return write_corrected(model.nominal, model.robot, draft)

    def __repr__(self) -> str:
        return (
            f"<GeometryProblem of '{clipped(self.campaign.robot.name, 40)}': "
            f"{plural(self.rows_of_tool.postures.count, 'posture')}, {plural(len(self.names), 'unknown')}>"
        )


def _of(estimate: Estimate) -> GeometryEstimate:
    assert isinstance(estimate, GeometryEstimate)  # `settled` refuses others
    return estimate


def _compliance(found: GeometryEstimate) -> Iterator[str]:
    """Compliances of joints with their intervals, where masses are known."""
    told = []
    for column in found.geometry.layout.joint_columns:
        if column.group == "compliance":
            k = found.names.index(column.name)
            value, half = found.beta[k] / column.size, NORMAL * found.deviation[k] / column.size
            unit = "rad/(N m)" if found.geometry.layout.chain.is_hinge[column.joint] else "m/N"
            told.append(f"{found.geometry.layout.chain.names[column.joint]} {value:.3g} +- {half:.1g} {unit}")
    if told:
        yield f"compliances of joints under gravity: {', '.join(told)}"


def _rows(chain: Chain, log: MeasuredLog, levels: Sequence[str]) -> GeometryRows:
    """Readings with the joint corrections of some levels."""
    m, gravity = log.measurements, np.array(chain.robot.gravity, float)
    columns = joint_columns(chain, [g for level in levels for g in LEVELS[level] if g in SHAPES], m.postures.q, gravity)
    return GeometryRows(chain, m.postures, tuple(columns), m.places)


def _refuse_others(campaign: Campaign) -> None:
    """Raise an error for campaign options that a calibration would ignore."""
    refuse_estimators(campaign.estimator)
    for name in NO_PART:
        if getattr(campaign, name) != option_of(Campaign, name).default:
            raise InputError(
                f"{name} does not apply to a calibration; remove it from the campaign (a calibration has levels)"
            )


def _refuse_postures(chain: Chain, log: MeasuredLog) -> None:
    postures = log.measurements.postures
    distinct = len(np.unique(np.round(postures.q[:, chain.coordinates], DIGITS), axis=0))
    if distinct < min(FEWEST, postures.count):
        raise InputError(
            f"the {postures.count} rows of {log.name} have only {plural(distinct, 'posture')}, measured "
            f"repeatedly; a calibration needs at least {FEWEST} different postures"
        )
    if postures.count < FEWEST:
        raise InputError(f"{postures.count} postures are too few; a calibration needs at least {FEWEST}")


def _error_row(e: ReadingResiduals) -> tuple[str | float, ...]:
    factor = SHOWN[e.unit][1]
    figures = (e.rms, e.median, e.p95, e.max, e.nominal_rms, e.zeros_rms)
    return (e.log, str(e.count), *("" if f is None else f"{factor * f:.3g}" for f in figures))
