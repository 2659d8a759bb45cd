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

EVENT_FILES = ("events.py", "events.npz")
TARGET = "isaac-lab"


def event_arrays(samples: Samples) -> dict[str, Array]:
    """Arrays that the event reads, robots first: links with mass in the frames of the robot file, and joints.

    kp, kd (robots, servos): gains of the joints `servos`, in models of commands only.
    """
    held, own = held_values(samples, TARGET), samples.arrays()
    heavy = np.flatnonzero(np.all(own["mass"] > 0, axis=0))  # a simulator accepts no other masses
    found = {"links": own["links"][heavy], **{key: own[key][:, heavy] for key in ("mass", "com", "inertia")}}
    found["joints"] = own["joints"]
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
    return EVENT.format(version=__version__, robot=repr(samples.model.nominal.name), unset=unset)


def write_events(samples: Samples, folder: Path) -> tuple[Note, ...]:
    """Write the event and its arrays into a folder; notes list what it does not set."""
    write_file(folder / EVENT_FILES[0], event_text(samples))
    write_file(folder / EVENT_FILES[1], npz_bytes(event_arrays(samples)))
    unset = tuple(Note("info", EVENT_FILES[0], text) for text in _unset(samples))
    return (*lost_notes(samples, TARGET, "Isaac Lab"), *unset)


def _unset(samples: Samples) -> list[str]:
    """Sampled values that the event does not set, and how to apply them."""
    found = []
    if samples.servo_names:
        found.append("the delay is not set here: delay targets by `delay` of samples.npz [s]")
    if any(symbol_of(name) == "OFF" and np.ptp(samples.values(name)) > 0 for name in samples.names):
        how = "subtract OFF / kp from position targets" if samples.servo_names else "add them to efforts"
        found.append(f"offsets are not set here: {how} (OFF in `names` and `x` of samples.npz)")
    return found


EVENT = '''\
# robots of {robot}, drawn from the posterior of an identification by minertia {version}
#
# One row of events.npz is one robot: its masses, inertias, friction and gains belong together.  Events that draw them
# one by one lose the correlations that the logs determine.  Isaac Lab 2.2 and later (friction is an effort, N m).
{unset}from pathlib import Path

import numpy as np
import torch
from isaaclab.actuators import ImplicitActuator
from isaaclab.managers import EventTermCfg, SceneEntityCfg

SAMPLES = dict(np.load(Path(__file__).with_name("events.npz")))
JOINTS = SAMPLES["joints"].tolist()  # in the order of the columns


def set_robots(env, env_ids, asset_cfg):
    """Give environment k the robot in row k of the samples, from the start again after the last one."""
    asset = env.scene[asset_cfg.name]
    ids = torch.arange(env.scene.num_envs) if env_ids is None else env_ids.cpu()
    rows = (ids % len(SAMPLES["armature"])).numpy()
    view = asset.root_physx_view
    masses, inertias, coms = view.get_masses().clone(), view.get_inertias().clone(), view.get_coms().clone()
    for k, name in enumerate(SAMPLES["links"]):
        if name not in asset.body_names:
            continue  # merged into another body on import
        body = asset.body_names.index(name)
        xx, xy, xz, yy, yz, zz = torch.as_tensor(SAMPLES["inertia"][rows, k], dtype=torch.float32).T
        masses[ids, body] = torch.as_tensor(SAMPLES["mass"][rows, k], dtype=torch.float32)
        coms[ids, body, :3] = torch.as_tensor(SAMPLES["com"][rows, k], dtype=torch.float32)
        inertias[ids, body] = torch.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], dim=1)  # about the centre, link axes
    view.set_masses(masses, ids)
    view.set_coms(coms, ids)
    view.set_inertias(inertias, ids)

    columns = [k for k, name in enumerate(JOINTS) if name in asset.joint_names]
    joint_ids, device = [asset.joint_names.index(JOINTS[k]) for k in columns], asset.device

    def drawn(key, places=columns):
        return torch.as_tensor(SAMPLES[key][np.ix_(rows, places)], dtype=torch.float32, device=device)

    where = {{"joint_ids": joint_ids, "env_ids": ids.to(device)}}
    asset.write_joint_armature_to_sim(drawn("armature"), **where)
    friction = drawn("frictionloss")
    asset.write_joint_friction_coefficient_to_sim(
        friction, joint_dynamic_friction_coeff=friction, joint_viscous_friction_coeff=drawn("damping"), **where
    )
    if "servos" in SAMPLES:
        servos = SAMPLES["servos"].tolist()
        for actuator in asset.actuators.values():
            own = [k for k, name in enumerate(actuator.joint_names) if name in servos]
            places = [servos.index(actuator.joint_names[k]) for k in own]
            at = np.ix_(ids.numpy(), own)
            actuator.stiffness[at], actuator.damping[at] = drawn("kp", places), drawn("kd", places)
            if isinstance(actuator, ImplicitActuator):  # all others compute their efforts themselves, not the simulator
                joints = [asset.joint_names.index(actuator.joint_names[k]) for k in own]
                where = {{"joint_ids": joints, "env_ids": ids.to(device)}}
                asset.write_joint_stiffness_to_sim(drawn("kp", places), **where)
                asset.write_joint_damping_to_sim(drawn("kd", places), **where)


EVENTS = EventTermCfg(func=set_robots, mode="startup", params={{"asset_cfg": SceneEntityCfg("robot")}})
'''
