"""Alternative set-ups of a floating base: inertial unit, contact forces and flags that explain a log far better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.floating import (
    FloatingSignals,
    attitudes,
    contact_findings,
    contact_force,
    expanded,
    floating_motion,
    positions,
    read_signals,
    settled_floating,
    usual_cutoff,
)
from minertia.identification.campaigns.options import ContactOptions
from minertia.identification.efforts.build import EffortRows
from minertia.identification.efforts.inertial import Inertial, inertial_fault
from minertia.identification.efforts.sensor_setups import right_angle_turns
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.evidence.thresholds import EFFORT_WRONG, FLOATING_BETTER, FLOATING_WRONG
from minertia.identification.logs.recording import even_rate
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.rows import projected
from minertia.identification.signals.filtering import Motion
from minertia.io.errors import MinertiaError

TRIED_S = 8.0  # s of the log on which set-ups are compared
SHIFTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)  # s by which contacts are tried, either way
ATTITUDE = "xyzw"
SETUP = "set-up"  # check of inertial unit and contact forces
Reading = tuple[str, Campaign, FloatingSignals]


def floating_faults(problem: EffortRows, training: Residuals) -> tuple[str, ...]:
    """Sentences on the set-up of a floating base, from the first training log; training: residuals of the fit."""
    campaign = problem.campaign
    if not campaign.robot.is_floating or not campaign.train or campaign.train[0].file is None:
        return ()
    signals = read_signals(campaign, campaign.train[0])
    fault = _inertial(campaign, signals) or _reversed_forces(campaign, signals)
    is_poor = training.relative > FLOATING_WRONG or max(training.joint_relative) > EFFORT_WRONG
    if fault is None and is_poor:
        fault = _better_reading(campaign, problem.linear, _beginning(signals))
    return () if fault is None else (fault,)


def floating_findings(campaign: Campaign, file: Path) -> tuple[Finding, ...]:
    """Findings on inertial unit and contacts of one log of a floating base, without a fit."""
    asked = settled_floating(campaign)
    signals = read_signals(asked, Log(file))
    fault = _inertial(asked, signals) or _reversed_forces(asked, signals)
    own = () if fault is None else (Finding("error", SETUP, fault),)
    return (*own, *contact_findings(asked, signals))


def _beginning(signals: FloatingSignals) -> FloatingSignals:
    start = float(signals.log.t[0])
    return replace(signals, log=signals.log.between(None, start + TRIED_S))


def _inertial(campaign: Campaign, signals: FloatingSignals) -> str | None:
    base, attitude = campaign.floating, expanded(campaign.floating.attitude, ATTITUDE)
    given = Inertial(
        signals.of(expanded(base.gyro)),
        signals.of(expanded(base.accelerometer)),
        signals.of(attitude) if attitude[0] in signals.places else None,
        even_rate(signals.log),
        float(np.linalg.norm(np.array(campaign.robot.gravity, float))),
    )
    return inertial_fault(given, (base.gyro, base.accelerometer, base.attitude))


def _reversed_forces(campaign: Campaign, signals: FloatingSignals) -> str | None:
    """Message on measured forces that act downwards: the mass that they carry is negative."""
    if not campaign.contacts or any(not contact.force for contact in campaign.contacts):
        return None
    R, q = attitudes(campaign, signals), positions(signals.joints)
    forces = [contact_force(one, signals, R, q, campaign.robot) for one in campaign.contacts]
    total = np.sum([own[:, :3] for own in forces if own is not None], axis=0)
    a = signals.of(expanded(campaign.floating.accelerometer))
    mass = float(np.sum(total * a) / np.sum(a * a))
    if mass > 0:
        return None
    return (
        f"the contact forces carry a mass of {mass:.3g} kg: they seem to be those on the floor; log the forces on the "
        "robot, which point upwards"
    )


def _better_reading(campaign: Campaign, model: LinearModel, signals: FloatingSignals) -> str | None:
    """Message on the reading that leaves far less than the stated one."""
    rate = even_rate(signals.log)
    found = []
    for text, asked, own in _readings(campaign, signals, rate):
        cutoff = campaign.filter.cutoff_hz or usual_cutoff(asked, own, rate)
        try:
            left = _left(model, floating_motion(asked, own, cutoff, rate))
        except MinertiaError:
            left = np.inf
        found.append((left, text))
    (stated, _), (best, text) = found[0], min(found)
    if best < FLOATING_BETTER * stated:
        return f"{text}: the relative residual is then {best:.1%} instead of {stated:.1%}"
    return None


def _left(model: LinearModel, motion: Motion) -> float:
    """Residual of a least-squares fit of a motion, relative to its efforts, each effort weighted by its size."""
    Y = projected(model, motion, model.columns(motion.q, motion.qd, motion.qdd))
    tau = np.asarray(motion.tau)[:, list(model.rows)]
    if len(tau) * tau.shape[1] < 2 * Y.shape[2]:
        return np.inf
    size = np.maximum(np.sqrt(np.mean(tau**2, axis=0)), 1e-12)
    A, right = (Y / size[:, None]).reshape(-1, Y.shape[2]), (tau / size).ravel()
    x = np.linalg.lstsq(A, right, rcond=1e-9)[0]
    return float(np.linalg.norm(A @ x - right) / np.linalg.norm(right))


def _readings(campaign: Campaign, signals: FloatingSignals, rate: float) -> Iterator[Reading]:
    """Readings of a log with their messages, the stated one first."""
    yield "", campaign, signals
    yield from _other_axes(campaign, signals)
    yield from _exchanged(campaign, signals)
    yield from _shifted(campaign, signals, rate)
    yield from _turned(campaign, signals)


def _other_axes(campaign: Campaign, signals: FloatingSignals) -> Iterator[Reading]:
    stated = {contact.axes for contact in campaign.contacts if contact.force}
    for axes in ("world", "base", "frame"):
        if stated and stated != {axes} and not (axes == "world" and not _has_attitude(campaign, signals)):
            contacts = tuple(replace(contact, axes=axes) for contact in campaign.contacts)
            text = f'the contact forces seem to be in other axes (axes = "{axes}" in [[contact]])'
            yield text, replace(campaign, contacts=contacts), signals


def _has_attitude(campaign: Campaign, signals: FloatingSignals) -> bool:
    return expanded(campaign.floating.attitude, ATTITUDE)[0] in signals.places


def _exchanged(campaign: Campaign, signals: FloatingSignals) -> Iterator[Reading]:
    """Each two contacts with exchanged columns."""
    for a, b in combinations(range(len(campaign.contacts)), 2):
        contacts = list(campaign.contacts)
        one, other = contacts[a], contacts[b]
        contacts[a], contacts[b] = _with_columns_of(one, other), _with_columns_of(other, one)
        text = f"the columns of contacts '{one.name}' and '{other.name}' seem exchanged"
        yield text, replace(campaign, contacts=tuple(contacts)), signals


def _with_columns_of(contact: ContactOptions, other: ContactOptions) -> ContactOptions:
    return replace(contact, active=other.active, force=other.force, moment=other.moment)


def _shifted(campaign: Campaign, signals: FloatingSignals, rate: float) -> Iterator[Reading]:
    """Flags or forces of the contacts shifted in time."""
    columns = [signals.places[name] for contact in campaign.contacts for name in _columns(contact)]
    for shift in (sign * own for own in SHIFTS for sign in (1, -1)) if columns else ():
        whole = np.array(signals.log.q)
        whole[:, columns] = np.roll(whole[:, columns], -round(shift * rate), axis=0)
        text = f"the contacts seem to be logged {abs(shift):.2g} s {'late' if shift > 0 else 'early'}"
        yield text, campaign, replace(signals, log=replace(signals.log, q=whole))


def _columns(contact: ContactOptions) -> tuple[str, ...]:
    flags = (contact.active,) if contact.active not in ("", "always") else ()
    return (*flags, *(name for given in (contact.force, contact.moment) if given for name in expanded(given)))


def _turned(campaign: Campaign, signals: FloatingSignals) -> Iterator[Reading]:
    """Inertial unit and attitude in other axes of the base."""
    from scipy.spatial.transform import Rotation  # here: it takes long to load

    base = campaign.floating
    attitude = [signals.places[name] for name in expanded(base.attitude, ATTITUDE) if name in signals.places]
    for R in right_angle_turns()[1:]:
        whole = np.array(signals.log.q)
        for template in (base.gyro, base.accelerometer):
            own = [signals.places[name] for name in expanded(template)]
            whole[:, own] = whole[:, own] @ R.T
        if attitude:
            whole[:, attitude] = (Rotation.from_quat(whole[:, attitude]) * Rotation.from_matrix(R.T)).as_quat()
        axes = ", ".join(f"{'-' if row.min() < 0 else ''}{'xyz'[int(np.argmax(np.abs(row)))]}" for row in R)
        text = f"the base of the log seems to have other axes (x, y, z of the robot's base are {axes} of the log)"
        yield text, campaign, replace(signals, log=replace(signals.log, q=whole))
