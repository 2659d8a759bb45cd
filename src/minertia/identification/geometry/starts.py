"""Initial base and tool poses by alternating point-set registration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.geometry.chain import Array
from minertia.identification.geometry.layout import GeometryLayout, GeometryState
from minertia.identification.geometry.measures import (
    DistanceMeasure,
    Indices,
    OrientationMeasure,
    PixelMeasure,
    PixelToolMeasure,
    PlaneMeasure,
    PointMeasure,
    PoseMeasure,
    SamePointMeasure,
    ToolReadings,
)
from minertia.io.errors import InputError

STARTS, ROUNDS = 12, 60
CLOSE = 0.01  # of the reach: what a right reading leaves is less, so that no further start is tried
FALLS = 1e-6  # of the error, in a round that is one of the last: steps of the fit follow
MOST_READINGS = 100  # of a target, which a start is made from
FEWEST_PIXELS = 20  # readings of one target: 38 numbers by two each
ARM = 0.1  # m: of the points that stand for a rotation


def near(layout: GeometryLayout, state: GeometryState) -> GeometryState:
    """Initial state for other postures from an earlier state; positions of posture groups are re-estimated.

    Joint corrections start at zero.
    """
    measures = layout.postures.measures
    tool = layout.moved(GeometryState(state.placements, np.zeros(len(layout.joint_columns)), state.own)).tool
    own = tuple(
        _group_places(m, tool, values[:3]) if isinstance(m, SamePointMeasure) else values
        for m, values in zip(measures, state.own, strict=True)
    )
    return GeometryState(state.placements, np.zeros(len(layout.joint_columns)), own)


def _group_places(measure: SamePointMeasure, tool: Array, point: Array) -> Array:
    """Position of the point on the tool, followed by the mean position of each group."""
    x = _at(tool[measure.posture], point)
    groups = range(int(measure.group.max(initial=-1)) + 1)
    return np.concatenate([point, *(x[measure.group == g].mean(axis=0) for g in groups)])


def started(layout: GeometryLayout, seed: int = 0, starts: int = STARTS) -> GeometryState:
    """Initial state: base, tool and measurement unknowns from the readings; robot geometry as in the file."""
    state = layout.start()
    measures = layout.postures.measures
    if any(isinstance(m, (PointMeasure, PoseMeasure)) for m in measures):
        return _placed(layout, state, seed, starts)
    if any(isinstance(m, OrientationMeasure) for m in measures):
        return _turned(layout, state)
    if isinstance(measures[0], PixelMeasure):
        return _seen(layout, state)
    if isinstance(measures[0], PixelToolMeasure):
        return _seen_from_tool(layout, state, measures[0])
    own = tuple(_own_start(layout, state, m, values) for m, values in zip(measures, state.own, strict=True))
    return GeometryState(state.placements, state.joints, own)


def _own_start(layout: GeometryLayout, state: GeometryState, measure: ToolReadings, values: Array) -> Array:
    """Initial positions of groups, fixed points and planes for the tool of the file."""
    tool = layout.moved(state).tool
    x = tool[measure.posture, :3, 3]
    values = values.copy()
    if isinstance(measure, SamePointMeasure):
        return _group_places(measure, tool, values[:3])
    if isinstance(measure, DistanceMeasure):
        for k in range((len(values) - 3) // 3):
            of = measure.anchor == k
            values[3 + 3 * k : 6 + 3 * k] = _trilaterated(x[of], measure.values[of, 0])
    elif isinstance(measure, PlaneMeasure):
        for k in range((len(values) - 3) // 4):
            of = measure.plane == k
            values[3 + 4 * k : 7 + 4 * k] = _plane(x[of], measure.values[of, 0])
    return values


def _trilaterated(x: Array, d: Array) -> Array:
    """Trilaterate the point at distances d (M,) from positions x (M, 3).

    Differences of squared distances are linear.
    """
    A = np.column_stack([-2 * x, np.ones(len(x))])
    found: Array = np.linalg.lstsq(A, d**2 - (x**2).sum(axis=1), rcond=None)[0]
    return found[:3]


def _plane(x: Array, height: Array) -> Array:
    """Normal and distance of the plane above which positions x (M, 3) have the given heights."""
    if np.ptp(height) > 0:
        found = np.linalg.lstsq(np.column_stack([x, -np.ones(len(x))]), height, rcond=None)[0]
        length = float(np.linalg.norm(found[:3]))
        return np.asarray(found / max(length, 1e-12))
    mean = x.mean(axis=0)
    normal = np.linalg.svd(x - mean)[2][-1]
    return np.array([*normal, normal @ mean - height.mean()])


def _placed(layout: GeometryLayout, state: GeometryState, seed: int, starts: int) -> GeometryState:
    """Base pose (Kabsch) and mean target positions on the tool, alternately; the best of several starts.

    The first start is a linear solution.
    """
    rng = np.random.default_rng(seed)
    tool = layout.moved(state).tool
    targets = [_some(t) for m in layout.postures.measures for t in _targets(m)]
    best: tuple[float, Array, list[Array]] | None = None
    reach = max(float(np.ptp(tool[:, :3, 3], axis=0).max()), 0.1)
    for k in range(starts + 1):
        if best is not None and best[0] < CLOSE * reach:
            break
        places = [_linear_place(tool, t) if k == 0 else k // 2 * rng.normal(scale=0.3 * reach, size=3) for t in targets]
        found = _by_turns(tool, targets, places)
        if best is None or found[0] < best[0] * (1 - 1e-9):
            best = found
    assert best is not None
    _, base, places = best
    return _with(layout, state, base, places)


Target = tuple[Indices, Array]  # postures, places in the frame of measurement


def _linear_place(tool: Array, target: Target) -> Array:
    """Position of a target on the tool by linear least squares, with unconstrained base rotation and position.

    A reading y = R (R_k c + p_k) + t is linear in R c', R and t.
    """
    posture, y = target
    T = tool[posture]
    A = np.concatenate([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3], np.ones((len(T), 1))], axis=1)
    found = np.linalg.lstsq(A, y, rcond=1e-6)[0]
    R = _rotation(found[9:12].T)
    return np.asarray(np.einsum("ia,abi->b", R, found[:9].reshape(3, 3, 3)) / 3)


def _targets(measure: ToolReadings) -> list[Target]:
    """Target positions that a measurement provides; a pose provides its origin and points on its axes."""
    if isinstance(measure, PointMeasure):
        return [(measure.posture, measure.values)]
    if isinstance(measure, PoseMeasure):
        R = measure.values[:, 3:].reshape(-1, 3, 3)
        origin = measure.values[:, :3]
        return [(measure.posture, origin), *((measure.posture, origin + ARM * R[:, :, k]) for k in range(3))]
    return []


def _some(target: Target) -> Target:
    """Decimate the readings to as many as an initial estimate needs."""
    posture, values = target
    step = -(-len(posture) // MOST_READINGS)
    return posture[::step], values[::step]


def _by_turns(tool: Array, targets: list[Target], places: list[Array]) -> tuple[float, Array, list[Array]]:
    B = np.eye(4)
    last = np.inf
    for _ in range(ROUNDS):
        x = np.concatenate([_at(tool[p], c) for (p, _), c in zip(targets, places, strict=True)])
        y = np.concatenate([values for _, values in targets])
        B = kabsch(x, y)
        back = np.linalg.inv(B @ tool)
        places = [(np.einsum("mij,mj->mi", back[p, :3, :3], v) + back[p, :3, 3]).mean(axis=0) for p, v in targets]
        x = np.concatenate([_at(tool[p], c) for (p, _), c in zip(targets, places, strict=True)])
        error = float(np.sqrt(np.mean((x @ B[:3, :3].T + B[:3, 3] - y) ** 2)))
        if last - error < FALLS * error:
            break
        last = error
    return error, B, places


def _at(tool: Array, place: Array) -> Array:
    return np.asarray(tool[:, :3, :3] @ place + tool[:, :3, 3])


def kabsch(x: Array, y: Array) -> Array:
    """Kabsch algorithm: the pose that maps points x (M, 3) closest to y."""
    a, b = x.mean(axis=0), y.mean(axis=0)
    R = _rotation((y - b).T @ (x - a))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, b - R @ a
    return T


def _rotation(C: Array) -> Array:
    """Rotation matrix nearest to a matrix."""
    U, _, Vt = np.linalg.svd(C)
    return np.asarray(U @ np.diag([1, 1, np.linalg.det(U @ Vt)]) @ Vt)


def _with(layout: GeometryLayout, state: GeometryState, base: Array, places: list[Array]) -> GeometryState:
    placements = state.placements.copy()
    placements[0] = base @ placements[0]
    own, at = [], 0
    for measure, values in zip(layout.postures.measures, state.own, strict=True):
        if isinstance(measure, PointMeasure):
            values, at = places[at], at + 1
        elif isinstance(measure, PoseMeasure):
            origin, axes = places[at], np.stack([(p - places[at]) / ARM for p in places[at + 1 : at + 4]], axis=1)
            placements[-1] = placements[-1] @ _pose(_rotation(axes), origin)
            at += 4
        own.append(values)
    return GeometryState(placements, state.joints, tuple(own))


def _pose(R: Array, p: Array) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def _turned(layout: GeometryLayout, state: GeometryState) -> GeometryState:
    """Estimate the rotations of base and tool alternately."""
    measure = next(m for m in layout.postures.measures if isinstance(m, OrientationMeasure))
    R = layout.moved(state).tool[measure.posture, :3, :3]
    M = measure.values.reshape(-1, 3, 3)
    tool, base = np.eye(3), np.eye(3)
    for _ in range(ROUNDS):
        base = _rotation(np.einsum("mij,mkj->ik", M, R @ tool))
        tool = _rotation(np.einsum("mji,mjk->ik", base @ R, M))
    placements = state.placements.copy()
    placements[0] = _pose(base, np.zeros(3)) @ placements[0]
    placements[-1] = placements[-1] @ _pose(tool, np.zeros(3))
    return GeometryState(placements, state.joints, state.own)


# ------------------------------------------------------------------ cameras


def _seen(layout: GeometryLayout, state: GeometryState) -> GeometryState:
    """Initial pose of a fixed camera, and position of its target on the tool; further targets separately."""
    tool = layout.moved(state).tool
    placements, own = state.placements.copy(), []
    for k, (m, values) in enumerate(zip(layout.postures.measures, state.own, strict=True)):
        if not isinstance(m, PixelMeasure):
            own.append(values)
            continue
        T = tool[m.posture]
        R, t, c = _camera(T[:, :3, :3], T[:, :3, 3], m)
        if k == 0:
            placements[0] = _pose(R, t) @ placements[0]
        own.append(c)
    return GeometryState(placements, state.joints, tuple(own))


def _seen_from_tool(layout: GeometryLayout, state: GeometryState, measure: PixelToolMeasure) -> GeometryState:
    """Initial pose of a camera on the tool, from the most frequently seen mark, and the positions of all marks."""
    T = layout.moved(state).tool[measure.posture]
    back = np.swapaxes(T[:, :3, :3], 1, 2)
    most = measure.mark == int(np.bincount(measure.mark).argmax())
    place = -np.einsum("mij,mj->mi", back, T[:, :3, 3])
    some = replace(measure, posture=measure.posture[most], values=measure.values[most], mark=measure.mark[most])
    R, t, _ = _camera(back[most], place[most], some)
    placements = state.placements.copy()
    placements[-1] = placements[-1] @ np.linalg.inv(_pose(R, t))
    rays = _rays(measure)
    marks = [_met(R @ back[of], (R @ place[of].T).T + t, rays[of]) for of in _each(measure.mark)]
    return GeometryState(placements, state.joints, (np.concatenate(marks),))


def _each(number: Indices) -> list[NDArray[np.bool_]]:
    return [number == k for k in range(int(number.max()) + 1)]


def _rays(measure: PixelMeasure | PixelToolMeasure) -> Array:
    """Slopes x / z and y / z of the rays of all pixels."""
    fx, fy, cx, cy = measure.camera
    return (measure.values - [cx, cy]) / [fx, fy]


def _met(R: Array, t: Array, rays: Array) -> Array:
    """Position m for which the points R m + t (M, 3) lie closest to the given rays."""
    A = (R[:, :2] - rays[:, :, None] * R[:, 2:]).reshape(-1, 3)
    b = -(t[:, :2] - rays * t[:, 2:]).ravel()
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0], float)


def _camera(R: Array, p: Array, measure: PixelMeasure | PixelToolMeasure) -> tuple[Array, Array, Array]:
    """Rotation and position of a camera, and the point c that it sees at R c + p (M, 3).

    Direct linear transformation: each row of the projection times (R c + p, 1) is linear in 13 numbers: the row's
    first three entries times c', these entries themselves, and the fourth.  The three rows of 13 are, up to a
    factor, the null vector of two equations per reading.
    """
    if len(R) < FEWEST_PIXELS:
        raise InputError(
            f"{len(R)} readings of '{measure.name}' are too few to initialise a camera; at least {FEWEST_PIXELS} "
            "are needed"
        )
    known = np.concatenate([R.reshape(-1, 9), p, np.ones((len(R), 1))], axis=1)
    size = np.sqrt(np.mean(known**2, axis=0))
    unit, rays, nothing = known / size, _rays(measure), np.zeros_like(known)
    A = np.concatenate(
        [
            np.concatenate([unit, nothing, -rays[:, :1] * unit], axis=1),
            np.concatenate([nothing, unit, -rays[:, 1:] * unit], axis=1),
        ]
    )
    W = np.linalg.svd(A, full_matrices=False)[2][-1].reshape(3, 13) / size
    P = W[:, 9:12]
    factor = np.cbrt(np.linalg.det(P))
    c = np.einsum("ia,iab->b", P, W[:, :9].reshape(3, 3, 3)) / np.sum(P**2)
    return _rotation(P / factor), np.asarray(W[:, 12] / factor), np.asarray(c)
