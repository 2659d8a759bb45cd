"""Robot with elastic joints in MuJoCo (extra `sim`) under position servos, and identification of its springs.

The motor of an elastic joint is a separate body with a joint of the same kind, whose armature is the rotor
inertia; a tendon with MuJoCo's own stiffness and damping connects it to the link.  The simulation is
independent of `codegen.rollout`, which the fit uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import mass_matrix
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.options import Command, ElasticJoints
from minertia.identification.identify import identify
from minertia.identification.logs.recording import Recording
from minertia.io.errors import Infeasible
from minertia.robot.effects import BY_SYMBOL, EFFECT_SYMBOLS
from minertia.robot.formats.mjcf.write import STIFF
from minertia.robot.joint import Elastic
from minertia.robot.parameters import split_name
from minertia.robot.robot import Robot
from minertia.simulation.engines import NATIVE, compiled_spec, mujoco_package, plant_spec

Array = NDArray[np.float64]
USUAL = 10.0  # Hz, of the link against a held motor, where a file does not say how stiff its joint is
USUAL_DAMPING = 0.05  # part of critical damping
LOOP = 4.0  # Hz, of position loops
RESOLVED = 0.15  # rad of the fastest vibration in one step
SHORTEST = 1e-5  # s
ROTOR = 0.1  # rotor inertia over that of the link, where a file has none
AT_MOTOR = tuple(s for s in EFFECT_SYMBOLS if s in NATIVE and not BY_SYMBOL[s].is_at_link)
TINY = 1e-9  # kg, kg m2 of the bodies that stand for rotors, whose inertia is their armature


class SprungPlant:
    """Robot whose elastic joints have motors as separate bodies, under motor-side position servos.

    kp, kd: gains (n,) referred to the joint side.  period [s]: sampling period of the log.
    """

    def __init__(self, robot: Robot, kp: Array, kd: Array, *, period: float = 4e-3) -> None:
        self.robot = planted(robot.numeric)
        self.mujoco: Any = mujoco_package()
        if self.robot.n != self.robot.n_joints or self.robot.cuts or self.robot.coupling is not None:
            raise Infeasible(
                "elastic joints are simulated only for trees without dependent joints or coupled motors, not for "
                f"'{robot.name}'"
            )
        lost = [name for name in self.robot.other_effects if split_name(name)[0] not in NATIVE]
        if lost:
            raise Infeasible(
                f"{', '.join(lost)} cannot be simulated together with elastic joints; omit them with --without"
            )
        self.elastic = self.robot.elastic
        self.count = max(1, int(np.ceil(period / min(self._longest(), period))))
        self.period, self.model = period, self._built(kp, kd, period / self.count)
        self.data = self.mujoco.MjData(self.model)
        self.links = [int(self.model.joint(f"j{j}").qposadr[0]) for j in range(self.robot.n)]
        self.motors = [int(self.model.joint(self._motor(j)).qposadr[0]) for j in range(self.robot.n)]

    def _motor(self, j: int) -> str:
        return f"m{j}" if j in self.elastic else f"j{j}"

    def _longest(self) -> float:
        """Largest integration step [s] that resolves the fastest vibration."""
        inertia = link_inertia(self.robot)
        fastest = 1.0
        for j, spring in self.elastic.items():
            rotor = self.robot.effects[j]["IA"]
            assert spring.stiffness is not None
            fastest = max(fastest, float(np.sqrt(spring.stiffness * (1 / rotor + 4 / inertia[j]))))
        return max(RESOLVED / fastest, SHORTEST)

    def _built(self, kp: Array, kd: Array, step: float) -> Any:
        mujoco, robot = self.mujoco, self.robot
        moved = [f"{symbol}{j + 1}" for j in self.elastic for symbol in AT_MOTOR]
        bare = robot.without_effects([name for name in moved if name in robot.effect_values])
        spec = plant_spec(mujoco, bare, step)
        for j, spring in self.elastic.items():
            own, kind = robot.effects[j], robot.joints[j].kind
            body = spec.worldbody.add_body(name=f"rotor{j}", mass=TINY, inertia=[TINY] * 3, gravcomp=1.0)
            body.explicitinertial = True
            body.add_joint(
                name=f"m{j}",
                type=mujoco.mjtJoint.mjJNT_SLIDE if kind == "prismatic" else mujoco.mjtJoint.mjJNT_HINGE,
                axis=[0, 0, 1],
                armature=own["IA"],
                damping=own.get("FV", 0.0),
                frictionloss=own.get("FC", 0.0),
                solref_friction=STIFF,
            )
            tendon = spec.add_tendon(
                name=f"s{j}", stiffness=spring.stiffness, damping=spring.damping, springlength=[0.0, 0.0]
            )
            tendon.wrap_joint(f"m{j}", 1.0)
            tendon.wrap_joint(f"j{j}", -1.0)
        for j in range(robot.n):
            drive = spec.add_actuator(name=f"d{j}", target=self._motor(j), trntype=mujoco.mjtTrn.mjTRN_JOINT)
            drive.set_to_position(kp=float(kp[j]), kv=float(kd[j]))
        return compiled_spec(spec, robot)

    def run(self, commands: Array) -> tuple[Array, Array]:
        """Positions of links and of motors (N, n) at the rows of zero-order-held commands, from rest."""
        data, offsets = self.data, np.array([own.get("OFF", 0.0) for own in self.robot.effects])
        self.mujoco.mj_resetData(self.model, data)
        data.qpos[self.links], data.qpos[self.motors] = commands[0], commands[0]
        data.qfrc_applied[
            [int(self.model.jnt_dofadr[self.model.joint(self._motor(j)).id]) for j in range(self.robot.n)]
        ] = -offsets
        q, motor = np.empty_like(commands), np.empty_like(commands)
        for k, u in enumerate(commands):
            q[k], motor[k] = data.qpos[self.links], data.qpos[self.motors]
            data.ctrl[:] = u
            for _ in range(self.count):
                self.mujoco.mj_step(self.model, data)
        return q, motor


def planted(robot: Robot) -> Robot:
    """Robot with default values for springs and rotors that are not given in its file."""
    inertia, joints, effects = link_inertia(robot), list(robot.joints), [dict(own) for own in robot.effects]
    for j, spring in robot.elastic.items():
        rotor = effects[j].get("IA", 0.0) or ROTOR * float(inertia[j])
        stiffness = spring.stiffness or float(inertia[j]) * (2 * np.pi * USUAL) ** 2
        reduced = rotor * inertia[j] / (rotor + inertia[j])
        damping = 2 * USUAL_DAMPING * float(np.sqrt(stiffness * reduced)) if spring.damping is None else spring.damping
        joints[j], effects[j]["IA"] = replace(joints[j], elastic=Elastic(stiffness, damping)), rotor
    return replace(robot, joints=tuple(joints), effects=tuple(effects))


def link_inertia(robot: Robot) -> Array:
    """Inertia moved by each joint at the robot's zero position, without rotors [kg m2, kg]."""
    found = np.diag(np.asarray(mass_matrix(robot, np.zeros(robot.n), rotors=False)))
    return np.asarray(np.maximum(found, 1e-3 * found.max(initial=1e-6)))


def loop_gains(robot: Robot) -> tuple[Array, Array]:
    """Gains (n,) of position servos for a rehearsal [N m/rad, N m s/rad; N/m, N s/m]."""
    rotors = np.array([own.get("IA", 0.0) for own in robot.effects])
    inertia = link_inertia(robot) + rotors
    kp = inertia * (2 * np.pi * LOOP) ** 2
    return kp, 1.4 * np.sqrt(kp * inertia)


@dataclass(frozen=True, slots=True)
class SpringReturned:
    """One elastic joint: true and estimated link-side stiffness and damping, with standard deviations."""

    joint: str
    stiffness: float
    found: float
    deviation: float
    damping: float
    found_damping: float
    damping_deviation: float

    @property
    def error(self) -> float:
        """Relative error of the stiffness."""
        return self.found / self.stiffness - 1


@dataclass(frozen=True, slots=True)
class SpringsRehearsed:
    """Estimates of known springs from a campaign of commands, compared with a rigid fit of the same log."""

    springs: tuple[SpringReturned, ...]
    is_good: bool
    rigid: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        keys = ("joint", "stiffness", "found", "deviation", "damping", "found_damping", "damping_deviation")
        springs = [{key: getattr(s, key) for key in keys} | {"error": s.error} for s in self.springs]
        return {"springs": springs, "good": self.is_good, "rigid": list(self.rigid)}

    def sentence(self) -> str:
        """Result as a message."""
        told = [f"stiffness of {s.joint} {s.found:.4g}, {100 * s.error:+.2g} % off" for s in self.springs]
        rigid = (
            "detects the elasticity"
            if len(self.rigid) == len(self.springs)
            else ("does not detect it" if not self.rigid else "says it of some")
        )
        return f"{'; '.join(told)}; a rigid fit {rigid}"


def rehearse_springs(
    robot: Robot, commands: Sequence[Array], period: float, resolution: Array, seed: int = 0
) -> SpringsRehearsed:
    """Simulate two command trajectories in MuJoCo, log both encoders, and fit elastic and rigid joint models.

    The second trajectory is for validation.  resolution: of the encoders (n,), with dithered rounding.
    """
    truth = planted(robot.numeric)
    kp, kd = loop_gains(truth)
    plant, rng = SprungPlant(truth, kp, kd, period=period), np.random.default_rng(seed)
    logs = [_recorded(plant, u, resolution, rng) for u in commands]
    bare = replace(truth, joints=tuple(replace(joint, elastic=None) for joint in truth.joints))
    names = tuple(truth.coordinate_names[j] for j in truth.elastic)
    campaign = Campaign(
        bare, logs[0], Log(logs[1], title="unseen"), command=Command(kp=tuple(kp), kd=tuple(kd), delay=0.0)
    )
    found = identify(replace(campaign, elastic=ElasticJoints(joints=names)))
    rigid = identify(campaign)
    values = {p.name: p for p in found.parameters}
    springs = []
    for j, own in truth.elastic.items():
        k, d = values.get(f"KJ{j + 1}"), values.get(f"DJ{j + 1}")
        if k is None or d is None or own.stiffness is None or own.damping is None:
            raise Infeasible(
                f"the trajectory does not excite the spring of joint '{truth.coordinate_names[j]}'; use a faster one"
            )
        springs.append(
            SpringReturned(
                truth.coordinate_names[j], own.stiffness, k.value, k.deviation, own.damping, d.value, d.deviation
            )
        )
    said = tuple(reason for reason in rigid.verdict.reasons if "elastic" in reason)
    return SpringsRehearsed(tuple(springs), found.verdict.is_good, said)


def _recorded(plant: SprungPlant, u: Array, resolution: Array, rng: np.random.Generator) -> Recording:
    q, motor = (x + resolution * rng.uniform(-0.5, 0.5, x.shape) for x in plant.run(u))
    t = np.asarray(plant.period * np.arange(len(u)), float)
    return Recording(
        t=t, q=q, joints=plant.robot.coordinate_names, channels={"command": u, "motor": motor}, source="springs"
    )
