"""Export of parameter samples to files for simulators: one row in `FORMATS` for each file format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.closed_loop.actuators import rate_name, to_position_mjcf
from minertia.identification.problem.linear import link_number, symbol_of
from minertia.identification.samples import FILE, Samples, centred, npz_bytes
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.io.files import check_folder, folder_at_once, write_file
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.files import write_robot
from minertia.robot.formats.mjcf.write import to_mjcf
from minertia.robot.identified import export_values
from minertia.robot.parameters import full_name
from minertia.robot.robot import Note, Robot
from minertia.robot.targets import BY_NAME
from minertia.simulation.engines import mujoco_package
from minertia.simulation.export_files import left_over_notes
from minertia.version import __version__

MOST_FILES = 1000  # robots in files of their own, without --force


@dataclass(frozen=True)
class SampleFormat:
    """File format of parameter samples for a simulator.

    names: function that returns the file names for a number of robots.  write: function that writes the files
    into a folder.  each: whether there is one file per robot.
    """

    names: Callable[[int], tuple[str, ...]]
    write: Callable[[Samples, Path], tuple[Note, ...]]
    each: bool = False


def check_samples(out: Path, formats: Sequence[str], count: int, *, force: bool = False) -> None:
    """Raise an error before the computation where the files cannot be written."""
    rows = [FORMATS[name] for name in formats]
    if count > MOST_FILES and any(row.each for row in rows) and not force:
        text = f"{count} robots would be written to as many files; draw at most {MOST_FILES} with --n, or use --force"
        raise InputError(text)
    check_folder(out, (FILE, *(name for row in rows for name in row.names(count))), force=force)


def write_samples(out: Path, samples: Samples, formats: Sequence[str] = (), *, force: bool = False) -> tuple[Note, ...]:
    """Write samples.npz and the files for simulators atomically; notes list what these cannot represent."""
    notes: list[Note] = []
    with folder_at_once(out, force=force) as draft:
        write_file(draft / FILE, samples.to_bytes())
        for name in formats:
            notes += FORMATS[name].write(samples, draft)
        every = [name for row in FORMATS.values() for name in row.names(len(samples))]
        notes += left_over_notes(out, draft, every)
    return tuple(dict.fromkeys(notes))


# ---------------------------------------------------------------------- what a format holds


def held_values(samples: Samples, target: str) -> dict[str, Array]:
    """Samples (N,) of the effects that the files of an export target can represent, by name.

    Friction effects that they cannot represent are replaced by FV and FC, as fitted for the target.  FV and
    FC are scaled with their samples or, where the model has none, with the samples of the replaced effects.
    """
    held = BY_NAME[target].held
    own = {name: k for k, name in enumerate(samples.names) if symbol_of(name) in BY_SYMBOL}
    found = {name: samples.x[:, k] for name, k in own.items() if symbol_of(name) in held}
    lost: dict[int, list[int]] = {}
    for name, k in own.items():
        if symbol_of(name) not in held and "qd" in BY_SYMBOL[symbol_of(name)].inputs:
            lost.setdefault(link_number(name), []).append(k)
    fitted = (export_values(samples.model.exports, target) or {}).get("standard", {})
    for joint, places in lost.items():
        whole = samples.best[places].sum()
        ratio = samples.x[:, places].sum(axis=1) / whole if whole else np.ones(len(samples))
        for symbol in ("FV", "FC"):
            name = full_name(symbol, joint)
            best = fitted.get(name, float(whole) if symbol == "FC" else 0.0)
            is_own = name in own and samples.best[own[name]] > 0
            found[name] = best * (samples.x[:, own[name]] / samples.best[own[name]] if is_own else ratio)
    return found


def held_robot(samples: Samples, k: int, held: Mapping[str, Array]) -> Robot:
    """Sampled robot k: its sampled link parameters, with the effects from `held_values` for a target."""
    links = {name: v for name, v in samples.standard(k).items() if symbol_of(name) not in BY_SYMBOL}
    robot = samples.model.nominal
    gone = {name: 0.0 for name in (*robot.columns(True, True), *robot.effect_values) if symbol_of(name) in BY_SYMBOL}
    own = {name: v for name, v in links.items() if name not in robot.massless_columns}
    return robot.with_parameters({**gone, **own, **{name: float(v[k]) for name, v in held.items()}})


def _lost(samples: Samples, target: str, engine: str) -> tuple[Note, ...]:
    """Notes on effects that the files of a target cannot represent."""
    held = BY_NAME[target].held
    lost = [n for n in samples.names if symbol_of(n) in BY_SYMBOL and symbol_of(n) not in held]
    friction = [name for name in lost if "qd" in BY_SYMBOL[symbol_of(name)].inputs]
    others = [name for name in lost if name not in friction]
    notes = [f"{engine} has no place for {', '.join(friction)}: FV and FC stand in for it"] if friction else []
    notes += [f"{engine} has no place for {', '.join(others)}: left out"] if others else []
    return tuple(Note("info", target, text) for text in notes)


# ---------------------------------------------------------------------- MuJoCo MJX


MJX_FILES = ("mjx.npz", "mjx.mjcf")


def mjx_arrays(samples: Samples) -> tuple[str, dict[str, Array]]:
    """MJCF of the most probable robot, and arrays that replace fields of its MJX model, one row per sampled robot."""
    mujoco = mujoco_package()
    has_servos = bool(samples.servos())
    held = held_values(samples, "mjcf")
    text = to_position_mjcf(samples.model) if has_servos else to_mjcf(held_best(samples, "mjcf"))
    compiled = mujoco.MjModel.from_xml_string(text)
    count, robot = len(samples), samples.model.nominal
    found = {
        name: np.repeat(np.asarray(getattr(compiled, name), float)[None], count, axis=0)
        for name in ("body_mass", "body_ipos", "body_inertia", "body_iquat", "dof_armature", "dof_damping",
                     "dof_frictionloss")
    }  # fmt: skip
    mass, com, six = centred(samples.tens)
    for j, joint in enumerate(robot.joints):
        at = compiled.jnt(joint.name)
        body, dof = int(at.bodyid[0]), int(at.dofadr[0])
        if j not in robot.massless:
            found["body_mass"][:, body], found["body_ipos"][:, body] = mass[:, j], com[:, j]
            found["body_inertia"][:, body], found["body_iquat"][:, body] = principal(six[:, j])
        for field, symbol in (("dof_armature", "IA"), ("dof_damping", "FV"), ("dof_frictionloss", "FC")):
            if full_name(symbol, j + 1) in held:
                found[field][:, dof] = held[full_name(symbol, j + 1)]
    return text, {**found, **_actuators(samples, compiled)}


def held_best(samples: Samples, target: str) -> Robot:
    """Most probable robot, with only the effects that the files of a target can represent."""
    first = replace(samples, x=samples.best[None])
    return held_robot(first, 0, held_values(first, target))


def _actuators(samples: Samples, compiled: Any) -> dict[str, Array]:
    """Gains of position servos as gainprm and biasprm, (N, actuators, 10)."""
    servos = samples.servos()
    if not servos:
        return {}
    fields = ("actuator_gainprm", "actuator_biasprm")
    gain, bias = (np.repeat(np.asarray(getattr(compiled, f), float)[None], len(samples), axis=0) for f in fields)
    names = [compiled.actuator(k).name for k in range(compiled.nu)]
    for j, joint in enumerate(samples.model.evidence["loop"]["joints"]):
        k = names.index(joint)
        gain[:, k, 0], bias[:, k, 1] = servos["kp"][:, j], -servos["kp"][:, j]
        rate = rate_name(joint)
        if rate in names:
            r = names.index(rate)
            gain[:, r, 0], bias[:, r, 2] = servos["kd"][:, j], -servos["kd"][:, j]
        else:
            bias[:, k, 2] = -servos["kd"][:, j]
    return {fields[0]: gain, fields[1]: bias}


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


def _write_mjx(samples: Samples, folder: Path) -> tuple[Note, ...]:
    text, arrays = mjx_arrays(samples)
    write_file(folder / MJX_FILES[0], npz_bytes(arrays))
    write_file(folder / MJX_FILES[1], text)
    return _lost(samples, "mjcf", "MuJoCo")


# ---------------------------------------------------------------------- a file for each robot


def _names(folder: str, suffix: str) -> Callable[[int], tuple[str, ...]]:
    """Function that returns the names of the files of a number of robots."""
    return lambda count: tuple(f"{folder}/robot_{k:0{len(str(max(count - 1, 1)))}d}{suffix}" for k in range(count))


def _writer(target: str, suffix: str, program: str) -> Callable[[Samples, Path], tuple[Note, ...]]:
    """Function that writes one file of an export target for each robot."""

    def write(samples: Samples, folder: Path) -> tuple[Note, ...]:
        held, notes = held_values(samples, target), list[Note]()
        (folder / target).mkdir(exist_ok=True)
        for k, name in enumerate(_names(target, suffix)(len(samples))):
            notes += write_robot(held_robot(samples, k, held), folder / name)
        return (*_lost(samples, target, program), *notes)

    return write


# ---------------------------------------------------------------------- Isaac Lab


ISAAC_FILE = "events.py"


def isaac_text(samples: Samples) -> str:
    """Python source of an Isaac Lab event that assigns one robot of samples.npz to each environment."""
    joints = [samples.model.nominal.joints[j].name for j in range(samples.model.nominal.n_joints)]
    return ISAAC.format(version=__version__, robot=repr(samples.model.nominal.name), joints=repr(joints))


def _write_isaac(samples: Samples, folder: Path) -> tuple[Note, ...]:
    write_file(folder / ISAAC_FILE, isaac_text(samples))
    return _lost(samples, "mjcf", "Isaac Lab")


ISAAC = '''\
# robots of {robot}, drawn from the posterior of an identification by minertia {version}
#
# One row of samples.npz is one robot: its masses, inertias, friction and gains belong together.  Events that draw them
# one by one lose the correlations that the logs determine.  Isaac Lab 2.2 and later (friction is an effort, N m).
from pathlib import Path

import numpy as np
import torch
from isaaclab.managers import EventTermCfg, SceneEntityCfg

SAMPLES = np.load(Path(__file__).parent / "samples.npz")
JOINTS = {joints}  # in the order of the columns


def set_robots(env, env_ids, asset_cfg):
    """Give environment k the robot in row k of the samples, from the start again after the last one."""
    asset = env.scene[asset_cfg.name]
    ids = torch.arange(env.scene.num_envs) if env_ids is None else env_ids.cpu()
    rows = (ids % len(SAMPLES["x"])).numpy()
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
    if "kp" in SAMPLES:
        for actuator in asset.actuators.values():
            own = [k for k, name in enumerate(actuator.joint_names) if name in JOINTS]
            places = [JOINTS.index(actuator.joint_names[k]) for k in own]
            at = np.ix_(ids.numpy(), own)
            actuator.stiffness[at], actuator.damping[at] = drawn("kp", places), drawn("kd", places)
        asset.write_joint_stiffness_to_sim(drawn("kp"), **where)
        asset.write_joint_damping_to_sim(drawn("kd"), **where)


EVENTS = EventTermCfg(func=set_robots, mode="startup", params={{"asset_cfg": SceneEntityCfg("robot")}})
'''


FORMATS = {
    "mjx": SampleFormat(lambda count: MJX_FILES, _write_mjx),
    "isaac-lab": SampleFormat(lambda count: (ISAAC_FILE,), _write_isaac),
    "urdf": SampleFormat(_names("urdf", ".urdf"), _writer("urdf", ".urdf", "URDF"), each=True),
    "usd": SampleFormat(_names("usd", ".usda"), _writer("usd", ".usda", "UsdPhysics"), each=True),
}
