"""Rows of the fitted logs under alternative set-ups: residuals with the file's masses, and with refitted masses.

A fit with free parameters explains much that is wrong: efforts in another unit, or a robot mounted upside
down.  The masses of the robot file cannot adapt, and with the right set-up their relative residual is some
tenths at most. Friction and rotor inertia, which files seldom contain, are fitted in both cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.loops.closing import closing_of
from minertia.dynamics.model import inverse_dynamics, torque_regressor
from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.log_noise import white_noise
from minertia.identification.evidence.remainders import (
    JointEffects,
    constant,
    fitted,
    least_left,
    root_mean_square,
    within_bounds,
    without,
)
from minertia.identification.evidence.slides import Slide, slide_of
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.rows import LogMotion, blocks_of
from minertia.identification.problem.terms import Term
from minertia.identification.signals.filtering import Motion, low_pass
from minertia.io.errors import InputError
from minertia.robot.effect import JointState
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
ROWS = 600  # samples of all logs together: a few hundred tell set-ups apart whose residuals differ by a factor
BLOCKS = 2  # of a log in blocks that are looked at
LONGEST_DELAY = 0.4  # s
SLOW = (0.02, 0.15)  # of the highest speed: below the one Coulomb friction turns round, sharply or smoothly
TOGETHER = 64  # set-ups that go through the recursion together
NUMBERS = 4_000_000  # numbers of the columns that are made together, at most, but those of
FEW_TOGETHER = 8  # set-ups
PART = 40  # rows of a part of a log
FEWEST = 40  # samples below which nothing is tried
GAINS = np.geomspace(0.25, 4.0, 25)  # of one joint's effort that are tried
LARGEST = 1e9  # position, rate or effort in SI units beyond which nothing is computed with it
MOST_JOINTS = 10  # whose columns and zeros are tried: of more, those of which the masses, or a fit, leave most
SLIDES = 0.1  # of a joint's varying effort: how much an unusual offset of a slide counts where gravity is fitted


@dataclass(frozen=True)
class Setup:
    """Interpretation of joints, efforts, clock and gravity relative to the campaign; unchanged by default.

    order, effort_order: for each coordinate, the index of the coordinate whose columns, or whose effort, it
    uses. units: factor that converts each coordinate's position to rad or m.  signs: signs of positions and
    efforts; effort_signs: signs of efforts; offsets: offsets of positions [rad or m]; scales: factors of
    efforts; each per coordinate, applied like those of a drive.  gravity [m/s2]: None for that of the robot.
    clock: true seconds in a second of the log.  delay [s]: delay of efforts relative to positions; drift:
    increase of the delay per second of a log; late [s]: additional delay of each coordinate.  coupled (a, b,
    c): the columns of coordinate b are those of a motor whose position is q_b + c q_a.  lengths: factor of
    every length between the joints of the robot file.
    """

    order: tuple[int, ...] | None = None
    effort_order: tuple[int, ...] | None = None
    units: tuple[float, ...] | None = None
    signs: tuple[float, ...] | None = None
    effort_signs: tuple[float, ...] | None = None
    offsets: tuple[float, ...] | None = None
    scales: tuple[float, ...] | None = None
    gravity: tuple[float, float, float] | None = None
    clock: float = 1.0
    delay: float = 0.0
    drift: float = 0.0
    late: tuple[float, ...] | None = None
    coupled: tuple[int, int, float] | None = None
    lengths: float = 1.0


AS_STATED = Setup()


@dataclass(frozen=True)
class Left:
    """Relative residuals of the efforts without their mean, as root mean squares over the joints.

    masses: residual with the file's masses and fitted friction and rotors; None without masses.  refit:
    residual with refitted masses.  within: residual with the file's links, each adjusted within the tolerance
    assumed for a file. joints: `refit` of each joint.
    """

    masses: float | None
    refit: float
    within: float | None = None
    joints: tuple[float, ...] = ()


@dataclass(frozen=True)
class _Track:
    """Rows of one log: the motion at selected samples, and its filtered efforts at all samples."""

    rate_hz: float
    rows: NDArray[np.int64]
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    noise: Array

    def thinned(self, step: int) -> _Track:
        """Track decimated by a factor `step`."""
        q, qd, qdd = (a[::step] for a in (self.q, self.qd, self.qdd))
        return replace(self, rows=self.rows[::step], q=q, qd=qd, qdd=qdd)

    @property
    def seconds(self) -> float:
        """Duration from the first row to the last [s]."""
        return float(self.rows[-1] - self.rows[0]) / self.rate_hz

    def efforts(self, setup: Setup) -> Array:
        """Efforts at the rows, with the delay of a set-up compensated."""
        if not (setup.delay or setup.drift or setup.late):
            return np.asarray(self.tau[self.rows])
        last, late = len(self.tau) - 1, np.array(setup.late or [0.0]) * self.rate_hz
        at = self.rows[:, None] * (1 + setup.drift) + setup.delay * self.rate_hz + late
        first = np.clip(np.floor(at), 0, max(last - 1, 0)).astype(int)
        joint = np.arange(self.tau.shape[1])
        left, right = self.tau[first, joint], self.tau[np.minimum(first + 1, last), joint]
        return np.asarray(left + np.clip(at - first, 0.0, 1.0) * (right - left))


@dataclass(frozen=True)
class _Beside:
    """Basis Q (N, effects) of a joint's effects, and the link columns `shown`, those not zero, without these: Y."""

    Q: Array
    shown: NDArray[np.intp]
    Y: Array


@dataclass(frozen=True)
class Trial:
    """Rows of some logs on which set-ups are compared.

    joints: indices of the efforts that are used.  springs: effects of the campaign that depend on positions.
    in_newtons: whether efforts are in N m or N, so that they can be compared with masses.
    """

    robot: Robot
    joints: tuple[int, ...]
    tracks: tuple[_Track, ...]
    springs: tuple[Term, ...] = ()
    in_newtons: bool = True
    made: dict[Setup, Array] = field(default_factory=dict, repr=False, compare=False)
    cleared: dict[Setup, tuple[list[_Beside], Array]] = field(default_factory=dict, repr=False, compare=False)
    bases: dict[tuple[int, Setup], JointEffects] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Trial: {len(self.q)} samples of {len(self.joints)} joints>"

    @cached_property
    def q(self) -> Array:
        """Positions of all rows (N, n) [rad or m]."""
        return np.concatenate([track.q for track in self.tracks])

    @cached_property
    def qd(self) -> Array:
        """Velocities of all rows (N, n) [rad/s or m/s]."""
        return np.concatenate([track.qd for track in self.tracks])

    @cached_property
    def qdd(self) -> Array:
        """Accelerations of all rows (N, n) [rad/s2 or m/s2]."""
        return np.concatenate([track.qdd for track in self.tracks])

    def tau(self, setup: Setup = AS_STATED) -> Array:
        """Efforts of all coordinates, with the delay of a set-up compensated."""
        if not (setup.delay or setup.drift or setup.late):
            return self._logged
        return np.concatenate([track.efforts(setup) for track in self.tracks])

    @cached_property
    def _logged(self) -> Array:
        return np.concatenate([track.efforts(AS_STATED) for track in self.tracks])

    @cached_property
    def parts(self) -> list[slice]:
        """Parts of the logs that follow each other, of some rows each."""
        found, start = [], 0
        for track in self.tracks:
            ends = start + np.linspace(0, len(track.q), max(len(track.q) // PART, 1) + 1).astype(int)
            found += [slice(int(a), int(b)) for a, b in pairwise(ends)]
            start = int(ends[-1])
        return found

    @cached_property
    def tried(self) -> tuple[int, ...]:
        """Joints whose order, signs and zeros are tested."""
        if len(self.joints) <= MOST_JOINTS or not self.has_masses:
            return self.joints[:MOST_JOINTS]
        worst = np.argsort(-self.of_masses()[0], kind="stable")[:MOST_JOINTS]
        return tuple(sorted(self.joints[k] for k in worst))

    @cached_property
    def sizes(self) -> Array:
        """Standard deviation of each coordinate's effort [N m or N]."""
        return np.asarray(np.std(self.tau(), axis=0))

    @cached_property
    def noise(self) -> Array:
        """Noise of each coordinate's effort in the fitted band, estimated from its high frequencies."""
        return np.asarray(np.median([track.noise for track in self.tracks], axis=0))

    @cached_property
    def bare(self) -> Robot:
        """Robot with links only, as friction and rotors are fitted."""
        return replace(self.robot, effects=(), motor_effects=(), coupling=None, constants=())

    def robot_of(self, lengths: float) -> Robot:
        """Robot with links only, with all lengths between joints scaled."""
        if lengths == 1:
            return self.bare
        farther = [(joint, [lengths * float(v) for v in joint.p]) for joint in self.bare.joints]
        return replace(self.bare, joints=tuple(replace(joint, p=(x, y, z)) for joint, (x, y, z) in farther))

    @cached_property
    def masses(self) -> Array:
        """Link parameters of the robot file."""
        return self.bare.parameter_vector()

    @cached_property
    def coarse(self) -> Trial:
        """Trial on a third of the rows, for a preliminary choice."""
        return replace(self, tracks=tuple(track.thinned(3) for track in self.tracks), made={}, cleared={}, bases={})

    @cached_property
    def has_masses(self) -> bool:
        """Whether the robot file has link masses, and efforts are in a matching unit."""
        return self.in_newtons and self.robot.has_parameters and bool(np.any(self.masses))

    def state(self, setup: Setup) -> tuple[Array, Array, Array, Array]:
        """q, qd, qdd and efforts of all coordinates under a set-up."""
        return (*self.motion(setup), self.efforts(setup))

    def motion(self, setup: Setup) -> tuple[Array, Array, Array]:
        """q, qd and qdd of all coordinates under a set-up."""
        q, qd, qdd = self.q, self.qd, self.qdd
        if setup.clock != 1:
            qd, qdd = qd / setup.clock, qdd / setup.clock**2
        if setup.order is not None:
            q, qd, qdd = (a[:, list(setup.order)] for a in (q, qd, qdd))
        for factor in (setup.units, setup.signs):
            if factor is not None:
                q, qd, qdd = (a * np.array(factor) for a in (q, qd, qdd))
        if setup.coupled is not None:
            a, b, c = setup.coupled
            q, qd, qdd = (_added(x, b, a, -c) for x in (q, qd, qdd))
        return (q if setup.offsets is None else q + np.array(setup.offsets)), qd, qdd

    def efforts(self, setup: Setup) -> Array:
        """Efforts of all coordinates under a set-up."""
        tau = self.tau(setup)
        for order in (setup.order, setup.effort_order):
            tau = tau if order is None else tau[:, list(order)]
        for factor in (setup.signs, setup.effort_signs, setup.scales):
            tau = tau if factor is None else tau * np.array(factor)
        return tau if setup.coupled is None else _added(tau, *setup.coupled)

    def _sizes(self, setup: Setup, tau: Array) -> Array:
        """Standard deviations of the efforts tau of a set-up, increased by noise, without the effect of a coupling."""
        noisy = self._noisy
        for order in (setup.order, setup.effort_order):
            noisy = noisy if order is None else noisy[list(order)]
        plain = tau if setup.coupled is None else self.efforts(replace(setup, coupled=None))
        return np.asarray(np.std(plain, axis=0) * noisy)

    @cached_property
    def _noisy(self) -> Array:
        """Factor by which noise increases the standard deviation of each effort."""
        share = np.divide(self.noise, self.sizes, out=np.zeros(len(self.sizes)), where=self.sizes > 0)
        return np.asarray(np.hypot(1.0, at.NOISY * share))

    def effects(self, j: int, q: Array, qd: Array, qdd: Array) -> Array:
        """Regressor columns of a coordinate's rotor inertia, friction and springs."""
        columns: list[Array] = []
        for weights in self._drives(j):
            v = qd @ weights
            fastest = max(float(np.abs(v).max()), 1e-12)
            columns += [qdd @ weights, v, *(np.tanh(v / (slow * fastest)) for slow in SLOW)]
        own = [t for t in self.springs if self.robot.coordinate_of(t.joint) == j]
        state = JointState(q[:, j], qd[:, j], qdd[:, j])
        columns += [np.asarray(t.effect.shape(state, t.settings), float) for t in own]
        return np.column_stack(columns)

    def _drives(self, j: int) -> list[Array]:
        """Rows of the coupling matrix of the motors that act on a coordinate, positive in that coordinate."""
        G = np.eye(self.robot.n) if self.robot.coupling is None else np.array(self.robot.coupling, float)
        return [row * np.sign(row[j]) for row in G if row[j] != 0]

    def _own(self, j: int) -> Array:
        return self.effects(j, self.q, self.qd, self.qdd)

    @cached_property
    def sprung(self) -> frozenset[int]:
        """Coordinates with springs."""
        return frozenset(self.robot.coordinate_of(t.joint) for t in self.springs)

    @cached_property
    def slides(self) -> dict[int, Slide]:
        """Prismatic joints along which the file's weight is constant; none if a spring may support it."""
        kinds = {j: self.robot.joints[self.robot.independent[j]].kind for j in self.joints}
        own = [j for j, kind in kinds.items() if kind == "prismatic" and j not in self.sprung]
        if not own or not any(self.robot.gravity):
            return {}
        along, g = self._under_gravity(), np.array(self.robot.gravity)
        effects = self.robot.effects or ({},) * self.robot.n_joints
        stated = [float(effects[k].get("OFF", 0.0)) for k in self.robot.independent]
        found = {j: slide_of(along[:, j], g, self.qd[:, j], stated[j]) for j in own}
        return {j: slide for j, slide in found.items() if slide is not None}

    def _under_gravity(self) -> Array:
        """Static efforts of the file's masses under 1 m/s2 of gravity in each direction of the base, (N, n, 3)."""
        still = np.zeros_like(self.q)
        return np.stack([inverse_dynamics(self.bare, self.q, still, still, gravity=tuple(e)) for e in np.eye(3)], -1)

    @cached_property
    def shows_gravity(self) -> bool:
        """Whether the gravity torque of the file's masses varies noticeably with this motion."""
        varying = np.std(self._under_gravity() @ np.array(self.robot.gravity), axis=0)
        return any(varying[j] > at.NOTICEABLE * self.sizes[j] for j in self.joints)

    def offsets(self) -> dict[int, tuple[float, float]]:
        """Constant effort of each prismatic joint [N]: measured without friction, and from the file's masses."""
        rigid, tau, found = inverse_dynamics(self.bare, self.q, self.qd, self.qdd), self.tau(), {}
        for j, slide in self.slides.items():
            asked = float(rigid[:, j].mean()) + slide.stated
            offset = self._effects(j, AS_STATED).fitted(tau[:, j] - rigid[:, j])[1]
            found[j] = (asked - slide.stated + offset, asked)
        return found

    def can_be(self, setup: Setup) -> bool:
        """Whether a set-up is kinematically possible: closed kinematic chains, if any, must close."""
        if not self.robot.open_cuts:
            return True
        try:
            closing_of(self.robot).close(self.motion(setup)[0])
        except InputError:
            return False
        return True

    def of_masses(self, setups: Sequence[Setup] = (AS_STATED,)) -> Array:
        """Relative residual of each joint's varying effort with the file's masses, per set-up, (set-ups, joints).

        Friction, rotors and an offset are fitted; for a prismatic joint the excess of its offset counts as residual.
        Set-ups of the same gravity share one recursion: its cost hardly depends on the number of samples.
        """
        found = np.zeros((len(setups), len(self.joints)))
        for lengths, gravity in {(setup.lengths, setup.gravity) for setup in setups}:
            same = [k for k, setup in enumerate(setups) if (setup.lengths, setup.gravity) == (lengths, gravity)]
            robot = self.robot_of(lengths)
            for some in (same[start : start + TOGETHER] for start in range(0, len(same), TOGETHER)):
                states = [self.state(setups[k]) for k in some]
                q, qd, qdd = (np.concatenate([state[i] for state in states]) for i in range(3))
                rigid = inverse_dynamics(robot, q, qd, qdd, gravity=gravity).reshape(len(some), len(self.q), -1)
                for k, state, own in zip(some, states, rigid, strict=True):
                    sizes = self._sizes(setups[k], state[3])
                    rest = state[3] - own
                    found[k] = [self._of_one(j, setups[k], rest[:, j], float(sizes[j])) for j in self.joints]
        return found

    def _of_one(self, j: int, setup: Setup, beside: Array, varying: float) -> float:
        """Relative residual of a joint; beside: its effort less that of the file's masses."""
        if not varying > 0:
            return 0.0
        rest, offset = self._effects(j, setup).fitted(beside)
        excess = self.slides[j].excess(offset, varying) if j in self.slides else 0.0
        return float(np.hypot(rest, excess) / varying)

    def masses_left(self, setups: Sequence[Setup] = (AS_STATED,)) -> list[float]:
        """`of_masses` over all joints, for each set-up."""
        return [root_mean_square(parts) for parts in self.of_masses(setups)]

    def refit_left(self, setup: Setup = AS_STATED) -> float:
        """Relative residual with refitted masses."""
        return root_mean_square(self.of_refit(setup))

    def of_refit(self, setup: Setup = AS_STATED) -> Array:
        """Relative residual of each joint's varying effort with refitted masses."""
        joints, products = self._beside_effects(setup)
        weights, rests = self._rests(setup, joints)
        whole = np.zeros((products.shape[1] + 1, products.shape[1] + 1))
        whole[:-1, :-1] = np.tensordot(weights**2, products, 1)
        for one, weight, rest in zip(joints, weights, rests, strict=True):
            whole[one.shown, -1] += weight**2 * (rest @ one.Y)
        x = fitted(whole)
        left = [np.linalg.norm(rest - one.Y @ x[one.shown]) for one, rest in zip(joints, rests, strict=True)]
        return np.asarray(weights * left)

    def _rests(self, setup: Setup, beside: Sequence[_Beside]) -> tuple[Array, list[Array]]:
        """One over each joint's varying effort, zero for a constant one, and its effort without its effects."""
        tau, joints = self.efforts(setup), list(self.joints)
        sizes = self._sizes(setup, tau)[joints] * np.sqrt(len(tau))
        centred = np.ascontiguousarray((tau - tau.mean(axis=0))[:, joints].T)
        weights = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        return weights, [rest - one.Q @ (one.Q.T @ rest) for rest, one in zip(centred, beside, strict=True)]

    def _products(self) -> Array:
        """Gram matrix of each joint's columns and effort, effects projected out, over its varying effort."""
        joints, products = self._beside_effects(AS_STATED)
        weights, rests = self._rests(AS_STATED, joints)
        G = np.pad(products, ((0, 0), (0, 1), (0, 1)))
        for own, one, rest in zip(G, joints, rests, strict=True):
            own[one.shown, -1] = own[-1, one.shown] = rest @ one.Y
            own[-1, -1] = rest @ rest
        return np.asarray(G * weights[:, None, None] ** 2)

    def _beside_effects(self, setup: Setup) -> tuple[list[_Beside], Array]:
        """Link columns of each joint without its effects, and their Gram matrices (joints, columns, columns)."""
        key = _of_motion(setup)
        if key not in self.cleared:
            Y, found = self._columns(setup), []
            products = np.zeros((len(self.joints), Y.shape[2], Y.shape[2]))
            for G, j in zip(products, self.joints, strict=True):
                Q, shown = self._effects(j, key).Q, np.flatnonzero(Y[:, j].any(axis=0))  # links beyond the joint
                own = Y[:, j, shown]
                own -= own.mean(axis=0)
                own -= Q @ (Q.T @ own)
                G[np.ix_(shown, shown)] = own.T @ own
                found.append(_Beside(Q, shown, own))
            self.cleared[key] = found, products
        return self.cleared[key]

    def _effects(self, j: int, setup: Setup) -> JointEffects:
        """Effects of a coordinate under a set-up; zeros of positions change springs alone, other joints' nothing."""
        key = _of_effects(setup, None if self.robot.coupling is not None else j, j in self.sprung)
        if (j, key) not in self.bases:
            self.bases[j, key] = JointEffects.of(self.effects(j, *self.motion(key)))
        return self.bases[j, key]

    def fitted_gains(self) -> dict[int, float]:
        """Scale of each joint's effort that minimises the residual of all joints with refitted masses."""
        products, found = self._products(), {}
        whole = products.sum(axis=0)
        for j, own in zip(self.joints, products, strict=True):
            if not own[-1, -1] > 0:
                continue
            rest, factors = whole - own, GAINS
            for _ in range(3):
                left = [least_left(rest + _scaled(own, f)) for f in factors]
                k = int(np.argmin(left))
                factors = np.geomspace(factors[max(k - 1, 0)], factors[min(k + 1, len(factors) - 1)], 9)
            found[j] = float(factors[len(factors) // 2])
        return found

    def within_left(self, setup: Setup = AS_STATED) -> float:
        """Residual with the file's links, each scaled within tolerance, and non-negative effects."""
        q, qd, qdd, tau = self.state(setup)
        links, moved = self._of_links(setup, tau.shape[1])
        count, parts, sizes = links.shape[2], [], self._sizes(setup, tau)
        for j in (j for j in self.joints if sizes[j] > 0):
            D = self.effects(j, q, qd, qdd)
            own = np.column_stack([links[:, j], moved[:, j], D, tau[:, j]])
            rows = (own - own.mean(axis=0)) / sizes[j]
            if j in self.slides:
                counts = SLIDES * np.sqrt(len(q)) / self.slides[j].usual(float(sizes[j]))
                rows = np.vstack([rows, counts * own.mean(axis=0)])
            parts.append((rows, D.shape[1]))
        return within_bounds(parts, count, len(q)) if parts else 0.0

    def _of_links(self, setup: Setup, coordinates: int) -> tuple[Array, Array]:
        """Efforts of each link of the file (N, coordinates, links), and their derivatives (..., 3 links).

        The derivatives are taken with respect to the position of the link's centre of mass [1/m].
        """
        Y = self._columns(setup).reshape(len(self.q), coordinates, -1, len(LINK_SYMBOLS))
        tens = self.masses.reshape(-1, len(LINK_SYMBOLS))
        shifts = np.stack([_by_centre(ten) for ten in tens])  # (links, 10, 3)
        moved = np.einsum("ncls,lsk->nclk", Y, shifts).reshape(len(self.q), coordinates, -1)
        return np.asarray((Y * tens).sum(axis=-1)), moved

    def _columns(self, setup: Setup) -> Array:
        """Regressor columns of the link parameters, which do not depend on how efforts are interpreted."""
        key = _of_motion(setup)
        if key not in self.made:
            self.make_columns([key])
        return self.made[key]

    @property
    def together(self) -> int:
        """Number of set-ups whose columns are made together: a call costs the more per set-up the fewer there are."""
        return max(FEW_TOGETHER, NUMBERS // max(self.q.size * len(LINK_SYMBOLS) * self.robot.n_joints, 1))

    def make_columns(self, setups: Sequence[Setup]) -> None:
        """Compute the regressor columns of the given set-ups together, and discard those of others."""
        keys = dict.fromkeys(map(_of_motion, setups))
        if all(key in self.made for key in keys):
            return
        self.made.clear()
        self.cleared.clear()
        for lengths, gravity in {(key.lengths, key.gravity) for key in keys}:
            same = [key for key in keys if (key.lengths, key.gravity) == (lengths, gravity)]
            states = [self.motion(key) for key in same]
            q, qd, qdd = (np.concatenate([state[i] for state in states]) for i in range(3))
            Y = torque_regressor(self.robot_of(lengths), q, qd, qdd, gravity=gravity)
            self.made.update(zip(same, np.split(Y, len(same)), strict=True))

    def left(self, setup: Setup = AS_STATED, masses: float | None = None) -> Left:
        """Residuals of a set-up, except with links within tolerances; masses: that with the file's masses, if known."""
        parts = self.of_refit(setup)
        if self.has_masses and masses is None:
            (masses,) = self.masses_left([setup])
        return Left(masses, root_mean_square(parts), joints=tuple(parts.tolist()))

    def with_links(self, left: Left, setup: Setup = AS_STATED) -> Left:
        """Residuals of a set-up with that of links within the file's tolerances, if it has masses."""
        return replace(left, within=self.within_left(setup)) if self.has_masses else left

    def scales(self) -> tuple[Array, Array]:
        """Ratio of each joint's effort to that of the file's masses, and the fraction of its power they explain."""
        rigid = inverse_dynamics(self.bare, self.q, self.qd, self.qdd)
        tau, found, explained = self.tau(), [], []
        for j in self.joints:
            columns = np.column_stack([rigid[:, j], tau[:, j]])
            x, y = self._with_weight(j, columns, np.sqrt(len(tau))).T
            size = float(x @ x)
            found.append(float(x @ y) / size if size > 0 else 1.0)
            explained.append(float(x @ y) ** 2 / max(size * float(y @ y), 1e-300))
        return np.array(found), np.array(explained)

    def beside_effects(self, j: int, columns: Array) -> Array:
        """Columns of a joint with its effects and an offset projected out, normalised by its varying effort."""
        return np.asarray(without(self._own(j), columns) / self.sizes[j])

    def _with_weight(self, j: int, columns: Array, counts: float) -> Array:
        """Columns with effects and an offset projected out; a prismatic joint retains its constant part as a row."""
        D = self._own(j)
        if j not in self.slides:
            return without(D, columns)
        return np.vstack([without(D, columns), counts * constant(D, columns)])

    @cached_property
    def shows_masses(self) -> bool:
        """Whether the file's masses are distinguishable from rotors, friction and offsets of any size.

        They are not if no joint's inertia depends on the motion, and gravity causes only constant efforts.
        """
        rigid = inverse_dynamics(self.bare, self.q, self.qd, self.qdd)
        return any(np.ptp(without(self._own(j), rigid[:, [j]])) > at.SHOWN * np.ptp(rigid[:, j]) for j in self.joints)

    def inertia_and_gravity(self) -> tuple[float, Array]:
        """Inertia factor and gravity vector [m/s2] with which the file's masses best fit the efforts."""
        moving = inverse_dynamics(self.bare, self.q, self.qd, self.qdd, gravity=(0, 0, 0))
        under, tau, rows = self._under_gravity(), self.tau(), []
        for j in self.joints:
            columns = np.column_stack([moving[:, j], under[:, j], tau[:, j]])
            size = float(np.std(tau[:, j]))
            if size > 0:
                weight = self.slides[j].usual(size) / size if j in self.slides else 1.0
                rows.append(self._with_weight(j, columns, SLIDES * np.sqrt(len(tau)) / weight) / size)
        M = np.concatenate(rows)
        x = np.linalg.lstsq(M[:, :-1], M[:, -1], rcond=1e-6)[0]
        return float(x[0]), np.asarray(x[1:])


def _scaled(products: Array, factor: float) -> Array:
    """Gram matrix with all columns but the effort multiplied by a factor."""
    D = np.full(len(products), factor)
    D[-1] = 1.0
    return np.asarray(products * np.outer(D, D))


def _by_centre(ten: Array) -> Array:
    """Derivatives of a link's ten parameters with respect to its centre of mass (10, 3), at constant mass.

    The inertia about the centre of mass is held constant.
    """
    mass, centre = float(ten[9]), ten[6:9] / ten[9] if ten[9] > 0 else np.zeros(3)
    found = np.zeros((10, 3))
    for k, e in enumerate(np.eye(3)):
        J = mass * (2 * float(centre @ e) * np.eye(3) - np.outer(centre, e) - np.outer(e, centre))
        found[:, k] = [J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2], *(mass * e), 0.0]
    return found


@lru_cache(maxsize=1024)
def _of_motion(setup: Setup) -> Setup:
    """Set-up reduced to the settings that the link regressor depends on."""
    return replace(setup, delay=0.0, drift=0.0, late=None, scales=None, effort_signs=None, effort_order=None)


def _of_effects(setup: Setup, joint: int | None, sprung: bool) -> Setup:
    """Set-up reduced to the settings that the effects of a coordinate depend on; joint: None for coupled motors."""
    is_changed = setup.order or setup.units or setup.signs or setup.coupled or setup.clock != 1
    if not (is_changed or sprung):
        return AS_STATED
    other = setup.coupled is not None and joint is not None and setup.coupled[1] != joint
    coupled, offsets = None if other else setup.coupled, setup.offsets if sprung else None
    own = Setup(setup.order, units=setup.units, signs=setup.signs, offsets=offsets, clock=setup.clock, coupled=coupled)
    if joint is None or own.order is not None or own.coupled is not None:
        return own
    return replace(
        own, units=_only(own.units, joint, 1.0), signs=_only(own.signs, joint, 1.0), offsets=_only(offsets, joint, 0.0)
    )


def _only(values: tuple[float, ...] | None, joint: int, usual: float) -> tuple[float, ...] | None:
    """Values of a coordinate alone; None where it is the usual one."""
    if values is None or values[joint] == usual:
        return None
    return tuple(value if k == joint else usual for k, value in enumerate(values))


def _added(x: Array, to: int, of: int, times: float) -> Array:
    """Add a multiple of column `of` to column `to`."""
    return np.asarray(x + times * np.outer(x[:, of], np.arange(x.shape[1]) == to))


def trial_of(model: LinearModel, motions: Sequence[LogMotion], *, in_newtons: bool = True) -> Trial | None:
    """Trial fit on part of the rows of the logs; None for too few rows, implausibly large values, a floating base."""
    robot = model.robot.without_sensors.numeric
    rows = tuple(row for row in model.rows if row < robot.n_velocity)
    if robot.is_floating or not motions or not rows:
        return None
    blocks = [list(islice(blocks_of(motion), BLOCKS)) for motion in motions]
    count = max(ROWS // max(sum(map(len, blocks)), 1), FEWEST)
    tracks = [_track(block, count, robot.n) for own in blocks for block in own if len(block.t) > FEWEST]
    springs = tuple(t for t in model.choice.terms if t.effect.inputs == ("q",))
    is_sound = all(float(np.abs(a).max()) < LARGEST for t in tracks for a in (t.q, t.qd, t.qdd, t.tau))
    return Trial(robot, rows, tuple(tracks), springs, in_newtons) if tracks and is_sound else None


def _track(block: Motion, count: int, joints: int) -> _Track:
    """Selected rows of a block, with motion and joint efforts filtered to the fitted band."""
    arrays = [block.q, block.qd, block.qdd, block.tau[:, :joints]]
    n, noise = len(arrays[0]), np.zeros(arrays[3].shape[1])
    rate = (n - 1) / max(float(block.t[-1] - block.t[0]), 1e-9)
    if block.filter is not None:
        cutoff = min(block.filter.parallel_hz or np.inf, 0.4 * rate)
        noise = white_noise(arrays[3], rate, cutoff) if np.isfinite(cutoff) else noise
        arrays = [low_pass(a, cutoff, rate) for a in arrays] if np.isfinite(cutoff) else arrays
    edge = min(round(LONGEST_DELAY * rate), n // 8)
    rows = np.unique(np.linspace(edge, n - 1 - edge, count).astype(int))
    q, qd, qdd, tau = arrays
    return _Track(rate, rows, q[rows], qd[rows], qdd[rows], tau, noise)
