"""Exported files read back by the target programs, and the residuals of an identification's logs with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.efforts.judge import residuals_by
from minertia.identification.kind import Problem
from minertia.identification.model import Model
from minertia.identification.signals.filtering import Motion
from minertia.io.errors import MinertiaError, MissingExtra
from minertia.robot.files import read_robot
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.usd.read import parse_usd
from minertia.robot.robot import Robot
from minertia.robot.targets import ExportTarget, target_of
from minertia.simulation.engines import mujoco_package, pinocchio_package
from minertia.simulation.proof import held_by

Array = NDArray[np.float64]
STATES = 50  # at which a file is compared with what was written
ELSEWHERE = 200_000  # samples of a log that another program predicts one by one, of whole blocks
Efforts: TypeAlias = Callable[[Array, Array, Array], Array]  # (N, coordinates) each


class UnreadableFile(MinertiaError):
    """Exported file with elements that an engine does not support."""


def read_back(model: Model, problem: Problem, folder: Path, names: Iterable[str]) -> Model:
    """Model with the residuals of its exported files on the logs, as evaluated by the target programs.

    Where a target program is not installed or cannot read the file, minertia evaluates the file itself.
    """
    exports = dict(model.exports)
    for file in (folder / name for name in names):
        target = target_of(file)
        if target is None or target.name not in exports or not file.is_file():
            continue
        exports[target.name] = {**exports[target.name], "file": file.name}
        found = _efforts(target, file, model.nominal.numeric)
        if found is not None:
            engine, efforts = found
            left = _left(problem, exports[target.name]["left"], efforts)
            exports[target.name] = {**exports[target.name], "read_by": engine, "left": left}
    return model.with_exports(exports)


def read_by_engine(model: Model, file: Path) -> Model | None:
    """Model whose only export is this file, with the program that read it; None if it has no such export.

    The efforts computed from the file are compared with those of the model at random states.  The residuals
    on the logs are taken from the identification.
    """
    target = target_of(file)
    if target is None or target.name not in model.exports:
        return None
    export = {**model.exports[target.name], "file": file.name, "read_by": "minertia"}
    held = held_by(model.to_robot(target.name), target).numeric
    found = _efforts(target, file, held)
    if found is not None:
        q, qd, qdd = np.random.default_rng(0).normal(size=(3, STATES, held.n))
        own, theirs = np.asarray(inverse_dynamics(held, q, qd, qdd)), found[1](q, qd, qdd)
        difference = float(np.abs(theirs - own).max() / max(float(np.abs(own).max()), 1e-300))
        export |= {"read_by": found[0], "difference": difference}
    return model.with_exports({target.name: export})


def _left(problem: Problem, before: Sequence[Any], efforts: Efforts) -> list[dict[str, Any]]:
    linear = problem.linear
    rows = list(linear.rows)

    def predicted(motion: Motion) -> Array:
        return efforts(*(np.asarray(a, float) for a in (motion.q, motion.qd, motion.qdd)))[:, rows]

    logs = problem.unseen or problem.logs
    return [
        {**entry, "file": residuals_by(linear, log, predicted, ELSEWHERE)[0].to_dict(with_log=False)}
        for entry, log in zip(before, logs, strict=True)
    ]


def _efforts(target: ExportTarget, file: Path, robot: Robot) -> tuple[str, Efforts] | None:
    """Program and its effort function for a file: the target's engine, else minertia; None if neither reads it."""
    try:
        return target.engine, READERS[target.engine](file, robot)
    except (MissingExtra, UnreadableFile):
        pass
    try:
        own = read_robot(file, gravity=robot.gravity)
    except MinertiaError:
        return None
    if own.coordinate_names != robot.coordinate_names:  # joints that were held have no samples
        return None
    return "minertia", lambda q, qd, qdd: np.asarray(inverse_dynamics(own, q, qd, qdd))


def _in_mujoco(file: Path, robot: Robot) -> Efforts:
    """MuJoCo's inverse dynamics of a file; dry friction, regularised in MuJoCo, is added by the velocity's sign."""
    mujoco = mujoco_package()
    try:
        arm = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as err:
        raise UnreadableFile(f"MuJoCo cannot read {file.name}: {err}") from None
    names = [arm.joint(k).name for k in range(arm.njnt)]
    _check(robot, names, arm.nv)
    dofs = [int(arm.jnt_dofadr[names.index(name)]) for name in robot.coordinate_names]
    arm.opt.gravity = np.array(robot.gravity, float)
    arm.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, turns = mujoco.MjData(arm), _turns(arm)

    def efforts(q: Array, qd: Array, qdd: Array) -> Array:
        found = np.empty_like(qd)
        for k in range(len(q)):
            data.qpos[dofs], data.qvel[dofs], data.qacc[dofs] = q[k], qd[k], qdd[k]
            mujoco.mj_inverse(arm, data)
            dry = arm.dof_frictionloss * np.sign(data.qvel)
            dry += (arm.tendon_frictionloss * np.sign(turns @ data.qvel)) @ turns
            found[k] = (data.qfrc_inverse + dry)[dofs]
        return found

    return efforts


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
    except (ValueError, RuntimeError) as err:
        raise UnreadableFile(f"Pinocchio cannot read {file.name}: {err}") from None
    _check(robot, list(arm.names), arm.nv)
    joints = [arm.getJointId(name) for name in robot.coordinate_names]
    dofs = [int(arm.idx_vs[k]) for k in joints]
    arm.gravity.linear = np.array(robot.gravity, float)
    data = arm.createData()

    def efforts(q: Array, qd: Array, qdd: Array) -> Array:
        placed, v, a = np.tile(pin.neutral(arm), (len(q), 1)), np.zeros((len(q), arm.nv)), np.zeros((len(q), arm.nv))
        v[:, dofs], a[:, dofs] = qd, qdd
        for column, k in zip(q.T, joints, strict=True):
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
    arm = parse_usd("", str(file), ReadOptions("fixed", 0.0, False, single=True)).with_gravity(robot.gravity)
    _check(robot, list(arm.coordinate_names), arm.n)
    order = [arm.coordinate_names.index(name) for name in robot.coordinate_names]

    def efforts(q: Array, qd: Array, qdd: Array) -> Array:
        x, v, a = (np.empty_like(part) for part in (q, qd, qdd))
        x[:, order], v[:, order], a[:, order] = q, qd, qdd
        return np.asarray(inverse_dynamics(arm, x, v, a))[:, order]

    return efforts


def _check(robot: Robot, names: list[str], freedom: int) -> None:
    """Raise an error for a file whose joints are not the robot's coordinates.

    Causes are a floating base, dependent joints, loops, or other names.
    """
    if freedom != robot.n or robot.is_floating or any(name not in names for name in robot.coordinate_names):
        raise UnreadableFile("its joints do not match the coordinates of the robot")


READERS: dict[str, Callable[[Path, Robot], Efforts]] = {
    "MuJoCo": _in_mujoco,
    "Pinocchio": _in_pinocchio,
    "UsdPhysics": _in_usd,
}
