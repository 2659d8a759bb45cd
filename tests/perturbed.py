"""URDFs of the bundled robots with geometry that is slightly off: rounded angles, tiny tilts and offsets, odd units."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np

from minertia.robot.files import read_robot
from minertia.robot.formats.snap import matrix_to_rpy, rotation_from_rpy
from minertia.robot.formats.urdf.new import new_urdf

ROBOTS = ("puma560", "panda", "scara", "stanford", "gantry", "planar2r", "ur10e", "tx40", "cmu_dd_arm2", "iiwa14")
GRAVITIES = (None, (0.0, 0.0, 0.0), (1e-7, 0.0, -9.81), (3.0, -4.0, 8.0))
UNITS = {"millimetres": 1e3, "ten metres": 10.0, "micro": 1e-3}


def _small(rng, low, high):
    return 10 ** rng.uniform(low, high) * rng.choice((-1, 1))


def _rounded(digits):
    return lambda rng, xyz, rpy: (xyz, np.round(rpy, digits))


def _tilted(low, high):
    def change(rng, xyz, rpy):
        if rng.random() < 0.5:
            return xyz, rpy
        turn = np.zeros(3)
        turn[rng.integers(3)] = _small(rng, low, high)
        R = np.array(rotation_from_rpy(*rpy, 0.0), float) @ np.array(rotation_from_rpy(*turn, 0.0), float)
        return xyz, np.array(matrix_to_rpy(R))

    return change


def _shifted(low, high):
    def change(rng, xyz, rpy):
        xyz = np.array(xyz)
        xyz[rng.integers(3)] += _small(rng, low, high) * (rng.random() < 0.5)
        return xyz, rpy

    return change


def _scaled(factor):
    return lambda rng, xyz, rpy: (factor * np.array(xyz), rpy)


CHANGES = {
    **{f"angles of {k} digits": _rounded(k) for k in range(3, 11)},
    "any tilt": _tilted(-12, -2),
    "tilts of 1e-6": _tilted(-7, -5),
    "tilts beyond snapping": _tilted(-3.2, -2.2),
    "tilts of 1e-9": _tilted(-10, -8),
    "any offset": _shifted(-12, -4),
    "offsets of 1e-5": _shifted(-6, -4),
    **{name: _scaled(factor) for name, factor in UNITS.items()},
    "everything": lambda rng, xyz, rpy: _tilted(-12, -3)(rng, *_shifted(-9, -4)(rng, 300 * np.array(xyz), rpy)),
}


@cache
def _urdf(name):
    return new_urdf(read_robot(name).numeric)[0]


def perturbed_urdf(name: str, change: str, seed: int) -> str:
    """Text of a URDF."""
    rng = np.random.default_rng((3, seed))
    root = ElementTree.fromstring(_urdf(name))
    for joint in root.findall("joint"):
        origin = joint.find("origin")
        if origin is None:
            origin = ElementTree.SubElement(joint, "origin")
        xyz, rpy = (np.array([float(v) for v in origin.get(key, "0 0 0").split()]) for key in ("xyz", "rpy"))
        for key, value in zip(("xyz", "rpy"), CHANGES[change](rng, xyz, rpy), strict=True):
            origin.set(key, " ".join(repr(float(v)) for v in value))
    return ElementTree.tostring(root, encoding="unicode")
