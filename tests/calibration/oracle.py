"""Which corrections a kind of measurement shows, counted another way: readings in complex arithmetic, all columns.

Nothing here uses the Jacobians, rules or retained columns of the package: readings are differentiated by a complex
step with respect to six corrections a frame and the unknowns of the measurement, at postures of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minertia.identification.geometry.chain import Array, Chain

STEP = 1e-30  # of a derivative in complex arithmetic, which has no rounding error of differences
SHOWN = 1e-9  # of the largest singular value
TIMES = 6  # postures that reach a place together
PLACES = {3: 300}  # by number of joints: with three, few places are reached in more than two postures
FEWER_PLACES = 20  # with more joints
LEVERS = np.array([[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [-0.1, 0.05, 0.1]])  # m: several points of the tool
CAMERA_AT = np.array([0.3, 0.2, 7.0])  # m: where the root is before a fixed camera


@dataclass(frozen=True)
class Columns:
    """Derivatives of readings: A (M, 6 (n + 1)) by all corrections, own (M, K) by what else is unknown."""

    A: Array
    own: Array


class Oracle:
    """Readings of a chain at random postures."""

    def __init__(self, chain: Chain, kind: str, seed: int) -> None:
        self.chain, self.kind, self.rng = chain, kind, np.random.default_rng(seed)
        hinge = np.array(chain.is_hinge)
        N = 150 if kind in ("plane", "distance", "distance_between") else 90
        self.q = self.rng.uniform(-1, 1, (N, chain.n)) * np.where(hinge, np.pi, 0.5)
        self.own = self._own()

    def _own(self) -> Array:
        """What else is unknown: points of the tool, fixed points, or a plane."""
        rng = self.rng
        if self.kind == "same_point":
            self.q, place = self._bound()
            self.first = np.unique(place, return_index=True)[1][place]
            return np.zeros(0)
        if self.kind in ("distance", "pixel_tool"):
            self.number = rng.integers(0, 4, len(self.q))
            return rng.normal(scale=2.0, size=(4, 3))
        if self.kind == "plane":
            return rng.normal(size=4)
        return LEVERS.copy() if self.kind == "points" else np.zeros(0)

    def _tool(self, q: Array, xi: Array | None = None) -> Array:
        """Tool poses (..., N, 4, 4); xi (C, n + 1, 6): corrections, in first order."""
        P = self.chain.nominal.astype(complex)
        if xi is not None:
            P = P @ (np.eye(4) + _twists(xi))
        T = np.broadcast_to(np.eye(4, dtype=complex), (*P.shape[:-3], len(q), 4, 4))
        for j in range(self.chain.n):
            T = T @ P[..., None, j, :, :] @ self._motion(j, q[:, j])
        T = T @ P[..., None, -1, :, :]
        return T if xi is not None else T.real

    def _motion(self, j: int, q: Array) -> Array:
        M = np.broadcast_to(np.eye(4), (len(q), 4, 4)).copy()
        if self.chain.is_hinge[j]:
            M[:, 0, 0] = M[:, 1, 1] = np.cos(q)
            M[:, 1, 0], M[:, 0, 1] = np.sin(q), -np.sin(q)
        else:
            M[:, 2, 3] = q
        return M

    def _bound(self) -> tuple[Array, Array]:
        """Postures that reach one of some places, and the place of each, by damped Newton steps of their own."""
        places = PLACES.get(self.chain.n, FEWER_PLACES)
        q = self.rng.uniform(-1, 1, (places, TIMES, self.chain.n)) * np.where(self.chain.is_hinge, np.pi, 0.5)
        q = np.where(np.arange(TIMES)[:, None] == 0, q, self.rng.permuted(q, axis=0))
        goal = np.repeat(self._tool(q[:, 0])[:, :3, 3], TIMES, axis=0)
        flat, left = q.reshape(-1, self.chain.n), np.arange(places * TIMES)
        for _ in range(60):
            miss = goal[left] - self._tool(flat[left])[:, :3, 3]
            far = np.linalg.norm(miss, axis=1) > 2e-15
            left, miss = left[far], miss[far]
            if not len(left):
                break
            J = np.stack([self._slope(flat[left], j) for j in range(self.chain.n)], axis=2)
            damping = np.minimum(1e-2, (miss**2).sum(axis=1))[:, None, None] * np.eye(3)
            inverse = np.linalg.pinv(J @ np.swapaxes(J, 1, 2) + damping, rcond=1e-12, hermitian=True)
            flat[left] += np.clip(np.einsum("mij,mi->mj", J, _times(inverse, miss)), -0.5, 0.5)
        place = np.repeat(np.arange(places), TIMES)
        good = np.linalg.norm(goal - self._tool(flat)[:, :3, 3], axis=1) < 1e-13
        flat, place = flat[good], place[good]
        kept = np.bincount(place, minlength=places)[place] > 1
        return flat[kept], np.unique(place[kept], return_inverse=True)[1]

    def _slope(self, q: Array, j: int) -> Array:
        moved = q.astype(complex)
        moved[:, j] += 1j * STEP
        P, T = self.chain.nominal, np.eye(4, dtype=complex)
        for k in range(self.chain.n):
            T = T @ P[k] @ _complex_motion(self.chain.is_hinge[k], moved[:, k])
        return (T @ P[-1])[:, :3, 3].imag / STEP

    def _read(self, T: Array, own: Array) -> Array:
        """Readings (..., M) at tool poses (..., N, 4, 4), with unknowns (..., K, 3)."""
        x, R = T[..., :3, 3], T[..., :3, :3]
        flat = lambda y: y.reshape(*y.shape[: y.ndim - 2], -1)  # noqa: E731
        whole = lambda y: flat(y.reshape(*y.shape[:-2], 9))  # noqa: E731
        kind = self.kind
        if kind == "points":
            return np.concatenate([flat(x + _times(R, own[..., None, k, :])) for k in range(len(LEVERS))], axis=-1)
        if kind == "pose":
            return np.concatenate([flat(x), whole(R)], axis=-1)
        if kind == "orientation":
            return whole(R)
        if kind == "direction":
            return flat(-R[..., 2, :])
        if kind == "pixel":
            y = x + CAMERA_AT
            return flat(y[..., :2] / y[..., 2:])
        if kind == "pixel_tool":
            y = _times(np.swapaxes(R, -1, -2), own[..., self.number, :] - x)
            return flat(y[..., :2] / y[..., 2:] * (y[..., 2:].real / np.linalg.norm(y.real, axis=-1)[..., None]) ** 2)
        if kind == "distance":
            return np.sqrt(((x - own[..., self.number, :]) ** 2).sum(axis=-1))
        if kind == "distance_between":
            return ((x[..., 1::2, :] - x[..., ::2, :]) ** 2).sum(axis=-1)  # squared: a tip may stay where it is
        if kind == "plane":
            normal = own[..., :3] / np.sqrt((own[..., :3] ** 2).sum(axis=-1))[..., None]
            return (x * normal[..., None, :]).sum(axis=-1) - own[..., 3:]
        return flat(x - x[..., self.first, :] if kind == "same_point" else x)  # without where its places are

    @property
    def values(self) -> dict[str, float]:
        """Values of the symbols in relations: those of the robot, and the position of frame 1 in the camera."""
        P = self.chain.nominal[0]
        place = P[:3, :3].T @ (P[:3, 3] + CAMERA_AT)
        return {**self.chain.robot.symbol_values, **dict(zip(("xc", "yc", "zc"), place.tolist(), strict=True))}

    def columns(self) -> Columns:
        """Derivatives of all readings."""
        C, K = 6 * (self.chain.n + 1), self.own.size
        xi = (1j * STEP * np.eye(C)).reshape(C, -1, 6)
        still = np.broadcast_to(self.own, (C, *self.own.shape))
        A = self._read(self._tool(self.q, xi), still).imag.T / STEP
        if not K:
            return Columns(A, np.zeros((len(A), 0)))
        moved = self.own + (1j * STEP * np.eye(K)).reshape(K, *self.own.shape)
        T = np.broadcast_to(self._tool(self.q), (K, len(self.q), 4, 4))
        return Columns(A, self._read(T, moved).imag.T / STEP)


def _complex_motion(turns: bool, q: Array) -> Array:
    M = np.broadcast_to(np.eye(4, dtype=complex), (len(q), 4, 4)).copy()
    if turns:
        M[:, 0, 0] = M[:, 1, 1] = np.cos(q)
        M[:, 1, 0], M[:, 0, 1] = np.sin(q), -np.sin(q)
    else:
        M[:, 2, 3] = q
    return M


def _times(R: Array, v: Array) -> Array:
    return np.einsum("...ij,...j->...i", R, v)


def _twists(xi: Array) -> Array:
    X = np.zeros((*xi.shape[:-1], 4, 4), complex)
    X[..., :3, 3] = xi[..., :3]
    for row, column, axis, sign in ((2, 1, 3, 1), (0, 2, 4, 1), (1, 0, 5, 1)):
        X[..., row, column], X[..., column, row] = sign * xi[..., axis], -sign * xi[..., axis]
    return X


def rank(*parts: Array) -> int:
    """Rank of columns side by side, each scaled to unit length; a small gap of singular values is refused."""
    A = np.concatenate(parts, axis=1)
    lengths = np.linalg.norm(A, axis=0)
    A = A[:, lengths > SHOWN * max(lengths.max(initial=0.0), 1e-3)]
    if not A.size:
        return 0
    s = np.linalg.svd(A / np.linalg.norm(A, axis=0), compute_uv=False)
    found = int((s > SHOWN * s[0]).sum())
    assert found == len(s) or s[found - 1] > 1e2 * s[found], s[found - 1 : found + 1]
    return found


def outside(columns: Array, *span: Array) -> float:
    """Largest part of a column that the span does not hold, relative to the longest column."""
    if not columns.size:
        return 0.0
    S = np.concatenate(span, axis=1)
    lengths = np.linalg.norm(S, axis=0)
    S = S[:, lengths > SHOWN * max(lengths.max(initial=0.0), 1e-3)]
    U, s, _ = np.linalg.svd(S / np.linalg.norm(S, axis=0), full_matrices=False) if S.size else (S, np.zeros(0), S)
    U = U[:, s > SHOWN * s.max(initial=0.0)]
    left = columns - U @ (U.T @ columns)
    return float(np.linalg.norm(left, axis=0).max())
