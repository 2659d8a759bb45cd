"""Export of robots to models of other programs: MuJoCo (extra `sim`), Pinocchio, Newton and FMPy (their own extras).

A description file loses what its format has no element for; these models are built in memory, with rotor inertias,
friction and offsets where the program supports them.  Unsupported parts are reported in an `UnsupportedPartWarning`.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minertia.io.errors import Infeasible, MinertiaError
from minertia.io.extras import load
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.formats.mjcf.values import HELD
from minertia.robot.formats.mjcf.write import MOTOR, STIFF, to_mjcf
from minertia.robot.formats.writing import unheld_effects, unheld_motors
from minertia.robot.inertia import Ten, impossible, to_com
from minertia.robot.parameters import split_name
from minertia.robot.robot import Note, Robot

NATIVE = ("IA", "FV", "FC", "OFF", "KS", "IAM", "FVM", "FCM", "OFFM")  # armature, damping, friction, springs
IN_PINOCCHIO = ("IA", "FV", "FC")


class UnsupportedPartWarning(UserWarning):
    """Part of a robot that another program does not support."""


def mujoco_package() -> Any:
    """Import MuJoCo; all simulations load it here."""
    return load("mujoco", "sim")


def pinocchio_package() -> Any:
    """Import Pinocchio, which is used as an independent engine for dynamics and exported files."""
    return load("pinocchio", "pinocchio")


def newton_model(file: Path) -> Any:
    """Model that Newton makes of a USD stage, in memory of the processor; its messages are suppressed."""
    with contextlib.redirect_stdout(io.StringIO()):
        builder = load("newton", "newton").ModelBuilder()
        builder.add_usd(str(file))
        return builder.finalize(device="cpu")


def fmu_instance(path: Path) -> tuple[Any, Any]:
    """Initialised instance of an FMU for model exchange, and its description, by FMPy."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        fmpy = load("fmpy", "fmu")
        about = fmpy.read_model_description(str(path))
        unit = fmpy.instantiate_fmu(fmpy.extract(str(path)), about, "ModelExchange")
        unit.setupExperiment(startTime=0.0)
        unit.enterInitializationMode()
        unit.exitInitializationMode()
    return unit, about


def to_mujoco(robot: RobotLike) -> Any:
    """MuJoCo's `MjModel` of a robot or an identified model (extra `sim`): joints and links by name, no geometry.

    Rotor inertia is `dof_armature`, friction `dof_damping` and `dof_frictionloss`, offsets and springs are passive
    efforts, so that `mj_inverse` and `mj_step` include them all; motors coupled to several joints are tendons.
    MuJoCo's dry friction is regularised: it reverses with qd + qacc / 1000 at best, and less quickly with long time
    steps.
    """
    robot, mujoco = _robot(robot), mujoco_package()
    _check_possible(robot)
    _say("MuJoCo", [*unheld_effects(robot, HELD, "MuJoCo"), *unheld_motors(robot, (*MOTOR, "OFFM"), "MuJoCo")])
    spec = mujoco.MjSpec.from_string(to_mjcf(robot))
    moving = [joint for joint in spec.joints if int(joint.type) != int(mujoco.mjtJoint.mjJNT_FREE)]
    for joint in moving:
        j = next(j for j, own in enumerate(robot.joints) if own.name == joint.name)
        stiffness, offset = (robot.effects[j].get(symbol, 0.0) for symbol in ("KS", "OFF"))
        if stiffness and offset:  # one spring does both
            joint.springref = robot.effect_constants(j, "KS")["rest"] - offset / stiffness
    return compiled_spec(spec, robot)


def build_model(mujoco: Any, robot: Robot, timestep: float) -> Any:
    """MuJoCo model for a plant: masses, armature, damping, Coulomb friction; joints are named j0, j1 ...

    Limits of position and effort are omitted: the controller and the trajectory respect them.  Constant efforts
    and effects without a MuJoCo element are applied by the plant.
    """
    return compiled_spec(plant_spec(mujoco, robot, timestep), robot)


def plant_spec(mujoco: Any, robot: Robot, timestep: float) -> Any:
    """The plant model as a MuJoCo specification (`MjSpec`), to which elements can be added."""
    _check_possible(robot)
    joints = tuple(replace(joint, name=f"j{j}", link=f"b{j}") for j, joint in enumerate(robot.joints))
    applied = [name for name in robot.effect_values if split_name(name)[0] in ("OFF", "OFFM")]
    applied += [name for name in robot.other_effects if split_name(name)[0] not in NATIVE]
    robot = robot.without_effects(applied)
    spec = mujoco.MjSpec.from_string(to_mjcf(replace(robot, joints=joints, frames={})))
    spec.option.timestep = timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    for joint in spec.joints:
        joint.limited = joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
        joint.solref_friction = STIFF
    for equality in spec.equalities:
        equality.solref = STIFF
    return spec


def _check_possible(robot: Robot) -> None:
    """Raise an error for links that no program can simulate."""
    robot.parameters()  # says so where there are none
    for joint, ten in zip(robot.joints, robot.links, strict=True):
        reason = None if ten is None else impossible(ten)
        if reason is not None:
            raise Infeasible(
                f"MuJoCo cannot simulate link '{joint.link or joint.name}': {reason}; correct it in the robot file"
            )


def compiled_spec(spec: Any, robot: Robot) -> Any:
    """Compile a specification; MuJoCo's errors are reported as one sentence."""
    try:
        return spec.compile()
    except ValueError as err:
        raise Infeasible(f"MuJoCo rejects the robot '{robot.name}': {str(err).splitlines()[0]}") from None


# ---------------------------------------------------------------------- Pinocchio


def to_pinocchio(robot: RobotLike) -> Any:
    """Pinocchio's `Model` of a robot or an identified model (extra `pinocchio`), coordinates in the robot's order.

    Rotor inertia is `armature`, which rnea, aba and crba include; friction is in `damping` and `friction`, which they
    ignore: efforts are rnea(...) + damping * v + friction * sign(v).  Offsets and other effects are not supported.
    """
    robot, pin = _robot(robot), pinocchio_package()
    robot.parameters()  # says so where there are none
    model: Any = pin.Model()
    model.name = robot.name
    model.gravity.linear = np.array(robot.gravity, float)
    root = _pinocchio_base(pin, model, robot)
    numbers: list[int] = []
    for joint, ten in zip(robot.joints, robot.links, strict=True):
        kind = pin.JointModelRZ() if joint.kind == "revolute" else pin.JointModelPZ()
        parent = root if joint.parent is None else numbers[joint.parent]
        numbers.append(model.addJoint(parent, kind, _placement(pin, joint.R, joint.p), joint.name))
        model.appendBodyToJoint(numbers[-1], _inertia(pin, ten), pin.SE3.Identity())
        model.addJointFrame(numbers[-1], -1)
        model.addBodyFrame(joint.link or joint.name, numbers[-1], _placement(pin, *joint.file_frame), -1)
    _add_frames(pin, model, robot, [root, *numbers])
    _fill(model, robot, [int(model.idx_vs[k]) for k in numbers], [int(model.idx_qs[k]) for k in numbers])
    _say("Pinocchio", [*unheld_effects(robot, IN_PINOCCHIO, "Pinocchio"), *_not_pinocchio(robot)])
    return model


def _pinocchio_base(pin: Any, model: Any, robot: Robot) -> int:
    """Index of the joint that carries the base: 0 for the ground."""
    if not robot.is_floating:
        return 0
    root = int(model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint"))
    model.appendBodyToJoint(root, _inertia(pin, robot.base_link), pin.SE3.Identity())
    return root


def _inertia(pin: Any, ten: Ten | None) -> Any:
    if ten is None or all(v == 0 for v in ten):
        return pin.Inertia.Zero()
    mass, com, inertia = to_com(ten)
    return pin.Inertia(mass, com, inertia)


def _placement(pin: Any, R: Any, p: Any) -> Any:
    return pin.SE3(np.array(R, float), np.array(p, float))


def _add_frames(pin: Any, model: Any, robot: Robot, carriers: Sequence[int]) -> None:
    """Add the frames of the robot file that the model does not have yet."""
    for name, frame in robot.frames.items():
        if not model.existFrame(name):
            carrier = carriers[0 if frame.joint is None else frame.joint + 1]
            kind = pin.FrameType.OP_FRAME
            model.addFrame(pin.Frame(name, carrier, 0, _placement(pin, *frame.pose), kind))


def _fill(model: Any, robot: Robot, dofs: Sequence[int], places: Sequence[int]) -> None:
    """Set rotor inertia, friction and limits of every joint in a Pinocchio model."""
    for j, (joint, v, q) in enumerate(zip(robot.joints, dofs, places, strict=True)):
        effects, limits = robot.effects[j], joint.limits
        model.armature[v] = effects.get("IA", 0.0)
        model.damping[v] = effects.get("FV", 0.0)
        model.friction[v] = effects.get("FC", 0.0)
        model.effortLimit[v] = np.inf if limits.effort is None else abs(limits.effort)
        model.velocityLimit[v] = np.inf if limits.velocity is None else abs(limits.velocity)
        model.lowerPositionLimit[q] = -np.inf if limits.lower is None else limits.lower
        model.upperPositionLimit[q] = np.inf if limits.upper is None else limits.upper


def _not_pinocchio(robot: Robot) -> list[Note]:
    notes = unheld_motors(robot, (), "Pinocchio")
    for joint in robot.joints:
        if joint.follows is not None:
            text = "it follows another joint, but is independent in Pinocchio; give it that joint's motion"
            notes.append(Note("warning", f"joint '{joint.name}'", text))
    if robot.open_cuts:
        names = ", ".join(f"'{cut.name}'" for cut in robot.open_cuts)
        text = f"its loops ({names}) are open in the Pinocchio model; give them as constraints to constraintDynamics"
        notes.append(Note("warning", "robot", text))
    if not _is_depth_first(robot):
        text = "its branches are not numbered consecutively, which crba and aba of Pinocchio require (rnea does not)"
        notes.append(Note("warning", "robot", text))
    return notes


def _is_depth_first(robot: Robot) -> bool:
    """Whether each joint's parent is the joint before it or one of that joint's ancestors."""
    way: list[int | None] = [None]
    for j, joint in enumerate(robot.joints):
        while way and way[-1] != joint.parent:
            way.pop()
        if not way:
            return False
        way.append(j)
    return True


# ---------------------------------------------------------------------- both


def _robot(given: RobotLike) -> Robot:
    robot = as_robot(given)
    if len({joint.name for joint in robot.joints}) < robot.n_joints:
        raise MinertiaError(
            f"two joints of '{robot.name}' have the same name, which other programs reject; rename one of them"
        )
    return robot.numeric


def _say(program: str, notes: Iterable[Note]) -> None:
    """Issue one warning with all notes, at the line of the caller's caller."""
    told = "; ".join(f"{note.where}: {note.text}" for note in notes)
    if told:
        warnings.warn(f"{program}: {told}", UnsupportedPartWarning, stacklevel=3)
