"""Logs of a quadruped with known parameters: it sways, and lifts and waves one foot after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.spatial.transform import Rotation

import minertia as mi
from minertia.identification.signals.filtering import rate_of_change
from minertia.options import ContactOptions
from minertia.robot.inertia import from_com
from minertia.robot.parameters import LINK_SYMBOLS

FEET = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}
FOOT = np.array([0.0, 0.0, -0.2])  # in the last link's frame
HOME = np.array([0.2, 0.15, -0.3])  # of a foot in the base, but for its signs
NOISE = {"q": 5e-5, "tau": 0.05, "gyro": 3e-3, "accel": 0.03, "force": 1.0}


def urdf() -> str:
    """Twelve hinges: hips about x, thighs and knees about y."""
    text = ['<robot name="quadruped"><link name="trunk">' + _inertial(8.0) + "</link>"]
    for leg, (x, y) in FEET.items():
        text += [f'<link name="{leg}_{part}">{_inertial(mass)}</link>' for part, mass in PARTS.items()]
        text.append(_joint(f"{leg}_hip", "trunk", f"{leg}_hip", (0.2 * x, 0.05 * y, 0), "1 0 0"))
        text.append(_joint(f"{leg}_thigh", f"{leg}_hip", f"{leg}_thigh", (0, 0.1 * y, 0), "0 1 0"))
        text.append(_joint(f"{leg}_knee", f"{leg}_thigh", f"{leg}_calf", (0, 0, -0.2), "0 1 0"))
    return "".join([*text, "</robot>"])


@cache
def quadruped() -> mi.Robot:
    """The robot with a floating base."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "quadruped.urdf"
        path.write_text(urdf())
        return mi.read_robot(path, base="floating")


PARTS = {"hip": 0.6, "thigh": 1.0, "calf": 0.3}


def _inertial(mass: float) -> str:
    J = 2e-3 * mass
    return (
        f'<inertial><origin xyz="0 0 -0.05"/><mass value="{mass}"/>'
        f'<inertia ixx="{J}" iyy="{J}" izz="{J}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def _joint(name: str, parent: str, child: str, at: tuple[float, ...], axis: str) -> str:
    place = " ".join(map(str, at))
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place}"/><axis xyz="{axis}"/><limit lower="-3" upper="3" effort="50" velocity="20"/></joint>'
    )


@dataclass(frozen=True)
class PlantedLegs:
    """Parameters of links, and viscous and Coulomb friction of every joint, by their full names."""

    values: Mapping[str, float]

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> PlantedLegs:
        robot, values = quadruped(), {}
        for k, link in enumerate((robot.base_link, *robot.links)):
            mass = link[9] * rng.uniform(0.75, 1.25)
            com = np.array(link[6:9]) / link[9] + rng.uniform(-0.01, 0.01, 3)
            J = mass * np.diag(rng.uniform(1e-3, 2e-3, 3) + 1e-3)
            values |= {f"{s}{k}": float(v) for s, v in zip(LINK_SYMBOLS, from_com(mass, com, J), strict=True)}
        for j in range(1, robot.n + 1):
            values |= {f"FV{j}": rng.uniform(0.02, 0.1), f"FC{j}": rng.uniform(0.1, 0.4)}
        return cls(values)

    def log(
        self, path: Path, rng: np.random.Generator, *, lifts: bool, seconds: float = 12.0, slips: float = 0.0
    ) -> Path:
        """A log at 200 Hz with noise, feet in contact and their forces; slips: of the feet to and fro [m]."""
        robot, rate = quadruped(), 200.0
        t = np.arange(round(seconds * rate)) / rate
        p, turn = swayed(t, rng)
        feet, down = waved(t, rng) if lifts else (np.array([HOME * [x, y, 1] for x, y in FEET.values()])[:, None], None)
        down = np.ones((4, len(t)), bool) if down is None else down
        feet = feet + slips * np.sin(4.4 * t[:, None] + rng.uniform(0, 6, (4, 1, 3))) * [1, 1, 0] if slips else feet
        q = reached(robot, p, turn, np.broadcast_to(feet, (4, len(t), 3)))
        R = turn.as_matrix()
        qd, v = rate_of_change(q, rate), rate_of_change(p, rate)
        spin = np.einsum("nji,njk->nik", R, rate_of_change(R.reshape(-1, 9), rate).reshape(-1, 3, 3))
        w = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        a = np.einsum("nji,nj->ni", R, rate_of_change(v, rate) - np.array(robot.gravity))
        known = {name: value for name, value in self.values.items() if name[:2] not in ("FV", "FC")}
        level = np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(t), 1))
        qdd = np.hstack([a + np.array(robot.gravity), rate_of_change(w, rate), rate_of_change(qd, rate)])
        effort = mi.inverse_dynamics(
            robot.with_parameters(known), np.hstack([level, q]), np.hstack([0 * w, w, qd]), qdd
        )
        J = np.stack([foot_jacobian(robot, leg, np.hstack([level, q])) for leg in FEET], axis=1)
        J = J * down.T[:, :, None, None]
        force = np.linalg.pinv(J[..., :6].reshape(len(t), 12, 6).transpose(0, 2, 1)) @ effort[:, :6, None]
        tau = effort[:, 6:] - np.einsum("nkj,nk->nj", J[..., 6:].reshape(len(t), 12, -1), force[:, :, 0])
        FV, FC = (np.array([self.values[f"{s}{j}"] for j in range(1, robot.n + 1)]) for s in ("FV", "FC"))
        tau += FV * qd + FC * np.sign(qd)
        world = np.einsum("nij,nkj->nki", R, force.reshape(-1, 4, 3))
        noisy = {"q": q, "tau": tau, "gyro": w, "accel": a, "force": world.reshape(-1, 12)}
        noisy = {key: x + NOISE[key] * rng.normal(size=x.shape) for key, x in noisy.items()}
        noisy["force"] *= np.repeat(down.T, 3, axis=1)
        heads = [["t"], [f"q{j}" for j in range(1, 13)], [f"tau{j}" for j in range(1, 13)]]
        heads += [[f"{word}_{k}" for k in "xyz"] for word in ("gyro", "accel")] + [[f"base_q{k}" for k in "xyzw"]]
        heads += [[f"contact_{leg}" for leg in FEET], [f"{leg}_f{k}" for leg in FEET for k in "xyz"]]
        table = np.column_stack([t, *(noisy[key] for key in ("q", "tau", "gyro", "accel")), turn.as_quat(), down.T,
                                 noisy["force"]])  # fmt: skip
        head = ",".join(name for part in heads for name in part)
        np.savetxt(path, table, delimiter=",", header=head, comments="", fmt="%.7g")
        return path


def contacts(*, forces: bool) -> tuple[ContactOptions, ...]:
    """The four feet as points, with forces in world axes or flags alone."""
    return tuple(
        ContactOptions(
            leg, f"{leg}_calf", tuple(FOOT), active=f"contact_{leg}", force=f"{leg}_f{{k}}" if forces else ""
        )
        for leg in FEET
    )


def swayed(t: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, Rotation]:
    """Position and attitude of a base that sways."""
    k = np.arange(1, 6)
    wt = 2 * np.pi * 0.25 * k * t[:, None]
    a, b = rng.normal(size=(2, 5, 6)) / k[:, None]
    found = (np.sin(wt) @ a + np.cos(wt) @ b) * ([0.015] * 3 + [0.06] * 3)
    return found[:, :3], Rotation.from_rotvec(found[:, 3:])


def waved(t: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the feet (4, N, 3), one of which is lifted and waved at a time, and which are down (4, N)."""
    feet = np.tile(np.array([HOME * [x, y, 1] for x, y in FEET.values()])[:, None], (1, len(t), 1))
    down = np.ones((4, len(t)), bool)
    turn, period = np.arange(len(t)) * 8 // len(t), len(t) / 8
    for k in range(8):
        leg, own = k % 4, turn == k
        phase = (np.arange(own.sum()) + 0.5) / period
        bump = np.sin(np.pi * phase) ** 4
        wave = 2 * np.pi * rng.uniform(1, 3, 3) * phase[:, None] + rng.uniform(0, 6, 3)
        feet[leg, own] += bump[:, None] * (np.array([0, 0, 0.08]) + [0.06, 0.06, 0.03] * np.sin(wave))
        down[leg, own] = (phase < 0.12) | (phase > 0.88)
    return feet, down


def foot_jacobian(robot: mi.Robot, leg: str, q: np.ndarray) -> np.ndarray:
    """Jacobian (N, 3, 18) of a foot."""
    J = mi.dynamics.jacobian(robot, q, f"{leg}_calf")
    r = mi.dynamics.forward_kinematics(robot, q, f"{leg}_calf")[0] @ FOOT
    return J[:, :3] - np.cross(r[:, :, None], J[:, 3:], axis=1)


def reached(robot: mi.Robot, p: np.ndarray, turn: Rotation, feet: np.ndarray) -> np.ndarray:
    """Joint positions (N, 12) at which the feet are where they should be in the world, by Newton's method."""
    q = np.tile([0.0, 0.7, -1.4], (len(p), 4))
    level = np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(p), 1))
    for _ in range(8):
        whole = np.hstack([level, q])
        for k, leg in enumerate(FEET):
            wanted = turn.inv().apply(feet[k] - p)
            R, place = mi.dynamics.forward_kinematics(robot, whole, f"{leg}_calf")
            own = slice(3 * k, 3 * k + 3)
            J = foot_jacobian(robot, leg, whole)[:, :, 6:][:, :, own]
            q[:, own] += np.linalg.solve(J, (wanted - place - R @ FOOT)[:, :, None])[:, :, 0]
    return q
