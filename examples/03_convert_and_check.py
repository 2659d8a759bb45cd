"""A robot described in TOML: read it, check it, write it as URDF, and read that again."""

import tempfile
from pathlib import Path

import numpy as np

import minertia as mi

DESCRIPTION = """
format = 1
name = "two links"
[symbols]
L1 = 0.4

[[joint]]
kind = "revolute"
alpha_deg = 90        # the axes lie flat, so gravity shows
[joint.link]
mass = 3.0
com = [0.2, 0, 0]
inertia = [0.002, 0, 0, 0.05, 0, 0.05]
[joint.drive]
ratio = 100
rotor_inertia = 2e-5
viscous = 1e-4

[[joint]]
kind = "revolute"
d = "L1"
[joint.link]
mass = 1.5
com = [0.15, 0, 0]
inertia = [0.001, 0, 0, 0.02, 0, 0.02]
"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "two_links.toml"
    path.write_text(DESCRIPTION, encoding="utf-8")
    robot = mi.read_robot(path)
    print(mi.base_parameters(robot, rotors=True))
    for note in mi.check_robot(robot):
        print(note.level, note.where, note.text)

    for note in mi.write_robot(robot, Path(folder) / "two_links.urdf"):
        print(note.level, note.where, note.text)
    again = mi.read_robot(Path(folder) / "two_links.urdf")

q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, 2))
difference = mi.inverse_dynamics(robot, q, qd, qdd) - mi.inverse_dynamics(again, q, qd, qdd)
print("after the journey:", f"{abs(difference).max():.0e} N m")
