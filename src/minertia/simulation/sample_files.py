"""Export of parameter samples to files for simulators: one row in `FORMATS` for each file format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.closed_loop.actuators import rate_name, to_position_mjcf
from minertia.identification.samples import FILE, Samples, centred, npz_bytes
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.io.files import check_folder, folder_at_once, write_file
from minertia.robot.files import write_robot
from minertia.robot.formats.mjcf.write import to_mjcf
from minertia.robot.parameters import full_name
from minertia.robot.robot import Note
from minertia.simulation.engines import mujoco_package
from minertia.simulation.export_files import left_over_notes
from minertia.simulation.sample_events import EVENT_FILES, write_events
from minertia.simulation.sample_values import held_best, held_robot, held_values, lost_notes

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
        if np.all(mass[:, j] > 0):  # MuJoCo takes no zero mass: the file has the smallest one
            found["body_mass"][:, body], found["body_ipos"][:, body] = mass[:, j], com[:, j]
            found["body_inertia"][:, body], found["body_iquat"][:, body] = principal(six[:, j])
        for field, symbol in (("dof_armature", "IA"), ("dof_damping", "FV"), ("dof_frictionloss", "FC")):
            if full_name(symbol, j + 1) in held:
                found[field][:, dof] = held[full_name(symbol, j + 1)]
    return text, {**found, **_actuators(samples, compiled)}


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
    return lost_notes(samples, "mjcf", "MuJoCo")


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
        return (*lost_notes(samples, target, program), *notes)

    return write


FORMATS = {
    "mjx": SampleFormat(lambda count: MJX_FILES, _write_mjx),
    "isaac-lab": SampleFormat(lambda count: EVENT_FILES, write_events),
    "urdf": SampleFormat(_names("urdf", ".urdf"), _writer("urdf", ".urdf", "URDF"), each=True),
    "usd": SampleFormat(_names("usd", ".usda"), _writer("usd", ".usda", "UsdPhysics"), each=True),
}
