"""Parameter samples as fields of a MuJoCo model, for MJX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.closed_loop.actuators import (
    loop_of,
    motor_name,
    not_held,
    position_mjcf,
    rate_name,
    spring_name,
)
from minertia.identification.closed_loop.record import LOOP
from minertia.identification.problem.linear import symbol_of
from minertia.identification.samples import Samples, centred, npz_bytes
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.io.files import write_file
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.formats.mjcf.values import AT_MOTOR, FAR
from minertia.robot.formats.mjcf.write import MOTOR, to_mjcf
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Note
from minertia.simulation.engines import mujoco_package
from minertia.simulation.sample_values import held_best, held_values, lost_notes, with_effects

MJX_FILES = ("mjx.npz", "mjx.mjcf")
BODY_FIELDS = ("body_mass", "body_ipos", "body_inertia", "body_iquat")
DOF_FIELDS = {"dof_armature": "IA", "dof_damping": "FV", "dof_frictionloss": "FC"}
UNTURNED = re.compile(r'(<inertial pos="[^"]*" mass="[^"]*") diaginertia="(\S+) (\S+) (\S+)"/>')
QUARTER = 0.5**0.5  # component of the quaternion of a quarter turn
NOT_IN_MJX = ("FVC",)  # MJX on JAX accepts `dof_dampingpoly`, and steps without it
DRY = ("FC", "FCM")  # MJX has no dry friction where the MJCF has none
DERIVED = ("body_subtreemass", "body_invweight0", "dof_invweight0", "tendon_invweight0")  # by `mj_setConst`


def mjx_arrays(samples: Samples) -> tuple[str, dict[str, Array]]:
    """MJCF of the most probable robot, and arrays that replace fields of its MJX model, one row per sampled robot."""
    mujoco = mujoco_package()
    held = held_values(samples, "mjcf", NOT_IN_MJX)
    text = _turned(_best_mjcf(samples, held))
    fields = _Fields(samples, held, mujoco.MjModel.from_xml_string(text))
    fields.set_links()
    fields.set_effects()
    fields.set_springs()
    fields.set_motors()
    fields.set_servos()
    fields.set_derived(mujoco)
    return text, fields.arrays


def _best_mjcf(samples: Samples, held: Mapping[str, Array]) -> str:
    """MJCF of the most probable robot, with dry friction wherever a sampled robot has some."""
    best = held_best(samples, "mjcf", NOT_IN_MJX)
    for name, values in held.items():
        if symbol_of(name) in DRY and not best.get(name) and np.any(values > 0):
            best[name] = float(np.min(values[values > 0]))
    if not samples.servos():
        return to_mjcf(with_effects(samples.robot(), best))
    first = replace(samples, x=samples.best[None]).servos()
    loop = loop_of(samples.model) | {key: first[key][0].tolist() for key in ("kp", "kd")}
    return position_mjcf(with_effects(samples.model.robot, best), loop, not_held(samples.model))


def _turned(text: str) -> str:
    """MJCF with the same inertias, in frames that are turned by 90 degrees where they were those of the bodies.

    MuJoCo would simulate bodies whose own frame is that of their inertia without the rows' `body_ipos`, `body_iquat`.
    """
    return UNTURNED.sub(rf'\1 diaginertia="\3 \2 \4" quat="{QUARTER} 0 0 {QUARTER}"/>', text)


def write_mjx(samples: Samples, folder: Path) -> tuple[Note, ...]:
    """Write the MJCF and the arrays into a folder; notes list what they do not hold."""
    text, arrays = mjx_arrays(samples)
    write_file(folder / MJX_FILES[0], npz_bytes(arrays))
    write_file(folder / MJX_FILES[1], text)
    return (*lost_notes(samples, "mjcf", "MJX", NOT_IN_MJX), *_constant_notes(samples))


class _Fields:
    """Fields of a compiled MuJoCo model as arrays with one row per sampled robot."""

    def __init__(self, samples: Samples, held: Mapping[str, Array], compiled: Any) -> None:
        self.samples, self.held, self.compiled = samples, held, compiled
        self.robot = samples.model.nominal
        self.loop = samples.model.evidence.get(LOOP, {})
        self.elastic = self.loop.get("elastic", {}).get("joints", ())
        self.arrays: dict[str, Array] = {}
        held_names = {compiled.joint(k).name for k in range(compiled.njnt)}
        lost = next((joint.name for joint in self.robot.joints if joint.name not in held_names), None)
        if lost is not None:
            raise InputError(f"MJCF cannot hold the joint name {lost!r}; rename the joint, or omit --export mjx")
        for name in (*BODY_FIELDS, *DOF_FIELDS):
            self[name]

    def __getitem__(self, name: str) -> Array:
        """Field, at first with the value of the compiled model in every row."""
        if name not in self.arrays:
            own = np.asarray(getattr(self.compiled, name), float)
            self.arrays[name] = np.repeat(own[None], len(self.samples), axis=0)
        return self.arrays[name]

    def _joint(self, j: int, symbol: str) -> Any:
        """Joint of the compiled model on which an effect of joint j (from 0) acts."""
        name = self.robot.joints[j].name
        return self.compiled.jnt(motor_name(name) if name in self.elastic and symbol in AT_MOTOR else name)

    def set_links(self) -> None:
        """Masses and inertias."""
        mass, com, six = centred(self.samples.tens)
        for j, joint in enumerate(self.robot.joints):
            if not np.all(mass[:, j] > 0):
                continue  # MuJoCo takes no zero mass: the file has the smallest one
            body = int(self.compiled.jnt(joint.name).bodyid[0])
            self["body_mass"][:, body], self["body_ipos"][:, body] = mass[:, j], com[:, j]
            self["body_inertia"][:, body], self["body_iquat"][:, body] = principal(six[:, j])

    def set_effects(self) -> None:
        """Rotor inertia and friction of joints."""
        for j in range(self.robot.n_joints):
            for field, symbol in DOF_FIELDS.items():
                name = full_name(symbol, j + 1)
                if name in self.held:
                    self[field][:, int(self._joint(j, symbol).dofadr[0])] = self.held[name]

    def set_springs(self) -> None:
        """Springs of joints, and constant efforts: by the rest of the joint's own spring, or by a distant soft one."""
        for j in range(self.robot.n_joints):
            stiffness, offset = self.held.get(full_name("KS", j + 1)), self._offset(j)
            if self.robot.joints[j].name in self.elastic:  # the spring acts on the link, the offset on the motor
                self._set_spring(j, "KS", stiffness, None)
                self._set_spring(j, "OFF", None, offset)
            else:
                self._set_spring(j, "KS", stiffness, offset)

    def _set_spring(self, j: int, symbol: str, stiffness: Array | None, offset: Array | None) -> None:
        """Spring of the joint on which an effect acts: stiffness (q - rest) + offset, of shape (robots,) or none."""
        if stiffness is None and offset is None:
            return
        none, rest = np.zeros(len(self.samples)), 0.0
        if stiffness is not None:
            rest = self.samples.robot().effect_constants(j, "KS")["rest"]
        k, off = none if stiffness is None else stiffness, none if offset is None else offset
        at, is_stiff = self._joint(j, symbol), k > 0
        near = rest - off / np.where(is_stiff, k, 1.0)
        self["jnt_stiffness"][:, int(at.id)] = np.where(is_stiff, k, np.abs(off) / FAR)
        self["qpos_spring"][:, int(at.qposadr[0])] = np.where(is_stiff, near, np.copysign(FAR, -off))

    def _offset(self, j: int) -> Array | None:
        """Constant effort (robots,) at a joint, with those of motors coupled to several joints; None if it has none."""
        parts = [(1.0, self.held.get(full_name("OFF", j + 1)))]
        for motor, row in self.robot.coupled_motors.items() if j in self.robot.independent else ():
            factor = self.robot.coupling[row][self.robot.independent.index(j)] if self.robot.coupling is not None else 0
            parts.append((float(factor), self.held.get(full_name("OFFM", motor + 1))))
        found = [factor * own for factor, own in parts if own is not None and factor]
        return np.sum(found, axis=0) if found else None

    def set_motors(self) -> None:
        """Tendons: motors coupled to several joints, and springs of elastic joints."""
        tendons = {self.compiled.tendon(k).name: k for k in range(self.compiled.ntendon)}
        for motor, row in self.robot.coupled_motors.items():
            for symbol, field in MOTOR.items():
                own = self.held.get(full_name(symbol, motor + 1))
                if own is not None and f"m{row}" in tendons:
                    self[f"tendon_{field}"][:, tendons[f"m{row}"]] = own
        names, samples = self.robot.coordinate_names, self.samples
        for joint in self.elastic:
            compliance, damping = (f"{symbol}{names.index(joint) + 1}" for symbol in ("CJ", "DJ"))
            if compliance in samples.names:
                self["tendon_stiffness"][:, tendons[spring_name(joint)]] = 1.0 / samples.values(compliance)
            if damping in samples.names:
                self["tendon_damping"][:, tendons[spring_name(joint)]] = samples.values(damping)

    def set_servos(self) -> None:
        """Gains of position servos."""
        servos = self.samples.servos()
        names = [self.compiled.actuator(k).name for k in range(self.compiled.nu)]
        for j, joint in enumerate(self.loop["joints"] if servos else ()):
            gain, bias, k = self["actuator_gainprm"], self["actuator_biasprm"], names.index(joint)
            gain[:, k, 0], bias[:, k, 1] = servos["kp"][:, j], -servos["kp"][:, j]
            if rate_name(joint) in names:
                r = names.index(rate_name(joint))
                gain[:, r, 0], bias[:, r, 2] = servos["kd"][:, j], -servos["kd"][:, j]
            else:
                bias[:, k, 2] = -servos["kd"][:, j]

    def set_derived(self, mujoco: Any) -> None:
        """Fields that MuJoCo's compiler derives from the others: MJX takes them as they are, for soft constraints."""
        own = dict(self.arrays)
        derived = {name: self[name] for name in DERIVED if getattr(self.compiled, name).size}
        data = mujoco.MjData(self.compiled)
        for k in range(len(self.samples)):
            for name, values in own.items():
                getattr(self.compiled, name)[:] = values[k]
            mujoco.mj_setConst(self.compiled, data)
            for name, values in derived.items():
                values[k] = getattr(self.compiled, name)


def _constant_notes(samples: Samples) -> tuple[Note, ...]:
    """Note on values that vary in samples.npz and are those of the MJCF for all robots."""
    effects = {name for name in samples.names if symbol_of(name) in BY_SYMBOL}
    known = ("KP", "KD", "CJ", "DJ", "WARM", *LINK_SYMBOLS)
    stay = [name for name in samples.names if name not in effects and not name.startswith(known)]
    stay = [name for name in stay if np.ptp(samples.values(name)) > 0]
    if not stay:
        return ()
    how = "; delay ctrl by `delay` of samples.npz [s]" if "delay" in stay else ""
    return (Note("info", MJX_FILES[0], f"{', '.join(stay)}: not in this file, the same for all robots{how}"),)


def principal(six: Array) -> tuple[Array, Array]:
    """Principal moments (N, 3) and quaternions w x y z (N, 4) of the principal axes.

    six (N, 6): inertia matrices as XX XY XZ YY YZ ZZ.
    """
    J = np.stack([six[:, [0, 1, 2]], six[:, [1, 3, 4]], six[:, [2, 4, 5]]], axis=1)
    moments, axes = np.linalg.eigh(J)
    axes[:, :, 2] *= np.sign(np.linalg.det(axes))[:, None]
    return moments[:, ::-1], _quaternions(np.stack([axes[:, :, 2], axes[:, :, 1], -axes[:, :, 0]], axis=2))


def _quaternions(R: Array) -> Array:
    """Quaternions w x y z (N, 4) of rotation matrices, from the largest component for numerical accuracy."""
    xx, yy, zz = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    a, b, c = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    d, e, f = R[:, 1, 0] + R[:, 0, 1], R[:, 0, 2] + R[:, 2, 0], R[:, 2, 1] + R[:, 1, 2]
    forms = np.array([
        [1 + xx + yy + zz, a, b, c],
        [a, 1 + xx - yy - zz, d, e],
        [b, d, 1 - xx + yy - zz, f],
        [c, e, f, 1 - xx - yy + zz],
    ])  # fmt: skip
    best = np.argmax(np.einsum("kkn->kn", forms), axis=0)
    chosen = forms[best, :, np.arange(len(R))]
    return np.asarray(chosen / np.linalg.norm(chosen, axis=1, keepdims=True))
