"""Alternative set-ups of force/torque sensors beside joints: axes, sign and unit that explain the wrench far better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, permutations, product

import numpy as np

from minertia.dynamics.model import forward_kinematics
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import MOMENTS, SensorOptions
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.campaigns.sensed import PLACED, placed_frame
from minertia.identification.efforts.build import EffortRows
from minertia.identification.evidence.thresholds import SATURATED, SENSOR_BETTER, SENSOR_WRONG
from minertia.identification.problem.linear import LinearModel
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.robot.parameters import full_name
from minertia.robot.robot import Robot
from minertia.robot.sensor import Sensor

SAMPLES = 400  # of the first log, which tell set-ups apart
OTHER = {"sensor": "tool", "tool": "sensor"}


def sensor_faults(problem: EffortRows) -> tuple[str, ...]:
    """Sentences on sensors that another reading of their columns explains far better, from the first training log."""
    campaign, model = problem.campaign, problem.linear
    if not campaign.sensors or not problem.logs:
        return ()
    motion = next(iter(problem.logs[0]))
    found = []
    for s, sensor in enumerate(model.robot.sensors):
        if sensor.joint is not None and np.any(motion.tau[:, _rows(model.robot, s)]):
            sentence = _fault(campaign, model, motion, s)
            found += [sentence] if sentence else []
    return tuple(found)


def _rows(robot: Robot, s: int) -> slice:
    first = robot.n_velocity + 6 * s
    return slice(first, first + 6)


def _options(campaign: Campaign, sensor: Sensor) -> SensorOptions:
    return next(one for one in campaign.sensors if sensor.name.startswith(one.name or one.at))


def _fault(campaign: Campaign, model: LinearModel, motion: Motion, s: int) -> str | None:
    robot, sensor = model.robot, model.robot.sensors[s]
    chosen = np.unique(np.linspace(0, len(motion) - 1, SAMPLES).astype(int))
    q, qd, qdd = (np.asarray(a)[chosen] for a in (motion.q, motion.qd, motion.qdd))
    wrench = np.asarray(motion.tau)[chosen, _rows(robot, s)]
    every = replace(model, rows=tuple(range(robot.n_efforts)))
    Y = every.columns(q, qd, qdd)[:, _rows(robot, s)]
    one = _options(campaign, sensor)
    readings = list(_readings(robot, sensor, one, q, wrench))
    found = [_fitted(Y, own) for _, own in readings]
    left, x = np.array([own for own, _ in found]), found[0][1]
    best = int(np.argmin(left))
    who = f"sensor '{sensor.name}'"
    if left[0] > SENSOR_WRONG and left[best] < SENSOR_BETTER * left[0]:
        return (
            f"it seems that the wrench of {who} is {readings[best][0]}: its relative residual is then {left[best]:.1%} "
            f"instead of {left[0]:.1%}"
        )
    values = model.standard_values(x)
    far = robot.n_joints + s + 1
    mass = values[full_name("M", far)]
    if mass < 0 and left[0] < SENSOR_WRONG:
        return (
            f"it seems that the wrench of {who} acts on the other body, as its load has a mass of {mass:.3g} kg: set "
            f'of = "{OTHER[one.of]}" in [[sensor]]'
        )
    return None


def _fitted(Y: Array, wrench: Array) -> tuple[float, Array]:
    """Residual of a wrench (N, 6) relative to its variation, and the fitted values; Y (N, 6, unknowns)."""
    sizes = np.repeat(np.maximum([np.std(wrench[:, :3]), np.std(wrench[:, 3:])], 1e-12), 3)
    A, right = (Y / sizes[:, None]).reshape(-1, Y.shape[2]), (wrench / sizes).ravel()
    x = np.linalg.lstsq(A, right, rcond=1e-9)[0]
    varying = ((wrench - wrench.mean(axis=0)) / sizes).ravel()
    size = max(float(np.linalg.norm(varying)), 1e-300)
    return float(np.linalg.norm(A @ x - right)) / size, np.asarray(x)


def _readings(robot: Robot, sensor: Sensor, one: SensorOptions, q: Array, wrench: Array) -> Iterator[tuple[str, Array]]:
    """Readings of the columns, the stated one first, each as the wrench in axes of the sensor."""
    for R in right_angle_turns():
        columns = np.argmax(np.abs(R), axis=1)
        signs = R[np.arange(3), columns]
        axes = ", ".join(f"{'-' if sign < 0 else ''}{'xyz'[c]}" for sign, c in zip(signs, columns, strict=True))
        yield f"in other axes (x, y, z of the sensor are {axes} of the log)", _turned(wrench, R)
    for unit, factor in MOMENTS.items():
        if unit != one.moment:
            scale = np.repeat([1.0, factor / MOMENTS[one.moment]], 3)
            yield f'in another unit (moment = "{unit}" in [[sensor]])', wrench * scale
    R = np.asarray(forward_kinematics(placed_frame(robot, sensor), q, PLACED)[0])
    if one.axes == "sensor":
        yield 'in base axes (axes = "base" in [[sensor]])', _turned(wrench, R.transpose(0, 2, 1))
    else:
        yield 'in sensor axes (axes = "sensor" in [[sensor]])', _turned(wrench, R)


def _turned(wrench: Array, R: Array) -> Array:
    parts = [np.einsum("...ij,...j->...i", R, wrench[:, k : k + 3]) for k in (0, 3)]
    return np.concatenate(parts, axis=1)


def right_angle_turns() -> list[Array]:
    """The 24 rotations by right angles, the identity first."""
    found = []
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        R = np.zeros((3, 3))
        R[np.arange(3), order] = signs
        if np.linalg.det(R) > 0:
            found.append(R)
    return found


def saturated_channels(logs: tuple[EffortLog, ...], robot: Robot) -> tuple[str, ...]:
    """Sentences on efforts of sensors that stay at their largest or smallest value, as at the end of a range."""
    found = []
    names = [name for one in robot.sensors for name in one.row_names]
    for log in logs:
        sensed = None if log.recording is None else log.recording.sensed
        for name, own in zip(names, () if sensed is None else sensed.T, strict=False):
            if is_saturated(own):
                limit = float(np.abs(own).max())
                found.append(f"{log.name}: {name} stays at {limit:.4g}, the end of its range: it is saturated")
    return tuple(islice(found, 3))


def is_saturated(values: Array) -> bool:
    """Whether a measured signal repeats its exact largest or smallest value more often than chance allows."""
    at = [float(np.mean(values == extreme)) for extreme in (values.min(), values.max())]
    return bool(np.ptp(values) > 0 and max(at) > SATURATED)
