"""Payload identification, and drive gains from a known payload: from a campaign or a model, and logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import Tell, prepare_campaign, refuse_unknown_gains, silent
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.build import linear_of, with_delay
from minertia.identification.evidence.verdict import grade_sentence
from minertia.identification.loads.gains import DriveGains, drive_gains
from minertia.identification.loads.load import Load
from minertia.identification.loads.payload import KnownRobot, Payload, payload_beside, payload_on
from minertia.identification.logs.drive import ASSUMED, gain_uncertainty
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.model import IdentifiedModel, Model, with_efforts
from minertia.identification.model_file import is_model_file, joints_alone, read_model
from minertia.identification.problem.linear import LinearModel
from minertia.identification.remembered import campaign_like
from minertia.io.errors import InputError, expected
from minertia.robot.flange import find_flange, load_frame

Array = NDArray[np.float64]


def identify_payload(
    unloaded: Campaign | Model | str | Path,
    loaded: LogLike | Sequence[LogLike],
    *,
    at: str | None = None,
    columns: ColumnMap | str | Path | None = None,
    physical: bool = True,
    flange: str | Sequence[float] | None = None,
    tell: Tell = silent,
) -> Payload:
    """Identify the payload of some logs, relative to the robot in the unloaded logs or model.

    unloaded: a campaign of logs without the payload, or an identified model or its file.  at: link or frame
    in which the payload is given; default: the frame of the last link (or the flange, if that is on another
    link, as with a multi-fingered hand).  columns: column map of the loaded logs, if it differs from that of
    the model.  physical: make the result physically consistent.  flange: the frame of the fields for
    controllers, if the file does not name it as one (tool0, flange ...): its name, or x, y, z [m] and roll,
    pitch, yaw [rad] in the frame `at`.
    """
    known = unloaded if isinstance(unloaded, Campaign) else _whole_model(unloaded)
    at = load_frame(known.robot, flange if at is None and isinstance(flange, str) else at)
    stated = None if flange is None else find_flange(known.robot, at, flange)
    found = _identified_load(known, loaded, at, columns, physical, tell)
    return found if stated is None else replace(found, flange=stated)


def _identified_load(
    unloaded: Campaign | IdentifiedModel,
    loaded: LogLike | Sequence[LogLike],
    at: str | None,
    columns: ColumnMap | str | Path | None,
    physical: bool,
    tell: Tell,
) -> Payload:
    if isinstance(unloaded, IdentifiedModel):
        model = unloaded
        campaign, logs = _prepared(campaign_like(model, (), columns), (), loaded, tell)
        refuse_unknown_gains(campaign, logs)
        known = KnownRobot(model.linear, model.beta, model.covariance)
        drive = campaign.map.drive
        motions = list(logs)
        found = payload_on(known, motions, at=at, physical=physical, gains=_uncertain(drive, model.linear))
        doubt = grade_sentence(model.evidence.get("verdict", {}))
        return _told(found, drive, logs, (f"of the empty robot, {doubt}",) if doubt else ())
    count = len(unloaded.train)
    campaign = with_delay(replace(unloaded, filter=replace(unloaded.filter, equations="torque")), tell)
    campaign, logs = _prepared(campaign, campaign.train, loaded, tell)
    refuse_unknown_gains(campaign, logs)
    motions = list(logs)
    drive, empty, full = campaign.map.drive, motions[:count], motions[count:]
    linear = linear_of(campaign)
    gains = _uncertain(drive, linear)
    found = payload_beside(linear, empty, full, at=at, physical=physical, gains=gains)
    return _told(found, drive, logs)


def _uncertain(drive: Drive, linear: LinearModel) -> Array | None:
    """Relative standard deviations of the gains of the fitted efforts; zero for those of a floating base."""
    found = gain_uncertainty(drive)
    if found is None:
        return None
    return np.concatenate([np.zeros(6 * linear.robot.is_floating), found])[list(linear.rows)]


def _told(found: Payload, drive: Drive, logs: tuple[EffortLog, ...], doubts: tuple[str, ...] = ()) -> Payload:
    """Payload with its logs, and a warning if its standard deviations depend on assumed gain uncertainty.

    doubts: warnings on the model of the robot without payload.
    """
    cautions = found.cautions + doubts
    if drive.gains is not None and drive.gain_deviations is None:
        cautions += (
            f"the drive gains are given without standard deviations; {100 * ASSUMED:g} % of each gain is assumed "
            "and included in these standard deviations (set [drive] gain_deviations)",
        )
    return replace(found, logs=logs, cautions=cautions)


def identify_gains(
    unloaded: Campaign, loaded: LogLike | Sequence[LogLike], load: Load, *, tell: Tell = silent
) -> DriveGains:
    """Identify drive gains from logs without and with a known payload, efforts as logged.

    Gains in the campaign's columns are ignored.
    """
    expected(unloaded, Campaign, "the campaign", "read_campaign")
    drive = replace(unloaded.map.drive, gains=None, gain_deviations=None)
    campaign = replace(unloaded, columns=replace(unloaded.map, drive=drive))
    count = len(campaign.train)
    campaign, logs = _prepared(campaign, campaign.train, loaded, tell)
    motions = list(logs)
    return replace(drive_gains(linear_of(campaign), motions[:count], motions[count:], load), logs=logs)


def _prepared(campaign: Campaign, unloaded: Any, loaded: Any, tell: Tell) -> tuple[Campaign, tuple[EffortLog, ...]]:
    """Read and filter all logs with the same settings, unloaded logs first, for torque equations."""
    campaign = replace(campaign, filter=replace(campaign.filter, equations="torque"))
    with_load = replace(campaign, train=loaded, validate=()).train
    ready = prepare_campaign(replace(campaign, train=(*unloaded, *with_load), validate=()), tell)
    return ready.campaign, ready.train


def _whole_model(given: Model | str | Path) -> IdentifiedModel:
    if not isinstance(given, Model) and not (isinstance(given, str | Path) and is_model_file(given)):
        raise InputError(
            f"'{given}' is not an identified model; give a model.toml, or a campaign whose logs have no payload"
        )
    model = joints_alone(with_efforts(given if isinstance(given, Model) else read_model(given), "a load"))
    if len(model.linear.rows) != model.robot.n_velocity:
        raise InputError("the model was identified from some of the joints only; a payload needs a model of all joints")
    return model
