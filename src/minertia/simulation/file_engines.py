"""Programs that read exported files, and the joint efforts that they compute: one row in `READERS` for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from minertia.codegen.kernels.build import CompilerMissing, WrongKernel
from minertia.dynamics.model import inverse_dynamics
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.snap import quaternion_to_matrix
from minertia.robot.formats.usd.read import parse_usd
from minertia.robot.formats.usd.write import joint_prims
from minertia.robot.inertia import from_com
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot
from minertia.simulation.compiled import loaded_code
from minertia.simulation.engines import fmu_instance, mujoco_package, newton_model, pinocchio_package

Efforts: TypeAlias = Callable[[Array, Array, Array], Array]  # (N, coordinates) each


class UnreadableFile(MinertiaError):
    """Exported file with elements that an engine does not support."""


def _in_mujoco(file: Path, robot: Robot) -> Efforts:
    """MuJoCo's inverse dynamics of a file; dry friction, regularised in MuJoCo, is added by the velocity's sign."""
    mujoco = mujoco_package()
    try:
        arm = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as err:
        raise UnreadableFile(f"MuJoCo cannot read {file.name}: {err}") from None
    names = [arm.joint(k).name for k in range(arm.njnt)]
    _check(robot, names, arm.nv)
    joints = [names.index(name) for name in robot.coordinate_names]
    free = np.flatnonzero(arm.jnt_type == mujoco.mjtJoint.mjJNT_FREE)[: int(robot.is_floating)]
    places = np.concatenate([*(arm.jnt_qposadr[free, None] + np.arange(7)), arm.jnt_qposadr[joints]])
    dofs = np.concatenate([*(arm.jnt_dofadr[free, None] + np.arange(6)), arm.jnt_dofadr[joints]])
    arm.opt.gravity = np.array(robot.gravity, float)
    arm.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, turns = mujoco.MjData(arm), _turns(arm)

    def efforts(q: Array, qd: Array, qdd: Array) -> Array:
        if robot.is_floating:
            q, qd, qdd, R = _in_world_axes(q, qd, qdd)
        found = np.empty_like(qd)
        for k in range(len(q)):
            data.qpos[places], data.qvel[dofs], data.qacc[dofs] = q[k], qd[k], qdd[k]
            mujoco.mj_inverse(arm, data)
            dry = arm.dof_frictionloss * np.sign(data.qvel)
            dry += (arm.tendon_frictionloss * np.sign(turns @ data.qvel)) @ turns
            found[k] = (data.qfrc_inverse + dry)[dofs]
        if robot.is_floating:
            found[:, :3] = np.einsum("nji,nj->ni", R, found[:, :3])
        return found

    return efforts


def _in_world_axes(q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array, Array]:
    """MuJoCo's state of a floating base, and its rotation (N, 3, 3): velocity of its origin in world axes."""
    R = np.array([quaternion_to_matrix(w, x, y, z) for x, y, z, w in q[:, 3:7]])
    v, w, a = qd[:, :3], qd[:, 3:6], qdd[:, :3]
    q, qd, qdd = q[:, [0, 1, 2, 6, 3, 4, 5, *range(7, q.shape[1])]], qd.copy(), qdd.copy()
    qd[:, :3] = np.einsum("nij,nj->ni", R, v)
    qdd[:, :3] = np.einsum("nij,nj->ni", R, a + np.cross(w, v))
    return q, qd, qdd, R


def _turns(arm: Any) -> Array:
    """Ratios (tendons, dofs) of tendons with dry friction, which represent motors coupled to several joints."""
    turns = np.zeros((arm.ntendon, arm.nv))
    for k in np.flatnonzero(arm.tendon_frictionloss):
        parts = slice(arm.tendon_adr[k], arm.tendon_adr[k] + arm.tendon_num[k])
        turns[k, arm.jnt_dofadr[arm.wrap_objid[parts]]] = arm.wrap_prm[parts]
    return turns


def _in_pinocchio(file: Path, robot: Robot) -> Efforts:
    """Pinocchio's inverse dynamics of a file, plus the friction that Pinocchio reads but does not apply."""
    pin = pinocchio_package()
    try:
        arm = pin.buildModelFromUrdf(str(file))
        if robot.is_floating and arm.nv == robot.n:  # a file without a floating joint below its first link
            arm = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
    except (ValueError, RuntimeError) as err:
        raise UnreadableFile(f"Pinocchio cannot read {file.name}: {err}") from None
    _check(robot, list(arm.names), arm.nv)
    joints, moving = [arm.getJointId(name) for name in robot.coordinate_names], 7 * robot.is_floating
    dofs = [*range(6 * robot.is_floating), *(int(arm.idx_vs[k]) for k in joints)]
    arm.gravity.linear = np.array(robot.gravity, float)
    data = arm.createData()

    def efforts(q: Array, qd: Array, qdd: Array) -> Array:
        placed, v, a = np.tile(pin.neutral(arm), (len(q), 1)), np.zeros((len(q), arm.nv)), np.zeros((len(q), arm.nv))
        v[:, dofs], a[:, dofs], placed[:, :moving] = qd, qdd, q[:, :moving]
        for column, k in zip(q.T[moving:], joints, strict=True):
            first, is_whole_turn = int(arm.idx_qs[k]), int(arm.nqs[k]) == 2
            if is_whole_turn:
                placed[:, first], placed[:, first + 1] = np.cos(column), np.sin(column)
            else:
                placed[:, first] = column
        rigid = np.array([pin.rnea(arm, data, *row) for row in zip(placed, v, a, strict=True)])
        return np.asarray((rigid + arm.damping * v + arm.friction * np.sign(v))[:, dofs])

    return efforts


def _in_usd(file: Path, robot: Robot) -> Efforts:
    """Efforts from the standard attributes of a USD file, most of them with 32 bits, as other programs read it."""
    arm = parse_usd("", str(file), ReadOptions(robot.base, 0.0, False, single=True)).with_gravity(robot.gravity)
    _check(robot, list(arm.coordinate_names), arm.n_velocity)
    order = [arm.coordinate_names.index(name) for name in robot.coordinate_names]
    places, dofs = ([*range(k), *(k + j for j in order)] for k in (7 * robot.is_floating, 6 * robot.is_floating))

    def efforts(q: Array, qd: Array, qdd: Array) -> Array:
        x, v, a = (np.empty_like(part) for part in (q, qd, qdd))
        x[:, places], v[:, dofs], a[:, dofs] = q, qd, qdd
        return np.asarray(inverse_dynamics(arm, x, v, a))[:, dofs]

    return efforts


def _in_isaac_lab(file: Path, robot: Robot) -> Efforts:
    """Raise an error: Isaac Lab runs only inside its own application; the exported text checks the values there."""
    raise UnreadableFile("Isaac Lab runs in an application of its own")


def _in_newton(file: Path, robot: Robot) -> Efforts:
    """Efforts of the bodies, joints and actuators that Newton makes of a USD file, with its 32-bit values."""
    if robot.is_floating or any(joint.follows is not None for joint in robot.joints):
        raise UnreadableFile("only fixed-base robots of independent joints are compared with Newton")
    there = newton_model(file)
    names = [label.rpartition("/")[2] for label in there.joint_label]
    mass, com, inertia, place, child, start = (
        getattr(there, key).numpy()
        for key in ("body_mass", "body_com", "body_inertia", "joint_X_p", "joint_child", "joint_qd_start")
    )
    effects = {
        "IA": there.joint_armature.numpy(),
        "FV": there.joint_damping.numpy(),
        "FC": there.joint_friction.numpy(),
    }
    effects["OFF"] = np.zeros(len(effects["IA"]))
    for actuator in there.actuators:
        if actuator.drive.const_effort is not None:
            effects["OFF"][actuator.indices.numpy()] -= actuator.drive.const_effort.numpy()
    joints, values = [], dict[str, float]()
    for j, (joint, name) in enumerate(zip(robot.joints, joint_prims(robot), strict=True)):
        if name not in names:
            raise UnreadableFile(f"Newton does not have the joint '{joint.name}'")
        k = names.index(name)
        x, y, z, w = place[k, 3:]
        pose: Any = tuple(map(tuple, quaternion_to_matrix(w, x, y, z).tolist())), tuple(place[k, :3].tolist())
        joints.append(replace(joint, R=pose[0], p=pose[1]))
        body = child[k]
        ten = from_com(float(mass[body]), com[body].astype(float), inertia[body].astype(float))
        values |= {full_name(s, j + 1): float(v) for s, v in zip(LINK_SYMBOLS, ten, strict=True)}
        values |= {full_name(s, j + 1): float(v[start[k]]) for s, v in effects.items()}
    bare = robot.without_effects(list(robot.effect_values))
    own = replace(bare, joints=tuple(joints)).with_parameters(values)
    return lambda q, qd, qdd: np.asarray(inverse_dynamics(own, q, qd, qdd))


def _in_c(folder: Path, robot: Robot) -> Efforts:
    """Efforts of generated C, compiled after its self-test."""
    if robot.cuts or robot.has_input("temperature"):
        raise UnreadableFile("code with further inputs is not compared")
    files = [file for file in folder.iterdir() if file.suffix in (".c", ".h")]
    try:
        code = loaded_code(robot, files)
    except (CompilerMissing, WrongKernel) as err:
        raise UnreadableFile(str(err)) from None
    if robot.is_floating:
        run = code.function("inverse_dynamics", _sizes(robot), (robot.n_velocity,))
        return lambda q, qd, qdd: np.array([run(*row)[0] for row in zip(q, qd, qdd, strict=True)])
    call = code.of_state("inverse_dynamics", 3, robot.n)
    return lambda q, qd, qdd: np.array([call(*row) for row in zip(q, qd, qdd, strict=True)])


def _in_fmpy(folder: Path, robot: Robot) -> Efforts:
    """Efforts of an FMU, run by FMPy."""
    if robot.cuts or robot.has_input("temperature"):
        raise UnreadableFile("an FMU with further inputs is not compared")
    unit, about = fmu_instance(next(iter(folder.glob("*.fmu"))))
    references = {v.name: v.valueReference for v in about.modelVariables}
    sizes = zip(("q", "qd", "qdd"), _sizes(robot), strict=True)
    inputs = [references[f"{name}[{k + 1}]"] for name, size in sizes for k in range(size)]
    outputs = [references[f"tau[{k + 1}]"] for k in range(robot.n_velocity)]

    def efforts(q: Array, qd: Array, qdd: Array) -> Array:
        found = np.empty_like(qd)
        for k, row in enumerate(np.hstack([q, qd, qdd])):
            unit.setReal(inputs, row.tolist())
            found[k] = unit.getReal(outputs)
        return found

    return efforts


def _sizes(robot: Robot) -> tuple[int, int, int]:
    """Lengths of q, qd and qdd."""
    return robot.n_position, robot.n_velocity, robot.n_velocity


def _check(robot: Robot, names: list[str], freedom: int) -> None:
    """Raise an error for a file whose joints are not the robot's coordinates.

    Causes are another kind of base, dependent joints, loops, or other names.
    """
    if freedom != robot.n_velocity or any(name not in names for name in robot.coordinate_names):
        raise UnreadableFile("its joints do not match the coordinates of the robot")


READERS: dict[str, Callable[[Path, Robot], Efforts]] = {
    "MuJoCo": _in_mujoco,
    "Pinocchio": _in_pinocchio,
    "UsdPhysics": _in_usd,
    "Newton": _in_newton,
    "Isaac Lab": _in_isaac_lab,
    "compiled C": _in_c,
    "FMPy": _in_fmpy,
}
SUBSTITUTES = {"Newton": ("UsdPhysics",), "Isaac Lab": ("UsdPhysics",)}  # if a program is not installed
