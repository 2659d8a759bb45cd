"""Sections 2 to 4 of Khosla 1987 on numbers: Newton-Euler in classic frames, its properties, and the 6 x 6 form."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.codegen.compiled import COMPILERS, call, library

from minertia.codegen.compiled import program
from minertia.codegen.generate import generate
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.estimators.recursive import OnlineState
from minertia.identification.signals.filtering import DERIVATIVES
from minertia.identification.signals.options import Filter
from minertia.robot.inertia import symmetric
from papers.khosla_arm import A1, A2, D4, ESTIMATED, TWISTS, arm, bodies
from papers.khosla_runs import PERIOD

Array = NDArray[np.float64]
Z0 = np.array([0.0, 0.0, 1.0])
GRAVITY = np.array([0.0, 0.0, 9.81])  # of the base, upwards, which stands for gravity [m/s2]
STATES = 20


@dataclass(frozen=True)
class Link:
    """A link in its classic frame: kind "R" or "T", twist, length, offset; mass, centre of mass, inertia about it."""

    kind: str
    alpha: float
    a: float
    d: float
    mass: float
    s: Array
    inertia: Array

    def placed(self, q: float) -> tuple[Array, Array]:
        """A_i and p_i of table 1: turn from frame i to i - 1, and the origin of frame i from i - 1, in frame i."""
        t, d = (q, self.d) if self.kind == "R" else (0.0, self.d + q)
        (c, s), (ca, sa) = (np.cos(t), np.sin(t)), (np.cos(self.alpha), np.sin(self.alpha))
        A = np.array([[c, -ca * s, sa * s], [s, ca * c, -sa * c], [0, sa, ca]])
        return A, np.array([self.a, d * sa, d * ca])

    @property
    def about_frame(self) -> Array:
        """Inertia about the frame's origin by Steiner's law (10)."""
        return self.inertia + self.mass * (self.s @ self.s * np.eye(3) - np.outer(self.s, self.s))


@dataclass(frozen=True)
class Motion:
    """What the forward recursion (1) to (3) gives of one link, in its frame."""

    A: Array
    p: Array
    w: Array
    wd: Array
    vd: Array

    @property
    def turning(self) -> Array:
        """[wd x] + [w x][w x]."""
        return cross(self.wd) + cross(self.w) @ cross(self.w)


def cross(v: Array) -> Array:
    """[v x]."""
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def forward(links: Sequence[Link], q: Array, qd: Array, qdd: Array) -> list[Motion]:
    """(1) to (3)."""
    w, wd, vd, found = np.zeros(3), np.zeros(3), GRAVITY, []
    for k, link in enumerate(links):
        A, p = link.placed(float(q[k]))
        if link.kind == "R":
            w, wd = A.T @ (w + Z0 * qd[k]), A.T @ (wd + Z0 * qdd[k] + np.cross(w, Z0 * qd[k]))
            own = np.zeros(3)
        else:
            own = A.T @ (Z0 * qdd[k] + 2 * np.cross(w, Z0 * qd[k]))
            w, wd = A.T @ w, A.T @ wd
        vd = A.T @ vd + own + np.cross(wd, p) + np.cross(w, np.cross(w, p))
        found.append(Motion(A, p, w, wd, vd))
    return found


def newton_euler(links: Sequence[Link], q: Array, qd: Array, qdd: Array) -> Array:
    """Efforts by (4) to (9)."""
    motions, f, n = forward(links, q, qd, qdd), np.zeros(3), np.zeros(3)
    tau = np.zeros(len(links))
    for k in reversed(range(len(links))):
        link, m = links[k], motions[k]
        F = link.mass * (m.turning @ link.s + m.vd)
        N = link.inertia @ m.wd + np.cross(m.w, link.inertia @ m.w)
        behind = motions[k + 1].A if k + 1 < len(links) else np.eye(3)
        f, n = behind @ f + F, behind @ n
        n = n + np.cross(m.p, f) + N + np.cross(link.s, F)
        tau[k] = (n if link.kind == "R" else f) @ (m.A.T @ Z0)
    return tau


# ---------------------------------------------------------------------- the 6 x 6 form, (14) to (18)


def kinematic_matrix(m: Motion) -> Array:
    """K_i (6, 10): force and moment of link i per unit of mass, first moments and inertia about the frame's origin."""
    K = np.zeros((6, 10))
    K[:3, 0], K[:3, 1:4] = m.vd, m.turning
    K[3:, 0] = np.cross(m.p, m.vd)
    K[3:, 1:4] = cross(m.p) @ m.turning - cross(m.vd)
    K[3:, 4:] = _times(m.wd) + cross(m.w) @ _times(m.w)
    return K


def _times(w: Array) -> Array:
    """[. w]: I w as a product with (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)."""
    x, y, z = w
    return np.array([[x, y, z, 0, 0, 0], [0, x, 0, y, z, 0], [0, 0, x, 0, y, z]])


def pseudo_rotation(m: Motion, behind: Motion) -> Array:
    """R_{i+1} of (16): g_i = R_{i+1} g_{i+1} + G_i."""
    R = np.zeros((6, 6))
    R[:3, :3] = R[3:, 3:] = behind.A
    R[3:, :3] = cross(m.p) @ behind.A
    return R


def blocks(links: Sequence[Link], q: Array, qd: Array, qdd: Array) -> Array:
    """The triangular matrix of blocks R_ij K_j, (6 N, 10 N): all g from all parameters."""
    motions, n = forward(links, q, qd, qdd), len(links)
    whole = np.zeros((6 * n, 10 * n))
    for j in range(n):
        block = kinematic_matrix(motions[j])
        for i in range(j, -1, -1):
            whole[6 * i : 6 * i + 6, 10 * j : 10 * j + 10] = block
            if i:
                block = pseudo_rotation(motions[i - 1], motions[i]) @ block
    return whole


def selected(links: Sequence[Link], q: Array, whole: Array) -> Array:
    """M of (18): the row of each g_i along its joint, (17)."""
    rows = []
    for i, link in enumerate(links):
        u = link.placed(float(q[i]))[0].T @ Z0
        start = 6 * i + (3 if link.kind == "R" else 0)
        rows.append(u @ whole[start : start + 3])
    return np.array(rows)


def parameters(links: Sequence[Link]) -> Array:
    """phi (10 N): mass, first moments, inertia about the frame's origin, link by link."""
    found = []
    for link in links:
        J = link.about_frame
        found += [link.mass, *(link.mass * link.s), J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2]]
    return np.array(found)


def six_links() -> list[Link]:
    """The arm of tables 2 to 4 in its classic frames."""
    found = []
    lengths, offsets = (A1, A2, 0, 0, 0, 0), (0, 0, 0, D4, 0, 0)
    for body, twist, a, d in zip(bodies(ESTIMATED, 6), TWISTS, lengths, offsets, strict=True):
        ten = np.array(body.possible)
        s, mass = ten[6:9] / ten[9], float(ten[9])
        J = np.array(symmetric(ten[:6].tolist()), float)
        inertia = J - mass * (s @ s * np.eye(3) - np.outer(s, s))
        found.append(Link("R", float(np.radians(twist)), a, d, mass, s, inertia))
    return found


def _states(n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (STATES, 3, n))


@dataclass(frozen=True)
class Form:
    """The 6 x 6 form of the six-joint arm: errors over the largest effort, rank, and what mass alone adds to moments.

    recursion, matrix: of (4) to (9), and of (18), to the product's inverse dynamics.  below: largest entry under the
    blocks.  rank: of M at many states.  mass: largest effort error without the element (2, 1) of every K_i.
    """

    recursion: float
    matrix: float
    below: float
    rank: int
    mass: float


def six_by_six() -> Form:
    """Computed at random states."""
    links, robot = six_links(), arm(ESTIMATED, 6)
    states, phi = _states(6), parameters(links)
    tau = inverse_dynamics(robot, *states.transpose(1, 0, 2))
    size, stacked, gaps, below, without = float(np.abs(tau).max()), [], [], 0.0, []
    for (q, qd, qdd), known in zip(states, tau, strict=True):
        whole = blocks(links, q, qd, qdd)
        M = selected(links, q, whole)
        stacked.append(M)
        gaps.append((np.abs(newton_euler(links, q, qd, qdd) - known).max(), np.abs(M @ phi - known).max()))
        below = max(below, *(float(np.abs(whole[6 * j + 6 :, 10 * j : 10 * j + 10]).max(initial=0)) for j in range(6)))
        without.append(np.abs(_without_mass(links, q, qd, qdd) @ phi - known).max())
    worst = np.max(gaps, axis=0) / size
    rank = int(np.linalg.matrix_rank(np.vstack(stacked), tol=1e-9))
    return Form(float(worst[0]), float(worst[1]), below, rank, float(np.max(without) / size))


def _without_mass(links: Sequence[Link], q: Array, qd: Array, qdd: Array) -> Array:
    """M where the element (2, 1) of every K_i is zero."""
    motions, n = forward(links, q, qd, qdd), len(links)
    whole = np.zeros((6 * n, 10 * n))
    for j in range(n):
        block = kinematic_matrix(motions[j])
        block[3:, 0] = 0.0
        for i in range(j, -1, -1):
            whole[6 * i : 6 * i + 6, 10 * j : 10 * j + 10] = block
            if i:
                block = pseudo_rotation(motions[i - 1], motions[i]) @ block
    return selected(links, q, whole)


# ---------------------------------------------------------------------- properties 1 to 4


def mixed_links(kinds: str = "RTRR", seed: int = 2) -> list[Link]:
    """A chain of general geometry with random links."""
    rng = np.random.default_rng(seed)
    found = []
    for kind in kinds:
        B = rng.normal(size=(3, 3))
        alpha, a, d = rng.uniform(0.3, 1.0, 3)
        found.append(Link(kind, alpha, a, d, float(rng.uniform(1, 3)), rng.uniform(-0.3, 0.3, 3), B @ B.T * 0.05))
    return found


Change = Callable[[Link, float], Link]
STEP = np.array([[0.03, 0.01, 0.02], [0.01, 0.02, 0.01], [0.02, 0.01, 0.04]])


def _inertia(link: Link, x: float) -> Link:
    return replace(link, inertia=link.inertia + x * STEP)


def _centre(link: Link, x: float) -> Link:
    return replace(link, s=link.s + x * np.array([0.1, -0.2, 0.15]))


def _centre_about_frame(link: Link, x: float) -> Link:
    """The centre of mass changes while the inertia about the frame's origin stays."""
    moved = _centre(link, x)
    return replace(moved, inertia=moved.inertia + link.about_frame - moved.about_frame)


def _length(link: Link, x: float) -> Link:
    return replace(link, a=link.a + 0.2 * x, d=link.d - 0.1 * x)


def _mass(link: Link, x: float) -> Link:
    return replace(link, mass=link.mass + x)


def bend(change: Change, link: int, kinds: str) -> float:
    """Largest second difference of the efforts of joints of these kinds, over the largest first one."""
    links = mixed_links()
    rows = [k for k, each in enumerate(links) if each.kind in kinds]
    second, first = 0.0, 0.0
    for q, qd, qdd in _states(len(links), 1):
        low, middle, high = (
            newton_euler([change(each, x) if k == link else each for k, each in enumerate(links)], q, qd, qdd)
            for x in (-1.0, 0.0, 1.0)
        )
        second = max(second, float(np.abs(high - 2 * middle + low)[rows].max()))
        first = max(first, float(np.abs(high - low).max()))
    return second / first


def reach(change: Change, link: int) -> float:
    """Largest change of the efforts of joints behind a link, over the largest change."""
    links = mixed_links()
    behind, whole = 0.0, 0.0
    for q, qd, qdd in _states(len(links), 1):
        gap = newton_euler([change(x, 1.0) if k == link else x for k, x in enumerate(links)], q, qd, qdd)
        gap = np.abs(gap - newton_euler(links, q, qd, qdd))
        behind, whole = max(behind, float(gap[link + 1 :].max())), max(whole, float(gap.max()))
    return behind / whole


def properties() -> list[tuple[str, str, float, bool]]:
    """(property, what is measured, its size, whether the paper says that it is zero)."""
    last = 2
    return [
        ("1: linear in I about the centre of mass", "second difference, all joints", bend(_inertia, last, "RT"), True),
        ("2: not linear in s, rotational joints", "second difference, R", bend(_centre, last, "R"), False),
        ("2: linear in s, translational joints", "second difference, T", bend(_centre, last, "T"), True),
        ("(10): linear in s, I about the frame", "second difference, all", bend(_centre_about_frame, last, "RT"), True),
        ("3: not linear in p", "second difference, all joints", bend(_length, last, "RT"), False),
        ("4: joints behind link i without its I", "change behind link 2", reach(_inertia, 1), True),
        ("4: joints behind link i without its mass", "change behind link 2", reach(_mass, 1), True),
    ]  # fmt: skip


# ---------------------------------------------------------------------- the causal differentiator


def causal_error(samples: int = 200) -> tuple[float, float]:
    """The compiled C program against the formula of section 5.1: largest difference over the largest derivative.

    The program sees the last five samples of a velocity with noise, as a controller does.  The second number is the
    deviation of its derivative over that of the exact five-point program.
    """
    robot, rng = arm(ESTIMATED, 2), np.random.default_rng(0)
    t, w = np.arange(samples) * PERIOD, 2 * np.pi * 5.0
    x = np.sin(w * t)[:, None] * [1.0, 0.5] + 0.01 * rng.normal(size=(samples, 2))
    inputs = {
        "window": np.stack([x[k : samples - 4 + k] for k in range(5)], axis=1),
        "period": np.full((samples - 4, 1), PERIOD),
    }
    names = ("parabola_differentiator", "differentiator")
    with tempfile.TemporaryDirectory() as folder:
        generate(robot, folder, programs=names)
        stem = next(Path(folder).glob("*.h")).stem
        built = library(Path(folder), stem, COMPILERS[0])
        found = [call(built, stem, program(robot, name), inputs)["qd"] for name in names]
    offline = DERIVATIVES["parabola"](x, PERIOD, Filter())[2:-2]
    exact = w * np.cos(w * t[2:-2])[:, None] * [1.0, 0.5]
    gap = float(np.abs(found[0] - offline).max() / np.abs(offline).max())
    parabola, quartic = (float(np.std(derivative - exact)) for derivative in found)
    return gap, parabola / quartic


# ---------------------------------------------------------------------- deviations under forgetting


def stated_over_found(forgetting: float, runs: int = 300, samples: int = 150) -> float:
    """Deviation that a recursive estimator states over the spread of its values, in white noise."""
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(samples, 1, 2))
    values, stated = [], np.zeros(2)
    for _ in range(runs):
        state = OnlineState(2, np.ones(1), forgetting=forgetting)
        for row in Y:
            state.update(row, row @ [1.0, -2.0] + rng.normal(size=1))
        values.append(state.beta)
        stated = np.sqrt(np.diag(state.covariance))
    return float(np.mean(stated / np.std(values, axis=0)))
