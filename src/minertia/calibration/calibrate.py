"""`calibrate`: estimate corrected geometry with confidence intervals and a verdict from measurement files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import CalibrationOptions, MeasureColumns
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.identify import Identification, identify
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import InputError
from minertia.robot.files import RobotLike, as_robot

Files = Sequence[str | Path] | str | Path


def calibrate(
    robot: RobotLike | Campaign,
    measurements: Files = (),
    validate: Files = (),
    columns: ColumnMap | str | Path | None = None,
    measures: Sequence[MeasureColumns] = (),
    options: CalibrationOptions | None = None,
    *,
    tell: Tell = silent,
) -> Identification:
    """Calibrate a robot's geometry from measurements of its tool, or run a calibration `Campaign`.

    measurements, validate: measurement files (one row per posture), for the fit and for validation.  columns:
    names of the joint columns, and units, or the path of a TOML file that specifies these and the measures.
    measures: measured quantities; by default those of that file, else inferred from the header.  options: which
    corrections are estimated, and between which frames.  tell: called with a message at each step.  The
    calibrated robot is `result.model().robot`.
    """
    if isinstance(robot, Campaign):
        if measurements:
            raise InputError(
                "the campaign already names the robot and the files; give either a campaign, or a robot and files"
            )
        given = options or robot.calibration or CalibrationOptions()
        return identify(replace(robot, calibration=given), validate=validate, tell=tell)
    campaign = Campaign(
        as_robot(robot),
        measurements,  # type: ignore[arg-type]
        validate,  # type: ignore[arg-type]
        columns=columns,
        measures=tuple(measures),
        calibration=options or CalibrationOptions(),
    )
    return identify(campaign, tell=tell)
