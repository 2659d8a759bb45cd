"""Isaac Lab event that gives every environment one robot of parameter samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minertia.identification.problem.linear import symbol_of
from minertia.identification.samples import AT_JOINTS, Samples, npz_bytes
from minertia.io.arrays import Array
from minertia.io.files import write_file
from minertia.robot.parameters import full_name
from minertia.robot.robot import Note
from minertia.simulation.sample_values import held_values, lost_notes
from minertia.version import __version__

SPRINGS = ("CJ", "DJ")  # of elastic joints
EVENT_FILES = ("events.py", "events.npz")
TARGET = "isaac-lab"
SMALL = 0.01  # part of a link's mass that a body fixed to it may have: tool frames get a small one on import


def event_arrays(samples: Samples) -> dict[str, Array]:
    """Arrays that the event reads, robots first: links with mass in the frames of the robot file, and joints.

    fixed: bodies of the robot file that are part of the links `fixed_to`.  kp, kd (robots, servos): gains of the
    joints `servos`, in models of commands only.
    """
    held, own, robot = held_values(samples, TARGET), samples.arrays(), samples.model.nominal
    heavy = np.flatnonzero(np.all(own["mass"] > 0, axis=0))  # a simulator accepts no other masses
    found = {"links": own["links"][heavy], **{key: own[key][:, heavy] for key in ("mass", "com", "inertia")}}
    found["joints"] = own["joints"]
    placed = {name: frame.joint for name, frame in robot.frames.items() if name not in own["links"]}
    fixed = {name: str(own["links"][joint]) for name, joint in placed.items() if joint is not None}
    found |= {"fixed": np.array(list(fixed), str), "fixed_to": np.array(list(fixed.values()), str)}
    for key, symbol in AT_JOINTS.items():
        columns = [held.get(full_name(symbol, j + 1), np.zeros(len(samples))) for j in range(len(own["joints"]))]
        found[key] = np.stack(columns, axis=1)
    if samples.servo_names:
        found["servos"] = np.array(samples.servo_names)
        found |= {key: own[key] for key in ("kp", "kd")}
    return found


def event_text(samples: Samples) -> str:
    """Python source of the event."""
    unset = "".join(f"# {text}\n" for text in _unset(samples))
    return EVENT.format(version=__version__, robot=repr(samples.model.nominal.name), unset=unset, small=SMALL)


def write_events(samples: Samples, folder: Path) -> tuple[Note, ...]:
    """Write the event and its arrays into a folder; notes list what it does not set."""
    write_file(folder / EVENT_FILES[0], event_text(samples))
    write_file(folder / EVENT_FILES[1], npz_bytes(event_arrays(samples)))
    unset = tuple(Note("info", EVENT_FILES[0], text) for text in _unset(samples))
    return (*lost_notes(samples, TARGET, "Isaac Lab"), *unset)


def _unset(samples: Samples) -> list[str]:
    """Sampled values that the event does not set, and how to apply them."""
    found = []
    if np.any(samples.servos().get("delay", 0.0) > 0):
        found.append("the delay is not set here: delay targets by `delay` of samples.npz [s]")
    if springs := sorted({name for name in samples.names if symbol_of(name) in SPRINGS}):
        found.append(f"springs of elastic joints are not set here: {', '.join(springs)}")
    if any(symbol_of(name) == "OFF" and np.ptp(samples.values(name)) > 0 for name in samples.names):
        how = f"subtract {'OFF / kp from position targets' if samples.servo_names else 'them from efforts'}"
        found.append(f"offsets are not set here: {how} (OFF in `names` and `x` of samples.npz)")
    return found


EVENT = '''\
# robots of {robot}, drawn from the posterior of an identification by minertia {version}
#
# One row of events.npz is one robot: its masses, inertias, friction and gains belong together.  Events that draw them
# one by one lose the correlations that the logs determine.  Isaac Lab 2.2 to 3.0 with PhysX of Isaac Sim 5.0 or later,
# where friction is an effort (N m).
{unset}from pathlib import Path

import numpy as np
import torch
from isaaclab.actuators import ImplicitActuator
from isaaclab.managers import EventTermCfg, SceneEntityCfg

SAMPLES = dict(np.load(Path(__file__).with_name("events.npz")))
FIXED = dict(zip(SAMPLES["fixed"].tolist(), SAMPLES["fixed_to"].tolist()))  # bodies that links of the samples contain
SMALL = {small}  # part of a link's mass: frames of tools have less


def set_robots(env, env_ids, asset_cfg):
    """Give environment k the robot in row k of the samples, from the start again after the last one."""
    asset = env.scene[asset_cfg.name]
    backend = getattr(asset, "__backend_name__", "physx")
    if backend != "physx":
        raise NotImplementedError(f"this event is for PhysX: friction of joints is another one in {{backend}}")
    ids = torch.arange(env.scene.num_envs) if env_ids is None else env_ids.cpu()
    robots = ids % len(SAMPLES["armature"])
    set_links(asset, ids, robots.numpy())
    set_joints(asset, ids, robots.numpy())
    if "servos" in SAMPLES:
        set_servos(asset, ids, robots.numpy())


def drawn(key, robots, columns, device):
    """Samples of some robots as a tensor, (robots, columns, ...)."""
    return torch.as_tensor(SAMPLES[key][np.ix_(robots, columns)], dtype=torch.float32, device=device)


def found(names, own):
    """Columns of names that the asset has, too, and their indices there: the importer may merge bodies."""
    columns = [k for k, name in enumerate(names) if name in own]
    return columns, [own.index(names[k]) for k in columns]


def set_links(asset, ids, robots):
    """Write masses, centres of mass and, last, inertias about them in link axes: they set the principal axes, too."""
    columns, bodies = found(SAMPLES["links"].tolist(), asset.body_names)
    if not bodies:
        return
    is_new = hasattr(asset, "set_masses_index")  # Isaac Lab 3.0; the view of PhysX itself takes tensors of the CPU
    device = asset.device if is_new else "cpu"
    mass, com, inertia = (drawn(key, robots, columns, device) for key in ("mass", "com", "inertia"))
    inertia = inertia[..., [0, 1, 2, 1, 3, 4, 2, 4, 5]]  # XX XY XZ YY YZ ZZ to rows
    if is_new:
        masses, poses = asset.data.body_mass.torch.clone(), asset.data.body_com_pose_b.torch.clone()
    else:
        view = asset.root_physx_view
        masses, poses, inertias = view.get_masses().clone(), view.get_coms().clone(), view.get_inertias().clone()
    check_fixed(asset.body_names, masses[0].tolist())
    at = (ids.to(device)[:, None], torch.as_tensor(bodies, device=device))
    masses[at], poses[(*at, slice(3))] = mass, com
    if is_new:
        where = {{"body_ids": bodies, "env_ids": ids.to(device)}}
        asset.set_masses_index(masses=mass, **where)
        asset.set_coms_index(coms=poses[at], **where)
        asset.set_inertias_index(inertias=inertia, **where)
    else:
        inertias[at] = inertia
        view.set_masses(masses, ids)
        view.set_coms(poses, ids)
        view.set_inertias(inertias, ids)


def check_fixed(names, masses):
    """Raise an error where a mass would count twice: in a body, and in the link that contains it in the samples."""
    for name, link in FIXED.items():
        if name in names and link in names and masses[names.index(name)] > SMALL * masses[names.index(link)]:
            text = f"body {{name!r}} has mass, and {{link!r}} of the samples contains it"
            raise ValueError(f"{{text}}: merge them on import, or give {{name!r}} hardly any mass")


def set_joints(asset, ids, robots):
    """Write rotor inertias and friction."""
    columns, joints = found(SAMPLES["joints"].tolist(), asset.joint_names)
    keys = ("armature", "frictionloss", "damping")
    armature, dry, viscous = (drawn(key, robots, columns, asset.device) for key in keys)
    where = {{"joint_ids": joints, "env_ids": ids.to(asset.device)}}
    if hasattr(asset, "write_joint_armature_to_sim_index"):  # Isaac Lab 3.0
        asset.write_joint_armature_to_sim_index(armature=armature, **where)
        asset.write_joint_friction_coefficient_to_sim_index(
            joint_friction_coeff=dry, joint_dynamic_friction_coeff=dry, joint_viscous_friction_coeff=viscous, **where
        )
        return
    if not hasattr(asset.root_physx_view, "get_dof_friction_properties"):
        raise NotImplementedError("friction of joints is an effort from Isaac Sim 5.0 on; this one is older")
    asset.write_joint_armature_to_sim(armature, **where)
    asset.write_joint_dynamic_friction_coefficient_to_sim(torch.zeros_like(dry), **where)  # never above the static one
    asset.write_joint_friction_coefficient_to_sim(dry, **where)
    asset.write_joint_dynamic_friction_coefficient_to_sim(dry, **where)
    asset.write_joint_viscous_friction_coefficient_to_sim(viscous, **where)


def set_servos(asset, ids, robots):
    """Write gains: into the actuators, and into the simulator where it computes their efforts."""
    env_ids = ids.to(asset.device)
    for actuator in asset.actuators.values():
        columns, own = found(SAMPLES["servos"].tolist(), actuator.joint_names)
        joints = [asset.joint_names.index(actuator.joint_names[k]) for k in own]
        if not joints:
            continue
        kp, kd = (drawn(key, robots, columns, asset.device) for key in ("kp", "kd"))
        places = torch.as_tensor(joints, device=asset.device)
        is_new = hasattr(asset.actuators, "write_actuator_stiffness_to_sim")  # Isaac Lab 3.0
        if is_new:
            asset.actuators.write_actuator_stiffness_to_sim(stiffness=kp, env_ids=env_ids, joint_ids=places)
            asset.actuators.write_actuator_damping_to_sim(damping=kd, env_ids=env_ids, joint_ids=places)
        else:
            at = (env_ids[:, None], torch.as_tensor(own, device=asset.device))
            actuator.stiffness[at], actuator.damping[at] = kp, kd
        if isinstance(actuator, ImplicitActuator) and is_new:
            asset.write_joint_stiffness_to_sim_index(stiffness=kp, joint_ids=joints, env_ids=env_ids)
            asset.write_joint_damping_to_sim_index(damping=kd, joint_ids=joints, env_ids=env_ids)
        elif isinstance(actuator, ImplicitActuator):  # all others compute their efforts themselves
            asset.write_joint_stiffness_to_sim(kp, joint_ids=joints, env_ids=env_ids)
            asset.write_joint_damping_to_sim(kd, joint_ids=joints, env_ids=env_ids)


EVENTS = EventTermCfg(func=set_robots, mode="startup", params={{"asset_cfg": SceneEntityCfg("robot")}})
'''
