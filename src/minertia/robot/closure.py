"""Closing of loops on numbers: how far cut joints are from closed, its derivative, and Newton's steps to closed.

Positions are those of every joint of the tree, shape (..., n_joints), so that one call serves a batch.
The equations of a cut are those of its kind (`CUT_KINDS`); frames A and B are its first and second pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.vec3 import Pose
from minertia.robot.loop import Cut
from minertia.robot.robot import Robot

Array = NDArray[np.float64]

STEPS = 60
LARGEST_STEP = 0.5  # rad or m: of one step of Newton
CLOSED = 1e-10  # what is left of the equations [m or rad] where a loop counts as closed
CUTOFF = 1e-9  # singular values below this part of the largest are none
# pairs of axes (of A, of B) that stay normal to one another
AXES: dict[str, tuple[tuple[int, int], ...]] = {
    "revolute": ((0, 2), (1, 2)),
    "prismatic": ((0, 2), (1, 2), (0, 1)),
    "spherical": (),
    "fixed": ((0, 2), (1, 2), (0, 1)),
}


class Frames(NamedTuple):
    """Poses in the frame of the base: rotations (..., k, 3, 3) and origins (..., k, 3)."""

    R: Array
    p: Array


class CutFrames(NamedTuple):
    """Both frames of a cut in the frame of the base: rotations (..., 3, 3), origins (..., 3)."""

    R_a: Array
    p_a: Array
    R_b: Array
    p_b: Array


def joint_frames(robot: Robot, q: ArrayLike) -> Frames:
    """Pose of every joint frame; q: position of every joint, shape (..., n_joints) [rad or m]."""
    given = np.asarray(q, float)
    rotations: list[Array] = []
    origins: list[Array] = []
    placements = robot.placement_arrays
    for j, joint in enumerate(robot.joints):
        R, p = placements[j]
        position = given[..., j]
        if joint.kind == "prismatic":
            p = p + position[..., None] * R[:, 2]
        else:
            R = R @ _turned(position)
        if joint.parent is not None:
            above = rotations[joint.parent]
            p = origins[joint.parent] + np.einsum("...ij,...j->...i", above, p)
            R = above @ R
        rotations.append(np.broadcast_to(R, (*given.shape[:-1], 3, 3)))
        origins.append(np.broadcast_to(p, (*given.shape[:-1], 3)))
    return Frames(np.stack(rotations, axis=-3), np.stack(origins, axis=-2))


def cut_frames(robot: Robot, frames: Frames, cut: Cut) -> CutFrames:
    """Both frames of a cut where the joint frames are these."""
    cut = cut.at(robot.symbol_values) if robot.has_letters else cut
    return CutFrames(*_placed(frames, cut.first, cut.first_pose), *_placed(frames, cut.second, cut.second_pose))


def residual(robot: Robot, q: ArrayLike, cuts: Sequence[Cut] | None = None) -> Array:
    """What is left of the equations of the cuts (by default the open ones), (..., equations); 0 where they are closed.

    Rows of a cut: its origins (3; of a slider 2, across its axis), then one for each pair in `AXES` [m and rad].
    """
    return _residual(robot, joint_frames(robot, q), robot.open_cuts if cuts is None else cuts)


def jacobian(robot: Robot, q: ArrayLike, cuts: Sequence[Cut] | None = None) -> Array:
    """Derivative of `residual` by the position of every joint, (..., equations, n_joints); followers count as free."""
    return _jacobian(robot, joint_frames(robot, q), robot.open_cuts if cuts is None else cuts)


def _residual(robot: Robot, frames: Frames, cuts: Sequence[Cut]) -> Array:
    rows = [_rows(cut, cut_frames(robot, frames, cut)) for cut in cuts]
    return np.concatenate([*rows, np.zeros((*frames.p.shape[:-2], 0))], axis=-1)


def _jacobian(robot: Robot, frames: Frames, cuts: Sequence[Cut]) -> Array:
    rows = [_derivatives(robot, frames, cut) for cut in cuts]
    return np.concatenate([*rows, np.zeros((*frames.p.shape[:-2], 0, robot.n_joints))], axis=-2)


def follower_map(robot: Robot) -> tuple[Array, Array]:
    """S and c with positions of all joints = S u + c, u: those of the joints that follow no other, passive ones too."""
    tree = robot.opened
    S, c = np.zeros((tree.n_joints, tree.n)), np.zeros(tree.n_joints)
    for j, joint in enumerate(tree.joints):
        for k, ratio in tree.shares(j):
            S[j, k] += float(ratio)  # type: ignore[arg-type]
        c[j] = 0.0 if joint.follows is None else joint.follows.offset
    return S, c


def close(
    robot: Robot, start: ArrayLike, held: Sequence[int] = (), cuts: Sequence[Cut] | None = None
) -> tuple[Array, float]:
    """Positions of all joints near `start` at which the cuts close, and the largest equation left.

    held: joints that keep their position.  Newton's steps of least length, until they do not improve any more.
    """
    q, left = close_many(robot, np.asarray(start, float)[None], held, cuts)
    return q[0], float(left[0])


def close_many(
    robot: Robot, starts: Array, held: Sequence[int] = (), cuts: Sequence[Cut] | None = None
) -> tuple[Array, Array]:
    """`close` from each of the starts, (starts, n_joints): closed positions, and the largest equation left of each."""
    S, c = follower_map(robot)
    chosen = [cut.at(robot.symbol_values) for cut in (robot.open_cuts if cuts is None else cuts)]
    free = list(robot.opened.independent)
    moving = [k for k, j in enumerate(free) if j not in held]
    u = starts[:, free]
    best, left = u @ S.T + c, np.full(len(u), np.inf)
    going = np.arange(len(u))
    for _ in range(STEPS):
        q = u[going] @ S.T + c
        frames = joint_frames(robot, q)
        r = _residual(robot, frames, chosen)
        now = np.abs(r).max(axis=-1, initial=0.0)
        better = now < left[going]  # what is not a number is none
        best[going[better]], left[going[better]] = q[better], now[better]
        going = going[better]
        if not len(going):
            break
        A = (_jacobian(robot, frames, chosen) @ S[:, moving])[better]
        step = -np.einsum("sij,sj->si", np.linalg.pinv(A, rcond=CUTOFF), r[better])
        step *= np.minimum(1.0, LARGEST_STEP / np.maximum(np.abs(step).max(axis=1, initial=0.0), 1e-300))[:, None]
        u[np.ix_(going, moving)] += step
    return best, left


def motions_left(A: Array, cutoff: float) -> Array:
    """Motions that equations A leave, one per column: its null space, singular values below the cutoff being none."""
    _, values, V = np.linalg.svd(A)
    rank = int(np.sum(values > cutoff * max(float(values.max(initial=0.0)), 1e-300)))
    return np.asarray(V[rank:].T)


# ---------------------------------------------------------------------- one cut


def _rows(cut: Cut, at: CutFrames) -> Array:
    off = at.p_a - at.p_b
    if cut.kind == "prismatic":
        off = np.stack([_dot(at.R_b[..., k], off) for k in (0, 1)], axis=-1)
    axes = [_dot(at.R_a[..., a], at.R_b[..., b]) for a, b in AXES[cut.kind]]
    return np.concatenate([off, *(row[..., None] for row in axes)], axis=-1)


def _derivatives(robot: Robot, frames: Frames, cut: Cut) -> Array:
    at = cut_frames(robot, frames, cut)
    v_a, w_a = point_jacobian(robot, frames, cut.first, at.p_a)
    v_b, w_b = point_jacobian(robot, frames, cut.second, at.p_b)
    v, w = v_a - v_b, w_a - w_b
    if cut.kind == "prismatic":
        rows = [_across(at.R_b[..., k], at.p_a - at.p_b, v, w_b)[..., None, :] for k in (0, 1)]
    else:
        rows = [v]
    for a, b in AXES[cut.kind]:
        normal = np.cross(at.R_a[..., a], at.R_b[..., b])
        rows.append(np.einsum("...i,...ij->...j", normal, w)[..., None, :])
    return np.concatenate(rows, axis=-2)


def _across(e: Array, off: Array, v: Array, w_b: Array) -> Array:
    """Derivative of e . off, where e turns with B."""
    turned = np.einsum("...i,...ij->...j", np.cross(e, off), w_b)
    return np.asarray(np.einsum("...i,...ij->...j", e, v) + turned)


def point_jacobian(robot: Robot, frames: Frames, j: int | None, point: Array) -> tuple[Array, Array]:
    """Velocity of a point of the link of joint j and its angular velocity for unit rates, (..., 3, n_joints) each."""
    shape = (*point.shape[:-1], 3, robot.n_joints)
    v, w = np.zeros(shape), np.zeros(shape)
    for k in () if j is None else robot.ancestors(j):
        axis = frames.R[..., k, :, 2]
        if robot.joints[k].kind == "prismatic":
            v[..., k] = axis
        else:
            v[..., k] = np.cross(axis, point - frames.p[..., k, :])
            w[..., k] = axis
    return v, w


def _placed(frames: Frames, j: int | None, pose: Pose) -> tuple[Array, Array]:
    R, p = _arrays(pose)
    if j is None:
        shape = frames.p.shape[:-2]
        return np.broadcast_to(R, (*shape, 3, 3)), np.broadcast_to(p, (*shape, 3))
    above = frames.R[..., j, :, :]
    return above @ R, frames.p[..., j, :] + np.einsum("...ij,j->...i", above, p)


def _arrays(pose: Pose) -> tuple[Array, Array]:
    return np.array([[float(s) for s in row] for row in pose[0]]), np.array([float(s) for s in pose[1]])  # type: ignore[arg-type]


def _turned(angle: Array) -> Array:
    found = np.zeros((*angle.shape, 3, 3))
    found[..., 0, 0] = found[..., 1, 1] = np.cos(angle)
    found[..., 1, 0] = np.sin(angle)
    found[..., 0, 1] = -found[..., 1, 0]
    found[..., 2, 2] = 1.0
    return found


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.sum(a * b, axis=-1))
