"""`Samples`: robots drawn from the posterior of an identification, as arrays and as robots."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from minertia.algebra.vec3 import invert
from minertia.identification.campaigns.options import servo_factors
from minertia.identification.model import IdentifiedModel, model_text, term_table, with_efforts
from minertia.identification.model_file import parse_model
from minertia.identification.posterior.shown import ResidualNoise, posterior_part
from minertia.io.arrays import Array
from minertia.io.documents import json_document
from minertia.io.errors import InputError
from minertia.io.files import is_file, write_file
from minertia.io.notebook import clipped, plural
from minertia.robot.divided import whole_links
from minertia.robot.identified import identified_robot
from minertia.robot.inertia import transport_ten
from minertia.robot.joint import numeric_pose
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

FORMAT = 1
FILE = "samples.npz"
SIX = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # entries of an inertia matrix
OWN = {"x", "unknowns", "model"}  # arrays of a file of samples
UNREADABLE = (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error)  # of NumPy, for damaged files
MOST_OF_NORMAL = 1.96  # deviations within which 95 % of a normal distribution are
AT_JOINTS = {"armature": "IA", "damping": "FV", "frictionloss": "FC"}


@dataclass(frozen=True, repr=False)
class Samples:
    """Robots drawn from the posterior of a model.

    names: names of the parameters: standard parameters, further effects, gains and delay of servos.  x (N,
    parameters): draws, one row per robot.  best: the most probable robot.  prior_share: influence of the
    prior on each parameter, from 0 (the logs determine it) to 1 (the logs do not narrow the prior there).
    unknowns (unknowns, parameters): the fit's unknowns as linear combinations of the parameters.  prior:
    settings of the prior.  drawn: seed and quality of the draws.  noise: residual statistics of predictions;
    None if the model does not contain them.
    """

    model: IdentifiedModel
    names: tuple[str, ...]
    x: Array
    best: Array
    prior_share: Array
    unknowns: Array
    prior: Mapping[str, Any]
    drawn: Mapping[str, Any]
    noise: ResidualNoise | None = field(default=None)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        by_prior = int(np.sum(self.prior_share > 0.5))
        return (
            f"<Samples of '{clipped(self.model.nominal.name, 40)}': {plural(len(self.x), 'robot')} with "
            f"{plural(len(self.names), 'value')}, {by_prior} of them mostly from the prior>"
        )

    @property
    def is_complete(self) -> bool:
        """Whether all arrays have one column for each parameter of the model, and finite numbers only."""
        count, standard = len(self.names), self.model.linear.standard
        shapes = (self.x.shape[1:], self.best.shape, self.prior_share.shape, self.unknowns.shape[1:])
        numbers = (self.x, self.best, self.prior_share, self.unknowns)
        return (
            self.x.ndim == self.unknowns.ndim == 2
            and len(self.x) > 0
            and shapes == ((count,),) * 4
            and self.names[: len(standard)] == standard
            and all(bool(np.isfinite(own).all()) for own in numbers)
        )

    def values(self, name: str) -> Array:
        """Draws (N,) of a parameter by name; zeros for a parameter that the model does not have."""
        return self.x[:, self.names.index(name)] if name in self.names else np.zeros(len(self.x))

    def standard(self, k: int | None = None) -> dict[str, float]:
        """Standard parameters and effects of robot k by name; None: of the most probable robot."""
        row = self.best if k is None else self.x[k]
        count = len(self.model.linear.standard)
        return whole_links(self.model.linear.robot, dict(zip(self.names[:count], row[:count].tolist(), strict=True)))

    def robot(self, k: int | None = None) -> Robot:
        """Robot k for simulation, description files and code; None: the most probable robot."""
        terms = [term_table(t) for t in self.model.linear.choice.terms]
        return identified_robot(self.model.nominal, self.standard(k), terms, is_physical=True, excess=0.0)

    def unknown_values(self, rows: Any = slice(None)) -> Array:
        """Values (draws, unknowns) of the fit's unknowns for some of the robots."""
        return np.asarray(self.x[rows] @ self.unknowns.T)

    @cached_property
    def tens(self) -> Array:
        """Ten inertial parameters of the links in their joint frames, (N, links, 10)."""
        standard = self.model.linear.standard
        whole = whole_links(self.model.linear.robot, {name: self.values(name) for name in standard})
        joints, none = range(1, self.model.nominal.n_joints + 1), np.zeros(len(self.x))
        return np.stack(
            [np.stack([whole.get(full_name(s, j), none) for s in LINK_SYMBOLS], axis=1) for j in joints], axis=1
        )

    @cached_property
    def bodies(self) -> tuple[Array, Array, Array]:
        """Masses (N, links) [kg], centres of mass (N, links, 3) [m] and inertias (N, links, 6) [kg m2].

        In the link frames of the robot's file; the inertia about the centre of mass is XX XY XZ YY YZ ZZ.
        """
        robot, tens = self.model.nominal, np.empty_like(self.tens)
        for j, joint in enumerate(robot.joints):
            pose = invert(numeric_pose(joint.file_frame, robot.symbol_values))
            T = np.array([transport_ten(unit, pose) for unit in np.eye(10).tolist()], float)
            tens[:, j] = self.tens[:, j] @ T
        return centred(tens)

    def at_joints(self, symbol: str) -> Array:
        """Values (N, joints) of an effect at every joint."""
        joints = range(1, self.model.nominal.n_joints + 1)
        return np.stack([self.values(full_name(symbol, j)) for j in joints], axis=1)

    def arrays(self) -> dict[str, Any]:
        """All data as arrays by name, as stored in the NPZ file."""
        mass, com, inertia = self.bodies
        robot = self.model.nominal
        found: dict[str, Any] = {
            "format": FORMAT,
            "names": np.array(self.names),
            "x": self.x,
            "best": self.best,
            "prior_share": self.prior_share,
            "links": np.array([joint.link or joint.name for joint in robot.joints]),
            "joints": np.array([joint.name for joint in robot.joints]),
            "mass": mass,
            "com": com,
            "inertia": inertia,
            **{name: self.at_joints(symbol) for name, symbol in AT_JOINTS.items()},
            **self.servos(),
            "unknowns": self.unknowns,
            "prior": json.dumps(dict(self.prior)),
            "drawn": json.dumps(dict(self.drawn)),
            "model": model_text(self.model),
        }
        if self.noise is not None:
            found |= {
                "residual_sd": self.noise.deviation,
                "residual_correlation": self.noise.correlation,
                "residual_factor": self.noise.factors(0.95),
            }
        return found

    def summary(self) -> list[dict[str, Any]]:
        """Most probable value, 95 % interval and prior influence of each parameter that varies, as plain data."""
        low, high = np.quantile(self.x, [0.025, 0.975], axis=0)
        return [
            {"name": name, "best": float(b), "low": float(lo), "high": float(hi), "prior_share": float(share)}
            for name, b, lo, hi, share in zip(self.names, self.best, low, high, self.prior_share, strict=True)
            if hi > lo
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return prior, seed, quality and summary of the draws as plain data, without the draws themselves."""
        noise = None if self.noise is None else self.noise.to_dict() | {"factor": self.noise.factors(0.95).tolist()}
        return {
            "format": FORMAT,
            "robot": self.model.nominal.name,
            "n": len(self.x),
            "prior": dict(self.prior),
            "drawn": dict(self.drawn),
            "far_masses": self.far_masses,
            "values": self.summary(),
            "residual": noise,
        }

    @property
    def far_masses(self) -> list[dict[str, Any]]:
        """Links whose most probable mass is beyond 95 % of the prior's, and their masses in the robot file [kg]."""
        if not self.model.nominal.has_parameters or not self.prior["links"]:
            return []
        own, far = self.standard(), np.exp(MOST_OF_NORMAL * self.prior["links"])
        found = []
        for j, (joint, ten) in enumerate(zip(self.model.nominal.joints, self.model.nominal.links, strict=True)):
            file, mass = 0.0 if ten is None else float(ten[9]), own.get(full_name("M", j + 1), 0.0)
            if file > 0 and not file / far <= mass <= far * file:
                found.append({"link": joint.link or joint.name, "mass": mass, "robot_file": file})
        return found

    @property
    def is_massless(self) -> bool:
        """Whether no link has mass, as of a servo, whose load is not part of its model."""
        return not np.any(self.tens[:, :, 9] > 0)

    @property
    def servo_names(self) -> tuple[str, ...]:
        """Names of the joints with position servos; empty for models fitted to efforts."""
        return tuple(self.model.evidence.get("loop", {}).get("joints", ()))

    def servos(self) -> dict[str, Array]:
        """Gains kp, kd (N, joints) and delay (N,) [s] of position servos; empty for models fitted to efforts."""
        loop = self.model.evidence.get("loop")
        if loop is None:
            return {}
        n = len(loop["joints"])
        found = {}
        for key, names in (("kp", ("KP",)), ("kd", ("KD+FV", "KD"))):
            rows = np.repeat(np.array(loop[key], float)[None], len(self.x), axis=0)
            for j in range(n):
                own = [name for stem in names for name in (stem, *_at(stem, j + 1)) if name in self.names]
                if own:
                    rows[:, j] = self._supplied(key, j) * self.values(own[0])
            found[key] = rows
        late = self.values("delay") if "delay" in self.names else np.full(len(self.x), float(loop["delay"]))
        return {**found, "delay": late}

    def _supplied(self, key: str, joint: int) -> Array | float:
        """Factor on a drawn gain at the register, supply and temperature of a servo with its duty; else 1."""
        own = self.model.evidence["loop"].get("servo")
        if own is None:
            return 1.0
        name = f"WARM{joint + 1}"
        warming = self.values(name) if name in self.names else own["warming"][joint]
        stiff, warm = servo_factors(own, warming)
        return np.asarray(stiff if key == "kp" else warm)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the samples as an NPZ file, with the model that they were drawn from."""
        write_file(path, self.to_bytes(), force=force)

    def to_bytes(self) -> bytes:
        """Content of the NPZ file."""
        return npz_bytes(self.arrays())


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Content of a compressed NPZ file with these arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def is_samples_file(path: str | Path) -> bool:
    """Whether a path is a file of samples, complete or damaged, or a folder that contains one."""
    file = samples_file(path)
    if file.suffix.lower() != ".npz" or not is_file(file):
        return False
    try:
        with open(file, "rb") as raw, np.load(raw, allow_pickle=False) as found:
            return OWN & set(found.files) != set()
    except UNREADABLE:
        return file.name == FILE


def samples_file(path: str | Path) -> Path:
    """Path of the file of samples: the path itself, or the file in a folder."""
    return Path(path) / FILE if Path(path).is_dir() else Path(path)


def read_samples(path: str | Path) -> Samples:
    """Read samples from their file or folder."""
    file = samples_file(path)
    if not is_samples_file(file):
        raise InputError(f"{file} contains no samples; `minertia sample RESULT --out DIR` writes {FILE}")
    try:
        with open(file, "rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        if int(found["format"]) != FORMAT:
            raise InputError(f"{file} has format {int(found['format'])}; this program reads {FORMAT}")
        samples = _samples_of(found, file)
    except (*UNREADABLE, KeyError, TypeError):
        samples = None
    if samples is None or not samples.is_complete:
        raise InputError(f"{file} is not a complete file of samples; write it again with `minertia sample`")
    return samples


def _samples_of(found: Mapping[str, Any], file: Path) -> Samples:
    """Samples of the arrays of a file."""
    model = with_efforts(parse_model(str(found["model"]), file), "samples")
    x, best, share, unknowns = (np.array(found[key], float) for key in ("x", "best", "prior_share", "unknowns"))
    prior, drawn = (json_document(str(found[key])) for key in ("prior", "drawn"))
    return Samples(model, tuple(found["names"].tolist()), x, best, share, unknowns, prior, drawn, noise_of(model))


def noise_of(model: IdentifiedModel) -> ResidualNoise | None:
    """Residual statistics of a model's predictions; None if the model does not contain them."""
    return posterior_part(model.evidence, "residual", ResidualNoise)


def _at(stem: str, joint: int) -> tuple[str, ...]:
    """Name of a gain at one joint, such as KP2 or KD2+FV2, as a tuple."""
    return ("+".join(f"{part}{joint}" for part in stem.split("+")),)


def centred(tens: Array) -> tuple[Array, Array, Array]:
    """Masses, centres of mass and inertias about them, from ten parameters along the last axis."""
    mass = tens[..., 9]
    heavy = mass > 0
    com = np.where(heavy[..., None], tens[..., 6:9] / np.where(heavy, mass, 1.0)[..., None], 0.0)
    square = np.sum(com**2, axis=-1)
    moved = [mass * ((i == j) * square - com[..., i] * com[..., j]) for i, j in SIX]
    return mass, com, tens[..., :6] - np.stack(moved, axis=-1)
