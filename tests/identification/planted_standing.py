"""Logs of robots that stand on a floor, simulated in MuJoCo: a humanoid that steps, and a mobile arm that lifts wheels.

Masses, centres, inertias, armature and friction are drawn; motion, efforts, inertial unit and contact forces come
from MuJoCo's own dynamics and solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import minertia as mi
from minertia.options import ContactOptions

NOISE = {"q": 5e-5, "tau": 0.05, "gyro": 3e-3, "accel": 0.03, "force": 1.0, "moment": 0.05}
STEP, EVERY, KNOT = 1e-3, 5, 0.02  # s of a step; steps a sample; s between knots of the reference


@dataclass
class Drawn:
    """MJCF of a robot with drawn parameters; `usual` is the same robot before the draw."""

    rng: np.random.Generator
    joints: dict[str, tuple[float, float]] = field(default_factory=dict)  # gains of each joint
    changed: bool = True

    def inertial(self, mass: float, size: tuple[float, float, float], at: tuple[float, float, float]) -> str:
        """A box of this mass and size [m], all but its place within a quarter."""
        drawn = self.rng.uniform(-1, 1, 7) * self.changed
        m, place = mass * (1 + 0.25 * drawn[0]), np.array(at) + 0.01 * drawn[1:4]
        second = np.square(size) / 12 * (1 + 0.25 * drawn[4:])
        numbers = [" ".join(f"{x:.10g}" for x in np.atleast_1d(v)) for v in (place, m, m * (second.sum() - second))]
        return '<inertial pos="{}" mass="{}" diaginertia="{}"/>'.format(*numbers)

    def joint(self, name: str, axis: str, gains: tuple[float, float], kind: str = "hinge") -> str:
        """A joint with drawn armature, viscous and Coulomb friction."""
        self.joints[name] = gains
        FV, FC, IA = self.rng.uniform((0.02, 0.1, 0.01), (0.1, 0.4, 0.03))
        effects = f'solreffriction="0.002 1" damping="{FV:.10g}" frictionloss="{FC:.10g}" armature="{IA:.10g}"'
        return f'<joint name="{name}" type="{kind}" axis="{axis}" {effects}/>'

    def whole(self, name: str, trunk: str, height: float) -> str:
        return (
            f'<mujoco model="{name}"><compiler autolimits="true"/>'
            f'<option timestep="{STEP}" integrator="implicitfast" cone="elliptic"/>'
            '<worldbody><geom name="floor" type="plane" size="9 9 1" contype="0"/>'
            f'<body name="trunk" pos="0 0 {height}"><freejoint name="root"/><site name="imu"/>{trunk}</body>'
            "</worldbody><actuator>" + "".join(f'<motor joint="{j}"/>' for j in self.joints) + "</actuator>"
            '<sensor><gyro site="imu"/><accelerometer site="imu"/></sensor></mujoco>'
        )


def humanoid(draw: Drawn) -> str:
    """Two legs of six hinges with flat feet, a waist, and two arms of three hinges: 19 joints, 26 kg."""
    strong, text = (800.0, 20.0), draw.inertial(8.0, (0.2, 0.3, 0.2), (0, 0, 0.05))
    for s, y in (("L", 0.09), ("R", -0.09)):
        parts = [("hip_z", "0 0 1", 0.8, (0, y, -0.05)), ("hip_x", "1 0 0", 0.8, (0, 0, 0))]
        parts += [("hip_y", "0 1 0", 2.0, (0, 0, 0)), ("knee", "0 1 0", 1.5, (0, 0, -0.3))]
        parts += [("ankle_y", "0 1 0", 0.3, (0, 0, -0.3)), ("foot", "1 0 0", 0.8, (0, 0, 0))]
        for name, axis, mass, at in parts:
            long = 0.25 if name in ("hip_y", "knee") else 0.06
            place = " ".join(map(str, at))
            text += f'<body name="{s}_{name}" pos="{place}">' + draw.joint(f"{s}_{name}", axis, strong)
            text += draw.inertial(mass, (0.08, 0.07, long), (0.01, 0, -long / 2))
        text += '<geom type="box" conaffinity="0" size="0.12 0.07 0.01" pos="0.02 0 -0.05"/>' + "</body>" * 6
    chest = draw.joint("waist", "0 0 1", (300.0, 10.0)) + draw.inertial(4.0, (0.15, 0.25, 0.25), (0, 0, 0.12))
    for s, y in (("L", 0.2), ("R", -0.2)):
        for name, axis, at in (
            ("shoulder", "0 1 0", (0, y, 0.2)),
            ("arm", "1 0 0", (0, 0, 0)),
            ("elbow", "0 1 0", (0, 0, -0.2)),
        ):
            place = " ".join(map(str, at))
            chest += f'<body name="{s}_{name}" pos="{place}">' + draw.joint(f"{s}_{name}", axis, (120.0, 4.0))
            chest += draw.inertial(0.9, (0.07, 0.07, 0.18), (0, 0.01, -0.1))
        chest += "</body>" * 3
    return draw.whole("humanoid", text + f'<body name="chest" pos="0 0 0.15">{chest}</body>', 0.71)


def mobile_arm(draw: Drawn) -> str:
    """Four driven wheels, each on a slide that lifts it, and an arm of five hinges: 13 joints, 44 kg."""
    text = draw.inertial(18.0, (0.6, 0.4, 0.2), (0, 0, 0.05))
    for name, (x, y) in CORNERS.items():
        text += f'<body name="{name}_slide" pos="{0.3 * x} {0.25 * y} -0.05">'
        text += draw.joint(f"{name}_lift", "0 0 1", (4e4, 800.0), "slide") + draw.inertial(
            1.5, (0.08, 0.08, 0.15), (0, 0, 0.02)
        )
        text += f'<body name="{name}_wheel" pos="0 0 -0.1">' + draw.joint(f"{name}_roll", "0 1 0", (40.0, 4.0))
        text += draw.inertial(1.8, (0.15, 0.05, 0.15), (0.004, 0, 0.004))
        slides = ' priority="1" friction="0.02"' if x < 0 else ""  # casters behind: the base turns without skidding
        text += f'<geom type="sphere" conaffinity="0" size="0.1"{slides}/></body></body>'
    parts = [("turn", "0 0 1", 4.0, 0.15, 1000.0), ("lean", "0 1 0", 4.0, 0.35, 1500.0)]
    parts += [
        ("elbow", "0 1 0", 3.0, 0.3, 800.0),
        ("wrist", "0 1 0", 1.2, 0.1, 200.0),
        ("tool", "1 0 0", 1.0, 0.1, 100.0),
    ]
    above = 0.15
    for name, axis, mass, long, stiff in parts:
        text += f'<body name="{name}" pos="0 0 {above}">' + draw.joint(name, axis, (stiff, stiff / 50))
        text += draw.inertial(mass, (0.1, 0.08, long), (0.01, 0.01, long / 2))
        above = long
    return draw.whole("mobile_arm", text + "</body>" * 5, 0.25)


CORNERS = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}
FEET = {"L": 0.09, "R": -0.09}  # y of each foot
SOLE = (0.02, 0.0, -0.06)  # in the foot's frame: below it, in the middle of the box


@dataclass(frozen=True)
class Reference:
    """Joint positions, efforts that hold them at rest, and which contacts should carry, at knots of time."""

    t: np.ndarray
    q: np.ndarray
    effort: np.ndarray


def waved(t: np.ndarray, rng: np.random.Generator, count: int, hz: float) -> np.ndarray:
    """Sums (N, count) of five sines of random phase up to a frequency, of about unit size, that start at rest."""
    f, phase = hz * rng.uniform(0.3, 1, (5, count)), rng.uniform(0, 6.28, (5, count))
    found = np.sin(2 * np.pi * f * t[:, None, None] + phase).sum(axis=1) / 2
    return np.asarray(found * (1 - np.exp(-t[:, None] / 0.5)) * (1 - np.exp(-np.maximum(t[-1] - t[:, None], 0) / 0.5)))


def turns(t: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Number of the lift at each time, and its phase; the first period stands."""
    return np.floor(t / period).astype(int) - 1, t / period % 1


def bump(phase: np.ndarray) -> np.ndarray:
    """0 but between 0.35 and 0.9 of a period, there a smooth rise to 1 and back."""
    return np.asarray(np.where((phase > 0.35) & (phase < 0.9), np.sin(np.pi * (phase - 0.35) / 0.55) ** 2, 0.0))


def moved_over(t: np.ndarray, period: float, targets: np.ndarray) -> np.ndarray:
    """From target to target (lifts, any): there from 0.35 of each period on."""
    k, phase = turns(t, period)
    s = np.clip(phase / 0.35, 0, 1)
    before, after = targets[np.clip(k, 0, None)], targets[np.clip(k + 1, 0, len(targets) - 1)]
    return np.asarray(before + (after - before) * (10 * s**3 - 15 * s**4 + 6 * s**5)[:, None])


def stepping(
    model, t: np.ndarray, rng: np.random.Generator, *, lifts: bool, pace: float
) -> tuple[np.ndarray, np.ndarray]:
    """Positions (N, nq) of a humanoid that steps or sways, and the part of its weight on each foot (N, 2)."""
    import mujoco

    data, trunk = mujoco.MjData(model), model.body("trunk").id
    feet = [model.body(f"{s}_foot").id for s in FEET]
    k, phase = turns(t, pace)
    up = (k % 2 == np.array([[0], [1]])) & (k >= 0) & lifts  # (2, N): the foot that is lifted
    targets = np.array([0.0, *(-y for y in list(FEET.values()) * 40)])[:, None] * (0.9 if lifts else 0.5)
    com = np.column_stack([0.02 + 0.01 * waved(t, rng, 1, 0.5)[:, 0], moved_over(t, pace, targets)[:, 0]])
    spin = waved(t, rng, 4, 1.2) * [0.06, 0.06, 0.15, 0.015]
    turn = Rotation.from_rotvec(spin[:, :3])
    arms, wave = waved(t, rng, 7, 1.2) * 0.4, waved(t, rng, 12, 2.0)
    q, J, found = np.array(model.qpos0), np.zeros((6, model.nv)), []
    q[7:19] = np.tile([0, 0, -0.4, 0.8, -0.4, 0], 2)
    lateral = np.zeros((2, len(t)))
    for i in range(len(t)):
        q[19:] = arms[i]
        for _ in range(12 if i == 0 else 3):
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            rows, errors = [], []
            for f, (body, y) in enumerate(zip(feet, FEET.values(), strict=True)):
                b = bump(phase[i]) * up[f, i]
                w = b * wave[i, 6 * f : 6 * f + 6]
                wanted = np.array([0, y, 0.06]) + b * np.array([0, 0.3 * y, 0.07]) + w[:3] * [0.04, 0.015, 0.015]
                mujoco.mj_jacBody(model, data, J[:3], J[3:], body)
                rows.append(J.copy())
                now = Rotation.from_matrix(data.xmat[body].reshape(3, 3))
                apart = (Rotation.from_rotvec(0.15 * w[3:]) * now.inv()).as_rotvec()
                errors.append(np.concatenate([wanted - data.xpos[body], apart]))
            mujoco.mj_jacSubtreeCom(model, data, J[:3], trunk)
            rows.append(J[:2].copy())
            errors.append(com[i] - data.subtree_com[trunk, :2])
            own = np.eye(model.nv)
            rows += [own[2:6], own[18:]]
            tilt = (Rotation.from_quat(q[[4, 5, 6, 3]]).inv() * turn[i]).as_rotvec()
            errors += [np.array([0.64 + spin[i, 3] - q[2], *tilt]), np.zeros(7)]
            mujoco.mj_integratePos(model, q, np.linalg.solve(np.concatenate(rows), np.concatenate(errors)), 1.0)
        lateral[0, i] = np.clip((com[i, 1] + 0.09) / 0.18, 0.02, 0.98)
        found.append(q.copy())
    lateral[1] = 1 - lateral[0]
    carried = np.where(up & (bump(phase) > 0), 1e-9, np.where(up[::-1] & (bump(phase) > 0), 1.0, lateral))
    return np.array(found), carried.T


def driving(
    model, t: np.ndarray, rng: np.random.Generator, *, lifts: bool, pace: float
) -> tuple[np.ndarray, np.ndarray]:
    """Positions (N, nq) of a mobile arm that drives, tilts and lifts wheels, and which wheels carry (N, 4)."""
    k, phase = turns(t, pace)
    order = np.array([0, 2, 3, 1])  # wheels, each beside the one before
    away = np.array([np.arctan2(-0.25 * y, -0.3 * x) for x, y in CORNERS.values()])
    targets = np.unwrap(np.concatenate([[0.0], away[order[np.arange(40) % 4]]]))[:, None]
    spin = waved(t, rng, 3, 1.2) * [0.03, 0.03, 0.01]
    R = Rotation.from_rotvec(np.column_stack([spin[:, :2], 0 * t])).as_matrix()
    q = np.tile(model.qpos0, (len(t), 1))
    q[:, 2] = 0.25 + spin[:, 2]
    q[:, [4, 5, 6, 3]] = Rotation.from_matrix(R).as_quat()
    drive, part = waved(t, rng, 2, 0.5) * [0.8, 1.5], np.array([[1, 1, 1, 1], [1, -1, 1, -1]])
    carried = np.ones((len(t), 4))
    for c, (x, y) in enumerate(CORNERS.values()):
        up = bump(phase) * (order[np.clip(k, 0, None) % 4] == c) * (k >= 0) * lifts
        carried[up > 0, c] = 1e-9
        q[:, 7 + 2 * c] = (0.1 - q[:, 2] - R[:, 2, :2] @ [0.3 * x, 0.25 * y]) / R[:, 2, 2] + 0.15
        q[:, 7 + 2 * c] += 0.05 * up * (1 + 0.4 * waved(t, rng, 1, 2.0)[:, 0])
        q[:, 8 + 2 * c] = drive @ part[:, c] + 2 * up * waved(t, rng, 1, 1.2)[:, 0]
    arm = waved(t, rng, 5, 1.2) * [0.1, 0.1, 0.2, 0.5, 0.8] + [0, 0.8, 0.8, 0.3, 0.0]
    arm[:, 0] += moved_over(t, pace, targets)[:, 0] if lifts else 1.5 * waved(t, rng, 1, 0.4)[:, 0]
    q[:, 15:] = arm
    return q, carried


@dataclass(frozen=True)
class Kind:
    """A robot: its MJCF, its motion, and its contacts as (name, body, point in it, radius, kind)."""

    build: object
    motion: object
    contacts: tuple[tuple[str, str, tuple[float, float, float], float, str], ...]
    pace: float  # s a lift


KINDS = {
    "humanoid": Kind(humanoid, stepping, tuple((s, f"{s}_foot", SOLE, 0.0, "surface") for s in FEET), 3.0),
    "mobile_arm": Kind(
        mobile_arm, driving, tuple((c, f"{c}_wheel", (0.0, 0.0, 0.0), 0.1, "point") for c in CORNERS), 3.0
    ),
}


@dataclass(frozen=True)
class PlantedStanding:
    """A drawn robot: its file, the file before the draw, and all its parameters by their full names."""

    kind: str
    xml: str
    usual: str
    gains: np.ndarray

    @classmethod
    def drawn(cls, kind: str, seed: int) -> PlantedStanding:
        build = KINDS[kind].build
        draws = [Drawn(np.random.default_rng(seed), changed=changed) for changed in (True, False)]
        xml, usual = (build(draw) for draw in draws)  # type: ignore[operator]
        return cls(kind, xml, usual, np.array(list(draws[0].joints.values())))

    def robot(self, folder: Path, *, true: bool = False) -> mi.Robot:
        path = folder / f"{self.kind}_{'true' if true else 'usual'}.xml"
        path.write_text(self.xml if true else self.usual)
        return mi.read_robot(path)

    def values(self, folder: Path) -> Mapping[str, float]:
        """Planted parameters."""
        robot = self.robot(folder, true=True)
        return dict(zip(robot.columns(), robot.parameter_vector(), strict=True)) | dict(robot.effect_values)

    def contacts(self, *, forces: bool) -> tuple[ContactOptions, ...]:
        return tuple(
            ContactOptions(
                name,
                body,
                at,
                radius=radius,
                kind=kind,
                active=f"contact_{name}",
                force=f"{name}_f{{k}}" if forces else "",
                moment=f"{name}_m{{k}}" if forces and kind == "surface" else "",
            )
            for name, body, at, radius, kind in KINDS[self.kind].contacts
        )

    def log(
        self, path: Path, seed: int, *, lifts: bool = True, seconds: float = 16.0, pace: float | None = None
    ) -> Path:
        """Simulate a motion and write its log at 200 Hz, with noise."""
        import mujoco

        rng, kind = np.random.default_rng([seed, 1]), KINDS[self.kind]
        model = mujoco.MjModel.from_xml_string(self.xml)
        t = np.arange(0, seconds + KNOT, KNOT)
        q, carried = kind.motion(model, t, rng, lifts=lifts, pace=pace or kind.pace)  # type: ignore[operator]
        held = holding(model, q, carried, kind.contacts)
        table = simulated(model, t, q, held, self.gains, kind.contacts, round(seconds / STEP))
        return self.write(path, table, rng)

    def write(self, path: Path, table: dict[str, np.ndarray], rng: np.random.Generator) -> Path:
        """Write signals of `simulated` as a log, with noise."""
        kind = KINDS[self.kind]
        for key, level in NOISE.items():
            if key in table:
                table[key] = table[key] + level * rng.normal(size=table[key].shape)
        count = len(kind.contacts)
        down = table["down"]
        wide = [np.repeat(down, 3, axis=1) * table[key].reshape(-1, 3 * count) for key in ("force", "moment")]
        names = [name for name, *_ in kind.contacts]
        heads = [["t"], *([f"{s}{j + 1}" for j in range(len(self.gains))] for s in ("q", "tau"))]
        heads += [[f"{word}_{k}" for k in "xyz"] for word in ("gyro", "accel")] + [[f"base_q{k}" for k in "xyzw"]]
        heads += [[f"contact_{c}" for c in names], *([f"{c}_{s}{k}" for c in names for k in "xyz"] for s in "fm")]
        whole = np.column_stack([table[key] for key in ("t", "q", "tau", "gyro", "accel", "attitude", "down")] + wide)
        head = ",".join(name for part in heads for name in part)
        np.savetxt(path, whole, delimiter=",", header=head, comments="", fmt="%.7g")
        return path


def point_of(data, body: int, at: tuple[float, float, float], radius: float) -> np.ndarray:
    """A contact point in the world; of a round foot its lowest."""
    return np.asarray(data.xpos[body] + data.xmat[body].reshape(3, 3) @ at - [0, 0, radius])


def holding(model, q: np.ndarray, carried: np.ndarray, contacts, *, moves: bool = False) -> np.ndarray:
    """Joint efforts (N, nu) at rest, or of the motion, without friction; contacts that carry share what is needed."""
    import mujoco

    v = np.zeros((len(q), model.nv))
    for k in range(1, len(q) - 1) if moves else ():
        mujoco.mj_differentiatePos(model, v[k], 2 * KNOT, q[k - 1], q[k + 1])
    a = np.gradient(v, KNOT, axis=0)
    data, inertial, found = mujoco.MjData(model), np.zeros(model.nv), []
    for k, parts in enumerate(carried):
        data.qpos[:], data.qvel[:] = q[k], v[k]
        mujoco.mj_forward(model, data)
        mujoco.mj_mulM(model, data, inertial, a[k])
        needed = inertial + data.qfrc_bias
        rows, weights = [], []
        for (_, body, at, radius, kind), part in zip(contacts, parts, strict=True):
            J, own = np.zeros((6, model.nv)), model.body(body).id
            mujoco.mj_jac(model, data, J[:3], J[3:], point_of(data, own, at, radius), own)
            rows.append(J if kind == "surface" else J[:3])
            weights += [part] * 3 + [0.01 * part] * 3 * (kind == "surface")
        J, D = np.concatenate(rows), np.array(weights)[:, None]
        w = D[:, 0] * (J[:, :6] @ np.linalg.solve(J[:, :6].T @ (D * J[:, :6]), needed[:6]))
        found.append(needed[6:] - J[:, 6:].T @ w)
    return np.array(found)


def simulated(model, t, q, held, gains: np.ndarray, contacts, steps: int) -> dict[str, np.ndarray]:
    """Signals of a robot whose joints follow a reference by proportional and derivative control."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = q[0]
    wanted = CubicSpline(t, q[:, 7:])
    at, rates, efforts = (f(STEP * np.arange(steps)) for f in (wanted, wanted.derivative(), CubicSpline(t, held)))
    bodies = [model.body(body).id for _, body, *_ in contacts]
    keys = ("t", "q", "tau", "gyro", "accel", "attitude", "down", "force", "moment")
    found: dict[str, list] = {key: [] for key in keys}
    f = np.zeros(6)
    for k in range(steps):
        tau = efforts[k] + gains[:, 0] * (at[k] - data.qpos[7:]) + gains[:, 1] * (rates[k] - data.qvel[6:])
        data.ctrl[:] = tau
        before = data.qpos.copy()
        mujoco.mj_step(model, data)
        if k % EVERY:
            continue
        force, moment = np.zeros((2, len(bodies), 3))
        for c in range(data.ncon):
            one = data.contact[c]
            own = bodies.index(model.geom_bodyid[one.geom[1]])
            mujoco.mj_contactForce(model, data, c, f)
            push = one.frame.reshape(3, 3).T @ f[:3]
            place = point_of(data, bodies[own], contacts[own][2], contacts[own][3])
            force[own] += push
            moment[own] += np.cross(one.pos - place, push)
        sample = (k * STEP, before[7:], tau, data.sensordata[:3].copy(), data.sensordata[3:].copy(),
                  before[[4, 5, 6, 3]], (force[:, 2] > 0).astype(float), force.ravel(), moment.ravel())  # fmt: skip
        for key, value in zip(keys, sample, strict=True):
            found[key].append(value)
    return {key: np.array(value) for key, value in found.items()}
