"""Logs of a floating base: joints, inertial measurement unit and contacts as motion with generalised efforts.

The equations depend on the motion of the base only through its angular velocity and acceleration and the
specific force at its origin, which gyroscope and accelerometer measure.  So the attitude of the base is
held constant, and its acceleration is the specific force plus gravity.  Measured contact forces are
efforts J' f of all coordinates. Forces that are not measured are removed by projection on the null space
of the contact Jacobian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import forward_kinematics, jacobian
from minertia.dynamics.options import ChosenFrame
from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.options import ContactOptions, FloatingOptions
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.evidence.log_noise import white_noise
from minertia.identification.logs.readers import open_log, read_recording
from minertia.identification.logs.recording import Recording, even_rate
from minertia.identification.logs.repair import repaired
from minertia.identification.problem.terms import DEFAULT_EFFECTS
from minertia.identification.signals.filtering import EDGE, Motion, low_pass, rate_of_change
from minertia.identification.signals.spectrum import HIGHEST
from minertia.io.arrays import Array
from minertia.io.errors import CampaignError, RecordingError
from minertia.robot.robot import Robot

AXES = "xyz"
CUTOFFS = (
    10.0,
    14.0,
    20.0,
)  # Hz: legs move below 4 Hz; the spectrum of their positions has impacts, which are left out
CALM = 0.5  # part of the samples away from changes of contacts that a cut-off must leave, else the next is taken
IMPACT = 0.05  # s around a change of contacts that are left out, or a period of the cut-off
TOUCHES = 5.0  # N: a measured force above which a contact without a flag is one
SAMPLING = 2.5  # samples kept per period of the cut-off: noise below it is then nearly white
USUAL_MASS, USUAL_SIZE = 10.0, 0.2  # kg, m: of a robot whose file has no masses, to weigh base against joint rows
STANDS = 0.02  # rad/s: slower joints stick; slides: at the usual size
RANK = 1e-6  # singular value of the contact Jacobian, over the largest, below which contacts are redundant
SLOWEST = 0.05  # s: a period of the highest cut-off; sensors slower than that do not follow legs
JOLT = 6.0  # medians of the accelerometer above the cut-off; white noise never exceeds 4
ALWAYS = "always"
PLANTED = "planted"  # check of contacts that never lift
FOUND = "contacts"  # check of contacts found from heights
CLEAR = 0.005  # m: a contact too many costs samples, one too few spoils them; attitudes err by millimetres at a foot


def settled_floating(campaign: Campaign) -> Campaign:
    """Campaign with rows and effects of a floating base chosen; base rows alone are given no joint effects."""
    if not campaign.robot.is_floating:
        if campaign.contacts:
            raise CampaignError('contacts are those of a floating base; set base = "floating", or remove [[contact]]')
        return campaign
    base = campaign.floating
    if base.rows is None:
        has_forces = bool(campaign.contacts) and all(contact.force for contact in campaign.contacts)
        base = replace(base, rows="all" if has_forces else "projected" if campaign.contacts else "joints")
    _refuse(campaign, str(base.rows))
    effects = campaign.effects
    if effects is None:
        effects = () if base.rows == "base" else tuple(DEFAULT_EFFECTS)
    return replace(campaign, floating=base, effects=effects)


def _refuse(campaign: Campaign, rows: str) -> None:
    """Raise an error if required contact forces are not measured, or if a contact is missing."""
    without = [contact.name for contact in campaign.contacts if not contact.force]
    if rows in ("base", "all") and (without or not campaign.contacts):
        what = f"contact '{without[0]}' has none" if without else "there is no [[contact]]"
        raise CampaignError(
            f'rows = "{rows}" needs contact forces, but {what}; name the columns with force, or set rows = "projected"'
        )
    if rows == "projected" and not campaign.contacts:
        raise CampaignError(
            'rows = "projected" needs contacts; add a [[contact]] for each foot, or set rows = "joints"'
        )


def floating_log(campaign: Campaign, log: Log) -> EffortLog:
    """Log of a floating base for fit and evaluation: motion of all coordinates, without changes of contact."""
    signals = read_signals(campaign, log)
    rate = even_rate(signals.log)
    cutoff = campaign.filter.cutoff_hz or usual_cutoff(campaign, signals, rate)
    motion = floating_motion(campaign, signals, cutoff, rate)
    given = EffortLog.given(replace(log, source=motion, title=log.name, start=None, stop=None))
    return replace(given, findings=contact_findings(campaign, signals))


def usual_cutoff(campaign: Campaign, signals: FloatingSignals, rate: float) -> float:
    """Default cut-off [Hz]: lower ones amplify less noise, but smear impacts over more samples."""
    flags = contact_flags(campaign, signals)
    for cutoff in CUTOFFS[:-1]:
        if np.mean(is_away(flags, around(cutoff, rate))) >= CALM:
            return min(cutoff, HIGHEST * rate)
    return min(CUTOFFS[-1], HIGHEST * rate)


def contact_flags(campaign: Campaign, signals: FloatingSignals) -> NDArray[np.bool_]:
    """Flags (N, contacts) of all contacts."""
    R, q, robot = attitudes(campaign, signals), positions(signals.joints), campaign.robot
    found = [is_touching(c, signals, contact_force(c, signals, R, q, robot)) for c in campaign.contacts]
    if not found:
        return np.zeros((len(signals.log), 0), bool)
    if any(map(is_unflagged, campaign.contacts)):
        heights = np.stack([contact_height(robot, c, q, R) for c in campaign.contacts], axis=1)
        low = heights - heights.min(axis=1)[:, None] < CLEAR
        found = [low[:, k] if is_unflagged(c) else found[k] for k, c in enumerate(campaign.contacts)]
    return np.stack(found, axis=1)


def around(cutoff: float, rate: float) -> int:
    """Samples that are left out on either side of a change of contacts."""
    return round(rate * max(IMPACT, 1 / cutoff))


def jolts(campaign: Campaign, signals: FloatingSignals, cutoff: float, rate: float) -> NDArray[np.bool_]:
    """Flags (N,) of impacts, which show above the cut-off of the accelerometer."""
    a = np.ascontiguousarray(signals.of(expanded(campaign.floating.accelerometer)))
    rest = np.linalg.norm(a - low_pass(a, cutoff, rate), axis=1)
    return np.asarray(rest > JOLT * np.median(rest))


def is_unflagged(contact: ContactOptions) -> bool:
    """Whether a contact has neither flags nor forces, so that its height must tell."""
    return not (contact.active or contact.force)


def contact_height(robot: Robot, contact: ContactOptions, q: Array, R: Array) -> Array:
    """Height (N,) of the lowest point of a contact over the base's origin [m]."""
    turn, place = forward_kinematics(robot, q, contact.frame)
    point = np.asarray(place) + np.asarray(turn) @ np.array(contact.at, float)
    return np.asarray(np.einsum("ni,ni->n", point, R[:, 2]) - contact.radius)


def contact_findings(campaign: Campaign, signals: FloatingSignals) -> tuple[Finding, ...]:
    """Warnings on contacts found from heights, and on those that never lift.

    With unmeasured forces, the latter make parameters unidentifiable.
    """
    found = []
    for contact, flags in zip(campaign.contacts, contact_flags(campaign, signals).T, strict=True):
        if is_unflagged(contact):
            lifts = int(np.sum(flags[:-1] & ~flags[1:]))
            text = (
                f"{contact.name} has neither flags nor forces: within {1000 * CLEAR:g} mm of the lowest contact "
                f"it is taken to touch a level floor ({np.mean(flags):.0%} of the time, lifted {lifts} times)"
            )
            found.append(Finding("warning", FOUND, text, contact.name))
        count, hides = hidden_by(contact, is_measured=campaign.floating.rows != "projected")
        if flags.all() and count:
            text = f"{contact.name} never lifts, which hides {hides}: lift and wave it"
            found.append(Finding("warning", PLANTED, text, contact.name))
    return tuple(found)


def hidden_by(contact: ContactOptions, *, is_measured: bool) -> tuple[int, str]:
    """Number of base parameters that a contact hides while it never lifts, and their names."""
    if contact.kind == "surface" and is_measured:
        return 8, "8 values (the inertia of the foot, XX - YY and XY of the next link)"
    if contact.kind == "surface":
        return 14, "14 values (the ten of the foot, and XX, XY, XZ and YZ of the next link)"
    return (0, "") if is_measured else (1, "one value (a mass at the contact point)")


@dataclass(frozen=True)
class FloatingSignals:
    """Uniformly sampled signals of a log: joints, efforts, and the columns of base and contacts.

    n: number of joints.  places: index in `log.q` of each column, by its name.
    """

    log: Recording
    n: int
    places: dict[str, int]

    @property
    def joints(self) -> Array:
        """Joint positions (N, n)."""
        return self.log.q[:, : self.n]

    @property
    def efforts(self) -> Array:
        """Joint efforts (N, n)."""
        return self.log.q[:, self.n : 2 * self.n]

    def of(self, names: Sequence[str]) -> Array:
        """Columns of the log (N, len(names))."""
        return self.log.q[:, [self.places[name] for name in names]]


def expanded(template: str, letters: str = AXES) -> tuple[str, ...]:
    """Names of columns of a template with {k}."""
    return tuple(template.replace("{k}", letter) for letter in letters)


def wanted_columns(campaign: Campaign) -> dict[str, str]:
    """Columns of base and contacts that a log must have, each with the name of the signal it contains."""
    base = campaign.floating
    found = dict.fromkeys(expanded(base.gyro), "the gyroscope")
    found |= dict.fromkeys(expanded(base.accelerometer), "the accelerometer")
    if needs_attitude(campaign):
        found |= dict.fromkeys(expanded(base.attitude, "xyzw"), "the attitude of the base")
    for contact in campaign.contacts:
        word = f"contact '{contact.name}'"
        found |= dict.fromkeys(expanded(contact.force) if contact.force else (), f"the force of {word}")
        found |= dict.fromkeys(expanded(contact.moment) if contact.moment else (), f"the moment of {word}")
        if contact.active and contact.active != ALWAYS:
            found[contact.active] = f"the flags of {word}"
    return found


def needs_attitude(campaign: Campaign) -> bool:
    """Whether the attitude is needed: for forces in world axes, the lowest point of a round foot, or heights."""
    return any(c.radius > 0 or (c.force and c.axes == "world") or is_unflagged(c) for c in campaign.contacts)


def read_signals(campaign: Campaign, log: Log) -> FloatingSignals:
    """Joints, efforts, base and contacts of a log, uniformly sampled."""
    if log.file is None:
        raise RecordingError(f"{log.name} is a recording of joints only; a floating base needs a file or a motion")
    robot, wanted = campaign.robot.on_ground, wanted_columns(campaign)
    is_driven = campaign.floating.rows != "base"
    joints = read_recording(log.file, robot, campaign.map, effort=is_driven)
    source = open_log(log.file, campaign.map, robot)
    known = source.names()
    attitude = expanded(campaign.floating.attitude, "xyzw")
    if set(attitude) <= set(known):  # it also tells of wrong inertial units
        wanted |= dict.fromkeys(attitude, "the attitude of the base")
    for name, what in wanted.items():
        if name not in known:
            raise RecordingError(
                f"there is no column '{name}' for {what}; name it in [floating] or [[contact]]", file=log.file
            )
    blocks = list(source.blocks(frozenset(wanted), 1_000_000))
    others = np.column_stack([np.concatenate([block.columns[name] for block in blocks]) for name in wanted])
    if len(others) != len(joints):
        raise RecordingError("joint and base columns differ in length; repair the malformed rows", file=log.file)
    others = filled(others, tuple(wanted), joints.t, str(log.file))
    n = robot.n
    tau = joints.efforts() if is_driven else np.zeros_like(joints.q)
    whole = Recording(joints.t, np.concatenate([joints.q, tau, others], axis=1), source=str(log.file))
    r = campaign.repairs
    even = repaired(whole.between(log.start, log.stop), stamps=r.stamps, resample=r.resample, standstill=False)
    return FloatingSignals(even, n, {name: 2 * n + k for k, name in enumerate(wanted)})


def filled(values: Array, names: Sequence[str], t: Array, file: str) -> Array:
    """Columns (N, names) of slower sensors, interpolated where cells are empty; raises an error on longer gaps."""
    found = np.array(values)
    for k, name in enumerate(names):
        known = np.isfinite(found[:, k])
        if known.all():
            continue
        longest = float(np.diff(t[known], prepend=t[0], append=t[-1]).max()) if known.any() else float(np.ptp(t))
        if longest > SLOWEST:
            raise RecordingError(
                f"it has no values for {longest:.3g} s, longer than the {SLOWEST:g} s over which a slower sensor is "
                "interpolated; omit this part with from and to, or name another column",
                file=file,
                column=name,
            )
        found[:, k] = np.interp(t, t[known], found[known, k])
    return found


def floating_motion(campaign: Campaign, signals: FloatingSignals, cutoff: float, rate: float) -> Motion:
    """Motion of all coordinates with generalised efforts, low-passed, decimated, without changes of contact."""
    robot, base, N = campaign.robot, campaign.floating, len(signals.log)
    R = attitudes(campaign, signals)
    q = positions(signals.joints)
    forces, columns, flags = np.zeros((N, robot.n_velocity)), [], contact_flags(campaign, signals)
    forces[:, 6:] = signals.efforts
    for contact in campaign.contacts:
        J = contact_jacobian(robot, contact, q, R)
        columns.append(J)
        if base.rows != "projected":
            force = contact_force(contact, signals, R, q, robot)
            assert force is not None  # refused before
            forces += np.einsum("nij,ni->nj", J, force)
    changes = np.column_stack([flags, jolts(campaign, signals, cutoff, rate)])
    kept = kept_samples(changes, rate, cutoff, campaign.filter.trim_s)
    if len(kept) < 2 * robot.n_velocity:
        raise RecordingError(
            f"only {len(kept)} samples are farther than {max(IMPACT, 1 / cutoff):.2g} s from a change of contacts; "
            "use a longer log, or raise cutoff_hz in [filter]",
            file=signals.log.source,
        )
    q, qd, qdd, raw = _states(robot, base, signals, cutoff, rate)
    tau = low_pass(forces, cutoff, rate)[kept]
    speeds = qd[:, 6:] / [USUAL_SIZE if joint.kind == "prismatic" else 1.0 for joint in robot.joints]
    unknown = sticking(speeds, rate, cutoff)[kept][:, :, None] * np.eye(robot.n_velocity)[6:]
    if base.rows == "projected":
        pushes = [J[kept] * flags[kept, k, None, None] for k, J in enumerate(columns)]
        unknown = np.concatenate([unknown, *pushes], axis=1)
    P = sizes = None
    if base.rows in ("all", "projected"):
        sizes = np.concatenate([_base_noise(robot, raw, rate, cutoff), _noise(signals.efforts, rate, cutoff)])
        P = projections(unknown, sizes)
        tau = np.einsum("nij,nj->ni", P, tau)
    return Motion(
        signals.log.t[kept], q[kept], qd[kept], qdd[kept], tau, source=signals.log.source, projection=P, noise=sizes
    )


def positions(joints: Array) -> Array:
    """Positions (N, 7 + n) of a base at the origin."""
    place = np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(joints), 1))
    return np.concatenate([place, joints], axis=1)


def _states(
    robot: Robot, base: FloatingOptions, signals: FloatingSignals, cutoff: float, rate: float
) -> tuple[Array, Array, Array, Array]:
    """Filtered positions, velocities, accelerations; unfiltered specific force and angular acceleration."""
    gyro, measured = signals.of(expanded(base.gyro)), signals.of(expanded(base.accelerometer))
    raw = np.concatenate([measured, rate_of_change(gyro, rate)], axis=1)
    joints, w, a = (low_pass(np.ascontiguousarray(x), cutoff, rate) for x in (signals.joints, gyro, measured))
    wd, speeds, r = rate_of_change(w, rate), rate_of_change(joints, rate), np.array(base.at, float)
    a = a - np.cross(wd, r) - np.cross(w, np.cross(w, r))  # of the base's origin
    q = positions(joints)
    qd = np.concatenate([np.zeros_like(w), w, speeds], axis=1)
    qdd = np.concatenate([a + np.array(robot.gravity, float), wd, rate_of_change(speeds, rate)], axis=1)
    return q, qd, qdd, raw


def attitudes(campaign: Campaign, signals: FloatingSignals) -> Array:
    """Rotations (N, 3, 3) from base to world axes; the identity if the attitude is not needed."""
    if not needs_attitude(campaign):
        return np.broadcast_to(np.eye(3), (len(signals.log), 3, 3))
    from scipy.spatial.transform import Rotation  # here: it takes long to load

    return np.asarray(Rotation.from_quat(signals.of(expanded(campaign.floating.attitude, "xyzw"))).as_matrix())


def contact_jacobian(robot: Robot, contact: ContactOptions, q: Array, R: Array) -> Array:
    """Jacobian (N, 3 or 6, n_velocity) of a contact point in base axes; for a round foot, of its lowest point."""
    J = np.asarray(jacobian(robot, q, contact.frame))
    turn, _ = forward_kinematics(robot, q, contact.frame)
    from_frame = np.asarray(turn) @ np.array(contact.at, float) - contact.radius * R[:, 2]
    linear = J[:, :3] - np.cross(from_frame[:, :, None], J[:, 3:], axis=1)
    return linear if contact.kind == "point" else np.concatenate([linear, J[:, 3:]], axis=1)


def contact_force(contact: ContactOptions, signals: FloatingSignals, R: Array, q: Array, robot: Robot) -> Array | None:
    """Measured force (N, 3) on the foot in base axes, for a surface the wrench (N, 6); None if not measured."""
    if not contact.force:
        return None
    parts = [signals.of(expanded(contact.force))]
    if contact.kind == "surface":
        parts.append(signals.of(expanded(contact.moment)) if contact.moment else np.zeros_like(parts[0]))
    if contact.axes == "base":
        return np.concatenate(parts, axis=1)
    if contact.axes == "world":
        turn = R.transpose(0, 2, 1)
    else:
        turn = np.asarray(forward_kinematics(robot, q, ChosenFrame(contact.frame))[0])
    return np.concatenate([np.einsum("nij,nj->ni", turn, part) for part in parts], axis=1)


def is_touching(contact: ContactOptions, signals: FloatingSignals, force: Array | None) -> NDArray[np.bool_]:
    """Contact flags (N,): as logged, else whether the measured force exceeds a threshold."""
    if contact.active == ALWAYS:
        return np.ones(len(signals.log), bool)
    if contact.active:
        return signals.of([contact.active])[:, 0] > 0.5
    if force is None:
        return np.zeros(len(signals.log), bool)  # found from heights
    return np.asarray(np.linalg.norm(force[:, :3], axis=1) > TOUCHES)


def kept_samples(flags: NDArray[np.bool_], rate: float, cutoff: float, trim_s: float | None) -> NDArray[np.intp]:
    """Indices of the samples away from both ends of the log and from every change of contacts.

    The low-pass smears impacts and, where forces are removed by projection, mixes contact states.
    """
    edge = EDGE / cutoff if trim_s is None else trim_s
    away = is_away(flags, around(cutoff, rate))
    rows = np.arange(round(edge * rate), len(flags) - round(edge * rate), max(1, round(rate / (SAMPLING * cutoff))))
    return rows[away[rows]]


def is_away(flags: NDArray[np.bool_], apart: int) -> NDArray[np.bool_]:
    """Mask (N,) of samples at least `apart` samples from every change of contacts."""
    away = np.ones(len(flags), bool)
    for k in np.flatnonzero((flags[1:] != flags[:-1]).any(axis=1)):
        away[max(0, k + 1 - apart) : k + 1 + apart] = False
    return away


def sticking(qd: Array, rate: float, cutoff: float) -> NDArray[np.bool_]:
    """Mask (N, n) of joints that stand still or reverse within the impulse response of the low-pass.

    qd [rad/s].  Their dry friction is indeterminate there.  A fast joint reverses between two samples, neither of
    them slow.
    """
    from scipy.ndimage import maximum_filter1d  # here: it takes long to load

    slow = np.abs(qd) < STANDS
    slow[1:] |= qd[1:] * qd[:-1] < 0
    return np.asarray(maximum_filter1d(slow, 2 * around(cutoff, rate) + 1, axis=0), bool)


def projections(unknown: Array, sizes: Array) -> Array:
    """Projections (N, v, v) that remove efforts along the rows of `unknown` (N, k, v).

    Rows of zeros have no effect.  sizes (v,): noise levels of the efforts.  The projection is orthogonal after
    division of the efforts by `sizes`, so that least squares of the projected efforts, divided by `sizes`, is
    correctly weighted.
    """
    v = len(sizes)
    _, s, Vt = np.linalg.svd(unknown / sizes, full_matrices=False)
    Vt = Vt * (s > RANK * np.maximum(s[:, :1], 1e-300))[:, :, None]
    inside = np.eye(v) - Vt.transpose(0, 2, 1) @ Vt
    return np.asarray(sizes[:, None] * inside / sizes)


def _noise(x: Array, rate: float, cutoff: float) -> Array:
    """Noise level of each column below the cut-off, at least a thousandth of its root mean square."""
    return np.asarray(np.maximum(white_noise(x, rate, cutoff), 1e-3 * np.sqrt(np.mean(x**2, axis=0)) + 1e-9))


def _base_noise(robot: Robot, raw: Array, rate: float, cutoff: float) -> Array:
    """Noise levels of the six base rows, from the noise of the inertial measurement unit and the robot's mass."""
    mass, size = USUAL_MASS, USUAL_SIZE
    if robot.has_parameters:
        masses = [value for name, value in zip(robot.columns(), robot.parameter_vector(), strict=True) if name[0] == "M"
                  and name[1:].isdigit()]  # fmt: skip
        mass = max(float(sum(masses)), 1e-3)
    scale = np.repeat([mass, mass * size**2], 3)
    return np.asarray(scale * _noise(raw, rate, cutoff))
