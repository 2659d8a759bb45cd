"""`OnlineWatch`: on-line monitoring of payload and residuals, from an identified model and a stream of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.codegen.watch_rules import LOAD, NOTHING, SUSPECTED
from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.loads.payload import Payload, payload_of
from minertia.identification.logs.drive import gain_uncertainty
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.recording import SI, Recording, check_finite, even_rate
from minertia.identification.model import IdentifiedModel, Model, with_efforts
from minertia.identification.model_file import joints_alone, read_model
from minertia.identification.online.evidence import BlockStage
from minertia.identification.online.levels import WatchLevels, learned_levels, slow_speeds
from minertia.identification.online.options import WatchOptions
from minertia.identification.online.samples import LATE, SampleStage, WatchedRobot, blocks_of_log, filtered_motion
from minertia.identification.remembered import campaign_like
from minertia.io.errors import InputError, RecordingError, ShapeError
from minertia.io.notebook import clipped, plural
from minertia.io.resources import one_thread
from minertia.robot.inertia import transport_ten
from minertia.robot.joint import numeric_pose
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
USUAL = WatchOptions()
SAME_RATE = 0.1  # part by which the rate of a log may differ from that of the levels
HIDDEN = 0.9  # of the deviation before anything is known: what stays above it the motion does not show


@dataclass(frozen=True)
class WatchAlarm:
    """Detected change: its type, "load" or "residual", and its time.

    raised [s]: when the evidence reached its threshold; since [s]: when the change began.  joint: joint with
    the largest evidence.  before, mass, deviation [kg]: payload mass before and after the change, and its
    standard deviation.  is_named: whether the change has been classified; False while a payload may still
    explain it.
    """

    what: str
    raised: float
    since: float
    joint: str
    before: float = 0.0
    mass: float = 0.0
    deviation: float = 0.0
    is_named: bool = True

    def sentence(self) -> str:
        """Description of the change, as one sentence."""
        since = f"since {self.since:.1f} s (alarm at {self.raised:.1f} s)"
        if self.what == "load":
            return f"payload changed: {self.before:.3g} -> {self.mass:.3g} +- {self.deviation:.2g} kg {since}"
        return f"residual of joint '{self.joint}' high {since}" + ("" if self.is_named else ", not yet named")

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        found: dict[str, Any] = {"what": self.what, "raised": self.raised, "since": self.since, "joint": self.joint}
        load = {"before": self.before, "mass": self.mass, "deviation": self.deviation} if self.what == "load" else {}
        return {**found, **load, "sentence": self.sentence()}


class OnlineWatch:
    """Processes samples one by one, at the rate of its levels, and detects changes of payload or residuals.

    A joint is evaluated only while it moves, because friction at standstill is indeterminate.  alarms: all alarms
    so far; the last one is classified some seconds after it was raised.
    """

    def __init__(self, model: IdentifiedModel | Robot, levels: WatchLevels) -> None:
        self.robot = model.robot if isinstance(model, IdentifiedModel) else model
        if tuple(levels.joints) != self.robot.coordinate_names:
            raise InputError(
                f"the noise levels are for other joints than those of '{self.robot.name}'; compute them again"
            )
        self.levels = levels
        self.gain_deviation = _gain_deviation(model)
        self.samples = SampleStage(WatchedRobot(self.robot), levels)
        self.blocks = BlockStage(levels)
        self.alarms = list[WatchAlarm]()
        self.count = 0
        self.largest = 0.0  # evidence over its threshold

    def __repr__(self) -> str:
        return (
            f"<OnlineWatch of '{clipped(self.robot.name, 40)}': {self.seconds:.1f} s, "
            f"{plural(len(self.alarms), 'alarm')}, {self.levels.options.per_hour:g} false ones an hour are stated>"
        )

    @property
    def seconds(self) -> float:
        """Monitored time [s]."""
        return self.count / self.levels.rate

    def step(self, q: ArrayLike, tau: ArrayLike, qd: ArrayLike | None = None) -> WatchAlarm | None:
        """Process one sample (n,): positions, joint-side efforts, and velocities if the options require them.

        Returns an alarm when it is raised, and again, classified, some seconds later.
        """
        given = [None if x is None else np.asarray(x, float) for x in (q, tau, qd)]
        for name, x in zip(("q", "tau", "qd"), given, strict=True):
            if x is not None and (x.shape != (self.robot.n,) or not np.isfinite(x).all()):
                raise ShapeError(f"{name} of a sample must be {self.robot.n} finite numbers; its shape is {x.shape}")
        self.count += 1
        full = self.samples.step(*given)  # type: ignore[arg-type]
        return None if full is None else self.take(*full)

    def take(self, e: Array, Y: Array, valid: NDArray[np.bool_]) -> WatchAlarm | None:
        """Process one block of residuals and payload columns; valid: whether joints moved."""
        before, since, raised = float(self.blocks.load[9]), self.blocks.since, self.blocks.raised
        code = self.blocks.step(e, Y, valid)
        self.largest = max(self.largest, self.blocks.evidence / self.levels.threshold)
        if code == NOTHING:
            return None
        joint = self.levels.joints[self.blocks.joint]
        if code == SUSPECTED:
            now = self._time(self.blocks.raised)
            self.alarms.append(WatchAlarm("residual", now, self._time(since), joint, is_named=False))
            return self.alarms[-1]
        found = WatchAlarm("residual", self._time(raised), self._time(since), joint)
        if code == LOAD:
            mass = float(self.blocks.load[9])
            deviation = float(np.sqrt(self.covariance[9, 9]))
            found = replace(found, what="load", before=before, mass=mass, deviation=deviation)
        self.alarms[-1] = found
        return found

    def _time(self, block: int) -> float:
        """Time from the first sample to the end of a block [s]."""
        late = 0 if self.levels.options.velocities else 4
        return (late + block * self.levels.samples) / self.levels.rate

    @property
    def covariance(self) -> Array:
        """Covariance of the payload's ten parameters (10, 10), including the relative uncertainty of the gains."""
        S, load = self.blocks.root, self.blocks.load
        return np.asarray(S @ S.T + self.gain_deviation**2 * np.outer(load, load))

    @property
    def load(self) -> Payload | None:
        """Additional payload in the frame of the last link, with warnings; None if there is none.

        A payload that the model already contains is not included.
        """
        ten, covariance = self.blocks.load, self.covariance
        if ten[9] <= 0:
            return None
        pose = numeric_pose(self.robot.payload_frame(None).pose, self.robot.symbol_values)
        moved = np.column_stack([np.array(transport_ten(unit.tolist(), pose), float) for unit in np.eye(10)])
        back = np.linalg.inv(moved)
        deviation = np.sqrt(np.diag(self.blocks.root @ self.blocks.root.T))
        hidden = {
            symbol: f"the motion so far does not determine {symbol} of the payload"
            for symbol, d, doubt in zip(LINK_SYMBOLS, deviation, self.blocks.doubt, strict=True)
            if d > HIDDEN * doubt and symbol != "M"
        }
        return payload_of(self.robot, None, back @ ten, back @ covariance @ back.T, hidden, False)


def _gain_deviation(model: IdentifiedModel | Robot) -> float:
    """Relative standard deviation of the drive gains, if efforts are computed with them."""
    if not isinstance(model, IdentifiedModel):
        return 0.0
    found = gain_uncertainty(campaign_like(model, ()).map.drive)
    return 0.0 if found is None else float(np.sqrt(np.mean(np.square(found))))


# ------------------------------------------------------------------ logs


@dataclass(frozen=True)
class WatchResult:
    """Monitoring result of a log: alarms, the payload at its end, and the largest evidence over its threshold.

    judged: fraction of the time in which joints moved and were therefore monitored, averaged over the joints.
    """

    log: str
    seconds: float
    alarms: tuple[WatchAlarm, ...]
    largest: float
    per_hour: float
    judged: float
    load: Payload | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<WatchResult '{clipped(self.log, 50)}': {self.seconds:.1f} s, {plural(len(self.alarms), 'alarm')}>"

    def sentences(self) -> list[str]:
        """Results as sentences: the alarms, or that no change was detected."""
        if self.alarms:
            return [alarm.sentence() for alarm in self.alarms]
        return [
            f"no change was detected in {self.seconds:.1f} s (evidence at most {100 * self.largest:.2g} % of the "
            f"threshold; joints moved and were evaluated in {100 * self.judged:.0f} % of the time)"
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "log": self.log,
            "seconds": self.seconds,
            "false_alarms_per_hour": self.per_hour,
            "evidence": self.largest,
            "judged": self.judged,
            "alarms": [alarm.to_dict() for alarm in self.alarms],
            "load": None if self.load is None else self.load.to_dict(),
        }


def learn_levels(
    model: Model | str | Path,
    logs: LogLike | Sequence[LogLike],
    *,
    options: WatchOptions = USUAL,
    columns: ColumnMap | str | Path | None = None,
    tell: Tell = silent,
) -> WatchLevels:
    """Learn normal levels from fault-free logs without additional payload, preferably logs that were not fitted.

    The cut-off and gain in `options` are lowered to the limits that the sampling rate of the logs allows.
    """
    known = _whole(model)
    recordings = _recordings(known, logs, columns, tell)
    if not recordings:
        raise InputError("no log is given; noise levels are computed from logs of normal motion")
    n, joints = known.robot.n, known.robot.coordinate_names
    rate = even_rate(recordings[0])
    base = WatchLevels(joints, rate, (1.0,) * n, (0.0,) * n, (0.0,) * n, 0.0, options.for_rate(rate))
    normal = [(_at_its_rate(r, base), r.t, _samples(r, options)) for r in recordings]
    with one_thread():
        slow = slow_speeds([filtered_motion(own, *motion)[1] for own, _, motion in normal])
        watched = WatchedRobot(known.robot)
        parts = [blocks_of_log(watched, replace(own, slow=slow), t, *motion) for own, t, motion in normal]
    return learned_levels(parts, replace(base, slow=slow))


def watch_log(
    model: Model | str | Path,
    log: LogLike,
    levels: WatchLevels,
    *,
    columns: ColumnMap | str | Path | None = None,
    tell: Tell = silent,
) -> WatchResult:
    """Run the on-line monitoring over a log, sample by sample."""
    known = _whole(model)
    (recording,) = _recordings(known, [log], columns, tell)
    levels = _at_its_rate(recording, levels)
    watch = OnlineWatch(known, levels)
    motion = _samples(recording, levels.options)
    with one_thread():
        blocks = blocks_of_log(watch.samples.watched, levels, recording.t, *motion)
        for e, Y, valid in zip(blocks.e, blocks.Y, blocks.valid, strict=True):
            watch.take(e, Y, valid)
    name = Path(recording.source).name or "recording"
    alarms = tuple(replace(alarm, is_named=True) for alarm in watch.alarms)
    judged = float(np.mean(blocks.valid)) if len(blocks.valid) else 0.0
    return WatchResult(name, recording.duration, alarms, watch.largest, levels.options.per_hour, judged, watch.load)


def _whole(model: Model | str | Path) -> IdentifiedModel:
    known = joints_alone(with_efforts(model if isinstance(model, Model) else read_model(model), "a watch"))
    known.robot.require_tree("on-line monitoring")
    if len(known.linear.rows) != known.robot.n_velocity or known.robot.is_floating:
        raise InputError(
            "on-line monitoring needs a model of a robot on a fixed base that was identified from all of its joints"
        )
    return known


def _recordings(
    model: IdentifiedModel, logs: LogLike | Sequence[LogLike], columns: ColumnMap | str | Path | None, tell: Tell
) -> list[Recording]:
    """Unfiltered recordings of logs, uniformly sampled, on the joint side, with the delay of their efforts."""
    campaign: Campaign = campaign_like(model, logs, columns)
    late = replace(campaign.map.drive, delay=None)  # as a monitor gets them: on-line, nothing shifts efforts
    campaign = replace(campaign, columns=replace(campaign.map, drive=late))
    found = []
    for log in campaign.validate:
        tell(f"reading {log.name}")
        recording = campaign.recording(log, whole=True)
        recording.efforts()
        check_finite(recording)
        if recording.effort_unit != SI:
            raise RecordingError(
                f"the efforts are in {recording.effort_unit}, but the drive gains are unknown; give [drive] gains",
                file=recording.source or log.name,
            )
        found.append(recording)
    return found


def _at_its_rate(recording: Recording, levels: WatchLevels) -> WatchLevels:
    """Levels set to the sampling rate of a log, which must be close to the rate at which they were learned."""
    rate = even_rate(recording)
    if abs(rate / levels.rate - 1) > SAME_RATE:
        raise RecordingError(
            f"the log has {rate:.4g} samples per second, but the noise levels are for {levels.rate:.4g}; compute "
            "levels from logs of this rate",
            file=recording.source or None,
        )
    own = replace(levels, rate=rate)
    if len(recording.t) < own.samples + 2 * LATE:
        raise RecordingError(
            f"the log has {len(recording.t)} samples, but a time block of the monitor has {own.samples}; give a "
            "longer log",
            file=recording.source or None,
        )
    return own


def _samples(recording: Recording, options: WatchOptions) -> tuple[Array, Array, Array | None]:
    """q, tau, and qd where the options require it."""
    if options.velocities and recording.qd is None:
        raise RecordingError("the log has no velocities; omit the option 'velocities'", file=recording.source)
    return recording.q, recording.efforts(), recording.qd if options.velocities else None
